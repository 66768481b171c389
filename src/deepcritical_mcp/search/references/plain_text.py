"""A text without its markup, each letter of which knows where it stands in what was written; LaTeX, by pylatexenc; and
the lists of words of `words.txt`."""

from __future__ import annotations

# pylatexenc has no types:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.text import normalized

Span = tuple[int, int]
WORD = re.compile(r"[^\W\d_]+")
BRACKETED = re.compile(
    r"\[[^\[\]]{0,120}\]|\((?=[^()]{0,120}\b(?:in|see|article|author|transl\w*|abstract|suppl\w*)\b)[^()]{0,120}\)",
    re.IGNORECASE,
)
"""Remarks on a work."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]{1,200}")


@cache
def _lists() -> dict[str, frozenset[str]]:
    rows = (files("deepcritical_mcp.search.references") / "words.txt").read_text("utf-8").splitlines()
    named = (row.split("\t") for row in rows if not row.startswith("#"))
    return {name: frozenset(words.split()) for name, words in named}


def listed_words(name: str) -> frozenset[str]:
    """The words of a list."""
    return _lists()[name]


def blanked(text: str, spans: Iterable[Span]) -> str:
    """A text with blanks in some places; line breaks stay."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
            at = end
    return "".join((*parts, text[at:]))


_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


def folded(text: str) -> str:
    """Letters in one spelling: "Müller", "Mueller" and "Muller" are the same."""
    plain = plain_letters(text.casefold().translate(_LETTERS))
    return plain.replace("ae", "a").replace("oe", "o").replace("ue", "u")


def without(pattern: re.Pattern[str], text: str) -> str:
    """A text with blanks for what a pattern finds."""
    return pattern.sub(lambda found: " " * len(found[0]), text)


