"""Adding to a session: what is new is embedded, written in batches, and what is long is indexed in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.errors import SessionFullError
from deepcritical_mcp.evidence.adding import AddOutcome, Batch, Decision, NewPublication, outcomes_of
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.indexing import Indexing
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.rows import KeptItem, Vector, now
from deepcritical_mcp.models import UNKNOWN_DATE, Publication

EMBEDDED_AT_ONCE = 64
"""Publications, and passages of long texts, that a call embeds before it goes on; the rest is embedded in the
background."""

T = TypeVar("T")
Write = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Does blocking work in a worker thread."""


class Writer:
    """What adds to one session.

    Args:
        embedder: the session's.
        indexing: the session's.
        write: does blocking work in a worker thread.
        turn: held while a batch is written.
        batch: publications per write.
        max_evidence: publications that the session may have.
        dedup_threshold: see `Settings`.
    """

    def __init__(
        self,
        embedder: PassageEmbedder,
        indexing: Indexing,
        write: Write,
        turn: anyio.Lock,
        *,
        batch: int,
        max_evidence: int,
        dedup_threshold: float | None,
    ) -> None:
        self._embedder = embedder
        self._indexing = indexing
        self._write = write
        self._turn = turn
        self._batch = batch
        self._max_evidence = max_evidence
        self._dedup_threshold = dedup_threshold

    async def add(
        self, publications: Sequence[Publication], space: Space, catalogue: Catalogue
    ) -> tuple[AddOutcome, ...]:
        """See `EvidenceStore.add_evidence`."""
        decisions: list[Decision] = []
        room = EMBEDDED_AT_ONCE
        for block in batches(publications, EMBEDDED_AT_ONCE):
            vectors = await self._vectors_of_unknown(block, catalogue, room)
            room = max(0, room - sum(len(some) - 1 for some in vectors if some))
            for rows in batches(list(zip(block, vectors, strict=True)), self._batch):
                decisions += await self._add_batch(space, catalogue, [NewPublication(*row) for row in rows])
        outcomes = outcomes_of(decisions, catalogue)
        await self._index({outcome.publication.id for outcome in outcomes}, space, catalogue)
        if left_out := sum(decision.full for decision in decisions):
            raise self._full(outcomes, left_out)
        return outcomes

    async def set_statuses(self, publications: Sequence[Publication], space: Space, catalogue: Catalogue) -> None:
        """See `EvidenceStore.set_statuses`."""

        def write(some: Sequence[Publication]) -> None:
            for one in some:
                if id := catalogue.resolve(one.id):
                    catalogue.put(_with_status(catalogue[id], one))
                    space.rewrite(catalogue[id])

        for some in batches(publications, self._batch):
            async with self._turn:
                await self._write(lambda some=some: write(some))

    async def _add_batch(self, space: Space, catalogue: Catalogue, new: Sequence[NewPublication]) -> Sequence[Decision]:
        batch = Batch(
            space,
            catalogue,
            calibration=self._embedder.calibration,
            max_evidence=self._max_evidence,
            dedup_threshold=self._dedup_threshold,
        )
        async with self._turn:
            decisions: Sequence[Decision] = await self._write(lambda: batch.add(new))
            if batch.changed:
                await self._embed_again([catalogue[id].publication for id in sorted(batch.changed)], space, catalogue)
                await self._write(batch.link_changed)
        return decisions

    async def _vectors_of_unknown(
        self, publications: Sequence[Publication], catalogue: Catalogue, room: int
    ) -> list[Sequence[Vector]]:
        known = await run_sync(identified, catalogue, publications, abandon_on_cancel=True)
        unknown = [publication for publication, id in zip(publications, known, strict=True) if not id]
        embedded = iter(await self._embedder.publications(unknown, room))
        return [() if id else next(embedded) for id in known]

    async def _embed_again(self, publications: Sequence[Publication], space: Space, catalogue: Catalogue) -> None:
        """Embed the current texts of stored publications, of long ones the first passages; without a model, their old
        vectors stay."""
        vectors = await self._embedder.publications(publications)
        rows = [(one, some) for one, some in zip(publications, vectors, strict=True) if some]
        for some in batches(rows, self._batch):
            await self._write(lambda some=some: catalogue.embed_again(space, some))

    async def _index(self, ids: set[str], space: Space, catalogue: Catalogue) -> None:
        """Embed what these publications still lack: few passages now, more in the background."""
        lacking = [id for id in catalogue.waiting() if id in ids]
        count = sum(len(row.passages) for row in catalogue.missing(lacking, EMBEDDED_AT_ONCE + 1))
        if 0 < count <= EMBEDDED_AT_ONCE and not self._embedder.failure:
            await self._indexing.complete(lacking, (space, catalogue))
        if lacking:
            self._indexing.start(catalogue)

    def _full(self, outcomes: Sequence[AddOutcome], left_out: int) -> SessionFullError:
        added = [outcome.publication.id for outcome in outcomes if outcome.status == "added"]
        return SessionFullError(
            f"The session is full: it holds {self._max_evidence:,} items. {len(added)} new items from this call were "
            f'kept, {left_out} were not. Pass session_id="new" to continue in a fresh session.',
            details={"kept": added, "left_out": left_out},
        )


def _with_status(item: KeptItem, current: Publication) -> KeptItem:
    """The item with that status. Of what it was merged from, only the latest is said to have been checked, since that
    one describes it best."""
    status = {"status": current.status, "status_notices": current.status_notices}
    checked = {"status_checked": current.status_checked}
    latest = max((one.status_checked for one in item.given if one.status_checked != UNKNOWN_DATE), default="")
    given = tuple(
        one if one.is_users else one.model_copy(update=status | (checked if one.status_checked == latest else {}))
        for one in item.given
    )
    publication = item.publication.model_copy(update=status | checked)
    return replace(item, publication=publication, given=given, written=now())


def identified(catalogue: Catalogue, publications: Sequence[Publication]) -> list[str]:
    """See `EvidenceStore.known`."""
    places = map(catalogue.place, publications)
    return [place.match.id if place.match else "" for place in places]


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """`items`, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
