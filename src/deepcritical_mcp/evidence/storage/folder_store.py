"""Sessions in a folder, which outlive the process: each is one file, `<data_dir>/sessions/<session_id>.sqlite3`."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import shutil
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, cast

from filelock import FileLock, Timeout

from deepcritical_mcp.config import Settings, user_data_folder
from deepcritical_mcp.errors import DeepCriticalError, EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.embedding.service import CACHE_FILE
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.session_file import (
    BUSY_SECONDS,
    DamagedFileError,
    SessionFile,
    closed_on_failure,
    failures,
    restore_beginning,
    salvaged,
)
from deepcritical_mcp.evidence.storage.stored_items import (
    UNKNOWN,
    UNREAD_TITLE,
    KeptSession,
    check_title_is_free,
    is_session_id,
    packed,
)
from deepcritical_mcp.evidence.storage.version_0_2 import is_old_session, old_info, old_session
from deepcritical_mcp.net.cache import Cache, make_private_folder

LONGEST_PAUSE = 7 * 86_400.0
"""The longest time between two looks that counts, in seconds."""


class IdleTimes:
    """The file in which the times are kept; if it is missing or cannot be read, all times start over."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def look(self, now: float, stamps: Mapping[str, float]) -> dict[str, float]:
        """Look at what there is, by name, at Unix time `now`; gives for how many seconds each has been seen with its
        present stamp. What is new, or whose stamp has changed since the last look, starts at 0.

        Raises:
            OSError: the file cannot be written.
        """
        then, known = self._read()
        passed = min(max(now - then, -LONGEST_PAUSE), LONGEST_PAUSE)
        idle = {
            name: known[name][1] + passed if known.get(name, (None,))[0] == stamp else 0.0
            for name, stamp in stamps.items()
        }
        self._write(now, {name: (stamps[name], idle[name]) for name in stamps})
        return idle

    def begin_anew(self, name: str) -> None:
        """Restart the time of a name at the next look; raises OSError."""
        then, known = self._read()
        if known.pop(name, None) is not None:
            self._write(then, known)

    def _write(self, at: float, idle: Mapping[str, tuple[float, float]]) -> None:
        text = json.dumps({"at": at, "idle": idle})
        with _replacement(self._path) as new:
            new.touch(0o600)
            new.write_text(json.dumps({"checksum": zlib.crc32(text.encode()), "times": text}), "utf-8")

    def _read(self) -> tuple[float, dict[str, tuple[float, float]]]:
        try:
            if not self._path.is_file():  # reading a pipe would block
                return float("inf"), {}
            file = cast("dict[str, Any]", json.loads(self._path.read_bytes()))
            if file["checksum"] != zlib.crc32(file["times"].encode()):
                raise ValueError("damaged")
            row = cast("dict[str, Any]", json.loads(file["times"]))
            idle = {name: (float(stamp), float(seconds)) for name, (stamp, seconds) in row["idle"].items()}
            return float(row["at"]), idle
        except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return float("inf"), {}


logger = logging.getLogger(__name__)

MAX_OPEN = 256
"""An open session has up to two file descriptors."""
SUFFIX = ".sqlite3"
UNFINISHED = ".new"
"""The suffix of a file that is being written."""
EXPIRED_SECONDS = 30 * 86_400.0
"""For how long an expired session can be restored."""
LISTING_PATIENCE = 0.2
"""Seconds that a list of sessions waits for a program that has locked one."""
REPLACING_PATIENCE = 60.0  # seconds

Place = Literal["sessions", "trash", "expired", "damaged"]


