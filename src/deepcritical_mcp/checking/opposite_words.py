"""Words that turn a sentence round: negations, and opposites such as higher and lower, from `opposites.txt`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from itertools import product

from deepcritical_mcp.text import NEGATIONS

_ROWS = (files("deepcritical_mcp.checking") / "opposites.txt").read_text("utf-8").splitlines()
_DENYING, *_SIDES = (row for row in _ROWS if not row.startswith("#"))
DENYING = NEGATIONS | {*_DENYING.split()}
"""Words, in small letters without apostrophes, that deny the rest of their sentence."""
_OPPOSITES = [[side.split() for side in row.split(" / ")] for row in _SIDES]
_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "a")
_LONG = 4
"""Letters of a word to which a prefix makes the opposite: affected/unaffected."""


def are_opposites(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one of some words, in small letters, is the opposite of one of the others."""
    return any(_are_opposite(one, other) or _are_opposite(other, one) for one, other in product(some, others))


def _are_opposite(one: str, other: str) -> bool:
    if len(one) >= _LONG and other.endswith(one) and other.removesuffix(one) in _PREFIXES:
        return True
    return any(_is_among(one, these) and _is_among(other, those) for these, those in _OPPOSITES)


def _is_among(word: str, side: Sequence[str]) -> bool:
    return any(word.startswith(known[:-1]) if known[-1] == "-" else word == known for known in side)
