"""Progress notifications, for clients that ask for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from deepcritical_mcp.tools.call_session import ToolContext


def progress_of(ctx: ToolContext) -> Callable[[float, str], Awaitable[None]]:
    """A function that reports the fraction done (0 to 1) and a message; silent for clients that did not ask."""

    async def report(fraction: float, message: str) -> None:
        await ctx.report_progress(fraction, 1.0, message)

    return report
