"""How a search reports its progress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Progress = Callable[[float, str], Awaitable[None]]
"""Called with the fraction done, 0..1, and a message for people."""


async def no_progress(fraction: float, message: str) -> None:
    """For callers that do not want reports."""


def phase(progress: Progress, start: float, end: float) -> Progress:
    """Reports of one phase of a call, which goes from `start` to `end`."""

    async def report(fraction: float, message: str) -> None:
        await progress(start + (end - start) * fraction, message)

    return report
