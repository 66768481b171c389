"""The concepts of a topic: their names in MeSH and in the texts at hand, and what lies above and below them in MeSH."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from deepcritical_mcp.models import Concept
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm
from deepcritical_mcp.search.expansion.phrases import natural_order, stems
from deepcritical_mcp.search.expansion.topic import Topic
from deepcritical_mcp.search.expansion.word_lists import GENERAL_WORDS, PUBMED_STOP_WORDS
from deepcritical_mcp.sources.pubmed.mesh import MappedTerm, MeshDescriptor

MOST_CONCEPTS = 12
MOST_EVIDENCE_TERMS = 8
MOST_SYNONYMS = 12
_LONGEST_SYNONYM = 60
# Room in a PubMed query for one concept, of which a topic rarely has more than three.
_BLOCK_CHARS = 300
# The roots of the tree that name no subject: publication characteristics, geography, persons by occupation or age.
_NO_SUBJECT_TREES = ("V", "Z", "M01")

NameSource = Literal["mesh", "topic", "evidence"]


@dataclass(frozen=True)
class MeshMatch:
    """Words of the topic, the descriptor that PubMed maps them to, and its neighbours in the tree."""

    text: str
    descriptor: MeshDescriptor
    broader: tuple[MeshDescriptor, ...] = ()
    narrower: tuple[MeshDescriptor, ...] = ()


@dataclass(frozen=True)
class NamedConcept:
    """Words of the topic with the other names of what they stand for, and where each name comes from."""

    text: str
    names: Mapping[str, NameSource]
    match: MeshMatch | None = None

    def block(self, *others: MeshDescriptor) -> str:
        """The concept for PubMed: the topic's own words or any other name; with `others`, these descriptors too."""
        headings = [self.match.descriptor] if self.match else []
        names = [*self.names, *(name for other in others for name in synonyms(other))]
        alternatives = [pubmed_syntax.grouped(self.text)]
        alternatives += [pubmed_syntax.phrase(heading.name, "MeSH Terms") for heading in (*headings, *others)]
        alternatives += [pubmed_syntax.phrase(name, "tiab") for name in names]
        return pubmed_syntax.any_of(alternatives, limit=_BLOCK_CHARS)


def matches(mapped: Sequence[MappedTerm], descriptors: Mapping[str, MeshDescriptor]) -> tuple[MeshMatch, ...]:
    """One match for each mapped term: of several headings the one that has the term among its names, else the first.

    Terms that are too general, and descriptors that name no subject (countries, age groups, kinds of publication), are
    left out.
    """
    found: dict[str, MeshMatch] = {}
    for term in mapped:
        if all(word in GENERAL_WORDS for word in term.text.lower().split()):
            continue
        known = [descriptors[heading] for heading in term.headings if heading in descriptors]
        named = [descriptor for descriptor in known if _has_name(descriptor, term.text)]
        for descriptor in (named or known)[:1]:
            if not all(number.startswith(_NO_SUBJECT_TREES) for number in descriptor.tree_numbers or ("",)):
                found.setdefault(descriptor.uid, MeshMatch(term.text, descriptor))
    return tuple(found.values())


def with_neighbours(match: MeshMatch, neighbours: Mapping[str, MeshDescriptor]) -> MeshMatch:
    """`match` with those of its parents and children that `neighbours` has."""
    return replace(
        match,
        broader=tuple(neighbours[uid] for uid in match.descriptor.parents if uid in neighbours),
        narrower=tuple(neighbours[uid] for uid in match.descriptor.children if uid in neighbours),
    )


