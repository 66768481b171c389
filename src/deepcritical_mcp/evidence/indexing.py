"""What a session holds without vectors (long texts, and what was kept without a model), and the work in the background
that embeds it."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
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
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, Vector
from deepcritical_mcp.evidence.text_index import has_other_texts
from deepcritical_mcp.models import Publication
from deepcritical_mcp.text import counted


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


def extend(catalogue: Catalogue, space: Space, rows: Sequence[tuple[Missing, Sequence[Vector]]]) -> None:
    """Store the vectors of passages that were missing; those of texts that have changed meanwhile are dropped."""
    whole: list[tuple[KeptItem, Sequence[Vector]]] = []
    for (publication, start, _), vectors in rows:
        entry = _with_same_texts(catalogue, publication)
        if entry is None or entry.vector_count != start:
            continue
        item = replace(entry, parts=start + len(vectors), embedded=True)
        if start:
            item = replace(item, progressed=entry.next_written)
            space.extend(item, vectors)
            catalogue.put(item)
        else:
            whole.append((replace(item, written=entry.next_written), vectors))
    _write(catalogue, space, whole)


def embed_again(catalogue: Catalogue, space: Space, rows: Sequence[tuple[Publication, Sequence[Vector]]]) -> None:
    """Store the vectors of publications whose texts have changed; those of texts that have changed again meanwhile, or
    of which as many are stored already, are dropped."""
    entries = [(_with_same_texts(catalogue, publication), vectors) for publication, vectors in rows]
    whole = [
        (replace(entry, parts=len(vectors), embedded=True, written=entry.next_written), vectors)
        for entry, vectors in entries
        if entry is not None and entry.vector_count < len(vectors)
    ]
    _write(catalogue, space, whole)


def _write(catalogue: Catalogue, space: Space, rows: Sequence[tuple[KeptItem, Sequence[Vector]]]) -> None:
    if rows:
        space.write(rows)
        for item, _ in rows:
            catalogue.put(item)


def _with_same_texts(catalogue: Catalogue, publication: Publication) -> KeptItem | None:
    """The stored item with the id of `publication`; None if it is gone, or its texts have changed."""
    if publication.id not in catalogue:
        return None
    entry = catalogue[publication.id]
    return None if has_other_texts(entry.publication, publication) else entry


logger = logging.getLogger(__name__)

INDEXED_AT_ONCE = 48
"""Passages that are embedded in one turn: between turns, other calls get the model, and the session is written."""
MAX_NAMED = 3
"""Papers named in warnings."""

Held = tuple[Space, Catalogue]


class Indexing:
    """The background work of one session: a task that runs as long as anything lacks a vector.

    A failure is logged and ends it; the next call that needs the vectors starts it again.

    Args:
        embedder: the session's.
        batch: publications per write.
        session: opens the session for a call.
        write: does blocking work in a worker thread, alone.
    """

    def __init__(
        self,
        embedder: PassageEmbedder,
        *,
        batch: int,
        session: Callable[[], AbstractAsyncContextManager[Held]],
        write: Callable[[Callable[[], None]], Awaitable[None]],
    ) -> None:
        self._embedder = embedder
        self._batch = batch
        self._session = session
        self._write = write
        self._turn = anyio.Lock()
        self._first = ""
        self._task: asyncio.Task[None] | None = None

    def start(self, catalogue: Catalogue) -> None:
        """Start the task if something lacks a vector and there is a model; it outlives the call."""
        is_running = self._task is not None and not self._task.done()
        if not is_running and catalogue.waiting() and not self._embedder.failure:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait(self, seconds: float) -> None:
        """Wait until everything has been embedded, at most that long."""
        if self._task is not None:
            with anyio.move_on_after(seconds):
                await asyncio.wait({self._task})

    async def wait_for(self, id: str, catalogue: Catalogue, seconds: float) -> None:
        """Wait until this publication has been embedded, before anything else, at most that long."""
        self._first = id
        self.start(catalogue)
        with anyio.move_on_after(seconds):
            while self._task is not None and not self._task.done() and id in catalogue.waiting():
                async with self._turn:  # the task's next turn comes after this one
                    await anyio.lowlevel.checkpoint()

    async def stop(self, working: threading.RLock) -> None:
        """End the task, and wait for the work that it has begun in a thread, which holds `working`."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
            await run_sync(_released, working)
        self._task = None

    async def complete(self, ids: Collection[str], held: Held) -> None:
        """Embed what these publications lack, before anything else."""
        while await self._turn_for(ids, *held):
            pass

    async def _run(self) -> None:
        try:
            async with self._session() as (space, catalogue):
                while waiting := catalogue.waiting():
                    waiting.sort(key=self._first.__ne__)
                    if not await self._turn_for(waiting, space, catalogue):
                        break
        except DeepCriticalError as error:
            logger.warning("a session is not indexed further for now: %s", error.message)

    async def _turn_for(self, ids: Collection[str], space: Space, catalogue: Catalogue) -> bool:
        """Embed the next passages of these publications; False if nothing is left, or without a model."""
        async with self._turn:
            rows = await run_sync(missing, catalogue, ids, INDEXED_AT_ONCE, abandon_on_cancel=True)
            texts = [passage.content for row in rows for passage in row.passages]
            vectors = await self._embedder.sentences(texts) if texts else None
            if vectors is None:
                return False
            found = iter(vectors)
            embedded = [(row, [next(found) for _ in row.passages]) for row in rows]
            for start in range(0, len(embedded), self._batch):
                some = embedded[start : start + self._batch]
                await self._write(lambda some=some: self._keep(some, space, catalogue))
            return True

    def _keep(self, rows: Sequence[tuple[Missing, Sequence[Vector]]], space: Space, catalogue: Catalogue) -> None:
        extend(catalogue, space, rows)
        batch = Batch(space, catalogue, calibration=self._embedder.calibration)
        batch.link(row.publication.id for row, _ in rows if not row.start)


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
