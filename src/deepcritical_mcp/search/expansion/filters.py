"""Search filters that fit a topic, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import Literal, NamedTuple, cast

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.models import SearchFilter
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.parts import Part
from deepcritical_mcp.search.expansion.phrases import is_drug
from deepcritical_mcp.search.expansion.roles import NAMED
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, Topic
from deepcritical_mcp.search.expansion.word_lists import endings, word_groups, word_list, word_table
from deepcritical_mcp.sources.pubmed.request import AGE_GROUPS, HUMANS, STUDY_FILTERS, AgeGroup

YEARS = 5


class FittingFilter(NamedTuple):
    """A filter that fits a topic: the condition with its name and source, its words for a search without operators, and
    whether it fits the question, its persons, is a kind of paper, or a limit of any search."""

    filter: SearchFilter
    words: str
    kind: Literal["question", "persons", "paper", "limit"]


def _own_filters(*, year: int, language: str) -> Mapping[str, SearchFilter]:
    """The filters of `filters.txt`, whose lines are a key, a name, a condition and its source, by their keys."""
    rows = (row.format(year=year, language=language).split("\t") for row in data_lines(__file__, "filters.txt"))
    return {key: SearchFilter(name=name, pubmed=pubmed, source=source) for key, name, pubmed, source in rows}


# What a question asks, the key of a filter that fits it, and the filter's words for a search without operators.
_OF_QUESTIONS = [row.split("\t") for row in data_lines(__file__, "question_filters.txt")]
# Questions whose filters find studies of patients.
_OF_PATIENTS = ("treatment", "harm", "course", "prediction", "diagnosis", "guidelines")
# Not of those who care for them: "paediatric intensive care nurses", "parents of children".
_AGE_WORDS: dict[AgeGroup, re.Pattern[str]] = {
    cast(AgeGroup, age): re.compile(
        rf"\b(?:{'|'.join(found)})\b(?!(?: [\w-]+){{0,3}}? (?:{'|'.join(word_list('carers'))})\b)", re.IGNORECASE
    )
    for age, found in word_groups("aged").items()
}
_ANIMALS = re.compile(
    rf"\b(?:{'|'.join(word_list('animals'))})\b(?!['’]?s? (?:{'|'.join(word_list('of animals'))})\b)", re.IGNORECASE
)
# Drugs by their structure or origin, hormones, vitamins; therapeutics and operations.
_TREATMENTS = tuple("D02 D03 D04 D06 D09 D10 D20 D26 D27.505 E02 E04".split())
_TREATMENT_ENDINGS = endings("treatment endings")


@cache
def _asked() -> Mapping[str, re.Pattern[str]]:
    return {
        kind: re.compile(rf"(?<![\w-])(?:{'|'.join(found)})(?![\w-])", re.IGNORECASE)
        for kind, found in word_groups("asks").items()
    }


def question_of(topic: Topic, required: Sequence[Part]) -> str:
    """What the topic clearly asks, by its words, or by a term that the user joined and that only ranks: the first that
    fits; else for a treatment, if something that is tried and a disease are all that it requires; "" if that is
    unclear. What it negates does not count."""
    text = topic.affirmed if topic.syntax else topic.text
    for negated in topic.negations:
        text = text.replace(negated, " ")
    said = {one.said for part in required for one in part.inner}
    terms = [term for terms in topic.operands for term in terms if term not in said]
    for asks, pattern in _asked().items():
        where = topic.subject if asks == "reviews" else text  # not in "I write a systematic review on"
        if any(map(pattern.fullmatch, terms)) or (not topic.operands and pattern.search(where)):
            return asks.partition(",")[0]
    every = [one for part in required for one in part.either or (part,) if not one.is_negation]
    offered = [one for one in every if _is_tried(one) and one.before not in ("after", "during", "following")]
    ill = [one for one in every if any(record.is_of(("C", "F")) for record in one.records)]
    sure = [one for one in every if topic.operands or (one.role == "subject" and one.evidence >= NAMED)]
    others = [one for one in sure if one not in (*offered, *ill) and one.role not in ("group", "person")]
    return "treatment" if offered and ill and not others else ""


def filter_named(term: str) -> str:
    """The condition of the filter that a term names ("cost-effectiveness", "older adults"), or ""."""
    for group, words in _AGE_WORDS.items():
        if words.fullmatch(term):
            return AGE_GROUPS[group].pubmed
    key = next((key for key, terms in word_groups("filter").items() if term.lower() in terms), "")
    return {**STUDY_FILTERS, **_own_filters(year=0, language="")}[key].pubmed if key else ""


def _is_tried(part: Part) -> bool:
    """Whether it is a drug, a therapy, an operation, or labeled as an intervention."""
    if part.label == "I":
        return True
    if part.concept and part.concept.record:
        record = part.concept.record
        return record.is_supplementary or any(one.startswith(_TREATMENTS) for one in record.tree_numbers)
    words = part.text.lower().split()
    return any(is_drug(word) or word.endswith(_TREATMENT_ENDINGS) for word in words)


_TAGGED = re.compile(r"(?<![^\s()])[^\s()\[\]]{0,60}+(\[\w{1,20}\])")


def fitting_filters(topic: Topic, question: str, *, is_clinical: bool, today: date) -> Iterator[FittingFilter]:
    """The filters that fit `topic` and that its syntax lacks, the best first: those of what it asks, its persons, kinds
    of paper, then limits; of a clinical topic (a disease, an operation), guidelines too."""
    said = {mark for found in _TAGGED.finditer(topic.syntax.lower()) for mark in found.group(0, 1)}
    for one in _filters(topic, question, is_clinical=is_clinical, year=today.year - YEARS):
        marks = {found[one.kind == "limit"] for found in _TAGGED.finditer(one.filter.pubmed)}
        if not marks & said:
            yield one


def _filters(topic: Topic, question: str, *, is_clinical: bool, year: int) -> Iterator[FittingFilter]:
    is_of_animals = _ANIMALS.search(topic.affirmed) is not None
    language = topic.language if topic.language not in ("", OTHER_SCRIPT) else "English"
    every = {**STUDY_FILTERS, "humans": HUMANS, **_own_filters(year=year, language=language)}
    for asks, key, words in _OF_QUESTIONS:
        if asks == question and not (is_of_animals and asks in _OF_PATIENTS):
            yield FittingFilter(every[key], words, "question")
    if topic.ages:
        blocks = pubmed_syntax.any_of(map(age_block, topic.ages))
        aged = SearchFilter(name=" ".join(topic.ages), pubmed=blocks, source="MeSH age groups, and the usual words")
        yield FittingFilter(aged, aged.name, "persons")
    elif (group := _age_group(topic.affirmed)) != "any":
        yield FittingFilter(AGE_GROUPS[group], AGE_GROUPS[group].name.lower(), "persons")
    if is_of_animals:
        yield FittingFilter(every["animals"], "animal study", "persons")
    papers = {"reviews": ["reviews"], "basic": ["reviews", "systematic_review"]}
    for key in papers.get(question, ["systematic_review", "reviews"]):
        yield FittingFilter(every[key], "overview" if key == "reviews" else "systematic review", "paper")
    if is_clinical and not is_of_animals and question in ("treatment", "diagnosis"):
        yield FittingFilter(every["guidelines"], "guideline", "paper")
    for key, words in (("since", f"since {year}"), ("language", f"in {language}"), ("humans", "in humans")):
        if not (is_of_animals and key == "humans"):
            yield FittingFilter(every[key], words, "limit")


def age_block(text: str) -> str:
    """People of some ages ("aged 65 and over", "under 5", "aged 20 to 40"), by MeSH's age groups and the same words."""
    years = [int(number) // (12 if "month" in text.lower() else 1) for number in re.findall(r"\d+", text)]
    is_under = {"below", "under", "younger"} & {*text.lower().split()}
    first, last = (0, max(years[0] - 1, 0)) if is_under else (years[0], years[1] if years[1:] else 999)
    starts = [(int(start), AGE_GROUPS[cast(AgeGroup, group)]) for group, start in word_table("first years").items()]
    ends = [start - 1 for start, _ in starts[1:]] + [999]
    fitting = zip(starts, ends, strict=True)
    groups = [group.pubmed for (start, group), end in fitting if first <= end and last >= start]
    return pubmed_syntax.any_of([*groups, pubmed_syntax.phrase(text, "tiab")])


def age_left_out(text: str) -> str:
    """Papers on people of an age and on no others, if that is all that `text` names ("children"); else ""."""
    group = next((group for group, words in _AGE_WORDS.items() if words.fullmatch(text)), None)
    return f'{AGE_GROUPS[group].pubmed} NOT ("adult"[mh:noexp] OR "middle aged"[mh])' if group else ""


def _age_group(text: str) -> AgeGroup:
    """The age group that a topic names; of several, all children, or "any" if some are not children."""
    found: list[AgeGroup] = []
    for group, words in _AGE_WORDS.items():
        rest = words.sub(" ", text)  # "preterm infants" are newborns
        if rest != text:
            found.append(group)
        text = rest
    if len(found) > 1:
        return "any" if {"over_80", "aged"} & {*found} else "under_18"
    return found[0] if found else "any"
