"""Search filters that fit a topic, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal, NamedTuple, cast

from deepcritical_mcp.search.expansion.phrases import stems
from deepcritical_mcp.search.expansion.topic import Topic, is_drug

QuestionKind = Literal["treatment", "diagnosis", "harm", "course", "views"]

YEARS = 10


class Filter(NamedTuple):
    """A condition for PubMed that a topic can be joined to by AND.

    Attributes:
        finds: what remains, and the filter's source.
        words: the same for a web search or a search by meaning.
        mark: what in a topic shows that it has such a condition already.
        kind: the question it fits; "" = any.
    """

    finds: str
    words: str
    mark: str
    pubmed: str
    kind: QuestionKind | Literal[""] = ""


# Question | what a filter finds, and its source | words | mark | condition.
_QUESTION_FILTERS = """
treatment | Trials only (Cochrane's filter for randomized trials, sensitivity- and precision-maximizing version, with \
the British spelling added). | randomized controlled trial | randomized | (("randomized controlled trial"[pt] OR \
"controlled clinical trial"[pt] OR randomized[tiab] OR randomised[tiab] OR placebo[tiab] OR \
"clinical trials as topic"[mesh:noexp] OR randomly[tiab] OR trial[ti]) NOT (animals[mh] NOT humans[mh]))
diagnosis | Studies of how accurate a test is (diagnosis filter of NLM's Clinical Queries, narrow). | \
diagnostic accuracy specificity | specificity | specificity[tiab]
harm | Studies of risk or harm (etiology filter of NLM's Clinical Queries, narrow). | relative risk cohort study | \
cohort | ((relative[tiab] AND risk*[tiab]) OR "relative risk"[tw] OR risks[tw] OR "cohort studies"[mesh:noexp] OR \
(cohort[tiab] AND study[tiab]) OR (cohort[tiab] AND studies[tiab]))
course | Studies of the course over time (prognosis filter of NLM's Clinical Queries, narrow). | prognosis cohort | \
prognos | (prognos*[tiab] OR (first[tiab] AND episode[tiab]) OR cohort[tiab])
views | Interviews and other qualitative research (MeSH heading Qualitative Research, and its usual words). | \
qualitative research interviews | qualitative | \
("qualitative research"[mh] OR qualitative[tiab] OR interview*[tiab] OR "focus groups"[mh])
treatment | Papers on harm and safety (MeSH subheading Adverse Effects, and its usual words). | \
adverse effects safety | adverse | ("adverse effects"[sh] OR "adverse effects"[tiab] OR "adverse events"[tiab] OR \
"side effects"[tiab] OR safety[tiab])"""
# What a topic is about, by the stems of its words.
_ANIMAL_WORDS = "animal canine dog fish horse mice mouse murine pig rabbit rat rodent sheep swine veterinary zebrafish"
_QUESTION_WORDS: Mapping[QuestionKind, str] = {
    "treatment": "acupuncture antagonist antibiotic anticoagulant antidepressant aspirin blocker crystalloid dialysis "
    "drug efficacy implant inhibitor insulin intervention ketamine medication placebo probiotic prophylaxis "
    "psychotherapy rehabilitation saline statin stent steroid supplementation surgery treat treatment warfarin",
    "diagnosis": "accuracy biopsy detect diagnose diagnosis diagnostic screening sensitivity specificity test",
    "harm": "adverse cause etiology exposure harm levels pollution poisoning risk side smoking toxicity",
    "course": "course mortality outcome predict prognosis prognostic recurrence relapse remission survival",
    "views": "acceptability attitude barriers beliefs burnout experience hesitancy perception perspectives preferences "
    "qualitative satisfaction stigma views",
}
_TREATMENT_ENDINGS = ("ectomy", "plasty", "therapy", "therapies", "vaccine", "vaccines")


def fitting_filters(topic: Topic, *, today: date) -> Iterator[Filter]:
    """The filters that fit `topic` and that it does not have yet: those of its question, then limits."""
    kinds = question_kinds(topic)
    for one in _filters(topic, today.year - YEARS):
        is_given = one.mark in topic.syntax.lower() or stems(one.mark) <= stems(topic.subject)
        if not is_given and (not one.kind or one.kind in kinds):
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


def _filters(topic: Topic, year: int) -> Iterator[Filter]:
    for line in _QUESTION_FILTERS.strip().splitlines():
        kind, finds, words, mark, pubmed = line.split(" | ")
        yield Filter(finds, words, mark, pubmed, cast(QuestionKind, kind))
    yield Filter("Systematic reviews only (PubMed's own filter).", "systematic review", "systematic", "systematic[sb]")
    yield Filter(f"Published since {year} (PubMed's publication date).", f"since {year}", "[dp]", f"{year}:3000[dp]")
    if stems(_ANIMAL_WORDS) & stems(topic.affirmed):
        yield Filter("Papers indexed as studies of animals (MeSH).", "animal study", "animals", "animals[mh:noexp]")
    else:
        found = "Without papers on animals alone; those not yet indexed stay (Cochrane's form of the limit to humans)."
        yield Filter(found, "in humans", "humans", "(all[sb] NOT (animals[mh] NOT humans[mh]))")
    yield Filter("Reviews only, to begin with (PubMed's publication type).", "overview", "review", "review[pt]")
    language, free = topic.language or "English", "free full text"
    found = f"Papers in {language} (PubMed's language field)."
    yield Filter(found, f"in {language}", "[la]", f"{language.lower()}[la]")
    yield Filter("Papers that can be read free of charge (PubMed's own filter).", free, free, f'"{free}"[sb]')
    yield Filter("With an abstract to read (PubMed's own filter).", "abstract", "hasabstract", "hasabstract")
