"""Numbers of a claim that occur nowhere in the texts that it cites.

A number occurs if the texts have its value, however written: "34%" and 0.34, "1,234" and "1 234", "twelve" and 12,
"2.5 mg" and "2500 µg", 33.7% where the claim rounds it to 34%, 80,442 for "more than 80,000". Not looked for are years
that are no period, ordinals, numbers of figures and tables, the smallest whole numbers, and numbers in names: IL-6,
COVID-19, H1N1, 5-HT.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from deepcritical_mcp.checking.compared_text import GROUPED, number_form
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import sentences
from deepcritical_mcp.text import normalized

SMALLEST = 3
"""Whole numbers below are not looked for, unless they have a unit: texts write them as words or not at all."""
MAX_CLAIM = 2_000
"""Characters of a claim whose numbers are looked for: what is longer is a list."""
_YEARS = range(1500, 2100)
_ALMOST, _LARGER = 0.05, 0.25
"""How far a number is from one that is said to be about it; how far a count is above one that it exceeds."""
_FAR, _SHOWN = 60, 30
"""Characters: how far a number is from words that it does not have; how much is shown on both sides of it."""

_NUMBER = re.compile(
    r"(?:(?<![\w.])[.·](?=\d))?(?:\d{1,3}(?:[\u00a0\u2009\u202f ]\d{3}(?!\d)){1,4}(?!\w)(?:[.,·]\d{1,12})?"
    r"|\d{1,20}(?:[.,·]\d{1,20}){0,8})"
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
UNITS = {
    name: (kind.strip(), float(ratio))
    for kind, _, units in (line.partition(":") for line in _RATIOS.replace("\n        ", " ").strip().split("\n"))
    for name, _, ratio in (unit.strip().rpartition(" ") for unit in units.split(","))
}
"""What each unit measures, and its ratio to others of the kind."""
_UNIT = re.compile(
    rf"(?i)(?!(?<=[12]\d\d0)['’]?s\b|(?-i:[DGHMS])\b)[ \u00a0\u2009\u202f]?-?[ \u00a0\u2009\u202f]?"  # 1990s, 2D, 3S
    rf"(?P<unit>%|(?:{'|'.join(sorted(UNITS.keys() - {'%'}, key=len, reverse=True))})s?)(?![^\W\d_])"
)
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
    rf"(?i)\b(?:{'|'.join(_NUMBERED.split())})\.?\s?(?:\d{{1,3}}\s?(?:,|and|or|to|[-–/])\s?){{0,4}}\Z"
)
_BEHIND = re.compile(
    r"(?P<level>(?i:\s?%?\s?-?(?:CI\b|CrI\b|confidence|credib|predict|UI\b|uncertainty|limits)))"
    r"|['′]?[-‐‑,][^\W\d_]|[^\W\d_]|['′]|\)?-?\("
)
"""Behind what is no quantity: the level of an interval; ordinals, 5-HT, 17β; these may be quantities with a unit."""
_PEOPLE = re.compile(
    r"\s(?:(?!in\b|of\b|for\b|with\b|among\b|and\b|to\b|the\b)[a-z-]{2,20}\s){0,2}(?:patients|participants|subjects|people|persons|individuals|cases|controls|women|men|children"
    r"|adults|samples|cells|mice|rats|studies|trials|deaths|births|infants|genes|proteins|volunteers)\b"
)
_P_VALUE = re.compile(r"\bp(?:[- ]?values?)?\s?(?:of\s)?(?P<sign>[<≤=])\s?(?P<value>\d?[.·]\d{1,12})", re.IGNORECASE)
_PERIOD = re.compile(
    r"(?i)\b(?:between|from|zwischen|von|entre|de|tra|fra|dal)\s(?P<one>(?:1[5-9]|20)\d\d)"
    r"\s(?:and|to|through|until|bis|und|y|a|et|à|e|al)\s(?P<other>(?:1[5-9]|20)\d\d)\b"
)
_RANGE_END = re.compile(r"\s?(?:[-‐‑–—−]|to\b|bis\b)\s?(?=\d)")
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?")
_PARTED = re.compile(r"[,;]|\b(?:and|or|vs|versus|than|against|whereas)\b")
"""What parts a number from words: these count as farther."""
_ONES = """zero one/once two/twice/double/doubled/twofold three/triple/tripled/threefold four/quadrupled/fourfold
    five/fivefold six seven eight nine ten/tenfold eleven twelve/dozen thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen""".split()
NUMBER_WORDS = (
    {word: float(at) for at, words in enumerate(_ONES) for word in words.split("/")}
    | {
        f"{ten}-{one.partition('/')[0]}".removesuffix("-zero"): 10.0 * tens + ones
        for tens, ten in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
        for ones, one in enumerate(_ONES[:10])
    }
    | {"half": 0.5, "third": 1 / 3, "quarter": 0.25, "hundred": 100.0}
)
_HEDGE = re.compile(
    r"(?i)(?<![^\W\d_])(?:(?P<more>more than|at least|no fewer than|no less than|over|above|exceeding|in excess of"
    r"|upwards of|greater than|larger than|>|mehr als|über|más de|por encima de|plus de|più di|oltre|mais de|meer dan)"
    r"|(?P<fewer>fewer than|less than|under|below|smaller than|lower than|<|weniger als|unter|menos de|moins de"
    r"|meno di|minder dan)"
    r"|(?P<nearly>nearly|almost|up to|fast|nahezu|knapp|bis zu|casi|hasta|presque|près de|jusqu'à|quasi|quase|bijna)"
    r"|(?P<about>about|around|approximately|approx\.?|roughly|some|circa|ca\.?|c\.|close to|an estimated|~|≈|∼|≃|etwa"
    r"|rund|ungefähr|gut|alrededor de|aproximadamente|cerca de|unos|unas|environ|quelques?|autour de|ongeveer|cirka"
    r"|zirka))\s?\Z"
)


class NumberReading(NamedTuple):
    """A number, and how many digits stand behind its decimal point."""

    value: float
    decimals: int

    def meant(self, hedge: str, *, is_count: bool) -> tuple[float, float]:
        """From where to where the numbers are that it may stand for: those that are rounded to it; behind "more than"
        some above it; those near it behind "about". `is_count` if it counts something."""
        value, half = self.value, 0.5 * 10**-self.decimals * (1 + 1e-9)
        last = 10.0**-self.decimals  # what one more in the last figure is: 10,000 of 80,000, 0.01 of 2.57
        while not self.decimals and value and value % (last * 10) == 0:
            last *= 10
        below = above = half
        if not self.decimals and value >= 1_000 and int(value) not in _YEARS:  # two figures are an abbreviation
            second = 10.0 ** (math.floor(math.log10(value)) - 1)
            below = above = max(half, 0.5 * second) if value % second == 0 else half
        some = max(half, min(last, (_LARGER if is_count and value >= 100 else _ALMOST) * value))
        near = max(below, min(max(half, _ALMOST * value), 0.5 * last))
        low = {"more": half, "fewer": max(below, some), "nearly": near, "about": near}.get(hedge, below)
        high = {"more": max(above, some), "fewer": half, "about": near}.get(hedge, above)
        return value - low, value + high


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text.

    Attributes:
        written: with its unit, "34%".
        readings: what it may be, in the unit as written, the usual one first.
        unit: in small letters, in the singular; "" for none. Of the first number of a range, that of the second.
        before, behind: what stands around it and its unit.
        start, end: where its digits stand.
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
    known = [stated_numbers(text) for text in texts] if wanted else []
    limits = {one.start("value") for one in _P_VALUE.finditer(claim) if one["sign"] != "="}
    smallest = min((float(number_form(p["value"])) for text in texts for p in _P_VALUE.finditer(text)), default=2.0)
    missing = (
        one.written
        for one in wanted
        if not (one.start in limits and smallest <= one.readings[0].value) and not any(some.has(one) for some in known)
    )
    return tuple(dict.fromkeys(missing))


@lru_cache(maxsize=256)
def claimed_numbers(claim: str) -> tuple[Quantity, ...]:
    """The quantities of a claim that are worth looking for."""
    claim = claim[:MAX_CLAIM]
    years = {period.start(name) for period in _PERIOD.finditer(claim) for name in ("one", "other")}
    return tuple(one for one in _quantities(claim) if one.readings and (one.start in years or _is_looked_for(one)))


def _quantities(text: str) -> Iterator[Quantity]:
    for found in _NUMBER.finditer(text):
        unit = _UNIT.match(text, found.end())
        end, to = unit.end() if unit else found.end(), None if unit else _RANGE_END.match(text, found.end())
        if to and (other := _NUMBER.match(text, to.end())):
            unit = _UNIT.match(text, other.end())
        name, (start, last) = unit["unit"].lower() if unit else "", found.span()
        name, around = (
            name if name in UNITS else name.removesuffix("s"),
            (text[max(0, start - 60) : start], text[end : end + 60]),
        )
        yield Quantity(" ".join(text[start:end].split()), tuple(_readings(found[0])), name, *around, start, last)


def _readings(number: str) -> list[NumberReading]:
    """What a number may be, the usual in English first: "1,234" is 1234 or 1.234; "14.000" is 14 or 14000; [] for
    "1.2.3"."""
    plain = normalized("NFKC", "".join(number.split())).replace("·", ".").replace("\u22c5", ".")
    found = [plain.replace(",", "")] if GROUPED.fullmatch(plain) and "," in plain else []
    if plain.count(".") + plain.count(",") <= 1:
        found.append(number_form(plain.replace(",", ".")))
    turned = plain.translate({ord(","): ".", ord("."): ","})
    if GROUPED.fullmatch(turned):
        found.append(turned.replace(",", ""))
    return [NumberReading(float(form), len(form.partition(".")[2])) for form in dict.fromkeys(found)]


def _is_looked_for(one: Quantity) -> bool:
    first, before, people = one.readings[0], one.before, _PEOPLE.match(one.behind)
    no_quantity = _BEHIND.match(one.behind)
    if _IN_A_NAME.search(before) or (_NUMBERING.search(before) and not people):  # "in the trial 803 patients"
        return False
    if one.unit:
        return not (no_quantity and no_quantity["level"])
    if first.decimals:
        return not no_quantity
    is_year = one.written.isdigit() and len(one.written) == 4 and first.value in _YEARS and not people
    is_citation = before[-1:] in ("(", "[") and one.behind[:1] in (")", "]", ",")
    return first.value >= SMALLEST and not (no_quantity or is_year or is_citation)


class TextNumbers:
    """The values of a text's numbers, in order, by what their units measure: "" those without a unit."""

    def __init__(self, found: Iterable[Quantity], words: Iterable[float] = ()) -> None:
        values = defaultdict[str, set[float]](set, {"": {*words}, "any": {*words}})
        for one in found:
            kind, ratio = UNITS.get(one.unit, ("", 1.0))
            for reading in one.readings:
                if reading.value >= one.readings[0].value:  # 10,000 is not 10 here
                    values[kind].add(reading.value * ratio)
                    values["any"].add(reading.value)
        self._values = {kind: sorted(some) for kind, some in values.items()}

    def has(self, wanted: Quantity) -> bool:
        """Whether the text has the value, or one that is rounded to it."""
        kind, ratio = UNITS.get(wanted.unit, ("", 1.0))
        hedge = _HEDGE.search(wanted.before[-24:])
        hedged, is_count = (hedge.lastgroup or "" if hedge else ""), not wanted.unit or ratio >= 1_000
        ranges = [one.meant(hedged, is_count=is_count) for one in wanted.readings]
        kinds = ("", "share", "count") if kind in ("", "share", "count") else (kind,)
        return any(
            self._has_one("" if kind else "any", low, high)
            or any(self._has_one(one, low * ratio, high * ratio) for one in kinds)
            for low, high in ranges
        )

    def _has_one(self, kind: str, low: float, high: float) -> bool:
        values = self._values.get(kind, ())
        at = bisect_left(values, low)
        return at < len(values) and values[at] <= high


