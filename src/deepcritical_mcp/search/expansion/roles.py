"""What words and headings are to a search, and how sure it is that papers on a topic name them.

One table for headings, by their place in the MeSH tree, and one for words that MeSH does not have (`words.txt`). What
neither knows is a subject: a gene, a device, a new drug.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile

from deepcritical_mcp.search.expansion.phrases import general_stems, is_drug, is_symbol, singular, stems
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

QueryRole = str
"""subject: what a paper may have to be about. animal (dogs): always required. group (nurses), place (Kenya), general
(surgery), person (by age and sex), setting, aspect (an outcome): required if few others are. The others only rank: head
("therapy", which makes one thing of the words before it), kind (answered by a filter), modifier ("acute"), measure (a
dose, a time), comparator (placebo), phrase (one of several words of the user). filler: left out."""

SURE, NAMED, WEAK, NONE = 3.0, 2.0, 1.0, 0.0
"""The evidence that papers on a topic name something; without any, it only ranks."""
_BY_ROLE = {"animal": NAMED, "group": NAMED, "place": 1.5, "person": WEAK, "aspect": WEAK, "setting": WEAK / 2}
_WITHOUT_EVIDENCE = ("general", "head", "kind", "modifier", "measure", "comparator", "filler")
# Of disorders, symptoms and behavior.
OF_DISEASES = ("C", "F01", "F02", "F03")
# Of these, organisms, chemicals, techniques, reproduction and pregnant women, papers have to name what they are about.
_SURE = (*OF_DISEASES, "B", "D", "E", "G08", "A11", "M01.975.807")
_ADJECTIVE_ENDINGS = endings("adjective endings")
"""Of words that no list of English words has ("supraventricular")."""


@cache
def _roles_of(kind: str) -> Mapping[str, QueryRole]:
    """What the lists of a kind ("branches", "headings") have -> the role that they stand for."""
    return {one: role for role, found in word_groups(kind).items() for one in found}


@cache
def _by_word() -> Mapping[str, QueryRole]:
    return {word: role for role in (*_BY_ROLE, *_WITHOUT_EVIDENCE) if role != "animal" for word in word_list(role)}


def role_of_heading(record: MeshDescriptor) -> QueryRole:
    """What a record of MeSH is to a search; of one in several places, a subject if it is that in any."""
    if role := _roles_of("headings").get(record.name):
        return role
    if " " not in record.name and (said := role_of_word(record.name)) not in ("subject", "modifier"):
        return said
    branches = _roles_of("branches")
    found = {
        branches[max((one for one in branches if number.startswith(one)), key=len, default="M01.975.807")]
        for number in record.tree_numbers
    }
    return "subject" if "subject" in found else min(found, default="subject")


def role_of_word(word: str) -> QueryRole:
    """What a word that stands alone is to a search."""
    lower = word.lower()
    if lower in word_groups("species"):
        return "animal"
    if lower in QUERY_FUNCTION_WORDS and word.islower():
        return "filler"
    if word.isdigit():
        return "measure"
    is_described = word.islower() and (lower.startswith("non") or lower.endswith(("-associated", "-based", "-derived")))
    is_general = is_described or stems(word) <= general_stems()
    general: QueryRole = "modifier" if is_general else "subject"
    found = _by_word().get(lower) or _by_word().get(singular(lower), general)
    return "subject" if found == "filler" and word.isupper() else found  # "WHO"


def evidence_of(role: QueryRole, text: str, record: MeshDescriptor | None) -> float:
    """How sure it is that papers name a part of a topic, alone: diseases, drugs, organisms and techniques by their
    headings, symbols and rare names, then other headings and phrases, then what says little."""
    words = text.split()
    if role != "subject":
        is_bare = role == "group" and record is None and not words[1:]  # "residents"
        return WEAK if is_bare else _BY_ROLE.get(role, NONE)
    if record is None:
        return evidence_of_words(words)
    if is_branch(record):
        return NAMED if record.is_of(OF_DISEASES) or not (words[1:] or is_common(words)) else WEAK
    if record.is_of(("A",)) and not record.is_of(("A11",)):
        return WEAK
    return SURE if any(one.startswith(_SURE) for one in record.tree_numbers or ("D",)) else NAMED


def evidence_of_words(words: Sequence[str]) -> float:
    """The same for words that no vocabulary has."""
    if any(is_drug(word) or ends_like_disease(word) or (is_symbol(word) and not word.isalpha()) for word in words):
        return SURE
    if any(map(is_name, words)):
        return NAMED
    nouns = [word for word in words if not is_adjective(word)]
    return (WEAK if len(words) < 2 else NAMED) if nouns else NONE


def ends_like_disease(text: str) -> bool:
    """Whether words that no vocabulary has end like a disease ("laminitis")."""
    return text.islower() and len(text) > 6 and text.endswith(endings("disease endings"))


def is_branch(record: MeshDescriptor) -> bool:
    """Whether it is a heading near the top of the tree, such as "Neoplasms" and "Behavior", and no chemical or art."""
    return (
        not record.is_of(("D", "K"))
        and bool(record.tree_numbers)
        and all(one.count(".") < 2 for one in record.tree_numbers)
    )


def is_name(word: str) -> bool:
    """Whether a word is rare enough to name a subject: a symbol, or a noun that is not frequent in English."""
    is_frequent = is_common([word.lower()]) or is_common([singular(word.lower())])
    return is_symbol(word) or not (is_frequent or is_adjective(word.lower()) or role_of_word(word) != "subject")


def is_adjective(word: str) -> bool:
    """Whether a word describes another one, by its class or its ending; "procalcitonin-guided" and "nurse-led" say what
    is tried."""
    is_thing = word.endswith(endings("approach endings")) or (word.startswith("self-") and word.endswith("ing"))
    if not word.islower() or is_thing:
        return False
    first, *_, last = word.split("-") if "-" in word else (word, "")
    if last:  # "low-dose", "hospital-acquired", but "tongue-tie"
        return is_adjective(first) or is_adjective(last) or not role_of_word(first) == role_of_word(last) == "subject"
    is_known = word_classes().get(word) == "adjective" or is_participle(word)
    return is_known or (word not in common_words() and word.endswith(_ADJECTIVE_ENDINGS))


def is_never_noun(word: str) -> bool:
    """Whether a word in small letters is only a verb, an adjective or an adverb."""
    return word in word_classes()


def is_common(words: Sequence[str]) -> bool:
    """Whether it is a single word that is frequent in English ("tools")."""
    return len(words) == 1 and words[0] in common_words()


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


_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")


def amount_at(words: Sequence[str]) -> int:
    """How many of the first words are a dose, a time or another amount ("80-90 mg kg day", "2015"); 0 if none. A
    bare number belongs to the word before it ("type 2")."""
    first = words[0].lower() if words else ""
    unit = first.lstrip("0123456789.,-–%")
    if first not in _NUMBERS and not (first[:1].isdigit() and unit in {"", "s", *word_list("measure")}):
        return 0
    rest = list(takewhile(lambda word: word.lower() in word_list("measure"), words[1:]))
    return 1 + len(rest) if rest or not (first in _NUMBERS or (first.isdigit() and len(first) != 4)) else 0
