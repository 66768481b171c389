"""The SQLite database of one session: a file that several processes may use at once, or memory.

One table holds rows of a few kinds, each with a checksum, and one of them says how many there are, so that what is
missing or damaged is noticed. The file has a rollback journal and no write-ahead log: between writes, which take
milliseconds, one file is the whole session, any copy of it is a session, a read-only folder can be read, and no other
file has what was deleted.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import sqlite3
import threading
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, cast

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.stored_items import UNKNOWN, KeptSession
from deepcritical_mcp.text import counted

logger = logging.getLogger(__name__)

RowKind = Literal["session", "item", "vectors", "document", "derived"]

FORMAT = 3
"""Written with each session; versions 0.1 and 0.2 kept sessions in folders."""
BUSY_SECONDS = 15.0
"""How long to wait for another process that is writing."""
PAGE = 200
"""Rows read at once."""
PAGE_SIZE = 4_096
"""Bytes; SQLite's default, with which all our files are made."""
BEGINNING = b"SQLite format 3\0\x10\x00\x01\x01\x00\x40\x20\x20"
"""The first bytes of all our files; where there are others, SQLite locks nothing, so that somebody may be writing."""
MAX_NAMED = 20
COUNTED: tuple[RowKind, ...] = ("item", "document")
"""The kinds whose rows are counted; rows of other kinds can be rebuilt."""
DISK_FULL = "the disk is full. Evidence stored earlier is safe; free some space and try again."
NOTHING_LEFT = (
    "This session is damaged: nothing of it can be read. Delete it with clear_session, and pass "
    'session_id="new" to continue in a fresh one.'
)

_SCHEMA = """
CREATE TABLE rows (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, change INTEGER NOT NULL,
  checksum INTEGER NOT NULL, value BLOB NOT NULL, UNIQUE (kind, key));
CREATE INDEX rows_by_change ON rows (kind, change);
CREATE TABLE own_row (number INTEGER PRIMARY KEY, kind TEXT, key TEXT, change INTEGER, checksum INTEGER, value BLOB);
"""
_PRAGMAS = """
PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON;
PRAGMA trusted_schema = OFF; PRAGMA cache_size = -400;
"""
_PUT = """
INSERT INTO rows (kind, key, change, checksum, value) VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, key)
DO UPDATE SET change = excluded.change, checksum = excluded.checksum, value = excluded.value
"""
_PUT_COPY = "INSERT OR REPLACE INTO own_row VALUES (0, ?, ?, ?, ?, ?)"
"""Copies the session's own row to a page of its own. Only that row names the owner, without whom `salvaged` cannot
verify the checksums of the other rows."""
_COLUMNS = "SELECT number, kind, key, change, checksum, value"
_ALL = f"{_COLUMNS} FROM rows WHERE number > ? ORDER BY number LIMIT {PAGE}"
_SINCE = f"{_COLUMNS} FROM rows WHERE kind = ? AND change > ? AND number > ? ORDER BY number LIMIT {PAGE}"
_ONE = "SELECT kind, key, change, checksum, value FROM rows WHERE kind = ? AND key = ?"
_NUMBERED = "SELECT kind, key, change, checksum, value FROM rows WHERE number = ? AND typeof(change) = 'integer'"
_COPY = "SELECT kind, key, change, checksum, value FROM own_row WHERE typeof(change) = 'integer'"
_NUMBERS = "SELECT number FROM rows NOT INDEXED ORDER BY number {0}"
_NAMES = "SELECT number, kind, key FROM rows INDEXED BY sqlite_autoindex_rows_1 ORDER BY kind {0}, key {0}"
_LAST = "\U0010ffff"
"""Sorts after every key with the same beginning."""
_COUNT = f"SELECT count(*) FROM rows WHERE kind IN {COUNTED}"


class Row(NamedTuple):
    """A row, with the number of the change that wrote it."""

    kind: RowKind
    key: str
    change: int
    checksum: int
    value: bytes

    def is_intact(self, owner: str) -> bool:
        """Whether it is as it was written, in a session of that owner."""
        try:
            return self.checksum == checksum(owner, self.kind, self.key, self.value)
        except TypeError:  # where its columns are damaged, their types are other ones
            return False


class DamagedFileError(EvidenceStoreError):
    """A session's file does not have the contents that were written."""

    def __init__(self) -> None:
        super().__init__(
            "The file of this session is damaged. Try again: it is opened anew, what can be read is kept, and what is "
            "lost is named."
        )


