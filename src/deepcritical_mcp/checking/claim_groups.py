"""Numbers of a claim that its passage gives to another group, outcome or time.

In English the first number of a sentence goes with the first of two groups, wherever both stand ("a 1 b 2", "1 a, 2 b",
"1 and 2 in a and b"), unless the sentence begins with "Compared with b". So two numbers and two words that are parted
alike, and that both texts have, must stand in the same order in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from deepcritical_mcp.checking.claim_numbers import (
    IN_A_NAME,
    MAX_CLAIM,
    WORDS,
    Quantity,
    TextNumbers,
    claimed_numbers,
    quantities,
)
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import sentences

_SHOWN = 30
"""Characters that are shown on both sides of a number."""
_SMALL, _PARTING, _GROUPS = ({*WORDS[name].split()} for name in ("small", "parting", "kinds of groups"))
_NO_PREPOSITION = {"the", "of", "and", "or", "was", "were", ""}
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?")
_MOMENT = re.compile(rf"(?i)\b(?P<name>{'|'.join(WORDS['numbered moments'].split())})s?\s\Z")
_BESIDE = re.compile(
    r"(?i)(?:\bp(?:[- ]?values?)?\s?[<=>≤≥]|±|\+/-|\[|\d\s?[–-]|\bto|CI\]?[:,=]?(?:\s?\[)?|CI[^()]{0,14},)\s?\Z"
)
"""In front of numbers that go with another number: p-values, deviations, limits."""


class _Token(NamedTuple):
    """A word, a number, or a numbered moment or group ("week 4")."""

    start: int
    word: str  # "#" for a number
    stems: Sequence[str]
    number: Quantity | None = None


class _Pair(NamedTuple):
    """Two things in a text, by the numbers of their tokens."""

    one: int
    other: int


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    for one in quantities(text):
        moment = None if one.unit else _MOMENT.search(one.before)
        if moment:
            found.append(_Token(one.start, moment["name"].lower(), [f"{moment['name'].lower()} {one.written}"]))
        elif not IN_A_NAME.search(one.before):
            found.append(_Token(one.start, "#", (), one))
    taken = {at for one in quantities(text) for at in range(one.start, one.end)}
    words = (one for one in _WORD.finditer(text) if one.start() not in taken)
    return sorted([*found, *(_Token(one.start(), one[0].lower(), [*words_of(one[0])]) for one in words)])


def numbers_elsewhere(claim: str, passage: str) -> tuple[str, ...]:
    """The numbers of a claim that a sentence of the passage gives to another of the claim's groups, outcomes or times,
    each with the words around it there."""
    told: list[str] = []
    here = _tokens(claim[:MAX_CLAIM])
    places = {one.number: at for at, one in enumerate(here) if one.number and not _BESIDE.search(one.number.before)}
    wanted = [one for one in claimed_numbers(claim) if one in places]
    for span in sentences(passage) if wanted and len(claim) <= MAX_CLAIM else ():
        sentence = passage[slice(*span)]
        there = _tokens(sentence)
        stated = [(at, one.number, TextNumbers([one.number])) for at, one in enumerate(there) if one.number]
        both = dict[Quantity, tuple[int, Quantity]]()
        for one in wanted:
            match [(at, number) for at, number, its in stated if its.has(one)]:
                case [(at, number)] if not _BESIDE.search(number.before):
                    both[one] = at, number
        only = _only(there)
        groups = [(pair, stems) for pair, stems in _groups(here) if only.keys() >= {*stems}]
        for one, other in combinations(both, 2):
            if one.unit != other.unit or one.readings[0].half != other.readings[0].half:
                continue
            ours, theirs = _Pair(places[one], places[other]), _Pair(both[one][0], both[other][0])
            votes = sum(
                1 if _agree(here, pair, ours) == _agree(there, _Pair(only[a], only[b]), theirs) else -1
                for pair, (a, b) in groups
                if only[a] != only[b] and theirs.one != theirs.other
            )
            if votes < 0:
                told += [f"{each.written}: “{_around(sentence, both[each][1])}”" for each in (one, other)]
    return tuple(dict.fromkeys(told))


def _only(tokens: Sequence[_Token]) -> dict[str, int]:
    """Where the stems stand that a text has once."""
    uses = Counter(stem for one in tokens for stem in one.stems)
    return {stem: at for at, one in enumerate(tokens) for stem in one.stems if uses[stem] == 1}


def _groups(tokens: Sequence[_Token]) -> Iterator[tuple[_Pair, tuple[str, str]]]:
    """Two words each that a text parts from each other ("a versus b"), or that stand in like places ("in a … in b")."""
    words = [(at, stem) for stem, at in _only(tokens).items() if tokens[at].word not in _SMALL | _GROUPS]
    for (one, stem), (other, another) in combinations(sorted(words), 2):
        between = {token.word for token in tokens[one + 1 : other]}
        before, behind = ({tokens[at + step].word if 0 <= at + step < len(tokens) else "" for at in (one, other)} for step in (-1, 1))
        is_parted = between & _PARTING and between <= _SMALL | _GROUPS | {"#"}
        is_alike = len(before) == 1 and before <= _SMALL | {"#"} and not before <= _NO_PREPOSITION
        is_alike |= len(behind) == 1 and behind <= _GROUPS | {"#"}
        is_alike |= stem.partition(" ")[1:2] == (" ",) == another.partition(" ")[1:2] and tokens[one].word == tokens[other].word
        if one != other and (is_parted or is_alike):
            yield _Pair(one, other), (stem, another)


def _agree(tokens: Sequence[_Token], words: _Pair, numbers: _Pair) -> bool:
    """Whether the first of the words goes with the first of the numbers."""
    first = min(words)
    is_turned = not {"compared", "relative"}.isdisjoint(one.word for one in tokens[max(0, first - 4) : first])
    in_order = (words.one < words.other) == (numbers.one < numbers.other)
    return in_order != (is_turned and min(numbers) > max(words))


def _around(sentence: str, number: Quantity) -> str:
    start = sentence.rfind(" ", 0, max(0, number.start - _SHOWN)) + 1
    return " ".join(sentence[start : sentence.find(" ", number.end + _SHOWN) % (len(sentence) + 1)].split())
