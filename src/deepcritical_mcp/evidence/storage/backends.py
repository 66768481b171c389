"""The three places where sessions can be kept. All methods block and run in worker threads."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.config import Settings as ChromaSettings
    from chromadb.config import System
    from filelock import FileLock

    from deepcritical_mcp.evidence.storage.rows import SessionInfo
    from deepcritical_mcp.evidence.storage.space import Space

logger = logging.getLogger(__name__)

LOCAL_BATCH = 8
"""Records given to Chroma at once in process, where it holds the interpreter's lock: 4 ms (in a folder 15 ms)."""
SERVER_BATCH = 64
SERVER_TIMEOUT = 10.0
"""Seconds for one answer of a Chroma server."""


class Backend(Protocol):
    """Where sessions are kept.

    Attributes:
        lasting: whether a closed session can be opened again.
        shared: whether several processes may have a session open.
        shared: whether other processes may change an open session.
        batch: records to write at once.
        limit: sessions that may be open at the same time.
    """

    lasting: bool
    shared: bool
    batch: int
    limit: int

    def create(self, session_id: str, info: SessionInfo) -> Space:
        """Open a new session."""
        ...

    def open(self, session_id: str, model: str) -> Space:
        """Open a kept session; see `Space.open` for `model`.

        Raises:
            SessionNotFoundError: there is none of that id.
            SessionBusyError: another process has it open.
            EvidenceStoreError: it cannot be read.
        """
        ...

    def release(self, space: Space) -> None:
        """Close a session; where nothing lasts this deletes it."""
        ...

    def delete(self, space: Space) -> None:
        """Close an open session and delete it."""
        ...

    def touch(self, space: Space, now: float) -> None:
        """Write down that a session was used."""
        ...

    def delete_unused(self, since: float) -> None:
        """Delete the closed sessions that were last used before `since`."""
        ...

    def check(self) -> None:
        """Return if sessions can be kept.

        Raises:
            EvidenceStoreError: they cannot.
        """
        ...

    def close(self) -> None:
        """Free what is shared; every session has been released."""
        ...


def create_backend(settings: Settings) -> Backend:
    """The backend that the settings name; a server goes before a folder, and a folder before memory."""
    if settings.chroma_url:
        return ServerBackend(settings.chroma_url, limit=settings.max_sessions)
    if settings.data_dir is not None:
        return FolderBackend(settings.data_dir, limit=settings.max_sessions)
    return MemoryBackend(limit=settings.max_sessions)


def _chroma_settings(**values: object) -> ChromaSettings:
    from chromadb.config import Settings as ChromaSettings

    # No .env of whatever folder we were started in, and nothing sent to anyone.
    return ChromaSettings(_env_file=None, anonymized_telemetry=False, **values)  # pyright: ignore[reportCallIssue]


class MemoryBackend:
    """Sessions that live as long as the process.

    Chroma never frees the index of a deleted collection (3 MB each), only that of a whole instance; an instance in turn
    costs 3 threads and 4 file descriptors. So a few sessions share one, which goes when the last of them does.
    """

    lasting = False
    shared = False
    batch = LOCAL_BATCH
    SHARED_BY = 16

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._instances: dict[str, _Instance] = {}
        self._latest: _Instance | None = None

    def create(self, session_id: str, info: SessionInfo) -> Space:
        from deepcritical_mcp.evidence.storage.space import Space

        with self._lock:
            if self._latest is None or self._latest.opened == self.SHARED_BY:
                self._latest = _Instance()
            instance = self._latest
            space = Space.create(instance.client, session_id, info)
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
                instance.stop()
                self._latest = None if self._latest is instance else self._latest

    def touch(self, space: Space, now: float) -> None:
        pass

    def delete_unused(self, since: float) -> None:
        pass

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Instance:
    """One Chroma in memory."""

    def __init__(self) -> None:
        from chromadb.api.client import Client
        from chromadb.config import System

        from deepcritical_mcp.evidence.storage.space import translated

        self.opened = 0
        self.sessions: set[str] = set()
        with translated("start"):
            self._system: System = System(_chroma_settings(is_persistent=False))
            self._system.start()
            self.client = Client.from_system(self._system)

    def stop(self) -> None:
        self._system.stop()


