"""How often a provider may be asked."""

from __future__ import annotations

import anyio


class Spacing:
    """Spaces the starts of requests of this process: a `RequestLimiter`.

    Args:
        seconds: the least time between two starts.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = float("-inf")

    async def acquire(self) -> None:
        """Return when the next request may start; callers are served in order."""
        now = anyio.current_time()
        start = max(now, self._next)
        self._next = start + self._seconds
        await anyio.sleep(start - now)


def spacing(delay: float, *, per_second: float = float("inf")) -> Spacing:
    """Spacing that keeps both the delay and the rate."""
    return Spacing(max(delay, 1 / per_second))
