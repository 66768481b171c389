"""The queries proposed for a topic (direct, broader, specific), and the choice among them.

By construction a specific query finds part of what the direct one finds (the direct one AND something), and a broader
one finds at least as much (without a part of the direct one, or that part OR something).
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Literal, NamedTuple

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import TopicConcept, written
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm
from deepcritical_mcp.search.expansion.filters import fitting_filters, question_kinds
from deepcritical_mcp.search.expansion.operands import Operand, joined, operands_of
from deepcritical_mcp.search.expansion.phrases import natural_order, stems
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, Topic, fit_web
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import NEGATIONS, QUERY_FUNCTION_WORDS

SEMANTIC_SHARE = 0.37
# Best on MED (bench/expansion.py): four terms of the evidence.
_MAX_TERMS = 4
_MAX_ADDED_WORDS = 12

_PRONOUNS = frozenset("it its them they their this these those he she".split())

_EITHER_WAY = re.compile("^with (?:and|or) without |^with/without ", re.IGNORECASE)
_ABSENCE = re.compile("(?:without|absence of|free of|lacking) (?:an? |any )?")

Reformulation = Literal["syntactic", "semantic"]


def semantic_count(count: int) -> int:
    """How many of `count` queries are semantic: 37 %, rounded to the nearest whole number.

    For 1 to 8 queries: 0, 1, 1, 1, 2, 2, 3, 3.
    """
    return math.floor(SEMANTIC_SHARE * count + 0.5)


def same_words_key(query: str) -> frozenset[str]:
    """Equal for two queries that differ only in case, spacing, punctuation, order, repetition or function words."""
    words = {word.strip(string.punctuation + "“”„‘’«»¿¡…") for word in query.casefold().split()}
    return frozenset(words - (QUERY_FUNCTION_WORDS - NEGATIONS) - {""}) or frozenset({query.casefold()})


def choose(direct: ExpandedQuery, proposed: Iterable[ExpandedQuery], *, count: int) -> tuple[ExpandedQuery, ...]:
    """`direct`, then the first different proposals of each kind: at most `count` in all, in the mix of
    `semantic_count`, which every prefix keeps.

    If one kind runs out, the other takes its place. Three or more queries include a broader and a specific one if
    they were proposed.
    """
    rest: list[ExpandedQuery] = []
    seen: set[frozenset[str] | str] = set()
    for query in (direct, *proposed):
        keys = {same_words_key(query.query), query.pubmed_query.casefold()}
        if not keys & seen:
            rest.append(query)
            seen |= keys
    chosen = [rest.pop(0)]
    while rest and len(chosen) < count:
        is_semantic = semantic_count(len(chosen) + 1) > semantic_count(len(chosen))
        fitting = (one for one in rest if (one.reformulation == "semantic") == is_semantic)
        chosen.append(next(fitting, rest[0]))
        rest.remove(chosen[-1])
    for strategy in ("broader", "specific") if count >= 3 else ():
        _include(strategy, chosen, rest)
    return tuple(chosen)


def _include(strategy: str, chosen: list[ExpandedQuery], rest: Sequence[ExpandedQuery]) -> None:
    """If none is `chosen`, one takes the place of the last of the same kind that is not the only one of its own."""
    strategies = [one.strategy for one in chosen]
    for place in range(len(chosen) - 1, 0, -1) if strategy not in strategies else ():
        kind = chosen[place].reformulation
        candidate = next((one for one in rest if one.strategy == strategy and one.reformulation == kind), None)
        if candidate and strategies.count(strategies[place]) > 1:
            chosen[place] = candidate
            return


class _Draft(NamedTuple):
    """A proposal. A specific one is the direct query AND `pubmed`; for a broader one, `pubmed` is the whole query or
    "". `names` are added where no operators exist to the topic, or to `subject` if that is not ""."""

    strategy: Literal["broader", "specific"]
    reformulation: Reformulation
    source: Literal["mesh", "rules", "evidence"]
    rationale: str
    names: Iterable[str]
    pubmed: str
    subject: str = ""


class Plan:
    """A topic with its concepts, from which all queries are built.

    Args:
        asked: the topic as the user wrote it.
        topic: the same in NCBI's spelling, or `asked`.
        concepts: those of `topic`.
    """

    def __init__(self, asked: Topic, topic: Topic, concepts: Sequence[TopicConcept]) -> None:
        self.asked, self.topic = asked, topic
        self.concepts = concepts
        operands = operands_of(topic, concepts)
        self.operands = [one for one in operands if not one.is_idle] or operands
        idle = [one.text for one in operands if one not in self.operands]
        self.left_out = [text for text in idle if not text.isdecimal()]
        either_way = [text for one in topic.either_way if (text := _EITHER_WAY.sub("", one)) != one]
        numbers = [text for text in idle if text.isdecimal()]
        self.optional = [*filter(None, [topic.outcome]), *either_way, *numbers]
        self.direct = topic.syntax or self.query(self.operands)
        self.kinds = question_kinds(topic)
        if len(self.operands) == 1 and not self.kinds and (record := self.concepts[0].record if concepts else None):
            # A disease or a drug alone: what most people want to know of it.
            self.kinds |= {"treatment", "diagnosis"} if record.is_of(("C", "F03")) else set()
            self.kinds |= {"treatment"} if record.is_supplementary or record.is_of(("D",)) else set()

    def query(
        self, operands: Sequence[Operand], others: Mapping[Operand, MeshDescriptor] = MappingProxyType({})
    ) -> str:
        """The query for these of the operands, each or one of its `others`, in the user's spelling too."""
        core = joined(one.pubmed(others[one]) if one in others else one.pubmed() for one in operands)
        query = self.topic.or_typed(core)
        excluded = pubmed_syntax.any_of(map(pubmed_syntax.grouped, self.topic.excluded)) if self.topic.excluded else ""
        return f"{pubmed_syntax.grouped(query)} NOT {excluded}" if excluded else query


