"""What a tool module offers to the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp_types import ToolAnnotations
from pydantic import BaseModel

from deepcritical_mcp.tools.render import to_markdown

BOARD_URI = "ui://deepcritical/board.html"


@dataclass(frozen=True)
class ToolSpec:
    """One MCP tool.

    Attributes:
        run: the function; its docstring is what the model reads, its parameters are the input schema.
        title: for people.
        result: the value it returns, and so its output schema.
        annotations: hints for the client.
        render: the readable form of the result.
        changes_session: whether it may change what a session holds.
        on_board: whether hosts that show MCP Apps draw its result as the evidence board.
    """

    run: Callable[..., Awaitable[BaseModel]]
    title: str
    result: type[BaseModel]
    annotations: ToolAnnotations
    render: Callable[[Any], str] = to_markdown
    changes_session: bool = False
    on_board: bool = False

    @property
    def name(self) -> str:
        """The wire name."""
        return self.run.__name__


def searching() -> ToolAnnotations:
    """Hints for a tool that asks the outside world and keeps what it finds, destroying nothing."""
    return ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)


def reading(*, open_world: bool = False) -> ToolAnnotations:
    """Hints for a tool that changes nothing."""
    return ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=open_world
    )


def keeping() -> ToolAnnotations:
    """Hints for a tool that adds to the session and to nothing else; twice is once."""
    return ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