@lru_cache(maxsize=2_048)
def stated_numbers(text: str) -> TextNumbers:
    """The numbers of a text, also those in words."""
    words = (word.lower() for word in _WORD.findall(text))
    return TextNumbers(_quantities(text), [NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS])


def numbers_elsewhere(claim: str, passage: str) -> tuple[str, ...]:
    """The numbers of a claim whose words in it belong to another of its numbers in a sentence of the passage, each
    with the words around it there."""
    told: list[str] = []
    for span in sentences(passage) if len(claim) <= MAX_CLAIM else ():
        sentence = passage[slice(*span)]
        stated = [(one, TextNumbers([one])) for one in _quantities(sentence)]
        pairs = ((one, next((it for it, its in stated if its.has(one)), None)) for one in claimed_numbers(claim))
        both = [(one, found) for one, found in pairs if found]
        shared = words_of(claim).keys() & words_of(sentence).keys()
        here, _ = _companions(claim, [one for one, _ in both], shared)
        there, otherwise = _companions(sentence, [found for _, found in both], shared)
        if all(words & own or not words for words, own in zip(here, otherwise, strict=True)):
            continue
        for (pair, own, its), (other, others, theirs) in permutations(zip(both, here, there, strict=True), 2):
            is_exchanged = own & theirs and own.isdisjoint(its) and others.isdisjoint(theirs)
            if is_exchanged and pair[0].unit == other[0].unit:
                start = sentence.rfind(" ", 0, max(0, pair[1].start - _SHOWN)) + 1
                around = sentence[start : sentence.find(" ", pair[1].end + _SHOWN) % (len(sentence) + 1)]
                told.append(f"{pair[0].written}: “{' '.join(around.split())}”")
    return tuple(dict.fromkeys(told))


