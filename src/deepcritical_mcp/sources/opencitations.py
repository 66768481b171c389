"""OpenCitations: links between works that publishers deposited and PubMed has, without a key."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import httpx

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi
from deepcritical_mcp.net.client import ApiOfService, JsonService
from deepcritical_mcp.net.fields import json_rows, text_at
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.lookup import Direction, Linked, LinkLookup, names_in
from deepcritical_mcp.sources.settings import OpenCitationsSettings

NAME, TITLE = "opencitations", "OpenCitations"
SPACING = 0.34
"""Seconds between two starts: OpenCitations allows 180 requests a minute."""
_SAMPLE = RecordIds(doi="10.1162/qss_a_00023")


class OpenCitations(JsonService, LinkLookup):
    """OpenCitations' Index, version 2; `api` is at an address that ends in /index/v2."""

    name, title = NAME, TITLE
    api = ApiOfService(NAME, TITLE, lambda settings: settings.of(OpenCitationsSettings).opencitations_base_url, SPACING)

    def knows(self, ids: RecordIds) -> bool:
        return bool(ids.pmid) or BARE_DOI.fullmatch(normalize_doi(ids.doi)) is not None

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        what, field = ("citations", "citing") if direction == "cited_by" else ("references", "cited")
        doi = normalize_doi(papers[0].doi)
        of = f"doi:{quote(doi, safe='/:();')}" if doi else f"pmid:{papers[0].pmid}"

        def read(response: httpx.Response) -> Linked:
            rows = json_rows(NAME, TITLE, response)
            if any(not text_at(row, field) for row in rows):
                raise ProviderResponseError(NAME, f"{TITLE} sent links without the works that they lead to.")
            named = [names_in(text_at(row, field).split()) for row in rows]
            return Linked(tuple(dict.fromkeys(filter(None, named))), sum(not one for one in named))

        return [await self._api.get(f"{what}/{of}", {}, read)]

    def checks(self) -> Sequence[SourceCheck]:
        ask = self.links
        return (SourceCheck.answering(TITLE, lambda: ask([_SAMPLE], "references"), searches=False),)
