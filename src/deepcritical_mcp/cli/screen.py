"""The output of the demo: steps, calls, evidence. Plain text without a terminal; any width from 60 columns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from typing import cast

from mcp.shared.dispatcher import ProgressFnT
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.text import Text

from deepcritical_mcp.models import Evidence, Expansion, status_label
from deepcritical_mcp.text import clean_line, cut_at_sentence

_MAX_ARGUMENT_LENGTH = 44


class Screen:
    """Writes to stdout."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)

    def say(self, text: str, *, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Print a paragraph; `hang` is the extra indentation of its second and later lines."""
        self._print(Text(text, style=style), indent=indent, hang=hang)

    def exactly(self, text: str) -> None:
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
        if not self._console.is_terminal:
            yield self._plainly(title)
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as shown:
            task = shown.add_task(title, total=None)

            async def report(progress: float, total: float | None, message: str | None) -> None:
                shown.update(task, completed=progress, total=total, description=_one_line(message or title))

            yield report

    def _plainly(self, title: str) -> ProgressFnT:
        shown: list[str] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            line = _one_line(message or title)
            if line not in shown:
                shown.append(line)
                self.say(f"… {line}", style="dim", indent=2)

        return report

    def queries(self, expansion: Expansion) -> None:
        """Print proposed queries and the concepts behind them."""
        if expansion.corrected_query:
            self.say(f"Did you mean: {expansion.corrected_query}", style="yellow", indent=2)
        for number, query in enumerate(expansion.queries, start=1):
            self.say(f"{number}. {query.query}", style="bold", indent=2, hang=3)
            self.say(f"{query.strategy}, from {query.source}: {query.rationale}", style="dim", indent=5)
        if expansion.concepts:
            known = [f"{one.term} = MeSH “{one.mesh_term}”" for one in expansion.concepts if one.mesh_term]
            self.say("; ".join(known), style="dim", indent=2) if known else None

    def evidence(
        self, pieces: tuple[Evidence, ...], *, with_content: bool = False, known: Collection[str] = ()
    ) -> None:
        """Print numbered evidence, each with its status first; ids in `known` are marked as already kept."""
        for number, piece in enumerate(pieces, start=1):
            title = Text(f"{number}. ")
            if piece.citation.status != "ok":
                colour = "yellow" if piece.citation.status == "corrected" else "red"
                title.append(f"{status_label(piece.citation.status)} ", style=f"bold {colour}")
            title.append(piece.citation.title, style="bold")
            self._print(title, indent=2, hang=3)
            origin = _origin(piece) + (" · already in the session" if piece.id in known else "")
            self.say(origin, style="dim", indent=5)
            if with_content:
                self.say(f"“{cut_at_sentence(clean_line(piece.content), 220)}”", indent=5)

    def _print(self, text: Text, *, indent: int = 0, hang: int = 0) -> None:
        """Wrap here, because the console would pad every line with spaces."""
        width = max(self._console.width - indent - hang, 20)
        for number, line in enumerate(text.wrap(self._console, width)):
            line.rstrip()
            blanks = " " * (indent + (hang if number else 0))
            self._console.print(Text(blanks).append_text(line), soft_wrap=True)

    def trouble(self, sentence: str) -> None:
        """Print a failure after which the demo continues."""
        self.say(sentence, style="red", indent=2)

    def note(self, sentence: str) -> None:
        """Print a warning of the server."""
        self.say(sentence, style="yellow", indent=2)

    def good(self, sentence: str) -> None:
        """Print the outcome of a step."""
        self.say(sentence, style="green", indent=2)


def _origin(piece: Evidence) -> str:
    citation = piece.citation
    authors = ", ".join(citation.authors[:3]) + (" et al." if len(citation.authors) > 3 else "")
    facts = [
        authors,
        citation.date if citation.date != "Unknown" else "",
        citation.journal,
        f"PMID {citation.pmid}" if citation.pmid else citation.url,
        f"relevance {piece.relevance:.2f}" if piece.relevance else "",
    ]
    return " · ".join(filter(None, facts)) or piece.id


def _shortened(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_shortened(one) for one in cast('list[object]', value))}]"
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return f"{{{', '.join(f'{name}: {_shortened(one)}' for name, one in pairs)}}}"
    text = str(value)
    cut = text if len(text) <= _MAX_ARGUMENT_LENGTH else f"{text[:_MAX_ARGUMENT_LENGTH].rstrip()}…"
    return f"“{cut}”" if isinstance(value, str) else cut


def _one_line(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= 60 else f"{line[:59]}…"
