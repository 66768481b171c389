"""Search filters that fit a topic: limits that a librarian would add to it, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.dropping import essential_parts
from deepcritical_mcp.search.expansion.phrases import stems
from deepcritical_mcp.search.expansion.selection import Reformulation
from deepcritical_mcp.search.expansion.topic import Topic, is_drug
from deepcritical_mcp.search.expansion.word_lists import (
    ANIMALS,
    FUNCTION_WORDS,
    GENERAL_WORDS,
    NAMED_WITH_A_LETTER,
    QUESTION_KINDS,
    VERBS_OF_EFFECT,
)

QuestionKind = Literal["treatment", "diagnosis", "harm", "course", "views"]

YEARS = 10
# More words than these hardly ever stand in one title.
_MOST_TITLE_WORDS = 5
_CLINICAL_QUERIES = "NLM's Clinical Queries, narrow"


@dataclass(frozen=True)
class Filter:
    """A condition for PubMed that any topic of its kind can be joined to by AND.

    Attributes:
        finds: what remains, and the filter's source.
        pubmed: the condition, one operand.
        words: the same for a web search or a search by meaning.
        reformulation: "semantic" where it asks a question of its own, "syntactic" where it only limits.
        mark: what in a topic in PubMed's syntax shows that it has such a condition already.
        kinds: the questions it fits; () = any.
    """

    finds: str
    pubmed: str
    words: str
    reformulation: Reformulation
    mark: str
    kinds: tuple[QuestionKind, ...] = ()


_QUESTIONS = (
    Filter(
        "Trials only (Cochrane's filter for randomized trials, sensitivity- and precision-maximizing version, with the "
        "British spelling added).",
        '(("randomized controlled trial"[pt] OR "controlled clinical trial"[pt] OR randomized[tiab] OR '
        'randomised[tiab] OR placebo[tiab] OR "clinical trials as topic"[mesh:noexp] OR randomly[tiab] OR trial[ti]) '
        "NOT (animals[mh] NOT humans[mh]))",
        "randomized controlled trial",
        "semantic",
        "randomized",
        ("treatment",),
    ),
    Filter(
        f"Studies of how accurate a test is (diagnosis filter of {_CLINICAL_QUERIES}).",
        "specificity[tiab]",
        "diagnostic accuracy specificity",
        "semantic",
        "specificity",
        ("diagnosis",),
    ),
    Filter(
        f"Studies of risk or harm (etiology filter of {_CLINICAL_QUERIES}).",
        '((relative[tiab] AND risk*[tiab]) OR "relative risk"[tw] OR risks[tw] OR "cohort studies"[mesh:noexp] OR '
        "(cohort[tiab] AND study[tiab]) OR (cohort[tiab] AND studies[tiab]))",
        "relative risk cohort study",
        "semantic",
        "cohort",
        ("harm",),
    ),
    Filter(
        f"Studies of the course over time (prognosis filter of {_CLINICAL_QUERIES}).",
        "(prognos*[tiab] OR (first[tiab] AND episode[tiab]) OR cohort[tiab])",
        "prognosis cohort",
        "semantic",
        "prognos",
        ("course",),
    ),
    Filter(
        "Interviews and other qualitative research (MeSH heading Qualitative Research, and its usual words).",
        '("qualitative research"[mh] OR qualitative[tiab] OR interview*[tiab] OR "focus groups"[mh])',
        "qualitative research interviews",
        "semantic",
        "qualitative",
        ("views",),
    ),
    Filter(
        "Papers on harm and safety (MeSH subheading Adverse Effects, and its usual words).",
        '("adverse effects"[sh] OR "adverse effects"[tiab] OR "adverse events"[tiab] OR "side effects"[tiab] OR '
        "safety[tiab])",
        "adverse effects safety",
        "semantic",
        "adverse",
        ("treatment",),
    ),
    Filter(
        "Guidelines only (PubMed's publication types).",
        '("practice guideline"[pt] OR guideline[pt])',
        "practice guideline",
        "semantic",
        "guideline",
        ("treatment", "diagnosis"),
    ),
)
_SYSTEMATIC = Filter(
    "Systematic reviews only (PubMed's own filter).",
    "systematic[sb]",
    "systematic review",
    "syntactic",
    "systematic",
)
_OVERVIEWS = Filter(
    "Reviews only, to begin with (PubMed's publication type).", "review[pt]", "overview", "syntactic", "review"
)
_FREE = Filter(
    "Papers that can be read free of charge (PubMed's own filter).",
    '"free full text"[sb]',
    "free full text",
    "syntactic",
    "free full text",
)
_WITH_ABSTRACT = Filter(
    "With an abstract to read (PubMed's own filter).", "hasabstract", "abstract", "syntactic", "hasabstract"
)
_WITHOUT_ANIMAL_STUDIES = Filter(
    "Without papers on animals alone; those not yet indexed stay (Cochrane's form of the limit to humans).",
    "(all[sb] NOT (animals[mh] NOT humans[mh]))",
    "in humans",
    "syntactic",
    "humans",
)


def fitting_filters(topic: Topic, *, today: date) -> list[Filter]:
    """The filters that fit `topic`, of each kind of reformulation the most useful first."""
    kinds = question_kinds(topic)
    questions = [one for kind in kinds for one in _QUESTIONS if one.kinds and kind in one.kinds]
    is_about_animals = any(word.lower() in ANIMALS for word in _plain_words(topic))
    limits = [_SYSTEMATIC, *_in_title(topic), _since(today.year - YEARS), _OVERVIEWS, _language(topic), _FREE]
    limits += [_WITH_ABSTRACT] if is_about_animals else [_WITHOUT_ANIMAL_STUDIES, _WITH_ABSTRACT]
    fitting: dict[Filter, None] = dict.fromkeys([*questions, *limits])
    return [one for one in fitting if not _is_given(one, topic)]


def question_kinds(topic: Topic) -> tuple[QuestionKind, ...]:
    """What the topic asks about, as far as its words show; what it negates does not count.

    Views on a treatment ("vaccine hesitancy") and its costs are not questions of treatment.
    """
    words = [word.lower() for word in _plain_words(topic)]
    named: dict[QuestionKind, bool] = {
        kind: any(word in names or _has_ending(word, kind) for word in words) for kind, names in QUESTION_KINDS.items()
    }
    if any(word.startswith(("cost", "econom")) for word in words):
        return ()
    if named["views"]:
        return ("views",)
    return tuple(kind for kind, is_named in named.items() if is_named)


def _has_ending(word: str, kind: QuestionKind) -> bool:
    return kind == "treatment" and (
        is_drug(word) or word.endswith(("ectomy", "plasty", "therapy", "therapies", "vaccine", "vaccines"))
    )


def _plain_words(topic: Topic) -> list[str]:
    """The topic's words outside of its negations."""
    if topic.syntax:
        return pubmed_syntax.words(topic.subject).split()
    return [part for part in topic.parts if not part.startswith('"')]


