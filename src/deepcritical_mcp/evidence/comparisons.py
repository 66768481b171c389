"""Whether two texts, or the names of authors and journals, are the same, though they are written in other ways."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from typing import Literal

from rapidfuzz import fuzz

from deepcritical_mcp.evidence.titles import (
    ABSTRACT_LABELS,
    DENIALS,
    changes,
    is_misprint,
    numbers_agree,
    plain_letters,
    tokens,
)
from deepcritical_mcp.memory import remembering
from deepcritical_mcp.models import AuthorName, Publication
from deepcritical_mcp.text import normalized

COMPARED = 4_000
"""Characters of two contents that are compared."""
MIN_COMPARED = 80
"""Minimum characters of a text that shows whether two documents are the same."""
WORDS = 300
"""Words of the shorter one that are compared."""
COPIED = 0.75
"""Share of the shorter text's words that the longer one must have for the two to be compared word by word."""

LIKE_CONTENT = 0.75
"""Token sort ratio from which two texts may be descriptions of one publication."""

Agreement = Literal["same", "like", "other", "unknown"]
Copies = Literal["same", "other words", "contradicted", "different"]

Place = tuple[str, str, str]
"""Volume, issue and first page, as `place_of` writes them."""

_SUPPLEMENT = re.compile(r"suppl[^\W\d_]*|\bs(?=[ .]?\d)")
_PLACE_FILLERS = re.compile(r"\b(?:volume|vol|issue|iss|number|no|nr|article|art|pages?|pp)\b")
_LEADING_ZEROS = re.compile(r"(?<!\d)0+")
_NO_LETTER = re.compile(r"[\W_]+")
_FIRST_PAGE = re.compile(r"[^\W\d_]{0,8}[-. ]?\d\w*(?:\.\w+)?")
_NEGATION = re.compile(r"\b\w+n['’]t\b")
_NAME_WORD = re.compile(r"[^\W\d_]+")
_JOURNAL_FILLERS = frozenset({"the", "of", "and", "in", "for", "on"})
_TAG = re.compile(r"</?\w[^<>]*>")
_DASHES = str.maketrans("\u2212\u2013\u2012\u2010\u2011\ufe63", "------")
_SIGNED = re.compile(
    r"(?<![^\W_])([^\W_]{1,40})(?: ?\()?([+-](?:/[+-])?)(?![\w+/-])|(?:(?<=[\s(\[=])|^)([+-])(\d+(?:\.\d+)?)"
)
"""CD4+, ER(-), Apoe+/-; +8, -8."""


def opposed(one: Publication, other: Publication) -> bool:
    """Whether two nearly equal texts differ in a negation ("X is essential", "X is not essential")."""
    texts = [each.text.content[:COMPARED] if each.text.parts else each.text.content for each in (one, other)]
    return negations_in(one.title) != negations_in(other.title) or (
        negations_in(texts[0]) != negations_in(texts[1]) and fuzz.ratio(texts[0].casefold(), texts[1].casefold()) >= 85
    )


def negations_in(text: str) -> int:
    """How many words of a text deny something."""
    return len(_NEGATION.findall(text.casefold())) + sum(word in DENIALS for word in tokens(text))


def opposite_signs(one: str, other: str) -> bool:
    """Whether what is positive in one text is negative in the other: CD4+ and CD4-, Apoe+/+ and Apoe+/-, +8 and -8."""
    first, second = _signs(one[:COMPARED]), _signs(other[:COMPARED])
    return any(first[word].isdisjoint(second[word]) for word in first.keys() & second.keys())


@lru_cache(maxsize=1_000)
def _signs(text: str) -> dict[str, set[str]]:
    """The signs that each word or number has."""
    plain = normalized("NFKC", _TAG.sub("", unescape(text))).translate(_DASHES).casefold()
    signs = defaultdict[str, set[str]](set)
    for word, after, before, number in _SIGNED.findall(plain):
        signs[word or number].add(after or before)
    return signs


def copies(one: str, other: str) -> Copies:
    """How the shorter of two texts compares with the part of the longer one that it may be a copy of.

    "same": only misprints, spelling, section labels and cuts differ. "other words": a word is replaced by another, or a
    number is missing. "contradicted": a number or negation differs. "different": too little is shared to tell.
    """
    short, long = (tokens(text[:COMPARED]) for text in sorted((one, other), key=lambda text: (len(text), text)))
    short = short[:WORDS]
    if not short or not long:
        return "different"
    if opposite_signs(one, other):
        return "contradicted"
    part = _aligned(short, long)
    found = changes(short, part)
    if sum(len(gone) for gone, *_ in found) > (1 - COPIED) * len(short):
        return "different"
    verdict: Copies = "same"
    for *both, at_end in found:
        gone, come = ([word for word in words if word not in ABSTRACT_LABELS] for words in both)
        # One text may be the other cut short, perhaps within a word.
        is_cut = not gone or not come or come[0].startswith(gone[-1]) or gone[0].startswith(come[-1])
        if "".join(gone) == "".join(come) or (at_end and is_cut):
            continue
        if not DENIALS.isdisjoint((*gone, *come)) or (any(map(str.isdigit, gone)) and any(map(str.isdigit, come))):
            return "contradicted"
        has_number = any(map(str.isdigit, (*gone, *come)))
        is_respelled = len(gone) == len(come) and all(map(is_misprint, gone, come))
        if has_number or (gone and come and not is_respelled):
            verdict = "other words"
    return verdict


