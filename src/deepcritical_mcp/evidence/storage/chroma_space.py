"""Storage of a session on a Chroma server.

Everything here blocks and runs in worker threads. A session is one collection named after the session, with
our unit vectors, compared by cosine. A publication is one record for each of its passages; the first carries the whole
`Publication` as JSON in its metadata (Chroma's documents are full-text indexed, which doubles the cost of adding), so
that everything can be read back from the collection alone. A publication without a vector (the model could not be
loaded, or has changed) is in a second collection, `<id>-words`, with placeholder vectors that are never searched. So
are the session's documents: a row without a publication is no evidence, to earlier versions either.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from chromadb.errors import NotFoundError
from numpy.typing import NDArray

from deepcritical_mcp.errors import EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.chroma_failures import translated
from deepcritical_mcp.evidence.storage.collection_metadata import (
    FORMAT,
    collection_metadata,
    collection_title,
    session_info,
)
from deepcritical_mcp.evidence.storage.item_rows import first_row, item_of, progress_row, record_rows
from deepcritical_mcp.evidence.storage.rows import KeptItem, NearPassage, SessionInfo, Vector, now
from deepcritical_mcp.evidence.storage.vector_table import PART, VectorTable, id_and_part, part_id, stacked

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from chromadb.types import Metadata, Where


MAX_READ = 1_000
"""Vectors that are read at once."""
WORDS = "-words"
# With every add, Chroma rereads its log since the last sync; these settings keep the log short (measured for 8 items:
# 3.5 ms instead of 11 ms with the defaults of 100 and 1,000; stalls of 5 ms instead of 20 ms).
HNSW: CreateHNSWConfiguration = {"space": "cosine", "batch_size": 20, "sync_threshold": 40}
_DOCUMENT = "document"
PAGE = 200
"""Records read at once: 10 ms in Chroma, which holds the GIL meanwhile."""
QUIET = 10_000
CLOCKS_DIFFER = 2_000
"""Milliseconds."""


class ChromaSpace:
    """One session's collections; see `Space`. Vectors that were asked for or written are cached in memory."""

    batch = 64
    """Records per write."""

    def __init__(self, client: Client, session_id: str, info: SessionInfo) -> None:
        self.session_id = session_id
        self.info = info
        self._client = client
        self._vectors: Collection | None = None
        self._words: Collection | None = None
        self._table = VectorTable()
        self.lock = threading.RLock()
        self._states: dict[str, tuple[int, int]] = {}
        """When each item that is known was written, and its further vectors."""

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
            collections = [found_collection(client, name) for name in (session_id, session_id + WORDS)]
            found = [collection for collection in collections if collection is not None]
            if not found:
                raise SessionNotFoundError()
            info = session_info(found[0].metadata)
            space = cls(client, session_id, replace(info, model=model, title=collection_title(collections[1])))
            space._vectors, space._words = collections
            if (found[0].metadata or {}).get("format") != FORMAT:
                raise EvidenceStoreError("Version 0.1 kept this session. This version cannot read it, and leaves it.")
            if space._vectors is None:
                space._vectors = space._create(session_id)
            elif info.model != model:
                space._discard_vectors(space._vectors)
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

    def _both(self, since: int = 0) -> Iterator[list[KeptItem]]:
        self._look_for_words()
        if self._vectors is not None:
            yield from self._pages(self._vectors, True, since)
        if self._words is not None:
            yield from self._pages(self._words, False, since)

    def _pages(self, collection: Collection, embedded: bool, since: int = 0) -> Iterator[list[KeptItem]]:
        for rows in self._rows(collection, since):
            with self._using("read the session"):
                items = [item_of(row, embedded) for row in rows if "publication" in row]
            self._note(items)
            yield items

    def _note(self, items: Iterable[KeptItem]) -> None:
        for item in items:
            id = item.publication.id
            self._table.set_source(id, item.publication.source)
            self._states[id] = max(_state(item), self._states.get(id, (-1, -1)))

    def _rows(self, collection: Collection, since: int) -> Iterator[Sequence[Mapping[str, Any]]]:
        """The metadata of all records, or of what was written `since`, page by page."""
        either: list[Where] = [{name: {"$gte": since}} for name in ("written", "progressed")]
        where: Where | None = {"$or": either} if since else None
        for offset in itertools.count(0, PAGE):
            with self._using("read the session"):
                rows = collection.get(include=["metadatas"], where=where, limit=PAGE, offset=offset)["metadatas"] or []
            yield rows
            if len(rows) < PAGE:
                return

    def write(self, rows: Sequence[tuple[KeptItem, Sequence[Vector]]]) -> None:
        embedded = [(item, vectors) for item, vectors in rows if vectors]
        plain = [item for item, vectors in rows if not vectors]
        with self._writing():
            main = self._main
            long = [row for row in embedded if _has_long_text(row[0])]
            whole = [row for row in embedded if not _has_long_text(row[0])]
            for start in range(0, len(whole), self.batch):
                self._upsert(main, whole[start : start + self.batch])
            for item, vectors in long:
                for start in range(self.batch, len(vectors), self.batch):  # the first ones say that the others exist
                    self._upsert_parts(item, start, vectors[start : start + self.batch])
                self._upsert(main, [(item, vectors)], self.batch)
            if embedded and self._words is not None:
                self._words.delete(ids=[item.publication.id for item, _ in embedded])
            if plain:
                self._words_collection().upsert(
                    ids=[item.publication.id for item in plain],
                    embeddings=placeholders(len(plain)),
                    metadatas=[first_row(item) for item in plain],
                )
        self._note(item for item, _ in rows)

    def _upsert(
        self, main: Collection, rows: Sequence[tuple[KeptItem, Sequence[Vector]]], most: int | None = None
    ) -> None:
        """Write items with their vectors at once; of each at most the first `most`."""
        ids = [part_id(item.publication.id, part) for item, _ in rows for part in range(item.parts)[:most]]
        metadata = [row for item, _ in rows for row in record_rows(item)[:most]]
        vectors = np.asarray([vector for _, some in rows for vector in some[:most]], np.float32)
        main.upsert(ids=ids, embeddings=vectors, metadatas=metadata)
        for item, some in rows:
            self._table.set_source(item.publication.id, item.publication.source)
            self._table.put(item.publication.id, 0, some)

    def _upsert_parts(self, item: KeptItem, start: int, vectors: Sequence[Vector]) -> None:
        ids = [part_id(item.publication.id, part) for part in range(start, start + len(vectors))]
        metadata: list[Metadata] = [{"source": item.publication.source} for _ in ids]
        self._main.upsert(ids=ids, embeddings=np.asarray(vectors, np.float32), metadatas=metadata)

    def extend(self, item: KeptItem, vectors: Sequence[Vector]) -> None:
        first = item.parts - len(vectors)
        with self._writing():
            for start in range(0, len(vectors), self.batch):
                self._upsert_parts(item, first + start, vectors[start : start + self.batch])
            self._main.update(ids=[item.publication.id], metadatas=[progress_row(item)])
        self._table.put(item.publication.id, first, vectors)
        self._note([item])

    def rewrite(self, *items: KeptItem) -> None:
        with self._writing():
            for embedded in (True, False):
                if some := [item for item in items if item.embedded == embedded]:
                    collection = self._main if embedded else self._words_collection()
                    collection.update(
                        ids=[one.publication.id for one in some], metadatas=[first_row(one) for one in some]
                    )
        self._note(items)

    def remove_parts(self, id: str, parts: Sequence[int]) -> None:
        with self._writing():
            main = self._main
            with self._table.lock:  # who reads all vectors, a page at a time, must not miss one
                main.delete(ids=[part_id(id, part) for part in parts])
                self._table.cut(id, min(parts, default=0))
            if 0 in parts and self._words is not None:
                self._words.delete(ids=[id])

    def nearest(
        self, vectors: Sequence[Vector], limit: int, source: str | None = None, least: float = -1.0
    ) -> list[list[NearPassage]]:
        with self._using("search the session"):
            found = self._main.query(
                query_embeddings=np.asarray(vectors, np.float32),
                n_results=limit,
                where={"source": source} if source else None,
                include=["distances"],
            )
        near = [
            [NearPassage(*id_and_part(key), 1.0 - distance) for key, distance in zip(keys, distances, strict=True)]
            for keys, distances in zip(found["ids"], found["distances"] or [], strict=True)
        ]
        return near if least <= -1.0 else [[one for one in some if one.cosine >= least] for some in near]

    def vectors(self, parts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        table, changes = self._table, self._table.changes
        unseen = [(id, count) for id, count in parts.items() if table.count(id) < count]
        if unseen:
            ids = [part_id(id, part) for id, count in unseen for part in range(count)]
            keys: list[str] = []
            rows: list[Any] = []
            for start in range(0, len(ids), MAX_READ):
                with self._using("read the session"):
                    found = self._main.get(ids=ids[start : start + MAX_READ], include=["embeddings"])
                keys += found["ids"]
                rows += list(found["embeddings"] if found["embeddings"] is not None else ())
            read = stacked(keys, rows)
            with table.lock:
                if table.changes != changes:  # what was read may be of earlier texts
                    return read | self._cached(parts)
                for id, some in read.items():
                    table.put(id, 0, some)
        return self._cached(parts)

    def _cached(self, parts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        return {id: some for id, count in parts.items() if (some := self._table.get(id, count)) is not None}

    def index(self) -> Mapping[str, NDArray[Any]]:
        return {}

    def keep_index(self, index: Mapping[str, NDArray[Any]]) -> None:
        pass

    def rest(self) -> None:
        self._table.clear()

    def keep_document(self, name: str, content: str) -> None:
        with self._writing():
            row: list[Metadata] = [{_DOCUMENT: content}]
            self._words_collection().upsert(ids=[_document_id(name)], embeddings=placeholders(1), metadatas=row)

    def document(self, name: str) -> str:
        self._look_for_words()
        if self._words is None:
            return ""
        with self._using("read the session"):
            rows = self._words.get(ids=[_document_id(name)], include=["metadatas"])["metadatas"]
        return str(rows[0][_DOCUMENT]) if rows else ""

    def documents(self, prefix: str) -> dict[str, str]:
        self._look_for_words()
        if self._words is None:
            return {}
        with self._using("read the session"):
            ids = self._words.get(where={_DOCUMENT: {"$ne": ""}}, include=[])["ids"]
            wanted = [id for id in ids if id.startswith(_document_id(prefix))]
            named: dict[str, str] = {}
            for start in range(0, len(wanted), MAX_READ):
                rows = self._words.get(ids=wanted[start : start + MAX_READ], include=["metadatas"])
                found = zip(rows["ids"], rows["metadatas"] or (), strict=True)
                named |= {id: str(row[_DOCUMENT]) for id, row in found if _DOCUMENT in row}
        return {id.removeprefix(_document_id("")): named[id] for id in sorted(named)}

    def count_documents(self, prefix: str, *, but: str) -> int:
        self._look_for_words()
        if self._words is None:
            return 0
        with self._using("read the session"):
            ids = self._words.get(where={_DOCUMENT: {"$ne": ""}}, include=[])["ids"]
        return sum(id.startswith(_document_id(prefix)) and not id.endswith(but) for id in ids)

    def touch(self, now: float) -> None:
        self._record(replace(self.info, used=now))

    def set_counts(self, items: int, searches: int) -> None:
        self._record(replace(self.info, items=items, searches=searches))

    def _record(self, info: SessionInfo) -> None:
        with translated("keep the session"):
            self._main.modify(metadata=collection_metadata(info))
        self.info = info

    def set_title(self, title: str, *, replacing: bool) -> None:
        # In the metadata of the second collection, which nothing else changes: that of the first one is written whole
        # by every process that records a use.
        with translated("name the session"):
            self._words = found_collection(self._client, self.session_id + WORDS)
            kept = "" if replacing else collection_title(self._words)
            if not kept:
                self._words_collection().modify(metadata=collection_metadata(self.info) | {"title": title})
        self.info = replace(self.info, title=kept or title)

    def close(self) -> None:
        pass

    def delete(self) -> None:
        with translated("delete the session"):
            for name in (self.session_id + WORDS, self.session_id):
                with contextlib.suppress(NotFoundError):
                    self._client.delete_collection(name)

    def _using(self, action: str) -> AbstractContextManager[None]:
        return translated(action)

    def _writing(self) -> AbstractContextManager[None]:
        return translated("keep the evidence")

    @property
    def _main(self) -> Collection:
        if self._vectors is None:
            raise SessionNotFoundError()
        return self._vectors

    def _create(self, name: str) -> Collection:
        return self._client.create_collection(
            name,
            configuration={"hnsw": HNSW},
            metadata=collection_metadata(self.info),
            embedding_function=None,
            get_or_create=True,
        )

    def _look_for_words(self) -> None:
        if self._words is None:  # another process may have created it
            with self._using("read the session"):
                self._words = found_collection(self._client, self.session_id + WORDS)

    def _words_collection(self) -> Collection:
        if self._words is None:
            self._words = self._create(self.session_id + WORDS)
        return self._words

    def _discard_vectors(self, old: Collection) -> None:
        """Discard vectors of another model, because vectors of two models cannot be compared; until they are embedded
        again, publications are found by words only. Can be interrupted and repeated at any point without loss."""
        for items in list(self._pages(old, embedded=False)):
            self.write([(replace(item, parts=1), ()) for item in items])
        self._client.delete_collection(self.session_id)
        self._vectors = self._create(self.session_id)


def found_collection(client: Client, name: str) -> Collection | None:
    """The collection with that name; None if there is none."""
    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def placeholders(count: int) -> NDArray[np.float32]:
    """Vectors of what has none, which are never searched."""
    return np.ones((count, 1), np.float32)


def _document_id(name: str) -> str:
    return f"{_DOCUMENT}{PART}{name}"


def _state(item: KeptItem) -> tuple[int, int]:
    return item.written, item.progressed


def _has_long_text(item: KeptItem) -> bool:
    return any(text.parts for text in item.publication.texts)
