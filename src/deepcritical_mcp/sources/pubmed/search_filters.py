"""Published search filters for PubMed, each with its source."""

from __future__ import annotations

from typing import Literal, cast

from deepcritical_mcp.models import SearchFilter

StudyFilter = Literal[
    "none",
    "therapy",
    "therapy_broad",
    "diagnosis",
    "diagnosis_broad",
    "prognosis",
    "prognosis_broad",
    "etiology",
    "etiology_broad",
    "prediction",
    "prediction_broad",
    "rct",
    "systematic_review",
]
AgeGroup = Literal[
    "any",
    "newborn",
    "infant",
    "preschool",
    "child",
    "adolescent",
    "under_18",
    "adult",
    "middle_aged",
    "aged",
    "over_80",
]


# Key | name | condition. The first ten: NLM, PubMed User Guide, "Clinical Queries filters".
_STUDIES = """
therapy | Therapy, narrow | ("randomized controlled trial"[pt] OR (randomized[tiab] AND controlled[tiab] AND \
trial[tiab]))
therapy_broad | Therapy, broad | ((clinical[tiab] AND trial[tiab]) OR "clinical trials as topic"[mh] OR \
"clinical trial"[pt] OR random*[tiab] OR "random allocation"[mh] OR "therapeutic use"[sh])
diagnosis | Diagnosis, narrow | specificity[tiab]
diagnosis_broad | Diagnosis, broad | (sensitiv*[tiab] OR "sensitivity and specificity"[mh] OR diagnose[tiab] OR \
diagnosed[tiab] OR diagnoses[tiab] OR diagnosing[tiab] OR diagnosis[tiab] OR diagnostic[tiab] OR \
diagnosis[mh:noexp] OR "diagnostic equipment"[mh:noexp] OR "diagnostic errors"[mh:noexp] OR \
"diagnostic imaging"[mh:noexp] OR "diagnostic services"[mh:noexp] OR \
"diagnostic techniques and procedures"[mh:noexp] OR "diagnostic tests, routine"[mh:noexp] OR \
"diagnosis, differential"[mh:noexp] OR diagnosis[sh:noexp]) | NLM, Clinical \
Queries, with the headings that "diagnostic *" stands for
prognosis | Prognosis, narrow | (prognos*[tiab] OR (first[tiab] AND episode[tiab]) OR cohort[tiab])
prognosis_broad | Prognosis, broad | (incidence[mh:noexp] OR mortality[mh] OR "follow up studies"[mh:noexp] OR \
prognos*[tw] OR predict*[tw] OR course*[tw])
etiology | Etiology, narrow | ((relative[tiab] AND risk*[tiab]) OR "relative risk"[tw] OR risks[tw] OR \
"cohort studies"[mh:noexp] OR (cohort[tiab] AND study[tiab]) OR (cohort[tiab] AND studies[tiab]))
etiology_broad | Etiology, broad | (risk*[tiab] OR risk*[mh:noexp] OR "cohort studies"[mh] OR group[tw] OR \
groups[tw] OR grouped[tw])
prediction | Clinical prediction guides, narrow | (validation[tiab] OR validate[tiab])
prediction_broad | Clinical prediction guides, broad | (predict*[tiab] OR "predictive value of tests"[mh] OR \
score[tiab] OR scores[tiab] OR "scoring system"[tiab] OR "scoring systems"[tiab] OR observ*[tiab] OR \
"observer variation"[mh])
rct | Randomized trials, highly sensitive | (("randomized controlled trial"[pt] OR "controlled clinical trial"[pt] OR \
randomized[tiab] OR randomised[tiab] OR placebo[tiab] OR "drug therapy"[sh] OR randomly[tiab] OR trial[tiab] OR \
groups[tiab]) NOT (animals[mh] NOT humans[mh])) | Cochrane Handbook, sensitivity-maximizing search strategy (2008), \
with the British spelling
systematic_review | Systematic reviews | systematic[sb] | NLM, PubMed's filter for systematic reviews
"""
# Key | name | condition: PubMed's age filters.
_AGES = """
newborn | Newborns to 1 month | "infant, newborn"[mh]
infant | Infants to 23 months | infant[mh]
preschool | Children from 2 to 5 years | "child, preschool"[mh]
child | Children from 6 to 12 years | child[mh:noexp]
adolescent | Adolescents from 13 to 18 years | adolescent[mh]
under_18 | Children and adolescents | (infant[mh] OR child[mh] OR adolescent[mh])
adult | Adults from 19 years | adult[mh]
middle_aged | Adults from 45 to 64 years | "middle aged"[mh]
aged | Adults from 65 years | aged[mh]
over_80 | Adults from 80 years | "aged, 80 and over"[mh]
"""


def _table(text: str, source: str) -> dict[str, SearchFilter]:
    rows = [line.split(" | ") for line in text.strip().splitlines()]
    return {
        key: SearchFilter(name=name, pubmed=pubmed, source=own[0] if own else source)
        for key, name, pubmed, *own in rows
    }


STUDY_FILTERS = cast(dict[StudyFilter, SearchFilter], _table(_STUDIES, "NLM, Clinical Queries"))
AGE_GROUPS = cast(dict[AgeGroup, SearchFilter], _table(_AGES, "MeSH age groups, as in PubMed's filters"))
HUMANS = SearchFilter(
    name="Without papers on animals alone",
    pubmed="(all[sb] NOT (animals[mh] NOT humans[mh]))",
    source="Cochrane Handbook, limit to humans; papers not yet indexed stay",
)
