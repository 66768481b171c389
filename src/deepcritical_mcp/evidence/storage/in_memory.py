"""Sessions in memory, which end with the process."""

from __future__ import annotations

from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionNotFoundError
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.rows import SessionInfo
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.sqlite_space import LOCAL_BATCH, SqliteSpace


class MemoryBackend(Backend):
    """Keeps sessions until they are closed."""

    title = "Memory"
    lasting = False
    shared = False
    batch = LOCAL_BATCH
    max_awake = 32

    def __init__(self, *, limit: int) -> None:
        self.limit = limit

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        return cls(limit=settings.max_sessions)

    def create(self, session_id: str, info: SessionInfo) -> Space:
        return SqliteSpace(session_id, info, create=lambda info: SessionFile.create(None, info))

    def open(self, session_id: str, model: str) -> Space:
        raise SessionNotFoundError()

    def release(self, space: Space) -> None:
        self.delete(space)
