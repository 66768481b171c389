"""Sessions on a Chroma server, which several processes may share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from chromadb.api.client import Client

from deepcritical_mcp.evidence.storage.backend import chroma_settings
from deepcritical_mcp.evidence.storage.rows import SessionInfo
from deepcritical_mcp.evidence.storage.space import Space, check, connect, delete_unused

SERVER_BATCH = 64
SERVER_TIMEOUT = 10.0
"""Seconds to wait for one response."""


class ServerBackend:
    """Keeps sessions on the Chroma server at `url`; connects when first used. See `Backend`."""

    lasting = True
    shared = True
    batch = SERVER_BATCH

    def __init__(self, url: str, *, limit: int) -> None:
        self.limit = limit
        self._url = url
        self._lock = threading.Lock()
        self._connected: tuple[Client, Callable[[], None]] | None = None

    def create(self, session_id: str, info: SessionInfo) -> Space:
        return Space.create(self._client(), session_id, info)

    def open(self, session_id: str, model: str) -> Space:
        return Space.open(self._client(), session_id, model)

    def release(self, space: Space) -> None:
        pass

    def delete(self, space: Space) -> None:
        space.delete()

    def touch(self, space: Space, now: float) -> None:
        space.touch(now)

    def delete_unused(self, since: float) -> None:
        delete_unused(self._client(), since)

    def check(self) -> None:
        check(self._client())

    def close(self) -> None:
        if self._connected is not None:
            self._connected[1]()
            self._connected = None

    def _client(self) -> Client:
        with self._lock:
            if self._connected is None:
                parts = urlsplit(self._url)
                self._connected = connect(
                    parts.hostname or "",
                    parts.port or (443 if parts.scheme == "https" else 80),
                    chroma_settings(),
                    ssl=parts.scheme == "https",
                    timeout=SERVER_TIMEOUT,
                )
            return self._connected[0]
