"""Which parts of a publication are embedded, which are indexed by words, and which of a session's are searched.

Texts without parts, such as abstracts and notes, are short: they are embedded one by one, and indexed by words
together. Texts with parts, such as full texts, are embedded and indexed as passages of about 120 tokens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp.excerpts import Span, sentences
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    PARAGRAPH_BREAK,
    CitationSource,
    ParagraphAnchor,
    Part,
    Publication,
    PublicationStatus,
    Text,
    TextKind,
    matches_mark,
    own_spans,
)

WHOLE_LIMIT = 4_000
"""Texts without parts up to this many characters get a single vector: longer than nearly every abstract."""
CHUNK_LENGTH = 1_500
"""Characters per chunk: about the 256 tokens that the model reads."""
CHUNK_OVERLAP = 200
"""Characters that each chunk repeats from the previous one."""
PASSAGE_LENGTH = 360
"""Characters of a passage of a text with parts: about 120 tokens together with the titles in front of it."""
MAX_TOGETHER = 1_000
"""Characters of passages that are quoted together."""
MAX_HEADER = 300
"""Characters of a table's caption and header row that are embedded in front of its rows."""

_BREAK = re.compile(r"(?<=[.!?])\s|\n")
_SPACE = re.compile(r"\s")
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
"""The second line of a table in Markdown."""


class TableHead(NamedTuple):
    """What stands in front of rows of a table: where its header row is, its caption, and the last row above them with
    text in its first cell only, which is a heading of theirs."""

    header: Span
    caption: Span | None = None
    group: Span | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text that has a vector of its own.

    Attributes:
        title: the publication's, in front of what is embedded; "" for none.
        start, end: where it stands in the text's content.
        part: of a text with parts, the one that it belongs to; None for other texts.
        table: of rows of a table, what belongs in front of them.
    """

    text: Text
    title: str
    start: int
    end: int
    part: Part | None = None
    table: TableHead | None = None

    @property
    def quotation(self) -> str:
        """Its text, verbatim."""
        return self.text.content[self.start : self.end].strip()

    @property
    def content(self) -> str:
        """What is embedded: the title and the titles of the sections in front of the text."""
        if self.text.content == NO_ABSTRACT:
            return self.title
        above = (self.table.caption, self.table.header, self.table.group) if self.table else ()
        header = "".join(f"{self.text.content[slice(*span)].strip()[:MAX_HEADER]}\n" for span in above if span)
        path = " > ".join(self.part.path) if self.part else ""
        front = "".join(f"{one.rstrip('.')}. " for one in (self.title, path) if one)
        return f"{front}{header}{self.quotation}"

    @property
    def anchor(self) -> str:
        """The anchor of its paragraphs: "s1.2p4-5"; "" for a text without parts."""
        return anchor_at(self.text, self.part, self.start, self.end) if self.part else ""


def passages(publication: Publication) -> list[Passage]:
    """The passages of a publication, each embedded as one vector: first those of its short texts, then those of its
    texts with parts, so that a full text that joins an abstract does not change the abstract's place."""
    return [*short_passages(publication), *long_passages(publication)]


def long_passages(publication: Publication) -> Iterator[Passage]:
    """The passages of its texts with parts."""
    return (one for text in publication.texts if text.parts for one in _in_parts(publication, text))


def short_passages(publication: Publication) -> list[Passage]:
    """Title and content of each text without parts, split into overlapping chunks that repeat the title if the content
    is long. The statement that a publication has no abstract is not a passage if there is a full text; if nothing of
    that is searched either, the title is the passage."""
    found: list[Passage] = []
    for text in _short(publication):
        title = publication.title if text.content == NO_ABSTRACT else own_title(publication, text)
        is_whole = len(text.content) <= WHOLE_LIMIT
        spans = [Span(0, len(text.content))] if is_whole else _chunks(text.content)
        found += (Passage(text, title, *span) for span in spans)
    if not found and not any(next(found_parts(text), None) for text in publication.texts if text.parts):
        found = [Passage(publication.text, publication.title, 0, 0)]
    return found


def _short(publication: Publication) -> list[Text]:
    has_long = any(text.parts for text in publication.texts)
    return [text for text in publication.texts if not (text.parts or (has_long and text.content == NO_ABSTRACT))]


