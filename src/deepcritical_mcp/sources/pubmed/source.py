"""PubMed as a source of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.models import Evidence
from deepcritical_mcp.sources.pubmed.eutils import ESearchAnswer, EUtilities
from deepcritical_mcp.sources.pubmed.eutils_answers import PROVIDER, NoPossibleIdError, unreadable
from deepcritical_mcp.sources.pubmed.xml import Records, read_records

Sort = Literal["relevance", "date"]
LinkKind = Literal["similar", "cited_by", "references"]

_SORTS: dict[Sort, str] = {"relevance": "relevance", "date": "pub_date"}
_LINK_NAMES: dict[LinkKind, str] = {
    "similar": "pubmed_pubmed",
    "cited_by": "pubmed_pubmed_citedin",
    "references": "pubmed_pubmed_refs",
}


class PubMedTool:
    """PubMed behind `SearchTool`, and the steps that a search of literature is made of.

    Every method raises ProviderErrors only.
    """

    def __init__(self, eutils: EUtilities) -> None:
        self._eutils = eutils

    @property
    def name(self) -> str:
        """The wire name."""
        return PROVIDER

    async def search(
        self,
        query: str,
        max_results: int,
        *,
        offset: int = 0,
        sort: Sort = "relevance",
        min_date: str = "",
        max_date: str = "",
    ) -> list[Evidence]:
        """The records that PubMed finds for `query`, in its order; what cannot be read is missing.

        Dates are "YYYY[/MM[/DD]]".
        """
        found = await self.find(
            query, offset=offset, max_results=max_results, sort=sort, min_date=min_date, max_date=max_date
        )
        if not found.ids:
            return []
        by_pmid = {piece.citation.pmid: piece for piece in (await self.fetch(found.ids)).evidence}
        if not by_pmid:
            raise unreadable("none of the records it found is in it")
        records = [by_pmid[pmid] for pmid in found.ids if pmid in by_pmid]
        return [piece.model_copy(update={"found_by": (query,)}) for piece in records]

    async def find(
        self,
        term: str,
        *,
        offset: int = 0,
        max_results: int = 20,
        sort: Sort = "relevance",
        min_date: str = "",
        max_date: str = "",
    ) -> ESearchAnswer:
        """One page of the PMIDs that answer `term`, and what PubMed made of it; dates are "YYYY[/MM[/DD]]"."""
        return await self._eutils.esearch(
            term, retstart=offset, retmax=max_results, sort=_SORTS[sort], mindate=min_date, maxdate=max_date
        )

    async def fetch(self, pmids: Sequence[str]) -> Records:
        """The records of `pmids`, in PubMed's order; unknown ones are missing.

        Where parts of the answer are no XML and stay so, what can be read is returned.
        """
        try:
            return await self._eutils.efetch_with(pmids, _whole)
        except _BrokenXMLError as error:
            return error.records
        except NoPossibleIdError:
            return Records(())

    async def linked(self, pmid: str, kind: LinkKind) -> list[str]:
        """PMIDs of similar articles (closest first), of those that cite `pmid` (newest first), or of its references."""
        return await self._eutils.elink(pmid, linkname=_LINK_NAMES[kind])

    async def spelling(self, query: str) -> str:
        """The spelling that NCBI suggests, "" when it has nothing to suggest."""
        return await self._eutils.espell(query)


class _BrokenXMLError(ProviderResponseError):
    """Some of the records are no XML; asked again, NCBI may send them whole."""

    def __init__(self, records: Records) -> None:
        super().__init__(PROVIDER, unreadable("parts of it are no valid XML").message)
        self.records = records


def _whole(body: bytes) -> Records:
    records = read_records(body)
    if not records.well_formed:
        raise _BrokenXMLError(records)
    return records
