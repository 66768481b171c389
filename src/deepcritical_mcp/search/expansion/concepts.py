"""The concepts of a topic: their names in MeSH, in the topic and in the evidence, and their neighbors in MeSH."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import anyio

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import Concept
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm
from deepcritical_mcp.search.expansion.phrases import PUBMED_STOP_WORDS, general_stems, natural_order, phrases, stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug, is_symbol, read_topic
from deepcritical_mcp.sources.pubmed.mesh import MappedTerm, MeshConcepts, MeshDescriptor

NO_VOCABULARY = "No MeSH vocabulary was available; the queries use only your words and the session's evidence."
NOTHING_MAPPED = (
    "PubMed maps none of the topic's words to a MeSH heading; only your words and the session's evidence were used."
)
MAX_CONCEPTS = 12
MAX_EVIDENCE_TERMS = 8
MAX_SYNONYMS = 12
_MAX_SYNONYM_LENGTH = 60
# Maximum characters of one concept in a PubMed query; a topic rarely has more than three concepts.
_BLOCK_CHARS = 300
# The roots of the tree that name no subject: publication characteristics, geography, persons by occupation or age.
_NO_SUBJECT_TREES = ("V", "Z", "M01")
# A longer topic gets no spelling correction, and only its first words are looked up in MeSH.
_MAX_WORDS = 15
_MAX_WORDS_MAPPED = 40
_MAX_NEIGHBORS = 60

NameSource = Literal["mesh", "topic", "evidence"]
# What an abbreviation stands for, and who says so.
_Definition = tuple[str, NameSource]


@dataclass(frozen=True)
class NamedConcept:
    """Words of the topic with other names for the same concept, and where each name comes from.

    `descriptor` is what PubMed maps the words to, `broader` and `narrower` its neighbors in the tree.
    """

    text: str
    names: Mapping[str, NameSource]
    descriptor: MeshDescriptor | None = None
    broader: tuple[MeshDescriptor, ...] = ()
    narrower: tuple[MeshDescriptor, ...] = ()

    def block(self, *others: MeshDescriptor) -> str:
        """The concept for PubMed: the topic's own words or any other name; with `others`, these descriptors too."""
        headings = [self.descriptor, *others] if self.descriptor else others
        names = [*self.names, *(name for other in others for name in synonyms(other))]
        alternatives = [pubmed_syntax.grouped(self.text)]
        alternatives += [pubmed_syntax.phrase(heading.name, "MeSH Terms") for heading in headings]
        alternatives += [pubmed_syntax.phrase(name, "tiab") for name in names]
        return pubmed_syntax.any_of(alternatives, limit=_BLOCK_CHARS)


@dataclass(frozen=True)
class NcbiView:
    """What NCBI knows about a topic: a corrected spelling, its concepts, and a warning if something is missing."""

    corrected: str = ""
    concepts: tuple[NamedConcept, ...] = ()
    warning: str = ""


async def look_up(topic: Topic, mesh: MeshConcepts | None, *, seconds: float, familiar: frozenset[str]) -> NcbiView:
    """Ask NCBI about `topic` for at most `seconds`; what arrived by then, or before it failed, is kept.

    Args:
        familiar: stems of words known to be spelled right, since they occur in the session's evidence.
    """
    if mesh is None:
        return NcbiView(warning=NO_VOCABULARY)
    view = NcbiView()
    try:
        with anyio.move_on_after(seconds) as scope:
            async for step in _steps(topic, mesh, familiar):
                view = step
    except ProviderError as error:
        return replace(view, warning=f"{error.message} {'' if view.concepts else NO_VOCABULARY}".strip())
    if scope.cancelled_caught:
        missing = "Broader and narrower headings are missing." if view.concepts else NO_VOCABULARY
        return replace(view, warning=f"NCBI did not answer within {seconds:.0f} seconds. {missing}")
    return view if view.concepts else replace(view, warning=NOTHING_MAPPED)


