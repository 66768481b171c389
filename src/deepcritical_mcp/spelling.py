"""British and American spelling, and Greek letters by their names."""

from __future__ import annotations

import re

from deepcritical_mcp.data_files import data_lines

_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi "
    "psi omega"
)
GREEK_NAMES = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _NAMES.split(), strict=True))
"""The name of each small Greek letter."""
_LINES = [line.split(" | ") for line in data_lines(__file__, "british_spelling.txt")]
_AMERICAN = [(re.compile(british), american) for kind, british, american in _LINES if kind == "rule"]
_PAIRS = [
    (american.replace("_", " "), british.replace("_", " ")) for kind, american, british in _LINES if kind == "pair"
]
_SAME_IN_BOTH = frozenset({"academia", "hemolymph"})


def one_spelling(word: str) -> str:
    """A word in small letters as Americans spell it, or nearly: what comes out need not be a word, so that only two
    results may be compared."""
    if word == "grey":
        return "gray"
    if len(word) > 4:
        for british, american in _AMERICAN:
            word = british.sub(american, word)
    return word


def other_spelling(text: str) -> str:
    """A text in small letters with its words as the British spell them if they are American, or the other way round;
    unchanged if there is one spelling only."""
    return "".join(_other(part) if part.isalpha() else part for part in re.split("([ -])", text))


def _other(word: str) -> str:
    padded = f" {word} "
    for american, british in _PAIRS if word not in _SAME_IN_BOTH else ():
        if british in padded:
            return padded.replace(british, american).strip()
        if american in padded:
            return padded.replace(american, british).strip()
    return word
