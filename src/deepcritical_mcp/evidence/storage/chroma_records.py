"""A session as records of Chroma: what their metadata says, and what Chroma raises as errors of ours."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
from chromadb.errors import ChromaError, NotFoundError

from deepcritical_mcp.errors import EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.session_file import DISK_FULL
from deepcritical_mcp.evidence.storage.stored_items import UNKNOWN, KeptItem, KeptSession, dumped, restored, sharing

if TYPE_CHECKING:
    from chromadb.types import Metadata

logger = logging.getLogger(__name__)

FORMAT = 2
"""Written next to each session; version 0.1 wrote none."""
_WRITTEN = ("owner", "model", "used", "created", "items", "searches")
_REASONS = {
    "the Chroma server does not respond. Evidence stored earlier is safe; try again in a moment.": (
        "could not connect",
    ),
    DISK_FULL: ("full", "no space", "disk i/o", "file too large"),
    "its database failed. Try again, or open a new session.": ("",),
}
"""What is wrong, by what Chroma's message says."""


@contextlib.contextmanager
def translated(action: str) -> Generator[None]:
    """Translate what Chroma raises while it tries to `action` into one of our errors.

    Raises:
        SessionNotFoundError: the collection is gone.
        EvidenceStoreError: anything else.
    """
    try:
        yield
    except NotFoundError:
        raise SessionNotFoundError() from None
    # Chroma raises bare ValueErrors and RuntimeErrors besides its own errors.
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError) as error:
        logger.warning("chroma could not %s: %s", action, type(error).__name__)
        text = "could not connect" if isinstance(error, httpx.HTTPError) else str(error).lower()
        reason = next(reason for reason, signs in _REASONS.items() if any(sign in text for sign in signs))
        raise EvidenceStoreError(f"The evidence store could not {action}: {reason}") from error


def session_info(metadata: Mapping[str, Any] | None) -> KeptSession:
    """What a collection's metadata says about its session."""
    known = {name: value for name, value in (metadata or {}).items() if name in (*_WRITTEN, "title")}
    return replace(UNKNOWN, **{name: type(getattr(UNKNOWN, name))(value) for name, value in known.items()})


def collection_metadata(info: KeptSession) -> dict[str, Any]:
    """The metadata from which `session_info` reads the same, except for the title."""
    return {name: getattr(info, name) for name in _WRITTEN} | {"format": FORMAT}


def record_row(item: KeptItem, written: int, part: int = 0) -> Metadata:
    """The metadata of the record of a passage; from that of the first one, the item can be read again, and when it was
    written (Unix milliseconds)."""
    if part:
        return {"source": item.publication.source}
    return {
        "source": item.publication.source,
        "order": item.order,
        "parts": item.vectors,
        "written": written,
        "similar": "\n".join(item.similar),
        "publication": dumped(item.publication),
        "given": json.dumps([dumped(one) for one in item.given]),
        "evidence": "",  # makes version 0.1 fail, which would otherwise show an empty session
    }


def item_of(row: Mapping[str, Any], *, embedded: bool) -> KeptItem:
    """The item of which `record_row` wrote the first record; raises ValueError."""
    publication = restored(row["publication"])
    return KeptItem(
        publication=publication,
        order=int(row["order"]),
        vectors=int(row["parts"]) if embedded else 0,
        similar=tuple(filter(None, str(row.get("similar", "")).split("\n"))),
        given=tuple(map(partial(sharing, publication), map(restored, json.loads(row.get("given", "[]"))))),
    )