class FolderBackend:
    """Each session in a folder of its own, locked by the process that has it open: two processes on one Chroma folder
    corrupt it."""

    lasting = True
    shared = False
    batch = LOCAL_BATCH
    MOST_OPEN = 32
    """An open folder costs 9 threads and 14 file descriptors."""

    def __init__(self, data_dir: Path, *, limit: int) -> None:
        self.limit = min(limit, self.MOST_OPEN)
        self._sessions = data_dir / "sessions"
        self._open: dict[str, tuple[Client, FileLock]] = {}

    def create(self, session_id: str, info: SessionInfo) -> Space:
        from deepcritical_mcp.evidence.storage.space import Space

        folder = self._sessions / session_id
        with _file_errors("open a session"):
            folder.mkdir(parents=True, mode=0o700)
            (folder / "used").touch()
            os.utime(folder / "used", (info.used, info.used))
        return self._opened(session_id, lambda client: Space.create(client, session_id, info))

    def open(self, session_id: str, model: str) -> Space:
        from deepcritical_mcp.evidence.storage.space import Space

        used = self._sessions / session_id / "used"
        if not used.exists():
            raise SessionNotFoundError()
        space = self._opened(session_id, lambda client: Space.open(client, session_id, model))
        space.info = replace(space.info, used=used.stat().st_mtime)
        return space

    def release(self, space: Space) -> None:
        client, lock = self._open.pop(space.session_id)
        client.close()
        lock.release()

    def delete(self, space: Space) -> None:
        client, lock = self._open.pop(space.session_id)
        client.close()
        with _file_errors("delete the session"):
            self._remove(space.session_id)
        lock.release()

    def touch(self, space: Space, now: float) -> None:
        with _file_errors("keep the session"):
            os.utime(self._sessions / space.session_id / "used", (now, now))

    def delete_unused(self, since: float) -> None:
        if not self._sessions.is_dir():
            return
        for folder in self._sessions.iterdir():
            if folder.name in self._open or not _used_before(folder, since):
                continue
            # Open in another process: that one will see to it.
            with contextlib.suppress(SessionBusyError, EvidenceStoreError, SessionNotFoundError):
                lock = self._locked(folder)
                self._remove(folder.name)
                lock.release()

    def check(self) -> None:
        with _file_errors("be written to"):
            self._sessions.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.utime(self._sessions)

    def close(self) -> None:
        pass

    def _opened(self, session_id: str, make: Callable[[Client], Space]) -> Space:
        import chromadb

        from deepcritical_mcp.evidence.storage.space import translated

        folder = self._sessions / session_id
        if session_id in self._open:  # by a call that was cancelled before it could take it
            return make(self._open[session_id][0])
        lock = self._locked(folder)
        try:
            with translated("open the session"):
                client = cast("Client", chromadb.PersistentClient(folder / "chroma", _chroma_settings()))
            try:
                space = make(client)
            except BaseException:
                client.close()
                raise
        except BaseException:
            lock.release()
            raise
        self._open[session_id] = client, lock
        return space

    def _locked(self, folder: Path) -> FileLock:
        from filelock import FileLock, Timeout

        lock = FileLock(folder / "lock", blocking=False, thread_local=False)
        try:
            lock.acquire()
        except Timeout:  # an OSError too, so before those
            raise SessionBusyError(
                "This session is open in another process, e.g. in another window of your client. End that one first, "
                'or pass "new" as session_id to open a fresh session.'
            ) from None
        except OSError as error:
            with _file_errors("open the session"):
                raise error
        if not (folder / "used").exists():  # deleted while we came
            lock.release()
            raise SessionNotFoundError()
        return lock

    def _remove(self, session_id: str) -> None:
        # Out of sight first: a process that comes now finds no session, not half of one.
        doomed = self._sessions.parent / f"deleted-{session_id}"
        (self._sessions / session_id).rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def _used_before(folder: Path, since: float) -> bool:
    try:
        return (folder / "used").stat().st_mtime < since
    except OSError:
        return False


@contextlib.contextmanager
def _file_errors(action: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise EvidenceStoreError(
            f"The evidence store could not {action}: {error.strerror or type(error).__name__}. "
            "DEEPCRITICAL_DATA_DIR must be a writable folder on a disk with space."
        ) from error


class ServerBackend:
    """Sessions on a Chroma server, which several processes may share."""

    lasting = True
    shared = True
    batch = SERVER_BATCH

    def __init__(self, url: str, *, limit: int) -> None:
        self.limit = limit
        self._url = url
        self._lock = threading.Lock()
        self._connected: tuple[Client, Callable[[], None]] | None = None

    def create(self, session_id: str, info: SessionInfo) -> Space:
        from deepcritical_mcp.evidence.storage.space import Space

        return Space.create(self._client(), session_id, info)

    def open(self, session_id: str, model: str) -> Space:
        from deepcritical_mcp.evidence.storage.space import Space

        return Space.open(self._client(), session_id, model)

    def release(self, space: Space) -> None:
        pass

    def delete(self, space: Space) -> None:
        space.delete()

    def touch(self, space: Space, now: float) -> None:
        space.touch(now)

    def delete_unused(self, since: float) -> None:
        from deepcritical_mcp.evidence.storage.space import delete_unused

        delete_unused(self._client(), since)

    def check(self) -> None:
        from deepcritical_mcp.evidence.storage.space import check

        check(self._client())

    def close(self) -> None:
        if self._connected is not None:
            self._connected[1]()
            self._connected = None

    def _client(self) -> Client:
        from deepcritical_mcp.evidence.storage.space import connect

        with self._lock:
            if self._connected is None:
                parts = urlsplit(self._url)
                self._connected = connect(
                    parts.hostname or "",
                    parts.port or (443 if parts.scheme == "https" else 80),
                    _chroma_settings(),
                    ssl=parts.scheme == "https",
                    timeout=SERVER_TIMEOUT,
                )
            return self._connected[0]
