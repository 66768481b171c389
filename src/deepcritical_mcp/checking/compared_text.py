"""Texts as quotations are compared with them: without typography, but with numbers and signs kept apart.

Two texts say the same in the same words if their streams are equal: their words and numbers in small letters without
anything between them, so that hyphens, line breaks, accents, quotation marks, emphasis and spaces in numbers do not
count, while decimal points, minus signs, ranges, "%" and "<" do.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.models import NO_ABSTRACT, Publication, Text
from deepcritical_mcp.text import GREEK_NAMES, normalized

_DASH = "[-\u2010-\u2015\u2212\u207b\u208b\ufe63]"
_SMALL_DIGITS = "\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u2080-\u2089"
_MONTH = r"Jan|Feb|Mar|Apr|May\b|June?\b|July?\b|Aug|Sept?|Oct|Nov|Dec|In\b|Since\b|Until\b"
_TOKEN = re.compile(
    rf"""
      (?P<nothing>
        </?(?:i|b|u|em|strong|sub|sup|sc|span|inf)\b[^<>]{{0,80}}>
      | (?:(?<=\n)|(?<=[.?!)"”][ \n])|\A)(?:(?-i:[A-Z][A-Z/&,\ '()-]{{3,60}})|background|context|objectives?|aims?
          |purpose|methods?|design|setting|results?|findings|conclusions?):(?=\s|\Z)      # the label of a section
      | (?<!=)(?<!=\s)(?<!CI)(?<!CI\s)\[\s?\d{{1,3}}(?:\s?[{_DASH[1:-1]},;]\s?\d{{1,3}}){{0,15}}\s?\]
      | \((?:see\ |cf\.\ |e\.g\.,?\ )?(?!{_MONTH})(?-i:[A-ZÀ-Þ])[^()]{{1,200}}[\ ](?:19|20)\d\d[a-z]?\)  # (Roe, 2020)
      | \[\^[\w-]{{1,30}}\] | \^\d{{1,3}}(?:[,;–-]\d{{1,3}}){{0,15}}\^               # a footnote of Markdown
      )
    | (?P<percent> % | \bper\s?cent\b )
    | (?P<number> (?:(?<![\w.])[.·](?=\d))?\d{{1,20}}(?:[.,·]\d{{1,20}}){{0,8}} | [{_SMALL_DIGITS}]{{1,20}} )
    | (?P<minus>
        (?<=[\d{_SMALL_DIGITS}])(?:\s?{_DASH}{{1,2}}\s?(?=[\d{_SMALL_DIGITS}])|\sto\b) | \Ato\s(?=\d)      # 10–15
      | (?<=[\s(\[=<>≤≥,~^]){_DASH}(?=[.·]?\d) | {_DASH}(?=[{_SMALL_DIGITS}])
      | (?<=[=<>≤≥]\s){_DASH}\s?(?=\d) | \A{_DASH}(?=\d)
      )
    | (?P<word> [^\W\d_{_SMALL_DIGITS}]+(?:['’ʼ][^\W\d_]{{1,20}})?)
    | (?P<sign> \+/{_DASH} | [+⁺₊±<>≤≥⩽⩾=‰×] | (?<=\d)[/:](?=\d) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SIGNS = {"≤": "<=", "⩽": "<=", "≥": ">=", "⩾": ">=", "⁺": "+", "₊": "+", "×": "x"}
GROUPED = re.compile(r"[1-9]\d{0,2}(?:,\d{3}){1,6}(?:\.\d{1,20})?|[1-9]\d?(?:,\d\d){1,5},\d{3}(?:\.\d{1,20})?")
"""A number with its thousands (or lakhs) apart: 1,234,567.8."""


@dataclass(frozen=True, slots=True)
class ComparedText:
    """The words of a text (numbers and signs, too) in the form in which they are compared.

    Attributes:
        stream: all words, with nothing in between.
        offsets: where each word begins in the stream, and the stream's length.
        starts, ends: where each word stands in the content.
    """

    content: str
    stream: str
    offsets: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]

    def __len__(self) -> int:
        return len(self.starts)

    def words(self, start: int = 0, end: int | None = None) -> list[str]:
        """The words from number `start` up to `end`."""
        places = self.offsets[start : len(self) + 1 if end is None else end + 1]
        return [self.stream[one:other] for one, other in pairwise(places)]

    def written(self, start: int, end: int) -> str:
        """The words from number `start` up to `end` as they are written, on one line."""
        return " ".join(self.content[self.starts[start] : self.ends[end - 1]].split()) if start < end else ""

    def places_of(self, stream: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
        """Where whole words make up `stream`, which is not empty: spans of words."""
        at = self.stream.find(stream, start, end)
        while at >= 0:
            first, last = bisect_left(self.offsets, at), bisect_left(self.offsets, at + len(stream))
            if self.offsets[first] == at and self.offsets[last] == at + len(stream):
                yield Span(first, last)
            at = self.stream.find(stream, self.offsets[bisect_left(self.offsets, at + 1)], end)


@lru_cache(maxsize=2_048)
def comparable(content: str, inside: tuple[Span, ...] | None = None) -> ComparedText:
    """A text in words, or only what stands within the spans `inside` of it."""
    forms: list[str] = []
    starts, ends = array("I"), array("I")
    for span in (Span(0, len(content)),) if inside is None else inside:
        for token in _TOKEN.finditer(content, *span):
            if form := _form(token):
                forms.append(form)
                starts.append(token.start())
                ends.append(token.end())
    return ComparedText(content, "".join(forms), array("I", accumulate(map(len, forms), initial=0)), starts, ends)


def _form(token: re.Match[str]) -> str:
    found, kind = token[0], token.lastgroup
    if kind == "word" and found.isascii() and found.isalpha():
        return found.lower()
    if kind == "word":  # without accents, apostrophes, ligatures; Greek letters by their names
        plain = "".join(GREEK_NAMES.get(letter, letter) for letter in normalized("NFKD", found).casefold())
        return "".join(letter for letter in plain if letter.isalnum())
    if kind == "number":
        return number_form(found)
    if kind == "sign":
        return "±" if found.startswith("+/") else _SIGNS.get(found, found)
    return {"percent": "%", "minus": "-"}.get(kind or "", "")


def own_texts(publication: Publication) -> list[Text]:
    """What can be read of a publication itself: no notes."""
    return [text for text in publication.texts if text.kind != "note" and text.content != NO_ABSTRACT]


def number_form(number: str) -> str:
    """A number as digits with a decimal point: "1,234" is "1234", ".05", "0·05" and "0,05" are "0.05"."""
    plain = normalized("NFKC", number).replace("·", ".").replace("\u22c5", ".")
    plain = plain.replace(",", "" if GROUPED.fullmatch(plain) else ".")
    return f"0{plain}" if plain.startswith(".") else plain
