"""Broader queries: a comparison, a general part or the people left out, a concept widened in the MeSH tree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept
from deepcritical_mcp.search.expansion.operands import Operand
from deepcritical_mcp.search.expansion.phrases import general_stems, natural_order, stems
from deepcritical_mcp.search.expansion.plan import DraftedQuery, Origin, Plan, joined_words, quoted_list
from deepcritical_mcp.sources.base import MeshDescriptor

# "Infarction", "Necrosis": in the tree of all pathologic processes.
_ANY_PROCESS = "C23.550"


def broader_drafts(plan: Plan) -> list[DraftedQuery]:
    """What finds more than the direct query, the most useful first."""
    drafts = [*_either(plan), *_without_a_part(plan)]
    is_plain = not plan.topic.questions and not plan.topic.negations
    return drafts or ([*_broadened(plan)] if is_plain else [])


def _either(plan: Plan) -> Iterator[DraftedQuery]:
    """Papers on either side of a comparison; of a PICO question, those that compare with something else too."""
    for one in plan.parts:
        for other in plan.parts:
            words = one.text.split()[-1], other.text.split()[0]
            if one is not other and words == plan.topic.sides and len(plan.parts) > 2:
                rest = [part for part in plan.operands if part is not other]
                both = pubmed_syntax.any_of(map(pubmed_syntax.grouped, (one.pubmed, other.pubmed)))
                found = f"Papers on “{one.text}” or “{other.text}”, which need not compare them."
                words = f"studies of {joined_words(rest).replace(one.text, f'{one.text} or {other.text}', 1)}"
                yield DraftedQuery("broader", "syntactic", "rules", found, [], plan.query(rest, {one: both}), words)
    compared = [one for one in plan.operands if one.is_compared]
    rest = [one for one in plan.operands if one not in compared]
    if compared and rest:
        text = " ".join(one.text.strip('"') for one in compared)
        found = f"Without the comparison ({text}), which papers may name otherwise."
        yield DraftedQuery("broader", "syntactic", "rules", found, [], plan.query(rest), joined_words(rest))


def _without_a_part(plan: Plan) -> Iterator[DraftedQuery]:
    """The topic without its least telling part: general words, else where and among whom a study was done."""
    general = [
        one
        for one in plan.parts
        if one.is_general and not one.is_outcome and (len(plan.parts) > 2 or not one.is_context)
    ]
    general.sort(key=lambda one: stems(one.text) <= general_stems())  # "impact", "qualitative" first
    context = [one for one in plan.parts[1:] if one.is_context]
    measures = [one for one in plan.parts if one.is_measure and len(plan.parts) > 1]
    candidates = [
        *measures[:1],
        *(general[:1] if len(plan.parts) > len(general) else ()),
        *(context[-1:] if len(plan.parts) >= 3 else ()),
    ]
    for one in dict.fromkeys(candidates):
        left_out = [one, *_continued(plan, one)] if one in context else [one]
        rest = [other for other in plan.operands if other not in left_out]
        text = " ".join(other.text for other in left_out)
        found = f"Without “{text}”, which papers may word otherwise or leave to the full text."
        yield DraftedQuery("broader", "syntactic", "rules", found, [], plan.query(rest), joined_words(rest))


def _continued(plan: Plan, part: Operand) -> Iterator[Operand]:
    """The words right after a part that belong to it ("nursing home" "residents")."""
    place = plan.operands.index(part) + 1
    yield from takewhile(lambda one: not one.before and not one.concept and not one.is_negation, plan.operands[place:])


def wider(plan: Plan) -> Iterator[ExpandedQuery]:
    """For a topic that PubMed has little on: without the parts that only narrow it, one after the other, and a part
    broadened in the MeSH tree. What it is about, e.g. a drug, always stays."""
    narrowing = [one for one in reversed(plan.parts[1:]) if one.is_context or one.is_measure or not one.is_named]
    narrowing.sort(key=lambda one: not (one.is_measure or one.is_general))
    for count in range(1, min(len(narrowing), len(plan.parts) - 2) + 1):
        left_out = narrowing[:count]
        rest = [one for one in plan.operands if one not in left_out]
        named = quoted_list(one.text for one in plan.operands if one in left_out)
        found = f"Without {named}, since PubMed has little on all of it."
        yield _wider(joined_words(rest), found, plan.query(rest), "rules")
    yield from (_wider(one.subject, one.rationale, one.pubmed, one.source) for one in _broadened(plan))


def _wider(query: str, rationale: str, pubmed: str, source: Origin) -> ExpandedQuery:
    return ExpandedQuery(
        query=query,
        strategy="broader",
        reformulation="syntactic",
        rationale=rationale,
        pubmed_query=pubmed,
        source=source,
    )


def _broadened(plan: Plan) -> Iterator[DraftedQuery]:
    """A concept broadened in the MeSH tree, the last one first, because topics often start with a drug or gene."""
    named = {one.concept.record.name for one in plan.operands if one.concept and one.concept.record}
    for operand in reversed(plan.operands):
        near = operand.concept.broader if operand.concept else ()
        fitting = [one for one in near if operand.concept and _is_close(one, operand.concept) and one.name not in named]
        for parent in fitting[:1]:
            wide = pubmed_syntax.any_of([operand.pubmed, TopicConcept(parent.name, record=parent).block])
            query = plan.query(plan.operands, {operand: wide})
            found = f"“{operand.text}” or the broader {parent.name}, above it in the MeSH tree."
            name = " ".join(word.lower() if word[1:].islower() else word for word in natural_order(parent.name).split())
            words = joined_words(plan.operands).replace(operand.text, f"{operand.text} or {name}", 1)
            yield DraftedQuery("broader", "syntactic", "mesh", found, [], query, words)


def _is_close(parent: MeshDescriptor, concept: TopicConcept) -> bool:
    """Whether a heading is of diseases, disorders or operations, deep enough in the tree, and its words are among the
    concept's own names ("Heart Failure" above "Heart Failure, Diastolic"), more than one if they are in the topic
    (not "Pain" above "Chest Pain"): others are too far away, and drugs do not stand for one another."""
    numbers = [one for one in parent.tree_numbers if one.count(".") >= 2 and not one.startswith(_ANY_PROCESS)]
    is_fitting = any(one.startswith(("C", "E04", "F")) for one in numbers)
    is_head = " " not in parent.name and stems(parent.name) <= stems(concept.text)
    return is_fitting and not is_head and stems(parent.name) <= stems(" ".join((concept.text, *concept.names)))
