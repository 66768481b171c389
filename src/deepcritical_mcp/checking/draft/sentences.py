"""The running text of a draft: its sentences, what they claim, and its quotations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from deepcritical_mcp.checking.draft.citations import Citations
from deepcritical_mcp.checking.draft.draft_parts import Block, Mark
from deepcritical_mcp.checking.draft.printed_pages import blanked
from deepcritical_mcp.excerpts import Span, whole_sentences
from deepcritical_mcp.text import clean_line

LEAST_QUOTED = 4
"""Words of a quotation that something is cited for."""
_EMPTY = re.compile(
    r"\s{0,20}[(\[](?!\s?\.\s?\.)\s{0,9}(?:(?:see(?: also)?|e\.g\.,?|for (?:a )?reviews?,?|pp?\. ?[0-9–-]{1,12}"
    r"|in press|and references therein|but see|as in|by|in|from|cf\.|reviewed in|and|PMIDs?:?|doi:?|refs?\.?|[,;.&])"
    r"\s{0,9}){0,9}[)\]]|\s{1,20}(?=[.,;:!?)\]])"
)
"""Brackets from which marks are taken, and the blanks that these leave."""
_QUOTES = re.compile(r"[“”„‟\"«»‹›「」]|``|''|(?<![\w’])[‘](?=\w)|(?<=[\w.,!?-])[’](?![\w])")
_CLOSERS = {"“": '”"', "„": "“‟”", "«": "»", "»": "«", "‹": "›", '"': '"', "``": "''", "‘": "’", "‟": "”", "「": "」"}
_LONGEST = 2_000
_LEAST_LENGTH = 8
"""Characters of a quotation."""
_SIGNS = ("—", "–", "-- ", "- ")
_FAR = 1 << 60


class DraftPassage(NamedTuple):
    """A block in the running text, and where it stands there."""

    start: int
    end: int
    block: Block


class RunningText:
    """The text of a draft without its references: that of its blocks, with an empty line between them."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        parts, passages, marks, at = list[str](), list[DraftPassage](), list[Mark](), 0
        for block in blocks:
            passages.append(DraftPassage(at, at + len(block.text), block))
            marks += (replace(one, start=one.start + at, end=one.end + at) for one in block.marks)
            parts.append(block.text)
            at += len(block.text) + 2
        self.text, self.passages, self.marks = "\n\n".join(parts), passages, marks

    def after(self, start: int) -> int:
        """Where in this text stands what follows a place of the draft."""
        return next((one.start for one in self.passages if one.block.start >= start), len(self.text))

    def sentences(self, citations: Citations) -> list[Span]:
        """The sentences, without quoted blocks. A mark belongs to the sentence that it follows, also behind the full
        stop: "in mice.1 Then"."""
        marks = ((one.start, one.end) for one in citations.all if one.is_mark)
        bare = blanked(self.text, marks)
        return [
            Span(one.start + part.start, one.start + part.end)
            for one in self.passages
            if not one.block.is_quotation and one.block.kind in ("paragraph", "item", "note")
            for part in whole_sentences(bare[one.start : one.end].replace("\n", " "))
        ]

    def claim(self, span: Span, citations: Citations) -> str:
        """What a sentence or a row says without marks and empty brackets."""
        plain = blanked(self.text[slice(*span)], citations.marks(*span))
        if "\t" in plain:  # a row of a table
            cells = (clean_line(cell) for cell in plain.split("\t"))
            plain = "; ".join(cell for cell in cells if any(map(str.isalnum, cell)))
        return clean_line(_EMPTY.sub("", _EMPTY.sub("", clean_line(plain)))).strip(" ,;")

    def quotations(self) -> list[Span]:
        """What stands between quotation marks, or in quoted blocks, without the marks, in order."""
        found = list[Span]()
        for one in self.passages:
            span = Span(one.start, one.end)
            within = [] if one.block.kind in ("heading", "code") else [*self._in_marks(span)]
            if one.block.is_quotation and 2 * sum(part.length for part in within) <= span.length:
                within = [Span(span.start, span.end - len(_signature(one.block.text)))]
            found += (part for part in within if part.length > _LEAST_LENGTH)
        return found

    def _in_marks(self, span: Span) -> Iterator[Span]:
        opened: re.Match[str] | None = None
        for mark in _QUOTES.finditer(self.text, *span):
            if opened is None:
                opened = mark if _opens(self.text, mark) else None
            elif mark[0] in _CLOSERS[opened[0]] and _closes(self.text, mark):
                if mark.start() - opened.end() <= _LONGEST:
                    yield Span(opened.end(), mark.start())
                opened = None
            elif mark[0] == opened[0] and mark.start() - opened.end() > _LONGEST:
                opened = mark


def _signature(quotation: str) -> str:
    """The last line of a quoted block, if it says who is quoted."""
    head, _, last = quotation.rpartition("\n")
    return last if head and last.lstrip().startswith(_SIGNS) else ""


def _opens(text: str, mark: re.Match[str]) -> bool:
    if mark[0] not in _CLOSERS or (mark[0] == "»" and "«" in text[mark.end() : mark.end() + 1]):
        return False
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return mark[0] != '"' or (not before.isalnum() and not after.isspace() and after != "")


def _closes(text: str, mark: re.Match[str]) -> bool:
    return mark[0] not in ('"', "’") or not text[mark.end() : mark.end() + 1].isalpha()


def attributed(
    quotes: Sequence[Span], sentences: Sequence[Span], passages: Sequence[DraftPassage], cites: Citations
) -> Iterator[tuple[int, ...]]:
    """The references that each quotation is attributed to: those cited right behind it, or else in its quoted block,
    before it in its sentence, in the rest of it, in the sentence that introduces it, or in the one that follows it."""
    blocks = {one.start: one.end for one in passages if one.block.is_quotation}
    for number, quote in enumerate(quotes):
        first = max(0, bisect_right(sentences, Span(quote.start, _FAR)) - 1)
        last = max(first, bisect_right(sentences, Span(quote.end, _FAR)) - 1)
        in_block = cites.within(quote.start, blocks.get(quote.start, quote.start))
        if not sentences or in_block:
            yield in_block or cites.within(quote.start, quote.end)
            continue
        before = quotes[number - 1].end if number else 0
        low, high = sentences[first].start, max(sentences[last].end, quote.end)
        yield (
            cites.right_behind(quote.end)
            or cites.within(max(low, before), quote.start, last=True)
            or cites.within(quote.start, high)
            or cites.within(low, high)
            or cites.within(*sentences[max(0, first - 1)])
            or cites.within(*sentences[min(last + 1, len(sentences) - 1)])
        )
