"""A session's rows on a Chroma server."""

from __future__ import annotations

import base64
import contextlib
import itertools
import logging
import random
import secrets
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import httpx
import numpy as np
from chromadb import Collection, GetResult
from chromadb.api.client import Client
from chromadb.errors import ChromaError, NotFoundError
from chromadb.types import Metadata
from numpy.typing import NDArray

from deepcritical_mcp.errors import DeepCriticalError, EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.session_file import DISK_FULL, FORMAT, Row, RowKind
from deepcritical_mcp.evidence.storage.stored_items import UNKNOWN, KeptSession, packed
from deepcritical_mcp.evidence.storage.version_0_2 import FORMAT as FORMAT_OF_0_2
from deepcritical_mcp.evidence.storage.version_0_2 import item_of
from deepcritical_mcp.text import batches

logger = logging.getLogger(__name__)

WORDS = "-words"
TURN = "-turn"
MAX_RECORDS = 256
"""Records that are written at once."""
MAX_WRITTEN = 8 * 1024 * 1024
"""Bytes that are written at once: a server refuses bodies of more than about 40 MB."""
MAX_READ = 1_000
"""Records that are read at once by id."""
PAGE = 200
"""Records that are read at once otherwise."""
ABANDONED_SECONDS = 15.0
"""After which a turn that was not renewed counts as that of a dead process. A turn lasts some 30 ms."""
RENEWED_AFTER = 5.0
"""Seconds after which a turn is renewed before the next write."""
_PAUSES = (0.002, 0.02)
"""Seconds between two looks, at random."""
_KEY = "\n"
"""Between the kind of a row and its key, in the id of a record."""
_OWN = f"session{_KEY}"
_WRITTEN = ("owner", "model", "used", "created", "items", "searches")
_REASONS = {
    "the Chroma server does not respond. Evidence stored earlier is safe; try again in a moment.": (
        "could not connect",
    ),
    DISK_FULL: ("full", "no space", "disk i/o", "file too large"),
    "its database failed. Try again, or open a new session.": ("",),
}
"""What is wrong, by what Chroma's message says."""


@contextlib.contextmanager
def translated(action: str) -> Generator[None]:
    """Translate what Chroma raises while it tries to `action` into one of our errors.

    Raises:
        SessionNotFoundError: the collection is gone.
        EvidenceStoreError: anything else.
    """
    try:
        yield
    except NotFoundError:
        raise SessionNotFoundError() from None
    # Chroma raises bare ValueErrors and RuntimeErrors besides its own errors.
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError) as error:
        logger.warning("chroma could not %s: %s", action, type(error).__name__)
        text = "could not connect" if isinstance(error, httpx.HTTPError) else str(error).lower()
        reason = next(reason for reason, signs in _REASONS.items() if any(sign in text for sign in signs))
        raise EvidenceStoreError(f"The evidence store could not {action}: {reason}") from error


def session_info(metadata: Mapping[str, Any] | None) -> KeptSession:
    """What a collection's metadata says about its session."""
    known = {name: value for name, value in (metadata or {}).items() if name in (*_WRITTEN, "title")}
    return replace(UNKNOWN, **{name: type(getattr(UNKNOWN, name))(value) for name, value in known.items()})


def _metadata(info: KeptSession) -> dict[str, Any]:
    """The metadata from which `session_info` reads the same, except for the title."""
    return {name: getattr(info, name) for name in _WRITTEN} | {"format": FORMAT}


@dataclass
class _Turn:
    """The turn of this process: its collection, since when it lasts (monotonic seconds), and the thread that has it."""

    collection: Collection
    renewed: float
    thread: int = field(default_factory=threading.get_ident)


