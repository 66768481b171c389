"""Numbers in a user's files are claims: the records that they lead to are fetched, in batches, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from deepcritical_mcp.evidence.identity import bears_out, identity_of
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import LIBRARY, Publication, vancouver
from deepcritical_mcp.search.record_finder import MAX_AT_ONCE, Lookup, RecordFinder
from deepcritical_mcp.sources.lookup import Wanted

SECONDS = 60.0
"""For each batch."""


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


async def check_numbers(store: EvidenceStore, records: RecordFinder) -> Checked:
    """Check the numbers of a session's records of libraries that were not checked; ends with the first batch about
    which nobody answered."""
    total, tried = Checked(), set[str]()
    while waiting := [one for one in await _unchecked(store) if one.id not in tried]:  # more may have come meanwhile
        some = waiting[:MAX_AT_ONCE]
        tried |= {one.id for one in some}
        lookups = await records.find([Wanted(one.claimed_ids) for one in some], SECONDS)
        batch = await _compared(some, lookups, store)
        total = total.plus(batch)
        if batch.unasked == len(some):
            return total._replace(unasked=total.unasked + len(waiting) - len(some))
    return total


async def _unchecked(store: EvidenceStore) -> list[Publication]:
    kept = (await store.publications(await store.ids())).values()
    return [one for one in kept if one.source == LIBRARY and any(one.claimed_ids)]


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
