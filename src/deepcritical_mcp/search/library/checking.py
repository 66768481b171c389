"""Numbers in a user's files are claims: the records that they lead to are fetched, in batches, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepcritical_mcp.evidence.identity import bears_out, identity_of, title_similarity
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.evidence.uncertain import ALIKE
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import LIBRARY, Publication, vancouver
from deepcritical_mcp.models.publication import UNKNOWN_NUMBER
from deepcritical_mcp.search.record_finder import MAX_AT_ONCE, Lookup, RecordFinder
from deepcritical_mcp.sources.lookup import Wanted

MAX_NAMED = 10
"""Records that are named."""
SECONDS = 60.0
"""For each batch."""


class Checked(NamedTuple):
    """How many records a check confirmed, how many name another paper, how many nobody has a record of, and how many
    nobody could be asked about, and why; and the ids of those that name another paper."""

    confirmed: int = 0
    other: int = 0
    unknown: int = 0
    unasked: int = 0
    outage: str = ""
    ids: tuple[str, ...] = ()

    def plus(self, other: Checked) -> Checked:
        """Both together."""
        confirmed, others = self.confirmed + other.confirmed, self.other + other.other
        unknown, ids = self.unknown + other.unknown, (*self.ids, *other.ids)
        return Checked(confirmed, others, unknown, self.unasked + other.unasked, other.outage, ids)

    @property
    def told(self) -> str:
        """In a sentence; "" if there was nothing to check."""
        counts = {
            "confirmed by their records": self.confirmed,
            f"with the number of another paper ({', '.join(self.ids[:MAX_NAMED])})": self.other,
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
        await _by_doi(some, lookups, records)
        batch = await _compared(some, lookups, store)
        total = total.plus(batch)
        if batch.unasked == len(some):
            return total._replace(unasked=total.unasked + len(waiting) - len(some))
    return total


async def _by_doi(some: Sequence[Publication], lookups: Sequence[Lookup], records: RecordFinder) -> None:
    """Look up by their DOIs those whose other number led to another paper: that one may be wrong, and the DOI right."""
    again = [
        (lookup, Wanted(RecordIds(doi=claim.claimed_ids.doi)))
        for claim, lookup in zip(some, lookups, strict=True)
        if claim.claimed_ids.doi and lookup.record and not bears_out(identity_of(lookup.record), identity_of(claim))
    ]
    found = await records.find([wanted for _, wanted in again], SECONDS) if again else []
    for (lookup, _), other in zip(again, found, strict=True):
        lookup.others = [*lookup.others, *filter(None, (other.record, *other.others))]


async def _unchecked(store: EvidenceStore) -> list[Publication]:
    kept = (await store.publications(await store.ids())).values()
    return [one for one in kept if one.source == LIBRARY and any(one.claimed_ids)]


async def _compared(some: Sequence[Publication], lookups: Sequence[Lookup], store: EvidenceStore) -> Checked:
    confirmed, judged, unasked, outage = list[Publication](), list[Publication](), 0, ""
    others, unknown, freed = list[str](), 0, list[tuple[str, str]]()
    for claim, lookup in zip(some, lookups, strict=True):
        records = [one for one in (lookup.record, *lookup.others) if one]
        record = next((one for one in records if bears_out(identity_of(one), identity_of(claim))), None)
        if record:
            confirmed.append(record)
            wrong = [*_without_wrong_numbers(claim, record, is_whole=not lookup.failures)]
            judged += wrong
            freed += [(record.id, one.id) for one in wrong]
        elif lookup.failures:
            unasked, outage = unasked + 1, lookup.failures[0].message
        else:
            unknown, others = unknown + (not records), [*others, *([claim.id] if records else [])]
            judged.append(claim.with_refuted(claim.claimed_ids, _why(claim, records)))
    await store.set_claims(judged)  # first: a wrong number would keep a record apart from its own paper
    if confirmed:
        await store.add_evidence(confirmed, embed=False)
        await store.rejoin(freed)
    return Checked(len(confirmed), len(others), unknown, unasked, outage, tuple(others))


def _why(claim: Publication, records: Sequence[Publication]) -> str:
    if not records:
        return UNKNOWN_NUMBER
    is_alike = title_similarity(identity_of(claim), identity_of(records[0])) >= ALIKE
    return f"{'whose record names other authors' if is_alike else 'another paper'}: {vancouver(records[0])}"


def _without_wrong_numbers(claim: Publication, record: Publication, *, is_whole: bool) -> Iterator[Publication]:
    """A record of a library without those of its numbers that its paper does not have, if it has such; if not everybody
    answered (`is_whole`), what is missing may be right."""
    known, claimed = record.own_ids._asdict(), claim.claimed_ids._asdict()
    wrong = {name for name, number in claimed.items() if number and known[name].lower() != number.lower()}
    wrong = {name for name in wrong if known[name] or (name == "pmid" and is_whole)}
    if wrong:
        yield claim.with_refuted(RecordIds(**{name: claimed[name] for name in wrong}), "which this paper does not have")
