"""Europe PMC's records of known documents, many in one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.europepmc.europe_pmc_client import MAX_PAGE, TITLE, EuropePMCClient
from deepcritical_mcp.sources.europepmc.europe_pmc_record import PREPRINTS, PROVIDER, EuropePMCRecord, articles_first
from deepcritical_mcp.sources.lookup import FoundRecords, RecordLookup

_MOST_OF_ONE = 4
"""Records that may have one identifier: an article, its preprint, and the versions of that."""


class EuropePMCRecords(RecordLookup):
    """Records by PMID, PMCID, DOI or the number of a preprint; of an article and its preprint with one identifier, the
    article's."""

    name = PROVIDER
    title = TITLE

    def __init__(self, client: EuropePMCClient) -> None:
        self._client = client

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(EuropePMCClient.create(settings, net))

    def accepts(self, ids: RecordIds) -> bool:
        return any(identifier_terms(ids))

    async def records(self, wanted: Sequence[RecordIds]) -> FoundRecords:
        terms = list(dict.fromkeys(term for ids in wanted for term in identifier_terms(ids)))
        if not terms:
            return FoundRecords((None,) * len(wanted))
        size = min(MAX_PAGE, _MOST_OF_ONE * len(terms))
        page = await self._client.search(" OR ".join(terms), page_size=size)
        found = sorted(page.records, key=articles_first)
        best = (max(found, key=lambda record: _shared(record, ids), default=None) for ids in wanted)
        return FoundRecords(
            tuple(
                record.publication if record and _shared(record, ids) else None
                for record, ids in zip(best, wanted, strict=True)
            )
        )


def identifier_terms(ids: RecordIds) -> Iterator[str]:
    """A term of Europe PMC's query language for each identifier that it knows."""
    doi = normalize_doi(ids.doi).replace('"', "").replace("\\", "")
    if ids.pmid:
        yield f"(EXT_ID:{ids.pmid} AND SRC:MED)"
    if ids.pmcid:
        yield f"PMCID:{ids.pmcid}"
    if doi:
        yield f'DOI:"{doi}"'
    if ids.preprint_number:
        yield f"(EXT_ID:{ids.preprint_number} AND SRC:{PREPRINTS})"


def shared_identifiers(record: EuropePMCRecord, ids: RecordIds) -> list[bool]:
    """Whether the record itself has each of the identifiers, as a search also finds what is only similar."""
    known = record.publication
    pairs = (
        (known.pmid, ids.pmid),
        (known.pmcid, ids.pmcid.upper()),
        (known.preprint_number, ids.preprint_number.upper()),
        (normalize_doi(known.doi), normalize_doi(ids.doi)),
    )
    return [bool(one) and one == other for one, other in pairs]


def _shared(record: EuropePMCRecord, ids: RecordIds) -> int:
    return sum(shared_identifiers(record, ids))
