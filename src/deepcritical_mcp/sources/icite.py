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
from deepcritical_mcp.sources.lookup import CitationCounter, Direction, Linked, LinkLookup
from deepcritical_mcp.sources.settings import ICiteSettings

NAME, TITLE = "icite", "iCite"
SPACING = 0.21
"""Seconds between two starts; NIH publishes no limit."""
_COUNT = "citation_count"
_SAMPLE = "23456789"


class ICite(JsonService, CitationCounter, LinkLookup):
    """iCite's API. It counts the citations that NIH's Open Citation Collection knows, all of them between PMIDs.

    `api` is at an address that ends in /api.
    """

    name = NAME
    title = TITLE
    links_at_once = 100

    api = ApiOfService(NAME, TITLE, lambda settings: settings.of(ICiteSettings).icite_base_url, SPACING)

    async def counts(self, pmids: Sequence[str]) -> Mapping[str, int]:
        rows = await self._papers(list(dict.fromkeys(pmids)), _COUNT)
        counts = ((pmid, number_of(row.get(_COUNT))) for pmid, row in rows.items())
        return {pmid: int(count) for pmid, count in counts if count is not None and count >= 0}

    def knows(self, ids: RecordIds) -> bool:
        return bool(ids.pmid)

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        fields = (direction, _COUNT) if direction == "cited_by" else (direction,)
        rows = await self._papers([one.pmid for one in papers], *fields)
        return [_links_in(rows.get(one.pmid, {}), direction) for one in papers]

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


def _links_in(row: Mapping[str, object], direction: Direction) -> Linked:
    """What a paper is linked to; the count of its citations, if it was asked for, may be higher than what is listed."""
    pmids = _listed(row.get(direction))
    count = int(number_of(row.get(_COUNT)) or 0)
    return Linked(tuple(frozenset({f"pmid:{pmid}"}) for pmid in pmids), max(0, count - len(pmids)))


def _listed(given: object) -> list[str]:
    """PMIDs in a list or, as in older answers, in one text; the highest first."""
    listed = cast("list[object]", given) if isinstance(given, list) else str(given or "").split()
    return sorted({pmid for one in listed if (pmid := normalize_pmid(text_of(one)))}, key=int, reverse=True)
