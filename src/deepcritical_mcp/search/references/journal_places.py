"""Where a journal's name stands in a reference: in full, abbreviated, as initials, or under another known name.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.fuzz import ratio

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.search.references.people_places import has_author
from deepcritical_mcp.search.references.plain_text import BRACKETED, WORD, Span, listed_words, without

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUALIFIER = re.compile(r"\s?[:=(\[/].*")
_SENTENCE = re.compile(r"(?:(?<=[^\W\d_A-Z][^\W\d_A-Z])\.|(?<=[)”\"»’*_\]])[.,;:]|[?!”\"»:;,])[*_]{0,2}\s")


_SHORT_WORD = re.compile(r"(?:\A|[\s.,])[A-Z][^\W\d_]{0,9}\.\Z")
_ENDS = " .,;:*_()[]”“\"'’‘?!\n\t"
_MOST_SMALL = 4
"""Words in small letters of a name."""
_HIDDEN = "ʘ"
"""In place of the letters of what another field explains: a letter that no name has."""
_WHOLE_WORD = 6
"""Letters of a word that is no abbreviation."""
_CLOSE = 88
"""Percent of the letters of a name in which a word is misprinted that are the same: "Cnt Rev Toxicol"."""
_INITIALS_OF_MANY, _FIRST_LETTERS = 3, 18
"""Words of a name of which the initials, and letters of which the beginning, stand for it: "Proc Natl Acad Sci"."""


class JournalPlace(NamedTuple):
    """Where a journal's name stands, `low` to `high` with the words right beside it that make it another one's, as in
    "BMJ Open" for "BMJ"."""

    start: int
    end: int
    low: int
    high: int


def find_journal(text: str, hidden: Span | None, names: Sequence[str], near: int = -1) -> JournalPlace | None:
    """Where one of a record's names of its journal stands; the longest of several, or the one nearest before `near`.

    Args:
        hidden: the title, where it is known.
    """
    start, end = hidden or (0, 0)
    text = f"{text[:start]}{_HIDDEN * (end - start)}{text[end:]}"
    words = [*_WORD.finditer(text)]
    best: tuple[float, ...] = ()
    for form in _forms(tuple(names)):
        for first in range(len(words)):
            if size := _matched(words, first, form):
                end = words[first + size - 1].end()
                best = max(best, (size, end <= near, -abs(near - end), -first))
    if not best:
        return None
    first, stop = int(-best[-1]), int(best[0] - best[-1])
    start, end = words[first].start(), words[stop - 1].end()
    known = frozenset(word for name in names for word in _split(name))
    before = [*_added(text, words[:first][::-1], start, known, is_before=True)]
    behind = [*_added(text, words[stop:], end, known, is_before=False)]
    return JournalPlace(start, end, before[-1].start() if before else start, behind[-1].end() if behind else end)


def _added(
    text: str, words: Sequence[re.Match[str]], edge: int, known: frozenset[str], *, is_before: bool
) -> Iterator[re.Match[str]]:
    """Words beside a name, with nothing but a space between, that make it another journal's name."""
    marks = {*',;:([“”"?!/|—–*_0123456789', *".)]‘’" * is_before, _HIDDEN}
    for one in words:
        between = text[one.end() : edge] if is_before else text[edge : one.start()]
        if not marks.isdisjoint(f"{between}{one[0][0]}"):
            return
        is_sentence = one[0][0].islower() or (edge >= _WHOLE_WORD and text[edge - _WHOLE_WORD : edge].isalpha())
        if not is_before and "." in between and is_sentence:  # "bioRxiv. Cold Spring Harbor", but "Sci. Adv. Mater."
            return
        edge, word = one.start() if is_before else one.end(), _plain(one[0])
        if is_before and len(one[0]) <= 3 and one[0].isupper() and one[0] != "J":  # somebody's initials
            return
        is_own = word in known or (len(word) > 1 and any(_abbreviates(word, other) for other in known))
        if not is_own and word not in listed_words("in journals") | listed_words("behind journals"):
            yield one


