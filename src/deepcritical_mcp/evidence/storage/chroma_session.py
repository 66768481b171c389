"""A session on a Chroma server, which several processes may change: they take turns.

A session is one collection named after the session, with our unit vectors, compared by cosine. A publication is one
record for each of its passages; the first carries the whole `Publication` as JSON in its metadata (Chroma's documents
are full-text indexed, which doubles the cost of adding), so that everything can be read back from the collection alone.
A publication without a vector (the model could not be loaded, or has changed) is in a second collection, `<id>-words`,
with placeholder vectors that are never searched. So are the session's documents: a row without a publication is no
evidence, to earlier versions either.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import random
import secrets
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from chromadb.errors import ChromaError, NotFoundError
from numpy.typing import NDArray

from deepcritical_mcp.errors import DeepCriticalError, EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.chroma_records import (
    FORMAT,
    collection_metadata,
    item_of,
    record_row,
    session_info,
    translated,
)
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, KeptSession, NearPassage, Vector, now
from deepcritical_mcp.evidence.storage.vector_table import PART, VectorTable, asked, part_id, stacked
from deepcritical_mcp.text import batches

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from chromadb.types import Metadata

logger = logging.getLogger(__name__)

WORDS = "-words"
TURN = "-turn"
MAX_RECORDS = 256
"""Records that are written at once."""
MAX_READ = 1_000
"""Vectors that are read at once."""
PAGE = 200
"""Records read at once: 10 ms in Chroma, which holds the GIL meanwhile."""
QUIET = 10_000
CLOCKS_DIFFER = 2_000
"""Milliseconds."""
ABANDONED_SECONDS = 15.0
"""After which a turn that was not renewed counts as that of a dead process. A turn lasts some 30 ms."""
RENEWED_AFTER = 5.0
"""Seconds after which a turn is renewed before the next write."""
# With every add, Chroma rereads its log since the last sync; these settings keep the log short (measured for 8 items:
# 3.5 ms instead of 11 ms with the defaults of 100 and 1,000; stalls of 5 ms instead of 20 ms).
_HNSW: CreateHNSWConfiguration = {"space": "cosine", "batch_size": 20, "sync_threshold": 40}
_TEXT = "document"
_DOCUMENT = f"{_TEXT}{PART}"
_Row = tuple[tuple[int, int], KeptItem]
"""An item and its state, see `ServerSpace`."""
_PAUSES = (0.002, 0.02)
"""Seconds between two looks, at random."""


@dataclass
class _Turn:
    """The turn of this process: its collection, since when it lasts (monotonic seconds), and the thread that has it."""

    collection: Collection
    renewed: float
    thread: int = field(default_factory=threading.get_ident)


class ServerSpace(Space):
    """One session's collections; see `Space`. Vectors that were asked for or written are cached in memory.

    Chroma has no transactions. But when several processes create a collection of one name, only one succeeds: it has
    the turn, until it deletes the collection.
    """

    def __init__(
        self,
        client: Client,
        session_id: str,
        info: KeptSession,
        vectors: Collection | None = None,
        words: Collection | None = None,
    ) -> None:
        self.session_id = session_id
        self.lock = threading.RLock()
        self._info = info
        self._client = client
        self._vectors, self._words = vectors or self._create(session_id), words or self._create(session_id + WORDS)
        self._table = VectorTable()
        self._ours: _Turn | None = None
        self._states: dict[str, tuple[int, int]] = {}
        """When each known item was written (Unix milliseconds), and how many records with vectors it has."""

    @property
    def info(self) -> KeptSession:
        return self._info

    @classmethod
    def create(cls, client: Client, session_id: str, info: KeptSession) -> Self:
        """A new, empty session."""
        with translated("open a session"):
            space = cls(client, session_id, info)
        if info.title:
            space.set_title(info.title, replacing=True)
        return space

    @classmethod
    def open(cls, client: Client, session_id: str, model: str) -> Self:
        """The session with this id; its vectors are discarded if they are not from `model`.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        with translated("open the session"):
            vectors, words = (_found(client, name) for name in (session_id, session_id + WORDS))
            if (metadata := _metadata(vectors) or _metadata(words)) is None:
                raise SessionNotFoundError()
            if metadata.get("format") != FORMAT:
                raise EvidenceStoreError("Version 0.1 kept this session. This version cannot read it, and leaves it.")
            info = session_info(metadata)
            own = replace(info, model=model, title=session_info(_metadata(words)).title)
            space = cls(client, session_id, own, vectors, words)
            if vectors is not None and info.model != model:
                space._discard_vectors(vectors)
        return space

    def read(self) -> Iterator[list[KeptItem]]:
        self._states.clear()
        return ([item for _, item in rows] for rows in self._both())

    def news(self) -> Iterator[list[KeptItem]]:
        known = dict(self._states)
        latest = max((written for written, _ in known.values()), default=0)
        # Clocks may be a little behind, as long as anybody is writing.
        since = max(1, latest + 1 if now() - latest > QUIET else latest - CLOCKS_DIFFER)
        for rows in self._both(since):
            items = [item for state, item in rows if state > known.get(item.id, (-1, -1))]
            for item in items:  # another process may have changed its vectors
                self._table.put(item.id, ())
            yield items

    def write(self, items: Sequence[KeptItem], vectors: Mapping[str, Sequence[Vector]]) -> None:
        earlier = {item.id: self._states.get(item.id, (0, 0)) for item in items}
        written = {id: max(now(), before + 1) for id, (before, _) in earlier.items()}
        firsts = {item.id: item.vectors - len(vectors.get(item.id, ())) for item in items}
        records = [(item, part) for item in items for part in range(firsts[item.id], item.vectors)]
        records.sort(key=lambda record: record[1] == 0)  # the first ones say that the others exist
        with self._writing():
            for some in batches(records, MAX_RECORDS):
                new = [vectors[item.id][part - firsts[item.id]] for item, part in some]
                self._vectors.upsert(
                    ids=[part_id(item.id, part) for item, part in some],
                    embeddings=np.asarray(new, np.float32),
                    metadatas=[record_row(item, written[item.id], part) for item, part in some],
                )
            if same := [item for item in items if firsts[item.id]]:
                rows = [record_row(item, written[item.id]) for item in same]
                self._vectors.update(ids=[item.id for item in same], metadatas=rows)
            if plain := [item for item in items if not item.vectors]:
                rows = [record_row(item, written[item.id]) for item in plain]
                self._put_words([item.id for item in plain], rows)
            beyond = {item.id: range(item.vectors, earlier[item.id][1]) for item in items}
            if gone := [part_id(id, part) for id, parts in beyond.items() for part in parts]:
                self._vectors.delete(ids=gone)
            moved = [item.id for item in items if item.vectors and not earlier[item.id][1]]
            if moved:
                self._words.delete(ids=moved)
        for item in items:
            self._table.put(item.id, vectors.get(item.id, ()), firsts[item.id])
            self._states[item.id] = written[item.id], item.vectors

    def remove(self, ids: Iterable[str]) -> None:
        with self._writing():
            for id in ids:
                count = self._states.pop(id, (0, 0))[1]
                with self._table.lock:  # who reads all vectors, a page at a time, must not miss one
                    self._vectors.delete(ids=[part_id(id, part) for part in range(max(count, 1))])
                    self._table.put(id, ())
                self._words.delete(ids=[id])

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        with translated("keep the evidence"):
            ours = self._ours = self._take_turn()
        try:
            yield
        finally:
            self._ours = None
            with contextlib.suppress(DeepCriticalError), translated("keep the evidence"):
                if time.monotonic() - ours.renewed < ABANDONED_SECONDS:
                    self._client.delete_collection(self.session_id + TURN)
                else:  # it may be another's turn now
                    self._end(ours.collection)

    def nearest(self, vectors: Sequence[Vector], limit: int, least: float = -1.0) -> list[list[NearPassage]]:
        with translated("search the session"):
            return asked(self._vectors, vectors, limit, least)

    def vectors(self, counts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        table, changes = self._table, self._table.changes
        unseen = [(id, count) for id, count in counts.items() if table.count(id) < count]
        ids = [part_id(id, part) for id, count in unseen for part in range(count)]
        keys: list[str] = []
        rows: list[Any] = []
        for some in batches(ids, MAX_READ):
            with translated("read the session"):
                found = self._vectors.get(ids=[*some], include=["embeddings"])
            keys += found["ids"]
            rows += list(found["embeddings"] if found["embeddings"] is not None else ())
        read = stacked(keys, rows)
        with table.lock:
            if table.changes == changes:  # else what was read may be of earlier texts
                for id, some in read.items():
                    table.put(id, some)
                read = {}
            return read | {id: some for id, count in counts.items() if (some := table.get(id, count)) is not None}

    def rest(self) -> None:
        self._table.clear()

    def keep_documents(self, contents: Mapping[str, str]) -> None:
        kept = {_DOCUMENT + name: text for name, text in contents.items() if text}
        with self._writing():
            if kept:
                self._put_words([*kept], [{_TEXT: text} for text in kept.values()])
            if gone := [_DOCUMENT + name for name, text in contents.items() if not text]:
                self._words.delete(ids=gone)

    def documents(self, names: Sequence[str]) -> dict[str, str]:
        named: dict[str, str] = {}
        for some in batches(names, MAX_READ):
            ids = [_DOCUMENT + name for name in some]
            with translated("read the session"):
                rows = self._words.get(ids=ids, include=["metadatas"])
            named |= {id: str(row[_TEXT]) for id, row in zip(rows["ids"], rows["metadatas"] or (), strict=True)}
        return {name: named[_DOCUMENT + name] for name in names if _DOCUMENT + name in named}

    def document_names(self, prefix: str) -> list[str]:
        with translated("read the session"):
            ids = self._words.get(where={_TEXT: {"$ne": ""}}, include=[])["ids"]
        return sorted(id.removeprefix(_DOCUMENT) for id in ids if id.startswith(_DOCUMENT + prefix))

    def record(self, **changes: Any) -> None:
        info = replace(self._info, **changes)
        with translated("keep the session"):
            self._vectors.modify(metadata=collection_metadata(info))
        self._info = info

    def set_title(self, title: str, *, replacing: bool) -> None:
        # In the metadata of the second collection, which nothing else changes: that of the first one is written whole
        # by every process that records a use.
        with translated("name the session"):
            self._words = self._client.get_collection(self.session_id + WORDS, embedding_function=None)
            kept = "" if replacing else session_info(self._words.metadata).title
            if not kept:
                self._words.modify(metadata=collection_metadata(self._info) | {"title": title})
        self._info = replace(self._info, title=kept or title)

    def delete(self) -> None:
        with self.turn(), translated("delete the session"):  # what another process has begun to write would come back
            for name in (self.session_id + WORDS, self.session_id):
                with contextlib.suppress(NotFoundError):
                    self._client.delete_collection(name)

    def _both(self, since: int = 0) -> Iterator[list[_Row]]:
        yield from self._pages(self._vectors, embedded=True, since=since)
        yield from self._pages(self._words, embedded=False, since=since)

    def _pages(self, collection: Collection, *, embedded: bool, since: int = 0) -> Iterator[list[_Row]]:
        """All items, or those that were written `since`, page by page, with their states."""
        where: Any = {"written": {"$gte": since}} if since else None
        for offset in itertools.count(0, PAGE):
            with translated("read the session"):
                rows = collection.get(include=["metadatas"], where=where, limit=PAGE, offset=offset)["metadatas"] or []
                items = [(row, item_of(row, embedded=embedded)) for row in rows if "publication" in row]
            found = [((int(str(row["written"])), max(item.vectors, embedded)), item) for row, item in items]
            for state, item in found:
                self._states[item.id] = max(state, self._states.get(item.id, state))
            yield found
            if len(rows) < PAGE:
                return

    def _put_words(self, ids: list[str], rows: list[Metadata]) -> None:
        """Write into the second collection."""
        self._words.upsert(ids=ids, embeddings=np.ones((len(ids), 1), np.float32), metadatas=rows)

    def _create(self, name: str) -> Collection:
        return self._client.create_collection(
            name,
            configuration={"hnsw": _HNSW},
            metadata=collection_metadata(self._info),
            embedding_function=None,
            get_or_create=True,
        )

    def _discard_vectors(self, old: Collection) -> None:
        """Discard vectors of another model, because vectors of two models cannot be compared; until they are embedded
        again, publications are found by words only. Can be interrupted and repeated at any point without loss."""
        for rows in list(self._pages(old, embedded=False)):
            self.write([item for _, item in rows], {})
        self._client.delete_collection(self.session_id)
        self._vectors = self._create(self.session_id)

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        with translated("keep the evidence"):
            ours = self._ours
            if ours is not None and ours.thread == threading.get_ident():
                self._renew(ours)
            yield

    def _renew(self, ours: _Turn) -> None:
        """Renew this process's turn, so that others see it is alive; raise an error if another has ended it."""
        lasted = time.monotonic() - ours.renewed
        if lasted < RENEWED_AFTER:
            return
        try:
            if lasted < ABANDONED_SECONDS:
                began = time.monotonic()
                ours.collection.modify(metadata=collection_metadata(self._info) | {"renewed": secrets.token_hex(4)})
                ours.renewed = began
                return
        except NotFoundError:
            pass
        raise EvidenceStoreError(
            "The evidence store took so long that another process may have changed this session meanwhile: not "
            "everything was kept. Try again."
        )

    def _take_turn(self) -> _Turn:
        other, seen = None, 0.0
        while True:
            began = time.monotonic()
            if collection := self._created_turn():
                return _Turn(collection, began)
            holder = _found(self._client, self.session_id + TURN)
            if holder is not None and (state := (holder.id, holder.metadata)) != other:
                other, seen = state, time.monotonic()
            elif holder is not None and time.monotonic() - seen > ABANDONED_SECONDS:
                logger.warning("a process has not ended its turn to change a session; it is ended")
                self._end(holder)
            time.sleep(random.uniform(*_PAUSES))

    def _created_turn(self) -> Collection | None:
        metadata = collection_metadata(self._info)  # by which it is deleted, if need be, with unused sessions
        try:
            return self._client.create_collection(
                self.session_id + TURN, metadata=metadata, embedding_function=None, get_or_create=False
            )
        except ChromaError as error:
            if "already exists" in str(error):
                return None
            raise

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


def _metadata(collection: Collection | None) -> Mapping[str, Any] | None:
    return None if collection is None else collection.metadata or {}
