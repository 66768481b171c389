"""Numbers in a user's files are claims: the records that they lead to are fetched, in batches, and compared."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.identity import bears_out, identity_of
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import LIBRARY, Publication, vancouver
from deepcritical_mcp.search.record_finder import MAX_AT_ONCE, Lookup, RecordFinder
from deepcritical_mcp.sources.lookup import Wanted
from deepcritical_mcp.text import batches

SECONDS = 60.0
"""For each batch."""
logger = logging.getLogger(__name__)


class Checked(NamedTuple):
    """How many records a check confirmed, how many name another paper, how many nobody has a record of, and how many
    nobody could be asked about, and why."""

    confirmed: int = 0
    other: int = 0
    unknown: int = 0
    unasked: int = 0
    outage: str = ""

    def plus(self, other: Checked) -> Checked:
        """Both together."""
        confirmed, others = self.confirmed + other.confirmed, self.other + other.other
        return Checked(confirmed, others, self.unknown + other.unknown, self.unasked + other.unasked, other.outage)

    @property
    def told(self) -> str:
        """In a sentence; "" if there was nothing to check."""
        counts = {
            "confirmed by their records": self.confirmed,
            "with the number of another paper": self.other,
            "with a number that nobody has a record of": self.unknown,
            "not checked": self.unasked,
        }
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        return f"Numbers of records: {told}. {self.outage}".rstrip() if told else ""


class LibraryChecker:
    """Checks sessions' records of libraries, in the background or while a caller waits."""

    def __init__(self, records: RecordFinder) -> None:
        self._records = records
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, store: EvidenceStore) -> None:
        """Check what a session has that was not checked; the task outlives the call."""
        running = self._running.get(store.session_id)
        if running is None or running.done():
            self._running[store.session_id] = asyncio.get_running_loop().create_task(self._in_background(store))

    async def aclose(self) -> None:
        """End what runs; what is not checked is not checked."""
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        self._running.clear()

    async def _in_background(self, store: EvidenceStore) -> None:
        with suppress(DeepCriticalError):  # the session was dropped, or another program has it
            logger.info("library: %s", (await self.check(store)).told)

    async def check(self, store: EvidenceStore) -> Checked:
        """Check what a session has that was not checked; ends with the first batch about which nobody answered."""
        found = (await store.publications(await store.ids())).values()
        waiting = [one for one in found if one.source == LIBRARY and any(one.claimed_ids)]
        total, done = Checked(), 0
        for some in batches(waiting, MAX_AT_ONCE):
            lookups = await self._records.find([Wanted(one.claimed_ids) for one in some], SECONDS)
            batch = await _compared(some, lookups, store)
            total = total.plus(batch)
            done += len(some)
            if batch.unasked == len(some):
                return total._replace(unasked=total.unasked + len(waiting) - done)
        return total


async def _compared(some: Sequence[Publication], lookups: Sequence[Lookup], store: EvidenceStore) -> Checked:
    confirmed, refuted, unasked, outage = list[Publication](), list[Publication](), 0, ""
    unknown = 0
    for claim, lookup in zip(some, lookups, strict=True):
        records = [one for one in (lookup.record, *lookup.others) if one]
        record = next((one for one in records if bears_out(identity_of(one), identity_of(claim))), None)
        if record:
            confirmed.append(record)
        elif lookup.failures:
            unasked, outage = unasked + 1, lookup.failures[0].message
        else:
            unknown += not records
            why = f"another paper: {vancouver(records[0])}" if records else "of which nobody has a record"
            refuted.append(claim.but(claims=tuple(f"{one} ({why})" for one in claim.claims)))
    if confirmed:
        await store.add_evidence(confirmed, embed=False)
    await store.set_claims(refuted)
    return Checked(len(confirmed), len(refuted) - unknown, unknown, unasked, outage)
