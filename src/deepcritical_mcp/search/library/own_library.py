"""What goes on when a call ends: a large import, and the check of the numbers in what was imported."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from deepcritical_mcp.deadline import (
    TO_KEEP_RESULTS,
    TO_READ_STATUS,
    Progress,
    no_progress,
    seconds_before,
    seconds_for,
)
from deepcritical_mcp.errors import DeepCriticalError, InvalidInputError
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import FileResult
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.library.checking import Checked, check_numbers
from deepcritical_mcp.search.library.files import UserFiles
from deepcritical_mcp.search.library.importing import Importer

AGAIN = "the rest goes on in the background; send the same item again to learn what became of it"


@dataclass
class _Import:
    """An import that goes on.

    Attributes:
        told: what became of the files that are done.
        last: how far it is, in words.
        progress: of the call that waits for it now.
    """

    told: list[FileResult] = field(default_factory=list[FileResult])
    last: str = ""
    progress: Progress = no_progress

    async def report(self, fraction: float, message: str) -> None:
        """Keep how far it is, and tell who waits."""
        self.last = message
        await self.progress(fraction, message)

    async def run(self, files: AsyncIterator[FileResult]) -> None:
        """Bring in all files."""
        async for one in files:
            self.told.append(one)


class OwnLibrary:
    """Brings users' files into their sessions, and checks the numbers of their records."""

    def __init__(self, texts: FullTexts, zotero_url: str) -> None:
        self._texts = texts
        self._zotero_url = zotero_url
        self._imports: dict[tuple[str, UserFiles], tuple[_Import, asyncio.Task[None]]] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._told: dict[str, str] = {}

    async def bring_in(self, files: UserFiles, store: EvidenceStore, progress: Progress) -> list[FileResult]:
        """What became of each file. An import that takes longer than the call has goes on, and a call for the same
        files waits for it again.

        Raises:
            InvalidInputError: there is no such file that may be read.
            ProviderError: the user's Zotero does not answer; the message says what to do.
        """
        key = (store.session_id, files)
        if key not in self._imports:
            new = _Import()
            importer = Importer(store, self._texts, self._zotero_url, new.report)
            self._imports[key] = new, asyncio.get_running_loop().create_task(new.run(importer.bring_in(files)))
        running, task = self._imports[key]
        running.progress = progress
        seconds = seconds_before(TO_KEEP_RESULTS)
        try:
            await asyncio.wait([task], timeout=None if math.isinf(seconds) else seconds)
        except asyncio.CancelledError:  # the caller no longer wants it
            self._imports.pop(key, None)
            task.cancel()
            raise
        finally:
            running.progress = no_progress
            if task.done():
                self._imports.pop(key, None)
        if task.cancelled():
            raise InvalidInputError("Another call ended this import: send it again; what is in it is recognized.")
        if not task.done():
            return [*running.told, FileResult(file=files.name, detail=f"{running.last}: {AGAIN}".lstrip(": "))]
        task.result()
        return running.told

    def found(self, store: EvidenceStore) -> str:
        """What the last check that ended found in a session; "" if there was none, or it was told before."""
        return self._told.pop(store.session_id, "")

    def check_later(self, store: EvidenceStore) -> None:
        """Check what a session has that was not checked; the task outlives the call."""
        running = self._checks.get(store.session_id)
        if running is None or running.done():
            self._checks[store.session_id] = asyncio.get_running_loop().create_task(self._in_background(store))

    async def check_soon(self, store: EvidenceStore) -> None:
        """The same, and wait for it for as long as a call waits for statuses."""
        self.check_later(store)
        await asyncio.wait([self._checks[store.session_id]], timeout=seconds_for(TO_READ_STATUS))

    async def _in_background(self, store: EvidenceStore) -> None:
        with suppress(DeepCriticalError):  # the session was dropped, or another program has it
            self._told[store.session_id] = (await self.check(store)).told

    async def check(self, store: EvidenceStore) -> Checked:
        """Check it now."""
        return await check_numbers(store, self._texts.records)

    async def aclose(self) -> None:
        """End what runs: what is in is kept, and what is not checked is not checked."""
        running = [*self._checks.values(), *(task for _, task in self._imports.values())]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._checks.clear()
        self._imports.clear()