async def _steps(topic: Topic, mesh: MeshConcepts, familiar: frozenset[str]) -> AsyncIterator[NcbiView]:
    """The view after each answer, more complete every time."""
    view = NcbiView()
    if not topic.syntax and len(topic.text.split()) <= _MAX_WORDS:
        suggestion = await mesh.corrected(topic.text)
        view = NcbiView(corrected=suggestion if _is_credible(suggestion, topic, familiar) else "")
        yield view
    wanted = _for_mapping(read_topic(view.corrected) if view.corrected else topic)
    mapped = await mesh.mapped(wanted) if wanted else ()
    headings = [heading for term in mapped for heading in term.headings]
    if not headings:
        return
    found = _described(mapped, await mesh.descriptors(headings))
    yield replace(view, concepts=found)
    pairs = [(one, one.descriptor) for one in found if one.descriptor]
    uids = [uid for _, descriptor in pairs for uid in descriptor.parents]
    uids += [uid for _, descriptor in pairs for uid in descriptor.children]
    near = await mesh.by_uid(list(dict.fromkeys(uids))[:_MAX_NEIGHBORS])
    placed = [
        replace(
            one,
            broader=tuple(near[uid] for uid in descriptor.parents if uid in near),
            narrower=tuple(near[uid] for uid in descriptor.children if uid in near),
        )
        for one, descriptor in pairs
    ]
    yield replace(view, concepts=tuple(placed))


def _is_credible(suggestion: str, topic: Topic, familiar: frozenset[str]) -> bool:
    """Whether it keeps symbols ("AMPK"), drug names and words of the evidence: NCBI also "corrects" rare words."""
    kept = stems(suggestion)
    return any(phrases(suggestion)) and not any(
        (is_symbol(word) or is_drug(word) or stems(word) <= familiar) and not stems(word) <= kept
        for phrase in phrases(topic.subject)
        for word in phrase
    )


def _for_mapping(topic: Topic) -> str:
    """The words to map to MeSH: the topic without negated phrases, which also separate the phrases around them."""
    if topic.syntax:
        return " AND ".join(" ".join(phrase) for phrase in phrases(topic.subject))
    runs = groupby(topic.parts[:_MAX_WORDS_MAPPED], key=lambda part: part.startswith('"'))
    return " AND ".join(" ".join(run) for is_negated, run in runs if not is_negated)


def _described(mapped: Sequence[MappedTerm], descriptors: Mapping[str, MeshDescriptor]) -> tuple[NamedConcept, ...]:
    """One concept for each mapped term: the heading that has the term among its names, else the first.

    Terms that are too general, and descriptors that name no subject (countries, age groups, kinds of publication), are
    left out.
    """
    found: dict[str, NamedConcept] = {}
    for term in mapped:
        known = [descriptors[heading] for heading in term.headings if heading in descriptors]
        named = [descriptor for descriptor in known if _has_name(descriptor, term.text)]
        for one in (named or known)[:1]:
            is_subject = not all(number.startswith(_NO_SUBJECT_TREES) for number in one.tree_numbers or ("",))
            if is_subject and not stems(term.text) <= general_stems():
                names: dict[str, NameSource] = dict.fromkeys(synonyms(one, term.text), "mesh")
                found.setdefault(one.uid, NamedConcept(term.text, names, one))
    return tuple(found.values())


def named_concepts(
    topic: Topic, found: Sequence[NamedConcept], *, defined: Mapping[str, str], seen: Mapping[str, str]
) -> list[NamedConcept]:
    """The concepts of `topic` that have other names, in MeSH or by an abbreviation.

    If an abbreviation (short form -> long form) is `defined` in the user's own text, or `seen` in the session's
    evidence, with another meaning than a descriptor has, the descriptor is not used.
    """
    abbreviations: dict[str, _Definition] = {short: (long, "evidence") for short, long in seen.items()}
    abbreviations |= {short: (long, "topic") for short, long in defined.items()}
    concepts: list[NamedConcept] = []
    for one in found[:MAX_CONCEPTS]:
        forms = _other_forms(one.text, abbreviations)
        means_another = forms and one.descriptor and not any(_has_name(one.descriptor, form) for form in forms)
        concepts.append(NamedConcept(one.text, forms) if means_another else replace(one, names={**one.names, **forms}))
    covered = {place for concept in concepts for place in topic.find(concept.text) or ()}
    for form in _abbreviated(topic, abbreviations):
        if not covered & set(topic.find(form) or ()):
            concepts.append(NamedConcept(form, _other_forms(form, abbreviations)))
    return concepts


