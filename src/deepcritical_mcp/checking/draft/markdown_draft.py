"""Markdown and plain text as blocks: what the parser says, and what plain text has besides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from deepcritical_mcp.checking.draft.draft_parts import Block, Mark, MarkKind, joined_lines, lines_apart
from deepcritical_mcp.checking.draft.printed_pages import blanked, lines_of

_BLOCK_TAG = re.compile(r"<(/?)(li|ol|ul|p|div|br|h[1-6]|table|tr|td|th)(?:\s[^<>]{0,100})?/?>", re.IGNORECASE)
_IN_TEXT: tuple[tuple[MarkKind, re.Pattern[str]], ...] = (
    ("note", re.compile(r"\[\^([^\]\s]{1,60})\](?!:)")),
    ("key", re.compile(r"\[(?=[^\[\]\n]{0,80}@)[^\[\]]{1,600}\]|(?<![\w.@/-])@\{?\w[\w:-]{1,100}")),
    ("raised", re.compile(r"\$?\{?\}?\^[\[{]?([0-9][0-9,;– -]{0,120})[\]}]?[\^$]")),
)
"""Marks that CommonMark leaves in the text, as pandoc and notebooks write them."""
_MARKUP = frozenset("\\`*_[]<&!~")
_KEY = re.compile(r"(?<![\w.])@\{?(\w[\w:.#$%&+?<>~/-]{0,100})")
_NOTE = re.compile(r"\[\^([^\]\s]{1,100})\]:[ \t]*")
_NOTE_INSIDE = re.compile(r"\^\[([^\[\]]{8,1000})\]")
_LINK_NAMED = re.compile(r"\[([^\[\]\n]{1,60})\]\[([^\[\]\n]{1,60})\]")
_LINK_TARGET = re.compile(
    r"^ {0,3}\[([^\[\]\n]{1,60})\]:[ \t]{1,8}<?(https?://[^\s<>]{1,1000})>?(?:[ \t]{1,8}[\"'(][^\n]{0,200})?$",
    re.MULTILINE,
)
_TEXT_FENCES = frozenset("markdown md text txt plain latex tex bibtex ris".split())
_LONGEST_HEADING = 90
_MOST_OF_FRONT = 20_000
_MOST_NESTED = 5
_MOST_OF_IT = 0.8


def _parser() -> MarkdownIt:
    # Pasted text is indented, "[1]: Berg J. Zinc" is a reference, and HTML stands within paragraphs.
    parser = MarkdownIt("commonmark").enable("table").disable(["code", "reference", "html_block"])
    parser.core.ruler.at("inline", _inline)
    return parser


def _inline(state: StateCore) -> None:
    """What has no markup is text. Links and emphasis nest in few levels: each takes time for every open bracket."""
    state.md.options["maxNesting"] = _MOST_NESTED
    for token in state.tokens:
        if token.type == "inline" and not _MARKUP.isdisjoint(token.content):
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def with_links_in_place(text: str) -> str:
    """`text` with the addresses of its links where they are first used: "[text][name]", and "[name]: https://…"
    anywhere. "[1][2]" may cite two entries of a list of addresses."""
    targets = {found[1].casefold(): found[2] for found in _LINK_TARGET.finditer(text)}
    used = set[str]()

    def put(link: re.Match[str]) -> str:
        label, name = link[1].casefold(), link[2].casefold()
        if name not in targets or name in used or label in targets or label.isdecimal():
            return link[0]
        used.add(name)
        return f"[{link[1]}]({targets[name]})"

    placed = _LINK_NAMED.sub(put, text) if targets else text
    return _LINK_TARGET.sub(lambda found: "" if found[1].casefold() in used else found[0], placed) if used else text


def html_as_markdown(text: str) -> str:
    """`text`, as long as before, without front matter and comments, and with Markdown for blocks of HTML."""
    text = blanked(text, _no_text(text))
    return _BLOCK_TAG.sub(_tag_as_markdown, text) if "<" in text else text


def blocks_of_markdown(source: str) -> list[Block]:
    """The blocks of Markdown or plain text, with the lines that belong to none: they are nested too deeply, or an item
    has nothing else."""
    found, end = list[Block](), 0
    for block in (*_blocks(source, 0, len(source)), Block("code", "", len(source), len(source))):
        for line in lines_of(source, source.rfind("\n", 0, end) + 1, max(end, block.start)):
            bare = line.text.strip(" \t>")
            is_free = line.start >= end and source[line.end : line.end + 1] in ("", "\n")
            if is_free and any(map(str.isalnum, bare)) and not bare.startswith(("```", "~~~")):
                at = line.start + line.text.index(bare)
                found.append(Block("item", bare, at, at + len(bare), _MOST_NESTED))
        found.append(block)
        end = max(end, block.end)
    return found[:-1]


def _no_text(text: str) -> Iterator[tuple[int, int]]:
    """Where front matter and comments stand."""
    if text.startswith("---\n") and text[4:].partition(":")[0].replace("-", "").isidentifier():
        yield 0, max(0, text.find("\n---", 4, _MOST_OF_FRONT) + 4)
    at = text.find("<!--")
    while at >= 0 and (end := text.find("-->", at + 4)) >= 0:
        yield at, end + 3
        at = text.find("<!--", end)


def _tag_as_markdown(tag: re.Match[str]) -> str:
    """What opens or closes a block of HTML, as Markdown has it."""
    if tag[2].lower() in ("td", "th"):
        return " " * len(tag[0])
    opening = {"li": "- ", "h": "# "}.get(tag[2].lower()[:2].rstrip("123456"), "") if not tag[1] else ""
    return f"\n{opening}".rjust(len(tag[0]))[-len(tag[0]) :]


def _blocks(source: str, start: int, end: int, *, in_fence: bool = False) -> Iterator[Block]:
    tokens, lines, items, quotes = _parser().parse(source[start:end]), [start], list[str](), 0
    while (at := source.find("\n", lines[-1], end)) >= 0:
        lines.append(at + 1)
    lines += [end, end]
    for number, token in enumerate(tokens):
        first = lines[token.map[0]] if token.map else start
        if token.type == "list_item_open":
            items.append(token.info or "-")
        elif token.type == "list_item_close":
            items.pop()
        elif token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        elif token.type == "fence" and token.map:
            last = lines[token.map[1]]
            closing = lines[token.map[1] - 1]
            if is_open := not source[closing:last].strip().startswith(token.markup):
                closing = last
            is_text = token.info.lower() in _TEXT_FENCES or closing - first > _MOST_OF_IT * len(source)
            at = min(lines[token.map[0] + 1], closing)
            if not in_fence and (is_text or is_open):
                yield from _blocks(source, at, closing, in_fence=True)
            else:
                yield Block("code", source[at:closing].rstrip("\n"), at, closing)
        elif token.type == "tr_open":
            yield _row(tokens, number, source, first)
        elif token.type in ("paragraph_open", "heading_open"):
            inline = tokens[number + 1]
            at = max(first, source.find(inline.content.partition("\n")[0], first, end))
            is_underlined = token.markup in ("-", "=")
            stop = lines[token.map[1] - is_underlined] if token.map else end
            stop = at + len(source[at:stop].rstrip())
            text, marks = _read(inline)
            # A line of dashes under a paragraph makes a heading of it, also between the entries of a list.
            is_heading = token.type == "heading_open" and "\n" not in text and len(text) <= 2 * _LONGEST_HEADING
            is_heading = is_heading and not (is_underlined and text.endswith("."))
            if is_heading:
                block = Block("heading", text, at, stop, int(token.tag[1:]))
            elif items:
                is_first, label = items[-1] != "", items[-1].strip("-")
                block = Block("item" if is_first else "paragraph", text, at, stop, len(items), label, marks)
                items[-1] = ""
            else:
                block = Block("paragraph", text, at, stop, 0, "", marks)
            yield from (replace(one, is_quotation=True) if quotes else one for one in _parts(block, source))


def _row(tokens: Sequence[Token], number: int, source: str, start: int) -> Block:
    cells, marks, at = list[str](), list[Mark](), 0
    while tokens[number].type != "tr_close":
        if tokens[number].type == "inline":
            text, found = _read(tokens[number])
            text = text.replace("\t", " ").replace("\n", " ")
            marks += (replace(one, start=one.start + at, end=one.end + at) for one in found)
            cells.append(text)
            at += len(text) + 1
        number += 1
    end = source.find("\n", start)
    return Block("row", "\t".join(cells), start, end if end >= 0 else len(source), marks=tuple(marks))


def _read(inline: Token) -> tuple[str, tuple[Mark, ...]]:
    """The text of a block, and its marks."""
    if not inline.children:
        text = "\n".join(line.strip(" ") for line in inline.content.split("\n"))
        return text, tuple(_marks_in(text))
    parts, marks, at, opened = list[str](), list[Mark](), 0, list[tuple[int, str]]()
    for one in inline.children:
        kind, content = one.type, ""
        if kind in ("text", "text_special", "code_inline"):
            content = one.content if kind != "code_inline" or "[" not in one.content else " "
        elif kind in ("softbreak", "hardbreak"):
            content = "\n"
        elif kind == "link_open" or (kind == "html_inline" and one.content.lower().startswith("<sup")):
            opened.append((at, str(one.attrs.get("href", ""))))
        elif opened and (kind == "link_close" or one.content.lower() == "</sup>"):
            start, target = opened.pop()
            marks.append(Mark("link" if kind == "link_close" else "raised", start, at, target))
        parts.append(content)
        at += len(content)
    text = "".join(parts)
    return text, tuple(sorted((*marks, *_marks_in(text)), key=lambda mark: mark.start))


def _marks_in(text: str) -> Iterator[Mark]:
    if "^" not in text and "@" not in text:
        return
    for kind, pattern in _IN_TEXT:
        for found in pattern.finditer(text):
            keys = ",".join(key.rstrip(".,:;?") for key in _KEY.findall(found[0]))
            target = found[1] if kind == "note" else keys
            if target or kind == "raised":
                yield Mark(kind, *found.span(), target)
    for at, found in enumerate(_NOTE_INSIDE.finditer(text), 1):
        yield Mark("note", *found.span(), f"{at}i")


def _parts(block: Block, source: str) -> Iterator[Block]:
    """A block without the notes in it: "[^1]: Berg J. Zinc" begins one, "[^@berg]: Berg J. Zinc" an entry, and
    "^[Berg J. Zinc]" is a note."""
    lines = block.text.split("\n")
    if any(map(_NOTE.match, lines)) and block.kind in ("paragraph", "item"):
        apart = lines_apart(block, source)
        starts = [at for at, line in enumerate(apart) if _NOTE.match(line.text)]
        yield from (joined_lines(apart[: starts[0]]),) if starts[0] else ()
        for one, two in pairwise((*starts, len(apart))):
            if mark := _NOTE.match(apart[one].text):
                note = joined_lines(apart[one:two])
                text, start = note.text[mark.end() :], min(note.start + mark.end(), note.end)
                yield Block("entry" if mark[1][0] == "@" else "note", text, start, note.end, 0, mark[1].lstrip("@"))
    else:
        yield block
        for mark in block.marks:
            if mark.kind == "note" and block.text.startswith("^[", mark.start):
                at = max(block.start, source.find(block.text[mark.start : mark.start + 20], block.start, block.end))
                text = block.text[mark.start + 2 : mark.end - 1]
                yield Block("note", text, at + 2, min(at + 2 + len(text), block.end), 0, mark.target)
