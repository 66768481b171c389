"""What every backend offers, and what the backends share."""

from __future__ import annotations

from typing import Protocol

from chromadb.config import Settings as ChromaSettings

from deepcritical_mcp.evidence.storage.rows import SessionInfo
from deepcritical_mcp.evidence.storage.space import Space

LOCAL_BATCH = 8
"""Records per write to an in-process Chroma, which holds the GIL meanwhile: 4 ms in memory, 15 ms in a folder."""


class Backend(Protocol):
    """A place to keep sessions. All methods block; call them in a worker thread.

    Attributes:
        lasting: whether a closed session can be opened again.
        shared: whether other processes may change an open session.
        batch: records per write.
        limit: how many sessions may be open at once.
    """

    lasting: bool
    shared: bool
    batch: int
    limit: int

    def create(self, session_id: str, info: SessionInfo) -> Space:
        """Create a session and open it.

        Raises:
            EvidenceStoreError: it cannot be created.
        """
        ...

    def open(self, session_id: str, model: str) -> Space:
        """Open a kept session; see `Space.open` for `model`.

        Raises:
            SessionNotFoundError: there is no such session.
            SessionBusyError: another process has it open.
            EvidenceStoreError: it cannot be read.
        """
        ...

    def release(self, space: Space) -> None:
        """Close an open session; if the backend is not lasting, delete it."""
        ...

    def delete(self, space: Space) -> None:
        """Close an open session and delete it."""
        ...

    def touch(self, space: Space, now: float) -> None:
        """Record that an open session was used at `now` (Unix seconds)."""
        ...

    def delete_unused(self, since: float) -> None:
        """Delete the closed sessions that were last used before `since` (Unix seconds)."""
        ...

    def check(self) -> None:
        """Check that sessions can be kept.

        Raises:
            EvidenceStoreError: they cannot.
        """
        ...

    def close(self) -> None:
        """Close shared connections. Call it after every session has been released."""
        ...


def chroma_settings() -> ChromaSettings:
    """Settings for any Chroma client: no .env file from the working directory, no telemetry."""
    return ChromaSettings(_env_file=None, anonymized_telemetry=False)  # pyright: ignore[reportCallIssue]
