"""Sessions in a folder, which outlive the process."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import struct
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self

from chromadb.api import ServerAPI
from chromadb.api.client import Client
from chromadb.config import System
from filelock import FileLock, Timeout

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.embedding.service import CACHE_FILE
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.chroma_failures import DISK_FULL, damaged, translated
from deepcritical_mcp.evidence.storage.chroma_space import LOCAL_BATCH, ChromaSpace, chroma_settings
from deepcritical_mcp.evidence.storage.rows import SessionInfo, is_session_id
from deepcritical_mcp.net.cache import Cache, make_private_folder

if sys.platform != "win32":
    import fcntl

MAX_OPEN = 32
"""An open session costs 9 threads and 15 file descriptors."""
MIN_FREE = 32 * 2**20
"""Bytes that writing leaves free on the disk: Chroma must not find it full."""
LOCK_ATTEMPTS, LOCK_POLL = 20, 0.05  # seconds; how often to look whether another program has locked a database
_LOCK_BYTES = (0x4000_0000, 512)  # offset, length: https://www.sqlite.org/fileformat.html#the_lock_byte_page


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
        # With a handle on the database: closing any of the process would drop Chroma's locks on the file (POSIX).
        self._open: dict[str, tuple[Client, FileLock, BinaryIO]] = {}

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        return cls(settings.data_dir, limit=settings.max_sessions) if settings.data_dir else None

    def create(self, session_id: str, info: SessionInfo) -> Space:
        folder = self._sessions / session_id

        def make(client: Client) -> FolderSpace:
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
        self._closed(space).release()

    def delete(self, space: Space) -> None:
        self._throw_away(space.session_id, space.info.owner, self._closed(space))

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

    def _opened(self, folder: Path, make: Callable[[Client], FolderSpace], *, is_new: bool = False) -> Space:
        if folder.name in self._open:  # left open by a call that was cancelled before it returned
            client, _, database = self._open[folder.name]
            space = make(client)
            space.database = database
            return space
        path = folder / "chroma" / "chroma.sqlite3"
        with contextlib.ExitStack() as undo:
            lock = self._locked(folder)
            undo.callback(lock.release)
            with _file_errors("open the session"):
                if not is_new:
                    _check_database(path)
            with translated("open the session"):
                client = _client(path.parent)
            undo.callback(client.close)
            with _file_errors("open the session"):
                database = undo.enter_context(path.open("rb"))
            space = make(client)
            space.database = database
            self._open[folder.name] = client, lock, database
            undo.pop_all()
        return space

    def _closed(self, space: Space) -> FileLock:
        """Close an open session; returns its lock."""
        client, lock, database = self._open.pop(space.session_id)
        client.close()
        database.close()
        return lock

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
        """Delete a session's folder, after the cache of vectors, which has those of its texts too. If another program
        has locked the cache, a later sweep does both."""
        if self._vectors.clear() is not None:
            (folder / "used").unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
        self._vectors.close()


class FolderSpace(ChromaSpace):
    """A session in a folder. Chroma waits for a locked database for a quarter of an hour, when it writes with the whole
    process: so other programs' locks are looked for first, and after a failed write, which may have left a lock, the
    session must be opened again."""

    database: BinaryIO | None = None

    @contextlib.contextmanager
    def _using(self, action: str) -> Generator[None]:
        with super()._using(action):
            _check_lock(self.database, to_write=False)
            yield

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        _check_space(Path(self._client.get_settings().persist_directory), "keep the evidence")
        if not self.usable:
            raise EvidenceStoreError(
                "The evidence store could not keep the evidence: an earlier write failed. Try again."
            )
        try:
            with super()._writing():
                _check_lock(self.database, to_write=True)
                yield
        except EvidenceStoreError:
            self.usable = False
            raise


def _check_lock(database: BinaryIO | None, *, to_write: bool) -> None:
    """Raise SessionBusyError if another process keeps a lock on the database that SQLite would wait for.

    This neither takes a lock nor drops one of Chroma's. Only done where `struct flock` is as below.
    """
    if database is None or database.closed or sys.platform not in ("darwin", "linux") or sys.maxsize < 2**32:
        return
    layout, at = ("qqihh", 3) if sys.platform == "darwin" else ("hhqqi0q", 0)  # struct flock of <fcntl.h>
    values = [*_LOCK_BYTES, 0, fcntl.F_WRLCK if to_write else fcntl.F_RDLCK, os.SEEK_SET]
    asked = struct.pack(layout, *values[3 - at :], *values[: 3 - at])
    for _ in range(LOCK_ATTEMPTS):
        with contextlib.suppress(OSError):  # a file system without locks
            found = fcntl.fcntl(database, fcntl.F_GETLK, asked)
            if struct.unpack(layout, found)[at] != fcntl.F_UNLCK:
                time.sleep(LOCK_POLL)
                continue
        return
    raise SessionBusyError(
        "Another program, e.g. a backup, has locked this session's database. What is kept there is safe. Try again "
        'when that program has finished, or pass "new" as session_id to open a fresh session.'
    )


def _check_space(folder: Path, action: str) -> None:
    with _file_errors(action):
        if shutil.disk_usage(folder).free < MIN_FREE:
            raise EvidenceStoreError(f"The evidence store could not {action}: {DISK_FULL}")


def _check_database(database: Path) -> None:
    """Raise an error if Chroma cannot open the database: it would wait for ever for a pipe, replace an empty file, and
    wait for another program's lock with the whole process."""
    journal = database.with_name(f"{database.name}-journal")
    if not database.is_file() or not all(path.is_file() or path.is_dir() for path in database.parent.rglob("*")):
        raise damaged()
    with database.open("rb") as file:
        _check_lock(file, to_write=True)
        head = file.read(32)  # https://www.sqlite.org/fileformat.html#the_database_header
        size = file.seek(0, os.SEEK_END)
    page_size, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    if not head.startswith(b"SQLite format 3\0") or (size < page_size * pages and not journal.exists()):
        raise damaged()


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
