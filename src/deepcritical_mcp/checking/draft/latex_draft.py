"""LaTeX as blocks: sections, lists, tables, notes, citations, and the entries of a bibliography."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from deepcritical_mcp.checking.draft.draft_parts import Block, BlockWriter
from deepcritical_mcp.search.references.latex import (
    CITES,
    DROPPED,
    arguments,
    kind_of,
    latex_nodes,
    latex_pieces,
    symbol,
)

_HEADINGS = {
    "title": 1, "part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5,
    "subparagraph": 6,
}  # fmt: skip
_LISTS = frozenset({"itemize", "enumerate", "description"})
_TABLES = frozenset({"tabular", "tabular*", "tabularx", "tabulary", "longtable"})
_QUOTATIONS = frozenset({"quote", "quotation", "displayquote", "displaycquote", "quoting"})
_SKIPPED = frozenset({"verbatim", "verbatim*", "lstlisting", "minted", "comment", "tikzpicture", "filecontents"})
_MATH = frozenset({"equation", "align", "gather", "eqnarray", "multline", "displaymath", "math"})
_RULES = frozenset({"hline", "toprule", "midrule", "bottomrule", "endhead", "maketitle", "tableofcontents", "newpage"})
_ADDRESS = re.compile(r"\\(?:url|path|href)\s{0,3}\{[^{}\n]{1,2000}\}")
"""Where "%" begins no comment."""
_CUT = re.compile(r"\n[ \t]{0,200}\n|(?=\\(?:bibitem|section|end\{document\}))")


def latex_blocks(text: str) -> list[Block]:
    """The blocks of LaTeX. What is nested too deeply is read paragraph by paragraph, and at worst as it is written."""
    reader = _LatexReader(text)
    bare = _ADDRESS.sub(lambda found: found[0].replace("%", "/"), text)
    nodes = latex_nodes(bare)
    if nodes is None:
        cuts = [0, *(found.end() for found in _CUT.finditer(bare)), len(bare)]
        for start, end in pairwise(cuts):
            reader.read_piece(bare[start:end], start)
    else:
        document = [one for one in nodes if kind_of(one) == "Environment" and one.environmentname == "document"]
        reader.read(document or nodes)
    reader.writer.end()
    return reader.writer.blocks


class _LatexReader:
    """What is read so far."""

    def __init__(self, text: str) -> None:
        self.writer = BlockWriter()
        self._text = text
        self._base = 0
        self._lists = list[int]()

    def read_piece(self, piece: str, start: int) -> None:
        """A paragraph of its own."""
        self._base = start
        if (nodes := latex_nodes(piece)) is None:
            self.writer.put(piece, start, start + len(piece))
        else:
            self.read(nodes)
        self.writer.end()

    def read(self, nodes: Sequence[Any]) -> None:
        """Nodes in their order."""
        for node in nodes:
            kind = kind_of(node)
            if kind == "Chars":
                self._chars(node)
            elif kind == "Macro":
                self._macro(node)
            elif kind == "Environment":
                self._environment(node)
            elif kind == "Math":
                raised = node.latex_verbatim().strip("${} ")
                if raised.startswith("^"):
                    with self.writer.mark("raised"):
                        self._pieces([node])
                else:
                    self._pieces([node])
            elif kind == "Specials" and node.specials_chars == "&" and self.writer.kind == "row":
                self._put("\t", node)
            elif kind == "Group":
                self.read(node.nodelist)
            elif kind == "Specials":
                self._pieces([node])

    def _put(self, text: str, node: Any) -> None:
        start = self._base + node.pos
        self.writer.put(text, start, start + node.len)

    def _pieces(self, nodes: Sequence[Any]) -> None:
        for start, end, new in latex_pieces(nodes):
            start, end = start + self._base, end + self._base
            self.writer.put(self._text[start:end] if new is None else new, start, end)

    def _chars(self, node: Any) -> None:
        """Blank lines end a paragraph, but not an entry or a row."""
        start, at = self._base + node.pos, 0
        for found in _CUT.finditer(node.chars) if self.writer.kind not in ("entry", "row", "note") else ():
            self.writer.put(node.chars[at : found.start()], start + at, start + found.start())
            self.writer.end()
            at = found.end()
        self.writer.put(node.chars[at:], start + at, start + len(node.chars))

    def _macro(self, node: Any) -> None:
        name, given, writer = node.macroname, arguments(node), self.writer
        last = given[-1:]
        if name in _HEADINGS or name == "caption":
            writer.begin("paragraph" if name == "caption" else "heading", _HEADINGS.get(name, 0))
            self.read(last)
            writer.end()
        elif name in CITES:
            keys = str(last[0].latex_verbatim() if last else "").strip("{}").split(",")
            with writer.mark("key", ",".join(key.strip() for key in keys)):
                self._put(node.latex_verbatim().rstrip(), node)
        elif name in ("footnote", "thanks", "footnotetext", "endnote"):
            start = self._base + node.pos
            with writer.note(start, start + 1):
                self.read(last)
        elif name == "bibitem":
            writer.begin("entry", label=last[0].latex_verbatim().strip("{}") if last else "")
        elif name == "item":
            self._lists[-1:] = [self._lists[-1] + 1] if self._lists else []
            number = self._lists[-1] if self._lists else 0
            writer.begin("item", len(self._lists), str(number) if number > 0 else "")
            self.read(last)
        elif name == "\\":
            if writer.kind == "row":
                writer.begin("row")
            else:
                self._put("\n", node)
        elif name in ("enquote", "textquote", "blockquote"):
            self._put("“", node)
            self.read(last)
            writer.put("”", self._base + node.pos + node.len - 1, self._base + node.pos + node.len)
        elif name in ("textsuperscript", "href", "url", "path") and given:
            is_raised = name == "textsuperscript"
            at = self._base + given[0].pos
            target = "" if is_raised else self._text[at : at + given[0].len].strip("{}")
            with writer.mark("raised" if is_raised else "link", target):
                self.read(last) if name in ("textsuperscript", "href") else self._put(target, last[0])
        elif name not in _RULES:
            if name in DROPPED or not given or symbol(node) is not None:
                self._pieces([node])
            else:
                self.read(given)

    def _environment(self, node: Any) -> None:
        name, writer = node.environmentname, self.writer
        if name in _SKIPPED:
            return
        if name.rstrip("*") in _MATH:
            self._pieces([node])
            return
        writer.end()
        writer.quotations += name in _QUOTATIONS
        if name in _LISTS:
            self._lists.append(0 if name == "enumerate" else -(10**6))
        if name in _TABLES:
            writer.begin("row")
        self.read(node.nodelist)
        writer.end()
        writer.quotations -= name in _QUOTATIONS
        if name in _LISTS:
            self._lists.pop()
