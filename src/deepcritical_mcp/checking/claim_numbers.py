"""Numbers of a claim that occur nowhere in the texts that it cites.

A number occurs if the texts have its value, however written: "34%" and 0.34, "1,234" and "1 234", "twelve" and 12,
"2.5 mg" and "2500 µg", 33.7% where the claim rounds it to 34%, 80,442 for "more than 80,000". Not looked for are years
that are no period, ordinals, numbers of figures and tables, the smallest whole numbers, and numbers in names: IL-6,
COVID-19, H1N1, 5-HT.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from deepcritical_mcp.checking.compared_text import number_form
from deepcritical_mcp.checking.number_readings import YEARS, NumberReading, Range, numbers_meant, readings_of
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import sentences

SMALLEST = 3
"""Whole numbers below are not looked for, unless they have a unit: texts write them as words or not at all."""

_SPACES = "[ \u00a0\u2009\u202f]"
_NUMBER = re.compile(
    r"(?:(?<![\w.])[.·](?=\d))?\d{1,3}(?:[\u00a0\u2009\u202f ]\d{3}(?!\d)){1,4}(?!\w)(?:[.,·]\d{1,12})?"
    r"|(?:(?<![\w.])[.·](?=\d))?\d{1,20}(?:[.,·]\d{1,20}){0,8}"
)
_RATIOS = """
    share: % 0.01, percent 0.01, per cent 0.01
    mass: kg 1e3, g 1, mg 1e-3, µg 1e-6, μg 1e-6, ug 1e-6, mcg 1e-6, ng 1e-9, pg 1e-12
    volume: l 1, dl 0.1, ml 1e-3, µl 1e-6, μl 1e-6
    length: km 1e3, m 1, cm 1e-2, mm 1e-3, µm 1e-6, μm 1e-6, nm 1e-9
    amount: mol 1, mmol 1e-3, µmol 1e-6, μmol 1e-6, nmol 1e-9
    time: ms 1e-3, s 1, sec 1, second 1, min 60, minute 60, h 3600, hr 3600, hour 3600, d 86400, day 86400, week 604800,
        wk 604800
    months: month 1, year 12, yr 12
    count: fold 1, times 1, point 1, thousand 1e3, million 1e6, billion 1e9
    pressure: mmhg 1, mm hg 1
    other: iu 1, kcal 1, gy 1, bpm 1, ppm 1, ppb 1
"""
_UNITS = {
    name: (kind.strip(), float(ratio))
    for kind, _, units in (line.partition(":") for line in _RATIOS.replace("\n        ", " ").strip().split("\n"))
    for name, _, ratio in (unit.strip().rpartition(" ") for unit in units.split(","))
}
"""What each unit measures, and its ratio to others of the kind."""
_UNIT_NAMES = "|".join(sorted((name for name in _UNITS if name != "%"), key=len, reverse=True))
_UNIT = re.compile(rf"{_SPACES}?-?{_SPACES}?(?P<unit>%|(?:{_UNIT_NAMES})s?)(?![^\W\d_])", re.IGNORECASE)
_NO_UNITS = frozenset("DGHMS")
_IN_A_NAME = re.compile(r"[^\W\d_][-‐‑–−.]?(?:\d{1,4}[-‐‑,/.])?\Z")
"""In front of a number: IL-6, p53, COVID-19, H1N1, B.1.1.7."""
_NUMBERED = """
    fig(?:ure)?s? tables? refs? references? sections? chapters? box(?:es)? eqs? equations? appendi(?:x|ces) panels?
    suppl\\w{0,12} phases? types? grades? stages? levels? class(?:es)? groups? tier step aim no nos number version v
    vol volume pp? pages? chromosomes? exons? introns? codons? residues? positions? serotypes? genotypes? subtypes?
    clusters? arms? cohorts? factors? interleukin receptors? protein omega vitamin coenzyme complex isoform domain
    subunit caspase wave model trial study experiment protocol pmid pmcid doi isbn rs nct covid sars cov