class FolderBackend(Backend):
    """Keeps sessions in `<data_dir>/sessions`. Several processes may have one open.

    What the user has deleted is in `trash` for a day, what has expired in `expired` for a month, and a copy of each
    file that was found damaged in `damaged`. `idle.json` says for how long nobody has used them. A session in which
    nothing has been kept yet has no file.
    """

    title = "Sessions folder"
    advice = "Set DEEPCRITICAL_DATA_DIR to a folder that you may write to."
    lasting = True
    shared = True
    undo_seconds = 86_400.0
    ttl = 90 * 86_400.0
    expires_by_use = False

    def __init__(self, data_dir: Path, *, limit: int) -> None:
        self.limit = min(limit, MAX_OPEN)
        self.data_dir = data_dir
        self._vectors = Cache(data_dir / CACHE_FILE, max_bytes=0)
        self._idle = IdleTimes(data_dir / "idle.json")
        self._replacing = FileLock(data_dir / "replacing.lock", mode=0o600, thread_local=False)
        """Held while a session's file is being made, from reading its contents until the file exists."""
        self._unwritten: dict[str, tuple[KeptSession, bool]] = {}
        """Each with whether no other session of its owner may have its title."""
        self._opened: dict[str, tuple[int, int]] = {}
        """The device and the number of each open file."""

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        return cls(settings.data_dir, limit=settings.max_sessions) if settings.data_dir else None

    def create(self, session_id: str, info: KeptSession, *, is_only: bool = False) -> Space:
        with failures("open a session"):
            self._make_folders()
        self._unwritten[session_id] = info, is_only
        return Space(session_id, SessionFile.create(None, info), partial(self._created, session_id))

    def open(self, session_id: str, model: str) -> Space:
        if session_id in self._unwritten:  # closed since, because others were used
            info, is_only = self._unwritten[session_id]
            return self.create(session_id, replace(info, model=model), is_only=is_only)
        path = self._path(session_id)
        try:
            with failures("open the session"):
                _number(path)
        except SessionNotFoundError:
            self._upgrade(session_id)
        file = self._checked(path)
        with closed_on_failure(file):
            space = Space.of_model(session_id, file, model)
            self._opened[session_id] = _number(path)
        return space

    def release(self, space: Space) -> None:
        space.close()
        self._opened.pop(space.session_id, None)

    def delete(self, space: Space) -> None:
        self.release(space)
        if self._unwritten.pop(space.session_id, None) is None:
            self._move_all(self._paths(space.session_id, "sessions"), "trash")

    def discard(self, session_id: str, owner: str) -> bool:
        found = self._owned(session_id, owner, "sessions")
        self._move_all(found, "trash")
        return bool(found)

    def restore(self, session_id: str, owner: str) -> None:
        if self.state(session_id) != "gone":
            return
        for path in self._owned(session_id, owner, "trash", "expired")[:1]:
            self._move(path, "sessions")

    def gone(self, owner: str | None, only_expired: bool) -> dict[str, KeptSession]:
        return ({} if only_expired else self._infos("trash", owner)) | self._infos("expired", owner)

    def erase(self, session_id: str, owner: str) -> None:
        for path in self._owned(session_id, owner, "trash", "expired"):
            self._purge(path)
            if os.path.lexists(path):
                raise SessionBusyError("Another program has locked the data folder. Try again when it has finished.")

    def state(self, session_id: str) -> Literal["here", "replaced", "gone"]:
        if session_id in self._unwritten:
            return "here"
        path = self._path(session_id)
        with failures("open the session"), contextlib.suppress(SessionNotFoundError):
            return "here" if self._opened.get(session_id, _number(path)) == _number(path) else "replaced"
        return "here" if is_old_session(path.with_suffix("")) else "gone"

    def is_begun(self, session_id: str) -> bool:
        return session_id not in self._unwritten

    def sessions(self, owner: str | None) -> dict[str, KeptSession]:
        return self._infos("sessions", owner)

    def expire(self, now: float, ttl: float) -> None:
        limits: dict[Place, float] = {
            "sessions": ttl,
            "trash": self.undo_seconds,
            "expired": EXPIRED_SECONDS,
            "damaged": ttl,
        }
        with failures("look for old sessions"):
            self._make_folders()
            there: dict[Path, Place] = {path: place for place in limits for path in self._all(place)}
            used = {path: self._info(path).used if place == "sessions" else 0.0 for path, place in there.items()}
            idle = self._idle.look(now, {f"{place}/{path.name}": used[path] for path, place in there.items()})
        for path, place in there.items():
            name = f"{place}/{path.name}"
            if idle[name] < limits[place] or used[path] > now - limits[place] or path.stem in self._opened:
                continue
            with contextlib.suppress(DeepCriticalError):  # the next look tries again
                if place != "sessions" or path.suffix == UNFINISHED:
                    self._purge(path)
                elif path.suffix == SUFFIX:  # a session of an earlier version stays until it is opened
                    self._move_all(self._paths(path.stem, "sessions"), "expired")
                    logger.warning("session %s has not been used for %.3g days", path.stem, ttl / 86_400)

    def check(self) -> None:
        if self.data_dir.parts[:1] == ("~",):
            raise EvidenceStoreError(f"The evidence store has no folder: this account has no home. {self.advice}")
        with failures("keep sessions"):
            self._make_folders()
            with tempfile.TemporaryFile(dir=self.data_dir / "sessions") as file:
                file.write(b"check")

    def close(self) -> None:
        self._vectors.close()

    def _path(self, session_id: str) -> Path:
        return self.data_dir / "sessions" / f"{session_id}{SUFFIX}"

    def _paths(self, session_id: str, place: Place) -> list[Path]:
        """The session's file there, and its folder if version 0.2 has kept it."""
        file = self.data_dir / place / f"{session_id}{SUFFIX}"
        return [path for path in (file, file.with_suffix("")) if os.path.lexists(path)]

    def _owned(self, session_id: str, owner: str, *places: Place) -> list[Path]:
        """The same in these places, if the session is that owner's."""
        found = (path for place in places for path in self._paths(session_id, place))
        return [path for path in found if self._info(path).owner == owner]

    def _all(self, place: Place) -> Iterator[Path]:
        """The sessions there, or parts of files that were never finished."""
        with contextlib.suppress(FileNotFoundError):
            for path in (self.data_dir / place).iterdir():
                is_ours = is_session_id(path.name.partition(".")[0]) and not path.is_symlink()
                if is_ours and (path.suffix in (SUFFIX, UNFINISHED) or is_old_session(path)):
                    yield path

    def _infos(self, place: Place, owner: str | None) -> dict[str, KeptSession]:
        found: dict[str, KeptSession] = {}
        with failures("list the sessions"):
            for path in self._all(place):
                if path.suffix in ("", SUFFIX) and (info := self._info(path)) and owner in (None, info.owner):
                    found.setdefault(path.stem, replace(info, session_id=path.stem))
        return found

    def _info(self, path: Path) -> KeptSession:
        """A session's metadata; of one that cannot be read, a statement of that."""
        try:
            if path.suffix != SUFFIX:
                return old_info(path)
            with contextlib.closing(SessionFile.open(path, patience=LISTING_PATIENCE)) as file:
                return file.info
        except (DeepCriticalError, OSError):
            return replace(UNKNOWN, title=UNREAD_TITLE)

    def _created(self, session_id: str, info: KeptSession) -> SessionFile:
        """A new session's file, which gets its name when it is complete."""
        path = self._path(session_id)
        opened, is_only = self._unwritten[session_id]
        is_checked = is_only and info.title == opened.title
        with self._alone() if is_checked else contextlib.nullcontext():
            if is_checked:  # another process may have given the title to another session since
                check_title_is_free(info.title, [*self._infos("sessions", info.owner).values()])
            with _new_file(path, replace(info, items=-1, searches=-1)):  # until they are counted
                pass
        self._unwritten.pop(session_id, None)
        self._opened[session_id] = _number(path)
        return SessionFile.open(path)

    def _checked(self, path: Path) -> SessionFile:
        """The open file, as it was written or repaired."""
        if unfinished := [*path.parent.glob(f"{path.stem}.*{UNFINISHED}*")]:  # a repair was killed, or has not ended
            with contextlib.suppress(EvidenceStoreError, SessionBusyError), self._alone():
                for one in unfinished:
                    one.unlink(missing_ok=True)
        with contextlib.suppress(DamagedFileError):
            return SessionFile.open(path, whole=True)
        with self._alone():
            with contextlib.suppress(DamagedFileError):
                with failures("open the session"):
                    restore_beginning(path)
                return SessionFile.open(path, whole=True)  # nothing else is damaged, or another process repaired it
            with failures("open the session"), _without_writers(path), path.open("rb") as damaged:
                self._repair(path, damaged.read())  # closing it earlier would release the lock
        return SessionFile.open(path, whole=True)

    def _repair(self, path: Path, data: bytes) -> None:
        """Replace a damaged file by what can be read of it, and keep a copy of the damaged one."""
        info, rows = salvaged(data)
        logger.warning("session %s: %s", path.stem, info.damage)
        self._make_folders()
        aside = self.data_dir / "damaged" / f"{path.stem}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}{SUFFIX}"
        aside.touch(0o600)
        aside.write_bytes(data)
        with _new_file(path, info) as file, file.writing():
            for row in rows:
                file.put(row.kind, [(row.key, row.value)], row.change)

    def _upgrade(self, session_id: str) -> None:
        """Convert a session of version 0.2 to a file; its folder is moved to the deleted ones."""
        path = self._path(session_id)
        folder = path.with_suffix("")
        if not is_old_session(folder):
            raise SessionNotFoundError()
        with self._alone():
            if path.exists():  # another process has done it
                return
            with old_session(folder) as old, _new_file(path, old_info(folder)) as file, file.writing():
                items, documents = old
                file.put("item", [(item.id, packed(item)) for item in items], 1)
                file.put("document", [(name, text.encode()) for name, text in documents.items()])
            self._move(folder, "trash")

    @contextlib.contextmanager
    def _alone(self) -> Generator[None]:
        try:
            with failures("open the session"), self._replacing.acquire(timeout=REPLACING_PATIENCE):
                yield
        except Timeout:
            raise SessionBusyError("Another process is repairing a session. Try again in a minute.") from None

    def _move_all(self, paths: Sequence[Path], place: Place) -> None:
        """Move a session, its file last: without the file, the folder of version 0.2 would count again."""
        for path in reversed(paths):
            self._move(path, place)

    def _move(self, path: Path, place: Place) -> None:
        with failures("move the session"):
            self._make_folders()
            target = self.data_dir / place / path.name
            if target.is_dir():
                shutil.rmtree(target)
            self._idle.begin_anew(f"{place}/{path.name}")
            with _without_writers(path) if path.is_file() else contextlib.nullcontext():
                try:
                    path.replace(target)
                except FileNotFoundError:  # another process has moved it
                    raise SessionNotFoundError() from None
                if (journal := _journal(path)).exists():
                    journal.replace(_journal(target))

    def _purge(self, path: Path) -> None:
        """Delete what can no longer be restored, and what else has the session's name: copies, journals, and what was
        never finished. The cache of vectors, which has those of its texts too, comes first; if another program has
        locked it, all is left to a later look."""
        with failures("delete an old session"):
            if self._vectors.clear() is not None:
                places = () if self._paths(path.stem, "sessions") else ("damaged", "sessions")
                aside = [one for place in places for one in (self.data_dir / place).glob(f"{path.stem}.*")]
                for one in (_journal(path), path, *aside):
                    shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink(missing_ok=True)
        self._vectors.close()

    def _make_folders(self) -> None:
        for name in ("sessions", "trash", "expired", "damaged"):
            make_private_folder(folder := self.data_dir / name)
            with contextlib.suppress(OSError):  # a copy may be open to others, or read-only for all
                folder.chmod(folder.stat().st_mode & 0o700)
        if self.data_dir == user_data_folder():  # a folder that the user names is the user's to open
            with contextlib.suppress(PermissionError):
                self.data_dir.chmod(0o700)


