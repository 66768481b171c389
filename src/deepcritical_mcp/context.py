"""The only wiring: what lives as long as the process, opened on first use and closed with it."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.lowlevel
import anyio.to_thread

from deepcritical_mcp.config import Settings

if TYPE_CHECKING:
    import httpx

    from deepcritical_mcp.evidence.embedding.service import EmbeddingService
    from deepcritical_mcp.evidence.sessions import SessionRegistry
    from deepcritical_mcp.search.expansion import QueryExpander
    from deepcritical_mcp.search.literature import LiteratureSearch
    from deepcritical_mcp.search.web import WebSearch


@dataclass(frozen=True)
class Services:
    """What the tools call."""

    http: httpx.AsyncClient
    embedder: EmbeddingService
    sessions: SessionRegistry
    literature: LiteratureSearch
    web: WebSearch
    expander: QueryExpander


class AppContext:
    """The process's services, whatever the transport and however many connections.

    Constructing it does nothing: `initialize` must be answered before any library of weight is imported.

    Attributes:
        admission: surrounds each tool call; a transport that has limits puts its own here.
    """

    def __init__(self, settings: Settings, *, build: Callable[[Settings], Services] | None = None) -> None:
        self.settings = settings
        self.admission: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
        self._build_services = build or build_services
        self._services: Services | None = None
        self._building = threading.Lock()

    async def services(self) -> Services:
        """The services, built by the first caller (in a worker thread, since that imports libraries)."""
        return self._services or await anyio.to_thread.run_sync(self._build)

    def warm_up(self) -> None:
        """Build the services and load the model in the background, so that the first call need not wait.

        In a daemon thread: an executor's thread would hold up the process's end.
        """
        threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        self._build().embedder.warm_up()

    def _build(self) -> Services:
        with self._building:
            if self._services is None:
                import_libraries()
                self._services = self._build_services(self.settings)
            return self._services

    async def aclose(self) -> None:
        """Close the sessions and the connection pool; nothing acknowledged is lost."""
        services, self._services = self._services, None
        if services is not None:
            await services.sessions.aclose()
            await services.http.aclose()
            await anyio.lowlevel.checkpoint()  # in which the loop lets go of the sockets
            services.embedder.close()


def import_libraries() -> None:
    """Import, in one thread, what several threads would soon import at once.

    Where two threads wait for each other's modules, Python hands out a half-imported one rather than hang (seen:
    "module 'numpy' has no attribute 'matrix'" in the first call while the model was warming up).
    """
    for name in (
        "numpy",
        "deepcritical_mcp.evidence.storage.space",
        "deepcritical_mcp.evidence.searching",
        "tokenizers",
    ):
        with suppress(ImportError):  # whoever needs it says what is missing
            importlib.import_module(name)


def build_services(settings: Settings) -> Services:
    """Everything, wired once. Opens no connection and loads no model yet."""
    import httpx

    from deepcritical_mcp.logs import configure_structlog, hide_keys_in_addresses

    configure_structlog()
    hide_keys_in_addresses(*settings.secrets)
    from deepcritical_mcp.evidence.embedding.service import EmbeddingService
    from deepcritical_mcp.evidence.sessions import SessionRegistry
    from deepcritical_mcp.search.expansion import QueryExpander
    from deepcritical_mcp.search.literature import LiteratureSearch
    from deepcritical_mcp.search.web import create_web_search
    from deepcritical_mcp.sources.pubmed import eutils
    from deepcritical_mcp.sources.pubmed.mesh import MeshConcepts
    from deepcritical_mcp.sources.pubmed.source import PubMedTool

    http = httpx.AsyncClient(timeout=httpx.Timeout(10.0, connect=5.0), follow_redirects=True)
    embedder = EmbeddingService(settings)
    ncbi = eutils.connect(settings, http)
    concepts = MeshConcepts(ncbi, cache_dir=settings.cache_dir, origin=settings.ncbi_base_url)
    return Services(
        http=http,
        embedder=embedder,
        sessions=SessionRegistry(settings, embedder),
        literature=LiteratureSearch(PubMedTool(ncbi), settings),
        web=create_web_search(settings, http, embedder),
        expander=QueryExpander(settings, concepts),
    )
