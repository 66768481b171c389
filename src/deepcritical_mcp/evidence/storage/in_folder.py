"""Sessions in a folder, which outlive the process."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Self

from chromadb.api import ServerAPI
from chromadb.api.client import Client
from chromadb.config import System
from filelock import FileLock, Timeout

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.embedding.service import CACHE_FILE
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.chroma_space import (
    DISK_FULL,
    LOCAL_BATCH,
    ChromaSpace,
    chroma_settings,
    damaged,
    translated,
)
from deepcritical_mcp.evidence.storage.rows import SessionInfo, is_session_id
from deepcritical_mcp.net.cache import Cache, make_private_folder

MAX_OPEN = 32
"""An open session costs 9 threads and 14 file descriptors."""
MIN_FREE = 32 * 2**20
"""Bytes that writing leaves free on the disk: Chroma must not find it full."""


class FolderBackend(Backend):
    """Keeps each session in its own folder, `<data_dir>/sessions/<session_id>`, and for a day after its deletion in
    `<data_dir>/trash/<session_id>`.

    The process that has a session open holds a lock on it, because two processes on one Chroma folder corrupt it. The
    file `used` is written last and removed first: a folder without it is half of a session, and the next sweep removes
    it. `used` holds the owner; its modification time is the session's last use, in the trash that of its deletion.
    """

    title = "Sessions folder"
    advice = "Set DEEPCRITICAL_DATA_DIR to a folder that you may write to."
    lasting = True
    shared = False
    batch = LOCAL_BATCH
    undo_seconds = 86_400.0

    def __init__(self, data_dir: Path, *, limit: int) -> None:
        self.limit = min(limit, MAX_OPEN)
        self._data = data_dir
        self._sessions = data_dir / "sessions"
        self._trash = data_dir / "trash"
        self._vectors = Cache(data_dir / CACHE_FILE, max_bytes=0)
        self._open: dict[str, tuple[Client, FileLock]] = {}

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        return cls(settings.data_dir, limit=settings.max_sessions) if settings.data_dir else None

    def create(self, session_id: str, info: SessionInfo) -> Space:
        folder = self._sessions / session_id

        def make(client: Client) -> Space:
            space = FolderSpace.create(client, session_id, info)
            (folder / "used").write_text(info.owner, "utf-8")
            os.utime(folder / "used", (info.used, info.used))
            return space

        with _file_errors("open a session"):
            self._make_folders()
            _check_space(self._sessions, "open a session")
            folder.mkdir(mode=0o700)
            return self._opened(folder, make, is_new=True)

    def open(self, session_id: str, model: str) -> Space:
        folder = self._sessions / session_id
        if not self.has(session_id):
            raise SessionNotFoundError()
        try:
            space = self._opened(folder, lambda client: FolderSpace.open(client, session_id, model))
        except SessionNotFoundError:  # `used` was written after the collection
            raise damaged() from None
        with _file_errors("open the session"):
            space.info = replace(space.info, used=(folder / "used").stat().st_mtime)
        return space

    def release(self, space: Space) -> None:
        client, lock = self._open.pop(space.session_id)
        client.close()
        lock.release()

    def delete(self, space: Space) -> None:
        client, lock = self._open.pop(space.session_id)
        client.close()
        self._throw_away(space.session_id, space.info.owner, lock)

    def discard(self, session_id: str, owner: str) -> bool:
        folder = self._sessions / session_id
        if not self.has(session_id) or _owner_of(folder) != owner:
            return False
        self._throw_away(session_id, owner, self._locked(folder))
        return True

    def restore(self, session_id: str, owner: str) -> None:
        deleted, folder = self._trash / session_id, self._sessions / session_id
        with _file_errors("restore the session"):
            if self.has(session_id) or _was_used_before(deleted, self.now(math.inf) - self.undo_seconds):
                return
            if _owner_of(deleted) == owner:
                shutil.rmtree(folder, ignore_errors=True)  # what a call that was writing may have left there
                deleted.rename(folder)

    def touch(self, space: Space, now: float) -> None:
        with _file_errors("keep the session"):
            os.utime(self._sessions / space.session_id / "used", (now, now))

    def has(self, session_id: str) -> bool:
        return os.path.exists(self._sessions / session_id / "used")

    def now(self, clock: float) -> float:
        """Not later than what the file system takes for the time: a clock that is ahead must not expire sessions."""
        with _file_errors("be written to"):
            self._make_folders()
            os.utime(self._sessions)
            return min(clock, self._sessions.stat().st_mtime)

    def delete_unused(self, since: float) -> None:
        for folder in _sessions_in(self._sessions):
            # If another process has it open, that process will delete it.
            with contextlib.suppress(SessionBusyError, EvidenceStoreError):
                if folder.name not in self._open and _was_used_before(folder, since):
                    lock = self._locked(folder)
                    if _was_used_before(folder, since):  # nobody took it up meanwhile
                        self._purge(folder)
                    lock.release()
        for folder in _sessions_in(self._trash):
            if _was_used_before(folder, self.now(math.inf) - self.undo_seconds):
                self._purge(folder)
        # Left by version 0.1, which was killed, and which kept vectors of what it had deleted.
        for left in (*self._data.glob("deleted-rs_*"), *self._data.glob("embeddings.sqlite3*")):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)

    def check(self) -> None:
        self.now(0.0)

    def _make_folders(self) -> None:
        for folder in (self._sessions, self._trash):
            make_private_folder(folder)
            folder.chmod(0o700)  # version 0.1 left that to the umask

    def _opened(self, folder: Path, make: Callable[[Client], Space], *, is_new: bool = False) -> Space:
        if folder.name in self._open:  # left open by a call that was cancelled before it returned
            return make(self._open[folder.name][0])
        with contextlib.ExitStack() as undo:
            lock = self._locked(folder)
            undo.callback(lock.release)
            with _file_errors("open the session"):
                if not (is_new or _is_sound(folder / "chroma")):
                    raise damaged()
            with translated("open the session"):
                client = _client(folder / "chroma")
            undo.callback(client.close)
            space = make(client)
            self._open[folder.name] = client, lock
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
        return lock

    def _throw_away(self, session_id: str, owner: str, lock: FileLock) -> None:
        folder = self._sessions / session_id
        try:
            with _file_errors("delete the session"):
                self._make_folders()
                if not (folder / "used").is_file():
                    (folder / "used").unlink(missing_ok=True)  # writing to a pipe would wait for a reader
                (folder / "used").write_text(owner, "utf-8")
                folder.rename(self._trash / session_id)
        finally:
            lock.release()

    def _purge(self, folder: Path) -> None:
        """Delete a session's folder, after the cache of vectors, which has those of its texts too."""
        self._vectors.clear()
        self._vectors.close()
        (folder / "used").unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


