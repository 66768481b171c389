"""Crossref: records of works by DOI, works that a reference may mean, and a second witness of retractions."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.sources.base import Finding, Net, SourceCheck
from deepcritical_mcp.sources.crossref.crossref_client import NAME, TITLE, CrossrefClient, explain_crossref
from deepcritical_mcp.sources.crossref.crossref_settings import CrossrefSettings
from deepcritical_mcp.sources.crossref.crossref_updates import SELECT, updates_of
from deepcritical_mcp.sources.crossref.crossref_work import read_work
from deepcritical_mcp.sources.lookup import FoundRecords, RecordLookup, ReferenceLookup, StatusLookup
from deepcritical_mcp.sources.paced_client import paced_client

POLITE_SPACING, PUBLIC_SPACING = 0.37, 1.01
"""Seconds between two starts: Crossref allows 3 list requests per second in the polite pool, 1 in the public one."""
MAX_CANDIDATES = 5
MAX_AGENCIES = 3
"""Requests that ask who registered DOIs which Crossref does not have."""
_SAMPLE = "10.1371/journal.pmed.0020124"
_DATACITE = "DataCite"
# Whose DOIs begin so; all of them are registered with DataCite.
_OWNERS = {
    "10.48550": "arXiv",
    "10.5281": "Zenodo",
    "10.6084": "figshare",
    "10.5061": "Dryad",
    "10.7910": "Harvard Dataverse",
    "10.17632": "Mendeley Data",
}

logger = logging.getLogger(__name__)


class Crossref(RecordLookup, ReferenceLookup, StatusLookup):
    """Crossref's REST API."""

    name = NAME
    title = TITLE

    def __init__(self, client: CrossrefClient) -> None:
        self._client = client

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        base_url, email = settings.of(CrossrefSettings).crossref_base_url, settings.ncbi_email.strip()
        client = paced_client(
            settings,
            net,
            name=NAME,
            title=TITLE,
            base_url=base_url,
            spacing=POLITE_SPACING if email else PUBLIC_SPACING,
            explain=explain_crossref,
        )
        return cls(CrossrefClient(client, base_url=base_url, email=email))

    def accepts(self, ids: RecordIds) -> bool:
        return _is_doi(normalize_doi(ids.doi))

    async def records(self, wanted: Sequence[RecordIds]) -> FoundRecords:
        """One request, and up to three more that ask who registered the DOIs that Crossref does not have."""
        dois = [normalize_doi(ids.doi) for ids in wanted]
        found = await self._client.works(list(filter(_is_doi, dois)), read_work)
        unknown = {n: doi for n, doi in enumerate(dois) if _is_doi(doi) and doi not in found}
        agencies = await self._agencies([*unknown.values()]) if unknown else {}
        remarks = {n: _remark(doi, agencies[doi]) for n, doi in unknown.items() if doi in agencies}
        return FoundRecords(tuple(found.get(doi) for doi in dois), remarks)

    async def match(self, reference: str) -> Sequence[Publication]:
        return await self._client.matching(reference, read_work, rows=MAX_CANDIDATES)

    async def notices(self, dois: Sequence[str]) -> Mapping[str, tuple[StatusNotice, ...]]:
        return await self._client.works(list(filter(_is_doi, dois)), updates_of, select=SELECT)

    async def _agencies(self, dois: Sequence[str]) -> dict[str, str]:
        """With whom DOIs are registered, as far as that is found out, "" if with nobody; an outage leaves it open."""
        known = {doi: _DATACITE for doi in dois if _owner(doi)}
        asked = dict.fromkeys(doi for doi in dois if doi not in known)
        try:
            for doi in list(asked)[:MAX_AGENCIES]:
                known[doi] = await self._client.agency(doi)
        except ProviderError as error:
            logger.info("agency of a DOI not found: %s", error.code)
        return known

    def checks(self) -> Sequence[SourceCheck]:
        async def examine() -> Finding:
            await self._client.agency(_SAMPLE)
            if self._client.is_polite:
                return Finding("answers; polite pool: 3 requests per second")
            return Finding("answers; public pool: 1 request per second, 3 with an email address (NCBI_EMAIL)")

        return (SourceCheck(self.title, examine),)


def _is_doi(doi: str) -> bool:
    return bool(BARE_DOI.fullmatch(doi))


def _owner(doi: str) -> str:
    return _OWNERS.get(doi.partition("/")[0], "")


def _remark(doi: str, agency: str) -> str:
    """Why Crossref has no record of a DOI, by the agency with which it is registered."""
    if not agency:
        return f"No registration agency knows {doi}: the DOI may be wrong."
    if agency == TITLE:
        return f"{doi} has a prefix of {TITLE}'s, but no record there: the DOI may be wrong."
    owner = f"a DOI of {_owner(doi)}, registered" if _owner(doi) else "a DOI registered"
    return f"{doi} is {owner} with {agency}; {TITLE} has no record of it."
