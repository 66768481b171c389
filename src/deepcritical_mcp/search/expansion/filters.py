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
from deepcritical_mcp.search.expansion.word_lists import endings, word_groups
from deepcritical_mcp.sources.pubmed.request import AGE_GROUPS, HUMANS, STUDY_FILTERS, AgeGroup

QuestionKind = Literal[
    "treatment",
    "diagnosis",
    "harm",
    "safety",
    "course",
    "prediction",
    "views",
    "prevalence",
    "costs",
    "reviews",
    "guidelines",
    "observational",
]

YEARS = 5


class FittingFilter(NamedTuple):
    """A filter that fits a topic: the condition with its name and source, its words for a search without operators, and
    whether it fits the question, its persons, is a kind of paper, or a limit of any search."""

    filter: SearchFilter
    words: str
    kind: Literal["question", "persons", "paper", "limit"]


@cache
def _own_filters() -> Mapping[str, SearchFilter]:
    """The filters of `filters.txt`, whose lines are a key, a name, a condition and its source, by their keys."""
    read = (row.split("\t") for row in data_lines(__file__, "filters.txt"))
    return {key: SearchFilter(name=name, pubmed=pubmed, source=source) for key, name, pubmed, source in read}


# What fits a question of each kind, the best first, with its words for a web search. The narrow and the broad form of
# one filter say the same, in two widths.
_OF_QUESTIONS: Mapping[QuestionKind, tuple[tuple[str, str], ...]] = {
    "views": (("qualitative", "qualitative research interviews"),),
    "costs": (("costs", "costs"),),
    "reviews": (("systematic_review", "systematic review"),),
    "guidelines": (("guidelines", "guideline"),),
    "observational": (("observational", "cohort study"),),
    "prevalence": (("epidemiology", "epidemiology"),),
    "diagnosis": (("diagnosis", "diagnostic accuracy"), ("diagnosis_broad", "sensitivity of diagnosis")),
    "prediction": (("prediction", "validation of a prediction model"), ("prediction_broad", "predictive score")),
    "treatment": (
        ("rct", "randomized controlled trial"),
        ("therapy", "randomized trial"),
        ("adverse", "adverse effects safety"),
    ),
    "course": (("prognosis", "prognosis cohort"), ("prognosis_broad", "follow-up mortality")),
    "safety": (("adverse", "adverse effects safety"),),
    "harm": (("etiology", "relative risk cohort study"), ("etiology_broad", "risk factors")),
}
# Questions whose filters find studies of patients.
_OF_PATIENTS = {"treatment", "harm", "course", "prediction", "diagnosis", "guidelines"}
# Not of those who care for them: "paediatric intensive care nurses", "parents of children".
_CARERS = "care(?:giv)?ers|clinicians|doctors|fathers|mothers|nurses|parents|pediatricians|physicians|staff|teachers"
_AGE_WORDS: dict[AgeGroup, re.Pattern[str]] = {
    cast(AgeGroup, age): re.compile(rf"\b(?:{'|'.join(found)})\b(?!(?: [\w-]+){{0,3}}? (?:{_CARERS})\b)", re.IGNORECASE)
    for age, found in word_groups("aged").items()
}
# From which age to which MeSH's groups are, without those that another one includes.
_RANGES: tuple[tuple[int, int, AgeGroup], ...] = (
    (0, 1, "infant"),
    (2, 5, "preschool"),
    (6, 12, "child"),
    (13, 18, "adolescent"),
    (19, 44, "adult"),
    (45, 64, "middle_aged"),
    (65, 79, "aged"),
    (80, 999, "over_80"),
)
_ANIMAL_WORDS = re.compile(
    r"\b(?:animals?|avian|bovine|calves|canine|cats?|cattle|chickens?|cows?|dairy|dogs?|equine|feline|fish|goats?|"
    r"horses?|mice|mouse|murine|ovine|pigs?|piglets?|porcine|poultry|primates?|rabbits?|rats?|rodents?|sheep|swine|"
    r"veterinary|zebrafish)\b(?!['’]?s? (?:allerg|assisted|bites?|danders?|epitheli|farm\w*|handlers?|"
    r"industry|keepers?|milk|oils?|owners?|products?|veterinarians?|workers?|"
    r"scratch))",
    re.IGNORECASE,
)
# Signs and symptoms, disorders by chemicals, injuries: what a drug may cause or be tried for.
_INJURIES = ("C23.888", "C25", "C26")
# Drugs by their structure or origin, hormones, vitamins; therapeutics and operations.
_TREATMENTS = tuple("D02 D03 D04 D06 D09 D10 D20 D26 D27.505 E02 E04".split())
_TREATMENT_ENDINGS = endings("treatment endings")
# Diseases, organisms, parts of the body, persons and places are not tried.
_NEVER_TRIED = ("disease", "A", "B", "C", "M", "Z")
# Where or when something happens, not what is tried: "delirium after surgery".
_AROUND = re.compile(
    r"\b(?:(?:after|before|during|following|undergoing) (?:\w+ ){0,2}?|in (?:\w+ )?)"
    r"(?:chemotherapy|dialysis|replacement|surgery|transplantation|treatment)\b",
    re.IGNORECASE,
)


@cache
def _asked() -> Mapping[str, re.Pattern[str]]:
    return {
        kind: re.compile(rf"(?<![\w-])(?:{'|'.join(found)})(?![\w-])", re.IGNORECASE)
        for kind, found in word_groups("asks").items()
    }


