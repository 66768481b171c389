"""The output of the demo: steps, calls, evidence. Plain text without a terminal; any width from 60 columns."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partialmethod
from textwrap import fill
from typing import cast

from mcp.shared.dispatcher import ProgressFnT
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from deepcritical_mcp.text import clean_line, clipped

_MAX_ARGUMENT_LENGTH = 44
_MAX_LINES, _MAX_LINE = 26, 160
"""Of an answer that is shown, and characters of each line."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the BrokenPipeError, where rich would end the program in whichever task prints


class Screen:
    """Writes to stdout; BrokenPipeError once its reader has left, e.g. `head`."""

    def __init__(self) -> None:
        self._console = _Console(highlight=False)

    def say(self, text: str, *, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Print a paragraph; `hang` is the extra indentation of its second and later lines."""
        first, later = " " * indent, " " * (indent + hang)
        text = fill(text, max(self._console.width, 20), initial_indent=first, subsequent_indent=later)
        self._console.print(Text(text, style=style), soft_wrap=True)  # the console would pad every line with spaces

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
        named = ", ".join(f"{name}={_shortened(value)}" for name, value in arguments.items())
        self.say(f"→ {tool}({named})", style="cyan", hang=2)

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

    def answer(self, text: str) -> None:
        """Print what a model reads of an answer, with long texts shortened."""
        shown = 0
        for line, before in zip(lines := text.split("\n"), ["", *lines], strict=False):
            is_quote = line.startswith(">")
            if not line.strip() or line.startswith("session_id") or (is_quote and before.startswith(">")):
                continue
            if shown == _MAX_LINES:
                self.say("…", style="dim", indent=2)
                return
            shown += 1
            style = "bold" if line.startswith("#") else "dim" if is_quote else ""
            self.say(clipped(line.lstrip("#> "), _MAX_LINE), style=style, indent=2, hang=2)


def _shortened(value: object) -> str:
    """An argument, each text in it cut off where it is long."""
    if isinstance(value, list):
        return f"[{', '.join(map(_shortened, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value).items()
        return f"{{{', '.join(f'{name}: {_shortened(one)}' for name, one in fields)}}}"
    return f"“{clipped(value, _MAX_ARGUMENT_LENGTH)}”" if isinstance(value, str) else str(value)
