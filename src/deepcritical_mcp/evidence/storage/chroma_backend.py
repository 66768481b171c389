"""Sessions on a Chroma server, which several processes may share."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, Self

import httpx
from chromadb import Collection
from chromadb.api import ServerAPI
from chromadb.api.client import Client
from chromadb.config import System
from chromadb.errors import NotFoundError, error_types

from deepcritical_mcp.config import Settings
from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.errors import EvidenceStoreError, ProviderError, ProviderTimeoutError, SessionNotFoundError
from deepcritical_mcp.evidence.storage import ChromaServerSettings
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.chroma_rows import PAGE, TURN, WORDS, ServerRows, session_info, translated
from deepcritical_mcp.evidence.storage.stored_items import KeptSession, is_session_id
from deepcritical_mcp.evidence.storage.vector_table import chroma_settings
from deepcritical_mcp.net.circuit_breaker import CircuitBreaker

_MEANINGS = data_table(__file__, "chroma_refusals.txt")


class ServerBackend(Backend):
    """Keeps sessions on a Chroma server; connects when first used."""

    title = "Chroma server"
    advice = "Start the server that DEEPCRITICAL_CHROMA_URL names, or unset it."
    lasting = True
    shared = remote = True
    max_awake = 1_000

    def __init__(self, settings: ChromaServerSettings, *, limit: int) -> None:
        self.limit = limit
        self._settings = settings
        self._http = _ChromaHttp(settings)
        self._connected: Client | None = None

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        ours = settings.of(ChromaServerSettings)
        return cls(ours, limit=settings.max_sessions) if ours.chroma_url.get_secret_value() else None

    def create(self, session_id: str, info: KeptSession, *, is_only: bool = False) -> Space:
        return Space(session_id, ServerRows.create(self._client(), session_id, info))

    def open(self, session_id: str, model: str) -> Space:
        return Space.of_model(session_id, ServerRows.open(self._client(), session_id), model)

    def delete(self, space: Space) -> None:
        try:
            with space.turn():  # what another process has begun to write would come back
                self._drop(space.session_id)
        except SessionNotFoundError:  # its deletion was interrupted
            self._drop(space.session_id)
        space.close()

    def discard(self, session_id: str, owner: str) -> bool:
        is_there = session_id in self.sessions(owner)
        if is_there:
            self._drop(session_id)
        return is_there

    def _drop(self, session_id: str) -> None:
        with translated("delete the session"):
            for name in (session_id + WORDS, session_id):
                with contextlib.suppress(NotFoundError):
                    self._client().delete_collection(name)

    def sessions(self, owner: str | None) -> dict[str, KeptSession]:
        with translated("list the sessions"):
            found = {one.name: session_info(one.metadata) for one in self._collections()}
        titles = {name.removesuffix(WORDS): info.title for name, info in found.items() if name.endswith(WORDS)}
        return {
            name: replace(info, title=titles.get(name, ""))
            for name, info in found.items()
            if is_session_id(name) and owner in (None, info.owner)
        }

    def expire(self, now: float, ttl: float) -> None:
        with translated("delete old sessions"):
            used = {one.name: session_info(one.metadata).used for one in self._collections()}
            for name, own in used.items():
                session_id = name.removesuffix(WORDS).partition(TURN)[0]
                # Only the first collection is told of each use.
                if is_session_id(session_id) and 0 < used.get(session_id, own) < now - ttl:
                    with contextlib.suppress(NotFoundError):
                        self._client().delete_collection(name)

    def _collections(self) -> list[Collection]:
        client = self._client()
        found: list[Collection] = []
        while page := client.list_collections(limit=PAGE, offset=len(found)):
            found += page
        return found

    def check(self) -> None:
        client = self._client()
        with translated("reach its server"):
            client.list_collections(limit=1)

    def close(self) -> None:
        self._http.close()

    def _client(self) -> Client:
        # Without a lock, which would be held over the network: two threads may connect, and share connections anyway.
        if self._connected is None:
            tenant, database = self._settings.chroma_tenant, self._settings.chroma_database
            options = chroma_settings()
            options.chroma_api_impl = "chromadb.api.fastapi.FastAPI"
            options.chroma_server_host = self._settings.chroma_url.get_secret_value().rstrip("/")
            options.chroma_server_http_port = 0  # it is part of the address
            options.chroma_server_headers = dict(self._http.headers)
            with translated("reach its server"):
                server = System(options).instance(ServerAPI)
                vars(server)["_session"] = self._http
                try:
                    server.get_database(database, tenant)
                except NotFoundError:
                    raise _refused(404) from None
            self._connected = _ChromaClient(server, tenant, database)
        return self._connected


class _ChromaClient(Client):
    """Chroma's client over connections of ours: its own wait forever, even while it is constructed."""

    def __init__(self, server: ServerAPI, tenant: str, database: str) -> None:
        self._server, self.tenant, self.database = server, tenant, database


class _ChromaHttp(httpx.Client):
    """Connections to the server, whose failures are our errors. After a time-out, requests fail at once for as long as
    one takes; then a single one is tried."""

    def __init__(self, settings: ChromaServerSettings) -> None:
        super().__init__(timeout=settings.chroma_timeout, headers={"Content-Type": "application/json"})
        self._circuit = CircuitBreaker("chroma", "Chroma", threshold=1, cooldown=settings.chroma_timeout)
        if token := settings.chroma_token.get_secret_value():
            header = settings.chroma_token_header
            self.headers[header] = f"Bearer {token}" if header == "Authorization" else token

    def request(self, method: str, url: httpx.URL | str, **options: Any) -> httpx.Response:
        try:
            with self._circuit.guard():
                try:
                    response = super().request(method, url, **options)
                except httpx.TimeoutException as error:
                    raise ProviderTimeoutError("chroma", type(error).__name__) from error
        except ProviderError as error:
            wait = max(error.retry_after, 1.0)
            text = "The Chroma server does not respond. Evidence stored earlier is safe; try again in"
            raise EvidenceStoreError(f"{text} {wait:.0f} seconds.", retry_after=wait) from error
        is_readable = response.status_code not in (401, 403) and any(name in response.text for name in error_types)
        if not response.is_success and not is_readable:  # by Chroma's client
            raise _refused(response.status_code)
        return response


def _refused(status: int) -> EvidenceStoreError:
    may_pass = status >= 500 or status == 429
    advice = "evidence stored earlier is safe; try again in a moment." if may_pass else _MEANINGS.get(str(status))
    advice = advice or "check the address in DEEPCRITICAL_CHROMA_URL."
    error = EvidenceStoreError(f"The Chroma server answered HTTP {status}: {advice}")
    error.retryable = may_pass
    return error
