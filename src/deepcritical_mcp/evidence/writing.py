"""Adding to a session: what is new is embedded, written in batches, and what is long is indexed in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.errors import SessionFullError
from deepcritical_mcp.evidence.adding import AddOutcome, Batch, Decision, NewPublication, outcomes_of
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.clustering import unlinked
from deepcritical_mcp.evidence.indexing import Indexing, embed_again, missing
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.removal import (
    RemovedItem,
    forget_removed,
    keep_removed,
    removed_items,
    to_restore,
    tombstone,
)
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, Vector, now
from deepcritical_mcp.models import Publication, ScreeningMark

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
        write: does blocking work in a worker thread, after `catalogue` has what other processes have written.
        turn: held while a batch is written.
        batch: publications per write.
        max_evidence: publications that the session may have.
        dedup_threshold: see `Settings`.
        shared: whether other processes may change the session.
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
        shared: bool,
    ) -> None:
        self._embedder = embedder
        self._indexing = indexing
        self._write = write
        self._turn = turn
        self._batch = batch
        self._max_evidence = max_evidence
        self._dedup_threshold = dedup_threshold
        self._shared = shared

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
        outcomes = await run_sync(outcomes_of, decisions, catalogue)
        await self._index({outcome.publication.id for outcome in outcomes}, space, catalogue)
        if left_out := sum(decision.full for decision in decisions):
            raise self._full(outcomes, left_out)
        return outcomes

    async def set_statuses(self, publications: Sequence[Publication], space: Space, catalogue: Catalogue) -> None:
        """See `EvidenceStore.set_statuses`."""

        def change(current: Publication) -> Iterator[tuple[KeptItem, KeptItem]]:
            if id := catalogue.resolve(current.id):
                yield catalogue[id], _with_status(catalogue[id], current)

        await self._change(publications, change, space, catalogue)

    async def decide(
        self, marks: Sequence[ScreeningMark], space: Space, catalogue: Catalogue
    ) -> list[tuple[Publication, Publication] | None]:
        """See `EvidenceStore.decide`."""
        found: list[tuple[Publication, Publication] | None] = []

        def change(mark: ScreeningMark) -> Iterator[tuple[KeptItem, KeptItem]]:
            id = catalogue.subject(mark.id)
            pair = (catalogue[id], _with_decision(catalogue[id], mark)) if id else None
            found.append((pair[0].publication, pair[1].publication) if pair else None)
            if pair:
                yield pair

        await self._change(marks, change, space, catalogue)
        return found

    async def remove(self, ids: Sequence[str], space: Space, catalogue: Catalogue) -> list[Publication]:
        """See `EvidenceStore.remove`."""

        def write() -> list[Publication]:
            resolved = [catalogue.resolve(id) for id in ids]
            known = list(dict.fromkeys(id for id in resolved if id))
            items, at = [catalogue[id] for id in known], now()
            ids_gone = [name for id in known for name in catalogue.names(id)]
            gone = [RemovedItem(one.publication.id, at, one.members) for one in items]
            if gone:
                keep_removed(space, [*removed_items(space), *gone])
            for item in items:
                space.remove_parts(item.publication.id, item.records)
                catalogue.remove(item.publication.id)
            linked = [unlinked(item, ids_gone) for item in catalogue.naming(ids_gone)]
            for item in linked:
                catalogue.put(item)
            if linked:
                space.rewrite(*linked)
            if self._shared and items:
                space.write([(tombstone(item), ()) for item in items])
            return [item.publication for item in items]

        async with self._turn:
            return await self._write(write)

    async def restore(self, ids: Collection[str], space: Space, catalogue: Catalogue) -> list[Publication]:
        """See `EvidenceStore.restore`."""
        chosen = to_restore(await run_sync(removed_items, space, abandon_on_cancel=True), ids)
        outcomes = await self.add([member for one in chosen for member in one.members], space, catalogue)
        if chosen:
            async with self._turn:
                await self._write(lambda: forget_removed(space, chosen))
        return list({outcome.publication.id: outcome.publication for outcome in outcomes}.values())

    async def _change(
        self,
        causes: Sequence[T],
        change: Callable[[T], Iterator[tuple[KeptItem, KeptItem]]],
        space: Space,
        catalogue: Catalogue,
    ) -> None:
        """Rewrite stored items, in batches: `change` gives an item before and after each cause. Their vectors stay."""

        def write(some: Sequence[T]) -> None:
            changed: dict[str, KeptItem] = {}
            for before, after in (pair for cause in some for pair in change(cause)):
                if after != before:
                    changed[after.publication.id] = replace(after, written=before.next_written)
                    catalogue.put(changed[after.publication.id])
            if changed:
                space.rewrite(*changed.values())

        for some in batches(causes, self._batch):
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
            # What is new and could not be embedded, e.g. because the model is busy, is not tried again while others
            # wait for this session: the background does that.
            changed = [id for id in sorted(batch.changed) if catalogue[id].embedded or not self._embedder.failure]
            if changed:
                await self._embed_again([catalogue[id].publication for id in changed], batch, space, catalogue)
        return decisions

    async def _vectors_of_unknown(
        self, publications: Sequence[Publication], catalogue: Catalogue, room: int
    ) -> list[Sequence[Vector]]:
        known = await run_sync(identified, catalogue, publications, abandon_on_cancel=True)
        unknown = [publication for publication, id in zip(publications, known, strict=True) if not id]
        embedded = iter(await self._embedder.publications(unknown, room))
        return [() if id else next(embedded) for id in known]

    async def _embed_again(
        self, publications: Sequence[Publication], batch: Batch, space: Space, catalogue: Catalogue
    ) -> None:
        """Embed the current texts of stored publications, of long ones the first passages; without a model, their old
        vectors stay."""
        vectors = await self._embedder.publications(publications)
        rows = [(one, some) for one, some in zip(publications, vectors, strict=True) if some]

        def write(some: Sequence[tuple[Publication, Sequence[Vector]]]) -> None:
            embed_again(catalogue, space, some)
            batch.link(publication.id for publication, _ in some)

        for some in batches(rows, self._batch):
            await self._write(lambda some=some: write(some))

    async def _index(self, ids: set[str], space: Space, catalogue: Catalogue) -> None:
        """Embed what these publications still lack: few passages now, more in the background."""
        lacking = [id for id in catalogue.waiting() if id in ids]
        count = sum(len(row.passages) for row in missing(catalogue, lacking, EMBEDDED_AT_ONCE + 1))
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
    """The item with that status. Of the descriptions that it was merged from, only the latest is marked as checked,
    since that one describes it best."""
    status, day, notices = current.status, current.status_checked, {"status_notices": current.status_notices}
    latest = max((one.status_checked for one in item.given), default="")
    given = tuple(
        one
        if one.is_users
        else one.with_status(status, day if one.status_checked == latest else one.status_checked, **notices)
        for one in item.given
    )
    return replace(item, publication=item.publication.with_status(status, day, **notices), given=given)


def _with_decision(item: KeptItem, mark: ScreeningMark) -> KeptItem:
    """The item with that decision, in all that it was merged from: these may turn out to be several publications."""
    if not (changes := mark.changes(item.publication)):
        return item
    given = tuple(one.model_copy(update=changes) for one in item.given)
    return replace(item, publication=item.publication.model_copy(update=changes), given=given)


def identified(catalogue: Catalogue, publications: Sequence[Publication]) -> list[str]:
    """See `EvidenceStore.known`."""
    places = map(catalogue.place, publications)
    return [place.match.id if place.match else "" for place in places]


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """`items`, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
