"""Verbatim quotations from the parts of a long text, each with the anchor of exactly the paragraphs that it quotes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from deepcritical_mcp.evidence.chunking import Passage, anchor_at, is_heading, is_table, own_span, paragraph_spans
from deepcritical_mcp.excerpts import GAP, Span, sentences
from deepcritical_mcp.models import PARAGRAPH_BREAK, Part, PartKind, Text


class Quotation(NamedTuple):
    """What is quoted, with gaps marked, and the anchor of the paragraphs that it stands in."""

    content: str
    anchor: str


def with_neighbors(passage: Passage, length: int, others: Iterable[Passage] = ()) -> Quotation:
    """A passage of a text with parts with the sentences around it in the same part, about `length` characters; rows of
    a table with its caption and header rows, a footnote with its table if that is short. What `others` quote is left to
    them."""
    text, part, content = passage.text, passage.part, passage.text.content
    if part is None:
        return Quotation(passage.quotation, "")
    if passage.table is not None:
        return quotation(text, part, [Span(passage.start, passage.end)])
    taken = [one for one in others if one.text is text]
    if table := _table_above(passage, part, length, taken):
        return quotation(text, part, [table, Span(passage.start, passage.end)])
    run = _between_tables(passage, part)
    lowest = max([run.start, *(one.end for one in taken if one.end <= passage.start)])
    highest = min([run.end, *(one.start for one in taken if one.start >= passage.end)])
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


def _table_above(passage: Passage, part: Part, length: int, others: Sequence[Passage]) -> Span | None:
    """The table that a passage is the footnote of, if it is no longer than `length` and none of `others` quotes it."""
    if part.kind != "table":
        return None
    content, found = passage.text.content, paragraph_spans(passage.text.content, own_span(passage.text, part))
    tables = [one for one in found if is_table(content[slice(*one)])]
    above = [one for one in tables if one.end <= passage.start][-1:]
    is_quoted = any(one.start < table.end and table.start < one.end for table in above for one in others)
    return above[0] if above and not is_quoted and above[0].length <= length else None


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


def narrowed(text: Text, part: Part, shown: Quotation) -> Quotation:
    """`shown`, of which some sentences were left out, with the anchor of the paragraphs that are still quoted."""
    own = own_span(text, part)
    at, spans = own.start, list[Span]()
    for piece in filter(None, (one.strip() for one in shown.content.split(GAP))):
        start = text.content.find(piece, at, own.end)
        if start < 0:
            return shown
        at = start + len(piece)
        spans.append(Span(start, at))
    return Quotation(shown.content, anchor_at(text, part, spans[0].start, at)) if spans else shown
