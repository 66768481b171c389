"""Numbers of a claim that occur nowhere in the texts that it cites, or that its passage gives to another group.

A number occurs if the texts have its value, however written: "34%" and 0.34, "1,234" and "1 234", "twelve" and 12,
"2.5 mg" and "2500 µg", 33.7% where the claim rounds it to 34%, 80,442 for "more than 80,000". Not looked for are
years, ordinals, limits of p-values, numbers of figures and tables, the smallest whole numbers, small ones in words, and
numbers in names: IL-6, COVID-19, H1N1, 5-HT.

In English the first number of a sentence goes with the first of two groups, wherever both stand ("a 1 b 2", "1 a, 2 b",
"1 and 2 in a and b"), unless the sentence begins with "Compared with b". So two numbers and two words that are parted
alike, and that both texts have, must stand in the same order in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.excerpts import sentences
from deepcritical_mcp.text import normalized, words_of

SMALLEST, SMALLEST_WORD = 3, 11
"""Whole numbers below are not looked for, unless they have a unit: texts write them as words or not at all."""
MAX_CLAIM = 2_000
"""Characters of a claim whose numbers are looked for: what is longer is a list."""
_YEARS = range(1500, 2100)
_ABOUT, _ROUND = 0.05, 0.006
"""How far a number may be from one that is said to be about it, or that it exceeds; from whole thousands."""

GROUPED = re.compile(r"[1-9]\d{0,2}(?:,\d{3}){1,6}(?:\.\d{1,20})?|[1-9]\d?(?:,\d\d){1,5},\d{3}(?:\.\d{1,20})?")
"""A number with its thousands (or lakhs) apart: 1,234,567.8."""
WORDS = data_table(__file__, "claim_words.txt")
"""The lists of `claim_words.txt`."""
_MEASURES = ((name.partition("unit ")[2], row.split(", ")) for name, row in WORDS.items())
_RATIOS = ((kind, one.rpartition(" ")) for kind, units in _MEASURES if kind for one in units)
UNITS = {unit: (kind, float(ratio)) for kind, (unit, _, ratio) in _RATIOS}
"""What each unit measures, and its ratio to others of the kind."""
_IN_WORDS = (one.rpartition(" ") for one in WORDS["number words"].split(", "))
NUMBER_WORDS = {word: float(value) for words, _, value in _IN_WORDS for word in words.split("/")}


def _one_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_WORD = rf"(?i:{_one_of(NUMBER_WORDS)})"
_NUMBER = re.compile(
    rf"""(?P<plain>(?:(?<![\w.])[.·](?=\d))?
        (?:\d{{1,3}}(?:[\u00a0\u2009\u202f ]\d{{3}}(?!\d)){{1,4}}(?!\w)(?:[.,·]\d{{1,12}})?
        |\d{{1,20}}(?:[.,·]\d{{1,20}}){{0,8}}))
    | (?<![\w-])(?P<word>{_WORD})(?![\w-]*\w)""",
    re.VERBOSE,
)
_UNIT = re.compile(
    r"(?i)(?!(?<=[12]\d\d0)['’]?s\b|(?-i:[DGHMS])\b)[ \u00a0\u2009\u202f]?-?[ \u00a0\u2009\u202f]?"  # 1990s, 2D, 3S
    rf"(?P<unit>%|(?:{_one_of(UNITS.keys() - {'%'})})s?)(?![^\W\d_])"
)
IN_A_NAME = re.compile(r"[^\W\d_][-‐‑–−.]?(?:\d{1,4}[-‐‑,/.])?\Z|(?i:\bp(?:[- ]?values?)?\s?(?:of\s)?[<≤]\s?)\Z")
"""In front of a number: IL-6, p53, COVID-19, H1N1, B.1.1.7; of the limit of a p-value."""
_NUMBERING = re.compile(
    rf"(?i)\b(?:{'|'.join(WORDS['numbered'].split())})\.?\s?(?:\d{{1,3}}\s?(?:,|and|or|to|[-–/])\s?){{0,4}}\Z"
)
_BEHIND = re.compile(
    r"(?P<level>(?i:\s?%?\s?-?(?:CI\b|CrI\b|confidence|credib|predict|UI\b|uncertainty|limits)))"
    r"|['′]?[-‐‑,][^\W\d_]|[^\W\d_]|['′]|\)?-?\("
)
"""Behind what is no quantity: the level of an interval; ordinals, 5-HT, 17β; these may be quantities with a unit."""
_DATED = re.compile(
    rf"(?:(?i:\b(?:{'|'.join(WORDS['dated'].split())})|[-‐‑–/(,])\s?|(?<=\w )[A-ZÀ-Þ][\w'’-]{{1,30}},?\s)\Z"
)
"""In front of a year, as opposed to a count: "in 2019", "Roe 2019"."""
_COUNTED = re.compile(rf"\s(?:(?:and|or|to) \d+ )?(?:{'|'.join(WORDS['counted'].split())})\b")
"""Behind a count: "in 1723 patients"."""
_HEDGE = re.compile(rf"(?:\A|(?<!\w))(?:{_one_of(WORDS['about'].split(', '))})\s*\Z", re.IGNORECASE)


class NumberReading(NamedTuple):
    """A number, and half a unit of its last digit: what rounding may have changed."""

    value: float
    half: float

    def meant(self, *, is_about: bool) -> tuple[float, float]:
        """The range of values that it may stand for: those that are rounded to it, or are near it."""
        value, is_round = self.value, self.value >= 10_000 and self.value % 1_000 == 0
        near = max(self.half * (1 + 1e-9), _ABOUT * value * is_about, _ROUND * value * is_round)
        return value - near, value + near


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text.

    Attributes:
        written: with its unit, "34%".
        readings: what it may be, in the unit as written, the usual one first.
        unit: in small letters, in the singular; "" for none.
        before, behind: what stands around it and its unit.
        start, end: where it stands, with its unit.
    """

    written: str
    readings: tuple[NumberReading, ...]
    unit: str
    before: str
    behind: str
    start: int
    end: int


