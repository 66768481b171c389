"""The record of an open session: what a list of sessions shows of it."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from functools import partial

from anyio.to_thread import run_sync

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError
from deepcritical_mcp.evidence.kept_log import LOG_PREFIX, WATCH_ENDING
from deepcritical_mcp.evidence.kept_sessions import title_of_query
from deepcritical_mcp.evidence.storage.backend import Space

WriteAlone = Callable[[Callable[[], None]], Awaitable[None]]
"""Does work that changes a session in a thread, while nothing else does."""


class SessionRecord:
    """Keeps a session's title, and the numbers of its publications and searches, where it is kept.

    What a watch repeats is no search of its own.
    """

    def __init__(self, write: WriteAlone) -> None:
        self._write = write
        self._searches = 0

    async def read(self, space: Space) -> None:
        """Count the entries of the log, when the session is opened; a killed process may not have."""
        count = partial(space.count_documents, LOG_PREFIX, but=WATCH_ENDING)
        self._searches = await run_sync(count, abandon_on_cancel=True)

    def has_kept(self, document: str) -> None:
        """A document of that name was kept."""
        if document.startswith(LOG_PREFIX) and not document.endswith(WATCH_ENDING):
            self._searches += 1

    async def count(self, space: Space, items: int) -> None:
        """Write the numbers if they have changed. If that fails, the next change tries again."""
        counts = items, self._searches
        if counts != (space.info.items, space.info.searches):
            with contextlib.suppress(EvidenceStoreError, SessionBusyError):
                await self._write(lambda: space.set_counts(*counts))

    async def set_title(self, space: Space, title: str) -> None:
        """Write a title, in place of an earlier one; raises EvidenceStoreError."""
        await self._write(lambda: space.set_title(title, replacing=True))

    async def set_title_if_none(self, space: Space, query: str) -> None:
        """Write a title that says what was asked first, if there is none. If that fails, the next query tries again."""
        title = title_of_query(query)
        if title and not space.info.title:
            with contextlib.suppress(EvidenceStoreError, SessionBusyError):
                await self._write(lambda: space.set_title(title, replacing=False))
