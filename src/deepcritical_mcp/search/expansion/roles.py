"""What a part of a topic is to a search: which parts every paper must be about, and which only rank or narrow.

One table for headings, by their place in the MeSH tree, and one for words that MeSH does not have (`roles.txt`). What
neither knows is a subject: a gene, a device, a new drug.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import Literal, get_args

from deepcritical_mcp.search.expansion.phrases import general_stems, stems
from deepcritical_mcp.sources.base import MeshDescriptor
from deepcritical_mcp.text import QUERY_FUNCTION_WORDS

QueryRole = Literal[
    "subject",
    "general",
    "group",
    "place",
    "person",
    "setting",
    "aspect",
    "modifier",
    "kind",
    "measure",
    "comparator",
    "filler",
]
"""subject: what a paper must be about. general (surgery), group (nurses, prisoners): required as long as there is
room. person (by age and sex), place (Kenya), setting, aspect (an outcome or a measure), modifier ("uncomplicated"):
required if fewer than two others are, else they rank. kind ("treatment", "cohort study"): answered by a filter, ranks.
measure (a dose, a time) and comparator (placebo): rank. filler: left out."""

# Branches of the MeSH tree that are no subjects; the longest that fits decides. A heading is what it is in all of its
# places; in any other place it is a subject: "Breast Feeding" (behavior and physiology), "Pregnancy".
_BRANCHES: Mapping[str, QueryRole] = {
    "M": "group",  # occupations and relations; not the diseases of persons
    "M01.060": "person",
    "Z": "place",
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
# Headings that say nothing of a subject wherever they stand, or little beside one.
_NAMED: Mapping[QueryRole, str] = {
    "comparator": "Placebos|Placebo Effect|Standard of Care|Watchful Waiting|Saline Solution",
    "kind": "Adult|Young Adult|Middle Aged|Therapeutics|Drug Therapy|Diagnosis|Pharmaceutical Preparations|Prognosis",
    "setting": "Intensive Care Units|Emergency Service, Hospital|Nursing Homes|Primary Health Care",
    "person": "Women|Men|Female|Male",
    "general": "General Surgery|Surgical Procedures, Operative|Mass Screening|Biomarkers|Risk Factors|Risk|Exposure|"
    "Environmental Exposure|Transplantation",
    "filler": "Patients|Humans|Persons|Disease|Syndrome|Research|Association|Role|Time|Family Characteristics|Health",
}
_BY_NAME: Mapping[str, QueryRole] = {name: role for role, names in _NAMED.items() for name in names.split("|")}
_ADJECTIVE_ENDINGS = ("al", "ic", "ive", "ous", "ed", "ary", "ar", "ory", "less", "able", "ible", "generation")
"""Of words that no list of English words has ("supraventricular")."""
EFFICACY = frozenset("benefit benefits effective effectiveness efficacy".split())
"""With these beside it, harm is one side of the question of a treatment."""
UNSPECIFIC = frozenset("another conventional other standard traditional usual".split())
"""Before what something is compared with: no paper has to say so."""
DESIGNS = frozenset(
    "agents benefits drug drugs medication medications outcome outcomes program programs rct rcts review reviews "
    "studies study trial trials".split()
)
"""Words that papers seldom say of themselves, by which nothing is ranked."""


@cache
def _by_word() -> dict[str, str]:
    return {word: role for role, words in _rows() if "|" not in words for word in words.split()}


@cache
def _rows() -> list[tuple[str, str]]:
    rows = (files("deepcritical_mcp.search.expansion") / "roles.txt").read_text("utf-8").splitlines()
    return [(role, words) for row in rows if not row.startswith("#") for role, _, words in [row.partition("\t")]]


@cache
def _word_classes() -> dict[str, str]:
    """English words that are no nouns -> "verb", "adjective" or "adverb"."""
    rows = (files("deepcritical_mcp.search.expansion") / "word_classes.txt").read_text("utf-8").splitlines()
    read = (row.partition("\t") for row in rows if not row.startswith("#"))
    return {word: name for name, _, words in read for word in words.split()}


@cache
def listed_names(role: str) -> frozenset[str]:
    """The names of more than one word that `roles.txt` lists."""
    return frozenset(name for one, names in _rows() if one == role for name in names.split("|"))


def role_of_heading(record: MeshDescriptor) -> QueryRole:
    """What a record of MeSH is to a search."""
    if record.name in _BY_NAME:
        return _BY_NAME[record.name]
    if " " not in record.name and (said := role_of_word(record.name)) not in ("subject", "modifier"):
        return said
    found: list[QueryRole] = sorted({_role_of_place(number) for number in record.tree_numbers})
    return found[0] if found and "subject" not in found else "subject"


def _role_of_place(number: str) -> QueryRole:
    fitting = [branch for branch in _BRANCHES if number.startswith(branch)]
    return _BRANCHES[max(fitting, key=len)] if fitting else "subject"


def role_of_word(word: str) -> QueryRole:
    """What a word that stands alone is to a search."""
    role = _by_word().get(word.lower(), "")
    if role in ("head", "light"):
        return "kind" if role == "head" else "aspect"
    return _ROLES.get(role) or ("aspect" if stems(word) <= general_stems() else "subject")


_ROLES: Mapping[str, QueryRole] = {one: one for one in get_args(QueryRole)}


def is_light(word: str) -> bool:
    """Whether, beside other words, a word need not be said: "acute", "levels", "women", "delayed"."""
    lower = word.lower()
    if word.isupper() and len(word) > 1:  # "WHO", "ICU"
        return _by_word().get(lower) == "setting"
    return _by_word().get(lower, "head") != "head" or (lower.startswith("non") and word.islower())


def is_head(word: str) -> bool:
    """Whether a word makes one thing of the words before it: "therapy"."""
    return _by_word().get(word.lower()) == "head"


def is_adjective(word: str) -> bool:
    """Whether a word describes another one, by its class or its ending; "procalcitonin-guided" and "nurse-led" say what
    is tried."""
    if not word.islower() or word.endswith(("-guided", "-led")):
        return False
    is_known = _word_classes().get(word) == "adjective" or is_participle(word)
    return is_known or "-" in word or word.endswith(_ADJECTIVE_ENDINGS)


def is_never_noun(word: str) -> bool:
    """Whether a word in small letters is only a verb, an adjective or an adverb."""
    return word in _word_classes()


def is_participle(word: str) -> bool:
    """Whether a word is the participle of a verb and nothing else: "ventilated", "given"."""
    return _word_classes().get(word) == "verb" and word.endswith(("ed", "en", "wn"))


def is_gerund(word: str) -> bool:
    """Whether a word is a gerund and nothing else: "stopping", but not "screening"."""
    return _word_classes().get(word) == "verb" and word.endswith("ing")


def is_filler(word: str) -> bool:
    """Whether a single word in small letters says nothing of the subject and separates what stands around it: one that
    is listed, an adverb, or a finite form of a verb."""
    if word in QUERY_FUNCTION_WORDS or word in _by_word():
        return _by_word().get(word) == "filler"
    name = _word_classes().get(word)
    return name == "adverb" or (name == "verb" and not (is_participle(word) or is_gerund(word)))


_YEAR = re.compile(r"(?:19|20)\d\d")
_AMOUNT = re.compile(
    r"\d[\d.,]*(?:[-–]\d[\d.,]*)+%?|\d[\d.,]*(?:%|[-–](?:day|hour|minute|month|week|year)s?(?:-old)?|(?:mg|g|kg|ml|mcg|µg|h|d|wk|mo|y))"
)


def amount_at(words: Sequence[str]) -> int:
    """How many of the first words are a dose, a time or another amount ("80-90 mg kg day", "2015"); 0 if none. A
    bare number belongs to the word before it ("type 2")."""
    if not words or not words[0][0].isdigit():
        return 0
    if _YEAR.fullmatch(words[0]):
        return 1
    rest = list(takewhile(lambda word: _by_word().get(word.lower()) == "measure" or word == "percent", words[1:]))
    return 1 + len(rest) if rest or _AMOUNT.fullmatch(words[0]) else 0