def _is_given(one: Filter, topic: Topic) -> bool:
    """Whether the topic asks for it already."""
    return one.mark in topic.syntax.lower() or stems(one.mark) <= stems(topic.subject)


def _since(year: int) -> Filter:
    return Filter(
        f"Published since {year} (PubMed's publication date).", f"{year}:3000[dp]", f"since {year}", "syntactic", "[dp]"
    )


def _language(topic: Topic) -> Filter:
    """Papers in the topic's own language where that can be told, else in English."""
    language = topic.language or "English"
    return Filter(
        f"Papers in {language} (PubMed's language field).",
        f"{language.lower()}[la]",
        f"in {language}",
        "syntactic",
        "[la]",
    )


def _in_title(topic: Topic) -> Iterator[Filter]:
    """The topic's main words in the title: papers that are chiefly about them."""
    words = [] if topic.syntax else _title_words(topic)
    if words:
        joined = " AND ".join(f"{word}[ti]" for word in words)
        listed = ", ".join(word.strip('"') for word in words)
        condition = joined if len(words) == 1 else f"({joined})"
        yield Filter(
            f"With {listed} in the title: chiefly about it.", condition, "as the main topic", "syntactic", "[ti]"
        )


def _title_words(topic: Topic) -> list[str]:
    """The words of the topic without its lesser ones; [] where they are too many for a title."""
    names = [word for word in _names(essential_parts(topic)) if word.lower() not in FUNCTION_WORDS]
    specific = [word for word in names if word.lower() not in GENERAL_WORDS | VERBS_OF_EFFECT]
    words = specific if len(names) > _MOST_TITLE_WORDS and len(specific) > 1 else names
    return words if len(words) <= _MOST_TITLE_WORDS else []


def _names(parts: Sequence[str]) -> Iterator[str]:
    """The parts; a word with the letter or number that names its kind ("vitamin A", "type 2") as one phrase."""
    place = 0
    while place < len(parts):
        following = parts[place + 1] if place + 1 < len(parts) else ""
        is_name = parts[place].lower() in NAMED_WITH_A_LETTER and re.fullmatch(r"[A-Z]\d*|\d+[a-z]?|[IVX]+", following)
        yield pubmed_syntax.phrase(f"{parts[place]} {following}") if is_name else parts[place]
        place += 2 if is_name else 1
