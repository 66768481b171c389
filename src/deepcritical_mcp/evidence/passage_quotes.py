"""Verbatim quotations from the parts of a long text, read by their anchors: "s3.2" a section with what is inside it,
"s3.2p4" or "s3.2p4-6" paragraphs of it. Each quotation has the anchor of exactly the paragraphs that it quotes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from deepcritical_mcp.evidence.chunking import (
    Passage,
    anchor_at,
    found_parts,
    is_heading,
    is_table,
    own_span,
    paragraph_spans,
)
from deepcritical_mcp.excerpts import GAP, Span, refers_back, sentences
from deepcritical_mcp.models import (
    PARAGRAPH_BREAK,
    DocumentPassage,
    Evidence,
    ParagraphAnchor,
    Part,
    PartKind,
    Publication,
    Text,
    own_spans,
    split_paragraph_anchor,
    split_text_id,
    with_descendants,
)

MAX_TABLE_NOTES = 600
"""Characters of the notes below a table that are quoted with its rows."""
MAX_PARTS_QUOTED = 3
"""Quotations of one text, each from another part of it."""


class TextPlace(NamedTuple):
    """Where to look: a publication, or one of its texts ("pubmed:1~2"), or what an anchor of that leads to."""

    id: str
    anchor: str = ""


@dataclass(frozen=True)
class Searched:
    """What is searched of a text for a place: some of its parts, each with what is searched of it."""

    text: Text
    parts: Sequence[tuple[Part, Span]] = ()

    @property
    def content(self) -> str:
        """All of it."""
        return PARAGRAPH_BREAK.join(self._contents) if self.parts else self.text.content

    @property
    def _contents(self) -> list[str]:
        return [self.text.content[slice(*span)] for _, span in self.parts]

    def answers(self, chosen: Sequence[Span], quoted: str) -> Iterator[tuple[str, dict[str, object]]]:
        """The chosen sentences of `content`, verbatim, best first: `quoted`, or by the parts that they stand
        in, each with its place as `Evidence` has it."""
        if not self.parts:
            yield quoted, {}
            return
        by_part: dict[int, list[Span]] = {}
        starts = [0]
        for one in self._contents:
            starts.append(starts[-1] + len(one) + len(PARAGRAPH_BREAK))
        for start, end in chosen:
            number = next(at for at, first in enumerate(starts) if first > start) - 1
            offset = self.parts[number][1].start - starts[number]
            end = min(end + offset, self.parts[number][1].end)
            by_part.setdefault(number, []).append(Span(start + offset, end))
        for number, spans in list(by_part.items())[:MAX_PARTS_QUOTED]:
            part = self.parts[number][0]
            content, anchor = quotation(self.text, part, spans)
            yield content, {"section": part.path, "anchor": anchor}


def searched_at(publication: Publication, text: Text | None, place: TextPlace) -> list[Searched]:
    """What is searched for a place of a publication: all of its texts, unless the place names one, `text`."""
    if place.anchor:
        return [Searched(text, parts)] if text and (parts := _parts_at(text, place.anchor)) else []
    is_named = place.id != publication.id and split_text_id(place.id)[0] != place.id
    texts = ([text] if text else []) if is_named else publication.texts
    found = [Searched(one, tuple(found_parts(one))) for one in texts]
    return [one for one in found if one.parts or not one.text.parts]


def _parts_at(text: Text, anchor: str) -> list[tuple[Part, Span]]:
    name, first, last = split_paragraph_anchor(anchor)
    parts = [(one, own_span(text, one)) for one in with_descendants(text.parts, name)]
    if first and parts:
        part, own = parts[0]
        some = paragraph_spans(text.content, own)[first - 1 : last]
        return [(part, Span(some[0].start, some[-1].end))] if some else []
    return [(part, own) for part, own in parts if text.content[slice(*own)].strip()]


MAX_SECTION = 3_000
"""Characters of a section in an answer to a search."""
MAX_NAMED_INSIDE = 10
"""Parts inside another that an error names."""


def excerpt(text: Text, anchor: str) -> tuple[Part, str, int] | None:
    """The part with that anchor, what it says, verbatim, together with the parts inside it, or the paragraphs, a table
    with its caption, and where that begins in the text's content; None if there is none."""
    name, first, last = split_paragraph_anchor(anchor)
    spans = {part.anchor: (part, Span(start, end)) for part, start, end in own_spans(text.parts, len(text.content))}
    if name not in spans:
        return None
    part, own = spans[name]
    if first:
        found = paragraph_spans(text.content, own)
        if not first <= last <= len(found):
            return None
        content = paragraphs_read([text.content[slice(*one)] for one in found], part.kind, first, last)
        return part, content, found[last - 1].end - len(content)
    end = max(spans[one.anchor][1].end for one in with_descendants(text.parts, name))
    return part, text.content[own.start : end].strip(), own.start


