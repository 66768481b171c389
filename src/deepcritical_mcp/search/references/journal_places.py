"""Where a journal's name stands in a reference: in full, abbreviated, as initials, or under another known name.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import ratio

from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.word_lists import listed_words

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUALIFIER = re.compile(r"\s?[:=(\[/].*")
_PAREN = re.compile(r"\(([^()]{1,80})\)")
_LEAST_FUZZY = 6
_HIDDEN = "0"
"""In place of a word that another field explains."""
_WHOLE_WORD = 6
"""Letters of a word that is no abbreviation."""
_LEAST_CLOSE, _CLOSE = 8, 88
"""Letters of a name in which a word may be misprinted, and percent of them that are the same: "Cnt Rev Toxicol"."""
_INITIALS_OF_MANY = 3
_FIRST_LETTERS = 18
"""Of a long name, so much of its beginning stands for it: "Proceedings of the National Academy of Sciences"."""


class _Word(NamedTuple):
    text: str
    start: int
    end: int


class JournalPlace(NamedTuple):
    """Where a journal's name stands, `low` to `high` with the words right beside it that make it another one's."""

    start: int
    end: int
    low: int
    high: int

    @property
    def is_other(self) -> bool:
        """Whether it is another journal's name: "BMJ Open" for "BMJ"."""
        return (self.low, self.high) != (self.start, self.end)


def find_journal(
    text: str, hidden: Sequence[Span], names: Sequence[str], near: int = -1, people: Collection[str] = ()
) -> JournalPlace | None:
    """Where one of a record's names of its journal stands; the longest of several, or the one nearest before `near`.

    Args:
        hidden: parts of the text that other fields explain.
        people: words of names that may stand right before it.
    """
    is_hidden = (any(start < one.end and one.start < end for start, end in hidden) for one in _words(text))
    words = [one._replace(text=_HIDDEN) if hides else one for one, hides in zip(_words(text), is_hidden, strict=True)]
    best: tuple[float, ...] = ()
    for form in _forms(tuple(names)):
        for first, word in enumerate(words):
            if size := _matched(words, first, form):
                end = words[first + size - 1].end
                place = (near < 0 or end <= near, -abs(near - end) if near >= 0 else -word.start)
                best = max(best, (size, *place, -first))
    if not best:
        return None
    first, stop = int(-best[-1]), int(best[0] - best[-1])
    start, end, known = words[first].start, words[stop - 1].end, _known(names)
    before = [*_added(text, words[:first][::-1], start, known, is_before=True)]
    before = [] if any(_plain(one.text) in people for one in before) else before
    behind = [*_added(text, words[stop:], end, known, is_before=False)]
    return JournalPlace(start, end, before[-1].start if before else start, behind[-1].end if behind else end)


