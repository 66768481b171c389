"""LaTeX as Markdown: sections, lists, notes, citations, and the entries of a bibliography as written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count, pairwise, repeat
from typing import Any

from deepcritical_mcp.search.references.plain_text import (
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
_PERCENT, _CELL, _ROW = "\x1a", "\x1f", "\x1e"
_FRAMES = {name: f"\n\n{'#' * level} {{}}\n\n" for name, level in _HEADINGS.items()} | {
    "caption": "\n\n{}\n\n", "enquote": "“{}”", "textquote": "“{}”", "blockquote": "“{}”",
    "textsuperscript": "<sup>{}</sup>", "\\": _ROW,
}  # fmt: skip
"""What commands put around their text."""
_LISTS = frozenset({"itemize", "enumerate", "description"})
_QUOTATIONS = frozenset({"quote", "quotation", "displayquote", "displaycquote", "quoting"})
_SKIPPED = frozenset({"verbatim", "verbatim*", "lstlisting", "minted", "comment", "tikzpicture", "filecontents"})
_RULES = frozenset({"hline", "toprule", "midrule", "bottomrule", "endhead", "maketitle", "tableofcontents", "newpage"})
_ADDRESS = re.compile(r"\\(?:url|path|href)\s{0,3}\{[^{}\n]{1,2000}\}")
"""Where "%" begins no comment."""
_CUT = re.compile(r"\n[ \t]{0,200}\n|(?=\\(?:bibitem|section|end\{document\}))")


def latex_as_markdown(text: str) -> str:
    """LaTeX as Markdown. What is nested too deeply is read paragraph by paragraph, and at worst as it is written."""
    text = text.partition("\\begin{document}")[2] or text
    reader, text = _LatexReader(), _ADDRESS.sub(lambda found: found[0].replace("%", _PERCENT), text)
    nodes = latex_nodes(text)
    if nodes is None:
        cuts = [0, *(found.end() for found in _CUT.finditer(text)), len(text)]
        pieces = [text[start:end] for start, end in pairwise(cuts)]
        read = "\n\n".join(piece if (some := latex_nodes(piece)) is None else reader.text(some) for piece in pieces)
    else:
        read = reader.text(nodes)
    notes = (f"[^{number}]: {note}" for number, note in enumerate(reader.notes, 1))
    return "\n\n".join((read, *notes)).replace(_PERCENT, "%").replace(_CELL, " ").replace(_ROW, "\n")


class _LatexReader:
    """Reads nodes; the notes so far."""

    def __init__(self) -> None:
        self.notes = list[str]()
        self._lists = list[Iterator[str]]()

    def text(self, nodes: Sequence[Any]) -> str:
        """Nodes in their order; what follows a \\bibitem is its entry."""
        items = [at for at, one in enumerate(nodes) if kind_of(one) == "Macro" and one.macroname == "bibitem"]
        parts = [self._node(one) for one in nodes[: items[0] if items else len(nodes)]]
        for start, end in pairwise((*items, len(nodes))):
            key = "".join(one.latex_verbatim() for one in arguments(nodes[start])[-1:]).strip("{} ")
            written = "".join(one.latex_verbatim() for one in nodes[start + 1 : end] if kind_of(one) != "Comment")
            parts.append(f"\n\n[^@{key}]: {' '.join(written.split())}")
        return "".join(parts)

    def _line(self, nodes: Sequence[Any]) -> str:
        return " ".join(self.text(nodes).split())

    def _node(self, node: Any) -> str:
        kind = kind_of(node)
        if kind == "Chars":
            return node.chars
        if kind == "Macro":
            return self._macro(node)
        if kind == "Environment":
            return self._environment(node)
        if kind == "Group":
            return self.text(node.nodelist)
        if kind == "Specials" and node.specials_chars == "&":
            return _CELL
        is_raised = kind == "Math" and node.latex_verbatim().strip("${} ").startswith("^")
        plain = _plain(node) if kind != "Comment" else ""
        return f"<sup>{plain}</sup>" if is_raised else plain

    def _macro(self, node: Any) -> str:
        name, given = node.macroname, arguments(node)
        last = given[-1:]
        if name in _FRAMES:
            return _FRAMES[name].format(self._line(last) if name in _HEADINGS else self.text(last))
        if name in CITES:
            keys = "".join(one.latex_verbatim() for one in last).strip("{}").split(",")
            return f"[{'; '.join(f'@{key.strip()}' for key in keys)}]"
        if name in ("footnote", "thanks", "footnotetext", "endnote"):
            self.notes.append(self._line(last))
            return f"[^{len(self.notes)}]"
        if name == "item":
            mark, label = next(self._lists[-1]) if self._lists else "-", self._line(last)
            return f"\n{'    ' * (len(self._lists) - 1)}{mark} {label}{' ' if label else ''}"
        if name in ("href", "url", "path") and given:
            address = given[0].latex_verbatim().strip("{}")
            return f"[{self._line(last)}]({address})" if name == "href" else address
        is_plain = name in DROPPED or not given or symbol(node) is not None
        return "" if name in _RULES else _plain(node) if is_plain else self.text(given)

    def _environment(self, node: Any) -> str:
        name = node.environmentname
        if name in _SKIPPED:
            return ""
        if name in _LISTS:
            self._lists.append((f"{number}." for number in count(1)) if name == "enumerate" else repeat("-"))
        text = self.text(node.nodelist)
        if name in _LISTS:
            self._lists.pop()
        if name in _QUOTATIONS:
            text = "\n\n".join(f"> {' '.join(part.split())}" for part in text.split("\n\n") if part.strip())
        return f"\n\n{text}\n\n"


def _plain(node: Any) -> str:
    """The text of a node without commands."""
    verbatim = node.latex_verbatim()
    pieces = ((start - node.pos, end - node.pos, new) for start, end, new in latex_pieces([node]))
    return "".join(verbatim[start:end] if new is None else new for start, end, new in pieces)
