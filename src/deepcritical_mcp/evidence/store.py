"""The evidence of one session: added once, found again by meaning and by words."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.errors import DeepCriticalError, SessionFullError, SessionNotFoundError
from deepcritical_mcp.evidence.adding import Batch, Decision, NewPiece
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.catalogue_in_step import catalogue_of, catch_up, replace
from deepcritical_mcp.evidence.deduplication import without_duplicates
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import identity_of
from deepcritical_mcp.evidence.passage_embedder import Embedder, PassageEmbedder
from deepcritical_mcp.evidence.projection import Point, project
from deepcritical_mcp.evidence.scope import EVERYTHING, Scope
from deepcritical_mcp.evidence.searching import Found, Search, related_evidence, shared_words
from deepcritical_mcp.evidence.sentence_ranking import best_answers, by_part, score_sentences, shortened
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.evidence.storage.space import Space
from deepcritical_mcp.models import Evidence, Publication, RelatedEvidence, Source

EMBEDDED_AT_ONCE = 64
READ_AT_ONCE = 200

T = TypeVar("T")


@dataclass(frozen=True)
class AddOutcome:
    """What became of one publication.

    Attributes:
        index: its place in the call.
        status: "added", or "duplicate" of what is kept.
        publication: as it is kept now, under the id that counts from now on.
        evidence: the same as clients see it.
        similarity: how alike the duplicate and the kept one are, 1.0 for the same identity; 0.0 when added.
        reason: why it is a duplicate, e.g. "same PMID"; "" when added.
        folds: ids of what says nearly the same, with their cosines.
    """

    index: int
    status: Literal["added", "duplicate"]
    publication: Publication
    evidence: Evidence
    similarity: float = 0.0
    reason: str = ""
    folds: tuple[tuple[str, float], ...] = ()


class EvidenceStore:
    """One session's evidence; created by `SessionRegistry`.

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
        self._embedder = PassageEmbedder(embedder)
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

    @property
    def busy(self) -> bool:
        """Whether a call is using the session now."""
        return self._users > 0

    @property
    def size(self) -> int:
        """How many publications it holds, as far as they have been counted: 0 before the first call."""
        return len(self._catalogue) if self._catalogue is not None else 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What answers from this session must say about themselves."""
        told = [self._embedder.warning] if self._embedder.warning else []
        waiting = len(self._catalogue.waiting()) if self._catalogue is not None and not self._embedder.failure else 0
        if waiting:
            told.append(f"{waiting} pieces of evidence are found by their words alone until they are embedded again.")
        return tuple(told)

    async def add_evidence(self, publications: Sequence[Publication]) -> tuple[AddOutcome, ...]:
        """Keep what is new, and complete what is known by what the new description knows; one outcome each, in order.

        When cancelled, it leaves each publication whole or not at all.

        Raises:
            SessionFullError: not all fitted; those that did are kept, and `details["kept"]` holds their ids.
        """
        outcomes: list[AddOutcome] = []
        left_out = 0
        async with self._session() as (space, catalogue):
            for block in _batches(list(enumerate(publications)), EMBEDDED_AT_ONCE):
                vectors = await self._vectors_of_unknown([publication for _, publication in block], catalogue)
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
        """The evidence that answers `query` best, by meaning and by words, best first; see `search`."""
        scope = Scope(source=None if source == "any" else source)
        found = await self.search(
            query, variants=variants, max_results=max_results, scope=scope, min_relevance=min_relevance
        )
        return list(found.evidence)

    async def search(
        self,
        query: str,
        *,
        variants: Sequence[str] = (),
        max_results: int = 5,
        scope: Scope = EVERYTHING,
        min_relevance: float = 0.0,
    ) -> Found:
        """The evidence in `scope` that answers `query` best, by meaning and by words.

        `variants` are other ways to put the same question. `relevance` is the cosine of the best passage to `query`,
        in 0..1. Of evidence that says nearly the same only the best is returned; its `similar` names the others.
        """
        async with self._session() as (space, catalogue):
            asked = [query, *variants]
            vectors = await self._embedder.queries(asked)
            await self._embed_waiting(space, catalogue)
            search = Search(space, catalogue, self.calibration, scope)
            return await run_sync(search.best, asked, vectors, max_results, min_relevance, abandon_on_cancel=True)

    async def passages(self, query: str, found: Found, length: int) -> tuple[Evidence, ...]:
        """The evidence of a search, each by the sentences that answer `query` best: about `length` characters,
        verbatim, with gaps marked."""
        briefs = await shortened(self._embedder, query, found.parts, length)
        return tuple(by_part(piece, brief) for piece, brief in zip(found.evidence, briefs, strict=True))

    async def answers(self, question: str, ids: Sequence[str], length: int) -> dict[str, Evidence]:
        """The evidence of those ids, each by the sentences that answer `question` ("" if none does)."""
        async with self._session() as (_, catalogue):
            kept = {id: catalogue.resolve(id) for id in dict.fromkeys(ids)}
            held = {id: catalogue[kept[id]].publication for id in kept if kept[id]}
            rows = [(id, text) for id, publication in held.items() for text in publication.texts]
            scores = await score_sentences(self._embedder, question, [text.content for _, text in rows])
            least = self.calibration.answers_from if self.calibration else math.inf
            briefs = best_answers([(id, text.content) for id, text in rows], scores, least, length)
            return {id: by_part(catalogue.shown(held[id], rows[at][1]), brief) for id, (at, brief) in briefs.items()}

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        """Up to `limit` pieces close in meaning to `query`, closest first, other than `exclude` and what says nearly
        the same as one of those; none where the model is not calibrated, since nobody knows what close means then."""
        async with self._session() as (space, catalogue):
            vectors = await self._embedder.queries([query])
            search = Search(space, catalogue, self.calibration)
            least = self.calibration.related_from if self.calibration else math.inf
            found = await run_sync(search.closest, query, vectors, exclude, limit, least, abandon_on_cancel=True)
        return tuple(map(related_evidence, found))

    async def relevance(self, query: str, publications: Sequence[Publication]) -> list[float]:
        """How relevant each publication is to `query`, 0..1, whether the session holds it or not."""
        async with self._session() as (space, catalogue):
            vectors = await self._embedder.queries([query])
            search = Search(space, catalogue, self.calibration)
            if vectors is None:
                return await run_sync(shared_words, query, publications, abandon_on_cancel=True)
            missing = [one for one in publications if not search.has_vectors(one.id)]
            embedded = await self._embedder.publications(missing)
            return await run_sync(search.relevances, vectors[0], publications, embedded, abandon_on_cancel=True)

    async def deduplicate(self, evidence: Sequence[Publication], threshold: float = 0.9) -> list[Publication]:
        """`evidence` without duplicates, in order: what is the same publication is merged into the first of it, and
        what is closer in meaning than `threshold` is dropped, unless it is known to be another publication or says
        the opposite. The session is neither read nor changed."""
        vectors = await self._embedder.publications(evidence)
        return await run_sync(
            without_duplicates, evidence, vectors, threshold, self.calibration, abandon_on_cancel=True
        )

    async def get(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """The evidence of those ids that the session holds; a PMID or DOI that became known later counts as an id."""
        async with self._session() as (_, catalogue):
            return await run_sync(_evidence, catalogue, ids, abandon_on_cancel=True)

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        """The publications of those ids that the session holds, with all their texts."""
        async with self._session() as (_, catalogue):
            kept = {id: catalogue.resolve(id) for id in dict.fromkeys(ids)}
            return {id: catalogue[kept[id]].publication for id in kept if kept[id]}

    async def places(self, ids: Sequence[str], *, limit: int) -> dict[str, Point]:
        """A map of those of `ids` that the session has embedded, of `limit` at most: each one's place by its id."""
        async with self._session() as (space, catalogue):
            embedded = [id for id in dict.fromkeys(ids) if id in catalogue and catalogue[id].embedded][:limit]
            found: dict[str, list[float]] = {}
            for some in _batches(embedded, READ_AT_ONCE):
                rows = await run_sync(space.vectors, dict.fromkeys(some, 1), abandon_on_cancel=True)
                found.update((id, vectors[0].tolist()) for id, vectors in rows.items())
            points = await run_sync(project, list(found.values()), abandon_on_cancel=True)
            return dict(zip(found, points, strict=True))

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        """For each publication the id under which the session holds it, "" when it does not."""
        async with self._session() as (_, catalogue):
            return await run_sync(_identify, catalogue, publications, abandon_on_cancel=True)

    async def page(self, offset: int, limit: int) -> list[Evidence]:
        """At most `limit` pieces in the order of arrival, from `offset` on."""
        async with self._session() as (_, catalogue):
            ids = catalogue.ids()[offset : offset + limit]
            return await run_sync(catalogue.evidence, ids, abandon_on_cancel=True)

    async def ids(self) -> list[str]:
        """All ids in the order of arrival."""
        async with self._session() as (_, catalogue):
            return catalogue.ids()

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

    @property
    def calibration(self) -> Calibration | None:
        """What was measured with the embedding model."""
        return self._embedder.calibration

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
                await run_sync(catch_up, space, catalogue, abandon_on_cancel=True)
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
                self._catalogue = await run_sync(catalogue_of, space, self.calibration, abandon_on_cancel=True)

    async def _add_batch(
        self, space: Space, catalogue: Catalogue, rows: Sequence[tuple[tuple[int, Publication], Sequence[Vector]]]
    ) -> tuple[list[AddOutcome], int]:
        pieces = [NewPiece(publication, vectors) for (_, publication), vectors in rows]
        batch = Batch(
            space,
            catalogue,
            calibration=self.calibration,
            max_evidence=self._max_evidence,
            dedup_threshold=self._dedup_threshold,
        )
        async with self._writing:
            decisions = await self._write(lambda: batch.add(pieces))
            latest = {decision.publication.id: decision.publication for decision in decisions}
            changed = {decision.publication.id for decision in decisions if decision.changed}
            await self._embed_again([latest[id] for id in changed], space, catalogue)
        outcomes = [
            _outcome(index, decision, catalogue)
            for ((index, _), _), decision in zip(rows, decisions, strict=True)
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

    async def _vectors_of_unknown(
        self, publications: Sequence[Publication], catalogue: Catalogue
    ) -> list[Sequence[Vector]]:
        known = await run_sync(_identify, catalogue, publications, abandon_on_cancel=True)
        unknown = [publication for publication, id in zip(publications, known, strict=True) if not id]
        embedded = iter(await self._embedder.publications(unknown))
        return [() if id else next(embedded) for id in known]

    async def _embed_waiting(self, space: Space, catalogue: Catalogue) -> None:
        """Embed some of what was kept without a model, or under another one."""
        waiting = [] if self._embedder.failure else catalogue.waiting()[:EMBEDDED_AT_ONCE]
        if waiting:
            await self._embed_again(catalogue.publications(waiting), space, catalogue)

    async def _embed_again(self, publications: Sequence[Publication], space: Space, catalogue: Catalogue) -> None:
        """Give kept publications the vectors of their present texts; without a model they keep those they have."""
        vectors = await self._embedder.publications(publications)
        rows = [(one, some) for one, some in zip(publications, vectors, strict=True) if some]
        for batch in _batches(rows, self._batch):
            await self._write(lambda batch=batch: replace(space, catalogue, batch))

    def _full(self, outcomes: Sequence[AddOutcome], left_out: int) -> SessionFullError:
        added = [outcome.publication.id for outcome in outcomes if outcome.status == "added"]
        return SessionFullError(
            f"The session is full: it holds {self._max_evidence:,} pieces of evidence. {len(added)} of this call's new "
            f'ones were kept, {left_out} were not. Pass session_id="new" to continue in a fresh session.',
            details={"kept": added, "left_out": left_out},
        )


def _outcome(index: int, decision: Decision, catalogue: Catalogue) -> AddOutcome:
    match = decision.match
    return AddOutcome(
        index=index,
        status="duplicate" if match else "added",
        publication=decision.publication,
        evidence=catalogue.shown(decision.publication),
        similarity=match.similarity if match else 0.0,
        reason=match.reason if match else "",
        folds=decision.folds,
    )


def _evidence(catalogue: Catalogue, ids: Sequence[str]) -> dict[str, Evidence]:
    kept = {id: catalogue.resolve(id) for id in dict.fromkeys(ids)}
    return {id: catalogue.shown(catalogue[kept[id]].publication) for id in kept if kept[id]}


def _identify(catalogue: Catalogue, publications: Sequence[Publication]) -> list[str]:
    matches = [catalogue.match(identity_of(publication), lambda _: 0.0) for publication in publications]
    return [match.id if match else "" for match in matches]


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