@remembering(2_000_000)
def texts_agree(one: str, other: str) -> Agreement:
    """How far two texts agree; "unknown" if the shorter one is too short to tell."""
    short, long = sorted((one, other), key=lambda text: (len(text), text))
    found = "same" if short in long else copies(short, long)
    if found == "same":
        return "same"
    if len(short) < MIN_COMPARED:
        return "unknown" if found == "different" else "other"
    first, second = tokens(short[:COMPARED]), tokens(long[:COMPARED])
    if found == "contradicted" or not numbers_agree(first, second):
        return "other"
    return "like" if fuzz.token_sort_ratio(" ".join(first), " ".join(second)) >= 100 * LIKE_CONTENT else "other"


def _aligned(short: Sequence[str], long: Sequence[str]) -> Sequence[str]:
    """The words of the longer text that stand where the shorter one's do."""
    texts = " ".join(short), " ".join(long)
    if len(texts[0]) >= len(texts[1]):
        return long
    found = fuzz.partial_ratio_alignment(*texts)
    if found is None:
        return long
    start = texts[1].rfind(" ", 0, found.dest_start + 1) + 1
    end = texts[1].find(" ", found.dest_end)
    return texts[1][start : end if end >= 0 else None].split()


def same_author(one: AuthorName, other: AuthorName) -> bool:
    """Whether two names agree in the family name and, where both are known, the first initial."""
    return any(
        family == other_family and (not given or not other_given or given[0] == other_given[0])
        for family, given in _readings(one)
        for other_family, other_given in _readings(other)
    )


def _readings(author: AuthorName) -> list[tuple[str, str]]:
    """Family and given names; of a name that is only known as a whole, every way to read it."""
    family, given = _name_words(author.family), _name_words(author.given)
    if given:
        return [("".join(family), given[0])]
    parts = [("".join(family[at:]), "".join(family[:at])) for at in range(min(len(family), 5))]
    return [*parts, *((first, last) for last, first in parts[1:])]  # "Zhang Wei", "Wei Zhang"


def _name_words(name: str) -> list[str]:
    """The words of a name, where "Müller", "Mueller" and "Muller" are one."""
    plain = plain_letters(name).replace("ae", "a").replace("oe", "o").replace("ue", "u")
    return _NAME_WORD.findall(plain)


def place_of(publication: Publication) -> Place:
    """Its volume, issue and first page, each as letters and digits alone, "" if unknown: ("34", "suppl1", "s12") for
    "34 (Supplement 1)", "S12-S19". A volume and a page have a number; an issue may be "spring"."""
    volume, supplement, of_supplement = _SUPPLEMENT.sub("suppl", _place_words(publication.volume)).partition("suppl")
    issue = _place_part(_SUPPLEMENT.sub("suppl", _place_words(publication.issue)))
    page = _FIRST_PAGE.search(_place_words(publication.pages))
    has_number = any(map(str.isdigit, volume))
    return (
        _place_part(volume) if has_number else "",
        issue or _place_part(f"{supplement}{of_supplement}"),
        _place_part(page[0]) if page else "",
    )


def _place_words(text: str) -> str:
    return _PLACE_FILLERS.sub("", normalized("NFKC", text).casefold())


def _place_part(text: str) -> str:
    return _LEADING_ZEROS.sub("", _NO_LETTER.sub("", text))


def is_one_place(one: Place, other: Place) -> bool:
    """Whether volume and first page are known and the same."""
    return bool(one[0] and one[2]) and (one[0], one[2]) == (other[0], other[2])


def elsewhere(one: Place, other: Place) -> tuple[bool, ...]:
    """Whether the volumes, the issues and the first pages of both are known and differ."""
    return tuple(bool(first and second) and first != second for first, second in zip(one, other, strict=True))


def same_journal(one: Sequence[str], other: Sequence[str]) -> bool | None:
    """Whether one journal's name, as `tokens`, may abbreviate or begin the other ("int j cardiol", "international
    journal of cardiology"); None if one is unknown."""
    if not one or not other:
        return None
    words = [[word for word in name if word not in _JOURNAL_FILLERS] for name in (one, other)]
    if all(first.startswith(second) or second.startswith(first) for first, second in zip(*words, strict=False)):
        return True
    return fuzz.ratio("".join(words[0]), "".join(words[1])) >= 80  # "neuro endocrinol lett"
