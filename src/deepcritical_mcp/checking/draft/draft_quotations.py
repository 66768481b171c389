"""Finds quotations in a draft: in quotation marks of any kind, and quoted blocks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from deepcritical_mcp.checking.draft.cited_entries import Citations
from deepcritical_mcp.checking.draft.citing_sentences import Paragraph, claim_of
from deepcritical_mcp.excerpts import Span

LEAST_WORDS = 4
_LONGEST = 2_000
_MARKS = re.compile(r"[“”„‟\"«»‹›]|``|''|(?<![\w’])[‘](?=\w)|(?<=[\w.,!?])[’](?![\w])")
_SINGLE = re.compile(
    r"""(?:(?<=\s)|(?<=\()|\A)'(?=[^\W\d_]|\[)
    ((?:[^'“”"]|(?<=\w)'(?=\w)|(?<=s)'(?=\ [a-z])){20,2000})'(?=[.,;:)\]]|\s{1,3}[(\[\^]|\s{0,3}\Z)""",
    re.VERBOSE,
)
"""In straight single marks, where a citation, a stop or nothing follows: else they may be apostrophes."""
_CLOSERS = {"“": '”"', "„": '“”‟"', "«": "»", "»": "«", "‹": "›", '"': '"', "``": ("''"), "‘": "’", "‟": "”"}
_SIGNS = ("—", "–", "-- ", "- ")
_BLOCK = re.compile(r"[ \t]{0,3}>[ \t]?")


def quoted_spans(text: str, blocks: Sequence[Paragraph]) -> list[Span]:
    """What stands between quotation marks or in quoted paragraphs, without the marks, in order."""
    return [
        span
        for one in blocks
        for span in (_in_block if one.is_quoted else _in_paragraph)(text, Span(one.start, one.end))
    ]


def _in_block(text: str, block: Span) -> Sequence[Span]:
    """The quoted block itself, or what is quoted in most of it: "> Berg writes: “…”"."""
    spans = _in_paragraph(text, block)
    return spans if 2 * sum(one.end - one.start for one in spans) > block.end - block.start else [block]


def _in_paragraph(text: str, paragraph: Span) -> Sequence[Span]:
    if spans := [*_in_clear_marks(text, paragraph)]:
        return spans
    whole = text[slice(*paragraph)] if "'" in text[slice(*paragraph)] else ""
    return [Span(*(paragraph.start + at for at in found.span(1))) for found in _SINGLE.finditer(whole)]


def _in_clear_marks(text: str, paragraph: Span) -> Iterator[Span]:
    opened: re.Match[str] | None = None
    for mark in _MARKS.finditer(text, paragraph.start, paragraph.end):
        if opened is None:
            opened = mark if _opens(text, mark) else None
        elif mark[0] in _CLOSERS[opened[0]] and _closes(text, mark):
            if mark.start() - opened.end() <= _LONGEST:
                yield Span(opened.end(), mark.start())
            opened = None
        elif mark[0] == opened[0] and mark.start() - opened.end() > _LONGEST:
            opened = mark


def _opens(text: str, mark: re.Match[str]) -> bool:
    if mark[0] not in _CLOSERS or (mark[0] == "»" and "«" in text[mark.end() : mark.end() + 1]):
        return False
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return mark[0] != '"' or (not before.isalnum() and not after.isspace() and after != "")


def _closes(text: str, mark: re.Match[str]) -> bool:
    after = text[mark.end() : mark.end() + 1]
    return mark[0] not in ('"', "’") or not after.isalpha()


def quoted_words(quotation: str) -> str:
    """A quotation on one line, without the marks of quoted blocks, markup, and quotation marks around it."""
    lines = [_BLOCK.sub("", line) for line in quotation.strip().split("\n")]
    kept = lines[:-1] if len(lines) > 1 and lines[-1].startswith(_SIGNS) else lines
    plain = "\n".join(kept)
    return claim_of(plain).strip(" \"“”„«»‹›'’‘")


def attributed(quotes: Sequence[Span], sentences: Sequence[Span], cites: Citations) -> Iterator[tuple[int, ...]]:
    """The references that each quotation is attributed to: those cited right behind it, or else before it in its
    sentence, in the rest of it, in the sentence that introduces it, or in the one that follows it."""
    for number, quote in enumerate(quotes):
        first = max(0, bisect_right(sentences, Span(quote.start, _FAR)) - 1)
        last = max(first, bisect_right(sentences, Span(quote.end, _FAR)) - 1)
        if not sentences:
            yield cites.within(quote.start, quote.end)
            continue
        before = quotes[number - 1].end if number else 0
        low, high = sentences[first].start, max(sentences[last].end, quote.end)
        yield (
            cites.right_behind(quote.end)
            or cites.in_block(quote.start, quote.end)
            or cites.within(max(low, before), quote.start, last=True)
            or cites.within(quote.start, high)
            or cites.within(low, high)
            or cites.within(*sentences[max(0, first - 1)])
            or cites.within(*sentences[min(last + 1, len(sentences) - 1)])
        )


_FAR = 1 << 60
