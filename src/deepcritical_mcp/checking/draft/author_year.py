"""Citations by names and years, "(Smith et al., 2020)": the entries that have these names and years."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import draft_words
from deepcritical_mcp.checking.draft.entry_looks import WORD
from deepcritical_mcp.text import normalized

_YEAR = re.compile(r"(?<![\w./–-])((?:1[5-9]|20)[0-9]{2})([a-z]?)(?![\w–-])")
_MORE_YEARS = re.compile(
    r"\s{0,2}(?:[,;&]|and)\s{0,2}(?:((?:1[5-9]|20)[0-9]{2})([a-z]?)|([a-h]))(?![\w–-])(?!\s{0,2}(?:et\b|&))"
)
_PIECE = re.compile(r"\[[A-Z]{2,10}\]|\([A-Z]{2,10}\)|[^\W\d_](?:[\w'’‐-]|\.(?=\w))*\.?|[^\s\w*_]|[0-9]+")
_YEAR_OF_ENTRY = re.compile(r"(?<![0-9])(?:(?:1[5-9]|20)[0-9]{2})[a-z]?(?![0-9])")
_MARKUP = str.maketrans("", "", "*_{}\\")
_BACK = 160
_MOST_PIECES = 24
_TOKENS = 60
_LEADING = 3
_MOST_ALIKE = 30
"""Entries with one name and year that are told apart."""
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


class NamedCitation(NamedTuple):
    """A citation by names and a year: where it stands without the brackets around it, its names, its year with the
    letter, and the entries that it means.

    `opened` is where the bracket between names and year stands, "Smith (2020) found", or -1.
    """

    start: int
    end: int
    names: tuple[str, ...]
    year: str
    opened: int
    entries: tuple[int, ...] = ()


def folded(text: str) -> str:
    """Letters in one spelling: "Müller", "Mueller" and "Muller" are the same."""
    plain = normalized("NFKD", text.casefold().translate(_LETTERS))
    letters = "".join(letter for letter in plain if not "\u0300" <= letter <= "\u036f")
    return letters.replace("ae", "a").replace("oe", "o").replace("ue", "u")


class NameIndex:
    """The entries of a list of references by the names and years in them."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._heads = [tuple(WORD.findall(folded(one[:400].translate(_MARKUP)))) for one in entries]
        self._years = [frozenset(_YEAR_OF_ENTRY.findall(one[:2_000])) for one in entries]
        self._by_name = dict[tuple[str, str], list[int]]()
        for number, head in enumerate(self._heads):
            initials = "".join(word[0] for word in head[:8])
            bodies = (initials[:length] for length in range(2, len(initials) + 1))
            for token in dict.fromkeys((*head[:_TOKENS], *bodies)):
                for year in {one[:4] for one in self._years[number]}:
                    known = self._by_name.setdefault((token, year), [])
                    known[len(known) :] = [number] if len(known) < _MOST_ALIKE else []

    def entries(self, names: Sequence[str], year: str) -> list[int]:
        """The entries that names and a year mean, several if these do not tell them apart; [] for none."""
        tokens = [token for name in names for token in WORD.findall(folded(name))[-1:]]
        found = self._by_name.get((tokens[0], year[:4]), []) if tokens else []
        found = [one for one in found if names[0].isupper() or tokens[0] in self._heads[one][:_TOKENS]]
        exact = [one for one in found if year in self._years[one]] or found
        leading = [one for one in exact if tokens[0] in self._heads[one][:_LEADING]] or exact
        return [one for one in leading if {*tokens[1:3]} <= {*self._heads[one]}] or leading


def named_citations(text: str, index: NameIndex) -> Iterator[NamedCitation]:
    """The citations by names and year in a text: those that entries explain, and what can be nothing else."""
    at = 0
    for found in _YEAR.finditer(text):
        if found.start() < at:
            continue
        low = max(at, found.start() - _BACK)
        if not (pieces := _pieces_before(text, low, found.start())):
            continue
        pieces, opened = pieces
        year, at, years = found[1], found.end(), [found[1] + found[2]]
        while len(years) < _MOST_PIECES and (more := _MORE_YEARS.match(text, at)):
            if more[3] and not found[2]:
                break
            year, at = more[1] or year, more.end()
            years.append(year + (more[2] or more[3] or ""))
        stop = at + (opened >= 0 and text[at : at + 1] in (")", "]"))
        for one in years:
            if citation := _citation(text, index, pieces, one, opened):
                yield citation._replace(end=stop)


def _citation(
    text: str, index: NameIndex, pieces: Sequence[re.Match[str]], year: str, opened: int
) -> NamedCitation | None:
    """The citation in some pieces of a text before a year: from the first word on that begins names of an entry."""
    words = [piece for piece in pieces if _is_name(piece[0])]
    names = [piece[0].removesuffix("’s").removesuffix("'s").strip(" .") for piece in words]
    for at, word in enumerate(words):
        if entries := index.entries([one for one in names[at:] if len(one) > 1], year) if len(names[at]) > 1 else []:
            start = _before_particles(pieces, word)
            return NamedCitation(start, 0, tuple(names[at:]), year, opened, tuple(entries))
    before = text[max(0, pieces[0].start() - 3) : pieces[0].start()].rstrip()[-1:]
    is_sure = any(piece[0].lower().rstrip(".") in draft_words("and others") or piece[0] == "&" for piece in pieces)
    if not words or not (is_sure or (opened < 0 and before and before in "(;[")):
        return None
    names = [one for one in names if len(one) > 1]
    return NamedCitation(pieces[0].start(), 0, tuple(names), year, opened)


def _before_particles(pieces: Sequence[re.Match[str]], name: re.Match[str]) -> int:
    """Where a name begins, with its particles: "van den Berg"."""
    at = pieces.index(name)
    while at and pieces[at - 1][0].lower() in draft_words("particles"):
        at -= 1
    return pieces[at].start()


def _is_name(word: str) -> bool:
    return word[:1].isalpha() and not word[:1].islower() and word.lower().rstrip(".") not in draft_words("no names")


def _pieces_before(text: str, low: int, high: int) -> tuple[Sequence[re.Match[str]], int] | None:
    """The words before a year that may be names and what joins them, from the first name on, and where the bracket
    between them and the year stands (-1 without one)."""
    low = max(low, text.rfind("\n\n", low, high) + 1)  # not those of the block above
    pieces = [*_PIECE.finditer(text, low, high)][-_MOST_PIECES:]
    if pieces and pieces[0].start() == low and low and text[low - 1 : low + 1].isalnum():
        pieces.pop(0)
    opened, first = -1, len(pieces)
    last = first
    for at in range(len(pieces) - 1, -1, -1):
        word = pieces[at][0]
        bare = word.lower().rstrip(".") or word
        if word[0] in "([" and len(word) > 1:  # "World Health Organization [WHO], 2019"
            continue
        if word in "([" and opened < 0 and first == len(pieces):
            opened, last = pieces[at].start(), at
            continue
        is_end = word.endswith(".") and len(word) > 3 and bare not in draft_words("and others")
        if is_end or not (
            _is_name(word)
            or bare in draft_words("and others")
            or bare in draft_words("particles")
            or bare in draft_words("between names")
        ):
            break
        if _is_name(word) or (bare in draft_words("particles") and first == at + 1):
            first = at
    return (pieces[first:last], opened) if first < last else None
