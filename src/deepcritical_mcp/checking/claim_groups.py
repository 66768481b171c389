"""Numbers of a claim that its passage gives to another group, outcome or time.

In English the first number of a sentence goes with the first of two groups, wherever both stand ("a 1 b 2", "1 a, 2 b",
"1 and 2 in a and b"), unless the sentence begins with "Compared with b". So two numbers and two words that are parted
alike, and that both texts have, must stand in the same order in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

from deepcritical_mcp.checking.claim_numbers import (
    IN_A_NAME,
    MAX_CLAIM,
    UNITS,
    WORDS,
    Quantity,
    TextNumbers,
    claimed_numbers,
    counts_people,
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


T = TypeVar("T")


class _Token(NamedTuple):
    """A word, a number, or a numbered moment or group ("week 4")."""

    start: int
    word: str  # "#" for a number
    stems: Sequence[str]
    number: Quantity | None = None


class _Two(NamedTuple, Generic[T]):
    """Two numbers or two words of a claim."""

    one: T
    other: T

    def of(self, places: Mapping[T, int]) -> tuple[int, int]:
        """Where both stand."""
        return places[self.one], places[self.other]


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    for one in quantities(text):
        name = one.before.lower().rpartition(" ")[0].rpartition(" ")[2].lstrip("(").removesuffix("s")
        name = name if one.before.endswith(" ") else ""
        if name in _MOMENTS and not (one.unit or counts_people(one.behind)):
            found.append(_Token(one.start, f"{name} #", [f"{name} {one.written}"]))
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
    here, told = _tokens(claim) if len(claim) <= MAX_CLAIM else [], list[str]()
    places = {one.number: at for at, one in enumerate(here) if one.number and not _BESIDE.search(one.number.before)}
    wanted = [one for one in claimed_numbers(claim) if one in places]
    for span in sentences(passage) if len(wanted) > 1 else ():
        sentence = passage[slice(*span)]
        there = _tokens(sentence)
        both = {one: at for one in wanted if (at := _place_of(one, there)) is not None}
        ours, theirs = _only(here), _only(there)
        groups = [_Two(*one) for one in (_groups(claim) | _groups(sentence) if both else ()) if theirs.keys() >= {*one}]
        named = [one for one in groups if ours.keys() >= {*one}]
        turned = list[Quantity]()
        for pair in (_Two(*pair) for pair in combinations(both, 2) if _are_alike(*pair)):
            agree = [
                _in_order(here, words.of(ours), pair.of(places)) == _in_order(there, words.of(theirs), pair.of(both))
                for words in named
                if {*words.of(ours)} != {*pair.of(places)} and both[pair.one] != both[pair.other]
            ]
            turned += pair if agree.count(False) > agree.count(True) else ()
        told += [f"{one.written}: “{_around(sentence, there[both[one]])}”" for one in turned]
    return tuple(dict.fromkeys(told))


def _place_of(wanted: Quantity, tokens: Sequence[_Token]) -> int | None:
    """Where the only number stands that may be the wanted one; None if it goes with another number."""
    found = [(at, one.number) for at, one in enumerate(tokens) if one.number and TextNumbers([one.number]).has(wanted)]
    return found[0][0] if len(found) == 1 and not _BESIDE.search(found[0][1].before) else None


def _is_dose_or_time(one: Quantity) -> bool:
    """Whether it is one of what is asked, rather than of what is found."""
    return UNITS.get(one.unit, ("",))[0] in ("mass", "time", "months")


def _are_alike(one: Quantity, other: Quantity) -> bool:
    return (
        one.unit == other.unit
        and one.readings[:1] != () != other.readings[:1]
        and one.readings[0].half == other.readings[0].half
    )


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
    return {
        (min(one[1], other[1]), max(one[1], other[1])) for one, other in pairs if _are_groups(tokens, one[0], other[0])
    }


def _are_groups(tokens: Sequence[_Token], one: int, other: int) -> bool:
    if tokens[one].number or tokens[other].number:
        units = [token.number.unit for token in (tokens[one], tokens[other]) if token.number]
        return len(units) == 2 and units[0] == units[1]
    around = [tokens[at].word if 0 <= at < len(tokens) else "" for at in range(one - 1, other + 2)]
    between = around[2:-2]
    parting = (at for at in range(2, len(around) - 2) if around[at] in _PARTING)
    if any(around[at - 1] != "#" or around[at + 1] != "#" for at in parting) and {*between} <= _SMALL | _GROUPS | {"#"}:
        return one != other
    is_before = around[0] == around[-3] and around[0] in (_SMALL | {"#"}) - _NO_PREPOSITION
    is_behind = around[2] == around[-1] and around[2] in _GROUPS | {"#"}
    return one != other and (is_before or is_behind or (" #" in around[1] == around[-2]))


def _in_order(tokens: Sequence[_Token], words: tuple[int, int], numbers: tuple[int, int]) -> bool:
    """Whether the first of two words goes with the first of two numbers."""
    first = min(words)
    is_turned = not {"compared", "relative"}.isdisjoint(one.word for one in tokens[max(0, first - 4) : first])
    return ((words[0] < words[1]) == (numbers[0] < numbers[1])) != (is_turned and min(numbers) > max(words))


def _around(sentence: str, token: _Token) -> str:
    start, end = sentence.rfind(" ", 0, max(0, token.start - _SHOWN)) + 1, token.start + _SHOWN
    return " ".join(sentence[start : sentence.find(" ", end) % (len(sentence) + 1)].split())
