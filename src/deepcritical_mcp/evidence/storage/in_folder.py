"""Sessions in a folder, which outlive the process.

`<data_dir>/sessions/<session_id>` holds a Chroma in `chroma`, and the files `lock`, `used`, `session.json` and, if it
is large, `index.npz`.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Self

from chromadb.api import ServerAPI
from chromadb.api.client import Client
from chromadb.config import System
from filelock import FileLock, Timeout

from deepcritical_mcp.config import Settings, user_data_folder
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.embedding.service import CACHE_FILE
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.chroma_failures import damaged, translated
from deepcritical_mcp.evidence.storage.chroma_space import chroma_settings
from deepcritical_mcp.evidence.storage.folder_space import (
    FolderSpace,
    NewFolderSpace,
    OpenFolder,
    check_database,
    check_space,
    drop_unfinished_index,
    file_errors,
    mark_finished,
    mark_unfinished,
)
from deepcritical_mcp.evidence.storage.local_space import LOCAL_BATCH
from deepcritical_mcp.evidence.storage.rows import (
    SessionInfo,
    is_session_id,
    new_session_id,
)
from deepcritical_mcp.evidence.storage.session_card import LATEST, card_of, write_private
from deepcritical_mcp.net.cache import Cache, make_private_folder

MAX_OPEN = 32
"""An open session costs 9 threads and 15 file descriptors."""
LOCK_PATIENCE = 0.1
"""Seconds to wait for a session's lock: who only asks whether it is open holds it for less."""
MAX_OWNER = 256  # bytes of `used` that are read; a digest has 64


