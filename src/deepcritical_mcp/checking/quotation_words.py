"""A quotation in words, with the places where its author left something out or put something in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

from deepcritical_mcp.checking.compared_text import comparable
from deepcritical_mcp.excerpts import Span

ANYTHING = ""
"""Stands among a quotation's words where any words may stand in the text."""

_GAP = "\x1f"
_OMISSION = re.compile(r"[\[(<]\s?(?:…|\.\s?\.\s?\.)\s?[\])>]|…(?:\s?\.)?|\.\s?\.\s?\.(?:\s?\.)?")
_SIC = re.compile(r"\s?[\[(]\s?[*_]{0,2}sic[*_]{0,2}[!.]?\s?[\])]", re.IGNORECASE)
_EMPHASIS_ADDED = re.compile(
    r"\s?[\[(](?:emphasis|italics) (?:added|ours|mine|in (?:the )?original)[\])]", re.IGNORECASE
)
_FIRST_LETTER = re.compile(r"\[(\w)\](?=\w)")
_PUT_IN = re.compile(r"\w{0,30}\[(?=[^\[\]A-Za-z]{0,20}[A-Za-z])[^\[\]]{1,200}\]\w{0,30}(?![\w\[])")
_ESCAPED = re.compile(r"\\(?=[^\w\s])")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """A quotation in words, as `ComparedText` has them.

    Attributes:
        content: how it is written.
        words: the words; `ANYTHING` where words may be left out.
        places: where each word stands in the content.
    """

    content: str
    words: tuple[str, ...]
    places: tuple[Span, ...]

    @property
    def streams(self) -> list[str]:
        """The pieces between the gaps, as streams."""
        return "".join(word or _GAP for word in self.words).split(_GAP)

    @property
    def count(self) -> int:
        """How many words it has."""
        return len(self.words) - self.words.count(ANYTHING)

    def as_written(self, span: Span) -> str:
        """The words of a span as they are written, on one line; gaps as "[…]"."""
        if not span.length:
            return ""
        written = self.content[self.places[span.start].start : self.places[span.end - 1].end]
        return " ".join(written.replace(_GAP, "[…]").split())

    def around(self, span: Span) -> tuple[str, str]:
        """The characters before and after the words of a span; "" at the edges."""
        start, end = self.places[span.start].start, self.places[span.end - 1].end
        return self.content[max(0, start - 1) : start], self.content[end : end + 1]


def read_quotation(quote: str) -> list[QuotedWords]:
    """How a quotation can be read: with what stands in square brackets as part of the text, then as put in."""
    plain = _ESCAPED.sub("", unescape(quote).replace(_GAP, " "))
    plain = _EMPHASIS.sub("", _EMPHASIS_ADDED.sub("", _SIC.sub("", plain)))
    literal = _OMISSION.sub(f" {_GAP} ", _FIRST_LETTER.sub(r"\1", plain))
    edited = _PUT_IN.sub(f" {_GAP} ", literal)
    return [_quoted(text) for text in dict.fromkeys((literal, edited))]


def _quoted(content: str) -> QuotedWords:
    words: list[str] = []
    places: list[Span] = []
    start = 0
    for piece in content.split(_GAP):
        text = comparable(piece.strip())
        lead = start + len(piece) - len(piece.lstrip())
        if len(text) and words:
            words.append(ANYTHING)
            places.append(Span(start - 1, start))
        words += text.words(0, len(text))
        places += [Span(lead + one, lead + other) for one, other in zip(text.starts, text.ends, strict=True)]
        start += len(piece) + 1
    return QuotedWords(content, tuple(words), tuple(places))