def named_concepts(
    topic: Topic, found: Sequence[MeshMatch], *, defined: Mapping[str, str], seen: Mapping[str, str]
) -> list[NamedConcept]:
    """The concepts of `topic` that have other names, in MeSH or by an abbreviation.

    Where a text says what a short form stands for, a descriptor of another meaning is not used.

    Args:
        defined: abbreviations (short form -> long form) that the user's own text defines.
        seen: those that the session's evidence defines.
    """
    concepts: list[NamedConcept] = []
    for match in found[:MOST_CONCEPTS]:
        forms = _other_forms(match.text, defined, "topic") | _other_forms(match.text, seen, "evidence")
        if forms and not any(_has_name(match.descriptor, form) for form in forms):
            concepts.append(NamedConcept(match.text, forms))
        else:
            listed: dict[str, NameSource] = dict.fromkeys(synonyms(match.descriptor, match.text), "mesh")
            concepts.append(NamedConcept(match.text, {**listed, **forms}, match))
    covered = {place for concept in concepts for place in topic.find(concept.text) or ()}
    for form in _abbreviated(topic, {**seen, **defined}):
        if not covered & set(topic.find(form) or ()):
            names = _other_forms(form, defined, "topic") or _other_forms(form, seen, "evidence")
            concepts.append(NamedConcept(form, names))
    return concepts


def pubmed_with_blocks(topic: Topic, blocks: Mapping[str, str]) -> str:
    """The topic for PubMed with each concept (by its words) replaced by its block; every other word stays.

    "" where no concept's words stand together in the topic.
    """
    spans: dict[int, tuple[int, str]] = {}
    taken: set[int] = set()
    for text, block in blocks.items():
        span = topic.find(text)
        if span and not taken & set(span):
            spans[span.start] = (span.stop, block)
            taken |= set(span)
    if not spans:
        return ""
    operands: list[str] = []
    run: list[str] = []
    place = 0
    while place < len(topic.parts):
        stop, block = spans.get(place, (place + 1, ""))
        if block:
            operands += [_operand(run), block]
            run = []
        else:
            run.append(topic.parts[place])
        place = stop
    return " AND ".join(filter(None, [*operands, _operand(run)]))


def to_wire(concepts: Sequence[NamedConcept], terms: Sequence[EvidenceTerm]) -> tuple[Concept, ...]:
    """The topic's concepts, those with a MeSH descriptor first, then what the session's evidence talks about."""
    of_topic = [
        Concept(
            term=concept.text,
            mesh_id=concept.match.descriptor.mesh_id if concept.match else "",
            mesh_term=concept.match.descriptor.name if concept.match else "",
            synonyms=tuple(concept.names),
            synonym_sources=tuple(concept.names.values()),
        )
        for concept in sorted(concepts, key=lambda concept: concept.match is None)
    ]
    of_evidence = [
        Concept(
            term=term.term, synonyms=term.names, synonym_sources=("evidence",) * len(term.names), found_in="evidence"
        )
        for term in terms[:MOST_EVIDENCE_TERMS]
    ]
    return (*of_topic, *of_evidence)


def synonyms(descriptor: MeshDescriptor, text: str = "") -> tuple[str, ...]:
    """The names of a descriptor in natural order, each unlike `text` and the ones before it in more than its form."""
    found: dict[frozenset[str], str] = {stems(text): ""}
    for name in (descriptor.name, *descriptor.entry_terms):
        natural = natural_order(name)
        if len(natural) <= _LONGEST_SYNONYM:
            found.setdefault(stems(natural), natural)
    return tuple(name for name in found.values() if name)[:MOST_SYNONYMS]


def _operand(run: Sequence[str]) -> str:
    """Words between two blocks as one operand, without what PubMed ignores at either end."""
    places = [place for place, word in enumerate(run) if word not in PUBMED_STOP_WORDS]
    return pubmed_syntax.grouped(" ".join(run[places[0] : places[-1] + 1])) if places else ""


def _abbreviated(topic: Topic, abbreviations: Mapping[str, str]) -> Iterator[str]:
    """The short and long forms that stand in the topic; a short form only in its own capitals."""
    for short, long in abbreviations.items():
        span = topic.find(short)
        if span and " ".join(topic.parts[place] for place in span) == short:
            yield short
        if topic.find(long):
            yield long


def _other_forms(text: str, abbreviations: Mapping[str, str], source: NameSource) -> dict[str, NameSource]:
    """The long form of a short one, and the short forms of a long one."""
    wanted = stems(text)
    return {
        other: source
        for short, long in abbreviations.items()
        for form, other in ((short, long), (long, short))
        if stems(form) == wanted
    }


def _has_name(descriptor: MeshDescriptor, text: str) -> bool:
    wanted = stems(text)
    return any(stems(name) == wanted for name in (descriptor.name, *descriptor.entry_terms))
