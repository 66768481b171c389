"""What a part of a topic is to a search: which parts every paper must be about, and which only rank or narrow.

One table for headings, by their place in the MeSH tree, and one for words that MeSH does not have. What neither knows
is a subject: a gene, a device, a new drug.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Literal

from deepcritical_mcp.search.expansion.phrases import general_stems, stems
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import QUERY_FUNCTION_WORDS

QueryRole = Literal["subject", "person", "setting", "aspect", "modifier", "kind", "measure", "comparator", "filler"]
"""subject: what a paper must be about. person, setting, aspect (an outcome or a measure), modifier ("uncomplicated"):
may be required if fewer than two subjects are there, else they rank. kind ("treatment", "cohort study"): answered by
a filter, ranks. measure (a dose, a time): ranks. comparator that is no subject (placebo): ranks. filler: left out."""

# Branches of the MeSH tree that are no subjects; the longest that fits decides. A heading is what it is in all of its
# places; in any other place it is a subject: "Breast Feeding" (behavior and physiology), "Pregnancy".
_BRANCHES: Mapping[str, QueryRole] = {
    # Persons by age, sex, occupation or relation; not their diseases. "Tissue Donors" are persons too.
    "M": "person",
    # Places, hospitals and their units, schools.
    "Z": "setting",
    "N02.278": "setting",
    "I02.783": "setting",
    "J03.832": "setting",
    # Incidence, mortality and other rates; length of stay; quality of life; prognosis, recurrence; costs.
    "E05.318": "aspect",
    "N01.224": "aspect",
    "N05.715": "aspect",
    "N06.850.505": "aspect",
    "N06.850.520": "aspect",
    "E01.789": "aspect",
    "E02.760.400": "aspect",
    "N02.421.585": "aspect",
    "I01.800": "aspect",
    "K01.752.400": "aspect",
    "C23.550.260": "aspect",
    "C23.550.291": "aspect",
    "N03.219": "aspect",
    "N05.300": "aspect",
    # Kinds of study and of publication; what "drugs" and "therapy" map to.
    "V": "kind",
    "E05.318.372": "kind",
    "E05.318.370": "kind",
    "E05.581.500": "kind",
    "N05.715.360.330": "kind",
    "N05.715.360.775": "kind",
    "D26.660": "comparator",
}
# Headings that say nothing of a subject wherever they stand.
_BY_NAME: Mapping[str, QueryRole] = {
    "Placebos": "comparator",
    "Placebo Effect": "comparator",
    "Standard of Care": "comparator",
    "Watchful Waiting": "comparator",
    "Saline Solution": "comparator",
    "Adult": "kind",
    "Young Adult": "kind",
    "Middle Aged": "kind",
    "Intensive Care Units": "setting",
    "Emergency Service, Hospital": "setting",
    "Nursing Homes": "setting",
    "Primary Health Care": "setting",
    "Therapeutics": "kind",
    "Drug Therapy": "kind",
    "Diagnosis": "kind",
    "Pharmaceutical Preparations": "kind",
    "Patients": "filler",
    "Humans": "filler",
    "Persons": "filler",
    "Disease": "filler",
    "Syndrome": "filler",
    "Research": "filler",
    "Association": "filler",
    "Role": "filler",
    "Time": "filler",
    "Family Characteristics": "filler",
}
# Words by what they are, if MeSH has no heading for them or was not asked. Not among them: words with another meaning
# in medicine (lead, impact, near, side, force).
_WORDS: Mapping[QueryRole, str] = {
    "filler": """admitted affect affected affecting affects anything associate associated association available
        away based beneficial benefit best better bring brings cause caused causes causing
        change changed changes comparative compare compared comparing comparison concerning
        confirm confirmed consequences correlate correlated correlation current currently
        decrease decreased decreases decreasing differ difference differences differs does
        effect effective effects efficient enough equally evidence exclude find finding
        following free gets getting give given gives giving go goes good happen happens
        head-to-head help helpful helps improve improved improves improving increase increased
        increases increasing individuals induced influences information keep keeps known latest
        like linked look looking lower lowered lowering lowers make makes manage management
        managing more new newer newest novel number old optimal other out participants patient
        patients people person persons plus possible potential prevent preventing prevents
        produce raise raises receive received receives receiving recommended reduce reduced
        reduces reducing related relation relationship relative residing result resulting
        results role rule ruling safe safely safer several shorten shortens slow slows start
        starting stop stopped subjects superior take taken takes taking their thing things topic
        treat treated treating try trying twice undergo undergoing used useful usefulness using
        various vary versus want way ways well work works worse worsen worsens""",
    "kind": """accuracy adult adults agents attitudes barriers benefits burden care cohort controlled cost
        cost-effectiveness costs decision decisions detect detecting detection diagnose
        diagnosing diagnosis diagnostic drug drugs effectiveness efficacy experience experiences
        facilitators frequency gene genes guideline guidelines intervention interventions
        knowledge medication medications medicine medicines meta-analysis method methods model
        models mutation mutations outcome outcomes perceptions perspectives polymorphism
        polymorphisms preferences prescribing prevalence prevention prognosis prognostic program
        programme programmes programs qualitative quality randomised randomized rct rcts review
        reviews satisfaction scale score scores strategies strategy studies study systematic
        test testing tests therapies therapy titration training treatment treatments trial
        trials use usefulness views""",
    "aspect": """adherence compliance complications death deaths duration hospitalization impact incidence
        influence mortality performance predictors progression readmission recurrence relapse
        remission response risk sensitivity severity specificity survival symptoms""",
    "comparator": "placebo placebos sham control controls usual-care",
    "person": """adolescents babies boys caregivers carers child children clinicians doctors elderly females
        fives girls infants males men midwives mothers neonates newborns nurses officers parents
        physicians residents schoolboys schoolchildren schoolgirls seniors staff students
        survivors teenagers toddlers veterans volunteers women workers youth""",
    "setting": """ambulatory area areas cities city clinics communities community countries district districts
        hospital hospitals icu inpatient inpatients outpatient outpatients region regions
        schools setting settings village villages wards workplace""",
    "measure": """cm daily day days dosage dose doses every g gy h hour hours hr iu kg mcg mg min minute minutes
        ml mm mmol month monthly months ng once times twice unit units week weekly weeks year
        yearly years µg μg""",
    "modifier": """acute adjuvant advanced chronic community-acquired early high hospital-acquired late low mild
        moderate new-onset non-invasive persistent pregnant primary recurrent refractory
        resistant first-generation second-generation third-generation secondary severe stable
        young older""",
}
# A word with one of these that MeSH does not have describes something or is a verb ("distressing").
PARTICIPLES = ("able", "ed", "ful", "ible", "ing", "ive", "less", "ous")
_ADJECTIVE_ENDINGS = ("al", "ic", "ive", "ous", "ed", "ary", "ar", "ory", "less", "able", "ible", "generation")
ADVERSE = frozenset(
    {"side effects", "adverse effects", "adverse events", "harms", "safety", "toxicity", "tolerability"}
)
"""Aspects that the indexers say by the subheading "adverse effects"."""
EFFICACY = frozenset("benefit benefits effective effectiveness efficacy".split())
"""With these beside it, harm is one side of the question of a treatment."""
UNSPECIFIC = frozenset("another conventional other standard traditional usual".split())
"""Before what something is compared with: no paper has to say so."""
# What asks for a filter at the end of other words ("MS fatigue treatment").
TRAILING = frozenset(
    "diagnosis effectiveness efficacy gene genes guidelines intervention interventions management method "
    "methods model models mutation mutations outcome outcomes polymorphism polymorphisms prevention prognosis "
    "program programme programmes programs review reviews scale score scores studies study test testing tests "
    "training treatment treatments trial trials daily monthly once twice weekly yearly".split()
)
DESIGNS = frozenset(
    "agents benefits drug drugs medication medications outcome outcomes program programs rct rcts review reviews "
    "studies study trial trials".split()
)
"""Words that papers seldom say of themselves, by which nothing is ranked."""
NAMES = ADVERSE | {
    "length of stay",
    "quality of life",
    "range of motion",
    "standard of care",
    "activities of daily living",
}
"""Names that are one part, though "of" or a word that says little stands in them."""
# "The time in range", "return to work", "failure to rescue": names, though none of their words is one.
NAME_HEADS = frozenset("ability bench door failure fee intention pay readiness return right time willingness".split())


@cache
def _by_word() -> dict[str, QueryRole]:
    return {word: role for role, words in _WORDS.items() for word in words.split()}


def role_of_heading(record: MeshDescriptor) -> QueryRole:
    """What a record of MeSH is to a search."""
    if record.name in _BY_NAME:
        return _BY_NAME[record.name]
    if (said := role_of_words(record.name.lower(), is_heading=True)) not in ("subject", "modifier"):
        return said
    found: list[QueryRole] = sorted({_role_of_place(number) for number in record.tree_numbers})
    return found[0] if found and "subject" not in found else "subject"


def _role_of_place(number: str) -> QueryRole:
    fitting = [branch for branch in _BRANCHES if number.startswith(branch)]
    return _BRANCHES[max(fitting, key=len)] if fitting else "subject"


def role_of_words(
    text: str, *, is_before_subject: bool = False, is_after_in: bool = False, is_heading: bool = False
) -> QueryRole:
    """What words that MeSH does not have are to a search.

    Args:
        is_before_subject: whether a subject follows at once, so that an adjective only describes it.
        is_after_in: whether "in" stands before them, so that a name in capitals is a place ("in Kenya").
        is_heading: whether they are the name of a heading, whose last word alone does not say what it is.
    """
    if text.lower() in NAMES:
        return "aspect"
    if is_general_modifier(text.replace(" ", "-")):
        return "modifier"
    words = [word for word in text.lower().split() if word not in QUERY_FUNCTION_WORDS]
    roles = [_by_word().get(word) for word in words]
    if not words or all(one == "filler" for one in roles):
        return "filler"
    if any(word[0].isdigit() for word in words) and all(
        one == "measure" or word.replace(".", "").replace("-", "").isdigit()
        for word, one in zip(words, roles, strict=True)
    ):
        return "measure"
    for role in ("kind", "comparator", "person", "setting", "aspect", "modifier", "measure"):
        if any(one == role for one in roles) and all(one in (role, "filler", "modifier") for one in roles):
            return role
    if roles[-1] in ("person", "setting", "kind", "aspect") and text.islower() and not is_heading:  # "rural villages"
        return roles[-1]
    if stems(text) <= general_stems():
        return "aspect"
    is_adjective = all(word.endswith(_ADJECTIVE_ENDINGS) or "-" in word for word in words) and text.islower()
    if is_adjective and is_before_subject:
        return "modifier"
    return "setting" if is_after_in and text.istitle() else "subject"


_UNITS = frozenset(_WORDS["measure"].split()) | {"kg", "mg", "ml", "mm", "km", "percent"}
_AMOUNT = re.compile(
    r"\d[\d.,]*(?:[-–]\d[\d.,]*)+%?|\d[\d.,]*(?:%|[-–](?:day|hour|minute|month|week|year)s?|(?:mg|g|kg|ml|mcg|µg|h|d|wk|mo|y))"
)


def amount_at(words: Sequence[str]) -> int:
    """How many of the first words are a dose, a time or another amount ("80-90 mg kg day", "12 months"); 0 if none. A
    bare number belongs to the word before it ("type 2")."""
    if not words or not words[0][0].isdigit():
        return 0
    rest = list(takewhile(lambda word: word.lower() in _UNITS, words[1:]))
    return 1 + len(rest) if rest or _AMOUNT.fullmatch(words[0]) else 0


def is_general_modifier(word: str) -> bool:
    """Whether it describes many things ("acute", "severe")."""
    return _by_word().get(word.lower()) == "modifier"


def is_noun(word: str) -> bool:
    """Whether a word before a heading makes another thing of it ("aspiration pneumonia"), as no adjective does."""
    is_adjective = word.endswith(_ADJECTIVE_ENDINGS) or word.startswith("non") or is_general_modifier(word)
    return word.isalpha() and not is_adjective


def is_filler(word: str) -> bool:
    """Whether a single word says nothing of the subject and separates what stands around it."""
    return _by_word().get(word) == "filler"
