"""Adding to a session: what is new is embedded, written in batches, and what is long is indexed in the background."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from anyio.to_thread import run_sync

from deepcritical_mcp.errors import SessionFullError
from deepcritical_mcp.evidence.adding import AddOutcome, Batch, Decision, NewPublication
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.removed_items import keep_removed, removed_items
from deepcritical_mcp.evidence.session_access import SessionAccess, batches
from deepcritical_mcp.evidence.storage.stored_items import KeptItem
from deepcritical_mcp.models import Publication, ScreeningMark

EMBEDDED_AT_ONCE = 64
"""Publications, and passages of long texts, that a call embeds before it goes on; the rest is embedded in the
background."""

T = TypeVar("T")


class WritableSession(SessionAccess):
    """A session that is added to, decided on and removed from."""

    async def add_evidence(self, publications: Sequence[Publication]) -> tuple[AddOutcome, ...]:
        """Add new publications, and merge known ones into what is stored; one outcome each, in order.

        If cancelled, each publication is either stored completely or not at all.

        Raises:
            SessionFullError: not all fit; `details["kept"]` holds the ids of those that were added.
        """
        async with self._session() as catalogue:
            return await self._add(publications, catalogue)

    async def set_statuses(self, publications: Sequence[Publication]) -> None:
        """Write the status of stored publications as these have it, and nothing else."""
        async with self._session() as catalogue:

            def change(current: Publication) -> Iterator[tuple[KeptItem, KeptItem]]:
                if id := catalogue.resolve(current.id):
                    yield catalogue[id], _with_status(catalogue[id], current)

            await self._change(publications, change, catalogue)

    async def decide(self, marks: Sequence[ScreeningMark]) -> list[tuple[Publication, Publication] | None]:
        """Write the user's decisions and tags, in order, and nothing else; those about a note hold for the publication
        that it is about. Gives each one's publication before and after it; None if the session does not have it."""
        found: list[tuple[Publication, Publication] | None] = []
        async with self._session() as catalogue:

            def change(mark: ScreeningMark) -> Iterator[tuple[KeptItem, KeptItem]]:
                id = catalogue.subject(mark.id)
                pair = (catalogue[id], _with_decision(catalogue[id], mark)) if id else None
                found.append((pair[0].publication, pair[1].publication) if pair else None)
                if pair:
                    yield pair

            await self._change(marks, change, catalogue)
        return found

    async def remove(self, ids: Sequence[str]) -> list[Publication]:
        """Remove the publications with these ids, with all their texts, and give them; `restore` brings them back."""
        async with self._session() as catalogue:

            def write() -> list[Publication]:
                known = list(dict.fromkeys(own for id in ids if (own := catalogue.resolve(id))))
                items, gone = [catalogue[id] for id in known], [name for id in known for name in catalogue.names(id)]
                if items:
                    keep_removed(catalogue.space, items)
                for id in known:
                    catalogue.remove(id)
                changed = [*(item.place for item in items), *catalogue.unlinked(gone)]
                for item in changed:
                    catalogue.put(item)
                if changed:
                    catalogue.space.write(changed, {})
                return [item.publication for item in items]

            return await self._write_alone(write)

    async def restore(self, ids: Collection[str] = ()) -> list[Publication]:
        """Bring back what was removed within a day under these ids; without ids, what was removed last."""
        async with self._session() as catalogue:
            chosen = await run_sync(removed_items, catalogue.space, ids, abandon_on_cancel=True)
            outcomes = await self._add([member for one in chosen.values() for member in one.members], catalogue)
            await self._write_alone(lambda: catalogue.space.keep_documents(dict.fromkeys(chosen, "")))
            return list({outcome.publication.id: outcome.publication for outcome in outcomes}.values())

    async def _add(self, publications: Sequence[Publication], catalogue: Catalogue) -> tuple[AddOutcome, ...]:
        decisions: list[Decision | None] = []
        room = EMBEDDED_AT_ONCE
        for block in batches(publications, EMBEDDED_AT_ONCE):
            known = await run_sync(identified, catalogue, block, abandon_on_cancel=True)
            unknown = [publication for publication, id in zip(block, known, strict=True) if not id]
            vectors = await self._embedder.publications(unknown, room)
            room = max(0, room - sum(len(some) - 1 for some in vectors if some))
            embedded = iter(vectors)
            new = [(one, () if id else next(embedded)) for one, id in zip(block, known, strict=True)]
            for rows in batches(new, self._batch):
                decisions += await self._add_batch(catalogue, rows)
        kept = [(index, decision) for index, decision in enumerate(decisions) if decision]
        outcomes = await run_sync(lambda: tuple(decision.outcome(index, catalogue) for index, decision in kept))
        await self._index({outcome.publication.id for outcome in outcomes}, catalogue)
        if left_out := len(decisions) - len(kept):
            raise self._full(outcomes, left_out)
        return outcomes

    async def _change(
        self, causes: Sequence[T], change: Callable[[T], Iterator[tuple[KeptItem, KeptItem]]], catalogue: Catalogue
    ) -> None:
        """Rewrite stored items, in batches: `change` gives an item before and after each cause. Their vectors stay."""

        def write(some: Sequence[T]) -> None:
            changed: dict[str, KeptItem] = {}
            for before, after in (pair for cause in some for pair in change(cause)):
                if after != before:
                    changed[after.id] = after
                    catalogue.put(after)
            if changed:
                catalogue.space.write([*changed.values()], {})

        for some in batches(causes, self._batch):
            await self._write_alone(partial(write, some))

    async def _add_batch(self, catalogue: Catalogue, new: Sequence[NewPublication]) -> Sequence[Decision | None]:
        batch = Batch(
            catalogue,
            calibration=self._embedder.calibration,
            max_evidence=self._max_evidence,
            dedup_threshold=self._dedup_threshold,
        )
        async with self._writing:
            decisions = await self._write(lambda: batch.add(new))
            # What could not be embedded, e.g. because the model is busy, is not tried again while others wait for this
            # session: the background does that.
            if batch.changed and not self._embedder.failure:
                changed = [catalogue[id].publication for id in sorted(batch.changed)]
                vectors = await self._embedder.publications(changed)
                rows = [(one, 0, some) for one, some in zip(changed, vectors, strict=True) if some]
                for some in batches(rows, self._batch):
                    await self._write(partial(batch.store_vectors, some))
        return decisions

    async def _index(self, ids: set[str], catalogue: Catalogue) -> None:
        """Embed what these publications still lack: few passages now, more in the background."""
        lacking = [id for id in catalogue.waiting() if id in ids]
        count = sum(len(passages) for *_, passages in catalogue.missing(lacking, EMBEDDED_AT_ONCE + 1))
        if 0 < count <= EMBEDDED_AT_ONCE and not self._embedder.failure:
            while await self._index_more(lacking, catalogue):
                pass
        if lacking:
            self._start_indexing(catalogue)

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
    return [catalogue.place(publication).match.id for publication in publications]