def direct_query(plan: Plan) -> ExpandedQuery:
    """The topic as the user wrote it; in PubMed each concept by any of its names."""
    asked, topic = plan.asked, plan.topic
    whole = asked.syntax or (asked.subject if asked.outcome else asked.text)
    query = fit_web(whole)
    named = [one.text for one in plan.concepts if one.record or one.forms]
    compared = [one for one in topic.either_way if _EITHER_WAY.sub("", one) == one]
    optional = " OR ".join([*map(pubmed_syntax.grouped, plan.optional), "all[sb]"])
    remarks = [
        _origin(asked),
        f"In PubMed, with the other names of {_listed(named)}." if named and not asked.syntax else "",
        f"{_listed(plan.optional)} only ranks the papers; none has to say so." if plan.optional else "",
        f"{_listed(topic.verbs)} left out, since papers word an effect in many ways." if topic.verbs else "",
        f"{_listed(plan.left_out)} left out: papers on the topic need not say so." if plan.left_out else "",
        f"{_listed(compared)} left out, since no paper has to say so." if compared else "",
        f"Without papers that mention {_listed(topic.excluded)}." if topic.excluded else "",
        f"{_listed(topic.negations)} must occur as a phrase." if topic.negations else "",
        "" if query == whole else "A web search uses only its beginning.",
        f"PubMed gets the topic without its last {asked.left_out} words." if asked.left_out else "",
        "In PubMed, in your spelling or NCBI's." if topic.typed else "",
    ]
    return ExpandedQuery(
        query=query,
        strategy="direct",
        reformulation="syntactic",
        rationale=" ".join(filter(None, remarks)),
        pubmed_query=f"{pubmed_syntax.grouped(plan.direct)} AND ({optional})" if plan.optional else plan.direct,
        source="mesh" if any(one.record for one in plan.concepts) and not asked.syntax else "rules",
    )


def _origin(asked: Topic) -> str:
    if not asked.syntax:
        return "Your topic."
    if asked.is_mended:
        return (
            "Your query in PubMed's syntax; brackets, quotes, operators or tags that PubMed would misread are mended."
        )
    return "Your query, in PubMed's syntax as you wrote it."


