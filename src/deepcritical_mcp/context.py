"""Wires the application: services are built on first use and live as long as the process."""

from __future__ import annotations

import gc
import pkgutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio.lowlevel
import anyio.to_thread

from deepcritical_mcp.config import Settings

if TYPE_CHECKING:
    import httpx

    from deepcritical_mcp.checking.checker import CitationChecker
    from deepcritical_mcp.evidence.embedding.service import EmbeddingService
    from deepcritical_mcp.evidence.sessions import SessionRegistry
    from deepcritical_mcp.evidence.storage import StoreRow
    from deepcritical_mcp.screening.queue import ScreeningQueues
    from deepcritical_mcp.search.expansion.expander import QueryExpander
    from deepcritical_mcp.search.full_texts import FullTexts
    from deepcritical_mcp.search.library.own_library import OwnLibrary
    from deepcritical_mcp.search.pipeline import SearchHandler, SourceSearch
    from deepcritical_mcp.search.strategy.checker import StrategyChecker
    from deepcritical_mcp.search.witness import Witness
    from deepcritical_mcp.sources import SourceRow
    from deepcritical_mcp.sources.base import Service


@dataclass(frozen=True)
class Services:
    """What the tools call: a search for each source by its name, in the order of `SOURCES`, and one for all of them;
    what proposes queries; what reads documents; what checks their status; what checks drafts, and search strategies;
    the queues of what is screened; records of libraries; the services that know something about documents."""

    http: httpx.AsyncClient
    embedder: EmbeddingService
    sessions: SessionRegistry
    searches: Mapping[str, SourceSearch]
    everywhere: SearchHandler
    expander: QueryExpander
    full_texts: FullTexts
    witness: Witness
    checker: CitationChecker
    strategies: StrategyChecker
    screening: ScreeningQueues
    library: OwnLibrary
    lookups: tuple[Service, ...] = ()


Build = Callable[[Settings], Services]
Admission = Callable[[], AbstractAsyncContextManager[None]]
"""Surrounds a tool call; raises a `DeepCriticalError` to refuse it."""


class AppContext:
    """The process's services, for any transport and any number of connections.

    Construction does nothing: `initialize` must be answered before heavy libraries are imported. `build` makes the
    services from the settings. `hidden_tools` are those that the server does not offer, so that no advice names them.
    """

    def __init__(self, settings: Settings, *, build: Build | None = None, admission: Admission = nullcontext) -> None:
        self.settings = settings
        self.admission = admission
        self.hidden_tools: Sequence[str] = ()
        self._build_services = build or build_services
        self._services: Services | None = None
        self._building = threading.Lock()

    async def services(self) -> Services:
        """The services, built in a worker thread because that imports libraries; goes on if the caller gives up."""
        return self._services or await anyio.to_thread.run_sync(self._build, abandon_on_cancel=True)

    def warm_up(self) -> None:
        """Build the services, load the model and prepare a session in the background: the first call need not wait.

        In a daemon thread: an executor's thread would keep the process alive.
        """

        def work() -> None:
            try:
                services = self._build()
                services.embedder.warm_up()
            finally:
                gc.freeze()  # a collection would stop the process for half a second to look at what was imported
                gc.set_threshold(700)  # as usual; `main` raised it

        threading.Thread(target=work, name="warm-up", daemon=True).start()

    def _build(self) -> Services:
        with self._building:
            if self._services is None:
                self._services = self._build_services(self.settings)
            return self._services

    async def aclose(self) -> None:
        """Close the sessions and the connection pool; nothing that was acknowledged is lost."""
        services, self._services = self._services, None
        if services is not None:
            from deepcritical_mcp.reading.reader_process import end_readers

            await services.library.aclose()
            await services.sessions.aclose()
            await anyio.to_thread.run_sync(end_readers)
            await services.http.aclose()
            await anyio.lowlevel.checkpoint()  # lets the event loop release the sockets
            services.embedder.close()


