"""Search filters that fit a topic, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from itertools import pairwise, zip_longest
from typing import Literal, NamedTuple, cast, get_args

from deepcritical_mcp.models import SearchFilter
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.operands import Operand
from deepcritical_mcp.search.expansion.phrases import is_drug, stems
from deepcritical_mcp.search.expansion.roles import EFFICACY
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, Topic
from deepcritical_mcp.search.expansion.word_lists import endings, word_groups, word_list
from deepcritical_mcp.sources.pubmed.request import AGE_GROUPS, HUMANS, STUDY_FILTERS, AgeGroup

QuestionKind = Literal[
    "treatment", "diagnosis", "harm", "safety", "course", "prediction", "views", "prevalence", "costs"
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
    rows = (files("deepcritical_mcp.search.expansion") / "filters.txt").read_text("utf-8").splitlines()
    read = (row.split("\t") for row in rows)
    return {key: SearchFilter(name=name, pubmed=pubmed, source=source) for key, name, pubmed, source in read}


# What fits a question of each kind, the best first, with its words for a web search. The narrow and the broad form of
# one filter say the same, in two widths.
_OF_QUESTIONS: Mapping[QuestionKind, tuple[tuple[str, str], ...]] = {
    "views": (("qualitative", "qualitative research interviews"),),
    "costs": (("costs", "costs"),),
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
_HARM = re.compile(
    r"\bassociat\w{1,5}\b|\blink(?:ed|s)?\b|\b(?:consumption|intake)\b|"
    r"\brisk (?:factors?|for|of)\b|\brisk$|\bside effects?\b|\bsmok(?:ers?|ing)\b(?! cessation)|"
    r"\b(?:blood|exposure) levels?\b",
    re.IGNORECASE,
)
_CAUSED = re.compile(r"(?:-induced|\bbecause of|\bcaused by|\bdue to)\b", re.IGNORECASE)
_SAFETY = re.compile(
    r"\b(?:adverse|interactions?|safe(?:ly|r|st|ty)?|side effects?|tolerability|toxicity)\b", re.IGNORECASE
)
_DIAGNOSIS = re.compile(
    r"\bscreening (?:instruments?|questionnaires?|tests?|tools?)\b|\bhow (?:accurate|reliable)\b|"
    r"\brule[- ]out\b|\bruling out\b|\bsensitivity (?:and|for|of|to detect)\b",
    re.IGNORECASE,
)
# How something works, which is read about in reviews, not in systematic ones.
_BASIC = re.compile(
    r"^why\b|\b(?:mechanisms?|molecular|pathogenesis|pathophysiology|pathways?|signal+ing|structures?|in vitro)\b",
    re.IGNORECASE,
)
_COURSE = re.compile(r"\b(?:long[- ]term (?:outcomes?|results|survival)|natural history|prognos[ei]s)\b", re.IGNORECASE)
_DISEASES = ("C", "F03")
# Signs and symptoms, disorders by chemicals, injuries.
_INJURIES = ("C23.888", "C25", "C26")
# Drugs by their structure or origin, hormones, vitamins; therapeutics and operations.
_TREATMENTS = tuple("D02 D03 D04 D06 D09 D10 D20 D26 E02 E04".split())
# With the first, a topic asks of a course; with the second too, of a rule by which it is told.
_PREDICTING, _RULES = "predict prediction predictor predictive prognostic", "model rule validation validate"
# A topic with these asks of care, not whether a treatment works.
_OF_SERVICES = "access staffing"
_PREVALENCE = re.compile(
    r"\bhow (?:common|frequent|many|often)\b|"
    r"\b(?:anti\w{1,20}|drug|multidrug|insecticide|\w{1,30}?(?:cillin|micin|mycin|oxacin|penem)) resistance\b|"
    r"\bsusceptibility\b|(?<![\w-])\w{1,30}?(?:cillin|micin|mycin|oxacin|penem)-resistant\b",
    re.IGNORECASE,
)
# Where or when something happens, not what is tried: "delirium after surgery".
_SETTING = re.compile(
    r"\b(?:(?:after|before|during|following|undergoing) (?:\w+ ){0,2}?|in (?:\w+ )?)"
    r"(?:chemotherapy|dialysis|replacement|surgery|transplantation|treatment)\b",
    re.IGNORECASE,
)
_EFFECT_VERBS = word_list("effect verbs")
_TREATMENT_ENDINGS = endings("treatment endings")


def question_kinds(topic: Topic, parts: Sequence[Operand], required: Sequence[Operand]) -> set[QuestionKind]:
    """What the topic asks about, as far as its words and concepts show; what it negates does not count.

    Views on a treatment ("vaccine hesitancy"), its costs, and how common something is are not questions of treatment.
    """
    text = _SETTING.sub(" ", topic.affirmed)
    for name in [one.concept.text for one in parts if one.concept and one.concept.record and " " in one.concept.text]:
        text = text.replace(name, " ") if stems(name) != stems(text) else text  # "test anxiety" is no test
    asked = stems(text)
    known = word_groups("of")
    kinds: set[QuestionKind] = {kind for kind in get_args(QuestionKind) if stems(" ".join(known.get(kind, ()))) & asked}
    is_caused = _CAUSED.search(text) is not None
    kinds |= {"harm"} if is_caused or _HARM.search(text) else set()
    kinds |= {"course"} if _COURSE.search(topic.text) else set()
    if stems(_PREDICTING) & asked and stems(_RULES) & asked:
        kinds.add("prediction")
    kinds |= {"diagnosis"} if _DIAGNOSIS.search(topic.text) else set()
    kinds |= {"prevalence"} if _PREVALENCE.search(topic.text) else set()
    if re.search(r"\bbarriers? (?:and|to)\b", topic.text, re.IGNORECASE):
        kinds.add("views")
    if "views" in kinds or stems(_OF_SERVICES) & asked or "waiting time" in text.lower():
        return kinds & {"views"}
    verbs = {word for word in topic.text.lower().split() if word in _EFFECT_VERBS}
    tried = [
        one for part in required for one in part.either or (part,) if one.role == "subject" and not one.is_negation
    ]
    records = [one.concept.record for one in tried if one.concept and one.concept.record]
    offered = [one for one in tried if not (one.is_disease or one.is_whom)]
    words = " ".join(one.text.lower() for one in offered).split()
    is_named = any(is_drug(word) or word.endswith(_TREATMENT_ENDINGS) for word in words)
    is_compared = any(one.is_compared for one in offered) and any(not one.is_compared for one in offered)
    is_for = any(one.before == "for" and one.is_disease for one in parts[1:])
    is_ill = any(record.is_of(_DISEASES) for record in records)
    is_tried = is_ill and (
        is_named or any(one.concept and one.concept.record and one.concept.record.is_of(_TREATMENTS) for one in offered)
    )
    is_intervention = any(one.label == "I" for one in parts) and "exposure" not in topic.text.lower()
    if _SAFETY.search(text) and not is_intervention and EFFICACY.isdisjoint(text.lower().split()):
        return {*(kinds & {"harm"}), "safety"}
    if _BASIC.search(topic.text) and not is_compared:
        return set()
    is_placebo = any(one.role == "comparator" for one in parts)
    if kinds & {"costs"} or (kinds & {"prevalence"} and not verbs and not is_compared and not is_placebo):
        return kinds & {"costs", "prevalence", "course"}
    is_asked = (
        bool(verbs) or not EFFICACY.isdisjoint(text.lower().split()) or is_placebo or is_compared or is_intervention
    )
    if not is_asked and is_caused and any(one.is_drug for one in tried):
        return {"safety"}
    is_pair = any(last.is_drug and _is_injury(one) and not one.before for last, one in pairwise(parts))
    if is_pair and not is_asked:  # "propranolol seizures" may be tried for them, or cause them
        return kinds - {"treatment", "harm"}
    if "harm" in kinds and not is_asked:
        kinds.discard("treatment")
    if is_asked or ((is_tried or is_for) and not kinds & {"diagnosis", "harm"}):
        kinds.discard("prevalence")
        kinds.add("treatment")
    if (
        not kinds
        and len(tried) == 1
        and records
        and not tried[0].beside
        and all(one.role in ("subject", "kind") for one in parts)
    ):  # a disease or a drug alone: what most people want to know of it
        record = records[0]
        kinds |= {"treatment", "diagnosis"} if record.is_of(_DISEASES) else set()
        kinds |= {"treatment"} if record.is_supplementary or record.is_of(("D",)) else set()
    is_of_effect = is_asked or is_for or "treatment" in text.lower()
    is_of_effect = is_of_effect and not _COURSE.search(topic.text)
    return kinds - {"course" if is_of_effect else "treatment"} if {"course", "treatment"} <= kinds else kinds


def _is_injury(part: Operand) -> bool:
    record = part.concept.record if part.concept else None
    return record is not None and any(one.startswith(_INJURIES) for one in record.tree_numbers)


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


def names_animals(topic: Topic) -> bool:
    """Whether it names animals of the laboratory, the farm or the home."""
    return _ANIMAL_WORDS.search(topic.affirmed) is not None


def asks_how(topic: Topic) -> bool:
    """Whether it asks how something works."""
    return _BASIC.search(topic.affirmed) is not None


def _filters(topic: Topic, kinds: set[QuestionKind], *, is_clinical: bool, year: int) -> Iterator[FittingFilter]:
    is_of_animals = names_animals(topic)
    is_basic = not kinds and asks_how(topic)
    every = {**STUDY_FILTERS, **_own_filters()}
    fitting = [
        rows
        for kind, rows in _OF_QUESTIONS.items()
        if kind in kinds and not (is_of_animals and kind in ("treatment", "harm"))
    ]
    for found, words in (row for rows in zip_longest(*fitting) for row in rows if row is not None):
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
    yield from (overview, systematic) if is_basic else (systematic, overview)
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
