"""The log of a session's searches, each entry kept as a document of its own: several processes may write at once."""

from __future__ import annotations

import secrets
import time
from typing import Protocol

import anyio

from deepcritical_mcp.errors import EvidenceStoreError
from deepcritical_mcp.models import LoggedSearch

SECONDS = 5.0
"""An entry that cannot be written in this time is given up, so that a cancelled call ends."""
LOG_PREFIX = "search-log:"
"""The names of the documents that are entries of the log begin so."""
WATCH_ENDING = "-watch"
"""The names of those that are no searches of the user's, of a watch or of a check of a draft, end so."""


class KeepsDocument(Protocol):
    """The part of `EvidenceStore` that writing a log needs."""

    async def keep_document(self, name: str, content: str) -> None: ...


class HasDocuments(Protocol):
    """The part of `EvidenceStore` that reading a log needs."""

    async def documents(self, prefix: str) -> dict[str, str]: ...


async def log_search(store: KeepsDocument, search: LoggedSearch) -> None:
    """Append to the log of searches; also in a call that is being cancelled.

    Raises the errors of `EvidenceStore`.
    """
    end = WATCH_ENDING if search.is_watch or search.is_check else ""
    name = f"{LOG_PREFIX}{search.at}-{time.time_ns():x}-{secrets.token_hex(2)}{end}"  # in the order of their writing
    with anyio.move_on_after(SECONDS, shield=True) as scope:
        await store.keep_document(name, search.model_dump_json(exclude_defaults=True))
    if scope.cancelled_caught:
        raise EvidenceStoreError("The session could not be written in time.")


async def search_log(store: HasDocuments) -> tuple[LoggedSearch, ...]:
    """The log of searches, the first one first, written by any process."""
    kept = await store.documents(LOG_PREFIX)
    return tuple(LoggedSearch.model_validate_json(one) for one in kept.values())
