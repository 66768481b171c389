"""The queries proposed for a topic (direct, broader, specific), and the choice among them.

By construction a specific query finds part of what the direct one finds (the direct one AND something), and a broader
one finds at least as much (without a part of the direct one, or that part OR something).
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import pairwise

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.abbreviations import Meaning
from deepcritical_mcp.search.expansion.blocks import TopicConcept, written
from deepcritical_mcp.search.expansion.broader import broader_drafts
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm
from deepcritical_mcp.search.expansion.filters import FittingFilter, fitting_filters
from deepcritical_mcp.search.expansion.negations import absent_thing
from deepcritical_mcp.search.expansion.operands import Operand, joined
from deepcritical_mcp.search.expansion.phrases import stems
from deepcritical_mcp.search.expansion.plan import EITHER_WAY, DraftedQuery, Plan, joined_words, quoted_list
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, Topic, fit_web
from deepcritical_mcp.text import NEGATIONS, QUERY_FUNCTION_WORDS, QUESTION_WORDS, REQUEST_WORDS

SEMANTIC_SHARE = 0.37
# Best on MED (bench/expansion.py): four terms of the evidence.
_MAX_TERMS = 4
_MAX_ADDED_WORDS = 12

_PRONOUNS = frozenset("it its them they their this these those he she".split())

_MAX_MAIN_TOPICS = 3
_MAX_TITLE_WORDS = 3
_PERSONS = ("M",)
_LIKELY = 0.25
"""Share of the papers that define an abbreviation in which a meaning is worth a query of its own."""


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


def direct_query(plan: Plan) -> ExpandedQuery:
    """The topic as the user wrote it; in PubMed each concept by any of its names."""
    asked, topic = plan.asked, plan.topic
    whole = asked.subject if asked.outcome or asked.syntax else asked.text
    query = fit_web(whole)
    named = [one.text.strip('"') for one in plan.concepts if one.record or one.forms]
    compared = [one for one in topic.either_way if EITHER_WAY.sub("", one) == one]
    optional = " OR ".join([*map(pubmed_syntax.grouped, plan.optional), "all[sb]"])
    around = [part.strip(" ,") for part in asked.text.split(asked.subject, 1)] if not asked.syntax else []
    around = [part for part in around if {*part.lower().split()} - REQUEST_WORDS - QUERY_FUNCTION_WORDS]
    remarks = [
        _origin(asked),
        f"In PubMed, with the other names of {quoted_list(named)}." if named and not asked.syntax else "",
        f"{quoted_list(topic.ages)} by MeSH's age group and the usual words." if topic.ages else "",
        f"{quoted_list(plan.optional)} only ranks the papers; none has to say so." if plan.optional else "",
        f"{quoted_list(topic.verbs)} left out, since papers word an effect in many ways." if topic.verbs else "",
        f"{quoted_list(around)} left out: read as the request, not the question." if around else "",
        f"{quoted_list(topic.tangled)} left out, since PubMed cannot search for it." if topic.tangled else "",
        *(f"One of {quoted_list(part.text for part in one.either)} is enough." for one in plan.operands if one.either),
        f"{quoted_list(plan.left_out)} left out: papers on the topic need not say so." if plan.left_out else "",
        f"{quoted_list(compared)} left out, since no paper has to say so." if compared else "",
        f"Without papers that mention {quoted_list(topic.excluded)}." if topic.excluded else "",
        *map(_negation, (one for one in plan.operands if one.is_negation)),
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


def _negation(one: Operand) -> str:
    others = ", or what papers say instead," if one.pubmed != one.text else ""
    words = one.text.strip('"')
    return "" if one.concept else f"“{words}” as a phrase{others} must occur."


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


def _drafts(plan: Plan, terms: Sequence[EvidenceTerm], today: date) -> Iterator[DraftedQuery]:
    topic = plan.topic
    broader: list[DraftedQuery] = []
    # Words alone cannot exclude what such a topic excludes, so nothing is followed or replaced.
    if not topic.has_exclusion:
        yield from _each_question(plan)
        yield from _not_mentioned(plan)
        yield from _meanings(plan)
        yield from _outcome(topic)
        broader = broader_drafts(plan)
        yield from broader[:1]
        yield from _with_terms(topic, terms)
    filters = [
        one for one in fitting_filters(topic, plan.kinds, is_clinical=plan.is_clinical, today=today) if not one.is_wide
    ]
    first = [one for one in filters if one.is_early]
    yield from (_with_filter(one, topic) for one in first)
    if not topic.has_exclusion:
        yield from _main_topic(plan)
        yield from broader[1:]
    others = [one for one in filters if one not in first and one.filter.pubmed not in plan.direct.lower()]
    others.sort(key=lambda one: not one.is_of_question)
    yield from (_with_filter(one, topic) for one in others)


def _with_filter(one: FittingFilter, topic: Topic) -> DraftedQuery:
    remark = " A web search cannot exclude what your NOT excludes." if topic.has_exclusion else ""
    kind = "semantic" if one.is_best else "syntactic"
    found = f"{one.filter.name} ({one.filter.source}).{remark}"
    return DraftedQuery("specific", kind, "rules", found, [one.words], one.filter.pubmed)


def _each_question(plan: Plan) -> Iterator[DraftedQuery]:
    """One question of several: the parts of the direct query that it has."""
    for question in plan.topic.questions:
        words = stems(question)
        if not _PRONOUNS.isdisjoint(question.lower().split()):
            continue  # what it asks about is in the other question
        asked = [one for one in plan.operands if one.is_negation or stems(one.text) & words]
        if asked and len(asked) < len(plan.operands):
            found = f"One of your questions alone: “{question}”."
            yield DraftedQuery("broader", "syntactic", "rules", found, [], plan.query(asked), question)


def _not_mentioned(plan: Plan) -> Iterator[DraftedQuery]:
    """ "Without X" as the phrase, or as papers that do not mention X."""
    for negated in (one for one in plan.operands if one.is_negation):
        words = negated.text.strip('"')
        absent = absent_thing(words)
        kept = [one for one in plan.operands if one is not negated]
        others, rest = joined(one.pubmed for one in kept), joined_words(kept)
        if absent and others:
            silent = f"({pubmed_syntax.grouped(others)} NOT {pubmed_syntax.grouped(absent)})"
            query = f"{pubmed_syntax.grouped(plan.direct)} OR {silent}"
            found = f"Papers that say “{words}”, and those that do not mention {absent} at all."
            yield DraftedQuery("broader", "syntactic", "rules", found, [], query, f"{rest}, no {absent}")
        elif len(kept) > 1 and words.split()[0] in ("cannot", "never", "not", "unable"):
            found = f"Whether or not papers say “{words}”."
            yield DraftedQuery("broader", "syntactic", "rules", found, [], plan.query(kept), rest)


def meaning_blocks(plan: Plan) -> Iterator[tuple[TopicConcept, Meaning, str]]:
    """The abbreviations that stand for several things, with each of their most common meanings and its block."""
    for one in plan.concepts:
        if one.abbreviation and not one.abbreviation.long_form:
            likely = [meaning for meaning in one.abbreviation.meanings if meaning.share >= _LIKELY]
            for meaning in (one.abbreviation.in_context or likely)[:2]:
                yield one, meaning, pubmed_syntax.any_of(written(meaning.long_form))


def _meanings(plan: Plan) -> Iterator[DraftedQuery]:
    """An abbreviation that stands for several things, as each of the most common ones."""
    for one, meaning, block in meaning_blocks(plan):
        found = f"“{one.text}” as {meaning.long_form} ({meaning.share:.0%} of the papers that define it)."
        yield DraftedQuery("specific", "syntactic", "rules", found, [meaning.long_form], block)


def _outcome(topic: Topic) -> Iterator[DraftedQuery]:
    """The outcome of a PICO question as a requirement."""
    if topic.outcome and topic.outcomes:
        found = f"With the outcome ({topic.outcome}) required."
        words = f"{' '.join(topic.parts)}, outcome {topic.outcome}"
        block = pubmed_syntax.any_of(map(pubmed_syntax.grouped, topic.outcomes))
        yield DraftedQuery("specific", "syntactic", "rules", found, [], block, words)


def _with_terms(topic: Topic, terms: Sequence[EvidenceTerm]) -> Iterator[DraftedQuery]:
    """The topic with the best terms of the evidence, without those that it negates."""
    chosen = [term.term for term in terms if not stems(term.term) & topic.negated][:_MAX_TERMS]
    if chosen:
        condition = pubmed_syntax.any_of(pubmed_syntax.grouped(pubmed_syntax.words(name)) for name in chosen)
        found = f"With terms from the session's evidence ({', '.join(chosen)}); in PubMed, at least one of them."
        yield DraftedQuery("specific", "semantic", "evidence", found, chosen, condition)


def _main_topic(plan: Plan) -> Iterator[DraftedQuery]:
    """The subjects of the topic as the main topic of a paper."""
    following = dict(pairwise(plan.operands))
    cut_off = {one for one, after in following.items() if not one.concept and after.concept and not after.before}
    is_whole_phrase = [one for one in plan.parts if one not in cut_off or one.either]
    is_whole_phrase = [one for one in is_whole_phrase if one.concept or len(stems(one.text)) <= _MAX_TITLE_WORDS]
    subjects = [one for one in is_whole_phrase if not (one.is_general or one.is_measure or one.fixed or one.is_context)]
    if len(subjects) < 2:  # "nursing handover in intensive care", but not "lithium in the elderly"
        places = [one for one in is_whole_phrase if one.is_context and one.concept and one.concept.record]
        subjects += [
            one for one in places if one.concept and one.concept.record and not one.concept.record.is_of(_PERSONS)
        ]
    named = [one for one in subjects if one.is_named]
    chosen = (named if len(named) > 1 else subjects)[:_MAX_MAIN_TOPICS]
    is_enough = len(chosen) > 1 or len(plan.parts) == 1
    if chosen and is_enough and not plan.topic.syntax and not plan.topic.language:
        listed = " and ".join(f"“{one.text}”" for one in chosen)
        found = f"Papers mainly on {listed}: in the title, or as a MeSH Major Topic."
        first, second, *_ = [*plan.topic.subject.lower().split(), ""]
        is_question = first in QUESTION_WORDS and second not in NEGATIONS
        words = f"studies on {joined_words(plan.operands) if is_question else plan.topic.subject}"
        block = pubmed_syntax.grouped(joined(one.as_main_topic() for one in chosen))
        yield DraftedQuery("specific", "syntactic", "rules", found, [], block, words)
