"""Letters in one spelling, blanks in place of parts of a text, and the lists of words of `words.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.evidence.titles import plain_letters

Span = tuple[int, int]
WORD = re.compile(r"[^\W\d_]+")
BRACKETED = re.compile(
    r"\[[^\[\]]{0,120}\]|\((?=[^()]{0,120}\b(?:in|see|article|author|transl\w*|abstract|suppl\w*)\b)[^()]{0,120}\)",
    re.IGNORECASE,
)
"""Remarks on a work."""


_LISTS = {name: frozenset(words.split()) for name, words in data_table(__file__, "words.txt").items()}


def listed_words(name: str) -> frozenset[str]:
    """The words of a list."""
    return _LISTS[name]


def blanked(text: str, spans: Iterable[Span]) -> str:
    """A text with blanks in some places; line breaks stay."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
            at = end
    return "".join((*parts, text[at:]))


_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


def unaccented(text: str) -> str:
    """Small letters of the plain alphabet: "ł" is "l"."""
    return plain_letters(text.casefold().translate(_LETTERS))


def folded(text: str) -> str:
    """Letters in one spelling: "Müller", "Mueller" and "Muller" are the same."""
    return unaccented(text).replace("ae", "a").replace("oe", "o").replace("ue", "u")


def without(pattern: re.Pattern[str], text: str) -> str:
    """A text with blanks for what a pattern finds."""
    return pattern.sub(lambda found: " " * len(found[0]), text)


def without_latex(text: str) -> str:
    """The text with letters for LaTeX's accents, and without its commands; as it is if it has none."""
    from deepcritical_mcp.search.references.latex_text import latex_as_text

    is_latex = any(mark in text for mark in ("\\", "``", "{")) or ("~" in text and "/" not in text)
    return latex_as_text(text) if is_latex else text
