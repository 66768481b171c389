"""A user's own text, read into sections and paragraphs: Markdown, HTML, or plain text with headings.

Paragraphs stay as they were written; only the lines of a wrapped paragraph are joined. A note without marks of
headings or tables has no sections.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from markdown_it import MarkdownIt

from deepcritical_mcp.reading import TABLE_CAPTION, Block, PageReading, Reading, Section, assembled, bounded, outline
from deepcritical_mcp.reading.web_page import blocks_of_html
from deepcritical_mcp.text import clean_text, data_lines, decoded

SHORT_NOTE = 1_000
"""Characters: in plain text of no more, no line is taken for a heading."""
LONG_TEXT = 4_000
"""Characters: a longer one is read into paragraphs even without headings or tables."""
_WRAPPED = 50
"""Characters from which on a line that ends within a paragraph is taken for a wrapped one."""
_HTML = re.compile(r"</?(?:h[1-6]|p|div|table|body|section|article)\b[^<>]{0,300}>", re.I)
_NAMED = re.compile(
    r"(?m)^[ \t]{0,3}((?:[0-9IVX]{1,4}(?:\.[0-9]{1,2}){0,3}\.? )?(?:"
    rf"{'|'.join(data_lines(__file__, 'headings.txt'))})):?[ \t]*$",
    re.I,
)
_TITLE_LINE = re.compile(r"(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}\.? )?[^\W\d_a-z][^\n|.;?!]{2,79}(?<![,:])")
_NUMBER = re.compile(r"^(?:[0-9]{1,2}(?:(?:\.[0-9]{1,2}){1,3}\.?|\.)\s+(?=[^\W\d_])|[0-9]{1,2}\s+(?=[A-Z]))")


def read_own_text(content: str) -> tuple[Reading, str]:
    """The text, whose parts are () if it stays whole, and the title that it gives itself, or "". Takes time in
    proportion to the length of `content`, which is any text."""
    is_html = len(_HTML.findall(content[:LONG_TEXT])) > 1
    blocks = blocks_of_html(content) if is_html else _read(content)
    if not is_html and len(content) > SHORT_NOTE and not any(one.level for one in blocks):
        blocks = _read(_with_headings(content))
    if not (is_html or len(content) > LONG_TEXT or any(one.level or one.table for one in blocks)):
        return Reading(content), ""
    title, sections = _without_title(outline(blocks))
    body, parts = assembled(sections)
    has_parts = len(content) > LONG_TEXT or any(one.kind == "table" or one.path for one in sections)
    return bounded(Reading(body, parts)) if body and has_parts else Reading(body or content), title


def read_own_file(content: bytes, *, url: str = "", charset: str = "") -> PageReading:
    """A file of text or Markdown, with the title that it gives itself."""
    reading, title = read_own_text(clean_text(decoded(content, charset)))
    reading = replace(reading, fields={"title": title} if title else {})
    return PageReading(reading, "full_text" if reading.content else "no_text")


def _read(content: str) -> list[Block]:
    """What stands in Markdown, in order."""
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["code", "reference"]).parse(content)
    lines, found = content.split("\n"), list[Block]()
    for number, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        own = lines[slice(*token.map)]
        if token.type == "heading_open":
            title = _NUMBER.sub("", tokens[number + 1].content.strip("*_ "), count=1)
            found.append(Block(title, int(token.tag[1:])))
        elif token.type == "table_open":
            before = found[-1] if found else Block("")
            is_caption = not before.level and before.table is None and TABLE_CAPTION.match(before.text)
            rows = [line.strip().removeprefix("|").removesuffix("|").strip() for line in own if line.strip()]
            rows[1:2] = [" | ".join(map(str.strip, line.split("|"))) for line in rows[1:2]]  # below the header
            table = "\n".join(f"| {row} |" for row in rows)
            found.append(Block(found.pop().text if is_caption else "", table=(table,)))
        else:
            found.append(Block(_unwrapped(own) if token.type == "paragraph_open" else "\n".join(own)))
    return found


def _unwrapped(lines: Sequence[str]) -> str:
    text = lines[0].strip() if lines else ""
    for last, line in pairwise(lines):
        text += (" " if len(last) > _WRAPPED else "\n") + line.strip()
    return text


def _with_headings(content: str) -> str:
    """Plain text with marks before the lines that are headings: the usual ones, and others alone between blank lines
    with text below."""
    paragraphs = re.split(r"\n\s*\n", _NAMED.sub(r"\n## \1\n", content))
    is_title = [bool(_TITLE_LINE.fullmatch(one.strip())) for one in paragraphs]
    for number, (own, following) in enumerate(zip(is_title, [*is_title[1:], True], strict=True)):
        if own and not following and not paragraphs[number + 1].startswith("##"):
            paragraphs[number] = f"{'##' if number == 0 else '###'} {paragraphs[number].strip()}"
    return "\n\n".join(paragraphs)


def _without_title(sections: Sequence[Section]) -> tuple[str, list[Section]]:
    """The title of the whole document, the only outermost heading at its beginning, and the sections without it."""
    outermost = [one for one in sections if len(one.path) == 1]
    if outermost != [*sections[:1]] or (len(sections) < 3 and _NAMED.match(outermost[0].path[0])):
        return "", list(sections)
    return outermost[0].path[0], [replace(one, path=one.path[1:]) for one in sections]