"""
_NUMBERING = re.compile(
    rf"\b(?:{'|'.join(_NUMBERED.split())})\.?\s?(?:\d{{1,3}}\s?(?:,|and|or|to|[-–/])\s?){{0,4}}\Z",
    re.IGNORECASE,
)
_NAME_BEHIND = re.compile(r"['′]?[-‐‑,][^\W\d_]|[^\W\d_]|['′]|\)?-?\(")
_DECADE = re.compile(r"(?:1[5-9]|20)\d0['’]?s\b")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_CONFIDENCE = re.compile(r"\s?%?\s?-?(?:CI\b|CrI\b|confidence|credib|predict|UI\b|uncertainty|limits)", re.IGNORECASE)
_PEOPLE = re.compile(
    r"\s(?:(?!in\b|of\b|for\b|with\b|among\b|and\b|to\b|the\b)[a-z-]{2,20}\s){0,2}(?:patients|participants|subjects|people|persons|individuals|cases|controls|women|men|children"
    r"|adults|samples|cells|mice|rats|studies|trials|deaths|births|infants|genes|proteins|volunteers)\b"
)
_P_LIMIT = re.compile(r"\bp(?:[- ]?values?)?\s?(?:of\s)?[<≤]\s?\Z", re.IGNORECASE)
_P_VALUES = re.compile(r"\bp(?:[- ]?values?)?\s?(?:of\s)?[<≤=]\s?(\d?[.·]\d{1,12})", re.IGNORECASE)
_PERIOD = re.compile(
    r"\b(?:between|from|zwischen|von|entre|de|tra|fra|dal)\s(?P<one>(?:1[5-9]|20)\d\d)"
    r"\s(?:and|to|through|until|bis|und|y|a|et|à|e|al)\s(?P<other>(?:1[5-9]|20)\d\d)\b",
    re.IGNORECASE,
)
_RANGE_END = re.compile(r"\s?(?:[-‐‑–—−]|to\b|bis\b)\s?(?=\d)")
_BRACKETED = re.compile(r"[\[(]\Z")
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?")
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS: dict[str, float] = {
    **{word: float(at) for at, word in enumerate(_ONES)},
    **{word: 10.0 * at for at, word in enumerate(_TENS, 2)},
    **{f"{ten}-{one}": 10.0 * at + n for at, ten in enumerate(_TENS, 2) for n, one in enumerate(_ONES[1:10], 1)},
    "half": 0.5,
    "third": 1 / 3,
    "quarter": 0.25,
    "once": 1.0,
    "dozen": 12.0,
    "hundred": 100.0,
    **dict.fromkeys("twice double doubled twofold".split(), 2.0),
    **dict.fromkeys("triple tripled threefold".split(), 3.0),
    **dict.fromkeys("quadrupled fourfold".split(), 4.0),
    "fivefold": 5.0,
    "tenfold": 10.0,
}
_THOUSAND = 1_000
_PARTED = re.compile(r"[,;]|\b(?:and|or|vs|versus|than|against|whereas)\b")
_PARTING = {";": 30} | dict.fromkeys((",", "and", "or", "vs", "versus", "than", "against", "whereas"), 10)
"""What parts a number from words, and how many characters farther they count."""
MAX_CLAIM = 2_000
"""Characters of a claim whose numbers are laid beside passages: what is longer is a list."""
_FAR, _SHOWN = 60, 30
"""Characters: how far a number is from words that it does not have; how much is shown on both sides of it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text.

    Attributes:
        written: with its unit, "34%".
        readings: what it may be, in the unit as written, the usual one first.
        unit: in small letters, in the singular; "" for none. Of the first number of a range, that of the second.
        before: what stands in front of it.
        start, end: where its digits stand.
    """

    written: str
    readings: tuple[NumberReading, ...]
    unit: str
    before: str
    start: int
    end: int


def numbers_missing(claim: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The numbers of `claim`, as it writes them, that occur in none of `texts`."""
    wanted = claimed_numbers(claim)
    if not wanted:
        return ()
    known = [stated_numbers(text) for text in texts]
    smallest = min((p for text in texts for p in _p_values(text)), default=2.0)
    missing = (
        one.written
        for one in wanted
        if not (_P_LIMIT.search(one.before) and smallest <= one.readings[0].value)
        and not any(some.has(one) for some in known)
    )
    return tuple(dict.fromkeys(missing))