def proposals(plan: Plan, terms: Sequence[EvidenceTerm], *, today: date) -> Iterator[ExpandedQuery]:
    """All other queries. Within each kind of reformulation, the most useful come first.

    None where PubMed or a web search could not take the whole topic, or PubMed has nothing in its script.
    """
    topic = plan.topic
    if topic.left_out or fit_web(topic.subject) != topic.subject or topic.language == OTHER_SCRIPT:
        return
    for draft in _drafts(plan, terms, today):
        query = subject = (draft.subject or topic.subject).rstrip(" ?.!")
        for name in draft.names:
            longer = f"{query} {name}"
            added = len(longer.split()) - len(subject.split())
            query = longer if fit_web(longer) == longer and added <= _MAX_ADDED_WORDS else query
        is_specific = draft.strategy == "specific"
        pubmed = f"{pubmed_syntax.grouped(plan.direct)} AND {draft.pubmed}" if is_specific else draft.pubmed
        if pubmed:
            yield ExpandedQuery(
                query=query,
                strategy=draft.strategy,
                reformulation=draft.reformulation,
                rationale=draft.rationale,
                pubmed_query=pubmed,
                source=draft.source,
            )


def _drafts(plan: Plan, terms: Sequence[EvidenceTerm], today: date) -> Iterator[_Draft]:
    topic = plan.topic
    # Words alone cannot exclude what such a topic excludes, so nothing is followed or replaced.
    if not topic.has_exclusion:
        yield from _each_question(plan)
        yield from _not_mentioned(plan)
        yield from _meanings(plan)
        yield from _outcome(topic)
        yield from _without_a_part(plan)
        yield from _with_terms(topic, terms)
        yield from _main_topic(plan)
    remark = " A web search cannot exclude what your NOT excludes." if topic.has_exclusion else ""
    for one in fitting_filters(topic, plan.kinds, today=today):
        kind = "semantic" if one.is_of_question else "syntactic"
        found = f"{one.filter.name} ({one.filter.source}).{remark}"
        yield _Draft("specific", kind, "rules", found, [one.words], one.filter.pubmed)
    if not topic.has_exclusion and len(plan.operands) > 1:
        yield from _broader(plan)


def _each_question(plan: Plan) -> Iterator[_Draft]:
    """One question of several: the parts of the direct query that it has."""
    for question in plan.topic.questions:
        words = stems(question)
        if not _PRONOUNS.isdisjoint(question.lower().split()):
            continue  # what it asks about is in the other question
        asked = [one for one in plan.operands if one.is_negation or stems(one.text) & words]
        if asked and len(asked) < len(plan.operands):
            found = f"One of your questions alone: “{question}”."
            yield _Draft("broader", "syntactic", "rules", found, [], plan.query(asked), question)


def _not_mentioned(plan: Plan) -> Iterator[_Draft]:
    """ "Without X" as the phrase, or as papers that do not mention X."""
    for negated in (one for one in plan.operands if one.is_negation):
        words = negated.text.strip('"')
        absent = _ABSENCE.sub("", words)
        others = joined(one.pubmed() for one in plan.operands if one is not negated)
        if absent != words and others:
            silent = f"({pubmed_syntax.grouped(others)} NOT {pubmed_syntax.grouped(absent)})"
            query = f"{pubmed_syntax.grouped(plan.direct)} OR {silent}"
            found = f"Papers that say “{words}”, and those that do not mention {absent} at all."
            rest = _words([one for one in plan.operands if not one.is_negation])
            yield _Draft("broader", "syntactic", "rules", found, [], query, f"{rest}, no {absent}")


def _meanings(plan: Plan) -> Iterator[_Draft]:
    """An abbreviation that stands for several things, as each of the most common ones."""
    for one in plan.concepts:
        if one.abbreviation and not one.abbreviation.long_form:
            for meaning in (one.abbreviation.in_context or one.abbreviation.meanings)[:2]:
                found = f"“{one.text}” as {meaning.long_form} ({meaning.share:.0%} of the papers that define it)."
                block = pubmed_syntax.any_of(written(meaning.long_form))
                yield _Draft("specific", "syntactic", "rules", found, [meaning.long_form], block)


