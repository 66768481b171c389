"""iCite of the NIH: which papers in PubMed cite papers, how many do, and their references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import httpx

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, normalize_pmid
from deepcritical_mcp.net.client import ApiOfService, JsonService
from deepcritical_mcp.net.fields import first_records, json_answer, number_of, text_at, text_of
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.lookup import CitingDocuments, CitingLookup, Direction, Linked, LinkLookup
from deepcritical_mcp.sources.settings import ICiteSettings

NAME, TITLE = "icite", "iCite"
SPACING = 0.21
"""Seconds between two starts; NIH publishes no limit."""
_COUNT, _CITED_BY = "citation_count", "cited_by"
_SAMPLE = "23456789"


class ICite(JsonService, CitingLookup, LinkLookup):
    """iCite's API. It counts the citations that NIH's Open Citation Collection knows, all of them between PMIDs.

    `api` is at an address that ends in /api.
    """

    name = NAME
    title = TITLE
    counts_citations = True
    links_at_once = 100

    api = ApiOfService(NAME, TITLE, lambda settings: settings.of(ICiteSettings).icite_base_url, SPACING)

    async def citing(self, pmid: str, limit: int) -> CitingDocuments:
        """The papers that cite one, those with the highest PMIDs first; none if iCite does not know the paper."""
        row = (await self._papers([pmid], _COUNT, _CITED_BY)).get(pmid)
        if row is None:
            return CitingDocuments(0)
        pmids = _listed(row.get(_CITED_BY))  # all of them are read: their number is told
        return CitingDocuments(max(int(number_of(row.get(_COUNT)) or 0), len(pmids)), tuple(pmids[:limit]))

    async def counts(self, pmids: Sequence[str]) -> Mapping[str, int]:
        if not pmids:
            return {}
        rows = await self._papers(list(dict.fromkeys(pmids)), _COUNT)
        counts = ((pmid, number_of(row.get(_COUNT))) for pmid, row in rows.items())
        return {pmid: int(count) for pmid, count in counts if count is not None and count >= 0}

    def knows(self, ids: RecordIds) -> bool:
        return bool(ids.pmid)

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        rows = await self._papers([one.pmid for one in papers], direction)
        listed = (_listed(rows.get(one.pmid, {}).get(direction)) for one in papers)
        return [Linked(tuple(frozenset({f"pmid:{pmid}"}) for pmid in pmids)) for pmids in listed]

    async def _papers(self, pmids: Sequence[str], *fields: str) -> Mapping[str, Mapping[str, object]]:
        """What iCite says about papers, by PMID, in one request; it leaves out those that it does not know."""

        def read(response: httpx.Response) -> Mapping[str, Mapping[str, object]]:
            payload = json_answer(NAME, TITLE, response)
            if not isinstance(payload.get("data"), list):
                raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a list of papers.")
            rows = first_records(payload["data"])
            found = {pmid: row for row in rows if (pmid := normalize_pmid(text_at(row, "pmid")))}
            if len(found) < len(rows):
                raise ProviderResponseError(NAME, f"{TITLE} sent papers without PMIDs.")
            if not found.keys() <= set(pmids):
                raise ProviderResponseError(NAME, f"{TITLE} sent papers that it was not asked for.")
            return found

        sent = {"pmids": ",".join(pmids), "fl": ",".join(("pmid", *fields))}
        return await self._api.get("pubs", sent, read)

    def checks(self) -> tuple[SourceCheck, ...]:
        return (SourceCheck.answering(self.title, lambda: self.counts([_SAMPLE]), searches=False),)


def _listed(given: object) -> list[str]:
    """PMIDs in a list or, as in older answers, in one text; the highest first."""
    listed = cast("list[object]", given) if isinstance(given, list) else str(given or "").split()
    return sorted({pmid for one in listed if (pmid := normalize_pmid(text_of(one)))}, key=int, reverse=True)
