"""The concepts of a topic: their names in MeSH, in the topic and in the evidence, and their neighbors in MeSH."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import anyio

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import Concept
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm
from deepcritical_mcp.search.expansion.phrases import general_stems, natural_order, phrases, stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug, is_symbol, read_topic
from deepcritical_mcp.sources.base import MappedTerm, MeshDescriptor, Vocabulary
from deepcritical_mcp.text import PUBMED_STOP_WORDS

NO_VOCABULARY = "No MeSH vocabulary was available; the queries use only your words and the session's evidence."
NOTHING_MAPPED = (
    "PubMed maps none of the topic's words to a MeSH heading; only your words and the session's evidence were used."
)
MAX_CONCEPTS = 12
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


async def look_up(topic: Topic, mesh: Vocabulary | None, *, seconds: float) -> NcbiView:
    """Ask NCBI about `topic` for at most `seconds`; what arrived by then, or before it failed, is kept."""
    if mesh is None:
        return NcbiView(warning=NO_VOCABULARY)
    view = NcbiView()
    try:
        with anyio.move_on_after(seconds) as scope:
            async for step in _steps(topic, mesh):
                view = step
    except ProviderError as error:
        return replace(view, warning=f"{error.message} {'' if view.concepts else NO_VOCABULARY}".strip())
    if scope.cancelled_caught:
        missing = "Broader and narrower headings are missing." if view.concepts else NO_VOCABULARY
        return replace(view, warning=f"NCBI did not answer within {seconds:.0f} seconds. {missing}")
    return view if view.concepts else replace(view, warning=NOTHING_MAPPED)


async def _steps(topic: Topic, mesh: Vocabulary) -> AsyncIterator[NcbiView]:
    """The view after each answer, more complete every time."""
    view = NcbiView()
    if not topic.syntax and len(topic.text.split()) <= _MAX_WORDS:
        suggestion = await mesh.corrected(topic.text)
        view = NcbiView(corrected=suggestion if _is_credible(suggestion, topic) else "")
        yield view
    wanted = _for_mapping(read_topic(view.corrected) if view.corrected else topic)
    mapped = await mesh.mapped(wanted) if wanted else ()
    headings = [heading for term in mapped for heading in term.headings]
    if not headings:
        return
    found = _described(mapped, await mesh.descriptors(headings))
    yield replace(view, concepts=tuple(found.values()))
    uids = [uid for one in found for uid in one.parents] + [uid for one in found for uid in one.children]
    near = await mesh.by_uid(list(dict.fromkeys(uids))[:_MAX_NEIGHBORS])
    placed = [
        replace(
            concept,
            broader=tuple(near[uid] for uid in one.parents if uid in near),
            narrower=tuple(near[uid] for uid in one.children if uid in near),
        )
        for one, concept in found.items()
    ]
    yield replace(view, concepts=tuple(placed))


def _is_credible(suggestion: str, topic: Topic) -> bool:
    """Whether it keeps symbols ("AMPK") and drug names: NCBI also "corrects" rare words."""
    names = (word for phrase in phrases(topic.subject) for word in phrase if is_symbol(word) or is_drug(word))
    return any(phrases(suggestion)) and stems(" ".join(names)) <= stems(suggestion)


def _for_mapping(topic: Topic) -> str:
    """The words to map to MeSH: the topic without negated phrases, which also separate the phrases around them."""
    if topic.syntax:
        return " AND ".join(" ".join(phrase) for phrase in phrases(topic.subject))
    runs = groupby(topic.parts[:_MAX_WORDS_MAPPED], key=lambda part: part.startswith('"'))
    return " AND ".join(" ".join(run) for is_negated, run in runs if not is_negated)


def _described(
    mapped: Sequence[MappedTerm], descriptors: Mapping[str, MeshDescriptor]
) -> dict[MeshDescriptor, NamedConcept]:
    """One concept for each mapped term: the heading that has the term among its names, else the first.

    Terms that are too general, and descriptors that name no subject (countries, age groups, kinds of publication), are
    left out.
    """
    found: dict[MeshDescriptor, NamedConcept] = {}
    for term in mapped:
        known = [descriptors[heading] for heading in term.headings if heading in descriptors]
        for one in sorted(known, key=lambda one: not _has_name(one, term.text))[:1]:
            is_subject = not all(number.startswith(_NO_SUBJECT_TREES) for number in one.tree_numbers or ("",))
            if is_subject and not stems(term.text) <= general_stems():
                names: dict[str, NameSource] = dict.fromkeys(synonyms(one, term.text), "mesh")
                found.setdefault(one, NamedConcept(term.text, names, one))
    return found


def named_concepts(
    topic: Topic, found: Sequence[NamedConcept], *, defined: Mapping[str, str], seen: Mapping[str, str]
) -> list[NamedConcept]:
    """The concepts of `topic` that have other names, in MeSH or by an abbreviation.

    If an abbreviation (short form -> long form) is `defined` in the user's own text, or `seen` in the session's
    evidence, with another meaning than a descriptor has, the descriptor is not used.
    """
    pairs = {**seen, **defined}

    def other_forms(text: str) -> dict[str, NameSource]:
        both = [(short, pair) for short, long in pairs.items() for pair in ((short, long), (long, short))]
        return {
            other: "topic" if short in defined else "evidence"
            for short, (form, other) in both
            if stems(form) == stems(text)
        }

    concepts: list[NamedConcept] = []
    for one in found[:MAX_CONCEPTS]:
        forms = other_forms(one.text)
        means_another = forms and one.descriptor and not any(_has_name(one.descriptor, form) for form in forms)
        concepts.append(NamedConcept(one.text, forms) if means_another else replace(one, names={**one.names, **forms}))
    covered = {place for concept in concepts for place in topic.find(concept.text) or ()}
    # Short forms are case-sensitive.
    for form in [short for short in pairs if f" {short} " in f" {topic.words} "] + list(pairs.values()):
        span = set(topic.find(form) or ())
        if span and not covered & span:
            concepts.append(NamedConcept(form, other_forms(form)))
    return concepts


def pubmed_with_blocks(topic: Topic, blocks: Mapping[str, str]) -> str:
    """The topic for PubMed, in either spelling, with the words of each concept replaced by its block.

    "" if no concept's words are adjacent in the topic, as in PubMed's syntax, which is never changed.
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
    query = " AND ".join(filter(None, [*operands, joined(topic.parts[place:])]))
    return topic.or_typed(query) if spans else ""