def _companions(text: str, numbers: Sequence[Quantity], shared: AbstractSet[str]) -> list[list[frozenset[str]]]:
    """The shared words that belong to each of some numbers alone: those before them and those behind them, first
    whichever are closer to all in all."""
    words = [(*one.span(), stem) for one in _WORD.finditer(text) for stem in words_of(one[0]) if stem in shared]
    others = [one for one in _quantities(text) if not _IN_A_NAME.search(one.before)]
    ways: list[tuple[int, list[frozenset[str]]]] = []
    for is_behind in (True, False):
        cost, sets = 0, list[frozenset[str]]()
        for one in numbers:
            low = max((other.end for other in others if other.end <= one.start), default=0)
            high = min((other.start for other in others if other.start >= one.end), default=len(text))
            low, high = (one.end, high) if is_behind else (low, one.start)
            near = [(start, end, stem) for start, end, stem in words if low <= start and end <= high]
            gaps = (text[low:start] if is_behind else text[end:high] for start, end, _ in near)
            cost += min(
                (len(gap) + sum(30 if mark == ";" else 10 for mark in _PARTED.findall(gap)) for gap in gaps),
                default=_FAR,
            )
            sets.append(frozenset(stem for *_, stem in near))
        uses = Counter(stem for one in sets for stem in one)
        ways.append((cost, [frozenset(stem for stem in own if uses[stem] == 1) for own in sets]))
    return [sets for _, sets in sorted(ways, key=lambda way: way[0])]
