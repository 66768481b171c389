"""LaTeX as text, by pylatexenc: sections, lists, notes, citations and bibliographies of drafts as Markdown."""

from __future__ import annotations

# pylatexenc has no types:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
import logging
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, repeat
from typing import Any

from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexWalker, get_default_latex_context_db
from pylatexenc.macrospec import std_environment, std_macro

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.search.references.plain_text import WORD_LISTS

logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # what is wrong in a draft is not ours to log
_CITES = {f"{one}{end}" for name in WORD_LISTS["latex cites"] for one in (name, name.title()) for end in ("", "s")}
_KINDS = ("dropped", "switches", "lists", "quotations", "skipped")
_DROPPED, _SWITCHES, _LISTS, _QUOTATIONS, _SKIPPED = (WORD_LISTS[f"latex {kind}"] for kind in _KINDS)
"""Commands that print nothing, of what they are given or of themselves; environments, the last ones of no prose."""
_COMMANDS = {name: row.split("|") for name, row in data_table(__file__, "latex_commands.txt").items()}
_FRAMES = {name: frame.replace("¶", "\n\n") for name, (_, frame) in _COMMANDS.items() if frame}
"""What commands put around the last thing that they are given."""
_GIVEN = {name: given for name, (given, _) in _COMMANDS.items() if given} | dict.fromkeys(_CITES, "*[[{")
_PERCENT = "\x1a"
_ADDRESS = re.compile(r"\\(?:url|path|href)\s{0,3}\{[^{}\n]{1,2000}\}")
"""Where "%" begins no comment."""
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?")
_ENTRY = re.compile(
    r"\\bibitem\s{0,9}(?:\[[^\[\]]{0,300}\])?\s{0,9}\{([^{}]{1,100})\}(.*?)(?=\\bibitem\b|\\end\{|\Z)", re.DOTALL
)
_ESCAPE = re.compile(r"\\penalty-?\d{1,5}\s?|\\(?=[^\w\s&%$#{}~\\]\s)")
"""A penalty for breaking a line, and an escape of Markdown: "1\\. Berg"."""


def latex_as_text(text: str) -> str:
    """A text on one line without LaTeX, in which "%" comments nothing out; as it is if it is nested too deeply."""
    nodes = _nodes(_ESCAPE.sub("", text).replace("%", _PERCENT))
    return text if nodes is None else _Reader().nodelist_to_text(nodes).replace(_PERCENT, "%")


def latex_as_markdown(text: str) -> str:
    """A draft as Markdown, entries of its bibliography as written; all as it is written if it is nested too deeply."""
    text = text.partition("\\begin{document}")[2] or text
    text = _ADDRESS.sub(lambda found: found[0].replace("%", _PERCENT), text)
    entries = [f"[^@{one[1]}]: {' '.join(_COMMENT.sub('', one[2]).split())}" for one in _ENTRY.finditer(text)]
    reader, text = _Reader(), _ENTRY.sub("", text)
    nodes = _nodes(text)
    read = text if nodes is None else str(reader.nodelist_to_text(nodes))
    notes = (f"[^{number}]: {note}" for number, note in enumerate(reader.notes, 1))
    return "\n\n".join((read, *entries, *notes)).replace(_PERCENT, "%")


def _nodes(text: str) -> Sequence[Any] | None:
    """The nodes of a text, whatever is wrong with it; None if it is nested too deeply."""
    try:
        return LatexWalker(text, latex_context=_context(), tolerant_parsing=True).get_latex_nodes()[0]
    except RecursionError:
        return None


@cache
def _context() -> Any:
    known = get_default_latex_context_db()
    places = [std_environment(*one) for one in (("thebibliography", "{"), ("minipage", "[{"), ("longtable", "[{"))]
    macros = [std_macro(*one) for one in _GIVEN.items()]
    known.add_context_category("ours", prepend=True, macros=macros, environments=places)
    known.add_context_category("dropped", macros=[std_macro(one, "*[{") for one in _DROPPED])
    return known


class _Reader(LatexNodes2Text):
    """Reads nodes; the notes so far."""

    def __init__(self) -> None:
        super().__init__(strict_latex_spaces={"between-latex-constructs": True})
        self.notes = list[str]()
        self._lists = list[Iterator[str]]()

    def _given(self, node: Any) -> list[str]:
        given = node.nodeargd.argnlist if node.nodeargd else ()
        return [self.nodelist_to_text([one]).strip() for one in given or () if one is not None]

    def macro_node_to_text(self, node: Any) -> str:
        """The text of a command."""
        name = node.macroname.replace(_PERCENT, "%")
        if name in _FRAMES:
            return _FRAMES[name].format("".join(self._given(node)[-1:]))
        if name in _CITES:
            return f"[{'; '.join(f'@{key.strip()}' for key in ''.join(self._given(node)[-1:]).split(','))}]"
        if name in ("footnote", "thanks", "footnotetext", "endnote"):
            self.notes.append(" ".join("".join(self._given(node)[-1:]).split()))
            return f"[^{len(self.notes)}]"
        if name == "item":
            mark = next(self._lists[-1]) if self._lists else "-"
            return " ".join((f"\n{'    ' * (len(self._lists) - 1)}{mark}", *self._given(node), ""))
        if name == "href":
            given = ["", "", *self._given(node)]
            return f"[{given[-1]}]({given[-2]})"
        if name in _DROPPED | _SWITCHES:
            return " "
        is_known = self.latex_context.get_macro_spec(name) is not None
        return str(super().macro_node_to_text(node)) if is_known else "".join(self._given(node)) or name

    def specials_node_to_text(self, node: Any) -> str:
        """The text of characters that stand for others."""
        return {"~": " ", "&": "&"}.get(node.specials_chars) or str(super().specials_node_to_text(node))

    def math_node_to_text(self, node: Any) -> str:
        """The text of a formula; one that is raised cites."""
        text = self.nodelist_to_text(node.nodelist)
        plain = text.replace("^", "").replace("_", "")
        return f"<sup>{plain.strip()}</sup>" if text.lstrip().startswith("^") else plain

    def environment_node_to_text(self, node: Any) -> str:
        """The text of an environment, in paragraphs of its own."""
        name = node.environmentname
        if name in _SKIPPED:
            return ""
        if name in _LISTS:
            self._lists.append((f"{number}." for number in count(1)) if name == "enumerate" else repeat("-"))
        text = str(self.nodelist_to_text(node.nodelist))
        if name in _LISTS:
            self._lists.pop()
        if name in _QUOTATIONS:
            text = "\n\n".join(f"> {' '.join(part.split())}" for part in text.split("\n\n") if part.strip())
        return f"\n\n{text}\n\n"