@lru_cache(maxsize=256)
def claimed_numbers(claim: str) -> tuple[Quantity, ...]:
    """The quantities of a claim that are worth looking for."""
    years = {period.start(name) for period in _PERIOD.finditer(claim) for name in ("one", "other")}
    return tuple(
        one
        for one in _quantities(claim)
        if one.readings
        and not _DECADE.match(claim, one.start)
        and (one.start in years or _is_looked_for(one, one.before, claim[one.end : one.end + 60]))
    )


def _quantities(text: str) -> Iterator[Quantity]:
    return (_quantity(found, text) for found in _NUMBER.finditer(text))


def _is_looked_for(quantity: Quantity, before: str, after: str) -> bool:
    first = quantity.readings[0]
    is_small = not quantity.unit and first.value < SMALLEST and not first.decimals
    if is_small or (not quantity.unit and _is_no_quantity(before, after, quantity)):
        return False
    is_numbering = _NUMBERING.search(before) and not _PEOPLE.match(after)  # "in the trial 803 patients"
    return not (_IN_A_NAME.search(before) or is_numbering or _CONFIDENCE.match(after))


def _is_no_quantity(before: str, after: str, quantity: Quantity) -> bool:
    """Whether a number without a unit is an ordinal, a year, part of a name, or a citation."""
    if _ORDINAL.match(after) or _NAME_BEHIND.match(after):
        return True
    is_whole = not quantity.readings[0].decimals
    if is_whole and quantity.written.isdigit() and len(quantity.written) == 4 and int(quantity.written) in YEARS:
        return not _PEOPLE.match(after)
    return is_whole and bool(_BRACKETED.search(before)) and after[:1] in (")", "]", ",")


def _quantity(found: re.Match[str], text: str) -> Quantity:
    end, name = _unit(found, text)
    to = None if name else _RANGE_END.match(text, found.end())
    other = _NUMBER.match(text, to.end()) if to else None
    if other:
        _, name = _unit(other, text)
    written = " ".join(text[found.start() : end].split())
    before = text[max(0, found.start() - 60) : found.start()]
    return Quantity(written, tuple(readings_of(found[0])), name, before, *found.span())


def _unit(found: re.Match[str], text: str) -> tuple[int, str]:
    """Where the unit behind a number ends, and its name; "" if it has none."""
    unit = _UNIT.match(text, found.end())
    if not unit or (unit["unit"] in _NO_UNITS and unit.end() == found.end() + 1):  # 2D, 3S
        return found.end(), ""
    name = unit["unit"].lower()
    return unit.end(), name if name in _UNITS else name.removesuffix("s")


class TextNumbers:
    """The values of a text's numbers: all, those without a unit, and by what their units measure."""

    def __init__(self, found: Iterable[Quantity], words: Iterable[float]) -> None:
        self._all, self._bare = {*words}, set[float]()
        self._bare |= self._all
        self._measured: dict[str, set[float]] = {}
        for one in found:
            usual = min((reading.value for reading in one.readings[:1]), default=0.0)
            values = {reading.value for reading in one.readings if reading.value >= usual}  # 10,000 is not 10 here
            self._all |= values
            if one.unit:
                kind, ratio = _UNITS[one.unit]
                self._measured.setdefault(kind, set()).update(value * ratio for value in values)
            else:
                self._bare |= values

    def has(self, wanted: Quantity) -> bool:
        """Whether the text has the value, or one that is rounded to it."""
        kind, ratio = _UNITS.get(wanted.unit, ("", 1.0))
        is_count = not wanted.unit or ratio >= _THOUSAND
        ranges = [numbers_meant(one, wanted.before, is_count=is_count) for one in wanted.readings]
        known = self._bare if kind else self._all
        if any(_has_one(known, one) for one in ranges):
            return True
        scaled = [Range(one.low * ratio, one.high * ratio) for one in ranges]
        if kind in ("", "share", "count"):
            shares = self._measured.get("share", set())
            known = self._bare | shares | self._measured.get("count", set())
            return any(_has_one(known, one) for one in scaled)
        return any(_has_one(self._measured.get(kind, ()), one) for one in scaled)