class SessionFile:
    """An open database. Thread-safe: one thread uses it at a time.

    Every method raises EvidenceStoreError if the file cannot be read or written, DamagedFileError if it is damaged,
    SessionBusyError if another process has locked it, and SessionNotFoundError if it is gone.

    Attributes:
        lock: held by the thread that uses it.
        info: the session's metadata, as last read or written.
        change: the number of the latest change to rows, as last read or written. It never falls: what wrote it may be
            deleted.
    """

    def __init__(self, connection: sqlite3.Connection, info: KeptSession) -> None:
        self.lock = threading.RLock()
        self.info = info
        self.change = self._rows = 0
        self._connection = connection

    @classmethod
    def create(cls, path: Path | None, info: KeptSession) -> Self:
        """A new, empty session, in memory if `path` is None. There must be no file yet."""
        with failures("open a session"):
            if path is not None:
                path.touch(0o600, exist_ok=False)  # the files that SQLite makes beside it get the same mode
            connection = _connected(str(path or ":memory:"))
            connection.executescript(f"BEGIN; {_SCHEMA}")
            file = cls(connection, info)
            file._put_own_row()
            connection.execute("COMMIT")
        return file

    @classmethod
    def open(cls, path: Path, *, whole: bool = False, patience: float | None = None) -> Self:
        """The session in that file. Only its metadata is read, unless `whole` asks to verify everything. `patience` is
        how many seconds to wait for another process that is writing."""
        with failures("open the session"):
            if not path.exists() or path.is_symlink():
                raise SessionNotFoundError()
            if not path.is_file():  # reading a pipe would block
                raise EvidenceStoreError(NOTHING_LEFT)
            connection = _connected(f"{path.absolute().as_uri()}?mode=rw", patience)
        with closed_on_failure(connection):
            file = cls(connection, UNKNOWN)
            file.refresh()
            if whole:
                with file.reading(), failures("open the session"):
                    is_ok = connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
                    file.refresh()
                    rows = (row for row in itertools.starmap(Row, file._pages(_ALL)) if row.kind != "session")
                    is_whole = is_ok and file._rows == connection.execute(_COUNT).fetchone()[0]
                    if not (is_whole and all(row.is_intact(file.info.owner) for row in rows)):
                        raise DamagedFileError()
        return file

    def close(self) -> None:
        """Close the database; one in memory is gone."""
        with self.lock:
            self._connection.close()

    @contextlib.contextmanager
    def writing(self) -> Generator[None]:
        """A transaction: what is written in it is there as a whole or not at all, and no other process writes
        meanwhile. One within another is part of it."""
        with self._transaction("IMMEDIATE", "keep the evidence"):
            self.refresh()
            before = self.info, self.change, self._connection.total_changes
            yield
            if before != (self.info, self.change, self._connection.total_changes):
                with failures("keep the evidence"):
                    self._put_own_row()

    def waiting(self) -> contextlib.AbstractContextManager[None]:
        """Entered before others in this process are kept waiting: `writing` waits for other processes."""
        return contextlib.nullcontext()

    def reading(self) -> contextlib.AbstractContextManager[None]:
        """Everything that is read within is of one moment."""
        return self._transaction("DEFERRED", "read the session")

    @contextlib.contextmanager
    def _transaction(self, kind: str, action: str) -> Generator[None]:
        with self.lock:
            with failures(action):
                is_part = self._connection.in_transaction
            if is_part:
                yield
                return
            before = self.info, self.change
            try:
                with failures(action):
                    self._connection.execute(f"BEGIN {kind}")
                yield
                with failures(action):
                    self._connection.execute("COMMIT")
            except BaseException:
                self.info, self.change = before
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def put(self, kind: RowKind, rows: Iterable[tuple[str, bytes]], change: int = 0) -> None:
        """Write values by key, in place of earlier ones."""
        with self.writing(), failures("keep the evidence"):
            owner = self.info.owner
            values = [(kind, key, change, checksum(owner, kind, key, value), value) for key, value in rows]
            self._connection.executemany(_PUT, values)
            self.change = max(self.change, change)

    def keep_derived(self, rows: Mapping[str, bytes], seen: int) -> None:
        """Write what was derived from items as they were after change number `seen`; it may be lost at any time."""
        with self.writing():
            if self.change == seen:  # otherwise another process may have written some of these items since
                self.put("derived", rows.items())

    def delete(self, kind: RowKind, keys: Iterable[str]) -> None:
        """Delete rows, and overwrite what they said."""
        with self.writing(), failures("keep the evidence"):
            self._connection.executemany("DELETE FROM rows WHERE kind = ? AND key = ?", [(kind, key) for key in keys])

    def record(self, **changes: Any) -> None:
        """Write this part of the session's metadata."""
        with self.writing():
            self.info = replace(self.info, **changes)

    def set_title_if_none(self, title: str) -> None:
        """Write a title if there is none."""
        with self.writing():
            if not self.info.title:
                self.record(title=title)

    def values(self, kind: RowKind, keys: Iterable[str]) -> dict[str, bytes]:
        """The values with these keys, as far as there are some."""
        with self.lock, failures("read the session"):
            rows = [row for key in keys for row in self._connection.execute(_ONE, (kind, key))]
            return {row.key: row.value for row in map(self._intact, rows)}

    def keys(self, kind: RowKind, prefix: str = "") -> list[str]:
        """The keys that begin so, in order."""
        with self.lock, failures("read the session"):
            query = "SELECT key FROM rows WHERE kind = ? AND key >= ? AND key < ? ORDER BY key"
            return [key for (key,) in self._connection.execute(query, (kind, prefix, prefix + _LAST))]

    def changed(self, kind: RowKind, since: int = -1) -> Iterator[Row]:
        """The rows of a kind which changes after number `since` have written."""
        return map(self._intact, self._pages(_SINCE, kind, since))

    def state(self) -> int:
        """A number that changes whenever another process has written."""
        with self.lock, failures("read the session"):
            return self._connection.execute("PRAGMA data_version").fetchone()[0]

    def refresh(self) -> None:
        """Read the session's metadata, which another process may have changed."""
        with self.lock, failures("open the session"):
            found = self._connection.execute(_ONE, ("session", "")).fetchone()
            if found is None or not Row(*found).is_intact(""):
                raise DamagedFileError()
            self.info, self._rows, self.change = _own_row_of(found[-1])

    def _pages(self, query: str, *given: str | int) -> Iterator[tuple[Any, ...]]:
        last, page = -1, [()]
        while page:
            with self.lock, failures("read the session"):
                page = self._connection.execute(query, (*given, last)).fetchall()
            for number, *values in page:
                yield tuple(values)
                last = number

    def _intact(self, values: Iterable[Any]) -> Row:
        row = Row(*values)
        if not row.is_intact(self.info.owner):
            raise DamagedFileError()
        return row

    def _put_own_row(self) -> None:
        (count,) = self._connection.execute(_COUNT).fetchone()
        written = {"format": FORMAT, "info": vars(self.info), "rows": count, "change": self.change}
        value = json.dumps(written).encode()
        row = "session", "", 0, checksum("", "session", "", value), value
        self._connection.execute(_PUT, row)
        self._connection.execute(_PUT_COPY, row)