class ServerRows:
    """The rows of one session on a Chroma server, which several processes may change; see `SessionFile`.

    They are records of the collection `<session_id>-words`, with placeholder vectors. The metadata of `<session_id>`,
    which has no records, is that of the session; that of the other one has its title, so that neither is written over
    the other.

    Processes change a session by turns: Chroma has no transactions, but of several that create a collection of one
    name, only one succeeds. It has the turn until it deletes the collection, or has not renewed it for long.
    """

    def __init__(
        self, client: Client, session_id: str, info: KeptSession, kept: Sequence[Collection | None] = (None, None)
    ) -> None:
        self.info = info
        self.change = 0
        self._client, self._name = client, session_id
        self._session, self._rows = (
            one or client.create_collection(name, metadata=_metadata(info), embedding_function=None, get_or_create=True)
            for one, name in zip(kept, (session_id, session_id + WORDS), strict=True)
        )
        self._ours: _Turn | None = None
        self._is_writing = False

    @classmethod
    def create(cls, client: Client, session_id: str, info: KeptSession) -> Self:
        """A new, empty session."""
        with translated("open a session"):
            rows = cls(client, session_id, info)
        if info.title:
            rows.set_title_if_none(info.title)
        return rows

    @classmethod
    def open(cls, client: Client, session_id: str) -> Self:
        """The session with this id, upgraded if version 0.2 has kept it.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        with translated("open the session"):
            kept = [_found(client, name) for name in (session_id, session_id + WORDS)]
            if not (known := [one.metadata or {} for one in kept if one is not None]):
                raise SessionNotFoundError()
            formats = {one.get("format") for one in known}
            if not formats <= {FORMAT_OF_0_2, FORMAT}:
                raise EvidenceStoreError("Another version kept this session. This one cannot read it, and leaves it.")
            info = replace(session_info(known[0]), title=session_info(known[-1]).title)
            rows = cls(client, session_id, info, kept)
            if FORMAT_OF_0_2 in formats:
                rows._upgrade()
            rows.refresh()
        return rows

    def close(self) -> None:
        """Nothing is open."""

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """The turn. One within another is part of it."""
        if self._ours is not None and self._ours.thread == threading.get_ident():
            yield
            return
        with translated("keep the evidence"):
            ours = self._ours = self._take_turn()
        try:
            yield
        finally:
            self._ours = None
            with contextlib.suppress(DeepCriticalError), translated("keep the evidence"):
                if time.monotonic() - ours.renewed < ABANDONED_SECONDS:
                    self._client.delete_collection(self._name + TURN)
                else:  # it may be another's turn now
                    self._end(ours.collection)

    @contextlib.contextmanager
    def writing(self) -> Generator[None]:
        """No other process writes meanwhile. One within another is part of it."""
        if self._is_writing and self._ours is not None and self._ours.thread == threading.get_ident():
            yield
            return
        with self.waiting():
            self.refresh()
            before = self.change, self.info.model
            self._is_writing = True
            try:
                yield
            finally:
                self._is_writing = False
            if before != (self.change, self.info.model):
                with self._changing():
                    row = {"kind": "session", "change": self.change, "model": self.info.model}
                    self._rows.upsert(ids=[_OWN], embeddings=_placeholders(1), metadatas=[row])

    def reading(self) -> contextlib.AbstractContextManager[None]:
        """Others may write meanwhile; they note the number of their change last."""
        return contextlib.nullcontext()

    def state(self) -> int:
        """Always another one: a process that was killed during its turn may have written some rows."""
        return time.monotonic_ns()

    def refresh(self) -> None:
        """Read the number of the latest change and the session's model, which other processes may have changed."""
        with translated("read the session"):
            for row in self._rows.get(ids=[_OWN], include=["metadatas"])["metadatas"] or ():
                self.change, self.info = int(str(row["change"])), replace(self.info, model=str(row["model"]))

    def put(self, kind: RowKind, rows: Iterable[tuple[str, bytes]], change: int = 0) -> None:
        """Write values by key, in place of earlier ones."""
        for some in portions_of(rows):
            with self._changing():
                self._rows.upsert(
                    ids=[f"{kind}{_KEY}{key}" for key, _ in some],
                    embeddings=_placeholders(len(some)),
                    metadatas=[{**_marks(kind, change), kind: _text(kind, value)} for _, value in some],
                )
        self.change = max(self.change, change)

    def keep_derived(self, rows: Mapping[str, bytes], seen: int) -> None:
        """Not here: it is faster derived again than read over the network."""

    def delete(self, kind: RowKind, keys: Iterable[str]) -> None:
        """Delete rows."""
        if (ids := [f"{kind}{_KEY}{key}" for key in keys]) and kind != "derived":
            with self._changing():
                self._rows.delete(ids=ids)

    def values(self, kind: RowKind, keys: Iterable[str]) -> dict[str, bytes]:
        """The values with these keys, as far as there are some."""
        found: dict[str, bytes] = {}
        for some in batches([f"{kind}{_KEY}{key}" for key in keys], MAX_READ):
            with translated("read the session"):
                page = self._rows.get(ids=[*some], include=["metadatas"])
            found |= {id.partition(_KEY)[2]: _row(kind, id, row).value for id, row in _listed(page)}
        return found

    def keys(self, kind: RowKind, prefix: str = "") -> list[str]:
        """The keys that begin so, in order."""
        with translated("read the session"):
            ids = self._rows.get(where={"kind": kind}, include=[])["ids"]
        return sorted(id.partition(_KEY)[2] for id in ids if id.startswith(f"{kind}{_KEY}{prefix}"))

    def changed(self, kind: RowKind, since: int = -1) -> Iterator[Row]:
        """The rows of a kind which changes after number `since` have written."""
        where = {f"{kind}_change": {"$gt": since}}  # of one key: Chroma takes 18 times as long for two
        return (_row(kind, id, row) for id, row in _records(self._rows, where))

    def record(self, **changes: Any) -> None:
        """Write this part of the session's metadata."""
        info = replace(self.info, **changes)
        with translated("keep the session"):
            self._session.modify(metadata=_metadata(info))
        self.info = info

    def set_title_if_none(self, title: str) -> None:
        """Write a title if there is none."""
        with translated("name the session"):
            self._rows = self._client.get_collection(self._name + WORDS, embedding_function=None)
            kept = session_info(self._rows.metadata).title
            if not kept:
                self._rows.modify(metadata=_metadata(self.info) | {"title": title})
        self.info = replace(self.info, title=kept or title)

    def _upgrade(self) -> None:
        """Write what version 0.2 has kept as rows, without vectors, which are made again. Can be interrupted and
        repeated at any point without loss."""
        with self.writing():
            words, embedded = (
                {id: row for id, row in self._renewing(_records(one)) if "kind" not in row}
                for one in (self._rows, self._session)
            )
            items = [item_of(row) for row in (words | embedded).values() if "publication" in row]
            self.delete("vectors", [item.id for item in items])
            self.put("item", [(item.id, packed(item)) for item in items], self.change + bool(items))
            documents = [id for id, row in words.items() if "document" in row]
            for some in batches(documents, MAX_RECORDS):
                with self._changing():
                    self._rows.update(ids=[*some], metadatas=[_marks("document", 0)] * len(some))
            old = [(self._rows, id) for id in words if id not in {*documents}]
            for some in batches([*old, *((self._session, id) for id in embedded)], MAX_RECORDS):
                for collection in (self._rows, self._session):
                    if ids := [id for one, id in some if one is collection]:
                        with self._changing():
                            collection.delete(ids=ids)
        with translated("keep the session"):  # last, so that what was interrupted is begun again
            title = {"title": self.info.title} if self.info.title else {}
            self._rows.modify(metadata=_metadata(self.info) | title)
        self.record()

    def _renewing(self, records: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Records that are read during the turn, which is renewed meanwhile."""
        for place, one in enumerate(records):
            if place % PAGE == 0:
                with self._changing():
                    pass
            yield one

    @contextlib.contextmanager
    def _changing(self) -> Generator[None]:
        """A change of records; this process's turn is renewed before it, so that others see it is alive.

        Raises:
            EvidenceStoreError: another process has ended the turn.
        """
        with translated("keep the evidence"):
            began, ours = time.monotonic(), self._ours
            is_ours = ours is not None and ours.thread == threading.get_ident()
            if ours and is_ours and began - ours.renewed >= RENEWED_AFTER:
                try:
                    if began - ours.renewed >= ABANDONED_SECONDS:
                        raise NotFoundError()
                    ours.collection.modify(metadata=_metadata(self.info) | {"renewed": secrets.token_hex(4)})
                    ours.renewed = began
                except NotFoundError:
                    raise EvidenceStoreError(
                        "The evidence store took so long that another process may have changed this session meanwhile: "
                        "not everything was kept. Try again."
                    ) from None
            yield

    def _take_turn(self) -> _Turn:
        other, seen = None, 0.0
        metadata = _metadata(self.info)  # by which it is deleted, if need be, with unused sessions
        while True:
            began = time.monotonic()
            try:
                turn = self._client.create_collection(self._name + TURN, metadata=metadata, embedding_function=None)
                return _Turn(turn, began)
            except ChromaError as error:
                if "already exists" not in str(error):
                    raise
            holder = _found(self._client, self._name + TURN)
            if holder is not None and (state := (holder.id, holder.metadata)) != other:
                other, seen = state, time.monotonic()
            elif holder is not None and time.monotonic() - seen > ABANDONED_SECONDS:
                logger.warning("a process has not ended its turn to change a session; it is ended")
                self._end(holder)
            time.sleep(random.uniform(*_PAUSES))

    def _end(self, turn: Collection) -> None:
        """End a turn that took too long. Deleting it by name could hit the next turn, so it is renamed first, which
        goes by its number and fails if it has ended."""
        with contextlib.suppress(NotFoundError):
            turn.modify(name=f"{turn.name}-{secrets.token_hex(8)}")
            self._client.delete_collection(turn.name)


def _found(client: Client, name: str) -> Collection | None:
    """The collection with that name; None if there is none."""
    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _records(collection: Collection, where: Any = None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The ids and the metadata of the records of a collection, read page by page."""
    for offset in itertools.count(0, PAGE):
        with translated("read the session"):
            page = collection.get(include=["metadatas"], where=where, limit=PAGE, offset=offset)
        yield from _listed(page)
        if len(page["ids"]) < PAGE:
            return


def _listed(page: GetResult) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return zip(page["ids"], page["metadatas"] or (), strict=True)


def _row(kind: RowKind, id: str, row: Mapping[str, Any]) -> Row:
    value = base64.b64decode(row[kind]) if kind == "vectors" else row[kind].encode("utf-8", "replace")
    return Row(kind, id.partition(_KEY)[2], int(row.get("change", 0)), 0, value)


def _marks(kind: RowKind, change: int) -> Metadata:
    """By which rows are found: their kind, and the number of their change once more under its name."""
    return {"kind": kind, "change": change, f"{kind}_change": change}


def portions_of(rows: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """The rows in portions that a server takes at once."""
    some, size = list[tuple[str, bytes]](), 0
    for row in rows:
        if some and (len(some) == MAX_RECORDS or size + len(row[1]) > MAX_WRITTEN):
            yield some
            some, size = [], 0
        some.append(row)
        size += len(row[1])
    if some:
        yield some


def _text(kind: RowKind, value: bytes) -> str:
    return base64.b64encode(value).decode() if kind == "vectors" else value.decode("utf-8", "replace")


def _placeholders(count: int) -> NDArray[np.float32]:
    return np.ones((count, 1), np.float32)
