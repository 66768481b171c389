"""Readers of documents: JATS, web pages and PDFs become paragraphs in sections.

`reader_process` reads documents in processes of their own (`reader_child`). `jats` reads articles: `xml_tree` parses,
`jats_sections`, `jats_tables` and `jats_text` read their text.
`web_page` reads pages, `page_metadata` what they say about themselves, `pdf` files, and `user_text` what users paste.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import NamedTuple, cast

from deepcritical_mcp.models import PARAGRAPH_BREAK, DocumentStatus, Part, PartKind
from deepcritical_mcp.text import clean_text, clipped

MAX_CHARACTERS = 400_000
"""Of one text, which may cost a session 8 MB with its vectors; the longest article recorded for tests has 190,780."""
MAX_PARAGRAPHS = 9_999
"""What an anchor can count; see `models.evidence.ANCHOR`."""
MAX_PARTS = 2_000
MAX_TITLE = 300
"""Characters of the title of a part."""
MAX_ABSTRACT = 50_000
MAX_FIELD = 5_000
"""Characters of what a document says about itself, such as its title."""
MAX_LIST = 100_000
"""Characters of a list of such things, such as its authors."""
MAX_PADDED = 500_000
"""Cells of a table up to which short rows are filled up; GitHub's Markdown lets them be short."""
TABLE_CAPTION = re.compile(r"(?:supplementary |appendix )?table\b", re.IGNORECASE)


@dataclass(frozen=True)
class Section:
    """A part of a document as its reader found it: see `Part`, and its own paragraphs.

    A paragraph is a paragraph of text, an item of a list, a row of references, a caption, or a whole table in Markdown.
    """

    anchor: str
    paragraphs: Sequence[str]
    kind: PartKind = "section"
    path: tuple[str, ...] = ()
    parent: str = ""


@dataclass(frozen=True)
class Reading:
    """What a reader made of a document. The `fields` of an article in JATS are ready for
    `Publication.of("full_text", content, provider=…, **fields)`; without a body it has no content, but fields and an
    abstract.

    Attributes:
        content: the paragraphs, with `PARAGRAPH_BREAK` between them; "" if the document has no text.
        parts: where each section begins.
        fields: what the document says about itself, as fields of `Publication`, e.g. {"title": …, "pmcid": …}.
        abstract: the main abstract, which is not in `content`; "" if there is none.
        licence: as the document says it; "" if it does not.
        is_ocr: whether the text was read from scanned pages by a machine.
        remarks: what a reader of the text must know, e.g. that formulas could not be read.
        is_withheld: whether the publisher does not let the provider pass on the text.
    """

    content: str
    parts: tuple[Part, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict[str, object])
    abstract: str = ""
    licence: str = ""
    is_ocr: bool = False
    remarks: tuple[str, ...] = ()
    is_withheld: bool = False


@dataclass(frozen=True)
class PageReading:
    """A web page, text file or PDF as it was read.

    Attributes:
        status: whether it shows the text, only an abstract, a request to pay or log in ("not_allowed"), or nothing.
        detail: a sentence for people that says why; "" for a whole text.
        copies: addresses of the same text elsewhere, as the page names them: a PDF, the page it leads to.
    """

    reading: Reading
    status: DocumentStatus
    detail: str = ""
    copies: tuple[str, ...] = ()


class Block(NamedTuple):
    """A heading of a level (1 is the highest), a paragraph (level 0), or a table: its caption, and what stands below
    that."""

    text: str
    level: int = 0
    table: tuple[str, ...] | None = None