class FolderSpace(ChromaSpace):
    """A session in a folder. After a failed write it must be opened again: the database may still be locked by it, and
    Chroma would wait for the lock, with the whole process, for a quarter of an hour."""

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        _check_space(Path(self._client.get_settings().persist_directory), "keep the evidence")
        if not self.usable:
            raise EvidenceStoreError(
                "The evidence store could not keep the evidence: an earlier write failed. Try again."
            )
        try:
            with super()._writing():
                yield
        except EvidenceStoreError:
            self.usable = False
            raise


def _check_space(folder: Path, action: str) -> None:
    with _file_errors(action):
        if shutil.disk_usage(folder).free < MIN_FREE:
            raise EvidenceStoreError(f"The evidence store could not {action}: {DISK_FULL}")


def _is_sound(folder: Path) -> bool:
    """Whether Chroma can open the folder: it would wait for ever for a pipe, and replace an empty database."""
    database, journal = folder / "chroma.sqlite3", folder / "chroma.sqlite3-journal"
    if not database.is_file() or not all(path.is_file() or path.is_dir() for path in folder.rglob("*")):
        return False
    with database.open("rb") as file:
        head = file.read(32)  # https://www.sqlite.org/fileformat.html#the_database_header
        size = file.seek(0, os.SEEK_END)
    page_size, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    return head.startswith(b"SQLite format 3\0") and (size >= page_size * pages or journal.exists())


def _owner_of(folder: Path) -> str:
    """The session's owner; "" if that cannot be told."""
    used = folder / "used"
    return used.read_text("utf-8") if used.is_file() else ""


def _client(path: Path) -> Client:
    """A Chroma on that folder. `chromadb.PersistentClient` would remember a failed start as if it had succeeded."""
    settings = chroma_settings()
    settings.is_persistent, settings.persist_directory = True, str(path)
    system = System(settings)
    system.instance(ServerAPI)
    system.start()
    return Client.from_system(system)


def _sessions_in(parent: Path) -> list[Path]:
    return [folder for folder in parent.iterdir() if is_session_id(folder.name)] if parent.is_dir() else []


def _was_used_before(folder: Path, since: float) -> bool:
    """Whether it has not been used since then; half of a session never has been."""
    used = folder / "used"
    return not os.path.exists(used) or used.stat().st_mtime < since


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
