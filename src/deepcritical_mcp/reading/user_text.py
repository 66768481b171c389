"""A user's own text, read into sections and paragraphs: Markdown, HTML, or plain text with headings.

Paragraphs stay as they were written; only the lines of a wrapped paragraph are joined. A note without marks of
headings or tables has no sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from deepcritical_mcp.reading import Reading, Section, assembled, bounded
from deepcritical_mcp.reading.web_page import outline_of_html

SHORT_NOTE = 1_000
"""Characters: in plain text of no more, no line is taken for a heading."""
LONG_TEXT = 4_000
"""Characters: a longer one is read into paragraphs even without headings or tables."""
_WRAPPED = 50
"""Characters from which on a line that ends within a paragraph is taken for a wrapped one."""
_HTML = re.compile(r"</?(?:h[1-6]|p|div|table|body|section|article)\b[^<>]{0,300}>", re.I)
_NAMED = re.compile(
    r"(?m)^[ \t]{0,3}((?:[0-9IVX]{1,4}(?:\.[0-9]{1,2}){0,3}\.? )?(?:abstract|summary|introduction|background|aims?"
    r"|objectives?|(?:materials? and |patients and )?methods?|results|findings|discussion|conclusions?|limitations"
    r"|references|acknowledge?ments|funding)):?[ \t]*$",
    re.I,
)
_TITLE_LINE = re.compile(r"(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}\.? )?[^\W\d_a-z][^\n|.;?!]{2,79}(?<![,:])")
_CAPTION = re.compile(r"(?:supplementary |appendix )?table\b", re.I)
_NUMBER = re.compile(r"[0-9]{1,2}(?:(?:\.[0-9]{1,2}){1,3}\.?|\.)\s+(?=[^\W\d_])|[0-9]{1,2}\s+(?=[A-Z])")


class OwnText(NamedTuple):
    """The text, whose parts are () if it stays whole, and the title that it gives itself."""

    reading: Reading
    title: str = ""


def read_own_text(content: str) -> OwnText:
    """Takes time in proportion to the length of `content`, which is any text."""
    is_html = len(_HTML.findall(content[:LONG_TEXT])) > 1
    blocks = [] if is_html else _read(content) if len(content) <= SHORT_NOTE else _blocks_of(content)
    if not (is_html or len(content) > LONG_TEXT or any(one.level or one.is_table for one in blocks)):
        return OwnText(Reading(content))
    title, sections = _without_title(list(outline_of_html(content) if is_html else _sections(blocks)))
    body, parts = assembled(sections)
    has_parts = len(content) > LONG_TEXT or any(one.kind == "table" or one.path for one in sections)
    return OwnText(bounded(Reading(body, parts)) if body and has_parts else Reading(body or content), title)


class _TextBlock(NamedTuple):
    """A heading of a level, or a block of text of level 0."""

    text: str
    level: int = 0
    is_table: bool = False


def _blocks_of(content: str) -> list[_TextBlock]:
    """What stands in Markdown, in order, or in plain text, of which lines that look like headings are."""
    blocks = _read(content)
    return blocks if any(one.level for one in blocks) else _read(_with_headings(content))


def _read(content: str) -> list[_TextBlock]:
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["code", "reference"]).parse(content)
    return list(_blocks(tokens, content.split("\n")))


def _blocks(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[_TextBlock]:
    for number, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        own = lines[slice(*token.map)]
        if token.type == "heading_open":
            yield _TextBlock(tokens[number + 1].content.strip("*_ "), int(token.tag[1:]))
        elif token.type == "table_open":
            yield _TextBlock(_as_table(own), is_table=True)
        else:
            yield _TextBlock(_unwrapped(own) if token.type == "paragraph_open" else "\n".join(own))


def _as_table(lines: Sequence[str]) -> str:
    """The lines of a table, each between bars."""
    rows = (line.strip().removeprefix("|").removesuffix("|").strip() for line in lines if line.strip())
    return "\n".join(f"| {row} |" for row in rows)


def _unwrapped(lines: Sequence[str]) -> str:
    text = lines[0].strip() if lines else ""
    for last, line in pairwise(lines):
        text += (" " if len(last) > _WRAPPED else "\n") + line.strip()
    return text


def _with_headings(content: str) -> str:
    """Plain text with marks before the lines that are headings: the usual ones, and others alone between blank lines
    with text below."""
    text = _NAMED.sub(r"\n## \1\n", content)
    paragraphs = re.split(r"\n\s*\n", text)
    is_title = [bool(_TITLE_LINE.fullmatch(one.strip())) for one in paragraphs]
    for number, (own, following) in enumerate(zip(is_title, [*is_title[1:], True], strict=True)):
        if own and not following and not paragraphs[number + 1].startswith("##"):
            paragraphs[number] = f"{'##' if number == 0 else '###'} {paragraphs[number].strip()}"
    return "\n\n".join(paragraphs)


def _sections(blocks: Sequence[_TextBlock]) -> Iterator[Section]:
    """A section for each heading, inside those of a higher level, and one for each table."""
    levels: list[tuple[int, str, str]] = []  # level, anchor, title
    counts: dict[str, int] = {}
    own, tables, number = list[str](), list[Section](), 0

    def close() -> Iterator[Section]:
        parent = levels[-2][1] if len(levels) > 1 else ""
        if own or levels:
            path = tuple(title for *_, title in levels)
            yield Section(levels[-1][1] if levels else "s0", list(own), path=path, parent=parent)
        yield from tables
        own.clear()
        tables.clear()

    for block in blocks:
        if block.level:
            yield from close()
            while levels and levels[-1][0] >= block.level:
                levels.pop()
            parent = levels[-1][1] if levels else ""
            counts[parent] = counts.get(parent, 0) + 1
            anchor = f"{parent}.{counts[parent]}" if parent else f"s{counts[parent]}"
            said = _NUMBER.match(block.text)
            levels.append((block.level, anchor, block.text[said.end() :] if said else block.text))
        elif block.is_table:
            number += 1
            caption = [own.pop()] if own and _CAPTION.match(own[-1]) else []
            inside = (*(title for *_, title in levels), f"Table {number}")
            tables.append(
                Section(f"t{number}", [*caption, block.text], "table", inside, levels[-1][1] if levels else "")
            )
        else:
            own.append(block.text)
    yield from close()


def _without_title(sections: Sequence[Section]) -> tuple[str, list[Section]]:
    """The title of the whole document, the only outermost heading at its beginning, and the sections without it."""
    outermost = [one for one in sections if len(one.path) == 1]
    if outermost != [*sections[:1]] or (len(sections) < 3 and _NAMED.match(outermost[0].path[0])):
        return "", list(sections)
    return outermost[0].path[0], [
        Section(one.anchor, one.paragraphs, one.kind, one.path[1:], one.parent) for one in sections
    ]