@contextlib.contextmanager
def _new_file(path: Path, info: KeptSession) -> Generator[SessionFile]:
    """A session's file to fill, which then takes its name, whole."""
    with (
        failures("open a session"),
        _replacement(path) as new,
        contextlib.closing(SessionFile.create(new, info)) as file,
    ):
        yield file


@contextlib.contextmanager
def _replacement(path: Path) -> Generator[Path]:
    """The path of a file to write, which then takes the place of `path`."""
    new = path.with_suffix(f".{secrets.token_hex(4)}{UNFINISHED}")
    try:
        yield new
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _without_writers(path: Path) -> Generator[None]:
    """Keep others from writing to the file, so that it can be moved or replaced: otherwise, what another process wrote
    would be lost, and its journal would be applied to the file that then has the name. What a killed process left
    unfinished is undone first.

    Raises:
        SessionBusyError: another process has locked it.
    """
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", BUSY_SECONDS, isolation_level=None, uri=True)
    try:
        with failures("move the session"):
            try:
                # With the pragma, a file that was cut off is locked, too.
                connection.executescript("PRAGMA writable_schema = ON; BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                    raise
                # it is read-only, or no database at all: nobody writes to it
        if sys.platform == "win32":
            connection.close()  # an open file cannot be moved there
        yield
    finally:
        connection.close()


def _journal(path: Path) -> Path:
    """What SQLite needs to undo what was not finished."""
    return path.with_name(f"{path.name}-journal")


def _number(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise SessionNotFoundError() from None
    return stat.st_dev, stat.st_ino
