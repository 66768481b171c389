"""What a part of a topic is to a search: which parts every paper must be about, and which only rank or narrow.

One table for headings, by their place in the MeSH tree, and one for words that MeSH does not have (`words.txt`). What
neither knows is a subject: a gene, a device, a new drug.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Literal, get_args

from deepcritical_mcp.search.expansion.phrases import general_stems, stems
from deepcritical_mcp.search.expansion.word_lists import (
    common_words,
    endings,
    rare_verbs,
    word_classes,
    word_groups,
    word_list,
)
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

# Branches of the MeSH tree that are no subjects ("branches …"); the longest that fits decides. A heading is what it is
# in all of its places; in any other place it is a subject: "Breast Feeding" (behavior and physiology), "Pregnancy".
# Some say nothing of a subject wherever they stand, or little beside one ("headings …").
_ADJECTIVE_ENDINGS = endings("adjective endings")
"""Of words that no list of English words has ("supraventricular")."""
EFFICACY = word_list("efficacy")
"""With these beside it, harm is one side of the question of a treatment."""
UNSPECIFIC = word_list("unspecific")
"""Before what something is compared with: no paper has to say so."""
DESIGNS = word_list("designs")
"""Words that papers seldom say of themselves, by which nothing is ranked."""


@cache
def _roles_of(kind: str) -> Mapping[str, str]:
    """What the lists of a kind ("branches", "headings") have -> the role that they stand for."""
    return {one: role for role, found in word_groups(kind).items() for one in found}


@cache
def _by_word() -> Mapping[str, str]:
    return {word: role for role in (*_ROLES, "head", "light") if role != "subject" for word in word_list(role)}


def role_of_heading(record: MeshDescriptor) -> QueryRole:
    """What a record of MeSH is to a search."""
    if role := _roles_of("headings").get(record.name):
        return _ROLES[role]
    if " " not in record.name and (said := role_of_word(record.name)) not in ("subject", "modifier"):
        return said
    found: list[QueryRole] = sorted({_role_of_place(number) for number in record.tree_numbers})
    return found[0] if found and "subject" not in found else "subject"


def _role_of_place(number: str) -> QueryRole:
    fitting = [branch for branch in _roles_of("branches") if number.startswith(branch)]
    return _ROLES[_roles_of("branches")[max(fitting, key=len)]] if fitting else "subject"


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
    is_described = word.islower() and (lower.startswith("non") or lower.endswith(("-associated", "-based", "-derived")))
    return _by_word().get(lower, "head") != "head" or is_described


def is_head(word: str) -> bool:
    """Whether a word makes one thing of the words before it: "therapy"."""
    return _by_word().get(word.lower()) == "head"


def is_adjective(word: str) -> bool:
    """Whether a word describes another one, by its class or its ending; "procalcitonin-guided" and "nurse-led" say what
    is tried."""
    if not word.islower() or word.endswith(("-guided", "-led")):
        return False
    is_known = word_classes().get(word) == "adjective" or is_participle(word)
    return is_known or "-" in word or word.endswith(_ADJECTIVE_ENDINGS)


def is_never_noun(word: str) -> bool:
    """Whether a word in small letters is only a verb, an adjective or an adverb."""
    return word in word_classes()


def is_common(words: Sequence[str]) -> bool:
    """Whether some words in small letters say little without a heading: one that is frequent in English ("tools",
    "alternatives"), alone or before a head ("imaging test")."""
    *_, last = words
    kept = words[:-1] if len(words) == 2 and is_head(last) else words
    return len(kept) == 1 and kept[0] in common_words()


def is_participle(word: str) -> bool:
    """Whether a word is the participle of a verb and nothing else: "ventilated", "given"."""
    return word_classes().get(word) == "verb" and word.endswith(("ed", "en", "wn"))


def is_gerund(word: str) -> bool:
    """Whether a word is a gerund and nothing else: "stopping", but not "screening"."""
    return word_classes().get(word) == "verb" and word.endswith("ing")


def is_filler(word: str) -> bool:
    """Whether a single word in small letters says nothing of the subject and separates what stands around it: one that
    is listed, an adverb, or a finite form of a verb that is not rare."""
    if word in QUERY_FUNCTION_WORDS or word in _by_word():
        return _by_word().get(word) == "filler"
    name = word_classes().get(word)
    is_verb = name == "verb" and not (is_participle(word) or is_gerund(word))
    return name == "adverb" or (is_verb and word not in rare_verbs())


_YEAR = re.compile(r"(?:19|20)\d\d")
_STAGE = re.compile(r"(?:class|grade|level|phase|stage) (?:\d[a-d]?|[IVX]{1,4}[A-Da-d]?|[A-E])")
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_AMOUNT = re.compile(
    r"\d[\d.,]*(?:[-–]\d[\d.,]*)+%?|\d[\d.,]*(?:%|[-–](?:day|hour|minute|month|week|year)s?(?:-old)?|(?:mg|g|kg|ml|mcg|µg|h|d|wk|mo|y))"
)


def amount_at(words: Sequence[str]) -> int:
    """How many of the first words are a dose, a time or another amount ("80-90 mg kg day", "2015"); 0 if none. A
    bare number belongs to the word before it ("type 2"), but not a stage or a grade."""
    if words[1:] and _STAGE.fullmatch(" ".join(words[:2])):  # "CKD stage 4"
        return 2
    if not words or not (words[0][0].isdigit() or words[0] in _NUMBERS):
        return 0
    if _YEAR.fullmatch(words[0]):
        return 1
    rest = list(takewhile(lambda word: _by_word().get(word.lower()) == "measure" or word == "percent", words[1:]))
    return 1 + len(rest) if rest or _AMOUNT.fullmatch(words[0]) else 0