def no_such_part(id: str, text: Text, anchor: str) -> str:
    """That the text `id` has nothing at `anchor`, with the anchors that may have been meant, nearest first."""
    name, first, _ = split_paragraph_anchor(anchor)
    for part, start, end in own_spans(text.parts, len(text.content)):
        if part.anchor == name and first:
            count = len(paragraph_spans(text.content, Span(start, end)))
            if not count:
                return f"{id}: " + no_paragraphs(name, [one.anchor for one in text.parts if one.parent == name])
            return f"{id} has no part {anchor}. The nearest: {name}p{count}, {name}."
    known = [part.anchor for part in text.parts]
    nearest = ", ".join(get_close_matches(name, known, n=3, cutoff=0.3) or known[:3])
    advice = f"The nearest: {nearest}." if known else "It has no sections: read it without @."
    return f"{id} has no part {anchor}. {advice}"


def no_paragraphs(anchor: str, inside: Sequence[str]) -> str:
    """That a part has only other parts inside."""
    where = f": its text is in {', '.join(inside[:MAX_NAMED_INSIDE])}" if inside else ""
    return f"{anchor} has no paragraphs of its own{where}."


def with_sections(items: Sequence[Evidence], texts: Sequence[tuple[Publication, Text] | None]) -> list[Evidence]:
    """Passages of long texts by the sections that they belong to, each section once, at most about `MAX_SECTION`
    characters of it; other evidence as it is. `texts` are those of the items."""
    shown: dict[tuple[str, str], Evidence] = {}
    for item, found in zip(items, texts, strict=True):
        anchor = split_paragraph_anchor(item.anchor)
        if found is None or not anchor.first:
            shown[item.id, ""] = item
        elif (item.id, anchor.part) not in shown:
            shown[item.id, anchor.part] = _by_section(item, found[1], anchor)
    return list(shown.values())


def _by_section(item: Evidence, text: Text, anchor: ParagraphAnchor) -> Evidence:
    """The paragraphs of its section around a passage; a mark names the call that gives the whole section."""
    name = anchor.part
    part = next(one for one in text.parts if one.anchor == name)
    found = paragraph_spans(text.content, own_span(text, part))
    first, last = anchor.first - 1, anchor.last - 1
    while last + 1 < len(found) and found[last + 1].end - found[first].start <= MAX_SECTION:
        last += 1
    while first > 0 and found[last].end - found[first - 1].start <= MAX_SECTION:
        first -= 1
    content = text.content[found[first].start : found[last].end]
    if len(content) > MAX_SECTION:
        content = item.content
    if left := found[-1].end - found[0].start - len(content):
        content = f'{content}\n\n[… {left:,} characters left out: get_evidence ids=["{item.id}@{name}"] …]'
    return item.but(content=content, section=part.path, anchor=name)


class Quotation(NamedTuple):
    """What is quoted, with gaps marked, and the anchor of the paragraphs that it stands in."""

    content: str
    anchor: str


def _texts_length(shown: Sequence[DocumentPassage | Evidence]) -> int:
    return sum(len(one.text if isinstance(one, DocumentPassage) else one.content) for one in shown)


class PassagePage(NamedTuple):
    """Which passages an answer shows: about so many characters, at most `limit`, after the first `offset` of them.
    `length` says how many characters an answer with these passages has: `Evidence` of a session, or those of a text.
    Of a text, only passages with `wanted` anchors are shown."""

    characters: int = 3_000
    limit: int = 50
    offset: int = 0
    length: Callable[[Sequence[Any]], int] = _texts_length
    wanted: Callable[[str], bool] | None = None


FIRST_PAGE = PassagePage()
NEAREST_SHOWN = 3
"""Items or passages shown for a question to which nothing in a session or text is close."""


def nothing_close(where: str, shown: str) -> str:
    """The warning that goes with them, e.g. for a "session" whose nearest "evidence" is shown."""
    return (
        f"Nothing in this {where} is close to the question. What is shown is only the nearest {shown}, not an answer."
    )