def indexed_text(publication: Publication) -> str:
    """The text by which a publication as a whole is indexed by words: its short texts; "" if it has only texts with
    parts."""
    texts = _short(publication)
    if not texts:
        return ""
    contents = [text.content for text in texts if text.content != NO_ABSTRACT]
    title = own_title(publication, texts[0])
    return "\n".join(filter(None, (title and f"{title}.", *contents))) or publication.title


def own_title(publication: Publication, text: Text) -> str:
    """The title, unless it is missing or the text begins with it."""
    title = publication.title
    if title == NO_TITLE or text.content.startswith(title.rstrip("….")):
        return ""
    return title.rstrip(".")


def _chunks(text: str) -> list[Span]:
    """Overlapping chunks of at most `CHUNK_LENGTH` characters, from a whole word to the end of a sentence if one is
    near."""
    chunks: list[Span] = []
    start = 0
    while len(text) - start > CHUNK_LENGTH:
        middle, limit = start + CHUNK_LENGTH // 2, start + CHUNK_LENGTH
        ends, space = [match.end() for match in _BREAK.finditer(text, middle, limit)], text.rfind(" ", middle, limit)
        end = ends[-1] if ends else space if space > 0 else limit
        chunks.append(Span(start, end))
        word = _SPACE.search(text, end - CHUNK_OVERLAP, end)
        start = max(word.end() if word else end - CHUNK_OVERLAP, start + 1)
    chunks.append(Span(start, len(text)))
    return [chunk for chunk in chunks if text[slice(*chunk)].strip()]


def found_parts(text: Text) -> Iterator[tuple[Part, Span]]:
    """The parts of a text that are searched, with their own spans: not lists of references, which would only match the
    titles of other papers, nor sub-articles, which say what others wrote or repeat the paper in another language."""
    outside: set[str] = set()
    for part, start, end in own_spans(text.parts, len(text.content)):
        if part.kind == "sub_article" or part.parent in outside:
            outside.add(part.anchor)
        elif part.kind != "references" and start < end:
            yield part, Span(start, end)


def searched(text: Text) -> str:
    """What is searched of a text: all of it, of a text with parts without lists of references and sub-articles."""
    if not text.parts:
        return text.content
    return PARAGRAPH_BREAK.join(text.content[slice(*span)].strip() for _, span in found_parts(text))


def paragraph_spans(content: str, span: Span) -> list[Span]:
    """The paragraphs of a part, in order."""
    found: list[Span] = []
    start = span.start
    while start < span.end:
        end = content.find(PARAGRAPH_BREAK, start, span.end)
        end = span.end if end < 0 else end
        if content[start:end].strip():
            found.append(Span(start, end))
        start = end + len(PARAGRAPH_BREAK)
    return found


def own_span(text: Text, part: Part) -> Span:
    """The span of a part's own text, without its sub-parts."""
    number = next(at for at, one in enumerate(text.parts) if one.start == part.start and one == part)
    following = text.parts[number + 1 : number + 2]
    return Span(part.start, following[0].start if following else len(text.content))


def anchor_at(text: Text, part: Part, start: int, end: int) -> str:
    """The anchor of the paragraphs of a part that contain the characters from `start` to `end`."""
    found = enumerate(paragraph_spans(text.content, own_span(text, part)), 1)
    numbers = [number for number, one in found if one.start < end and start < one.end]
    return str(ParagraphAnchor(part.anchor, numbers[0], numbers[-1]))


def is_table(paragraph: str) -> bool:
    """Whether a paragraph is a table in Markdown."""
    lines = paragraph.split("\n", 2)
    return len(lines) > 2 and bool(_RULE.fullmatch(lines[1].strip()))


def is_heading(row: str) -> bool:
    """Whether a row of a table has text in its first cell only."""
    first, *others = (cell.strip() for cell in row.strip().strip("|").split("|"))
    return bool(first) and bool(others) and not any(others)


