"""Where sessions are kept: Chroma in memory, in a folder of their own each, or on a server.

Everything here blocks and runs in worker threads. A session is one collection named after the session, with cosine
distance and our own vectors. A publication is one record for each of its passages; the first carries the whole
`Publication` as JSON in its metadata (Chroma's documents are full-text indexed, which doubles the cost of adding), so
that everything can be read back from the collection alone. What has no vector (the model could not be loaded, or was
another one) waits in a second collection, `<id>-words`, with placeholder vectors that are never searched.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import chromadb
import httpx
import numpy as np
from chromadb.errors import ChromaError, NotFoundError
from numpy.typing import NDArray

from deepcritical_mcp.errors import EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.rows import (
    KeptItem,
    Record,
    SessionInfo,
    Vector,
    dumped,
    is_session_id,
    restored,
)
from deepcritical_mcp.evidence.storage.upgrade import FORMAT, UNREADABLE, is_of_version_0_1, upgrade

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from chromadb.config import Settings as ChromaSettings
    from chromadb.types import Metadata, Where


logger = logging.getLogger(__name__)

WORDS = "-words"
PAGE = 200
"""Records read at once: 10 ms of Chroma, which holds the interpreter's lock meanwhile."""
# Chroma reads its log back with every add, up to the last sync: these keep that short (measured: 3.5 ms for 8 items
# where the defaults, 100 and 1,000, take 11 ms, and stalls of 5 ms for 20 ms).
_HNSW: CreateHNSWConfiguration = {"space": "cosine", "batch_size": 20, "sync_threshold": 40}
_PART = "\n"
_PLACEHOLDER = np.ones((1, 1), np.float32)


