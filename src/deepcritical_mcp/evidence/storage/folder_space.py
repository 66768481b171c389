"""A session in a folder of its own, and what its files may refuse."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import struct
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from chromadb.api.client import Client
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError
from deepcritical_mcp.evidence.storage.chroma_failures import DISK_FULL, damaged, translated
from deepcritical_mcp.evidence.storage.chroma_space import placeholders
from deepcritical_mcp.evidence.storage.local_space import RECORDS_AT_ONCE, LocalSpace
from deepcritical_mcp.evidence.storage.rows import KeptItem, NearPassage, SessionInfo, Vector
from deepcritical_mcp.evidence.storage.session_card import write_card
from deepcritical_mcp.evidence.storage.vector_table import VectorTable

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from chromadb import Collection

logger = logging.getLogger(__name__)

MIN_FREE = 32 * 2**20
"""Bytes that writing leaves free on the disk: Chroma must not find it full."""
LOCK_ATTEMPTS, LOCK_POLL = 20, 0.05  # seconds; how often to look whether another program has locked a database
INDEX = "index.npz"
"""What is derived from a session, so that it opens quickly; without it, or if it is of another state, it is made
anew."""
UNFINISHED = "unfinished"
"""A file that is there while Chroma may be writing its index. If the process is killed meanwhile, Chroma cannot read
the index, and may even crash."""
_UNREADABLE = (
    *(OSError, ValueError, EOFError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError),
    *(struct.error, zipfile.BadZipFile, zlib.error),
)
"""What NumPy raises for an index that is missing or damaged."""
_LOCK_BYTES = (0x4000_0000, 512)  # offset, length: https://www.sqlite.org/fileformat.html#the_lock_byte_page


class OpenFolder(NamedTuple):
    """An open session: its Chroma, its lock, a handle on its database, and whether Chroma's index had to be dropped."""

    client: Client
    lock: FileLock
    database: BinaryIO
    lacks_index: bool

    def close(self) -> FileLock:
        self.client.close()
        self.database.close()
        return self.lock


class FolderSpace(LocalSpace):
    """A session in a folder. Chroma waits for a locked database for a quarter of an hour, when it writes with the whole
    process: so other programs' locks are looked for first, and after a failed write, which may have left a lock, the
    session must be opened again."""

    database: BinaryIO | None = None

    @property
    def folder(self) -> Path:
        """The session's folder."""
        return Path(self._client.get_settings().persist_directory).parent

    def settle(self, *, rebuild: bool) -> None:
        """Let Chroma read its index now, or `rebuild` it: then everything is there but the vectors, which are embedded
        again. Can be interrupted and repeated."""
        with self._using("open the session"):
            if rebuild:
                logger.warning("a session was left in the middle of a write: its index is built again")
                (self.folder / INDEX).unlink(missing_ok=True)
                if self._words is not None:
                    self._write_again(self._words)
                if self._vectors is not None:
                    self._discard_vectors(self._vectors)
            for collection in filter(None, (self._vectors, self._words)):
                collection.get(limit=1, include=[])

    def _write_again(self, words: Collection) -> None:
        ids = words.get(include=[])["ids"]
        for start in range(0, len(ids), RECORDS_AT_ONCE):
            rows = words.get(ids=ids[start : start + RECORDS_AT_ONCE], include=["metadatas"])
            words.upsert(ids=rows["ids"], embeddings=placeholders(len(rows["ids"])), metadatas=rows["metadatas"])

    def index(self) -> Mapping[str, NDArray[Any]]:
        try:
            if not (self.folder / INDEX).is_file():
                return {}
            # NumPy leaves a file open that it cannot read.
            with (self.folder / INDEX).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except _UNREADABLE:
            return {}

    def keep_index(self, index: Mapping[str, NDArray[Any]]) -> None:
        new = self.folder / f"{INDEX}-new"
        try:
            check_space(self.folder, "keep the index")
            new.unlink(missing_ok=True)
            new.touch(0o600)
            with new.open("wb") as file:
                np.savez(file, **index)  # pyright: ignore[reportArgumentType]  # none of them is called allow_pickle
            os.replace(new, self.folder / INDEX)
        except (OSError, EvidenceStoreError) as error:
            logger.info("the index of a session is not kept: %s", type(error).__name__)
            with contextlib.suppress(OSError):
                new.unlink()

    def touch(self, now: float) -> None:
        with file_errors("keep the session"):
            os.utime(self.folder / "used", (now, now))
        self.info = replace(self.info, used=now)

    def set_title(self, title: str, *, replacing: bool) -> None:
        if replacing or not self.info.title:
            check_space(self.folder, "name the session")
            self._record(replace(self.info, title=title))

    def _record(self, info: SessionInfo) -> None:
        with file_errors("keep the session"):
            write_card(self.folder, info)
        self.info = info

    @contextlib.contextmanager
    def _using(self, action: str) -> Generator[None]:
        with super()._using(action):
            check_lock(self.database, to_write=False)
            yield

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        check_space(self.folder, "keep the evidence")
        if not self.usable:
            raise EvidenceStoreError(
                "The evidence store could not keep the evidence: an earlier write failed. Try again."
            )
        try:
            with super()._writing():
                check_lock(self.database, to_write=True)
                is_first = mark_unfinished(self.folder)
                try:
                    yield
                finally:
                    if is_first:
                        mark_finished(self.folder)
        except EvidenceStoreError:
            self.usable = False
            raise


