"""What a session holds without vectors (long texts, and what was kept without a model), and the work in the background
that embeds it."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import anyio
import anyio.lowlevel
from anyio.to_thread import run_sync

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.adding import Batch
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import Passage
from deepcritical_mcp.evidence.session_access import SessionAccess
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, Vector
from deepcritical_mcp.evidence.text_index import has_other_texts
from deepcritical_mcp.models import Publication
from deepcritical_mcp.text import counted

logger = logging.getLogger(__name__)

INDEXED_AT_ONCE = 48
"""Passages that are embedded in one turn: between turns, other calls get the model, and the session is written."""
MAX_NAMED = 3
"""Papers named in warnings."""


class Missing(NamedTuple):
    """Passages of a publication, from number `start` on, that have no vectors yet."""

    publication: Publication
    start: int
    passages: Sequence[Passage]


def missing(catalogue: Catalogue, ids: Iterable[str], limit: int) -> list[Missing]:
    """The next passages of these ids that have no vectors yet, about `limit` in all."""
    found: list[Missing] = []
    for id in ids:
        if limit > 0 and id in catalogue:
            item = catalogue[id]
            start = item.vector_count
            if some := catalogue.layout(id).passages[start : start + limit]:
                found.append(Missing(item.publication, start, some))
                limit -= len(some)
    return found


def store_vectors(
    catalogue: Catalogue, space: Space, rows: Iterable[tuple[Publication, int, Sequence[Vector]]]
) -> None:
    """Store vectors of publications, those of their passages from a number on; those of texts that have changed
    meanwhile, or that are stored already, are dropped."""
    whole: list[tuple[KeptItem, Sequence[Vector]]] = []
    for publication, start, vectors in rows:
        if publication.id not in catalogue or has_other_texts(catalogue[publication.id].publication, publication):
            continue
        item = catalogue[publication.id]
        longer = replace(item, parts=start + len(vectors), embedded=True)
        if not start and item.vector_count < len(vectors):
            whole.append((replace(longer, written=item.next_written), vectors))
        elif start and item.vector_count == start:
            longer = replace(longer, progressed=item.next_written)
            space.extend(longer, vectors)
            catalogue.put(longer)
    if whole:
        space.write(whole)
        for item, _ in whole:
            catalogue.put(item)


class IndexedSession(SessionAccess):
    """A session with a task in the background that runs as long as anything lacks a vector.

    A failure is logged and ends it; the next call that needs the vectors starts it again.
    """

    async def settle(self, *, to_stay: bool) -> None:
        """End the background work, before the space is closed, or deleted unless it is `to_stay`."""
        if self._indexing is not None and not self._indexing.done():
            self._indexing.cancel()
            await asyncio.wait({self._indexing})
            await run_sync(_released, self._mutex)  # what it has begun in a thread has ended
        self._indexing = None
        if to_stay:
            await self.keep_index()

    def _start_indexing(self, catalogue: Catalogue) -> None:
        """Start the task if something lacks a vector and there is a model; it outlives the call."""
        is_running = self._indexing is not None and not self._indexing.done()
        if not is_running and catalogue.waiting() and not self._embedder.failure:
            self._indexing = asyncio.get_running_loop().create_task(self._index_all())

    async def _wait_for_index(self, seconds: float) -> None:
        """Wait until everything has been embedded, at most that long."""
        if self._indexing is not None:
            with anyio.move_on_after(seconds):
                await asyncio.wait({self._indexing})

    async def _wait_for(self, id: str, catalogue: Catalogue, seconds: float) -> None:
        """Wait until this publication has been embedded, before anything else, at most that long."""
        self._first = id
        self._start_indexing(catalogue)
        with anyio.move_on_after(seconds):
            while self._indexing is not None and not self._indexing.done() and id in catalogue.waiting():
                async with self._indexing_turn:  # the task's next turn comes after this one
                    await anyio.lowlevel.checkpoint()

    async def _complete(self, ids: Collection[str], space: Space, catalogue: Catalogue) -> None:
        """Embed what these publications lack, before anything else."""
        while await self._index_more(ids, space, catalogue):
            pass

    async def _index_all(self) -> None:
        try:
            async with self._session() as (space, catalogue):
                while waiting := catalogue.waiting():
                    waiting.sort(key=self._first.__ne__)
                    if not await self._index_more(waiting, space, catalogue):
                        break
        except DeepCriticalError as error:
            logger.warning("a session is not indexed further for now: %s", error.message)

    async def _index_more(self, ids: Collection[str], space: Space, catalogue: Catalogue) -> bool:
        """Embed the next passages of these publications; False if nothing is left, or without a model."""
        async with self._indexing_turn:
            rows = await run_sync(missing, catalogue, ids, INDEXED_AT_ONCE, abandon_on_cancel=True)
            texts = [passage.content for row in rows for passage in row.passages]
            vectors = await self._embedder.sentences(texts) if texts else None
            if vectors is None:
                return False
            found = iter(vectors)
            embedded = [(one, start, [next(found) for _ in passages]) for one, start, passages in rows]

            def write(some: Sequence[tuple[Publication, int, Sequence[Vector]]]) -> None:
                store_vectors(catalogue, space, some)
                batch = Batch(space, catalogue, calibration=self._embedder.calibration)
                batch.link(publication.id for publication, start, _ in some if not start)

            for start in range(0, len(embedded), self._batch):
                await self._write_alone(lambda some=embedded[start : start + self._batch]: write(some))
            return True


def unfinished(catalogue: Catalogue, ids: Collection[str] | None = None) -> list[str]:
    """Warnings about what is not indexed yet: "pubmed:1~2: 40 of 96 passages are still being indexed."; if there
    are `ids`, only about these publications."""
    rows = missing(catalogue, catalogue.waiting(), sys.maxsize)
    rows = [row for row in rows if ids is None or row.publication.id in ids]
    long = [row for row in rows if catalogue.layout(row.publication.id).has_long_texts]
    more = counted(len(long) - MAX_NAMED, "more paper is", "more papers are")
    short = counted(len(rows) - len(long), "item is", "items are")
    return [
        *(line for row in long[:MAX_NAMED] for line in _progress(row, catalogue)),
        *([f"{more} still being indexed."] if len(long) > MAX_NAMED else []),
        *([f"{short} found by words only until embedded again."] if len(long) < len(rows) else []),
    ]


def _progress(row: Missing, catalogue: Catalogue) -> Iterator[str]:
    end = 0
    for _, group in groupby(catalogue.layout(row.publication.id).passages, key=lambda one: id(one.text)):
        text, *others = (one.text for one in group)
        total = 1 + len(others)
        end += total
        if text.parts and end > row.start:
            left = min(total, end - row.start)
            yield f"{row.publication.id_of(text)}: {left} of {total} passages are still being indexed."


def _released(lock: threading.RLock) -> None:
    with lock:
        pass
