"""Sessions on a Chroma server, which several processes may share."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import chromadb
import httpx
from chromadb.api.client import Client
from chromadb.errors import NotFoundError

from deepcritical_mcp.evidence.storage.backend import Backend
from deepcritical_mcp.evidence.storage.chroma_space import WORDS, ChromaSpace, chroma_settings, session_info, translated
from deepcritical_mcp.evidence.storage.rows import SessionInfo, is_session_id
from deepcritical_mcp.evidence.storage.upgrade import PAGE

if TYPE_CHECKING:
    from chromadb import Collection

SERVER_BATCH = 64
SERVER_TIMEOUT = 10.0
"""Seconds to wait for one response."""


class ServerBackend(Backend):
    """Keeps sessions on the Chroma server at `url`; connects when first used."""

    lasting = True
    shared = True
    batch = SERVER_BATCH

    def __init__(self, url: str, *, limit: int) -> None:
        self.limit = limit
        self._url = url
        self._lock = threading.Lock()
        self._connected: tuple[Client, contextlib.ExitStack] | None = None

    def create(self, session_id: str, info: SessionInfo) -> ChromaSpace:
        return ChromaSpace.create(self._client(), session_id, info)

    def open(self, session_id: str, model: str) -> ChromaSpace:
        return ChromaSpace.open(self._client(), session_id, model)

    def delete_unused(self, since: float) -> None:
        client = self._client()
        with translated("delete old sessions"):
            names: list[str] = []
            while page := client.list_collections(limit=PAGE, offset=len(names)):
                names += [collection.name if _is_unused(collection, since) else "" for collection in page]
            for name in filter(None, names):
                with contextlib.suppress(NotFoundError):
                    client.delete_collection(name)

    def check(self) -> None:
        client = self._client()
        with translated("reach its server"):
            client.heartbeat()

    def close(self) -> None:
        if self._connected is not None:
            self._connected[1].close()
            self._connected = None

    def _client(self) -> Client:
        with self._lock:
            if self._connected is None:
                self._connected = connect(self._url, timeout=SERVER_TIMEOUT)
            return self._connected[0]


def connect(url: str, *, timeout: float) -> tuple[Client, contextlib.ExitStack]:
    """A client of a Chroma server that waits at most `timeout` seconds for each response, and what closes it.

    Raises:
        EvidenceStoreError: the server does not respond.
    """
    parts = urlsplit(url)
    ssl = parts.scheme == "https"
    port = parts.port or (443 if ssl else 80)
    with translated("reach its server"):
        client = cast("Client", chromadb.HttpClient(parts.hostname or "", port, ssl=ssl, settings=chroma_settings()))
    closing = contextlib.ExitStack()
    # Chroma's client, and the admin client inside it, wait forever and leave their connections open when closed.
    for part in (client, getattr(client, "_admin_client", None)):
        http = getattr(getattr(part, "_server", None), "_session", None)
        if isinstance(http, httpx.Client):
            http.timeout = httpx.Timeout(timeout)
            closing.callback(http.close)
    closing.callback(client.close)
    return client, closing


def _is_unused(collection: Collection, since: float) -> bool:
    return is_session_id(collection.name.removesuffix(WORDS)) and 0 < session_info(collection.metadata).used < since