@dataclass(frozen=True)
class PlainText:
    """A text, and for each of its characters where it begins and ends in the written one."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, written: str) -> PlainText:
        """What is written, in one form of its letters."""
        plain = cls(written, range(len(written)), range(1, len(written) + 1))
        return plain if written.isascii() else plain.sub(_NOT_ASCII, lambda found: normalized("NFKC", found[0]))

    def sub(self, pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str]) -> PlainText:
        """With `new`, a text without groups or what a function makes of a match, in place of what a pattern finds."""
        parts, starts, ends, at = list[str](), list[int](), list[int](), 0
        for found in pattern.finditer(self.text):
            put = new if isinstance(new, str) else new(found)
            parts += self.text[at : found.start()], put
            starts += self.starts[at : found.start()]
            ends += self.ends[at : found.start()]
            if found.start() < found.end():
                starts += [self.starts[found.start()]] * len(put)
                ends += [self.ends[found.end() - 1]] * len(put)
            at = found.end()
        if not at:
            return self
        return PlainText("".join((*parts, self.text[at:])), [*starts, *self.starts[at:]], [*ends, *self.ends[at:]])

    def part(self, start: int, end: int) -> PlainText:
        """A part of it."""
        return PlainText(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def written_at(self, start: int, end: int) -> Span:
        """Where a part of the text stands in what was written."""
        return (self.starts[start], self.ends[end - 1]) if start < end else (0, 0)


logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # what is wrong in a draft is not ours to log
_CITING = listed_words("latex cites")
CITES = frozenset(f"{name}{end}" for one in _CITING for name in (one, one.capitalize()) for end in ("", "s"))
"""Commands that cite, of LaTeX, natbib and biblatex."""
DROPPED = listed_words("latex dropped")
"""Commands that print nothing of what they are given."""
_WITHOUT_FIRST = frozenset({"bibinfo", "bibfield", "href@noop", "color", "textcolor", "foreignlanguage"})
_MORE = {"href": "{{", "enquote": "*{", "textquote": "[{", "blockquote": "[{", "textsuperscript": "{", "doi": "{"}
_ACCENTS = frozenset("`'^~\"=.uvHtcdbkr")
_LONGEST_SYMBOL = 24
_PERCENT = "\x1a"
"""In place of "%", which comments nothing out in a reference on one line."""


_SPECIALS = {"~": " ", "--": "–", "---": "—", "``": "“", "''": "”"}


class LatexPiece(NamedTuple):
    """Where a piece of text stands, and what it reads as; None: as it is written."""

    start: int
    end: int
    new: str | None = None


def latex_nodes(text: str) -> Sequence[Any] | None:
    """The nodes of a text, whatever is wrong with it; None if it is nested too deeply."""
    from pylatexenc.latexwalker import LatexWalker

    try:
        return LatexWalker(text, latex_context=_context(), tolerant_parsing=True).get_latex_nodes()[0]
    except RecursionError:
        return None


@cache
def _context() -> Any:
    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import std_environment, std_macro

    known = get_default_latex_context_db()
    ours = {**dict.fromkeys(CITES, "*[[{"), **dict.fromkeys(_WITHOUT_FIRST, "{{"), **_MORE}
    places = [std_environment(*one) for one in (("thebibliography", "{"), ("minipage", "[{"), ("longtable", "[{"))]
    macros = [std_macro(*one) for one in ours.items()]
    known.add_context_category("ours", prepend=True, macros=macros, environments=places)
    known.add_context_category("dropped", macros=[std_macro(one, "*[{") for one in DROPPED])
    return known


@cache
def _symbols() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="verbatim", strict_latex_spaces=True)


def kind_of(node: Any) -> str:
    """ "Chars", "Group", "Macro", "Math", "Comment", "Specials" or "Environment"."""
    return type(node).__name__.removeprefix("Latex").removesuffix("Node")


def arguments(macro: Any) -> list[Any]:
    """Those that a command has."""
    return [one for one in macro.nodeargd.argnlist or () if one is not None] if macro.nodeargd else []


def symbol(node: Any) -> str | None:
    """What a short command stands for, as a letter with an accent; None of one that sets the type of its text."""
    spec = _symbols().latex_context.get_macro_spec(node.macroname)
    new = spec.simplify_repl if spec is not None and spec.macroname else None
    given = "".join(one.latex_verbatim() for one in arguments(node)) if node.macroname in _ACCENTS else ""
    has_accent = given != "" and ("\\" not in given or given.strip("{} ") in ("\\i", "\\j"))
    is_letter = has_accent or (not arguments(node) and isinstance(new, str) and "%" not in new)
    if not is_letter or node.macroname == "item" or node.len > _LONGEST_SYMBOL:
        return None
    return str(_symbols().nodelist_to_text([node]))


def latex_pieces(nodes: Sequence[Any], *, in_math: bool = False) -> Iterator[LatexPiece]:
    """The text of nodes, without commands."""
    for at, node in enumerate(nodes):
        kind, start, end = kind_of(node), node.pos, node.pos + node.len
        if kind == "Chars" and in_math:
            yield from (LatexPiece(start + n, start + n + 1) for n, one in enumerate(node.chars) if one not in "^_")
        elif kind == "Chars":
            yield LatexPiece(start, end)
        elif kind == "Specials":
            yield LatexPiece(start, end, _SPECIALS.get(node.specials_chars, node.specials_chars))
        elif kind == "Macro":
            following = kind_of(nodes[at + 1]) if at + 1 < len(nodes) else ""
            yield from _of_macro(node, is_before_group=following == "Group", in_math=in_math)
        elif kind != "Comment":
            yield from latex_pieces(node.nodelist, in_math=in_math or kind == "Math")


def _of_macro(node: Any, *, is_before_group: bool, in_math: bool) -> Iterator[LatexPiece]:
    name, start, end, given = node.macroname, node.pos, node.pos + node.len, arguments(node)
    if name in DROPPED:
        yield LatexPiece(start, end, " ")
    elif name == _PERCENT or (not name.isalpha() and given and given[0].pos > start + 1 + len(name)):
        yield LatexPiece(start + 1, end)  # an escape of Markdown: "1\\. Berg"
    elif (text := symbol(node)) is not None:
        yield LatexPiece(start, end, text)
    elif not given:
        is_blank = is_before_group or name in listed_words("latex switches")
        yield LatexPiece(start, end, " " if is_blank else name + node.macro_post_space)
    else:
        for number, one in enumerate(given[1:] if name in _WITHOUT_FIRST else given):
            if number or name == "doi":
                yield LatexPiece(start, start + 1, " doi:" if name == "doi" else " ")
            yield from latex_pieces([one], in_math=in_math)
        yield from [LatexPiece(end - 1, end, " ")] if name in ("doi", "href") else ()


def without_latex(text: str) -> str:
    """The text with letters for LaTeX's accents, and without its commands; as it is if it has none."""
    return plain_latex(PlainText.of(text)).text if _is_latex(text) else text


def _is_latex(text: str) -> bool:
    """ "C\\:" and an escape of Markdown are none, but what has them may."""
    return any(mark in text for mark in ("\\", "``", "{")) or ("~" in text and "/" not in text)


def plain_latex(text: PlainText) -> PlainText:
    """The same of a text that knows where its letters stand."""
    nodes = latex_nodes(text.text.replace("%", _PERCENT)) if _is_latex(text.text) else None
    if nodes is None:
        return text
    parts, starts, ends = list[str](), list[int](), list[int]()
    for start, end, new in latex_pieces(nodes):
        parts.append(text.text[start:end] if new is None else new)
        count = len(parts[-1])
        starts += text.starts[start:end] if new is None else [text.starts[start]] * count
        ends += text.ends[start:end] if new is None else [text.ends[end - 1]] * count
    return PlainText("".join(parts), starts, ends)