def _has_one(values: Iterable[float], wanted: Range) -> bool:
    return any(wanted.low <= one <= wanted.high for one in values)


@lru_cache(maxsize=2_048)
def stated_numbers(text: str) -> TextNumbers:
    """The numbers of a text, also those in words."""
    words = (_WORDS[word] for one in _WORD.findall(text) for word in (one.lower(),) if word in _WORDS)
    return TextNumbers(_quantities(text), words)


def numbers_elsewhere(claim: str, passage: str) -> tuple[str, ...]:
    """The numbers of a claim whose words in it belong to another of its numbers in a sentence of the passage, each
    with the words around it there."""
    told: list[str] = []
    for span in sentences(passage) if len(claim) <= MAX_CLAIM else ():
        sentence = passage[slice(*span)]
        both = [
            (one, found)
            for one in claimed_numbers(claim)
            for found in [next((other for other in _quantities(sentence) if TextNumbers([other], ()).has(one)), None)]
            if found
        ]
        shared = words_of(claim).keys() & words_of(sentence).keys()
        here, _ = _companions(claim, [one for one, _ in both], shared)
        there, otherwise = _companions(sentence, [found for _, found in both], shared)
        if all(words & own or not words for words, own in zip(here, otherwise, strict=True)):
            continue
        for (one, found, own, its), (other, _, others, theirs) in permutations(
            [(*pair, *words) for pair, words in zip(both, zip(here, there, strict=True), strict=True)], 2
        ):
            is_exchanged = own & theirs and own.isdisjoint(its) and others.isdisjoint(theirs)
            if is_exchanged and one.unit == other.unit:
                told.append(f"{one.written}: “{_around(sentence, found)}”")
    return tuple(dict.fromkeys(told))


def _companions(text: str, numbers: Sequence[Quantity], shared: AbstractSet[str]) -> list[list[frozenset[str]]]:
    """The shared words that belong to each of some numbers alone: those before them and those behind them, first
    whichever are closer to all in all."""
    words = [
        (one.start(), one.end(), stem) for one in _WORD.finditer(text) for stem in words_of(one[0]) if stem in shared
    ]
    others = [one for one in _quantities(text) if not _IN_A_NAME.search(one.before)]
    ways: list[tuple[int, list[frozenset[str]]]] = []
    for is_behind in (True, False):
        cost, sets = 0, list[frozenset[str]]()
        for one in numbers:
            low = one.end if is_behind else max((other.end for other in others if other.end <= one.start), default=0)
            ends = [other.start for other in others if other.start >= one.end] if is_behind else [one.start]
            high = min(ends, default=len(text))
            near = [
                (text[low:start] if is_behind else text[end:high], stem)
                for start, end, stem in words
                if low <= start and end <= high
            ]
            gaps = [len(gap) + sum(_PARTING[part] for part in _PARTED.findall(gap)) for gap, _ in near]
            cost += min(gaps, default=_FAR)
            sets.append(frozenset(stem for _, stem in near))
        ways.append((cost, sets))
    uses = [Counter(stem for one in sets for stem in one) for _, sets in ways]
    alone = [
        (cost, [frozenset(stem for stem in own if used[stem] == 1) for own in sets])
        for (cost, sets), used in zip(ways, uses, strict=True)
    ]
    return [sets for _, sets in sorted(alone, key=lambda way: way[0])]


def _around(text: str, one: Quantity) -> str:
    start = text.rfind(" ", 0, max(0, one.start - _SHOWN)) + 1
    end = text.find(" ", one.end + _SHOWN)
    return " ".join(text[start : end if end >= 0 else len(text)].split())


def _p_values(text: str) -> Iterator[float]:
    for found in _P_VALUES.findall(text):
        yield float(number_form(found))