@contextlib.contextmanager
def translated(action: str) -> Generator[None]:
    """Turn whatever Chroma raises while it should `action` into one of our errors.

    Raises:
        SessionNotFoundError: the collection is gone.
        EvidenceStoreError: anything else.
    """
    try:
        yield
    except NotFoundError:
        raise SessionNotFoundError() from None
    # Chroma raises bare ValueErrors and RuntimeErrors beside its own.
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError) as error:
        logger.warning("chroma could not %s: %s", action, type(error).__name__)
        raise EvidenceStoreError(f"The evidence store could not {action}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    text = str(error).lower()
    if isinstance(error, httpx.HTTPError) or "could not connect" in text:
        return "the Chroma server does not answer. What was kept stays there; try again in a moment."
    if "full" in text or "no space" in text or "disk i/o" in text or "file too large" in text:
        return "the disk is full. What was kept before is still there; free some space and try again."
    if "readonly" in text or "read-only" in text or "permission denied" in text or "unable to open" in text:
        return "DEEPCRITICAL_DATA_DIR must be a folder that can be written. What was kept before is still there."
    return "its database failed. What was kept before is still there; try again, or open a new session."


class NearPassage(NamedTuple):
    """A passage near a vector: its publication, its place among that one's passages, and its cosine."""

    id: str
    part: int
    cosine: float


class Space:
    """One session's collections."""

    def __init__(self, client: Client, session_id: str, info: SessionInfo) -> None:
        self.session_id = session_id
        self.info = info
        self._client = client
        self._vectors: Collection | None = None
        self._words: Collection | None = None
        self._seen: dict[str, NDArray[np.float32]] = {}

    @classmethod
    def create(cls, client: Client, session_id: str, info: SessionInfo) -> Space:
        """A new session, empty."""
        space = cls(client, session_id, info)
        with translated("open a session"):
            space._vectors = space._create(session_id)
        return space

    @classmethod
    def open(cls, client: Client, session_id: str, model: str) -> Space:
        """The session of that id, whose vectors are put aside when they are not of `model`.

        Raises:
            SessionNotFoundError: there is none.
        """
        with translated("open the session"):
            collections = {name: _find(client, name) for name in (session_id, session_id + WORDS)}
            found = [collection for collection in collections.values() if collection is not None]
            if not found:
                raise SessionNotFoundError()
            info = _info(found[0].metadata)
            space = cls(client, session_id, SessionInfo(info.owner, model, info.used))
            space._vectors, space._words = collections.values()
            if (found[0].metadata or {}).get("format") != FORMAT:
                upgrade(space._vectors, space._words, space._words_collection)
                for collection in found:
                    collection.modify(metadata=_metadata(info))
            if space._vectors is None:
                space._vectors = space._create(session_id)
            elif info.model != model:
                space._put_vectors_aside(space._vectors)
        return space

    def read(self, since: int = 0) -> Iterator[list[KeptItem]]:
        """Everything kept, or what was written `since` (Unix milliseconds), page by page, in no order."""
        if self._words is None:  # unless another process has made it meanwhile
            with translated("read the session"):
                self._words = _find(self._client, self.session_id + WORDS)
        if self._vectors is not None:
            yield from self._pages(self._vectors, True, since)
        if self._words is not None:
            yield from self._pages(self._words, False, since)

    def _pages(self, collection: Collection, embedded: bool, since: int = 0) -> Iterator[list[KeptItem]]:
        offset = 0
        where: Where | None = {"written": {"$gte": since}} if since else None
        while True:
            with translated("read the session"):
                page = collection.get(include=["metadatas"], where=where, limit=PAGE, offset=offset)
                rows = page["metadatas"] or []
                if any(map(is_of_version_0_1, rows)):
                    upgrade(self._vectors, self._words, self._words_collection)
                    offset = 0
                    continue
                items = [_kept(row, embedded) for row in rows if "publication" in row]
            yield items
            if len(rows) < PAGE:
                return
            offset += PAGE

    def write(self, records: Sequence[Record]) -> None:
        """Add records, or write them over earlier ones of the same id; each goes in whole or not at all."""
        embedded = [record for record in records if record.vectors]
        plain = [record for record in records if not record.vectors]
        with translated("keep the evidence"):
            if embedded:
                ids, vectors, rows = _rows(embedded)
                self._main.upsert(ids=ids, embeddings=vectors, metadatas=rows)
                self._seen.update(_stacked(ids, vectors))
                if self._words is not None:
                    self._words.delete(ids=[record.publication.id for record in embedded])
            if plain:
                ids, _, rows = _rows(plain)
                self._words_collection().upsert(ids=ids, embeddings=_PLACEHOLDER.repeat(len(ids), 0), metadatas=rows)

    def rewrite(self, item: KeptItem) -> None:
        """Write a new state of kept evidence over the earlier one, whose vectors stay."""
        with translated("keep the evidence"):
            collection = self._main if item.embedded else self._words_collection()
            collection.update(ids=[item.publication.id], metadatas=[_row(item)])

    def remove_parts(self, id: str, parts: Sequence[int]) -> None:
        """Forget passages that a shorter content no longer has."""
        with translated("keep the evidence"):
            self._main.delete(ids=[_part_id(id, part) for part in parts])

    def nearest(
        self, vectors: Sequence[Vector], limit: int, where: Mapping[str, Any] | None = None
    ) -> list[list[NearPassage]]:
        """For each vector, at most `limit` passages, nearest first."""
        with translated("search the session"):
            found = self._main.query(
                query_embeddings=np.asarray(vectors, np.float32),
                n_results=limit,
                where=dict(where) if where else None,
                include=["distances"],
            )
        return [
            [_near(part_id, distance) for part_id, distance in zip(ids, distances, strict=True)]
            for ids, distances in zip(found["ids"], found["distances"] or [], strict=True)
        ]

    def vectors(self, parts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        """The vectors (passages x dimensions) of evidence with that many passages, by id. They stay in memory."""
        ids = [
            _part_id(id, part)
            for id, count in parts.items()
            if id not in self._seen or len(self._seen[id]) < count
            for part in range(count)
        ]
        if ids:
            with translated("read the session"):
                found = self._main.get(ids=ids, include=["embeddings"])
            embeddings = found["embeddings"]
            self._seen.update(_stacked(found["ids"], np.asarray([] if embeddings is None else embeddings, np.float32)))
        return {id: self._seen[id][:count] for id, count in parts.items() if id in self._seen}

    def forget_vectors(self, ids: Iterable[str]) -> None:
        """Read these vectors again when they are asked for: another process may have changed them."""
        for id in ids:
            self._seen.pop(id, None)

    def touch(self, now: float) -> None:
        """Write down when the session was last used."""
        self.info = SessionInfo(self.info.owner, self.info.model, now)
        with translated("keep the session"):
            self._main.modify(metadata=_metadata(self.info))

    def delete(self) -> None:
        """Delete the session with all its evidence."""
        with translated("delete the session"):
            for name in (self.session_id + WORDS, self.session_id):
                with contextlib.suppress(NotFoundError):
                    self._client.delete_collection(name)

    @property
    def _main(self) -> Collection:
        if self._vectors is None:
            raise SessionNotFoundError()
        return self._vectors

    def _create(self, name: str) -> Collection:
        return self._client.create_collection(
            name,
            configuration={"hnsw": _HNSW},
            metadata=_metadata(self.info),
            embedding_function=None,
            get_or_create=True,
        )

    def _words_collection(self) -> Collection:
        if self._words is None:
            self._words = self._create(self.session_id + WORDS)
        return self._words

    def _put_vectors_aside(self, old: Collection) -> None:
        """Vectors of two models never meet: what another model embedded is found by its words until it is embedded
        again. Interrupted at any point, this starts again with nothing lost."""
        for items in list(self._pages(old, embedded=False)):
            self.write([Record(item.publication, item.order, item.written, item.similar) for item in items])
        self._client.delete_collection(self.session_id)
        self._vectors = self._create(self.session_id)


def _near(part_id: str, distance: float) -> NearPassage:
    id, _, part = part_id.partition(_PART)
    return NearPassage(id, int(part or 0), 1.0 - distance)


def _find(client: Client, name: str) -> Collection | None:
    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _metadata(info: SessionInfo) -> dict[str, Any]:
    return {"owner": info.owner, "model": info.model, "used": info.used, "format": FORMAT}


def _info(metadata: Mapping[str, Any] | None) -> SessionInfo:
    row = metadata or {}
    return SessionInfo(str(row.get("owner", "")), str(row.get("model", "")), float(row.get("used", 0.0)))


def _part_id(id: str, part: int) -> str:
    return f"{id}{_PART}{part}" if part else id


def _row(item: KeptItem) -> Metadata:
    return {
        "source": item.publication.source,
        "order": item.order,
        "parts": item.parts,
        "written": item.written,
        "similar": "\n".join(item.similar),
        "publication": dumped(item.publication),
        **UNREADABLE,
    }


def _rows(records: Sequence[Record]) -> tuple[list[str], NDArray[np.float32], list[Metadata]]:
    ids: list[str] = []
    vectors: list[Vector] = []
    rows: list[Metadata] = []
    for record in records:
        count = max(len(record.vectors), 1)
        ids += [_part_id(record.publication.id, part) for part in range(count)]
        vectors += record.vectors
        item = KeptItem(record.publication, record.order, count, bool(record.vectors), record.written, record.similar)
        rows.append(_row(item))
        rows += [{"source": record.publication.source}] * (count - 1)
    return ids, np.asarray(vectors, np.float32), rows


def _stacked(ids: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """The vectors of each piece of evidence, passage by passage, out of those of all passages in any order."""
    rows: dict[str, dict[int, NDArray[np.float32]]] = {}
    for part_id, vector in zip(ids, vectors, strict=True):
        id, _, part = part_id.partition(_PART)
        rows.setdefault(id, {})[int(part or 0)] = vector
    return {id: np.stack([some[part] for part in sorted(some)]) for id, some in rows.items()}


def _kept(row: Mapping[str, Any], embedded: bool) -> KeptItem:
    return KeptItem(
        publication=restored(row["publication"]),
        order=int(row["order"]),
        parts=int(row["parts"]),
        embedded=embedded,
        written=int(row["written"]),
        similar=tuple(filter(None, str(row.get("similar", "")).split("\n"))),
    )


def connect(
    host: str, port: int, settings: ChromaSettings, *, ssl: bool, timeout: float
) -> tuple[Client, Callable[[], None]]:
    """A client of a Chroma server that waits at most `timeout` seconds for each answer, and what closes it.

    Raises:
        EvidenceStoreError: the server does not answer.
    """
    with translated("reach its server"):
        client = cast("Client", chromadb.HttpClient(host, port, ssl=ssl, settings=settings))
    # Chroma's own client, and the other one inside it, wait for ever and leave their connections open when closed.
    parts: list[object] = [client, getattr(client, "_admin_client", None)]
    sessions = [getattr(getattr(part, "_server", None), "_session", None) for part in parts]
    http = [session for session in sessions if isinstance(session, httpx.Client)]
    for session in http:
        session.timeout = httpx.Timeout(timeout)

    def close() -> None:
        client.close()
        for session in http:
            session.close()

    return client, close


def check(client: Client) -> None:
    """Return if the server answers.

    Raises:
        EvidenceStoreError: it does not.
    """
    with translated("reach its server"):
        client.heartbeat()


def delete_unused(client: Client, since: float) -> None:
    """Delete a server's sessions that were last used before `since`."""
    with translated("delete old sessions"):
        names: list[str] = []
        while page := client.list_collections(limit=PAGE, offset=len(names)):
            names += [collection.name if _is_unused(collection, since) else "" for collection in page]
        for name in filter(None, names):
            with contextlib.suppress(NotFoundError):
                client.delete_collection(name)


def _is_unused(collection: Collection, since: float) -> bool:
    name = collection.name.removesuffix(WORDS)
    return is_session_id(name) and 0 < _info(collection.metadata).used < since
