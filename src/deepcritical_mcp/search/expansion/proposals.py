"""The queries proposed for a topic: the direct one, broader ones, and one that narrows it.

By construction a specific query finds part of what the direct one finds (the direct one AND something), and a broader
one at least as much (without a part of the direct one, or with more terms joined by OR).
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from typing import Literal

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.blocks import NEAR, TopicConcept, text_words, uncapitalized
from deepcritical_mcp.search.expansion.filters import FittingFilter, fitting_filters
from deepcritical_mcp.search.expansion.parts import Part
from deepcritical_mcp.search.expansion.phrases import natural_order, stems
from deepcritical_mcp.search.expansion.plan import Plan
from deepcritical_mcp.search.expansion.roles import SURE, role_of_word
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, Topic, fit_web
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import NEGATIONS, PUBMED_STOP_WORDS, QUERY_FUNCTION_WORDS, counted

SEMANTIC_SHARE = 0.37
_LIKELY = 0.25
"""Share of the papers that define an abbreviation in which a meaning is worth a query of its own."""
# Processes and symptoms, such as "Pain".
_NO_DISEASE = "C23"
# A field of PubMed's syntax, and one in which at least the same records are found.
_WIDER_FIELDS = {
    "ti": "tiab",
    "title": "tiab",
    "majr": "mh",
    "mesh major topic": "mh",
    "tiab": "tw",
    "title/abstract": "tw",
    "mesh terms:noexp": "MeSH Terms",
    "mh:noexp": "mh",
}


@dataclass(frozen=True)
class Proposal:
    """A proposal: its words for a web search or a search by meaning, and the whole query for PubMed."""

    strategy: Literal["broader", "specific"]
    query: str
    pubmed: str
    rationale: str
    source: Literal["mesh", "rules"] = "rules"
    reformulation: Literal["syntactic", "semantic"] = "syntactic"
    is_loose: bool = False
    """Whether it is a class of drugs without the disease or the other drug."""
    is_spare: bool = False
    """Whether it is without a subject that the question needs, or part of another proposal."""

    def proposed(self) -> ExpandedQuery:
        return ExpandedQuery(
            query=fit_web(self.query),
            strategy=self.strategy,
            reformulation=self.reformulation,
            rationale=self.rationale,
            pubmed_query=self.pubmed,
            source=self.source,
        )


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
    """`direct`, then the first different proposals: at most `count` in all, of which from three on one is broader and
    one specific, if they were proposed."""
    rest: list[ExpandedQuery] = []
    seen: set[frozenset[str] | str] = set()
    for query in (direct, *proposed):
        # A filter may say nothing new in words ("people over 80").
        keys = {query.pubmed_query.casefold(), *([same_words_key(query.query)] if query.strategy != "specific" else [])}
        if not keys & seen:
            rest.append(query)
            seen |= keys
    chosen = rest[:count]
    for strategy in ("broader", "specific") if count >= 3 else ():
        other = next((one for one in rest[count:] if one.strategy == strategy), None)
        if other and strategy not in {one.strategy for one in chosen}:
            kept = next(one for one in reversed(chosen) if [two.strategy for two in chosen].count(one.strategy) > 1)
            chosen[chosen.index(kept)] = other
    return tuple(chosen)


def direct_query(plan: Plan) -> ExpandedQuery:
    """The topic as the user wrote it; in PubMed each of its subjects by all its names."""
    asked, topic = plan.asked, plan.topic
    query = fit_web(asked.subject if asked.syntax or any(one.label for one in asked.tokens) else asked.text)
    ranking = [] if plan.is_cut else [*(one.said for one in plan.ranking), *topic.either_way]
    unlisted = [one.concept for one in plan.subjects if one.concept and one.concept.unlisted]
    remarks = [
        _origin(asked)
        if asked.syntax
        else "Your terms as you wrote them: with all their names they are too long for one query."
        if plan.is_cut
        else f"Papers on {_listed(one.said for one in plan.required) or _listed([asked.text])}.",
        "Your terms with their other names." if topic.operands and not plan.is_cut else "",
        *(f"“{one.said}” as a phrase." for one in plan.required if one.is_negation),
        f"{_listed(ranking)}: only to rank by, no paper has to say so." if ranking and plan.rank_terms else "",
        f"{_listed(topic.ages)}: see the filters." if topic.ages else "",
        f"Left out: {_listed(topic.excluded)}, as NOT in the query says." if topic.excluded else "",
        *(
            f"{counted(one.unlisted, 'more drug')} of “{one.text}” found where indexed, not by name."
            for one in unlisted
        ),
        *(f"“{one.text}” in its short form, since the whole is too long." for one in plan.shortened if not plan.is_cut),
        "In your spelling or NCBI's." if topic.typed else "",
    ]
    return ExpandedQuery(
        query=query,
        strategy="direct",
        reformulation="syntactic",
        rationale=" ".join(filter(None, remarks)),
        pubmed_query=plan.direct,
        source="mesh" if any(one.record for one in plan.concepts) and not asked.syntax else "rules",
    )


def _origin(asked: Topic) -> str:
    if asked.syntax != asked.text:
        return "Your query in PubMed's syntax, with what PubMed would misread mended."
    return "Your query, in PubMed's syntax as you wrote it."


def broader_drafts(plan: Plan) -> Iterator[Proposal]:
    """What finds more than the direct query."""
    topic = plan.topic
    if topic.syntax:
        yield from _wider_fields(topic)
        return
    if topic.language == OTHER_SCRIPT or not plan.required or plan.is_cut:
        return
    every = (_with_parent, _without) if topic.operands else (_without, _with_parent, _worded_otherwise)
    for one in chain.from_iterable(drafts(plan) for drafts in every):
        yield replace(one, pubmed=plan.ranked(one.pubmed))


def _without(plan: Plan) -> Iterator[Proposal]:
    """The topic without a negation; without one of three subjects that is not what is tried; a class of drugs alone, as
    its reviews are searched; at last without any other part. Of joined terms, only asides are given up."""
    conditions = [one for one in plan.required if _is_condition(one)]
    # The easiest to give up first: what is measured, then what MeSH does not know; of the rest the last.
    is_joined = bool(plan.topic.operands)
    subjects = plan.subjects[:1:-1] if is_joined else plan.subjects[::-1]
    if not is_joined:  # users join first what they mean most
        subjects.sort(key=lambda one: (not one.is_outcome, one.is_known, one.evidence))
    for one in [*(one for one in plan.required if one.is_negation), *subjects]:
        rest = [other for other in plan.required if other is not one]
        left = [other for other in rest if not other.is_negation]
        if left and (len(plan.subjects) > 1 or one.is_negation):
            found = f"Without “{one.said}”, which papers may leave to the full text or word otherwise."
            is_class = one.kind in ("disease", "D") and any(other.is_class for other in left) and not is_joined
            is_option = one.is_aside if is_joined else _is_option(one, conditions)
            is_spare = not (is_class or (len(left) > 1 and (one.is_negation or is_option)))
            if not (is_spare and is_joined):  # what the user joined is given up only where much is left
                wide = plan.query(rest)
                yield Proposal("broader", _words(rest), wide, found, is_spare=is_spare, is_loose=is_class)


def _is_condition(part: Part) -> bool:
    """Whether it is a disease, a symptom or what causes one."""
    is_of = any(one.is_of(("B", "C", "F03")) for one in part.records)
    return part.role != "animal" and (is_of or (part.is_disease and not part.records))


def _is_option(part: Part, conditions: Sequence[Part]) -> bool:
    """Whether a topic stays what it is without a part: an outcome, whom or where it is about, or a phrase that papers
    may word otherwise, but no animal, nor its only condition, nor what is labeled as tried."""
    if part.role == "animal" or part.label == "I" or [*conditions] == [part]:
        return False
    is_whom = part.before in word_list("of whom") and part.kind not in ("D", "E")
    is_worded = " " in part.text and not part.is_known
    return part.is_outcome or part.label == "P" or part.role != "subject" or is_whom or is_worded


def _worded_otherwise(plan: Plan) -> Iterator[Proposal]:
    """The same subjects by their words near each other, and as PubMed reads them by itself."""
    looser = {one: terms for one in plan.subjects if (terms := _looser(one))}
    blocks = {
        one: pubmed_syntax.any_of([pubmed_syntax.grouped(plan.blocks[one]), *terms]) for one, terms in looser.items()
    }
    if blocks:
        wide = plan.query(plan.required, blocks)
        is_near = any("tiab:~" in term for terms in looser.values() for term in terms)
        found = f"Also your words {'near each other, and ' if is_near else ''}in all fields."
        yield Proposal("broader", f"{_words(plan.required)}, in other words", wide, found)


def _with_parent(plan: Plan) -> Iterator[Proposal]:
    """A disease or an operation with the heading above it, the last first, because topics often begin with a drug."""
    named = {one.record.name for one in plan.concepts if one.record}
    is_sure = len(plan.subjects) > 1 and all(one.evidence >= SURE for one in plan.subjects)
    for part in reversed(plan.subjects) if is_sure else ():
        concept = part.concept or TopicConcept(part.text)
        above = (one for one in concept.broader if one.name not in named and not stems(one.name) & plan.topic.negated)
        near = [one for one in above if _is_close(one, concept)]
        for parent in near[:1]:
            wide = pubmed_syntax.any_of(
                [pubmed_syntax.grouped(plan.blocks[part]), TopicConcept(parent.name, record=parent).block.full]
            )
            name = uncapitalized(natural_order(parent.name))
            text = _words(plan.required).replace(part.text, f"{part.text} or {name}", 1)
            found = f"“{part.text}” or the broader {parent.name}, above it in the MeSH tree."
            yield Proposal("broader", text, plan.query(plan.required, {part: wide}), found, "mesh")


def _is_close(parent: MeshDescriptor, concept: TopicConcept) -> bool:
    """Whether a heading is of diseases, disorders or operations, deep enough in the tree, and its words are among the
    concept's own names ("Heart Failure" above "Heart Failure, Diastolic"), more than one if they are in the topic
    (not "Pain" above "Chest Pain"), and in all of its branches (not "Diabetes Mellitus" above "Diabetes, Gestational"):
    others are too far away, and drugs do not stand for one another."""
    below = concept.record.tree_numbers if concept.record else ()
    if not {one[:3] for one in below} <= {one[:3] for one in parent.tree_numbers}:
        return False
    places = [one for one in parent.tree_numbers if one.count(".") >= 2 and not one.startswith(_NO_DISEASE)]
    is_fitting = any(one.startswith(("C", "E04", "F")) for one in places)
    is_head = " " not in parent.name and stems(parent.name) <= stems(concept.text)
    return is_fitting and not is_head and stems(parent.name) <= stems(" ".join((concept.text, *concept.names)))


def _looser(part: Part) -> list[str]:
    """The words of a part near each other, and as PubMed reads them by itself."""
    looked_up = [one for one in part.either or (part,) if one.is_looked_up]
    named = [[word for word in one.text.split() if word not in PUBMED_STOP_WORDS] for one in looked_up if one.records]
    return [
        *(pubmed_syntax.phrase(" ".join(words), f"tiab:~{NEAR}") for words in named if 2 <= len(words) <= 4),
        *(pubmed_syntax.grouped(one.text) for one in looked_up),
    ]


def _wider_fields(topic: Topic) -> Iterator[Proposal]:
    """The user's own query, with its terms in wider fields."""

    def widen(found: re.Match[str]) -> str:
        wider = _WIDER_FIELDS.get(found[1].strip().lower())
        return f"[{wider}]" if wider else found[0]

    wide = re.sub(r"\[([^\[\]]*)\]", widen, topic.syntax)
    if wide != topic.syntax and " NOT " not in topic.syntax:
        found = (
            "The same terms in wider fields: all text words instead of title and abstract, headings with narrower ones."
        )
        yield Proposal("broader", f"{topic.subject}, wider", wide, found)


