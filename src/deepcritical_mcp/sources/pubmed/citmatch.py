"""PubMed's services that find the record of a citation: ecitmatch by its parts, the citation matcher by its text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Self

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, normalize_pmid
from deepcritical_mcp.net.client import JsonApi, JsonService, Net
from deepcritical_mcp.net.fields import first_records, json_answer, mapping_of, text_at, text_of
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.lookup import CitedPlace, NameLookup, PaperNames, PlaceLookup, ReferenceLookup
from deepcritical_mcp.sources.pubmed.eutils import PROVIDER, EUtilities, eutilities, explain_refusal, ncbi_client
from deepcritical_mcp.sources.settings import PubMedSettings
from deepcritical_mcp.text import clean_line

CITATION_MATCHER = "PubMed's citation matcher"
MAX_CANDIDATES = 10
MAX_CITATION = 2_000
"""Characters of a citation that are sent."""
_SEPARATORS = re.compile(r"[|\r\n\t]+")


class ECitMatch(PlaceLookup, NameLookup):
    """E-utilities' ecitmatch: articles by journal, year, volume, first page and author."""

    name = "ecitmatch"
    title = "PubMed's ecitmatch"
    names_kind = "place"

    def __init__(self, eutils: EUtilities) -> None:
        self._eutils = eutils

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        client = ncbi_client(settings, net, provider=PROVIDER, title="PubMed", explain=explain_refusal)
        return cls(eutilities(settings, client))

    async def at_places(self, places: Sequence[CitedPlace]) -> Sequence[str]:
        """See `PlaceLookup`."""
        rows = ["|".join(_SEPARATORS.sub(" ", part).strip() for part in place) for place in places]
        return await self._eutils.ecitmatch(rows) if rows else []

    async def names(self, names: Sequence[str]) -> Mapping[str, PaperNames]:
        found = await self.at_places([CitedPlace(*one.removeprefix("place:").split("|")) for one in names])
        return {one: frozenset({one, f"pmid:{pmid}"}) for one, pmid in zip(names, found, strict=True) if pmid}


class CitationMatcher(JsonService, ReferenceLookup):
    """The citation matcher of PubMed's site, which reads a citation as it is written."""

    name = "citmatch"
    title = CITATION_MATCHER

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        client = ncbi_client(settings, net, provider=cls.name, title=cls.title, keyless=True)
        return cls(JsonApi(client, settings.of(PubMedSettings).citmatch_url))

    async def match(self, reference: str) -> Sequence[RecordIds]:
        """See `ReferenceLookup`."""
        params = {"method": "heuristic", "raw-text": clean_line(reference)[:MAX_CITATION]}
        return await self._api.get("", params, _read)

    def checks(self) -> Sequence[SourceCheck]:
        sample = "Mann BJ. Proc Natl Acad Sci U S A. 1991;88:3248."
        return (SourceCheck.answering(self.title, lambda: self.match(sample), searches=False),)


def _read(response: httpx.Response) -> Sequence[RecordIds]:
    payload = json_answer(CitationMatcher.name, CITATION_MATCHER, response)
    result = mapping_of(payload.get("result"))
    if payload.get("success") is not True or "uids" not in result:
        told = clean_line(text_of(payload.get("error") or payload.get("message")))[:200]
        reason = f': "{told}"' if told else " without a result"
        raise ProviderResponseError(CitationMatcher.name, f"{CITATION_MATCHER} sent an answer{reason}.")
    found = (normalize_pmid(text_at(row, "pubmed")) for row in first_records(result["uids"]))
    return [RecordIds(pmid=pmid) for pmid in dict.fromkeys(filter(None, found))][:MAX_CANDIDATES]
