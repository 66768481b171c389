"""NCBI behind a search of PubMed."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.search.documents import DocumentId, LinkKind, Round
from deepcritical_mcp.search.linking import LinkIndexes
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.search.record_finder import RecordFinder
from deepcritical_mcp.sources.pubmed.links import PubMedLinks
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from tests.search.fake_session import FakeSession
from tests.sources.ncbi import Ncbi, eutilities, ncbi, pubmed


@dataclass(frozen=True)
class Library:
    """A search of PubMed, what it asks, and a session that keeps what it finds."""

    search: SourceSearch
    ncbi: Ncbi
    session: FakeSession


@asynccontextmanager
async def library(records: Mapping[str, str] | None = None, *, key: str = "") -> AsyncGenerator[Library]:
    """A library with these records, PMID to XML."""
    async with ncbi(records) as played, httpx.AsyncClient() as http:
        source = pubmed(played.url, http, key=key)
        links = LinkIndexes([PubMedLinks(eutilities(played.url, http))], records=RecordFinder(source, ()))
        yield Library(SourceSearch(source, links=links), played, FakeSession())


def linked_to(pmid: str, kind: LinkKind, most: int = 5) -> Round:
    """What is linked to one paper, as the tool asks for it."""
    return Round([DocumentId(pmid, ids=RecordIds(pmid))], kind, most, is_round=False)


def request(query: str = "zinc", **more: object) -> PubMedRequest:
    """A request as the tool makes it."""
    return PubMedRequest.model_validate({"query": query, **more})
