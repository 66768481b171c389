"""Services for tests of what stands above them: the real store, model and rules; searches do as they are told."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
from mcp.client import Client

from deepcritical_mcp.checking.checker import CitationChecker
from deepcritical_mcp.checking.reference_checker import ReferenceChecker
from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext, Services, build_services
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.session_access import PassageEmbedder
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, SearchResult
from deepcritical_mcp.screening.queue import ScreeningQueues
from deepcritical_mcp.search.expansion.expander import QueryExpander
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.library.own_library import OwnLibrary
from deepcritical_mcp.search.pipeline import SearchHandler
from deepcritical_mcp.search.strategy.checker import StrategyChecker
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.server import DeepCriticalServer
from deepcritical_mcp.sources import SourceRow
from deepcritical_mcp.sources.base import Answer, SearchRequest, Source
from deepcritical_mcp.tools import Profile
from tests.uncreated import Uncreated

EMBEDDER = EmbeddingService(Settings())
Progress = Callable[[float, str], Awaitable[None]]


@dataclass
class FakeSearch:
    """Stands for the literature or the web: keeps and returns `publications`, or does what `behavior` does."""

    publications: tuple[Publication, ...] = ()
    behavior: Callable[[], Awaitable[None]] | None = None
    requests: list[Any] = field(default_factory=list[Any])

    async def search(self, request: Any, store: EvidenceStore, *, progress: Progress) -> SearchResult:
        self.requests.append(request)
        await progress(0.5, "searching")
        if self.behavior:
            await self.behavior()
        outcomes = await store.add_evidence(self.publications)
        return SearchResult(
            session_id=store.session_id,
            query=request.query,
            evidence=tuple(outcome.evidence for outcome in outcomes),
            total_found=len(outcomes),
        )


class _FakeSource(Uncreated, Source):
    """A `FakeSearch` behind the door of sources, for searches of all of them."""

    kind = "literature"
    cited_as = "pubmed"

    def __init__(self, name: str, search: FakeSearch) -> None:
        self.name = self.title = name
        self._search = search

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        if self._search.behavior:
            await self._search.behavior()
        return Answer.whole(self._search.publications)


def fake_server(
    *,
    literature: FakeSearch | None = None,
    web: FakeSearch | None = None,
    settings: Settings | None = None,
    profile: Profile | None = None,
    embedder: Any = EMBEDDER,
    full_texts: FullTexts | None = None,
    witness: Witness | None = None,
    vocabulary: Any = None,
) -> DeepCriticalServer:
    """A server over the real store and model, with searches that answer what they are told."""

    searches = {"pubmed": literature or FakeSearch(), "web": web or FakeSearch()}
    reading, asked = full_texts or FullTexts((), None), witness or Witness()

    def build(settings: Settings) -> Services:
        return Services(
            http=httpx.AsyncClient(),
            embedder=embedder,
            sessions=SessionRegistry(settings, embedder, open_backend(settings)),
            searches=cast(Any, searches),
            everywhere=SearchHandler([_FakeSource(name, search) for name, search in searches.items()]),
            expander=QueryExpander(settings, vocabulary),
            full_texts=reading,
            witness=asked,
            checker=CitationChecker(ReferenceChecker(reading, asked), reading, PassageEmbedder(embedder)),
            strategies=StrategyChecker(vocabulary, reading.records),
            screening=ScreeningQueues(),
            library=OwnLibrary(reading, settings.zotero_url),
        )

    return DeepCriticalServer(AppContext(settings or Settings(), build=build), profile=profile)


@asynccontextmanager
async def served(settings: Settings, **rows: Sequence[SourceRow]) -> AsyncGenerator[tuple[Client, AppContext]]:
    """A client of a server with the real services, and what the server has open. Of "sources", "full_texts" and
    "lookups" it has those that are named."""
    named = {"sources": (), "full_texts": (), "lookups": (), **rows}
    app = AppContext(settings, build=partial(build_services, **named))
    try:
        async with Client(DeepCriticalServer(app)) as client:
            yield client, app
    finally:
        await app.aclose()


@asynccontextmanager
async def sessions_in(folder: Path) -> AsyncGenerator[SessionRegistry]:
    """The sessions that are kept in a folder."""
    settings = Settings(data_dir=folder)
    registry = SessionRegistry(settings, EMBEDDER, open_backend(settings))
    try:
        yield registry
    finally:
        await registry.aclose()
