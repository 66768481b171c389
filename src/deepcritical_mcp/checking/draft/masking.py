"""A draft with what is no text blanked out: code, comments, front matter. Every position stays the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from deepcritical_mcp.checking.draft.entry_forms import is_surely_entry

_BREAKS = str.maketrans(
    dict.fromkeys("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", "\n")
    | dict.fromkeys("\xa0\u2007\u2009\u202f\u3000\ufeff", " ")
)
_BLOCK_TAG = re.compile(r"<(/?)(li|ol|ul|p|div|br|h[1-6])(?:\s[^<>]{0,100})?/?>", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]{0,10}([\w+.-]{0,30})[^\n`]{0,200}$", re.MULTILINE)
_TEXT_FENCES = frozenset(
    "markdown md text txt plain plaintext latex tex bibtex bib biblatex ris json references".split()
)
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t]{0,10}$", re.MULTILINE)
_INLINE_CODE = re.compile(r"(?<!`)`[^`\n]{1,300}`(?!`)")
_LATEX_COMMENT = re.compile(r"(?<!\\)%[^\n]{0,2000}")
_NOT_A_BREAK = re.compile(r"[^\n]+")


class Line(NamedTuple):
    """A line, without its break, and where it stands."""

    text: str
    start: int
    end: int


def one_spacing(text: str) -> str:
    """`text` with one kind of line breaks and blanks, and as long as before."""
    text = text.replace("\r\n", " \n").translate(_BREAKS)
    return _BLOCK_TAG.sub(_block, text) if "<li" in text or "<p>" in text else text


def _block(tag: re.Match[str]) -> str:
    """What opens or closes a block of HTML, as Markdown has it."""
    opening = {"li": "- ", "h": "# "}.get(tag[2].lower()[:2].rstrip("123456"), "") if not tag[1] else ""
    return f"\n{opening}".ljust(len(tag[0]))[: len(tag[0])]


def lines_of(text: str, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """The lines between two positions."""
    at, end = start, len(text) if end is None else end
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        yield Line(text[at:stop], at, stop)
        at = stop + 1


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` with blanks for what stands in `spans`; line breaks stay."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        if end > at:
            parts += [text[at : max(start, at)], _NOT_A_BREAK.sub(_blanks, text[max(start, at) : end])]
            at = end
    return "".join((*parts, text[at:]))


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


def without_code(text: str) -> str:
    """`text` with blanks for code, comments and front matter."""
    text = blanked(text, (*_front_matter(text), *_comments(text), *_fences(text)))
    if "\\cite" in text or "\\begin{document}" in text:
        text = blanked(text, (found.span() for found in _LATEX_COMMENT.finditer(text)))
        preamble = text.find("\\begin{document}")
        text = blanked(text, [(0, preamble + len("\\begin{document}"))] if preamble > 0 else [])
    return blanked(text, (found.span() for found in _INLINE_CODE.finditer(text)))


def _front_matter(text: str) -> Iterator[tuple[int, int]]:
    if text.startswith("---\n") and (end := _FRONT_MATTER_END.search(text, 4)):
        yield 0, end.end()


def _comments(text: str) -> Iterator[tuple[int, int]]:
    at = text.find("<!--")
    while at >= 0 and (end := text.find("-->", at + 4)) >= 0:
        yield at, end + 3
        at = text.find("<!--", end)


def _holds_entries(block: str) -> bool:
    """Whether most lines of a block are references."""
    lines = [line.strip().lstrip("[]()0123456789.-* ") for line in block.split("\n") if line.strip()]
    return bool(lines) and 2 * sum(map(is_surely_entry, lines)) > len(lines)


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Blocks of code; of a block of text, or one that is never closed, only the fences."""
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif fence[1].startswith(opening[1]) and not fence[2]:
            is_text = (
                opening[2].lower() in _TEXT_FENCES
                or fence.end() - opening.start() > 0.8 * len(text)
                or (not opening[2] and _holds_entries(text[opening.end() : fence.start()]))
            )
            yield from ([opening.span(), fence.span()] if is_text else [(opening.start(), fence.end())])
            opening = None
    if opening:
        yield opening.span()