class FolderBackend(Backend):
    """Keeps each session in its own folder, `<data_dir>/sessions/<session_id>`, and for a day after its deletion in
    `<data_dir>/trash/<session_id>`.

    The process that has a session open holds a lock on it, because two processes on one Chroma folder corrupt it. The
    file `used` is written last and removed first: a folder without it is half of a session, and the next sweep removes
    it. `used` holds the owner; its modification time is the session's last use, in the trash that of its deletion.
    A session in which nothing has been kept yet has no folder.
    """

    title = "Sessions folder"
    advice = "Set DEEPCRITICAL_DATA_DIR to a folder that you may write to."
    lasting = True
    shared = False
    batch = LOCAL_BATCH
    undo_seconds = 86_400.0
    ttl = 90 * 86_400.0

    def __init__(self, data_dir: Path, *, limit: int) -> None:
        self.limit = min(limit, MAX_OPEN)
        self.data_dir = data_dir
        self._sessions = data_dir / "sessions"
        self._trash = data_dir / "trash"
        self._vectors = Cache(data_dir / CACHE_FILE, max_bytes=0)
        # With a handle on the database: closing any of the process would drop Chroma's locks on the file (POSIX).
        self._open: dict[str, OpenFolder] = {}
        self._unwritten: dict[str, SessionInfo] = {}
        self._preparing = threading.Lock()
        self._next_id = ""
        self._empty_database = b""

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        return cls(settings.data_dir, limit=settings.max_sessions) if settings.data_dir else None

    def prepare(self) -> None:
        with self._preparing:
            if not self._open and not self._unwritten:
                self._next_id = session_id = new_session_id()
                with contextlib.suppress(EvidenceStoreError, SessionBusyError):
                    self._made(session_id)

    def next_id(self) -> str:
        session_id, self._next_id = self._next_id, ""
        return session_id or new_session_id()

    def create(self, session_id: str, info: SessionInfo) -> Space:
        with file_errors("open a session"):
            self._make_folders()
            check_space(self._sessions, "open a session")
        self._unwritten[session_id] = info
        return NewFolderSpace(session_id, info, self._begin)

    def open(self, session_id: str, model: str) -> Space:
        if session_id in self._unwritten:  # closed since, because others were used
            return NewFolderSpace(session_id, replace(self._unwritten[session_id], model=model), self._begin)
        folder = self._sessions / session_id
        if not self.has(session_id):
            raise SessionNotFoundError()
        try:
            space = self._opened(folder, lambda client: FolderSpace.open(client, session_id, model))
        except SessionNotFoundError:  # `used` was written after the collection
            raise damaged() from None
        with file_errors("open the session"):
            space.info = replace(card_of(folder, space.info), used=(folder / "used").stat().st_mtime)
        return space

    def _begin(self, space: NewFolderSpace) -> None:
        """Make the folder of a session in which something is being kept."""
        folder = self._sessions / space.session_id
        with self._preparing:
            one = self._open.get(space.session_id) or self._made(space.session_id)
        try:
            space.begun(one)
            with file_errors("open a session"):
                write_private(folder / "used", space.info.owner)
                os.utime(folder / "used", (space.info.used, space.info.used))
        except BaseException:
            self._unmake(space.session_id)
            raise
        self._unwritten.pop(space.session_id, None)

    def _made(self, session_id: str) -> OpenFolder:
        """A new folder with an empty Chroma, locked, and without `used`."""
        folder = self._sessions / session_id
        with file_errors("open a session"):
            self._make_folders()
            check_space(self._sessions, "open a session")
            make_private_folder(folder / "chroma")
        try:
            self._open[session_id] = self._started(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self._open[session_id]

    def _unmake(self, session_id: str) -> None:
        """Remove a folder in which nothing has been kept."""
        self._closed(session_id).release()
        shutil.rmtree(self._sessions / session_id, ignore_errors=True)

    def release(self, space: Space) -> None:
        if space.session_id not in self._unwritten:
            self._closed(space.session_id).release()

    def delete(self, space: Space) -> None:
        if self._unwritten.pop(space.session_id, None) is None:
            self._throw_away(space.session_id, space.info.owner, self._closed(space.session_id))

    def discard(self, session_id: str, owner: str) -> bool:
        folder = self._sessions / session_id
        if not self.has(session_id) or _owner_of(folder) != owner:
            return False
        self._throw_away(session_id, owner, self._locked(folder))
        return True

    def restore(self, session_id: str, owner: str) -> None:
        deleted, folder = self._trash / session_id, self._sessions / session_id
        with file_errors("restore the session"):
            if self.has(session_id) or _was_used_before(deleted, self.now(math.inf) - self.undo_seconds):
                return
            if _owner_of(deleted) == owner:
                shutil.rmtree(folder, ignore_errors=True)  # what a call that was writing may have left there
                deleted.rename(folder)

    def has(self, session_id: str) -> bool:
        if session_id in self._unwritten:
            return True
        with file_errors("open the session"), contextlib.suppress(FileNotFoundError):
            (self._sessions / session_id / "used").stat()
            return True
        return False

    def is_elsewhere(self, session_id: str) -> bool:
        try:
            with contextlib.suppress(EvidenceStoreError):  # opening it will say what is wrong
                if session_id not in self._open and self.has(session_id):
                    self._locked(self._sessions / session_id).release()
        except SessionBusyError:
            return True
        return False

    def is_begun(self, session_id: str) -> bool:
        return session_id not in self._unwritten

    def sessions(self, owner: str | None) -> dict[str, SessionInfo]:
        found: dict[str, SessionInfo] = {}
        with file_errors("list the sessions"):
            for folder in _sessions_in(self._sessions):
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    used = min((folder / "used").stat().st_mtime, LATEST)
                    of = _owner_of(folder)
                    if owner in (None, of):
                        found[folder.name] = card_of(folder, SessionInfo(of, "", used))
        return found

    def now(self, clock: float) -> float:
        """Not later than what the file system takes for the time: a clock that is ahead must not expire sessions."""
        with file_errors("be written to"):
            self._make_folders()
            os.utime(self._sessions)
            return min(clock, self._sessions.stat().st_mtime)

    def delete_unused(self, since: float) -> None:
        with file_errors("delete old sessions"):
            kept, deleted = _sessions_in(self._sessions), _sessions_in(self._trash)
        for folder in kept:
            # If another process has it open, that process will delete it.
            with contextlib.suppress(SessionBusyError, EvidenceStoreError, OSError):
                if folder.name not in self._open and _was_used_before(folder, since):
                    lock = self._locked(folder)
                    try:
                        if _was_used_before(folder, since):  # nobody took it up meanwhile
                            self._purge(folder)
                    finally:
                        lock.release()
        for folder in deleted:
            with contextlib.suppress(OSError):
                if _was_used_before(folder, self.now(math.inf) - self.undo_seconds):
                    self._purge(folder)
        # Left by version 0.1, which was killed, and which kept vectors of what it had deleted.
        for left in (*self.data_dir.glob("deleted-rs_*"), *self.data_dir.glob("embeddings.sqlite3*")):
            with contextlib.suppress(OSError):
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)

    def check(self) -> None:
        if self.data_dir.parts[:1] == ("~",):
            raise EvidenceStoreError(f"The evidence store has no folder: this account has no home. {self.advice}")
        self.now(0.0)
        check_space(self._sessions, "keep sessions")
        with file_errors("keep sessions"), tempfile.TemporaryFile(dir=self._sessions) as file:
            file.write(b"check")

    def close(self) -> None:
        with self._preparing:
            for session_id in list(self._open):
                if os.path.lexists(self._sessions / session_id / "used"):  # left open by a call that was cancelled
                    self._closed(session_id).release()
                else:  # prepared, and not needed
                    self._unmake(session_id)

    def _make_folders(self) -> None:
        for folder in (self._sessions, self._trash):
            make_private_folder(folder)
            folder.chmod(0o700)  # version 0.1 left that to the umask
        if self.data_dir == user_data_folder():  # a folder that the user names is the user's to open
            with contextlib.suppress(PermissionError):
                self.data_dir.chmod(0o700)

    def _opened(self, folder: Path, make: Callable[[Client], FolderSpace]) -> Space:
        is_open = folder.name in self._open  # left open by a call that was cancelled before it returned
        one = self._open[folder.name] if is_open else self._started(folder, is_new=False)
        try:
            if is_open:
                space = make(one.client)
            else:
                mark_unfinished(folder)
                space = make(one.client)
                space.settle(rebuild=one.lacks_index)
                mark_finished(folder)
        except BaseException as error:
            if not is_open:
                if isinstance(error, SessionBusyError) and not one.lacks_index:
                    mark_finished(folder)
                one.close().release()
            raise
        space.database = one.database
        self._open[folder.name] = one
        return space

    def _started(self, folder: Path, *, is_new: bool = True) -> OpenFolder:
        """Open a folder's Chroma. A new one begins as a copy of this process's first: creating the tables takes most of
        the time."""
        path, lacks_index = folder / "chroma" / "chroma.sqlite3", False
        with contextlib.ExitStack() as undo:
            lock = self._locked(folder)
            undo.callback(lock.release)
            with file_errors("open the session"):
                if is_new:
                    path.touch(0o600)  # the files that SQLite makes beside it get the same mode
                    path.write_bytes(self._empty_database)
                else:
                    check_database(path)
                    lacks_index = drop_unfinished_index(folder)
            with translated("open the session"):
                client = _client(path.parent)
            undo.callback(client.close)
            with file_errors("open the session"):
                database = undo.enter_context(path.open("rb"))
                if is_new and not self._empty_database:
                    self._empty_database = database.read()
            undo.pop_all()
        return OpenFolder(client, lock, database, lacks_index)

    def _closed(self, session_id: str) -> FileLock:
        """Close an open session; returns its lock."""
        lock = self._open.pop(session_id).close()
        with contextlib.suppress(OSError):
            # Chroma makes the files of its index as the umask says.
            for path in (self._sessions / session_id / "chroma").glob("*/**/*"):
                path.chmod(0o700 if path.is_dir() else 0o600)
        return lock

    def _locked(self, folder: Path) -> FileLock:
        lock = FileLock(folder / "lock", mode=0o600, blocking=False, thread_local=False)
        try:
            with file_errors("open the session"):
                lock.acquire(timeout=LOCK_PATIENCE, poll_interval=0.01, blocking=True)
        except Timeout:
            raise SessionBusyError(
                "This session is open in another process, e.g. in another window of your client. Close that one first, "
                'or pass "new" as session_id to open a fresh session.'
            ) from None
        return lock

    def _throw_away(self, session_id: str, owner: str, lock: FileLock) -> None:
        folder = self._sessions / session_id
        try:
            with file_errors("delete the session"):
                self._make_folders()
                write_private(folder / "used", owner)
                folder.rename(self._trash / session_id)
        finally:
            lock.release()

    def _purge(self, folder: Path) -> None:
        """Delete a session's folder, after the cache of vectors, which has those of its texts too, unless nothing has
        been kept in it. If another program has locked the cache, a later sweep does both."""
        if not os.path.lexists(folder / "used") or self._vectors.clear() is not None:
            (folder / "used").unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
        self._vectors.close()


def _owner_of(folder: Path) -> str:
    """The session's owner; "" if that cannot be told."""
    used = folder / "used"
    if used.is_symlink() or not used.is_file():
        return ""
    with used.open("rb") as file:
        return file.read(MAX_OWNER).decode("utf-8", "replace").strip()


def _client(path: Path) -> Client:
    """A Chroma on that folder. `chromadb.PersistentClient` would remember a failed start as if it had succeeded."""
    settings = chroma_settings()
    settings.is_persistent, settings.persist_directory = True, str(path)
    system = System(settings)
    system.instance(ServerAPI)
    system.start()
    return Client.from_system(system)


def _sessions_in(parent: Path) -> list[Path]:
    """The folders of sessions in a folder that may not exist yet; raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        return [one for one in parent.iterdir() if is_session_id(one.name) and one.is_dir() and not one.is_symlink()]
    return []


def _was_used_before(folder: Path, since: float) -> bool:
    """Whether it has not been used since then; half of a session never has been."""
    used = folder / "used"
    return not os.path.exists(used) or used.stat().st_mtime < since