@lru_cache(maxsize=512)
def _forms(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The words of the names that a journal goes by, the longest first."""
    found = dict[tuple[str, ...], None]()
    forms = [form for name in names for form in (_QUALIFIER.sub("", name), name)]
    for name in (*forms, *(other for form in forms for other in _renamed().get(_telling(_split(form)), ()))):
        words = _telling(_split(name))
        sizes = range(_INITIALS_OF_MANY, len(words) + 1)
        found |= {("".join(word[0] for word in words[:size]),): None for size in sizes}
        begun = (words[:size] for size in sizes if len("".join(words[:size])) >= _FIRST_LETTERS)
        found |= dict.fromkeys((words, next(begun, words)) if words else ())
    return tuple(sorted(found, key=len, reverse=True))


def _telling(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in listed_words("in journals"))


def _matched(words: Sequence[re.Match[str]], first: int, form: Sequence[str]) -> int:
    """How many words of a text, from the first on, are a name; 0 if they are not."""
    at, slips, begin = first, 0, words[first][0]
    if len(form) == 1:
        word, is_name = _plain(begin), len(form[0]) > 4 and begin[0].isupper()
        return int(word == form[0] or (is_name and len(word) >= 4 and form[0].startswith(word)))
    for wanted in form:
        while first < at < len(words) and _plain(words[at][0]) in listed_words("in journals") - {wanted}:
            at += 1
        if at >= len(words):
            return 0
        word = _plain(words[at][0])
        is_slip = not _abbreviates(word, wanted)
        slips, at = slips + is_slip, at + 1
        if slips > 1 or (is_slip and word[0] != wanted[0]):
            return 0
    given, name = " ".join(_plain(word[0]) for word in words[first:at]), " ".join(form)
    return 0 if slips and ratio(given, name) < _CLOSE else at - first


@lru_cache(maxsize=8192)
def _abbreviates(one: str, other: str) -> bool:
    """Whether one word is the other, or its abbreviation: "Natl" of "National"."""
    short, long = sorted((one, other), key=len)
    letters = iter(long)
    return short[0] == long[0] and all(letter in letters for letter in short)


def _split(name: str) -> list[str]:
    return [_plain(found) for found in _WORD.findall(name)]


@lru_cache(maxsize=8192)
def _plain(word: str) -> str:
    return plain_letters(word).replace("'", "").replace("’", "")


@lru_cache(maxsize=1)
def _renamed() -> dict[tuple[str, ...], list[str]]:
    """Names of journals that continue each other, and names that readers use, by each of them."""
    found = dict[tuple[str, ...], list[str]]()
    for names in (row.split("/") for row in data_lines(__file__, "journal_names.txt")):
        for name in names:
            found.setdefault(_telling(_split(name)), []).extend(names)
    return found


def sentences_back(text: str) -> Iterator[Span]:
    """The sentences of a text from its end, without the marks around them; abbreviated words are no sentences."""
    high, cuts = len(text), [one.span() for one in _SENTENCE.finditer(text)]
    for start, end in ((0, 0), *cuts)[::-1]:
        name = text[end:high].strip(_ENDS)
        is_abbreviated = text[start:end].startswith(".") and _SHORT_WORD.search(text, max(0, start - 12), start + 1)
        if not any(map(str.isalpha, name)) or (is_abbreviated and (" " not in name or "." in name)):
            continue
        first = text.index(name, end)
        yield first, first + len(name)
        high = end


def other_journal(text: str, start: int, end: int, authors: Sequence[AuthorName]) -> Span | None:
    """What stands where the journal should, between names, title and numbers, if that can be one's name: the last
    sentence there."""
    part = without(BRACKETED, text[start : max(start, end)])
    for first, last in sentences_back(part):
        words = WORD.findall(part[first:last])
        small = sum(word.islower() and word not in listed_words("in journals") for word in words)
        is_name = any(word != word.lower() for word in words) and small <= _MOST_SMALL
        if is_name and not has_author(part[first:last], authors):
            return start + first, start + last
    return None
