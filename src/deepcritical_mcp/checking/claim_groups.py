"""Numbers of a claim that its passage gives to another group, outcome or time.

In English the first number of a sentence goes with the first of two groups, wherever both stand ("a 1 b 2", "1 a, 2 b",
"1 and 2 in a and b"), unless the sentence begins with "Compared with b". So two numbers and two words that are parted
alike, and that both texts have, must stand in the same order in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from deepcritical_mcp.checking.claim_numbers import (
    IN_A_NAME,
    MAX_CLAIM,
    UNITS,
    WORDS,
    Quantity,
    TextNumbers,
    claimed_numbers,
    quantities,
)
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import sentences

_SHOWN, MAX_APART = 30, 40
"""Characters that are shown on both sides of a number; words from one group to the next."""
_SMALL, _PARTING, _GROUPS, _MOMENTS = (
    {*WORDS[name].split()} for name in ("small", "parting", "kinds of groups", "numbered moments")
)
_NO_PREPOSITION = {"the", "of", "and", "or", ""}
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?|\(")
_BESIDE = re.compile(
    r"(?i)(?:\bp(?:[- ]?values?)?\s?[<=>≤≥]|±|\+/-|\[|\d%?\s?(?:[–-]|to)|CI\]?[:,=]?(?:\s?\[)?|CI[^()]{0,14},)\s?\Z"
)
"""In front of numbers that go with another number: p-values, deviations, limits."""


class _Token(NamedTuple):
    """A word, a number, or a numbered moment or group ("week 4")."""

    start: int
    word: str  # "#" for a number
    stems: Sequence[str]
    number: Quantity | None = None


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    for one in quantities(text):
        name = re.search(r"([a-z]+?)s? \Z", one.before.lower())
        if name and name[1] in _MOMENTS:
            found.append(_Token(one.start, f"{name[1]} #", [f"{name[1]} {one.written}"]))
        elif not IN_A_NAME.search(one.before):
            stems = [f"{one.readings[0].value:g} {one.unit}"] if one.readings and _is_dose_or_time(one) else []
            found.append(_Token(one.start, "#", stems, one))
    taken = {at for one in quantities(text) for at in range(one.start, one.end)}
    words = (one for one in _WORD.finditer(text) if one.start() not in taken)
    found += [_Token(one.start(), one[0].lower(), [*words_of(one[0])]) for one in words]
    return sorted(found, key=lambda one: one.start)


def numbers_elsewhere(claim: str, passage: str) -> tuple[str, ...]:
    """The numbers of a claim that a sentence of the passage gives to another of the claim's groups, outcomes or times,
    each with the words around it there."""
    here, told = _tokens(claim) if len(claim) <= MAX_CLAIM else [], dict[str, None]()
    places = {one.number: at for at, one in enumerate(here) if one.number and not _BESIDE.search(one.number.before)}
    wanted = [one for one in claimed_numbers(claim) if one in places]
    for span in sentences(passage) if len(wanted) > 1 else ():
        sentence = passage[slice(*span)]
        there, ours = _tokens(sentence), _only(here)
        both = {one: at for one in wanted if (at := _place_of(one, there)) is not None}
        theirs, groups = _only(there), _groups(claim) | _groups(sentence) if both else ()
        named = [words for words in groups if {*words} <= ours.keys() & theirs.keys()]
        for pair in combinations(both, 2):
            agree = [
                _in_order(here, [ours[one] for one in words], [places[one] for one in pair])
                == _in_order(there, [theirs[one] for one in words], [both[one] for one in pair])
                for words in (named if _are_alike(*pair) else ())
                if {ours[one] for one in words} != {places[one] for one in pair} and both[pair[0]] != both[pair[1]]
            ]
            if agree.count(False) > agree.count(True):
                told |= {f"{one.written}: “{_around(sentence, there[both[one]])}”": None for one in pair}
    return tuple(told)


def _place_of(wanted: Quantity, tokens: Sequence[_Token]) -> int | None:
    """Where the only number stands that may be the wanted one; None if there are several."""
    found = [at for at, one in enumerate(tokens) if one.number and TextNumbers([one.number]).has(wanted)]
    return found[0] if len(found) == 1 else None


def _is_dose_or_time(one: Quantity) -> bool:
    """Whether it is one of what is asked, rather than of what is found."""
    return UNITS.get(one.unit, ("",))[0] in ("mass", "time", "months")


def _are_alike(one: Quantity, other: Quantity) -> bool:
    precisions = [reading.half for number in (one, other) for reading in number.readings[:1]]
    return one.unit == other.unit and len(precisions) == 2 and precisions[0] == precisions[1]


def _only(tokens: Sequence[_Token]) -> dict[str, int]:
    """Where the stems stand that a text has once."""
    uses = Counter(stem for one in tokens for stem in one.stems)
    return {stem: at for at, one in enumerate(tokens) for stem in one.stems if uses[stem] == 1}


@lru_cache(maxsize=512)
def _groups(text: str) -> set[tuple[str, str]]:
    """Two words each that a text parts from each other ("a versus b"), or that stand in like places ("in a … in b")."""
    tokens = _tokens(text)
    words = sorted((at, stem) for stem, at in _only(tokens).items() if tokens[at].word not in _SMALL | _GROUPS)
    pairs = ((one, other) for at, one in enumerate(words) for other in words[at + 1 : at + MAX_APART])
    return {(one[1], other[1]) for one, other in pairs if one[0] != other[0] and _are_groups(tokens, one[0], other[0])}


def _are_groups(tokens: Sequence[_Token], one: int, other: int) -> bool:
    numbers = [token.number.unit for token in (tokens[one], tokens[other]) if token.number]
    if numbers:
        return len(numbers) == 2 and numbers[0] == numbers[1]
    around = [tokens[at].word if 0 <= at < len(tokens) else "" for at in range(one - 1, other + 2)]
    between = around[2:-2]
    parting = (at for at in range(2, len(around) - 2) if around[at] in _PARTING)
    if any(around[at - 1] != "#" or around[at + 1] != "#" for at in parting) and {*between} <= _SMALL | _GROUPS | {"#"}:
        return True
    is_before = around[0] == around[-3] and around[0] in (_SMALL | {"#"}) - _NO_PREPOSITION
    is_behind = around[2] == around[-1] and around[2] in _GROUPS | {"#"}
    return is_before or is_behind or (" #" in around[1] == around[-2])


def _in_order(tokens: Sequence[_Token], words: Sequence[int], numbers: Sequence[int]) -> bool:
    """Whether the first of two words goes with the first of two numbers."""
    first = min(words)
    is_turned = not {"compared", "relative"}.isdisjoint(one.word for one in tokens[max(0, first - 4) : first])
    return ((words[0] < words[1]) == (numbers[0] < numbers[1])) != (is_turned and min(numbers) > max(words))


def _around(sentence: str, token: _Token) -> str:
    start, end = sentence.rfind(" ", 0, max(0, token.start - _SHOWN)) + 1, token.start + _SHOWN
    return " ".join(sentence[start : sentence.find(" ", end) % (len(sentence) + 1)].split())
