"""Search filters that fit a topic, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import zip_longest
from typing import Literal, NamedTuple, cast

from deepcritical_mcp.models import SearchFilter
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.operands import Operand
from deepcritical_mcp.search.expansion.phrases import is_drug, stems
from deepcritical_mcp.search.expansion.roles import EFFICACY
from deepcritical_mcp.search.expansion.topic import OTHER_SCRIPT, Topic
from deepcritical_mcp.sources.pubmed.request import AGE_GROUPS, HUMANS, STUDY_FILTERS, AgeGroup, StudyFilter

QuestionKind = Literal["treatment", "diagnosis", "harm", "course", "prediction", "views", "prevalence", "costs"]

YEARS = 5


class FittingFilter(NamedTuple):
    """A filter that fits a topic.

    Attributes:
        filter: the condition, its name and source.
        words: the same for a web search or a search by meaning.
        mark: what in a topic shows that it has such a condition already.
        is_limit: whether it is a limit of any search rather than a narrowing that fits this question.
    """

    filter: SearchFilter
    words: str
    mark: str
    is_limit: bool = False


_QUALITATIVE = SearchFilter(
    name="Qualitative research",
    pubmed='("qualitative research"[mh] OR qualitative[tiab] OR interview*[tiab] OR "focus groups"[mh])',
    source="MeSH heading, and its usual words",
)
_ADVERSE = SearchFilter(
    name="Harm and safety",
    pubmed='("adverse effects"[sh] OR "adverse effects"[tiab] OR "adverse events"[tiab] OR "side effects"[tiab] OR '
    "safety[tiab])",
    source="MeSH subheading, and its usual words",
)
_GUIDELINES = SearchFilter(
    name="Guidelines",
    pubmed='(guideline[pt] OR "practice guideline"[pt] OR "consensus statement"[pt] OR guideline*[ti])',
    source="PubMed's publication types, and the usual word in a title",
)
_ANIMALS = SearchFilter(name="Studies of animals", pubmed="animals[mh:noexp]", source="MeSH")
_EPIDEMIOLOGY = SearchFilter(
    name="Epidemiology",
    pubmed="(epidemiology[sh] OR prevalence[mh] OR incidence[mh] OR prevalence[tiab] OR incidence[tiab])",
    source="MeSH subheading and headings, and their usual words",
)
_COSTS = SearchFilter(
    name="Costs",
    pubmed='("costs and cost analysis"[mh] OR economics[sh] OR cost*[tiab] OR economic*[tiab])',
    source="MeSH heading and subheading, and their usual words",
)
# What fits a question of each kind, the best first: a filter, its words for a web search, and the mark of a topic that
# has it. The narrow and the broad form of one filter say the same, in two widths.
_Row = tuple[SearchFilter | StudyFilter, str, str]
_OF_QUESTIONS: Mapping[QuestionKind, tuple[_Row, ...]] = {
    "views": ((_QUALITATIVE, "qualitative research interviews", "qualitative"),),
    "costs": ((_COSTS, "costs", "cost"),),
    "prevalence": ((_EPIDEMIOLOGY, "epidemiology", "epidemiology"),),
    "diagnosis": (
        ("diagnosis", "diagnostic accuracy", "specificity"),
        ("diagnosis_broad", "sensitivity of diagnosis", "diagnosis"),
    ),
    "prediction": (
        ("prediction", "validation of a prediction model", "validation"),
        ("prediction_broad", "predictive score", "score"),
    ),
    "treatment": (
        ("rct", "randomized controlled trial", "randomized"),
        ("therapy", "randomized trial", "randomized"),
        (_ADVERSE, "adverse effects safety", "adverse"),
    ),
    "course": (
        ("prognosis", "prognosis cohort", "prognos"),
        ("prognosis_broad", "follow-up mortality", "mortality"),
    ),
    "harm": (
        ("etiology", "relative risk cohort study", "cohort"),
        ("etiology_broad", "risk factors", "risk"),
    ),
}
# Ages as topics name them; the first that fits counts.
_AGES = {
    "over_80": "octogenarians?|nonagenarians?|oldest old",
    "aged": "older (?:adults|people|patients)|elderly|old age|geriatric",
    "newborn": "newborns?|neonat(?:es?|al)|preterm infants?",
    "preschool": "preschool(?:ers)?|toddlers?",
    "infant": "infants?|babies",
    "adolescent": "adolescen(?:ts?|ce)|teenagers?",
    "under_18": "child(?:ren|hood)?|paediatric|pediatric|school(?:s|children)?",
}
_AGE_WORDS: dict[AgeGroup, re.Pattern[str]] = {
    cast(AgeGroup, age): re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for age, words in _AGES.items()
}
# From which age to which MeSH's groups are, without those that another one includes.
_RANGES: tuple[tuple[int, int, AgeGroup], ...] = (
    (0, 1, "infant"),
    (2, 5, "preschool"),
    (6, 12, "child"),
    (13, 18, "adolescent"),
    (19, 44, "adult"),
    (45, 64, "middle_aged"),
    (65, 999, "aged"),
)
_ANIMAL_WORDS = re.compile(
    r"\b(?:animals?|avian|bovine|calves|canine|cats?|cattle|chickens?|cows?|dairy|dogs?|equine|feline|fish|goats?|"
    r"horses?|mice|mouse|murine|ovine|pigs?|piglets?|porcine|poultry|primates?|rabbits?|rats?|rodents?|sheep|swine|"
    r"veterinary|zebrafish)\b(?!['’]?s? (?:allerg|assisted|bites?|danders?|epitheli|milk|oils?|owners?|products?|"
    r"scratch))",
    re.IGNORECASE,
)
# What a topic is about, by the stems of its words.
_QUESTION_WORDS: Mapping[QuestionKind, str] = {
    "treatment": "acupuncture antagonist antibiotic anticoagulant antidepressant aspirin blocker counseling "
    "crystalloid dialysis drug efficacy exercise immunosuppression implant inhibitor insulin intervention "
    "ketamine medication "
    "mindfulness placebo prevent prevention probiotic prophylaxis psychotherapy rehabilitation replacement saline "
    "statin stent steroid supplementation surgery thrombolysis transplantation treat treatment warfarin yoga",
    "diagnosis": "accuracy biopsy detect diagnose diagnosis diagnostic differentiate distinguish specificity test",
    "harm": "adverse cause etiology exposure harm pollution poisoning toxicity",
    "course": "course mortality outcome prognosis prognostic recurrence relapse remission survival",
    "prediction": "nomogram predict prediction predictor score",
    "prevalence": "burden epidemiology incidence prevalence seroprevalence trends",
    "costs": "cost costs economic economics",
    "views": "acceptability attitude barriers beliefs experience hesitancy perception perspectives preferences "
    "qualitative satisfaction stigma views",
}
_HARM = re.compile(
    r"\bassociat\w{1,5}\b|\blink(?:ed|s)?\b|\b(?:consumption|intake)\b|"
    r"\brisk (?:factors?|for|of)\b|\brisk$|\bside effects?\b|\bsmok(?:ers?|ing)\b(?! cessation)|"
    r"\b(?:blood|exposure) levels?\b",
    re.IGNORECASE,
)
_SAFETY = re.compile(r"\b(?:adverse|interactions?|safety|side effects?|tolerability|toxicity)\b", re.IGNORECASE)
_DIAGNOSIS = re.compile(
    r"\bscreening\b|\bexclud(?:e|ing)\b|\brule[- ]out\b|\bruling out\b|\bsensitivity (?:and|for|of|to detect)\b",
    re.IGNORECASE,
)
# How something works, which is read about in reviews, not in systematic ones.
_BASIC = re.compile(
    r"\b(?:mechanisms?|molecular|pathogenesis|pathophysiology|pathways?|signal+ing|structures?|in vitro)\b",
    re.IGNORECASE,
)
_DISEASES = ("C", "F03")
# Drugs by their structure or origin, hormones, vitamins; therapeutics and operations.
_TREATMENTS = tuple("D02 D03 D04 D06 D09 D10 D20 D26 E02 E04".split())
# A topic with these asks of care, not whether a treatment works.
_OF_SERVICES = "access staffing"
_PREVALENCE = re.compile(
    r"^how (?:common|many|often)\b|"
    r"\b(?:anti\w{1,20}|drug|multidrug|insecticide|\w{1,30}?(?:cillin|micin|mycin|oxacin|penem)) resistance\b|"
    r"\bsusceptibility\b|"
    r"(?<![\w-])(?:drug|\w{1,30}?(?:cillin|micin|mycin|oxacin|penem))-resistant\b",
    re.IGNORECASE,
)
# Where or when something happens, not what is tried: "delirium after surgery".
_SETTING = re.compile(
    r"\b(?:(?:after|before|during|following|undergoing) (?:\w+ ){0,2}?|in (?:\w+ )?)"
    r"(?:chemotherapy|dialysis|replacement|surgery|transplantation|treatment)\b",
    re.IGNORECASE,
)
_EFFECT_VERBS = frozenset(
    "cure decrease decreases help helps improve improves lower lowers prevent prevents reduce reduces shorten shortens "
    "treat treats".split()
)
_TREATMENT_ENDINGS = ("-led", "ectomy", "plasty", "siran", "therapy", "therapies", "vaccine", "vaccines")


def question_kinds(topic: Topic, parts: Sequence[Operand]) -> set[QuestionKind]:
    """What the topic asks about, as far as its words and concepts show; what it negates does not count.

    Views on a treatment ("vaccine hesitancy"), its costs, and how common something is are not questions of treatment.
    """
    text = _SETTING.sub(" ", topic.affirmed)
    asked = stems(text)
    kinds: set[QuestionKind] = {kind for kind, names in _QUESTION_WORDS.items() if stems(names) & asked}
    kinds |= {"harm"} if _HARM.search(text) else set()
    kinds |= {"diagnosis"} if _DIAGNOSIS.search(text) else set()
    kinds |= {"prevalence"} if _PREVALENCE.search(text) else set()
    if "views" in kinds or stems(_OF_SERVICES) & asked or "waiting time" in text.lower():
        return kinds & {"views"}
    verbs = {word for word in topic.text.lower().split() if word in _EFFECT_VERBS}
    tried = [one for part in parts for one in part.either or (part,) if one.role == "subject" and not one.is_negation]
    records = [one.concept.record for one in tried if one.concept and one.concept.record]
    is_named = any(is_drug(word) or word.endswith(_TREATMENT_ENDINGS) for word in text.lower().split())
    is_compared = any(one.is_compared for one in parts)
    is_for = any(one.before == "for" and one.is_disease for one in parts[1:])
    is_tried = any(record.is_of(_TREATMENTS) for record in records) or is_compared or is_for
    is_intervention = any(one.label == "I" for one in parts)
    if _SAFETY.search(text) and not is_intervention and EFFICACY.isdisjoint(text.lower().split()):
        return kinds & {"harm"}
    is_placebo = any(one.role == "comparator" for one in parts)
    if kinds & {"costs"} or (kinds & {"prevalence"} and not verbs and not is_compared and not is_placebo):
        return kinds & {"costs", "prevalence", "course"}
    is_asked = bool(verbs) or is_placebo or is_compared or is_intervention
    if "harm" in kinds and not is_asked:
        kinds.discard("treatment")
    if is_asked or ((is_named or is_tried) and not kinds & {"diagnosis", "harm"}):
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
    return kinds - {"course" if is_asked else "treatment"} if {"course", "treatment"} <= kinds else kinds


def fitting_filters(
    topic: Topic, kinds: set[QuestionKind], *, is_clinical: bool, today: date
) -> Iterator[FittingFilter]:
    """The filters that fit `topic`, and that its syntax does not have yet, the best first: those of its question, which
    is of these kinds, its persons, then limits; of a clinical topic, which has a disease or an operation, guidelines
    too."""
    for one in _filters(topic, kinds, is_clinical, today.year - YEARS):
        if not topic.syntax or one.mark not in topic.syntax.lower():
            yield one


def _filters(topic: Topic, kinds: set[QuestionKind], is_clinical: bool, year: int) -> Iterator[FittingFilter]:
    is_of_animals = _ANIMAL_WORDS.search(topic.affirmed) is not None
    is_basic = not kinds and _BASIC.search(topic.affirmed) is not None
    fitting = [rows for kind, rows in _OF_QUESTIONS.items() if kind in kinds and not is_of_animals]
    every: list[_Row] = [row for rows in zip_longest(*fitting) for row in rows if row is not None]
    for found, words, mark in every:
        one = STUDY_FILTERS[found] if isinstance(found, str) else found
        is_said = one == _ADVERSE and _SAFETY.search(topic.affirmed)
        if not is_said:
            yield FittingFilter(one, words, mark)
    if topic.ages:
        blocks = pubmed_syntax.any_of(map(age_block, topic.ages))
        aged = SearchFilter(name=" ".join(topic.ages), pubmed=blocks, source="MeSH age groups, and the usual words")
        yield FittingFilter(aged, " ".join(topic.ages), "[mh]" if topic.syntax else "aged group")
    elif (group := _age_group(topic.affirmed)) != "any":
        name = AGE_GROUPS[group].name.lower()
        yield FittingFilter(AGE_GROUPS[group], name, "[mh]" if topic.syntax else name)
    if is_of_animals:
        yield FittingFilter(_ANIMALS, "animal study", "animals")
    systematic = FittingFilter(STUDY_FILTERS["systematic_review"], "systematic review", "systematic")
    reviews = SearchFilter(name="Reviews, to begin with", pubmed="review[pt]", source="PubMed's publication type")
    overview = FittingFilter(reviews, "overview", "review")
    yield from (overview, systematic) if is_basic else (systematic, overview)
    if is_clinical and not is_of_animals and kinds & {"treatment", "diagnosis"}:
        yield FittingFilter(_GUIDELINES, "guideline", "guideline")
    language = topic.language if topic.language not in ("", OTHER_SCRIPT) else "English"
    limits = (
        (f"Published since {year}", f"{year}:3000[dp]", "PubMed's publication date", f"since {year}", "[dp]"),
        (f"Papers in {language}", f"{language.lower()}[la]", "PubMed's language field", f"in {language}", "[la]"),
    )
    for name, pubmed, source, words, mark in limits:
        yield FittingFilter(SearchFilter(name=name, pubmed=pubmed, source=source), words, mark, is_limit=True)
    if not is_of_animals:
        yield FittingFilter(HUMANS, "in humans", "humans", is_limit=True)


def age_block(text: str) -> str:
    """People of some ages ("aged 65 and over", "under 5", "aged 20 to 40"), by MeSH's age groups and the same words."""
    years = [int(number) // (12 if "month" in text.lower() else 1) for number in re.findall(r"\d+", text)]
    is_under = re.search(r"\b(?:below|under|younger)\b", text, re.IGNORECASE) is not None
    first, last = (0, max(years[0] - 1, 0)) if is_under else (years[0], years[1] if years[1:] else 999)
    groups = [AGE_GROUPS[group].pubmed for start, end, group in _RANGES if first <= end and last >= start]
    return pubmed_syntax.any_of([*groups, pubmed_syntax.phrase(text, "tiab")])


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