def page_of(count: int, page: PassagePage, length: Callable[[slice], int]) -> slice:
    """Which of `count` ranked passages stand on a page: at least one, and so many that its length is as near as
    possible to `page.characters`."""
    first, last = page.offset, min(count, page.offset + page.limit)
    if page.characters == sys.maxsize:
        return slice(first, max(first, last))

    @cache
    def missed(end: int) -> int:
        """By how many characters such a page is too long."""
        return length(slice(first, end)) - page.characters

    end = min(first + 1, last)
    # Measuring a page means writing it, so most passages are skipped by the average length of those before.
    while end < last and (more := -missed(end) * (end - first) // max(missed(end) + page.characters, 1)) > 0:
        end = min(end + more, last)
    while end < last and missed(end + 1) <= -missed(end):
        end += 1
    while end > first + 1 and missed(end) > -missed(end - 1):
        end -= 1
    return slice(first, max(first, end))


def together(passages: Sequence[Passage]) -> Quotation:
    """Passages of one part of a text, or of a text without parts, with gaps marked."""
    text, part = passages[0].text, passages[0].part
    spans = [Span(one.start, one.end) for one in passages]
    if not passages[0].end:  # a title
        return Quotation("", "")
    if part is None:
        return Quotation(_sentences_shown(text.content, Span(0, len(text.content)), sorted(spans))[1], "")
    return quotation(text, part, spans)


def with_neighbors(passage: Passage, length: int) -> Quotation:
    """A passage of a text with parts with the sentences around it in the same part, about `length` characters; rows of
    a table with its caption and header rows, a footnote with its table if that is short."""
    text, part, content = passage.text, passage.part, passage.text.content
    if part is None:
        return Quotation(passage.quotation, "")
    own = Span(passage.start, passage.end)
    found = paragraph_spans(content, own_span(text, part))
    tables = [one for one in found if is_table(content[slice(*one)])]
    above, below = [one for one in tables if one.end <= own.start], [one for one in tables if one.start >= own.end]
    if passage.table is not None:
        return quotation(text, part, [own])
    if part.kind == "table" and above and above[-1].length <= length:
        return quotation(text, part, [above[-1], own])
    # Up to the next tables: rows would stand there without their header.
    lowest = above[-1].end if above else own_span(text, part).start
    highest = below[0].start if below else own_span(text, part).end
    start, end = own
    first, last = max(lowest, start - length), min(highest, end + length)
    # A fragment that is cut off there is not a sentence.
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


def quotation(text: Text, part: Part, chosen: Sequence[Span]) -> Quotation:
    """Sentences of a part, in order, with gaps marked, each with the one before it if it refers back to that; rows of a
    table below the row that is their heading, its header and its caption, and above its notes if these are short."""
    content, chosen = text.content, sorted(chosen)
    found = paragraph_spans(content, own_span(text, part))
    tables = [one for one in found if is_table(content[slice(*one)])]
    chosen = [one if part.kind == "table" else _with_antecedent(content, found, one) for one in chosen]
    quoted = [one for one in found if any(some.start < one.end and one.start < some.end for some in chosen)]
    around = _around_rows(found, tables, quoted) if part.kind == "table" else []

    def piece(one: Span) -> tuple[Span, str]:
        if one in around:
            return one, content[slice(*one)].strip()
        return (one, _rows_shown(content, one, chosen)) if one in tables else _sentences_shown(content, one, chosen)

    pieces = [piece(one) for one in sorted({*quoted, *around})]
    shown = pieces[0][1]
    for (last, _), (following, added) in pairwise(pieces):
        gap = (GAP,) if content[last.end : following.start].strip() else ()
        shown = PARAGRAPH_BREAK.join((shown, *gap, added))
    return Quotation(shown, anchor_at(text, part, quoted[0].start, pieces[-1][0].end))


def _around_rows(paragraphs: Sequence[Span], tables: Sequence[Span], quoted: Sequence[Span]) -> list[Span]:
    """The caption above rows of a table that are quoted, and the notes below it up to the next table if these are
    short."""
    if not (rows := [one for one in quoted if one in tables]):
        return []
    below = next((one.start for one in tables if one.start > rows[-1].start), paragraphs[-1].end)
    notes = [one for one in paragraphs if rows[-1].end <= one.start < below]
    is_short = sum(one.length for one in notes) <= MAX_TABLE_NOTES
    return [*(paragraphs[:1] if paragraphs[0] not in tables else []), *(notes if is_short else [])]


def _with_antecedent(content: str, paragraphs: Sequence[Span], chosen: Span) -> Span:
    """What is chosen of a paragraph, with the sentence before it if it refers back to that."""
    start = next((one.start for one in paragraphs if one.start < chosen.start < one.end), chosen.start)
    before = sentences(content[start : chosen.start])
    return Span(start + before[-1].start, chosen.end) if before and refers_back(content, chosen.start) else chosen


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
        rest = content[max(last.end, following.start) : following.end].strip()
        shown = f"{shown}{gap}{rest}" if rest else shown
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