def with_text(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, except headings with no text below them."""
    kept: list[Block] = []
    below = 0  # the level of the heading that follows; above all levels if a text does
    for block in reversed(blocks):
        if not block.level or block.level < below:
            kept.append(block)
            below = block.level or MAX_PARTS
    return kept[::-1]


def outline(blocks: Iterable[Block]) -> list[Section]:
    """A section for each heading, inside those of a higher level, and one for each table, after the text of the section
    that it stands in: "s0" is what stands before the first heading, "s2.1" the first section in the second."""
    own, tables, number = list[str](), list[Section](), 0
    found, levels, counts = [Section("s0", own)], list[tuple[int, Section]](), Counter[str]()
    for block in blocks:
        if block.level:
            found += tables
            own, tables = list[str](), []
            levels = [one for one in levels if one[0] < block.level]
        parent, path = (levels[-1][1].anchor, levels[-1][1].path) if levels else ("", ())
        if block.table is not None:
            number += 1
            name = f"Table {number}"
            is_named = not block.text or TABLE_CAPTION.match(block.text)
            caption = block.text if is_named else f"{name}. {block.text}"
            tables.append(Section(f"t{number}", [caption, *block.table], "table", (*path, name), parent))
        elif block.level:
            counts[parent] += 1
            anchor = f"{parent}.{counts[parent]}" if parent else f"s{counts[parent]}"
            found.append(Section(anchor, own, path=(*path, block.text), parent=parent))
            levels.append((block.level, found[-1]))
        else:
            own.append(block.text)
    return [one for one in (*found, *tables) if one.paragraphs or one.path]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    width = max(map(len, (header, *rows)))
    least = width if width * len(rows) < MAX_PADDED else 0
    filled = [[*header, *[""] * (width - len(header))], ["---"] * width]
    filled += [[*row, *[""] * (least - len(row))] for row in rows]
    lines = (" | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row) for row in filled)
    return "\n".join(f"| {line} |" for line in lines)


def assembled(sections: Sequence[Section]) -> tuple[str, tuple[Part, ...]]:
    """The content and the parts of a document; sections without text of their own are kept if they have a title."""
    paragraphs, found, position = list[str](), list[tuple[Section, int]](), 0
    for section in sections:
        # without blank lines inside a paragraph
        blocks = ((line.rstrip() for line in clean_text(text).split("\n")) for text in section.paragraphs)
        own = [block for lines in blocks if (block := "\n".join(filter(None, lines)))]
        if own or any(section.path):
            found.append((section, position))
            paragraphs += own
            position += sum(len(one) + len(PARAGRAPH_BREAK) for one in own)
    content = PARAGRAPH_BREAK.join(paragraphs)
    return content, tuple(
        Part(anchor=one.anchor, kind=one.kind, path=one.path, start=min(start, len(content)), parent=one.parent)
        for one, start in found[: MAX_PARTS + 1]  # `bounded` cuts the text where the next one begins
    )


def bounded(reading: Reading) -> Reading:
    """A reading that costs no more to keep and to search than a long document does; remarks say what was cut of it."""
    paths = ((one, tuple(clipped(title, MAX_TITLE) for title in one.path)) for one in reading.parts[: MAX_PARTS + 1])
    parts = [part.but(path=path) for part, path in paths]
    titles = accumulate(sum(map(len, part.path)) for part in parts)
    most = next((n for n, length in enumerate(titles) if n == MAX_PARTS or length > MAX_CHARACTERS), len(parts))
    end = _end(reading.content, min([MAX_CHARACTERS, *(part.start for part in parts[most : most + 1])]))
    whole = {"abstract": reading.abstract, **reading.fields}
    said = {name: _shortened(value, MAX_ABSTRACT if name == "abstract" else MAX_FIELD) for name, value in whole.items()}
    remarks = [*reading.remarks]
    if end < len(reading.content):
        remarks.append(
            f"This text is too long to be kept whole: the first {end:,} of its {len(reading.content):,} characters are."
        )
    if cut := [name for name, value in said.items() if value != whole[name]]:
        remarks.append(f"What it says about itself is too long to be kept whole: {', '.join(cut)}.")
    kept = tuple(part for part in parts[:most] if part.start < end or end == len(reading.content))
    abstract, licence = str(said.pop("abstract")), clipped(reading.licence, MAX_FIELD)
    content, told = reading.content[:end], tuple(remarks)
    return replace(reading, content=content, parts=kept, abstract=abstract, fields=said, licence=licence, remarks=told)


def _end(content: str, most: int) -> int:
    """Where a text of at most so many characters ends: with a paragraph if it can, else with a line or a word."""
    breaks = (found.start() for found in re.finditer(PARAGRAPH_BREAK, content))
    most = min(next(islice(breaks, MAX_PARAGRAPHS - 1, None), most), most)
    if len(content) <= most:
        return len(content)
    found = (content.rfind(mark, most - most // 10, most + 1) for mark in (PARAGRAPH_BREAK, "\n", " "))
    return next((at for at in found if at >= 0), most)


def _shortened(value: object, most: int) -> object:
    if not isinstance(value, tuple):
        return clipped(value, most) if isinstance(value, str) else value
    values = cast("tuple[object, ...]", value)
    lengths = accumulate(len(str(one)) for one in values)
    return values[: next((n for n, length in enumerate(lengths) if length > MAX_LIST), len(values))]
