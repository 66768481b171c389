"""Sessions in a folder, which outlive the process."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import cast

import chromadb
from chromadb.api.client import Client
from filelock import FileLock, Timeout

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.chroma_space import LOCAL_BATCH, ChromaSpace, chroma_settings, translated
from deepcritical_mcp.evidence.storage.rows import SessionInfo

MAX_OPEN = 32
"""An open session costs 9 threads and 14 file descriptors."""


class FolderBackend(Backend):
    """Keeps each session in its own folder, `<data_dir>/sessions/<session_id>`.

    The process that has a session open holds a lock on it, because two processes on one Chroma folder corrupt it.
    The modification time of the file `used` is the session's last use.
    """

    lasting = True
    shared = False
    batch = LOCAL_BATCH

    def __init__(self, data_dir: Path, *, limit: int) -> None:
        self.limit = min(limit, MAX_OPEN)
        self._sessions = data_dir / "sessions"
        self._open: dict[str, tuple[Client, FileLock]] = {}

    def create(self, session_id: str, info: SessionInfo) -> Space:
        folder = self._sessions / session_id
        with _file_errors("open a session"):
            folder.mkdir(parents=True, mode=0o700)
            (folder / "used").touch()
            os.utime(folder / "used", (info.used, info.used))
        return self._opened(session_id, lambda client: ChromaSpace.create(client, session_id, info))

    def open(self, session_id: str, model: str) -> Space:
        used = self._sessions / session_id / "used"
        if not used.exists():
            raise SessionNotFoundError()
        space = self._opened(session_id, lambda client: ChromaSpace.open(client, session_id, model))
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
            # If another process has it open, that process will delete it.
            with contextlib.suppress(SessionBusyError, EvidenceStoreError, SessionNotFoundError, OSError):
                if folder.name not in self._open and (folder / "used").stat().st_mtime < since:
                    lock = self._locked(folder)
                    self._remove(folder.name)
                    lock.release()

    def check(self) -> None:
        with _file_errors("be written to"):
            self._sessions.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.utime(self._sessions)

    def _opened(self, session_id: str, make: Callable[[Client], Space]) -> Space:
        if session_id in self._open:  # left open by a call that was cancelled before it returned
            return make(self._open[session_id][0])
        folder = self._sessions / session_id
        with contextlib.ExitStack() as undo:
            lock = self._locked(folder)
            undo.callback(lock.release)
            with translated("open the session"):
                client = cast("Client", chromadb.PersistentClient(folder / "chroma", chroma_settings()))
            undo.callback(client.close)
            space = make(client)
            self._open[session_id] = client, lock
            undo.pop_all()
        return space

    def _locked(self, folder: Path) -> FileLock:
        lock = FileLock(folder / "lock", blocking=False, thread_local=False)
        try:
            with _file_errors("open the session"):
                lock.acquire()
        except Timeout:
            raise SessionBusyError(
                "This session is open in another process, e.g. in another window of your client. Close that one first, "
                'or pass "new" as session_id to open a fresh session.'
            ) from None
        if not (folder / "used").exists():  # deleted by another process meanwhile
            lock.release()
            raise SessionNotFoundError()
        return lock

    def _remove(self, session_id: str) -> None:
        # Renamed first: another process then finds no session instead of half of one.
        doomed = self._sessions.parent / f"deleted-{session_id}"
        (self._sessions / session_id).rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


@contextlib.contextmanager
def _file_errors(action: str) -> Generator[None]:
    """Translate an OSError raised while the store tries to `action`; a lock's Timeout passes through."""
    try:
        yield
    except Timeout:  # an OSError too
        raise
    except OSError as error:
        raise EvidenceStoreError(
            f"The evidence store could not {action}: {error.strerror or type(error).__name__}. "
            "DEEPCRITICAL_DATA_DIR must be a writable folder on a disk with space."
        ) from error
