"""The output of the demo: steps, calls, evidence. Plain text without a terminal; any width from 60 columns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partialmethod
from typing import cast

from mcp.shared.dispatcher import ProgressFnT
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from deepcritical_mcp.models import DocumentPassage, Evidence, Expansion, is_marked, status_label
from deepcritical_mcp.text import clean_line, clipped, cut_at_sentence

_MAX_ARGUMENT_LENGTH = 44


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the BrokenPipeError, where rich would end the program in whichever task prints


class Screen:
    """Writes to stdout; BrokenPipeError once its reader has left, e.g. `head`."""

    def __init__(self) -> None:
        self._console = _Console(highlight=False)

    def say(self, text: str, *, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Print a paragraph; `hang` is the extra indentation of its second and later lines."""
        self._print(Text(text, style=style), indent=indent, hang=hang)

    failure = partialmethod(say, style="red", indent=2)
    """Print a failure after which the demo continues."""
    warning = partialmethod(say, style="yellow", indent=2)
    """Print a warning of the server."""
    success = partialmethod(say, style="green", indent=2)
    """Print the outcome of a step."""

    def verbatim(self, text: str) -> None:
        """Print text to be copied, without wrapping."""
        self._console.print(Text(text), soft_wrap=True)

    def step(self, number: int, title: str) -> None:
        """Print the heading of a step."""
        self._console.print()
        self._console.print(Rule(Text(f" {number}  {title} ", style="bold"), align="left", style="blue"))

    def call(self, tool: str, arguments: dict[str, object]) -> None:
        """Print a tool call."""
        line = Text("→ ", style="cyan")
        line.append(tool, style="bold cyan")
        line.append(f"({', '.join(f'{name}={_shortened(value)}' for name, value in arguments.items())})", style="cyan")
        self._print(line, hang=2)

    @asynccontextmanager
    async def working(self, title: str) -> AsyncGenerator[ProgressFnT]:
        """Show progress until the block ends; yields the function that reports it."""
        status, lines = self._console.status(title), set[str]()

        async def report(progress: float, total: float | None, message: str | None) -> None:
            line = clipped(clean_line(message or title), 50)
            status.update(Text(line))
            if not self._console.is_terminal and line not in lines:
                lines.add(line)
                with suppress(OSError):  # the next line of the demo itself meets it too
                    self.say(f"… {line}", style="dim", indent=2)

        with status if self._console.is_terminal else nullcontext():
            yield report

    def queries(self, expansion: Expansion) -> None:
        """Print proposed queries and the concepts behind them."""
        if expansion.corrected_query:
            self.say(f"Did you mean: {expansion.corrected_query}", style="yellow", indent=2)
        for number, query in enumerate(expansion.queries, start=1):
            self.say(f"{number}. {query.query}", style="bold", indent=2, hang=3)
            self.say(f"{query.strategy}, from {query.source}: {query.rationale}", style="dim", indent=5)
        if known := [f"{one.term} = MeSH “{one.mesh_term}”" for one in expansion.concepts if one.mesh_term]:
            self.say("; ".join(known), style="dim", indent=2)

    def evidence(self, items: tuple[Evidence, ...], *, with_content: bool = False, known: Collection[str] = ()) -> None:
        """Print numbered evidence, each with its status first; ids in `known` are marked as already kept."""
        for number, item in enumerate(items, start=1):
            title = Text(f"{number}. ")
            if is_marked(item.citation.status):
                color = "yellow" if item.citation.status == "corrected" else "red"
                title.append(f"{status_label(item.citation.status)} ", style=f"bold {color}")
            title.append(item.citation.title, style="bold")
            self._print(title, indent=2, hang=3)
            origin = _origin(item) + (" · already in the session" if item.id in known else "")
            self.say(origin, style="dim", indent=5)
            if with_content:
                self.say(f"“{cut_at_sentence(clean_line(item.content), 220)}”", indent=5)

    def passages(self, passages: Sequence[DocumentPassage]) -> None:
        """Print passages of a text, each with the section that it stands in."""
        for one in passages:
            self.say(" > ".join(filter(None, (one.anchor, *one.section))), style="dim", indent=2)
            self.say(f"“{cut_at_sentence(clean_line(one.text), 220)}”", indent=5)

    def _print(self, text: Text, *, indent: int = 0, hang: int = 0) -> None:
        """Wrap here, because the console would pad every line with spaces."""
        width = max(self._console.width - indent - hang, 20)
        for number, line in enumerate(text.wrap(self._console, width)):
            line.rstrip()
            blanks = " " * (indent + (hang if number else 0))
            self._console.print(Text(blanks).append_text(line), soft_wrap=True)


def _origin(item: Evidence) -> str:
    citation = item.citation
    where = f"PMID {citation.pmid}" if citation.pmid else citation.url
    facts = ("; ".join(citation.authors[:3]), citation.journal, where, f"relevance {item.relevance:.2f}")
    return " · ".join(filter(None, facts[: 4 if item.relevance else 3])) or item.id


def _shortened(value: object) -> str:
    """An argument, each text in it cut off where it is long."""
    if isinstance(value, list):
        return f"[{', '.join(map(_shortened, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        return _shortened([f"{name}: {one}" for name, one in cast("dict[str, object]", value).items()])
    return f"“{clipped(value, _MAX_ARGUMENT_LENGTH)}”" if isinstance(value, str) else str(value)