def specific_drafts(plan: Plan, *, today: date) -> Iterator[Proposal]:
    """What narrows the direct query, the best first: the meaning of an abbreviation, all that is said, a filter of its
    question, its persons; at last kinds of paper and limits."""
    topic = plan.topic
    if topic.language == OTHER_SCRIPT or fit_web(topic.subject) != topic.subject:
        return
    core = pubmed_syntax.grouped(plan.core)
    subject = topic.subject.rstrip(" ?.!")
    for one in plan.concepts:
        if one.abbreviation and not one.abbreviation.long_form:
            if not any(part.concept == one for part in plan.required):
                continue
            likely = [meaning for meaning in one.abbreviation.meanings if meaning.share >= _LIKELY]
            for meaning in (one.abbreviation.in_context or likely)[:2]:
                block = pubmed_syntax.any_of(text_words(meaning.long_form))
                found = f"Only “{one.text}” as {meaning.long_form} ({meaning.share:.0%} of the papers that define it)."
                yield Proposal("specific", f"{subject} {meaning.long_form}", f"{core} AND {block}", found)
    if {*plan.said} - {*plan.required}:
        found = "Only papers that name all your terms."
        yield Proposal("specific", subject, plan.query(plan.said), found)
    persons = ("person", "group")
    is_said = any(one.role in persons or {*map(role_of_word, one.said.split())} & {*persons} for one in plan.required)
    is_asked = any(one.filter for one in plan.required)
    for one in fitting_filters(topic, plan.question, is_clinical=plan.is_clinical, today=today):
        is_known = is_said or topic.operands or one.filter.pubmed.startswith("animals")
        is_there = is_known if one.kind == "persons" else one.kind == "question" and is_asked
        if one.filter.pubmed.strip("(").split(" OR ")[0] not in plan.core and not is_there:
            yield replace(_narrowed(plan, one, subject), is_spare=one.kind not in ("question", "persons"))


def _narrowed(plan: Plan, one: FittingFilter, subject: str) -> Proposal:
    found = f"Only {one.filter.name[0].lower()}{one.filter.name[1:]} ({one.filter.source})."
    query = f"{subject} {one.words}"
    return Proposal(
        "specific",
        query,
        f"{pubmed_syntax.grouped(plan.direct)} AND {one.filter.pubmed}",
        found,
        reformulation="semantic",
    )


def _words(parts: Sequence[Part]) -> str:
    return " ".join(one.said for one in parts)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