def question_kinds(topic: Topic, required: Sequence[Part]) -> set[QuestionKind]:
    """What the topic clearly asks about, by its words: the first kind that fits; else a treatment, if something that is
    tried and a disease are all that it requires. What it negates and the names of its conditions do not count."""
    text = _AROUND.sub(" ", topic.text if topic.syntax == "" and not topic.negations else topic.affirmed)
    every = [one for part in required for one in part.either or (part,) if not one.is_negation]
    offered = [one for one in every if _is_tried(one) and one.before not in ("after", "during", "following")]
    ill = [one for one in every if one.concept and one.concept.record and one.concept.record.is_of(("C", "F"))]
    for one in every:  # "test anxiety" is no test, "adverse childhood experiences" are no views
        if " " in one.text and any(record.is_of(("C", "F", "I")) for record in one.records):
            text = text.replace(one.text, " ")
    for kind, pattern in _asked().items():
        # Not in "I am writing a systematic review on"; "why do adolescents not adhere" asks for views.
        asked = {"reviews": topic.subject, "views": topic.text}.get(kind, text)
        if pattern.search(asked) and (kind != "effect" or any(one.kind not in _NEVER_TRIED for one in every)):
            is_trial = kind in ("effect", "trial")
            return (
                {"treatment"} if is_trial else set() if kind in ("basic", "unfiltered") else {cast(QuestionKind, kind)}
            )
    is_for = any(one.before in ("for", "in") for one in ill)
    places = [place for one in ill if one.concept and one.concept.record for place in one.concept.record.tree_numbers]
    is_ill = bool(ill) and not any(place.startswith(_INJURIES) for place in places)
    others = [one for one in every if one.role == "subject" and one.evidence >= NAMED and one not in (*offered, *ill)]
    return {"treatment"} if offered and (is_for or is_ill) and not others else set()


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


def fitting_filters(
    topic: Topic, kinds: set[QuestionKind], *, is_clinical: bool, today: date
) -> Iterator[FittingFilter]:
    """The filters that fit `topic` and that its syntax lacks, the best first: those of its question, which is of these
    kinds, its persons, kinds of paper, then limits; of a clinical topic (a disease, an operation), guidelines too."""
    said = {mark for found in _TAGGED.finditer(topic.syntax.lower()) for mark in found.group(0, 1)}
    for one in _filters(topic, kinds, is_clinical=is_clinical, year=today.year - YEARS):
        marks = {found[one.kind == "limit"] for found in _TAGGED.finditer(one.filter.pubmed)}
        if not marks & said:
            yield one


def _filters(topic: Topic, kinds: set[QuestionKind], *, is_clinical: bool, year: int) -> Iterator[FittingFilter]:
    is_of_animals = _ANIMAL_WORDS.search(topic.affirmed) is not None
    is_basic = not kinds and _asked()["basic"].search(topic.affirmed) is not None
    every = {**STUDY_FILTERS, **_own_filters()}
    for found, words in (row for kind in kinds for row in _OF_QUESTIONS[kind]):
        if not (is_of_animals and kinds & _OF_PATIENTS):
            yield FittingFilter(every[found], words, "question")
    if topic.ages:
        blocks = pubmed_syntax.any_of(map(age_block, topic.ages))
        aged = SearchFilter(name=" ".join(topic.ages), pubmed=blocks, source="MeSH age groups, and the usual words")
        yield FittingFilter(aged, " ".join(topic.ages), "persons")
    elif (group := _age_group(topic.affirmed)) != "any":
        yield FittingFilter(AGE_GROUPS[group], AGE_GROUPS[group].name.lower(), "persons")
    if is_of_animals:
        yield FittingFilter(every["animals"], "animal study", "persons")
    systematic = FittingFilter(every["systematic_review"], "systematic review", "paper")
    overview = FittingFilter(every["reviews"], "overview", "paper")
    yield from (overview, systematic) if is_basic else (overview,) if "reviews" in kinds else (systematic, overview)
    if is_clinical and not is_of_animals and kinds & {"treatment", "diagnosis"}:
        yield FittingFilter(every["guidelines"], "guideline", "paper")
    language = topic.language if topic.language not in ("", OTHER_SCRIPT) else "English"
    limits = (
        (f"Published since {year}", f"{year}:3000[dp]", "PubMed's publication date", f"since {year}"),
        (f"Papers in {language}", f"{language.lower()}[la]", "PubMed's language field", f"in {language}"),
    )
    for name, pubmed, source, words in limits:
        yield FittingFilter(SearchFilter(name=name, pubmed=pubmed, source=source), words, "limit")
    if not is_of_animals:
        yield FittingFilter(HUMANS, "in humans", "limit")


def age_block(text: str) -> str:
    """People of some ages ("aged 65 and over", "under 5", "aged 20 to 40"), by MeSH's age groups and the same words."""
    years = [int(number) // (12 if "month" in text.lower() else 1) for number in re.findall(r"\d+", text)]
    is_under = re.search(r"\b(?:below|under|younger)\b", text, re.IGNORECASE) is not None
    first, last = (0, max(years[0] - 1, 0)) if is_under else (years[0], years[1] if years[1:] else 999)
    groups = [AGE_GROUPS[group].pubmed for start, end, group in _RANGES if first <= end and last >= start]
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
