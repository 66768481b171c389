"""How a tool module describes its tool to the server."""

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
        run: the function; its docstring is the description, its parameters are the input schema.
        title: shown to people.
        result: the type that it returns, and so its output schema.
        annotations: hints for the client.
        render: the readable form of the result.
        changes_session: whether it may change a session's evidence.
        on_board: whether hosts that support MCP Apps show its result on the evidence board.
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
    """Hints for a tool that queries external services and keeps the results."""
    return ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)


def reading(*, open_world: bool = False) -> ToolAnnotations:
    """Hints for a tool that changes nothing."""
    return ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=open_world
    )


def keeping() -> ToolAnnotations:
    """Hints for a tool that only adds to the session; repeating a call changes nothing."""
    return ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