def _outcome(topic: Topic) -> Iterator[_Draft]:
    """The outcome of a PICO question as a requirement."""
    if topic.outcome:
        found = f"With the outcome ({topic.outcome}) required."
        words = f"{' '.join(topic.parts)} effect on {topic.outcome}"
        yield _Draft("specific", "syntactic", "rules", found, [], pubmed_syntax.grouped(topic.outcome), words)


def _without_a_part(plan: Plan) -> Iterator[_Draft]:
    """The topic without its least telling part: general words, else where and among whom a study was done. Never
    without a negation."""
    parts = [one for one in plan.operands if not one.is_negation]
    general = [one for one in parts if one.is_general]
    context = [one for one in parts[1:] if one.is_context]
    candidates = [
        *(general[-1:] if len(parts) > len(general) else ()),
        *(context[-1:] if len(parts) >= 3 else ()),
    ]
    for one in dict.fromkeys(candidates):
        rest = [other for other in plan.operands if other is not one]
        found = f"Without “{one.text}”, which papers may word otherwise or leave to the full text."
        yield _Draft("broader", "syntactic", "rules", found, [], plan.query(rest), _words(rest))


def shorter(plan: Plan) -> Iterator[ExpandedQuery]:
    """The topic without its last part, its last two, and so on, for a topic that PubMed has nothing on."""
    parts = [one for one in plan.operands if not one.is_negation]
    for kept in range(len(parts) - 1, 0, -1):
        rest = [one for one in plan.operands if one.is_negation or one in parts[:kept]]
        left_out = _listed(one.text for one in parts[kept:])
        yield ExpandedQuery(
            query=_words(rest),
            strategy="broader",
            reformulation="syntactic",
            rationale=f"Without {left_out}, because PubMed has nothing on all of it.",
            pubmed_query=plan.query(rest),
            source="rules",
        )


def _words(operands: Sequence[Operand]) -> str:
    return " ".join(one.text.strip('"') for one in operands)


def _with_terms(topic: Topic, terms: Sequence[EvidenceTerm]) -> Iterator[_Draft]:
    """The topic with the best terms of the evidence, without those that it negates."""
    chosen = [term.term for term in terms if not stems(term.term) & topic.negated][:_MAX_TERMS]
    if chosen:
        condition = pubmed_syntax.any_of(pubmed_syntax.grouped(pubmed_syntax.words(name)) for name in chosen)
        found = f"With terms from the session's evidence ({', '.join(chosen)}); in PubMed, at least one of them."
        yield _Draft("specific", "semantic", "evidence", found, chosen, condition)


def _main_topic(plan: Plan) -> Iterator[_Draft]:
    """A single concept as the main topic of a paper."""
    for concept in plan.concepts if len(plan.operands) == 1 else ():
        if concept.record and not concept.record.is_supplementary:
            found = f"Papers whose main topic is {concept.record.name} (MeSH Major Topic)."
            block = pubmed_syntax.phrase(concept.record.name, "MeSH Major Topic")
            yield _Draft("specific", "syntactic", "mesh", found, ["main topic"], block)


def _broader(plan: Plan) -> Iterator[_Draft]:
    """A concept broadened in the MeSH tree, the last concept first, because topics often start with a drug or gene."""
    named = {one.concept.record.name for one in plan.operands if one.concept and one.concept.record}
    for operand in reversed(plan.operands):
        near = operand.concept.broader if operand.concept else ()
        for parent in [one for one in near if _is_close(one) and one.name not in named][:1]:
            query = plan.query(plan.operands, {operand: parent})
            found = f"“{operand.text}” or the broader {parent.name}, above it in the MeSH tree."
            name = " ".join(word.lower() if word[1:].islower() else word for word in natural_order(parent.name).split())
            either = f"{operand.text} or {name}"
            words = re.sub(
                rf"\b{re.escape(operand.text)}\b", lambda _, either=either: either, plan.topic.subject, count=1
            )
            yield _Draft("broader", "semantic", "mesh", found, [], query, words)


def _is_close(parent: MeshDescriptor) -> bool:
    """Whether a heading is deep enough in the tree, and of diseases, disorders or procedures: drugs of one class do
    not stand for one another."""
    return any(number.startswith(("C", "E", "F")) and number.count(".") >= 2 for number in parent.tree_numbers)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