def _in_parts(publication: Publication, text: Text) -> Iterator[Passage]:
    title = "" if publication.title == NO_TITLE else publication.title.rstrip(".")
    for part, span in found_parts(text):
        found = paragraph_spans(text.content, span)
        tables = {one for one in found if is_table(text.content[slice(*one)])}
        caption = found[0] if part.kind == "table" and found and found[0] not in tables else None
        run: list[Span] = []
        for one in found:
            if one in tables:
                yield from (Passage(text, title, *some, part) for some in _joined(text.content, run))
                run = []
                yield from (Passage(text, title, *some, part, head) for some, head in _rows(text.content, one, caption))
            elif not (one is caption and tables):
                run.append(one)
        yield from (Passage(text, title, *some, part) for some in _joined(text.content, run))


def _rows(content: str, table: Span, caption: Span | None) -> list[tuple[Span, TableHead]]:
    """The rows of a table, joined up to the length of a passage, and what belongs in front of them."""
    start, end = table
    header = content.index("\n", start, end) + 1
    first = content.index("\n", header, end) + 1
    made: list[tuple[Span, TableHead]] = []
    group: Span | None = None
    while first < end:
        last = content.find("\n", first, end) + 1 or end
        line = Span(first, last)
        if made and line.end - made[-1][0].start <= PASSAGE_LENGTH:
            made[-1] = Span(made[-1][0].start, line.end), made[-1][1]
        else:
            made.append((line, TableHead(Span(start, header - 1), caption, group)))
        group = line if is_heading(content[slice(*line)]) else group
        first = last
    return made


def _joined(content: str, found: Sequence[Span]) -> list[Span]:
    """Passages of paragraphs, neighbors joined."""
    return joined(piece for one in found for piece in _pieces(content, one))


def joined(pieces: Iterable[Span]) -> list[Span]:
    """Pieces of a text, neighbors joined up to the length of a passage."""
    made: list[Span] = []
    for piece in pieces:
        if made and piece.end - made[-1].start <= PASSAGE_LENGTH:
            made[-1] = Span(made[-1].start, piece.end)
        else:
            made.append(piece)
    return made


def _pieces(content: str, paragraph: Span) -> list[Span]:
    """A paragraph, cut between sentences into pieces of about the same length if it is too long for a passage."""
    start, end = paragraph
    if paragraph.length <= PASSAGE_LENGTH:
        return [paragraph]
    room = paragraph.length / math.ceil(paragraph.length / PASSAGE_LENGTH)
    made: list[Span] = []
    for one in sentences(content[start:end]):
        if made and start + one.start + one.length / 2 - made[-1].start <= room:
            made[-1] = Span(made[-1].start, start + one.end)
        else:
            made.append(Span(start + one.start, start + one.end))
    return made


def by_place(passages: Sequence[Passage]) -> list[list[int]]:
    """The numbers of the passages, those of one paragraph, of its neighbors, or of one table together, as far as they
    are short, where the first of them stands."""

    def length(number: int) -> int:
        return passages[number].end - passages[number].start

    groups: list[list[int]] = []
    for number, one in enumerate(passages):
        near = (some for some in groups if any(_belong_together(passages[other], one) for other in some))
        group = next((some for some in near if sum(map(length, (*some, number))) <= MAX_TOGETHER), None)
        if group:
            group.append(number)
        else:
            groups.append([number])
    return groups


def _belong_together(one: Passage, other: Passage) -> bool:
    first, second = sorted((one, other), key=lambda passage: passage.start)
    if one.text is not other.text or one.part != other.part:
        return False
    if one.table and other.table:
        return one.table.header == other.table.header
    if one.table or other.table or second.start - first.end > MAX_TOGETHER:
        return False
    return PARAGRAPH_BREAK not in one.text.content[first.end : second.start].strip()


@dataclass(frozen=True)
class Scope:
    """Which evidence is searched; None means any. The user's notes are texts of the source "user", also where they
    belong to another publication. `marked` is read by `matches_mark`."""

    source: CitationSource | None = None
    kind: TextKind | None = None
    status: PublicationStatus | None = None
    marked: str = ""

    def includes(self, publication: Publication) -> bool:
        """Whether it is searched."""
        is_in_source = self.source in (None, "user", publication.source)
        has_status = self.status is None or self.status == publication.status
        is_wanted = is_in_source and has_status and matches_mark(publication, self.marked)
        return is_wanted and any(map(self.includes_text, publication.texts))

    def includes_text(self, text: Text) -> bool:
        """Whether a text of such a publication is searched."""
        return self.kind in (None, text.kind) and (self.source != "user" or text.kind == "note")


EVERYTHING = Scope()
