"""Embedding in the background what a session holds without vectors: long texts, and what was kept without a model."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import groupby

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.adding import Batch
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.missing_vectors import Missing, extend, missing
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.text import counted

logger = logging.getLogger(__name__)

INDEXED_AT_ONCE = 64
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
        self._task: asyncio.Task[None] | None = None

    def start(self, catalogue: Catalogue) -> None:
        """Start the task if something lacks a vector and there is a model; it outlives the call."""
        is_running = self._task is not None and not self._task.done()
        if not is_running and catalogue.waiting() and not self._embedder.failure:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait(self, seconds: float) -> None:
        """Wait until everything has its vectors, at most that long."""
        if self._task is not None:
            with anyio.move_on_after(seconds):
                await asyncio.wait({self._task})

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
                while await self._turn_for(catalogue.waiting(), space, catalogue):
                    pass
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
