"""NCBI behind a search of PubMed."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from tests.search.fake_session import FakeSession
from tests.sources.ncbi import Ncbi, ncbi, pubmed


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
        yield Library(SourceSearch(pubmed(played.url, http, key=key)), played, FakeSession())


def request(query: str = "zinc", **more: object) -> PubMedRequest:
    """A request as the tool makes it."""
    return PubMedRequest.model_validate({"query": query, **more})