def build_services(
    settings: Settings,
    *,
    sources: Sequence[SourceRow] | None = None,
    full_texts: Sequence[SourceRow] | None = None,
    lookups: Sequence[SourceRow] | None = None,
    stores: Sequence[StoreRow] | None = None,
) -> Services:
    """All services; `sources`, `full_texts`, `lookups` and `stores` replace the tables.

    Opens no connection and loads no model yet.

    Its imports are inside the function because they take most of a second, and `initialize` must be answered first.
    They run in one thread, because two threads that import the same modules at once may see them half initialized.
    """
    import httpx

    from deepcritical_mcp.checking.checker import CitationChecker
    from deepcritical_mcp.checking.reference_checker import ReferenceChecker
    from deepcritical_mcp.evidence.embedding.service import EmbeddingService
    from deepcritical_mcp.evidence.session_access import PassageEmbedder
    from deepcritical_mcp.evidence.sessions import SessionRegistry
    from deepcritical_mcp.evidence.storage import open_backend
    from deepcritical_mcp.logs import hide_keys_in_urls
    from deepcritical_mcp.net.client import Net
    from deepcritical_mcp.screening.queue import ScreeningQueues
    from deepcritical_mcp.search.expansion.expander import QueryExpander
    from deepcritical_mcp.search.full_texts import FullTexts
    from deepcritical_mcp.search.library.own_library import OwnLibrary
    from deepcritical_mcp.search.linking import LinkIndexes
    from deepcritical_mcp.search.pipeline import SearchHandler, SourceSearch
    from deepcritical_mcp.search.strategy.checker import StrategyChecker
    from deepcritical_mcp.search.witness import Witness
    from deepcritical_mcp.sources import CROSSREF, FULL_TEXTS, LOOKUPS, SOURCES, records_off, why_off
    from deepcritical_mcp.sources.base import Service, Source, created
    from deepcritical_mcp.sources.lookup import CitationCounter, FullTextSource, LinkLookup, NameLookup

    rows = (*(sources or ()), *(full_texts or ()), *(lookups or ()), *(stores or ()))
    settings = settings.including(pkgutil.resolve_name(row.settings) for row in rows if row.settings)
    hide_keys_in_urls(*settings.secrets)
    http = httpx.AsyncClient(timeout=httpx.Timeout(10.0, connect=5.0), follow_redirects=True)
    backend = open_backend(settings, stores)
    # Vectors are cached next to the sessions, which clears them with the sessions: elsewhere nobody would.
    in_folder = backend.lasting and not backend.remote
    embedder = EmbeddingService(settings if in_folder else settings.model_copy(update={"data_dir": None}))
    net = Net(http)
    built = created(Source, SOURCES if sources is None else sources, settings, net)
    pubmed = next((one for one in built if one.name == "pubmed"), None)
    known = tuple(created(Service, LOOKUPS if lookups is None else lookups, settings, net))
    counter = next((one for one in known if isinstance(one, CitationCounter)), None)
    witness = Witness(known, pubmed, off=("Crossref",) if why_off(CROSSREF, settings.off) else ())
    readers = created(FullTextSource, FULL_TEXTS if full_texts is None else full_texts, settings, net)
    reading = FullTexts(readers, pubmed, lookups=known, seconds=settings.deadline, off=records_off(settings.off))
    namers = [one for one in known if isinstance(one, NameLookup)]
    links = LinkIndexes([one for one in known if isinstance(one, LinkLookup)], namers, reading.records)
    references = ReferenceChecker(reading, witness)
    checker = CitationChecker(references, reading, PassageEmbedder(embedder), seconds=settings.deadline)
    vocabulary = next((one.vocabulary for one in built if one.vocabulary), None)
    search = partial(
        SourceSearch, seconds=settings.deadline, witness=witness, links=links, counts=settings.citation_counts
    )
    return Services(
        http=http,
        embedder=embedder,
        sessions=SessionRegistry(settings, embedder, backend),
        searches={one.name: search(one, counter=counter if one is pubmed else None) for one in built},
        everywhere=SearchHandler(built, seconds=settings.deadline, witness=witness),
        expander=QueryExpander(settings, vocabulary),
        full_texts=reading,
        witness=witness,
        checker=checker,
        strategies=StrategyChecker(vocabulary, reading.records, seconds=settings.deadline),
        screening=ScreeningQueues(),
        library=OwnLibrary(reading, settings.zotero_url),
        lookups=known,
    )