def _known(names: Sequence[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in _split(name))


def journals_agree(written: str, names: Sequence[str]) -> bool:
    """Whether a journal's name, as a reference gives it, is one of `names`, in full, abbreviated or as initials."""
    for one in dict.fromkeys((_QUALIFIER.sub("", written), written)):
        found = find_journal(one, [], names)
        if found and not found.is_other:
            known = _known(names)
            rest = (*_split(one[: found.start]), *_split(one[found.end :]))
            if all(word in known or word in listed_words("behind journals") or len(word) == 1 for word in rest):
                return True
    return False


def _added(text: str, words: Sequence[_Word], edge: int, known: frozenset[str], *, is_before: bool) -> Iterator[_Word]:
    """Words beside a name, with nothing but a space between, that make it another journal's name."""
    for one in words:
        between = text[one.end : edge] if is_before else text[edge : one.start]
        if (
            one.text == _HIDDEN
            or any(mark in between for mark in ',;:([“”"?!/|—–*_' + ".)]‘’" * is_before)
            or any(map(str.isdigit, between))
        ):
            return
        is_sentence = one.text[0].islower() or (edge >= _WHOLE_WORD and text[edge - _WHOLE_WORD : edge].isalpha())
        if not is_before and "." in between and is_sentence:  # "bioRxiv. Cold Spring Harbor", but "Sci. Adv. Mater."
            return
        edge, word = one.start if is_before else one.end, _plain(one.text)
        is_short = len(word) > 1 and any(_abbreviates(word, other) for other in known)
        if is_short or word in known:
            continue
        if is_before and len(one.text) <= 3 and one.text.isupper() and one.text != "J":  # somebody's initials
            return
        if word in listed_words("in journals") or word in listed_words("behind journals"):
            continue
        if is_before and one.text[0].islower():
            return
        yield one


@lru_cache(maxsize=512)
def _forms(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The words of the names that a journal goes by, the longest first."""
    found = dict[tuple[str, ...], None]()
    for name in (*names, *(other for one in names for other in _other_names(one))):
        inside = [part[1] for part in _PAREN.finditer(name) if " " not in part[1]]
        for one in (_QUALIFIER.sub("", name), name, *inside):
            whole = tuple(_split(one))
            words = _telling(whole)
            sizes = (
                range(_INITIALS_OF_MANY, len(words) + 1) if len(words) > 3 else [len(words)] if len(words) > 1 else []
            )
            found |= dict.fromkeys([words] if words else ())
            found |= {("".join(word[0] for word in words[:size]),): None for size in sizes}
            found |= {("".join(word[0] for word in whole),): None} if sizes else {}
            begun = (words[:size] for size in sizes if len("".join(words[:size])) >= _FIRST_LETTERS)
            found |= dict.fromkeys([next(begun, words)] if words and "section" not in whole else ())
            if part := re.search(r"\b(?:part|section|series) ([a-z]|[1-9])\b", " ".join(whole)):
                found[_telling(_split(" ".join(whole)[: part.end()]))] = None
    return tuple(sorted(found, key=len, reverse=True))


def _telling(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in listed_words("in journals"))


def _matched(words: Sequence[_Word], first: int, form: Sequence[str]) -> int:
    """How many words of a text, from the first on, are a name; 0 if they are not."""
    at, slips, begin = first, 0, words[first].text
    if len(form) == 1:
        word, is_name = _plain(begin), len(form[0]) > 4 and begin[0].isupper()
        is_short = len(word) >= 4 and form[0].startswith(word)
        return int(word == form[0] or (is_name and (is_short or _is_misprint(word, form[0]))))
    if begin[0].islower() and len(begin) < 4:
        return 0
    for wanted in form:
        while first < at < len(words) and _plain(words[at].text) in listed_words("in journals") - {wanted}:
            at += 1
        if at >= len(words):
            return 0
        word = _plain(words[at].text)
        is_slip = not (_abbreviates(word, wanted) or _is_misprint(word, wanted))
        slips, at = slips + is_slip, at + 1
        if slips > 1 or (is_slip and word[0] != wanted[0]):
            return 0
    given, name = " ".join(_plain(word.text) for word in words[first:at]), " ".join(form)
    return 0 if slips and (len(name) < _LEAST_CLOSE or ratio(given, name) < _CLOSE) else at - first


def _is_misprint(one: str, other: str) -> bool:
    return (
        min(len(one), len(other)) >= _LEAST_FUZZY
        and one[0] == other[0]
        and OSA.distance(one, other, score_cutoff=1) <= 1
    )


@lru_cache(maxsize=8192)
def _abbreviates(one: str, other: str) -> bool:
    """Whether one word is the other, or its abbreviation: "Natl" of "National"."""
    short, long = sorted((one, other), key=len)
    if long.startswith(short):
        return True
    letters = iter(long)
    return len(short) >= 2 and short[0] == long[0] and all(letter in letters for letter in short)


def _words(text: str) -> list[_Word]:
    return [_Word(found[0], *found.span()) for found in _WORD.finditer(text)]


def _split(name: str) -> list[str]:
    return [_plain(found) for found in _WORD.findall(name)]


@lru_cache(maxsize=8192)
def _plain(word: str) -> str:
    return plain_letters(word).replace("'", "").replace("’", "")


@lru_cache(maxsize=1)
def _renamed() -> dict[str, list[str]]:
    """Names of journals that continue each other, and names that readers use, by each of them."""
    found = dict[str, list[str]]()
    rows = (files("deepcritical_mcp.search.references") / "journal_names.txt").read_text("utf-8").splitlines()
    for row in rows:
        names = [] if row.startswith("#") else row.split("/")
        for name in names:
            found.setdefault(_key(name), []).extend(names)
    return found


def _key(name: str) -> str:
    return " ".join(word for word in _split(name) if word not in ("the", "and", "of"))


def _other_names(name: str) -> list[str]:
    return _renamed().get(_key(name), []) or _renamed().get(_key(_QUALIFIER.sub("", name)), [])