class NewFolderSpace(FolderSpace):
    """A session without a folder, until something is kept in it."""

    def __init__(self, session_id: str, info: SessionInfo, begin: Callable[[NewFolderSpace], None]) -> None:
        self._turn, self._begin, self._exists = threading.Lock(), begin, False
        self._vectors = self._words = None
        self.session_id, self.info, self._table = session_id, info, VectorTable()

    def begun(self, one: OpenFolder) -> None:
        """Use this folder, which is new, from now on."""
        super().__init__(one.client, self.session_id, self.info)
        self.database = one.database
        with translated("open a session"):
            self._vectors = self._create(self.session_id)
            self._table.complete = True
            # The first query writes, and would wait with the whole process for a program that reads the database.
            self._vectors.query(query_embeddings=np.zeros((1, 1), np.float32), n_results=1, include=[])
        super()._record(self.info)

    def index(self) -> Mapping[str, NDArray[Any]]:
        return super().index() if self._exists else {}

    def keep_index(self, index: Mapping[str, NDArray[Any]]) -> None:
        if self._exists:
            super().keep_index(index)

    def read(self, since: int = 0) -> Iterator[list[KeptItem]]:
        return super().read(since) if self._exists else iter(())

    def nearest(
        self, vectors: Sequence[Vector], limit: int, source: str | None = None, least: float = -1.0
    ) -> list[list[NearPassage]]:
        return super().nearest(vectors, limit, source, least) if self._exists else [[] for _ in vectors]

    def touch(self, now: float) -> None:
        if self._exists:
            super().touch(now)
        self.info = replace(self.info, used=now)

    def _record(self, info: SessionInfo) -> None:
        if self._exists:
            super()._record(info)
        self.info = info

    def set_title(self, title: str, *, replacing: bool) -> None:
        if self._exists:
            super().set_title(title, replacing=replacing)
        elif replacing or not self.info.title:
            self.info = replace(self.info, title=title)

    def _look_for_words(self) -> None:
        if self._exists:
            super()._look_for_words()

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        with self._turn:
            if not self._exists:
                self._begin(self)
                self._exists = True
        with super()._writing():
            yield


def mark_unfinished(folder: Path) -> bool:
    """Mark that Chroma may be writing its index; whether that was not marked yet."""
    with contextlib.suppress(OSError):
        (folder / UNFINISHED).touch(0o600, exist_ok=False)
        return True
    return False


def mark_finished(folder: Path) -> None:
    """Take that mark away."""
    with contextlib.suppress(OSError):
        (folder / UNFINISHED).unlink()


def drop_unfinished_index(folder: Path) -> bool:
    """Drop Chroma's index, of each collection a folder, if it may be half written; whether it was."""
    is_unfinished = os.path.lexists(folder / UNFINISHED)
    for path in (folder / "chroma").iterdir() if is_unfinished else ():
        if path.is_dir():
            shutil.rmtree(path)
    return is_unfinished


def check_lock(database: BinaryIO | None, *, to_write: bool) -> None:
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


def check_space(folder: Path, action: str) -> None:
    with file_errors(action):
        if shutil.disk_usage(folder).free < MIN_FREE:
            raise EvidenceStoreError(f"The evidence store could not {action}: {DISK_FULL}")


def check_database(database: Path) -> None:
    """Raise an error if Chroma cannot open the database: it would wait for ever for a pipe, replace an empty file, and
    wait for another program's lock with the whole process."""
    journal = database.with_name(f"{database.name}-journal")
    if not database.is_file() or not all(path.is_file() or path.is_dir() for path in database.parent.rglob("*")):
        raise damaged()
    with database.open("rb") as file:
        check_lock(file, to_write=True)
        head = file.read(32)  # https://www.sqlite.org/fileformat.html#the_database_header
        size = file.seek(0, os.SEEK_END)
    page_size, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    if not head.startswith(b"SQLite format 3\0") or (size < page_size * pages and not journal.exists()):
        raise damaged()


@contextlib.contextmanager
def file_errors(action: str) -> Generator[None]:
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
