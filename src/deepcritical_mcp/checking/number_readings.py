"""How a written number can be read, and which numbers it may stand for: "14.000", "more than 80,000"."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from deepcritical_mcp.checking.compared_text import number_form
from deepcritical_mcp.text import normalized

_SPACES = re.compile("[ \u00a0\u2009\u202f]")
_BY_COMMAS = re.compile(r"[1-9]\d{0,2}(?:,\d{3}){1,6}(?:\.\d{1,20})?")
_BY_POINTS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){1,6}(?:,\d{1,20})?")
_BY_LAKHS = re.compile(r"[1-9]\d?(?:,\d\d){1,5},\d{3}(?:\.\d{1,20})?")
_MORE = """
    more than, at least, no fewer than, no less than, over, above, exceeding, in excess of, upwards of, greater than
    larger than, >
    mehr als, über, más de, por encima de, plus de, più di, oltre, mais de, meer dan
"""
_FEWER = """
    fewer than, less than, under, below, smaller than, lower than, <
    weniger als, unter, menos de, moins de, meno di, minder dan
"""
_NEARLY = (
    "nearly, almost, up to, fast, nahezu, knapp, bis zu, casi, hasta, presque, près de, jusqu'à, quasi, quase, bijna"
)
_ABOUT = """
    about, around, approximately, approx., approx, roughly, some, circa, ca., ca, c., close to, an estimated, ~, ≈, ∼, ≃
    etwa, rund, ungefähr, gut, alrededor de, aproximadamente, cerca de, unos, unas, environ, quelque, quelques
    autour de, ongeveer, cirka, zirka
"""


def _hedge(words: str) -> re.Pattern[str]:
    listed = (" ".join(one.split()) for one in words.replace("\n", ",").split(",") if one.strip())
    either = "|".join(rf"\b{re.escape(one)}" if one[0].isalpha() else re.escape(one) for one in listed)
    return re.compile(rf"(?:{either})\s?\Z", re.IGNORECASE)


_HEDGES = {"more": _hedge(_MORE), "fewer": _hedge(_FEWER), "nearly": _hedge(_NEARLY), "about": _hedge(_ABOUT)}
_HEDGED = (*" \u00a0\u202f~<>≈∼≃",)
"""What stands right before a number that is hedged."""
_ALMOST = 0.05
"""How far a number is from one that is said to be about it or nearly it."""
_LARGER = 0.25
"""How far a count is above one that it is said to be more than, or below."""
_COUNTED = 100
YEARS = range(1500, 2100)
_ROUND = 1_000
"""Counts from which on two significant figures are an abbreviation, also without a word that says so."""


class NumberReading(NamedTuple):
    """A number, and how many digits stand behind its decimal point."""

    value: float
    decimals: int


class Range(NamedTuple):
    """The numbers from `low` to `high`."""

    low: float
    high: float


def readings_of(number: str) -> list[NumberReading]:
    """What a number may be, the usual in English first: "1,234" is 1234 or 1.234; "14.000" is 14 or 14000; [] for
    "1.2.3"."""
    if _SPACES.search(number):
        return [_reading(_SPACES.sub("", number).replace(",", "."))]
    plain = normalized("NFKC", number).replace("·", ".").replace("\u22c5", ".")
    found: list[str] = []
    if _BY_COMMAS.fullmatch(plain) or _BY_LAKHS.fullmatch(plain):
        found.append(plain.replace(",", ""))
    if plain.count(".") + plain.count(",") <= 1:
        found.append(number_form(plain.replace(",", ".")))
    if _BY_POINTS.fullmatch(plain):
        found.append(plain.replace(".", "").replace(",", "."))
    return list(dict.fromkeys(map(_reading, found)))


def _reading(form: str) -> NumberReading:
    return NumberReading(float(form), len(form.partition(".")[2]))


def numbers_meant(reading: NumberReading, before: str, *, is_count: bool) -> Range:
    """The numbers that a reading may stand for behind the words `before`: those that are rounded to it; behind "more
    than" some above it; those near it behind "about". `is_count` if it counts something."""
    value, half = reading.value, 0.5 * 10**-reading.decimals * (1 + 1e-9)
    hedge = next(
        (kind for kind, pattern in _HEDGES.items() if before[-1:] in _HEDGED and pattern.search(before[-24:])), ""
    )
    below = above = half
    if not reading.decimals and value >= _ROUND and int(value) not in YEARS and value % _unit(value, 2) == 0:
        below = above = max(half, 0.5 * _unit(value, 2))
    some = _LARGER if is_count and value >= _COUNTED else _ALMOST
    one_more = max(half, min(_last_unit(reading), some * value))
    near = max(half, _ALMOST * value)
    if hedge == "more":
        below, above = half, max(above, one_more)
    if hedge == "fewer":
        below, above = max(below, one_more), half
    if hedge in ("nearly", "about"):
        below = max(below, min(near, 0.5 * _last_unit(reading)))
    if hedge == "about":
        above = below
    return Range(value - below, value + above)


def _unit(value: float, figures: int) -> float:
    """What one more in the last of so many significant figures is."""
    return 10.0 ** (math.floor(math.log10(value)) - figures + 1) if value > 0 else 0.0


def _last_unit(reading: NumberReading) -> float:
    """What one more in the last figure is: 10,000 of 80,000, 0.01 of 2.57."""
    unit = 10.0**-reading.decimals
    while not reading.decimals and reading.value and reading.value % (unit * 10) == 0:
        unit *= 10
    return unit
