"""Citations by names and years, "(Smith et al., 2020)", and the entries that they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from deepcritical_mcp.text import normalized

_YEAR = re.compile(r"(?<![\w./–-])((?:1[5-9]|20)[0-9]{2})([a-z]?)(?![\w–-])")
_MORE_YEARS = re.compile(
    r"\s{0,2}(?:[,;&]|and)\s{0,2}(?:((?:1[5-9]|20)[0-9]{2})([a-z]?)|([a-h]))(?![\w–-])(?!\s{0,2}(?:et\b|&))"
)
_PAGES = re.compile(
    r"(?:\s{0,2},\s{0,2}|:\s{0,2})(?:pp?\.\s?|S\.\s?)?[0-9]{1,5}(?:\s?[–-]\s?[0-9]{1,5})?(?=\s{0,2}[);])"
)
_PIECE = re.compile(r"[^\W\d_](?:[\w'’‐-]|\.(?=\w))*\.?|[^\s\w*_]|[0-9]+")
_BACK = 160
_MOST_PIECES = 24
_CONNECTORS = frozenset({",", "&", "and", "und", "y", "et", "e", "en", "och", "og", "и"})
_PARTICLES = frozenset(
    "van von de der den del della di da dos du la le el al bin ibn ter ten zu zur af av dela do das d’ d'".split()
)
_IN_BODIES = frozenset("of for the on in and de la für des".split())
_AND_OTHERS = (
    *(["et", "al"], ["et", "coll"], ["et", "col"], ["et", "collab"], ["e", "col"], ["e", "cols"], ["e", "colab"]),
    *(["y", "col"], ["y", "cols"], ["y", "colaboradores"], ["и", "др"], ["и", "соавт"], ["u.a"], ["u", "a"]),
    *(["und", "andere"], ["und", "mitarbeiter"], ["en", "anderen"], ["i", "in"], ["m.fl"], ["ym"], ["ve", "ark"]),
)
_OTHERS = frozenset({"others", "colleagues", "coworkers", "co-workers", "associates"})
_NOT_NAMES = frozenset(
    """in since until during before after from by january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec spring summer autumn fall winter between see
    figure fig table section year years version copyright accessed published updated received accepted equation eq ref
    refs
    appendix chapter e.g i.e cf also reviewed note box early mid late as at with on to page study trial the by this and
    however recently whereas although while both n p""".split()
)
_TOKEN = re.compile(r"[^\W\d_]+")
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


class NamedCitation(NamedTuple):
    """A citation by names and year: names as written, the year with its letter, and where it stands, without the
    brackets around it.

    `opened` is where the bracket between names and year stands, "Smith (2020) found", or -1. `is_sure` means that it is
    a citation even if no entry has these names.
    """

    start: int
    end: int
    names: tuple[str, ...]
    year: str
    opened: int
    is_sure: bool


def named_citations(text: str) -> Iterator[NamedCitation]:
    """The citations by names and year in a text."""
    at = 0
    for found in _YEAR.finditer(text):
        low = max(at, found.start() - _BACK)
        if found.start() < at or (group := _names_before(text, low, found.start())) is None:
            continue
        start, names, opened, is_sure = group
        year, at = found[1], found.end()
        years = [found[1] + found[2]]
        while len(years) < _MOST_PIECES and (more := _MORE_YEARS.match(text, at)):
            if more[3] and not found[2]:
                break
            year, at = more[1] or year, more.end()
            years.append(year + (more[2] or more[3] or ""))
        if pages := _PAGES.match(text, at):
            at = pages.end()
        stop = at
        if opened >= 0 and text[stop : stop + 1] in (")", "]"):
            stop += 1
        for one in years:
            yield NamedCitation(start, stop, names, one, opened, is_sure)


def _names_before(text: str, low: int, high: int) -> tuple[int, tuple[str, ...], int, bool] | None:
    """Where the names begin that a year follows, these names, where the bracket between stands (-1 without one), and
    whether they can be nothing but names."""
    pieces = [*_PIECE.finditer(text, low, high)][-_MOST_PIECES:]
    if pieces and pieces[0].start() == low and low and text[low - 1 : low + 1].isalnum():
        pieces.pop(0)
    opened, is_sure = -1, False
    if pieces and pieces[-1][0] == ",":
        pieces.pop()
    if pieces and pieces[-1][0] in "([":
        opened = pieces.pop().start()
    if pieces and pieces[-1][0] == ",":
        pieces.pop()
    last = [one[0].lower().rstrip(".") for one in pieces[-2:]]
    of_others = 2 if last in _AND_OTHERS or (last[:1] in (["and"], ["&"]) and last[-1] in _OTHERS) else 0
    if of_others := of_others or (last[-1:] in _AND_OTHERS):
        del pieces[-of_others:]
        is_sure = True
        if pieces and pieces[-1][0] == ",":
            pieces.pop()
    names, start = list[str](), high
    while words := _one_name(pieces):
        start = words[0].start()
        names.insert(0, " ".join(one[0] for one in words))
        joined = False
        while pieces and pieces[-1][0].lower() in _CONNECTORS:
            joined = True
            is_sure = is_sure or pieces[-1][0] == "&"
            pieces.pop()
        if not joined:
            break
    is_sure = is_sure or bool(pieces and pieces[-1][0] in "(;[" and opened < 0)
    people = tuple(one for one in map(_without_possessive, names) if one)
    return (start, people, opened, is_sure) if people else None


def _one_name(pieces: list[re.Match[str]]) -> list[re.Match[str]]:
    """Take the words of one name from the end of `pieces`: capitals, and particles between or before them."""
    words = list[re.Match[str]]()
    while pieces and len(words) < 9:
        word = pieces[-1][0]
        is_name = word[:1].isalpha() and not word[:1].islower() and word.lower().rstrip(".") not in _NOT_NAMES
        is_inner = bool(words) and (
            word.lower() in _PARTICLES or (word in _IN_BODIES and len(words) < 8 and _before_is_name(pieces))
        )
        if not (is_name or is_inner) or (is_name and word.endswith(".") and len(word) > 3):
            break
        words.insert(0, pieces.pop())
    return words


def _before_is_name(pieces: Sequence[re.Match[str]]) -> bool:
    return len(pieces) > 1 and pieces[-2][0][:1].isupper() and pieces[-1][0] not in ("and", "in", "on")


def _without_possessive(name: str) -> str:
    return name.removesuffix("’s").removesuffix("'s").strip(" .")


def folded(text: str) -> str:
    """Letters in one spelling: "Müller", "Mueller" and "Muller" are the same."""
    plain = normalized("NFKD", text.casefold().translate(_LETTERS))
    letters = "".join(letter for letter in plain if not "\u0300" <= letter <= "\u036f")
    return letters.replace("ae", "a").replace("oe", "o").replace("ue", "u")


class NameIndex:
    """The entries of a list of references by the names and years in them."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._heads = [tuple(_TOKEN.findall(folded(_without_markup(entry[:400])))) for entry in entries]
        self._sets = [frozenset(head) for head in self._heads]
        self._years = [frozenset(_YEARS_OF_ENTRY.findall(entry[:2_000])) for entry in entries]
        self._by_name = dict[tuple[str, str], list[int]]()
        for number, head in enumerate(self._heads):
            initials = "".join(word[0] for word in head[:8])
            bodies = (initials[:length] for length in range(2, len(initials) + 1))
            for token in dict.fromkeys((*head[:_TOKENS], *_acronyms(entries[number]), *bodies)):
                for year in {one[:4] for one in self._years[number]}:
                    known = self._by_name.setdefault((token, year), [])
                    known[len(known) :] = [number] if len(known) < _MOST_ALIKE else []

    def entries(self, citation: NamedCitation, *, besides: int = -1) -> list[int]:
        """The entries that a citation means: one, or several that its names and year do not tell apart; [] for none.
        The entry `besides` in which it stands is none of them."""
        meant = (self._meant(names, citation.year, besides) for names in _readings(citation.names))
        return next((one for one in meant if one), list[int]())

    def _meant(self, names: Sequence[str], year: str, besides: int) -> list[int]:
        first = _TOKEN.findall(folded(names[0]))
        if not first:
            return []
        alike = [one for one in self._by_name.get((first[-1], year[:4]), []) if one != besides]
        found = [one for one in alike if {*first} <= self._sets[one]] or (alike if names[0].isupper() else [])
        exact = [one for one in found if year in self._years[one]]
        return self._best(names, first, exact or found)

    def near(self, citation: NamedCitation) -> list[int]:
        """The entry with these names and another year; [] if there are several."""
        names = [_TOKEN.findall(folded(name))[-1:] for name in citation.names]
        if not all(names):
            return []
        wanted = {one[0] for one in names}
        year, found = int(citation.year[:4]), dict[int, None]()
        for near in range(year - _MOST_YEARS_OFF, year + _MOST_YEARS_OFF + 1):
            leading = self._by_name.get((names[0][0], str(near)), [])
            same = (one for one in leading if names[0][0] in self._heads[one][:3] and wanted <= self._sets[one])
            found |= dict.fromkeys(same)
        return [*found] if len(found) == 1 else []

    def _best(self, names: Sequence[str], first: Sequence[str], found: Sequence[int]) -> list[int]:
        if len(found) < 2:
            return [*found]
        leading = [one for one in found if first[-1] in self._heads[one][: len(first) + 2]] or found
        others = [token for name in names[1:3] for token in _TOKEN.findall(folded(name))[-1:]]
        both = [one for one in leading if all(token in self._sets[one] for token in others)] or leading
        return [*both]


def _readings(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The names, and the same without words in front that may belong to the sentence: "Recently Smith"."""
    yield names
    for number, name in enumerate(names[:4]):
        words = name.split()
        for at in range(1 if number == 0 else 0, len(words)):
            yield (" ".join(words[at:]), *names[number + 1 :])


_YEARS_OF_ENTRY = re.compile(r"(?<![0-9])(?:(?:1[5-9]|20)[0-9]{2})[a-z]?(?![0-9])")
_TOKENS = 60
_MOST_YEARS_OFF = 5
_MOST_ALIKE = 30
"""Entries with one name and year that are told apart."""


def _acronyms(entry: str) -> Iterable[str]:
    return (one.lower() for one in re.findall(r"\b[A-Z]{2,8}\b", entry[:300]))


def _without_markup(text: str) -> str:
    return re.sub(r"[*_{}\\]", "", text)
