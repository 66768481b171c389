"""The concepts of a topic and their other names, for the model that writes queries itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from deepcritical_mcp.models import Concept
from deepcritical_mcp.search.expansion.concepts import MeshMatch, synonyms
from deepcritical_mcp.search.expansion.from_evidence import EvidenceTerm
from deepcritical_mcp.search.expansion.stems import stems
from deepcritical_mcp.search.expansion.topic import Topic, concept_terms
from deepcritical_mcp.search.expansion.wording import rewordings

SynonymSource = Literal["mesh", "topic", "evidence", "rules"]

MOST_CONCEPTS = 12
MOST_EVIDENCE_TERMS = 8


def concepts_of(
    topic: Topic,
    matches: Sequence[MeshMatch],
    terms: Sequence[EvidenceTerm],
    *,
    defined: Mapping[str, str],
    found: Mapping[str, str],
) -> tuple[Concept, ...]:
    """The topic's concepts, those with a MeSH descriptor first, then what the evidence talks about.

    Args:
        defined: abbreviations (short form -> long form) that the user's own text defines.
        found: those that the session's evidence defines.
    """
    covered = frozenset(stem for match in matches for stem in stems(match.text))
    own = [_concept(match.text, match, defined, found) for match in matches]
    own += [_concept(term, None, defined, found) for term in concept_terms(topic) if not stems(term) <= covered]
    talked_of = [
        Concept(
            term=term.term,
            synonyms=term.names,
            synonym_sources=("evidence",) * len(term.names),
            found_in="evidence",
        )
        for term in terms[:MOST_EVIDENCE_TERMS]
    ]
    return (*own[:MOST_CONCEPTS], *talked_of)


def _concept(text: str, match: MeshMatch | None, defined: Mapping[str, str], found: Mapping[str, str]) -> Concept:
    named: dict[str, SynonymSource] = {}
    _add(named, _other_forms(text, defined), "topic")
    _add(named, synonyms(match.descriptor, text) if match else (), "mesh")
    _add(named, _other_forms(text, found), "evidence")
    _add(named, (rewording.text for rewording in rewordings(text)), "rules")
    named.pop(text, None)
    return Concept(
        term=text,
        mesh_id=match.descriptor.mesh_id if match else "",
        mesh_term=match.descriptor.name if match else "",
        synonyms=tuple(named),
        synonym_sources=tuple(named.values()),
    )


def _add(named: dict[str, SynonymSource], names: Iterable[str], source: SynonymSource) -> None:
    known = {name.casefold() for name in named}
    for name in names:
        if name.casefold() not in known:
            named[name] = source


def _other_forms(text: str, abbreviations: Mapping[str, str]) -> list[str]:
    """The long form of a short one, and the short forms of a long one."""
    wanted = stems(text)
    return [
        other
        for short, long in abbreviations.items()
        for form, other in ((short, long), (long, short))
        if stems(form) == wanted and (form != short or short in text)
    ]
