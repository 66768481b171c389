"""Sessions in memory, which end with the process."""

from __future__ import annotations

import threading

from chromadb.api.client import Client
from chromadb.config import System

from deepcritical_mcp.errors import SessionNotFoundError
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.chroma_space import LOCAL_BATCH, ChromaSpace, chroma_settings, translated
from deepcritical_mcp.evidence.storage.rows import SessionInfo

SESSIONS_PER_INSTANCE = 16
"""Chroma frees a deleted collection's index (3 MB) only when the whole instance stops, and an instance costs 3 threads
and 4 file descriptors. So a few sessions share one, and it stops with the last of them."""


class MemoryBackend(Backend):
    """Keeps sessions until they are closed."""

    lasting = False
    shared = False
    batch = LOCAL_BATCH

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._instances: dict[str, _ChromaInstance] = {}
        self._latest: _ChromaInstance | None = None

    def create(self, session_id: str, info: SessionInfo) -> Space:
        with self._lock:
            if self._latest is None or self._latest.opened == SESSIONS_PER_INSTANCE:
                self._latest = _ChromaInstance()
            instance = self._latest
            space = ChromaSpace.create(instance.client, session_id, info)
            instance.opened += 1
            instance.sessions.add(session_id)
            self._instances[session_id] = instance
        return space

    def open(self, session_id: str, model: str) -> Space:
        raise SessionNotFoundError()

    def release(self, space: Space) -> None:
        self.delete(space)

    def delete(self, space: Space) -> None:
        with self._lock:
            instance = self._instances.pop(space.session_id, None)
            if instance is None:
                return
            space.delete()
            instance.sessions.discard(space.session_id)
            if not instance.sessions:
                instance.system.stop()
                self._latest = None if self._latest is instance else self._latest

    def touch(self, space: Space, now: float) -> None:
        pass


class _ChromaInstance:
    """A running in-memory Chroma, with the sessions it holds and the number it has ever held."""

    def __init__(self) -> None:
        self.opened = 0
        self.sessions: set[str] = set()
        with translated("start"):
            self.system = System(chroma_settings())
            self.system.start()
            self.client = Client.from_system(self.system)
