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
    progress_row,
    record_row,
    session_info,
    translated,
)
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, NearPassage, SessionInfo, Vector, now
from deepcritical_mcp.evidence.storage.vector_table import PART, VectorTable, asked, part_id, stacked

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration

logger = logging.getLogger(__name__)

WORDS = "-words"
TURN = "-turn"
BATCH = 64
"""Records per write; so many publications, of those with a few records."""
FEW = 8
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
_DOCUMENT = "document"
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

    def __init__(self, client: Client, session_id: str, info: SessionInfo) -> None:
        self.session_id = session_id
        self.lock = threading.RLock()
        self._info = info
        self._client = client
        self._vectors: Collection | None = None
        self._words: Collection | None = None
        self._table = VectorTable()
        self._ours: _Turn | None = None
        self._states: dict[str, tuple[int, int]] = {}
        """When each known item was written, and when its further vectors were."""

    @property
    def info(self) -> SessionInfo:
        return self._info

    @classmethod
    def create(cls, client: Client, session_id: str, info: SessionInfo) -> Self:
        """A new, empty session."""
        space = cls(client, session_id, info)
        with translated("open a session"):
            space._vectors = space._create(session_id)
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
            info = session_info(metadata)
            space = cls(client, session_id, replace(info, model=model, title=session_info(_metadata(words)).title))
            if metadata.get("format") != FORMAT:
                raise EvidenceStoreError("Version 0.1 kept this session. This version cannot read it, and leaves it.")
            space._vectors, space._words = vectors or space._create(session_id), words
            if vectors is not None and info.model != model:
                space._discard_vectors(vectors)
        return space

    def read(self) -> Iterator[list[KeptItem]]:
        self._states.clear()
        return self._both()

    def news(self) -> Iterator[list[KeptItem]]:
        latest = max(itertools.chain.from_iterable(self._states.values()), default=0)
        # Clocks may be a little behind, as long as anybody is writing.
        since = max(1, latest + 1 if now() - latest > QUIET else latest - CLOCKS_DIFFER)
        known = dict(self._states)
        for items in self._both(since):
            some = [item for item in items if _state(item) > known.get(item.publication.id, (-1, -1))]
            for item in some:  # another process may have changed its vectors
                self._table.cut(item.publication.id)
            yield some

    def write(self, rows: Sequence[tuple[KeptItem, Sequence[Vector]]]) -> None:
        plain = [item for item, vectors in rows if not vectors]
        embedded = [[(item, part, vector) for part, vector in enumerate(vectors)] for item, vectors in rows if vectors]
        small = [records for records in embedded if len(records) <= FEW]
        with self._writing():
            for start in range(0, len(small), BATCH):  # each publication in one request: whole, or not at all
                self._upsert([*itertools.chain(*small[start : start + BATCH])])
            for records in (records for records in embedded if len(records) > FEW):
                for start in (*range(BATCH, len(records), BATCH), 0):  # the first ones say that the others exist
                    self._upsert(records[start : start + BATCH])
            if embedded and self._words is not None:
                self._words.delete(ids=[records[0][0].publication.id for records in embedded])
            if plain:
                self._words_collection().upsert(
                    ids=[item.publication.id for item in plain],
                    embeddings=_placeholders(len(plain)),
                    metadatas=[record_row(item) for item in plain],
                )
        for item, vectors in rows:
            self._table.put(item.publication.id, 0, vectors)
        self._note(item for item, _ in rows)

    def extend(self, item: KeptItem, vectors: Sequence[Vector]) -> None:
        first = item.parts - len(vectors)
        records = [(item, first + number, vector) for number, vector in enumerate(vectors)]
        with self._writing():
            for start in range(0, len(records), BATCH):
                self._upsert(records[start : start + BATCH])
            self._main.update(ids=[item.publication.id], metadatas=[progress_row(item)])
        self._table.put(item.publication.id, first, vectors)
        self._note([item])

    def rewrite(self, *items: KeptItem) -> None:
        with self._writing():
            for embedded in (True, False):
                if some := [item for item in items if item.embedded == embedded]:
                    collection = self._main if embedded else self._words_collection()
                    collection.update(ids=[one.publication.id for one in some], metadatas=[*map(record_row, some)])
        self._note(items)

    def remove_parts(self, id: str, parts: Sequence[int]) -> None:
        with self._writing():
            main = self._main
            with self._table.lock:  # who reads all vectors, a page at a time, must not miss one
                main.delete(ids=[part_id(id, part) for part in parts])
                self._table.cut(id, min(parts, default=0))
            if 0 in parts and self._words is not None:
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

    def nearest(
        self, vectors: Sequence[Vector], limit: int, source: str | None = None, least: float = -1.0
    ) -> list[list[NearPassage]]:
        with translated("search the session"):
            near = asked(self._main, vectors, limit, source)
        return near if least <= -1.0 else [[one for one in some if one.cosine >= least] for some in near]

    def vectors(self, parts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        table, changes = self._table, self._table.changes
        unseen = [(id, count) for id, count in parts.items() if table.count(id) < count]
        ids = [part_id(id, part) for id, count in unseen for part in range(count)]
        keys: list[str] = []
        rows: list[Any] = []
        for start in range(0, len(ids), MAX_READ):
            with translated("read the session"):
                found = self._main.get(ids=ids[start : start + MAX_READ], include=["embeddings"])
            keys += found["ids"]
            rows += list(found["embeddings"] if found["embeddings"] is not None else ())
        read = stacked(keys, rows)
        with table.lock:
            if table.changes == changes:  # else what was read may be of earlier texts
                for id, some in read.items():
                    table.put(id, 0, some)
                read = {}
            return read | {id: some for id, count in parts.items() if (some := table.get(id, count)) is not None}

    def rest(self) -> None:
        self._table.clear()

    def keep_document(self, name: str, content: str) -> None:
        with self._writing():
            self._words_collection().upsert(
                ids=[_document_id(name)], embeddings=_placeholders(1), metadatas=[{_DOCUMENT: content}]
            )

    def document(self, name: str) -> str:
        return self._documents([_document_id(name)]).get(name, "")

    def documents(self, prefix: str) -> dict[str, str]:
        return self._documents(self._document_ids(prefix))

    def count_documents(self, prefix: str, *, but: str) -> int:
        return sum(not id.endswith(but) for id in self._document_ids(prefix))

    def record(self, **changes: Any) -> None:
        info = replace(self._info, **changes)
        with translated("keep the session"):
            self._main.modify(metadata=collection_metadata(info))
        self._info = info

    def set_title(self, title: str, *, replacing: bool) -> None:
        # In the metadata of the second collection, which nothing else changes: that of the first one is written whole
        # by every process that records a use.
        with translated("name the session"):
            self._words = _found(self._client, self.session_id + WORDS)
            kept = "" if replacing else session_info(_metadata(self._words)).title
            if not kept:
                self._words_collection().modify(metadata=collection_metadata(self._info) | {"title": title})
        self._info = replace(self._info, title=kept or title)

    def delete(self) -> None:
        with self.turn(), translated("delete the session"):  # what another process has begun to write would come back
            for name in (self.session_id + WORDS, self.session_id):
                with contextlib.suppress(NotFoundError):
                    self._client.delete_collection(name)

    @property
    def _main(self) -> Collection:
        if self._vectors is None:
            raise SessionNotFoundError()
        return self._vectors

    def _both(self, since: int = 0) -> Iterator[list[KeptItem]]:
        yield from self._pages(self._main, True, since)
        if (words := self._known_words()) is not None:
            yield from self._pages(words, False, since)

    def _pages(self, collection: Collection, embedded: bool, since: int = 0) -> Iterator[list[KeptItem]]:
        """All items, or those that were written `since`, page by page."""
        either: list[Any] = [{name: {"$gte": since}} for name in ("written", "progressed")]
        where: Any = {"$or": either} if since else None
        for offset in itertools.count(0, PAGE):
            with translated("read the session"):
                rows = collection.get(include=["metadatas"], where=where, limit=PAGE, offset=offset)["metadatas"] or []
                items = [item_of(row, embedded) for row in rows if "publication" in row]
            self._note(items)
            yield items
            if len(rows) < PAGE:
                return

    def _note(self, items: Iterable[KeptItem]) -> None:
        for item in items:
            id = item.publication.id
            self._states[id] = max(_state(item), self._states.get(id, (-1, -1)))

    def _upsert(self, records: Sequence[tuple[KeptItem, int, Vector]]) -> None:
        """Write records at once: each is of an item's passage with that number."""
        self._main.upsert(
            ids=[part_id(item.publication.id, part) for item, part, _ in records],
            embeddings=np.asarray([vector for *_, vector in records], np.float32),
            metadatas=[record_row(item, part) for item, part, _ in records],
        )

    def _document_ids(self, prefix: str) -> list[str]:
        if (words := self._known_words()) is None:
            return []
        with translated("read the session"):
            ids = words.get(where={_DOCUMENT: {"$ne": ""}}, include=[])["ids"]
        return sorted(id for id in ids if id.startswith(_document_id(prefix)))

    def _documents(self, ids: Sequence[str]) -> dict[str, str]:
        named: dict[str, str] = {}
        if ids and (words := self._known_words()) is not None:
            for start in range(0, len(ids), MAX_READ):
                with translated("read the session"):
                    rows = words.get(ids=[*ids[start : start + MAX_READ]], include=["metadatas"])
                found = zip(rows["ids"], rows["metadatas"] or (), strict=True)
                named |= {id: str(row[_DOCUMENT]) for id, row in found if _DOCUMENT in row}
        return {id.removeprefix(_document_id("")): named[id] for id in sorted(named)}

    def _create(self, name: str) -> Collection:
        return self._client.create_collection(
            name,
            configuration={"hnsw": _HNSW},
            metadata=collection_metadata(self._info),
            embedding_function=None,
            get_or_create=True,
        )

    def _known_words(self) -> Collection | None:
        if self._words is None:  # another process may have created it
            with translated("read the session"):
                self._words = _found(self._client, self.session_id + WORDS)
        return self._words

    def _words_collection(self) -> Collection:
        if self._words is None:
            if _found(self._client, self.session_id) is None:
                raise SessionNotFoundError()
            self._words = self._create(self.session_id + WORDS)
        return self._words

    def _discard_vectors(self, old: Collection) -> None:
        """Discard vectors of another model, because vectors of two models cannot be compared; until they are embedded
        again, publications are found by words only. Can be interrupted and repeated at any point without loss."""
        for items in list(self._pages(old, embedded=False)):
            self.write([(replace(item, parts=1), ()) for item in items])
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


def _placeholders(count: int) -> NDArray[np.float32]:
    """Placeholder vectors for what has none; they are never searched."""
    return np.ones((count, 1), np.float32)


def _document_id(name: str) -> str:
    return f"{_DOCUMENT}{PART}{name}"


def _state(item: KeptItem) -> tuple[int, int]:
    return item.written, item.progressed
