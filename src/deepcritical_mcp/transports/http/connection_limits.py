"""Limits for connections: idle ones are closed after a while, or earlier to make room for new ones."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

_FULL = b'{"error": {"code": "too_many_connections", "message": "Too many connections.", "retryable": true}}'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 5\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


def bounded_protocol(max_connections: int, head_timeout: float) -> type[BoundedProtocol]:
    """A protocol class for uvicorn with these limits; `head_timeout` in seconds."""
    return type(
        "BoundedProtocol", (BoundedProtocol,), {"max_connections": max_connections, "head_timeout": head_timeout}
    )


class BoundedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 with two limits it lacks: the time for a request's head, and the number of connections.

    Uvicorn's own timeout starts after the first response and stops at the first byte of the next request, so a
    connection that never completes a request's head would stay open forever.
    """

    max_connections = 1_000
    head_timeout = 20.0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection; if there are too many, close the one that has been idle longest, or refuse."""
        if len(self.connections) >= self.max_connections and not self._close_longest_idle():
            transport.write(_REFUSAL)
            transport.close()
            self.transport = transport
            return
        super().connection_made(transport)
        self._expect_head(self.head_timeout)

    def data_received(self, data: bytes) -> None:
        """Read on; a complete head stops the timer."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if not self.is_idle:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Start the timer for the next request."""
        self._expect_head(self.timeout_keep_alive + self.head_timeout)
        super().on_response_complete()
        if not self.is_idle:  # the next request had already arrived
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _expect_head(self, within: float) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(within, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_longest_idle(self) -> bool:
        idle = [one for one in self.connections if isinstance(one, BoundedProtocol) and one.is_idle]
        if not idle:
            return False
        oldest = min(idle, key=lambda one: one._head_timer.when() if one._head_timer else 0.0)
        oldest.transport.close()
        self.connections.discard(oldest)
        return True