def pubmed_with_blocks(topic: Topic, blocks: Mapping[str, str]) -> str:
    """The topic for PubMed with the words of each concept replaced by its block; other words stay.

    "" if no concept's words are adjacent in the topic.
    """
    spans: dict[int, tuple[int, str]] = {}
    taken: set[int] = set()
    for text, block in blocks.items():
        span = topic.find(text)
        if span and not taken & set(span):
            spans[span.start] = (span.stop, block)
            taken |= set(span)
    operands: list[str] = []
    place = 0
    for start, (stop, block) in sorted(spans.items()):
        operands += [joined(topic.parts[place:start]), block]
        place = stop
    return " AND ".join(filter(None, [*operands, joined(topic.parts[place:])])) if spans else ""


def joined(run: Sequence[str]) -> str:
    """Words as one operand, without what PubMed ignores at either end; "" if nothing is left."""
    places = [place for place, word in enumerate(run) if word not in PUBMED_STOP_WORDS]
    return pubmed_syntax.grouped(" ".join(run[places[0] : places[-1] + 1])) if places else ""


def to_wire(concepts: Sequence[NamedConcept], terms: Sequence[EvidenceTerm]) -> tuple[Concept, ...]:
    """The topic's concepts, those with a MeSH descriptor first, then the terms of the session's evidence."""
    of_topic = [
        Concept(
            term=concept.text,
            mesh_id=concept.descriptor.mesh_id if concept.descriptor else "",
            mesh_term=concept.descriptor.name if concept.descriptor else "",
            synonyms=tuple(concept.names),
            synonym_sources=tuple(concept.names.values()),
        )
        for concept in sorted(concepts, key=lambda concept: concept.descriptor is None)
    ]
    of_evidence = [
        Concept(
            term=term.term, synonyms=term.names, synonym_sources=("evidence",) * len(term.names), found_in="evidence"
        )
        for term in terms[:MAX_EVIDENCE_TERMS]
    ]
    return (*of_topic, *of_evidence)


def synonyms(descriptor: MeshDescriptor, text: str = "") -> tuple[str, ...]:
    """The names of a descriptor in natural order, without those with the same stems as `text` or an earlier name."""
    found: dict[frozenset[str], str] = {stems(text): ""}
    for name in map(natural_order, (descriptor.name, *descriptor.entry_terms)):
        if len(name) <= _MAX_SYNONYM_LENGTH:
            found.setdefault(stems(name), name)
    return tuple(name for name in found.values() if name)[:MAX_SYNONYMS]


def _abbreviated(topic: Topic, abbreviations: Mapping[str, _Definition]) -> Iterator[str]:
    """The short and long forms that occur in the topic; short forms are case-sensitive."""
    for short, (long, _) in abbreviations.items():
        span = topic.find(short)
        if span and " ".join(topic.parts[place] for place in span) == short:
            yield short
        if topic.find(long):
            yield long


def _other_forms(text: str, abbreviations: Mapping[str, _Definition]) -> dict[str, NameSource]:
    """The long form of a short one, and the short forms of a long one."""
    wanted = stems(text)
    return {
        other: source
        for short, (long, source) in abbreviations.items()
        for form, other in ((short, long), (long, short))
        if stems(form) == wanted
    }


def _has_name(descriptor: MeshDescriptor, text: str) -> bool:
    wanted = stems(text)
    return any(stems(name) == wanted for name in (descriptor.name, *descriptor.entry_terms))