def joined(run: Sequence[str]) -> str:
    """Words as one operand, without what PubMed ignores at either end; "" if nothing is left."""
    places = [place for place, word in enumerate(run) if word not in PUBMED_STOP_WORDS]
    return pubmed_syntax.grouped(" ".join(run[places[0] : places[-1] + 1])) if places else ""


def to_wire(concepts: Sequence[NamedConcept], terms: Sequence[EvidenceTerm]) -> tuple[Concept, ...]:
    """The topic's concepts, those with a MeSH descriptor first, then the terms of the session's evidence."""
    of_topic = [
        Concept(
            term=one.text,
            mesh_id=one.descriptor.mesh_id if one.descriptor else "",
            mesh_term=one.descriptor.name if one.descriptor else "",
            synonyms=tuple(one.names),
            synonym_sources=tuple(one.names.values()),
        )
        for one in sorted(concepts, key=lambda concept: concept.descriptor is None)
    ]
    of_evidence = [
        Concept(term=one.term, synonyms=one.names, synonym_sources=("evidence",) * len(one.names), found_in="evidence")
        for one in terms
    ]
    return (*of_topic, *of_evidence)


def synonyms(descriptor: MeshDescriptor, text: str = "") -> tuple[str, ...]:
    """The names of a descriptor in natural order, without those with the same stems as `text` or an earlier name."""
    found: dict[frozenset[str], str] = {stems(text): ""}
    for name in map(natural_order, (descriptor.name, *descriptor.entry_terms)):
        if len(name) <= _MAX_SYNONYM_LENGTH:
            found.setdefault(stems(name), name)
    return tuple(name for name in found.values() if name)[:MAX_SYNONYMS]


def _has_name(descriptor: MeshDescriptor, text: str) -> bool:
    return any(stems(name) == stems(text) for name in (descriptor.name, *descriptor.entry_terms))
