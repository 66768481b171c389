"""Verbatim quotations from the parts of a long text, each with the anchor of exactly the paragraphs that it quotes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from deepcritical_mcp.evidence.chunking import Passage, anchor_at, is_heading, is_table, own_span, paragraph_spans
from deepcritical_mcp.excerpts import GAP, Span, sentences
from deepcritical_mcp.models import PARAGRAPH_BREAK, Part, PartKind, Text


class Quotation(NamedTuple):
    """What is quoted, with gaps marked, and the anchor of the paragraphs that it stands in."""

    content: str
    anchor: str


class PassagePage(NamedTuple):
    """Which passages an answer shows: about so many characters, at most `limit`, after the first `offset` of them."""

    characters: int = 3_000
    limit: int = 50
    offset: int = 0


FIRST_PAGE = PassagePage()


def page_of(lengths: Sequence[int], page: PassagePage) -> slice:
    """Which of what is ranked, of these lengths, stand on a page; at least one."""
    end, room = page.offset, page.characters
    while end < min(len(lengths), page.offset + page.limit) and (end == page.offset or lengths[end] <= room):
        room -= lengths[end]
        end += 1
    return slice(page.offset, end)


def by_place(passages: Sequence[Passage]) -> list[list[int]]:
    """The numbers of the passages in order, neighbors of one part of a text together."""
    keys = [(id(one.text), one.part.anchor if one.part else "") for one in passages]
    return [list(run) for _, run in groupby(range(len(passages)), key=keys.__getitem__)]


def together(passages: Sequence[Passage]) -> Quotation:
    """Passages of one part of a text, or of a text without parts, with gaps marked."""
    text, part = passages[0].text, passages[0].part
    spans = [Span(one.start, one.end) for one in passages]
    if part is None:
        return Quotation(_sentences_shown(text.content, Span(0, len(text.content)), sorted(spans))[1], "")
    return quotation(text, part, spans)


def with_neighbors(passage: Passage, length: int) -> Quotation:
    """A passage of a text with parts with the sentences around it in the same part, about `length` characters; rows of
    a table with its caption and header rows, a footnote with its table if that is short."""
    text, part, content = passage.text, passage.part, passage.text.content
    if part is None:
        return Quotation(passage.quotation, "")
    if passage.table is not None:
        return quotation(text, part, [Span(passage.start, passage.end)])
    if table := _table_above(passage, part, length):
        return quotation(text, part, [table, Span(passage.start, passage.end)])
    lowest, highest = _between_tables(passage, part)
    start, end = passage.start, passage.end
    first, last = max(lowest, start - length), min(highest, end + length)
    # What is cut off there is no sentence.
    before = [first + one.start for one in sentences(content[first:start])][first > lowest :]
    after = [end + one.end for one in sentences(content[end:last]) if end + one.end < last or last == highest]
    while before or after:
        if after and after[0] - start <= length:
            end = after.pop(0)
        elif before and end - before[-1] <= length:
            start = before.pop()
        else:
            break
    return Quotation(content[start:end].strip(), anchor_at(text, part, start, end))


def _table_above(passage: Passage, part: Part, length: int) -> Span | None:
    """The table that a passage is the footnote of, if it is no longer than `length`."""
    if part.kind != "table":
        return None
    content, found = passage.text.content, paragraph_spans(passage.text.content, own_span(passage.text, part))
    tables = [one for one in found if is_table(content[slice(*one)])]
    above = [one for one in tables if one.end <= passage.start][-1:]
    return above[0] if above and above[0].length <= length else None


def _between_tables(passage: Passage, part: Part) -> Span:
    """The paragraphs around a passage up to the next tables: rows would stand there without their header."""
    content, span = passage.text.content, own_span(passage.text, part)
    tables = [one for one in paragraph_spans(content, span) if is_table(content[slice(*one)])]
    start = max([span.start, *(one.end for one in tables if one.end <= passage.start)])
    return Span(start, min([span.end, *(one.start for one in tables if one.start >= passage.end)]))


def quotation(text: Text, part: Part, chosen: Sequence[Span]) -> Quotation:
    """Sentences of a part, in order, with gaps marked; rows of a table below its caption, its header and the row that
    is their heading."""
    content, chosen = text.content, sorted(chosen)
    found = paragraph_spans(content, own_span(text, part))
    quoted = [one for one in found if any(some.start < one.end and one.start < some.end for some in chosen)]
    tables = [one for one in quoted if is_table(content[slice(*one)])]
    pieces = [
        (one, _rows_shown(content, one, chosen)) if one in tables else _sentences_shown(content, one, chosen)
        for one in quoted
    ]
    if part.kind == "table" and tables and not is_table(content[slice(*found[0])]):
        pieces = [(found[0], content[slice(*found[0])]), *pieces[quoted[0] == found[0] :]]
    shown = pieces[0][1]
    for (last, _), (following, piece) in pairwise(pieces):
        gap = (GAP,) if content[last.end : following.start].strip() else ()
        shown = PARAGRAPH_BREAK.join((shown, *gap, piece))
    return Quotation(shown, anchor_at(text, part, quoted[0].start, quoted[-1].end))


def _sentences_shown(content: str, paragraph: Span, chosen: Sequence[Span]) -> tuple[Span, str]:
    """The chosen sentences of a paragraph, with gaps marked, and where they stand."""
    spans = [
        Span(max(one.start, paragraph.start), min(one.end, paragraph.end))
        for one in chosen
        if one.start < paragraph.end and paragraph.start < one.end
    ]
    shown = content[slice(*spans[0])].strip()
    for last, following in pairwise(spans):
        gap = f" {GAP} " if content[last.end : following.start].strip() else " "
        shown = f"{shown}{gap}{content[slice(*following)].strip()}"
    return Span(spans[0].start, spans[-1].end), shown


def _rows_shown(content: str, table: Span, chosen: Sequence[Span]) -> str:
    """The header and the chosen rows of a table, each below its heading, with gaps marked."""
    lines = content[slice(*table)].split("\n")
    shown, last, heading = lines[:2], 1, 1
    end = table.start + sum(len(line) + 1 for line in shown) - 1
    for number, line in enumerate(lines[2:], 2):
        start, end = end + 1, end + 1 + len(line)
        if any(one.start < end and start < one.end for one in chosen):
            for wanted in sorted({heading, number}):
                if wanted > last:
                    shown += [GAP] if wanted > last + 1 else []
                    shown.append(lines[wanted])
                    last = wanted
        if is_heading(line):
            heading = number
    return "\n".join(shown)


def paragraphs_read(paragraphs: Sequence[str], kind: PartKind, first: int, last: int) -> str:
    """The paragraphs `first` to `last` of a part, counted from 1; a table with its caption, which is the first."""
    chosen = paragraphs[first - 1 : last]
    if kind == "table" and first > 1 and any(map(is_table, chosen)) and not is_table(paragraphs[0]):
        chosen = [paragraphs[0], *([GAP] if first > 2 else []), *chosen]
    return PARAGRAPH_BREAK.join(one.strip() for one in chosen)
