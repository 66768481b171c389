"""Search filters that fit a topic, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from deepcritical_mcp.search.expansion.phrases import stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug

QuestionKind = Literal["treatment", "diagnosis", "harm", "course", "views"]

YEARS = 10
_CLINICAL_QUERIES = "NLM's Clinical Queries, narrow"


@dataclass(frozen=True)
class Filter:
    """A condition for PubMed, one operand, that a topic can be joined to by AND.

    Attributes:
        finds: what remains, and the filter's source.
        words: the same for a web search or a search by meaning.
        mark: what in a topic shows that it has such a condition already.
        kinds: the questions it fits; () = any.
    """

    finds: str
    pubmed: str
    words: str
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
        "randomized",
        ("treatment",),
    ),
    Filter(
        f"Studies of how accurate a test is (diagnosis filter of {_CLINICAL_QUERIES}).",
        "specificity[tiab]",
        "diagnostic accuracy specificity",
        "specificity",
        ("diagnosis",),
    ),
    Filter(
        f"Studies of risk or harm (etiology filter of {_CLINICAL_QUERIES}).",
        '((relative[tiab] AND risk*[tiab]) OR "relative risk"[tw] OR risks[tw] OR "cohort studies"[mesh:noexp] OR '
        "(cohort[tiab] AND study[tiab]) OR (cohort[tiab] AND studies[tiab]))",
        "relative risk cohort study",
        "cohort",
        ("harm",),
    ),
    Filter(
        f"Studies of the course over time (prognosis filter of {_CLINICAL_QUERIES}).",
        "(prognos*[tiab] OR (first[tiab] AND episode[tiab]) OR cohort[tiab])",
        "prognosis cohort",
        "prognos",
        ("course",),
    ),
    Filter(
        "Interviews and other qualitative research (MeSH heading Qualitative Research, and its usual words).",
        '("qualitative research"[mh] OR qualitative[tiab] OR interview*[tiab] OR "focus groups"[mh])',
        "qualitative research interviews",
        "qualitative",
        ("views",),
    ),
    Filter(
        "Papers on harm and safety (MeSH subheading Adverse Effects, and its usual words).",
        '("adverse effects"[sh] OR "adverse effects"[tiab] OR "adverse events"[tiab] OR "side effects"[tiab] OR '
        "safety[tiab])",
        "adverse effects safety",
        "adverse",
        ("treatment",),
    ),
    Filter(
        "Guidelines only (PubMed's publication types).",
        '("practice guideline"[pt] OR guideline[pt])',
        "practice guideline",
        "guideline",
        ("treatment", "diagnosis"),
    ),
)
_HUMANS = Filter(
    "Without papers on animals alone; those not yet indexed stay (Cochrane's form of the limit to humans).",
    "(all[sb] NOT (animals[mh] NOT humans[mh]))",
    "in humans",
    "humans",
)
_ANIMALS = Filter("Papers indexed as studies of animals (MeSH).", "animals[mh:noexp]", "animal study", "animals")

# What a topic is about, by the stems of its words.
_ANIMAL_WORDS = """
    animal canine cat cattle dog drosophila equine feline fish horse mice monkey mouse murine pig poultry rabbit rat
    rodent sheep swine veterinary zebrafish"""
_QUESTION_WORDS: Mapping[QuestionKind, str] = {
    "treatment": """
        acupuncture agonist antagonist antibiotic anticoagulant antidepressant antiretroviral aspirin bandage bandaging
        biologics blocker corticosteroid crystalloid dialysis dressing drug efficacy implant inhibitor insulin
        intervention ketamine lithium medication opioids placebo probiotic prophylaxis psychotherapy rehabilitation
        saline statin stent steroid stimulation supplement supplementation surgery treat treatment warfarin""",
    "diagnosis": """
        accuracy biopsy detect detection diagnose diagnosis diagnostic mammography mri screening sensitivity specificity
        test ultrasound""",
    "harm": "adverse cause etiology exposure harm levels pollution poisoning risk side smoking toxicity",
    "course": "course mortality outcome predict prognosis prognostic recurrence relapse remission survival",
    "views": """
        acceptability acceptance attitude barriers beliefs burnout coping experience hesitancy perception perspectives
        preferences qualitative satisfaction stigma views""",
}
_TREATMENT_ENDINGS = ("ectomy", "plasty", "therapy", "therapies", "vaccine", "vaccines")


def fitting_filters(topic: Topic, *, today: date) -> Iterator[Filter]:
    """The filters that fit `topic` and that it does not have yet: those of its question, then limits."""
    kinds = question_kinds(topic)
    species = _ANIMALS if stems(_ANIMAL_WORDS) & stems(topic.affirmed) else _HUMANS
    for one in (*_QUESTIONS, *_limits(topic, today.year - YEARS, species)):
        is_given = one.mark in topic.syntax.lower() or stems(one.mark) <= stems(topic.subject)
        if not is_given and (not one.kinds or kinds & {*one.kinds}):
            yield one


def question_kinds(topic: Topic) -> set[QuestionKind]:
    """What the topic asks about, as far as its words show; what it negates does not count.

    Views on a treatment ("vaccine hesitancy") and its costs are not questions of treatment.
    """
    words = topic.affirmed.lower().split()
    asked = stems(topic.affirmed)
    kinds: set[QuestionKind] = {kind for kind, names in _QUESTION_WORDS.items() if stems(names) & asked}
    if "views" in kinds or any(word.startswith(("cost", "econom")) for word in words):
        return kinds & {"views"}
    if any(is_drug(word) or word.endswith(_TREATMENT_ENDINGS) for word in words):
        kinds.add("treatment")
    return kinds


def _limits(topic: Topic, year: int, species: Filter) -> Iterator[Filter]:
    language = topic.language or "English"
    own = "(PubMed's own filter)."
    yield Filter(f"Systematic reviews only {own}", "systematic[sb]", "systematic review", "systematic")
    yield Filter(f"Published since {year} (PubMed's publication date).", f"{year}:3000[dp]", f"since {year}", "[dp]")
    yield species
    yield Filter("Reviews only, to begin with (PubMed's publication type).", "review[pt]", "overview", "review")
    limit = f"{language.lower()}[la]"
    yield Filter(f"Papers in {language} (PubMed's language field).", limit, f"in {language}", "[la]")
    free = "free full text"
    yield Filter(f"Papers that can be read free of charge {own}", f'"{free}"[sb]', free, free)
    yield Filter(f"With an abstract to read {own}", "hasabstract", "abstract", "hasabstract")
