"""Names of people and journals in references: abbreviated, transliterated, with or without particles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import ratio

from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.models import AuthorName

_WORD = re.compile(r"[^\W\d_]+|\d+")
_TRANSLITERATED = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ß": "ss", "đ": "d", "ł": "l", "ð": "d", "þ": "th", "ı": "i"}
)
_UMLAUTS = re.compile(r"ae|oe|ue")
_IN_NAMES_OF_JOURNALS = frozenset("the of and for in on de la et und der part section series an a & di del".split())
_QUALIFIER = re.compile(r"\s?[:=(\[/].*")
_PART = re.compile(r"\b(?:part|section|series) ([A-Z]|[1-9]|[IV]{1,4})\b", re.IGNORECASE)
_COUNTRY = re.compile(r"\bU\.?S\.?A\b\.?")
_BEHIND_JOURNALS = frozenset(
    "in press epub ahead of print online published publication article available from accepted suppl supplement "
    "electronic internet preprint cited version".split()
)
_PARTICLE = 3
"""Letters of "van", "de" and "von", which are no part of a double name."""
_GROUP = re.compile(r"\b(?:collaborat\w{1,5}|consortium|group|investigators|network|team)\b", re.IGNORECASE)
_INITIALS_OF_MANY = 4
_FIRST_WORDS, _FIRST_LETTERS = 3, 20
"""Of a long name, so much of its beginning stands for it: "Proceedings of the National Academy of Sciences"."""
_CLOSE = 88
"""Percent of equal letters of a journal's name that may be misprinted."""
_LEAST_CLOSE = 8
_LEAST_LETTERS = 3
"""Of the abbreviation of a name of one word."""


def people_agree(written: Sequence[str], authors: Sequence[AuthorName]) -> Literal["agrees", "minor", "differs"]:
    """Whether names, as a reference lists them, are those of a record's first authors.

    "minor": some do not agree, or the order is another one. A group beside people may be missing in the record.
    """
    known = places_of_people(written, authors)
    people = [(name, at) for name, at in zip(written, known, strict=True) if at >= 0 or not _GROUP.search(name)]
    written, matched = [name for name, _ in people] or written, [at for _, at in people] or known
    if not matched or matched[0] < 0 or 0 not in matched:
        return "differs"
    found = sum(at >= 0 for at in matched)
    if found * 2 < len(written):
        return "differs"
    return "agrees" if found == len(written) and matched[0] == 0 else "minor"


def places_of_people(written: Sequence[str], authors: Sequence[AuthorName]) -> list[int]:
    """For each name, as a reference lists it, its place among a record's authors, from 0; -1 if it has none."""
    known = [_forms(author) for author in authors]
    return [next((at for at, forms in enumerate(known) if _is_one_of(name, forms)), -1) for name in written]


@lru_cache(maxsize=4096)
def _forms(author: AuthorName) -> list[tuple[str, ...]]:
    """The ways to write a name: family name, its parts that stand for it, whole name, given name."""
    family = _words(author.family)
    first = family[:1] if len(family) > 1 and len(family[0]) > _PARTICLE else family[-1:]
    return [family, (*first, *family[-1:]), _words(str(author)), *((_words(author.given),) if author.given else ())]


def _is_one_of(name: str, forms: Sequence[tuple[str, ...]]) -> bool:
    words = _words(name)
    if not words:
        return False
    family, parts, whole = forms[0], forms[1], forms[2]
    if any(_same_word("".join(words), "".join(form)) for form in (family, *forms[2:]) if form):
        return True
    if len(forms) == 3 and len(family) > 2 and len(words[-1]) > 2 and _initials(family).endswith(words[-1]):
        return True
    return any(_same_word(word, one) for word in (words[0], words[-1]) for one in parts) or (
        len(words) > 1 and (set(words) <= set(whole) or set(family) <= set(words))
    )


def _initials(words: Sequence[str]) -> str:
    """Those of an organization: "rcog"."""
    return "".join(word if len(word) == 1 else word[0] for word in words)


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(plain_letters(name.casefold().translate(_TRANSLITERATED))))


def _same_word(one: str, other: str) -> bool:
    if one == other or _UMLAUTS.sub(lambda found: found[0][0], one) == _UMLAUTS.sub(lambda found: found[0][0], other):
        return True
    return min(len(one), len(other)) >= 5 and OSA.distance(one, other, score_cutoff=1) <= 1


def journals_agree(written: str, names: Sequence[str]) -> bool:
    """Whether a journal's name, as a reference gives it, is one of `names`, in full, abbreviated or as initials."""
    given = _journal_words(_QUALIFIER.sub("", written)) or _journal_words(written)
    forms = [
        form for name in names for form in (_journal_words(_QUALIFIER.sub("", name)), _journal_words(name)) if form
    ]
    return bool(given) and any(_is_journal(given, form) for form in (*forms, *_cut_at_part(written, names)))


def _cut_at_part(written: str, names: Sequence[str]) -> Iterator[list[str]]:
    """Names that say what a part is about, without that, if `written` ends with the part: "Zinc Res Part A"."""
    if not (part := _PART.search(written)) or any(map(str.isalnum, written[part.end() :])):
        return
    for name in names:
        if (own := _PART.search(name)) and own[1].casefold() == part[1].casefold():
            yield _journal_words(name[: own.start()])


def _journal_words(name: str) -> list[str]:
    return [word for word in _words(_COUNTRY.sub("U S", name)) if word not in _IN_NAMES_OF_JOURNALS]


def _is_journal(given: Sequence[str], form: Sequence[str]) -> bool:
    if "".join(given) == "".join(form):
        return True
    if _are_initials(given, form) or _are_initials(form, given):
        return True
    if len(given) == 1 and len(given[0]) == 1:
        return False
    if given[-1] in ("journal", "j") and len(given) > 2 and len(given) == len(form) + 1:
        return all(_abbreviates(*pair) for pair in zip(given, form, strict=False))
    size = len(form)
    if size == len(given) == 1 and min(len(given[0]), len(form[0])) < _LEAST_LETTERS:
        return False
    is_same = len(given) >= size and all(_abbreviates(*pair) for pair in zip(given, form, strict=False))
    if is_same and (len(given) == size or size >= 3 or _BEHIND_JOURNALS.issuperset(given[size:])):
        return True
    if len(given) >= _FIRST_WORDS and len("".join(given)) >= _FIRST_LETTERS and list(form[: len(given)]) == list(given):
        return True
    is_long = min(len("".join(given)), len("".join(form))) >= _LEAST_CLOSE
    return is_long and given[0][0] == form[0][0] and ratio(" ".join(given), " ".join(form)) >= _CLOSE


def _are_initials(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a single word consists of the initials of several: "jama"; of many, the first may do: "pnas"."""
    if len(one) != 1 or len(other) < 2:
        return False
    initials = "".join(word[0] for word in other)
    return one[0] == initials or (len(one[0]) >= _INITIALS_OF_MANY and initials.startswith(one[0]))


def _abbreviates(one: str, other: str) -> bool:
    """Whether one word is the other, or its abbreviation: "Natl" of "National"."""
    short, long = sorted((one, other), key=len)
    if long.startswith(short):
        return True
    letters = iter(long)
    return len(short) >= 2 and short[0] == long[0] and all(letter in letters for letter in short)