def numbers_missing(claim: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The numbers of `claim`, as it writes them, that occur in none of `texts`."""
    wanted = claimed_numbers(claim)
    return tuple(dict.fromkeys(one.written for one in wanted if not any(is_stated(one, text) for text in texts)))


@lru_cache(maxsize=256)
def claimed_numbers(claim: str) -> tuple[Quantity, ...]:
    """The quantities of a claim that are worth looking for."""
    claim = claim[:MAX_CLAIM]
    return tuple(one for one in quantities(claim) if one.readings and _is_looked_for(one))


@lru_cache(maxsize=2_048)
def quantities(text: str) -> tuple[Quantity, ...]:
    """All numbers of a text."""
    return tuple(_quantity(text, found) for found in _NUMBER.finditer(text))


def _quantity(text: str, found: re.Match[str]) -> Quantity:
    start, unit = found.start(), _UNIT.match(text, found.end())
    end = (unit or found).end()
    name = unit["unit"].lower() if unit else ""
    name = name if name in UNITS else name.removesuffix("s")
    around, written = (text[max(0, start - 60) : start], text[end : end + 60]), " ".join(text[start:end].split())
    return Quantity(written, tuple(_readings(found)), name, *around, start, end)


def _readings(found: re.Match[str]) -> list[NumberReading]:
    """What a number may be, the usual in English first: "1,234" is 1234 or 1.234; "14.000" is 14 or 14000; [] for
    "1.2.3"."""
    if found["word"]:
        return [NumberReading(NUMBER_WORDS[found["word"].lower()], 0.5)]
    plain = normalized("NFKC", "".join(found["plain"].split())).replace("·", ".").replace("\u22c5", ".")
    forms = [plain.replace(",", "")] if GROUPED.fullmatch(plain) and "," in plain else []
    if plain.count(".") + plain.count(",") <= 1:
        forms.append(number_form(plain.replace(",", ".")))
    turned = plain.translate({ord(","): ".", ord("."): ","})
    if GROUPED.fullmatch(turned):
        forms.append(turned.replace(",", ""))
    return [NumberReading(float(form), 0.5 * 10.0 ** -len(form.partition(".")[2])) for form in dict.fromkeys(forms)]


def number_form(number: str) -> str:
    """A number as digits with a decimal point: "1,234" is "1234", ".05", "0·05" and "0,05" are "0.05"."""
    plain = normalized("NFKC", number).replace("·", ".").replace("\u22c5", ".")
    plain = plain.replace(",", "" if GROUPED.fullmatch(plain) else ".")
    return f"0{plain}" if plain.startswith(".") else plain


def _is_looked_for(one: Quantity) -> bool:
    first, before, behind = one.readings[0], one.before, one.behind
    no_quantity = _BEHIND.match(behind)
    if IN_A_NAME.search(before) or _NUMBERING.search(before):
        return False
    if not any(map(str.isdecimal, one.written)):
        return first.value >= (SMALLEST if one.unit else SMALLEST_WORD) and first.value != NUMBER_WORDS["hundred"]
    if one.unit:
        return not (no_quantity and no_quantity["level"])
    if first.half < 0.5:
        return not no_quantity
    is_year = len(one.written) == 4 and first.value in _YEARS and _DATED.search(before) and not _COUNTED.match(behind)
    is_citation = before[-1:] in ("(", "[") and behind[:1] in (")", "]", ",")
    return first.value >= SMALLEST and not (no_quantity or is_year or is_citation)


_Value = tuple[str, float, float]
"""What a unit measures, "" without one, its ratio to others of the kind, and the value in it."""


@lru_cache(maxsize=2_048)
def _values(text: str) -> list[_Value]:
    return [value for one in quantities(text) for value in _values_of(one)]


def _values_of(one: Quantity) -> list[_Value]:
    values = (reading.value for reading in one.readings)
    return [(*UNITS.get(one.unit, ("", 1.0)), each) for each in values if each >= one.readings[0].value]


def is_stated(wanted: Quantity, text: str) -> bool:
    """Whether a text has a value, or one that is rounded to it."""
    return _is_among(wanted, _values(text))


def _is_among(wanted: Quantity, values: Sequence[_Value]) -> bool:
    kind, ratio = UNITS.get(wanted.unit, ("", 1.0))
    kinds = ("", "share", "count") if kind in ("", "share", "count") else (kind,)
    is_about = _HEDGE.search(wanted.before) is not None
    return any(
        (low <= value <= high and not (kind and other))
        or (low * ratio <= value * scale <= high * ratio and other in kinds)
        for low, high in (reading.meant(is_about=is_about) for reading in wanted.readings)
        for other, scale, value in values
    )


_SHOWN, MAX_APART = 30, 40
"""Characters that are shown on both sides of a number; words from one group to the next."""
_SMALL, _PARTING, _GROUPS = ({*WORDS[name].split()} for name in ("small", "parting", "kinds of groups"))
_PLAIN_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?|\(")
_BESIDE = re.compile(
    r"(?i)(?:\bp(?:[- ]?values?)?\s?[<=>≤≥]|±|\+/-|\[|\d%?\s?(?:[–-]|to)|CI\]?[:,=]?(?:\s?\[)?|CI[^()]{0,14},)\s?\Z"
)
"""In front of numbers that go with another number: p-values, deviations, limits."""


class _Token(NamedTuple):
    """A word or a number."""

    start: int
    word: str  # "#" for a number
    number: Quantity | None = None


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[_Token]:
    taken = {at for one in quantities(text) for at in range(one.start, one.end)}
    words = (one for one in _PLAIN_WORD.finditer(text) if one.start() not in taken)
    found = [_Token(one.start(), one[0].lower()) for one in words]
    found += [_Token(one.start, "#", one) for one in quantities(text) if not IN_A_NAME.search(one.before)]
    return sorted(found, key=lambda one: one.start)


def numbers_elsewhere(claim: str, passage: str) -> tuple[str, ...]:
    """The numbers of a claim that a sentence of the passage gives to another of the claim's groups or outcomes, each
    with the words around it there."""
    here = _tokens(claim) if len(claim) <= MAX_CLAIM else []
    places = {one.number: at for at, one in enumerate(here) if one.number and not _BESIDE.search(one.number.before)}
    wanted = {one: places[one] for one in claimed_numbers(claim) if one in places}
    told = (_swapped(claim, here, wanted, passage[slice(*span)]) for span in sentences(passage) if len(wanted) > 1)
    return tuple(dict.fromkeys(chain.from_iterable(told)))


def _swapped(claim: str, here: Sequence[_Token], wanted: Mapping[Quantity, int], sentence: str) -> Iterator[str]:
    """The wanted numbers, which stand at these places of the claim, that a sentence gives to each other's groups."""
    there = _tokens(sentence)
    places = {one: at for one in wanted if (at := _place_of(one, there)) is not None}
    our_words, their_words = _only(here), _only(there)
    groups = _groups(claim) | _groups(sentence) if len(places) > 1 else ()
    groups = [words for words in groups if {*words} <= our_words.keys() & their_words.keys()]
    for pair in combinations(places, 2):
        ours, theirs = [wanted[one] for one in pair], [places[one] for one in pair]
        is_alike = len({(one.unit, one.readings[0].half) for one in pair}) == 1 and theirs[0] != theirs[1]
        agree = [
            _in_order(here, [our_words[one] for one in words], ours)
            == _in_order(there, [their_words[one] for one in words], theirs)
            for words in groups
        ]
        if is_alike and agree.count(False) > agree.count(True):
            yield from (f"{one.written}: “{_around(sentence, there[places[one]])}”" for one in pair)


def _place_of(wanted: Quantity, tokens: Sequence[_Token]) -> int | None:
    """Where the only number stands that may be the wanted one; None if there are several."""
    found = [at for at, one in enumerate(tokens) if one.number and _is_among(wanted, _values_of(one.number))]
    return found[0] if len(found) == 1 else None


def _only(tokens: Sequence[_Token]) -> dict[str, int]:
    """Where the stems stand that a text has once."""
    stems = [(stem, at) for at, one in enumerate(tokens) for stem in words_of(one.word)]
    uses = Counter(stem for stem, _ in stems)
    return {stem: at for stem, at in stems if uses[stem] == 1}


@lru_cache(maxsize=512)
def _groups(text: str) -> set[tuple[str, str]]:
    """Two words each that a text parts from each other ("a versus b"), or that stand in like places ("in a … in b")."""
    tokens = _tokens(text)
    words = sorted((at, stem) for stem, at in _only(tokens).items() if tokens[at].word not in _SMALL | _GROUPS)
    pairs = ((one, other) for at, one in enumerate(words) for other in words[at + 1 : at + MAX_APART])
    return {(one[1], other[1]) for one, other in pairs if one[0] != other[0] and _are_groups(tokens, one[0], other[0])}


def _are_groups(tokens: Sequence[_Token], one: int, other: int) -> bool:
    around = [tokens[at].word if 0 <= at < len(tokens) else "" for at in range(one - 1, other + 2)]
    between = around[2:-2]
    parting = (at for at in range(2, len(around) - 2) if around[at] in _PARTING)
    if any(around[at - 1] != "#" or around[at + 1] != "#" for at in parting) and {*between} <= _SMALL | _GROUPS | {"#"}:
        return True
    is_before = around[0] == around[-3] and around[0] in (_SMALL | {"#"}) - {"the", "of", "and", "or", ""}
    is_behind = around[2] == around[-1] and around[2] in _GROUPS | {"#"}
    return is_before or is_behind


def _in_order(tokens: Sequence[_Token], words: Sequence[int], numbers: Sequence[int]) -> bool:
    """Whether the first of two words goes with the first of two numbers."""
    first = min(words)
    is_turned = not {"compared", "relative"}.isdisjoint(one.word for one in tokens[max(0, first - 4) : first])
    return ((words[0] < words[1]) == (numbers[0] < numbers[1])) != (is_turned and min(numbers) > max(words))


def _around(sentence: str, token: _Token) -> str:
    start, end = sentence.rfind(" ", 0, max(0, token.start - _SHOWN)) + 1, token.start + _SHOWN
    return " ".join(sentence[start : sentence.find(" ", end) % (len(sentence) + 1)].split())
