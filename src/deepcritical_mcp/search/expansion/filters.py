"""Search filters that fit a topic, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal, NamedTuple, cast

from deepcritical_mcp.models import SearchFilter
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug
from deepcritical_mcp.sources.pubmed.search_filters import AGE_GROUPS, HUMANS, STUDY_FILTERS, AgeGroup, StudyFilter

QuestionKind = Literal["treatment", "diagnosis", "harm", "course", "prediction", "views"]

YEARS = 5


class FittingFilter(NamedTuple):
    """A filter that fits a topic.

    Attributes:
        filter: the condition, its name and source.
        words: the same for a web search or a search by meaning.
        mark: what in a topic shows that it has such a condition already.
        is_of_question: whether it belongs to what the topic asks; the others are limits.
        is_best: whether it is the one to try first for its kind of question.
        is_wide: whether it keeps so much of any search that it is only listed, not proposed.
    """

    filter: SearchFilter
    words: str
    mark: str
    is_of_question: bool = True
    is_best: bool = False
    is_wide: bool = False

    @property
    def is_published(self) -> bool:
        """Whether it was published as a search filter, and is more than a limit."""
        return self.filter in (*STUDY_FILTERS.values(), *AGE_GROUPS.values())


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
_ANIMALS = SearchFilter(name="Studies of animals", pubmed="animals[mh:noexp]", source="MeSH")
# What fits a question of each kind: a filter, its words for a web search, and the mark of a topic that has it.
_OF_QUESTIONS: Mapping[QuestionKind, tuple[tuple[SearchFilter | StudyFilter, str, str], ...]] = {
    "harm": (
        ("etiology", "relative risk cohort study", "cohort"),
        ("etiology_broad", "risk factors", "risk"),
    ),
    "treatment": (
        ("therapy", "randomized controlled trial", "randomized"),
        ("rct", "placebo or controlled trial", "randomized"),
        (_ADVERSE, "adverse effects safety", "adverse"),
    ),
    "diagnosis": (
        ("diagnosis", "diagnostic accuracy", "specificity"),
        ("diagnosis_broad", "sensitivity of diagnosis", "diagnosis"),
    ),
    "course": (
        ("prognosis", "prognosis cohort", "prognos"),
        ("prognosis_broad", "follow-up mortality", "mortality"),
    ),
    "prediction": (
        ("prediction", "validation of a prediction model", "validation"),
        ("prediction_broad", "predictive score", "score"),
    ),
    "views": ((_QUALITATIVE, "qualitative research interviews", "qualitative"),),
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
# What a topic is about, by the stems of its words.
_ANIMAL_WORDS = "animal canine dog fish horse mice mouse murine pig rabbit rat rodent sheep swine veterinary zebrafish"
_QUESTION_WORDS: Mapping[QuestionKind, str] = {
    "treatment": "acupuncture antagonist antibiotic anticoagulant antidepressant aspirin blocker counseling "
    "crystalloid dialysis drug efficacy exercise implant inhibitor insulin intervention ketamine medication "
    "mindfulness placebo prevent prevention probiotic prophylaxis psychotherapy rehabilitation replacement saline "
    "statin stent steroid supplementation surgery thrombolysis transplantation treat treatment warfarin yoga",
    "diagnosis": "accuracy biopsy detect diagnose diagnosis diagnostic differentiate distinguish rule "
    "screening sensitivity specificity test",
    "harm": "adverse cause etiology exposure harm levels pollution poisoning risk smoking toxicity",
    "course": "course mortality outcome prognosis prognostic recurrence relapse remission survival",
    "prediction": "nomogram predict prediction predictor score",
    "views": "acceptability attitude barriers beliefs experience hesitancy perception perspectives preferences "
    "qualitative satisfaction stigma views",
}
# A topic with these asks of care and what it costs, not whether a treatment works.
_OF_SERVICES = "access cost economic staffing"
# Where or when something happens, not what is tried: "delirium after surgery".
_SETTING = re.compile(
    r"\b(?:after|before|during|following|in|undergoing) (?:\w+ ){0,2}?"
    r"(?:chemotherapy|dialysis|replacement|surgery|transplantation|treatment)\b",
    re.IGNORECASE,
)
_TREATMENT_ENDINGS = ("-led", "ectomy", "plasty", "siran", "therapy", "therapies", "vaccine", "vaccines")


def fitting_filters(topic: Topic, kinds: set[QuestionKind], *, today: date) -> Iterator[FittingFilter]:
    """The filters that fit `topic` and that it does not have yet: those of its question, which is of these kinds, the
    narrow one of each first, then limits."""
    for one in _filters(topic, kinds, today.year - YEARS):
        if one.mark not in topic.syntax.lower() if topic.syntax else not stems(one.mark) <= stems(topic.subject):
            yield one


def question_kinds(topic: Topic) -> set[QuestionKind]:
    """What the topic asks about, as far as its words show; what it negates does not count.

    Views on a treatment ("vaccine hesitancy") and its costs are not questions of treatment.
    """
    words = _SETTING.sub(" ", topic.affirmed.lower()).split()
    asked = stems(_SETTING.sub(" ", topic.affirmed))
    kinds: set[QuestionKind] = {kind for kind, names in _QUESTION_WORDS.items() if stems(names) & asked}
    kinds |= {"harm"} if "side effect" in topic.affirmed.lower() else set()
    is_of_services = stems(_OF_SERVICES) & asked or "waiting time" in topic.affirmed.lower()
    if "views" in kinds or is_of_services:
        return kinds & {"views"}
    if (
        topic.verbs
        or topic.outcome
        or topic.sides
        or any(is_drug(word) or word.endswith(_TREATMENT_ENDINGS) for word in words)
    ):
        return {"treatment", *kinds - {"course"}}
    return kinds


def _filters(topic: Topic, kinds: set[QuestionKind], year: int) -> Iterator[FittingFilter]:
    fitting = [rows for kind, rows in _OF_QUESTIONS.items() if kind in kinds]
    for place in range(max(map(len, fitting), default=0)):
        for rows in fitting:
            for found, words, mark in rows[place : place + 1]:
                is_wide = isinstance(found, str) and found.endswith("_broad")
                one = STUDY_FILTERS[found] if isinstance(found, str) else found
                yield FittingFilter(one, words, mark, is_best=place == 0, is_wide=is_wide)
    if group := "" if topic.ages else _age_group(topic.affirmed):
        name = AGE_GROUPS[group].name.lower()
        yield FittingFilter(AGE_GROUPS[group], name, "[mh]" if topic.syntax else name, is_of_question=False)
    systematic = STUDY_FILTERS["systematic_review"]
    yield FittingFilter(systematic, "systematic review", "systematic", is_of_question=False)
    since = f"{year}:3000[dp]"
    recent = SearchFilter(name=f"Published since {year}", pubmed=since, source="PubMed's publication date")
    yield FittingFilter(recent, f"since {year}", "[dp]", is_of_question=False)
    reviews = SearchFilter(name="Reviews, to begin with", pubmed="review[pt]", source="PubMed's publication type")
    yield FittingFilter(reviews, "overview", "review", is_of_question=False)
    language = topic.language or "English"
    tagged = f"{language.lower()}[la]"
    papers = SearchFilter(name=f"Papers in {language}", pubmed=tagged, source="PubMed's language field")
    yield FittingFilter(papers, f"in {language}", "[la]", is_of_question=False)
    free = SearchFilter(name="Free full text", pubmed='"free full text"[sb]', source="PubMed's own filter")
    yield FittingFilter(free, "free full text", "free full text", is_of_question=False)
    if stems(_ANIMAL_WORDS) & stems(topic.affirmed):
        yield FittingFilter(_ANIMALS, "animal study", "animals", is_of_question=False)
    else:
        yield FittingFilter(HUMANS, "in humans", "humans", is_of_question=False)
    abstract = SearchFilter(name="With an abstract", pubmed="hasabstract", source="PubMed's own filter")
    yield FittingFilter(abstract, "abstract", "hasabstract", is_of_question=False)


def age_block(text: str) -> str:
    """People from an age on ("aged 65 and over"), by MeSH's age group and the usual words."""
    years = int(re.findall(r"\d{2}", text)[0])
    said = [pubmed_syntax.phrase(f"{words} {years}", "tiab") for words in ("aged", "over")]
    older = [f"{words}[tiab]" for words in ('"older adults"', '"older people"', '"older patients"', "elderly")]
    if years >= 60:
        group = AGE_GROUPS["over_80" if years >= 80 else "aged"].pubmed
        return pubmed_syntax.any_of([group, *said, f'"{years} years"[tiab]', *older])
    group = (AGE_GROUPS["middle_aged"], AGE_GROUPS["aged"]) if years >= 40 else (AGE_GROUPS["adult"],)
    return pubmed_syntax.any_of([*(one.pubmed for one in group), *said, f'"{years} years"[tiab]'])


def _age_group(text: str) -> AgeGroup:
    for group, words in _AGE_WORDS.items():
        if words.search(text):
            return group
    return ""