def salvaged(data: bytes) -> tuple[KeptSession, Sequence[Row]]:
    """What SQLite can read of a damaged file and checksums prove to be intact; `KeptSession.damage` says what is lost.
    If the owner is lost, only what belongs to no owner is recovered.

    Raises:
        EvidenceStoreError: nothing can be read.
    """
    with contextlib.closing(_connected(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        size = -(-len(data) // PAGE_SIZE)
        head = bytearray(connection.serialize()[:PAGE_SIZE])  # the same in all our files, but for the free pages
        head[28:40] = size.to_bytes(4) + bytes(8)
        connection.deserialize(bytes(head) + data[PAGE_SIZE:].ljust((size - 1) * PAGE_SIZE, b"\0"))
        names = {row for row in _read(connection, _NAMES, len(data)) if isinstance(row[-1], str)}
        numbers = {number for number, _, _ in names} | {number for (number,) in _read(connection, _NUMBERS, len(data))}
        found = {Row(*values) for number in numbers for values in _read(connection, _NUMBERED, 1, number)}
        found |= {Row(*values) for values in _read(connection, _COPY, 1)}
    own: list[tuple[KeptSession, int, int]] = []
    for row in (row for row in found if row.kind == "session" and row.is_intact("")):
        with contextlib.suppress(DamagedFileError):
            own.append(_own_row_of(row.value))
    info, count, change = max(own, key=lambda one: one[2], default=(None, 0, 0))
    rows = [row for row in found if row.kind != "session" and row.is_intact(info.owner if info else "")]
    rows.sort(key=lambda row: row.change)
    if not (info or rows):
        raise EvidenceStoreError(NOTHING_LEFT)
    there = {(row.kind, row.key) for row in rows if row.kind in COUNTED}
    lost = sorted({(kind, key) for _, kind, key in names if kind in COUNTED and str(key).isprintable()} - there)
    ids = [key for kind, key in lost if kind == "item"][:MAX_NAMED]
    others = max(count - len(there), len(lost)) - len(ids)
    named = ", ".join([*ids, *([counted(others, "other entry", "other entries")] if others > 0 else [])])
    # Rows that a later change wrote, or two rows about the session, are left by a change that was not finished.
    is_certain = len({(rows, last) for _, rows, last in own}) == 1 and all(row.change <= change for row in rows)
    said = f"Lost: {named}." if named else "Nothing is known to be lost."
    if not is_certain:
        said = f"Lost: {named}. What else is lost is not known." if named else "What is lost is not known."
    damage = (
        f"This session's file was found damaged on {datetime.now(UTC):%Y-%m-%d}. "
        f"{counted(sum(kind == 'item' for kind, _ in there), 'item')} could be read. "
        f'{said} A copy of the damaged file is in the folder "damaged".'
    )
    return replace(info or replace(UNKNOWN, title="(recovered)"), damage=damage), rows


def restore_beginning(path: Path) -> None:
    """Overwrite other first bytes by those that all our files have, in a file with whole pages as ours have.

    Raises:
        EvidenceStoreError: nothing of ours can be read of it.
    """
    data = path.read_bytes()
    if not data.startswith(BEGINNING) and len(data) % PAGE_SIZE == 0 and salvaged(data):
        with path.open("r+b") as file:
            file.write(BEGINNING)


def _read(connection: sqlite3.Connection, query: str, most: int, *given: Any) -> Iterator[tuple[Any, ...]]:
    """At most so many rows from the first, and from the last on, until one cannot be read."""
    for order in ("ASC", "DESC"):
        with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError):
            yield from itertools.islice(connection.execute(query.format(order), given), most)


def _own_row_of(value: bytes) -> tuple[KeptSession, int, int]:
    """The row of a session about itself: its metadata, how many rows of the counted kinds it has, and the number of its
    latest change.

    Raises:
        DamagedFileError: this is not what one says.
        EvidenceStoreError: a later version has kept it.
    """
    try:
        row = cast("dict[str, Any]", json.loads(value))
        if row["format"] > FORMAT:
            raise EvidenceStoreError("A later version of deepcritical-mcp has kept this session. Update this one.")
        return KeptSession(**row["info"]), int(row["rows"]), int(row["change"])
    except (LookupError, TypeError, ValueError):
        raise DamagedFileError() from None


def checksum(owner: str, kind: str, key: str, value: bytes) -> int:
    """The checksum (CRC-32) of a row in a session of that owner; the session's own row belongs to nobody."""
    return zlib.crc32(value, zlib.crc32("\0".join((owner, kind, key)).encode("utf-8", "surrogatepass")))


@contextlib.contextmanager
def failures(action: str) -> Generator[None]:
    """Translate what SQLite and the file system raise while the store tries to `action`; see `SessionFile`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, action) from error
    except UnicodeDecodeError as error:  # of a message about a damaged file
        raise DamagedFileError() from error
    except TimeoutError:  # an OSError too
        raise
    except OSError as error:
        raise EvidenceStoreError(
            f"The evidence store could not {action}: {error.strerror or type(error).__name__}. "
            "DEEPCRITICAL_DATA_DIR must be a writable folder on a disk with space."
        ) from error


def _translated(error: sqlite3.Error, action: str) -> Exception:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if isinstance(error, sqlite3.ProgrammingError) or code == sqlite3.SQLITE_READONLY_DBMOVED:
        return SessionNotFoundError()  # closed, or moved, by whoever deleted it
    if code == sqlite3.SQLITE_IOERR_WRITE:  # beyond a quota, of which SQLite does not know
        code = sqlite3.SQLITE_FULL
    logger.warning("sqlite could not %s: %s", action, getattr(error, "sqlite_errorname", type(error).__name__))
    match code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return SessionBusyError(
                "Another program, e.g. a backup, has locked this session's file. What is kept in it is safe. Try again "
                'when that program has finished, or pass "new" as session_id to open a fresh session.'
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
            return DamagedFileError()
        case sqlite3.SQLITE_FULL:
            reason = DISK_FULL
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            reason = "DEEPCRITICAL_DATA_DIR must be a writable folder. Evidence stored earlier is safe."
        case _:
            reason = "its file cannot be read or written. Try again, or open a new session."
    return EvidenceStoreError(f"The evidence store could not {action}: {reason}")


def _connected(address: str, patience: float | None = None) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address,
        timeout=BUSY_SECONDS if patience is None else patience,
        isolation_level=None,
        check_same_thread=False,
        uri=address.startswith("file:"),
    )
    # What is damaged does not fit its checksum.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    with closed_on_failure(connection):
        connection.executescript(_PRAGMAS)
    return connection


@contextlib.contextmanager
def closed_on_failure(file: sqlite3.Connection | SessionFile) -> Generator[None]:
    """Close a file that was just opened, unless it can be used."""
    try:
        yield
    except BaseException:
        file.close()
        raise
