"""The evidence of one session: added once, found again by meaning and by words."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.errors import DeepCriticalError, EmbeddingError, SessionFullError, SessionNotFoundError
from deepcritical_mcp.models import Evidence, RelatedEvidence, Source
from deepcritical_mcp.text import cut_at_sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deepcritical_mcp.evidence.catalogue import Catalogue
    from deepcritical_mcp.evidence.storage.rows import Vector
    from deepcritical_mcp.evidence.storage.space import Space

EMBEDDED_AT_ONCE = 64
READ_AT_ONCE = 200
RELATED_FROM = 0.3
"""Least similarity of related evidence: where relevant pairs begin."""
SNIPPET_LENGTH = 240
QUIET = 10_000
CLOCKS_DIFFER = 2_000
"""Milliseconds."""

T = TypeVar("T")


class Embedder(Protocol):
    """What the store needs of `EmbeddingService`."""

    @property
    def name(self) -> str:
        """Names the model: vectors of two models are never compared."""
        ...

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, [texts, dimension]; raises EmbeddingError."""
        ...

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of queries, [texts, dimension]; raises EmbeddingError."""
        ...


@dataclass(frozen=True)
class AddOutcome:
    """What became of one piece of evidence.

    Attributes:
        index: its place in the call.
        status: "added", or "duplicate" of what is kept.
        evidence: as it is kept now, under the id that counts from now on.
        similarity: how alike the duplicate and the kept one are, 1.0 for the same identity; 0.0 when added.
        reason: why it is a duplicate, e.g. "same PMID"; "" when added.
        folds: kept pieces that say nearly the same, with their cosines.
    """

    index: int
    status: Literal["added", "duplicate"]
    evidence: Evidence
    similarity: float = 0.0
    reason: str = ""
    folds: tuple[tuple[str, float], ...] = ()


class EvidenceStore:
    """One session's evidence; `SessionRegistry` makes it.

    Every method opens the session when it is not open, and raises SessionNotFoundError once it has been dropped and
    EvidenceStoreError when it cannot be read or written; what was acknowledged before stays kept.
    """

    def __init__(
        self,
        session_id: str,
        embedder: Embedder,
        open_session: Callable[[EvidenceStore], Awaitable[None]],
        *,
        batch: int,
        shared: bool,
        max_evidence: int,
        dedup_threshold: float | None = None,
    ) -> None:
        self.session_id = session_id
        self._embedder = embedder
        self._open_session = open_session
        self._batch = batch
        self._shared = shared
        self._max_evidence = max_evidence
        self._dedup_threshold = dedup_threshold
        self._space: Space | None = None
        self._catalogue: Catalogue | None = None
        self._opening = anyio.Lock()
        self._writing = anyio.Lock()
        self._mutex = threading.Lock()
        self._users = 0
        self._lost = False
        self._model_error = ""

    @property
    def busy(self) -> bool:
        """Whether a call is using the session now."""
        return self._users > 0

    @property
    def size(self) -> int:
        """Pieces of evidence, as far as they have been counted: 0 before the first call."""
        return len(self._catalogue) if self._catalogue is not None else 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What answers from this session must say about themselves."""
        if self._model_error:
            return (
                f"{self._model_error} Evidence is found by its words alone, and relevance counts the words shared "
                "with the query, not the meaning.",
            )
        waiting = len(self._catalogue.waiting()) if self._catalogue is not None else 0
        if waiting:
            return (
                f"{waiting} pieces of evidence are found by their words alone until they have been embedded again.",
            )
        return ()

    async def add_evidence(self, evidence: Sequence[Evidence]) -> tuple[AddOutcome, ...]:
        """Keep what is new, complete what is known already by what the new piece knows; one outcome for each, in order.

        Cancelled, it leaves each piece whole or not at all.

        Raises:
            SessionFullError: not all fitted; those that did are kept, and `details["kept"]` holds their ids.
        """
        outcomes: list[AddOutcome] = []
        left_out = 0
        async with self._session() as (space, catalogue):
            for block in _batches(list(enumerate(evidence)), EMBEDDED_AT_ONCE):
                vectors = await self._vectors_of_unknown([piece for _, piece in block], catalogue)
                for rows in _batches(list(zip(block, vectors, strict=True)), self._batch):
                    added, full = await self._add_batch(space, catalogue, rows)
                    outcomes += added
                    left_out += full
        if left_out:
            raise self._full(outcomes, left_out)
        return tuple(outcomes)

    async def search_similar(
        self,
        query: str,
        *,
        variants: Sequence[str] = (),
        max_results: int = 5,
        source: Source | Literal["any"] = "any",
        min_relevance: float = 0.0,
    ) -> list[Evidence]:
        """The evidence that answers `query` best, by meaning and by words, best first.

        `variants` are other wordings of the same question. `relevance` is the cosine of the best passage to `query`,
        in 0..1. Of pieces that say nearly the same only the best is returned; its `similar` names the others.
        """
        from deepcritical_mcp.evidence.searching import Search

        async with self._session() as (space, catalogue):
            wordings = [query, *variants]
            vectors = await self._query_vectors(wordings)
            await self._embed_waiting(space, catalogue)
            search = Search(space, catalogue, None if source == "any" else source)
            return await run_sync(search.best, wordings, vectors, max_results, min_relevance, abandon_on_cancel=True)

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        """Up to `limit` pieces close in meaning to `query`, closest first, other than `exclude` and what says nearly
        the same as one of those."""
        from deepcritical_mcp.evidence.searching import Search

        async with self._session() as (space, catalogue):
            vectors = await self._query_vectors([query])
            search = Search(space, catalogue)
            found = await run_sync(search.closest, query, vectors, exclude, limit, RELATED_FROM, abandon_on_cancel=True)
        return tuple(map(_related, found))

    async def relevance(self, query: str, evidence: Sequence[Evidence]) -> list[float]:
        """How relevant each piece is to `query`, 0..1, whether the session holds it or not."""
        from deepcritical_mcp.evidence.searching import Search, shared_words

        async with self._session() as (space, catalogue):
            vectors = await self._query_vectors([query])
            search = Search(space, catalogue)
            if vectors is None:
                return await run_sync(shared_words, query, evidence, abandon_on_cancel=True)
            missing = [piece for piece in evidence if not search.has_vectors(piece.id)]
            embedded = await self._embed(missing)
            return await run_sync(search.relevances, vectors[0], evidence, embedded, abandon_on_cancel=True)

    async def deduplicate(self, evidence: Sequence[Evidence], threshold: float = 0.9) -> list[Evidence]:
        """`evidence` without duplicates, in order: what is the same publication is merged into the first of it, and
        what is closer in meaning than `threshold` is dropped, unless it is known to be another publication or says
        the opposite. The session is neither asked nor changed."""
        from deepcritical_mcp.evidence.deduplication import without_duplicates

        vectors = await self._embed(evidence)
        return await run_sync(without_duplicates, evidence, vectors, threshold, abandon_on_cancel=True)

    async def get(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """The evidence of those ids that the session holds."""
        async with self._session() as (_, catalogue):
            found = await run_sync(catalogue.evidence, list(dict.fromkeys(ids)), abandon_on_cancel=True)
        return {piece.id: piece for piece in found}

    async def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """The vector of each piece's first passage, for those of the ids that the session holds and has embedded."""
        async with self._session() as (space, catalogue):
            found: dict[str, list[float]] = {}
            embedded = [id for id in dict.fromkeys(ids) if id in catalogue and catalogue[id].embedded]
            for some in _batches(embedded, READ_AT_ONCE):
                rows = await run_sync(space.vectors, dict.fromkeys(some, 1), abandon_on_cancel=True)
                found.update((id, vectors[0].tolist()) for id, vectors in rows.items())
            return found

    async def known(self, evidence: Sequence[Evidence]) -> list[str]:
        """For each piece the id under which the session holds that publication, "" when it does not."""
        async with self._session() as (_, catalogue):
            return await run_sync(_identify, catalogue, evidence, abandon_on_cancel=True)

    async def page(self, offset: int, limit: int) -> list[Evidence]:
        """At most `limit` pieces in the order of arrival, from `offset` on."""
        async with self._session() as (_, catalogue):
            ids = catalogue.ids()[offset : offset + limit]
            return await run_sync(catalogue.evidence, ids, abandon_on_cancel=True)

    async def count(self) -> int:
        """How many pieces the session holds."""
        async with self._session() as (_, catalogue):
            return len(catalogue)

    @property
    def lost(self) -> bool:
        """Whether the open session turned out to be gone."""
        return self._lost

    def attach(self, space: Space) -> None:
        """Use `space`, which is open, until `detach`."""
        self._space, self._catalogue, self._lost = space, None, False

    def detach(self) -> None:
        """Use the open space no longer; the next call asks for it again."""
        self._space = self._catalogue = None

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncGenerator[tuple[Space, Catalogue]]:
        self._users += 1
        try:
            if self._space is None or self._catalogue is None or self._lost:
                await self._open()
            space, catalogue = self._space, self._catalogue
            if space is None or catalogue is None:
                raise SessionNotFoundError()
            if self._shared:
                await run_sync(_catch_up, space, catalogue, abandon_on_cancel=True)
            yield space, catalogue
        except SessionNotFoundError:
            self._lost = True
            raise
        finally:
            self._users -= 1

    async def _open(self) -> None:
        async with self._opening:
            if self._space is None or self._lost:
                await self._open_session(self)
            space = self._space
            if space is not None and self._catalogue is None:
                self._catalogue = await run_sync(_read, space, abandon_on_cancel=True)

    async def _add_batch(
        self, space: Space, catalogue: Catalogue, rows: Sequence[tuple[tuple[int, Evidence], Sequence[Vector]]]
    ) -> tuple[list[AddOutcome], int]:
        from deepcritical_mcp.evidence.adding import Batch, NewPiece

        pieces = [NewPiece(piece, vectors) for (_, piece), vectors in rows]
        batch = Batch(space, catalogue, max_evidence=self._max_evidence, dedup_threshold=self._dedup_threshold)
        async with self._writing:
            decisions = await self._write(lambda: batch.add(pieces))
            latest = {decision.evidence.id: decision.evidence for decision in decisions}
            changed = {decision.evidence.id for decision in decisions if decision.changed}
            await self._embed_again([latest[id] for id in changed], space, catalogue)
        outcomes = [
            AddOutcome(
                index=index,
                status="duplicate" if decision.match else "added",
                evidence=decision.evidence.model_copy(
                    update={"relevance": piece.relevance, "similar": catalogue.links(decision.evidence.id)}
                ),
                similarity=decision.match.similarity if decision.match else 0.0,
                reason=decision.match.reason if decision.match else "",
                folds=decision.folds,
            )
            for ((index, piece), _), decision in zip(rows, decisions, strict=True)
            if not decision.full
        ]
        return outcomes, sum(decision.full for decision in decisions)

    async def _write(self, work: Callable[[], T]) -> T:
        """Do `work` in a worker thread, which goes on to its end when the call is cancelled; after a failure, what is
        kept is read again."""
        try:
            return await run_sync(self._alone, work, abandon_on_cancel=True)
        except DeepCriticalError:
            self._catalogue = None
            raise

    def _alone(self, work: Callable[[], T]) -> T:
        with self._mutex:  # the work of a cancelled call may not have ended yet
            return work()

    async def _query_vectors(self, queries: Sequence[str]) -> NDArray[np.float32] | None:
        """The queries' vectors, None without a model."""
        try:
            vectors = await self._embedder.query_vectors(queries)
        except EmbeddingError as error:
            self._model_error = error.message
            return None
        self._model_error = ""
        return vectors

    async def _embed(self, evidence: Sequence[Evidence]) -> list[Sequence[Vector]]:
        """The vectors of each piece's passages, none without a model."""
        texts = await run_sync(_passages, evidence, abandon_on_cancel=True)
        flat = [text for some in texts for text in some]
        if not flat:
            return [() for _ in evidence]
        try:
            vectors = iter(await self._embedder.vectors(flat))
        except EmbeddingError as error:
            self._model_error = error.message
            return [() for _ in evidence]
        self._model_error = ""
        return [[next(vectors) for _ in some] for some in texts]

    async def _vectors_of_unknown(self, evidence: Sequence[Evidence], catalogue: Catalogue) -> list[Sequence[Vector]]:
        known = await run_sync(_identify, catalogue, evidence, abandon_on_cancel=True)
        embedded = iter(await self._embed([piece for piece, id in zip(evidence, known, strict=True) if not id]))
        return [() if id else next(embedded) for id in known]

    async def _embed_waiting(self, space: Space, catalogue: Catalogue) -> None:
        """Embed some of what was kept without a model, or under another one."""
        waiting = [] if self._model_error else catalogue.waiting()[:EMBEDDED_AT_ONCE]
        if waiting:
            await self._embed_again([catalogue[id].evidence for id in waiting], space, catalogue)

    async def _embed_again(self, evidence: Sequence[Evidence], space: Space, catalogue: Catalogue) -> None:
        """Give kept evidence the vectors of its present text; without a model it keeps those it has."""
        vectors = await self._embed(evidence)
        rows = [(piece, some) for piece, some in zip(evidence, vectors, strict=True) if some]
        for batch in _batches(rows, self._batch):
            await self._write(lambda batch=batch: _replace(space, catalogue, batch))

    def _full(self, outcomes: Sequence[AddOutcome], left_out: int) -> SessionFullError:
        added = [outcome.evidence.id for outcome in outcomes if outcome.status == "added"]
        return SessionFullError(
            f"The session is full: it holds {self._max_evidence:,} pieces of evidence. {len(added)} of this call's new "
            f'ones were kept, {left_out} were not. Pass session_id="new" to go on in a fresh session.',
            details={"kept": added, "left_out": left_out},
        )


def _passages(evidence: Sequence[Evidence]) -> list[list[str]]:
    from deepcritical_mcp.evidence.chunking import passages

    return [passages(piece) for piece in evidence]


def _read(space: Space) -> Catalogue:
    from deepcritical_mcp.evidence.catalogue import Catalogue

    return Catalogue.of(item for page in space.read() for item in page)


def _catch_up(space: Space, catalogue: Catalogue) -> None:
    """Enter what other processes have written since the last look."""
    from deepcritical_mcp.evidence.storage.rows import now

    # Their clocks may be a little behind, as long as anybody is writing.
    since = catalogue.latest + 1 if now() - catalogue.latest > QUIET else catalogue.latest - CLOCKS_DIFFER
    for items in space.read(since=max(since, 1)):
        space.forget_vectors(catalogue.update(items))


def _identify(catalogue: Catalogue, evidence: Sequence[Evidence]) -> list[str]:
    from deepcritical_mcp.evidence.identity import identity_of

    matches = [catalogue.match(identity_of(piece), lambda _: 0.0) for piece in evidence]
    return [match.id if match else "" for match in matches]


def _replace(space: Space, catalogue: Catalogue, rows: Sequence[tuple[Evidence, Sequence[Vector]]]) -> None:
    from deepcritical_mcp.evidence.storage.rows import KeptItem, Record, now

    entries, written = [catalogue[piece.id] for piece, _ in rows], now()
    space.write([Record(piece, entry.order, written, some) for (piece, some), entry in zip(rows, entries, strict=True)])
    for (piece, some), entry in zip(rows, entries, strict=True):
        if entry.embedded and entry.parts > len(some):
            space.remove_parts(piece.id, range(len(some), entry.parts))
        catalogue.put(KeptItem(piece, entry.order, len(some), True, written))


def _related(piece: Evidence) -> RelatedEvidence:
    return RelatedEvidence(
        id=piece.id,
        title=_marked_title(piece),
        url=piece.citation.url,
        snippet=cut_at_sentence(piece.content, SNIPPET_LENGTH),
        relevance=piece.relevance,
    )


def _marked_title(piece: Evidence) -> str:
    """The title, after the paper's status where that is not "ok": a reader must not see one without the other."""
    status = piece.citation.status
    return piece.citation.title if status == "ok" else f"{status.upper()}: {piece.citation.title}"


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
