"""Europe PMC as a witness of who cites a paper: also preprints, theses and others that are not in PubMed."""

from __future__ import annotations

import re
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.europepmc.europe_pmc_client import (
    MAX_PAGE,
    TITLE,
    CitingRow,
    EuropePMCClient,
)
from deepcritical_mcp.sources.europepmc.europe_pmc_record import PROVIDER
from deepcritical_mcp.sources.lookup import CitingDocuments, CitingLookup

MAX_RECORDS = 100
"""Records of citing documents without a PMID that are fetched."""
_SAFE = re.compile(r"[A-Za-z0-9._-]{1,60}")
"""What can stand in a query as it is."""


class EuropePMCCitations(CitingLookup):
    """Europe PMC's /citations, and the records of what it lists without a PMID."""

    name = PROVIDER
    title = TITLE

    def __init__(self, client: EuropePMCClient) -> None:
        self._client = client

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(EuropePMCClient.create(settings, net, steps=2))

    async def citing(self, pmid: str, limit: int) -> CitingDocuments:
        """Documents in the order of Europe PMC. A second request fetches the first 100 of those without a PMID."""
        page = await self._client.citations("MED", pmid, page_size=min(limit, MAX_PAGE))
        others = [row for row in page.rows if not row.pmid and _SAFE.fullmatch(row.source + row.id)][:MAX_RECORDS]
        records = await self._records(others) if others else ()
        pmids = (*(row.pmid for row in page.rows if row.pmid), *(one.pmid for one in records if one.pmid))
        ids = tuple(RecordIds(pmid=pmid) for pmid in dict.fromkeys(pmids))
        return CitingDocuments(page.total, ids, tuple(one for one in records if not one.pmid))

    async def _records(self, rows: list[CitingRow]) -> tuple[Publication, ...]:
        query = " OR ".join(f"(EXT_ID:{row.id} AND SRC:{row.source})" for row in rows)
        found = await self._client.search(query, page_size=len(rows))
        by_id = {(record.source, record.id): record.publication for record in found.records}
        return tuple(by_id[row] for row in rows if row in by_id)
