"""Sessions as they are kept: what can be said of one without opening it, the titles by which it is found again, and
its log of searches."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import anyio

from deepcritical_mcp.errors import AmbiguousSessionError, EvidenceStoreError, InvalidInputError
from deepcritical_mcp.models import LoggedSearch
from deepcritical_mcp.text import clean_line, clipped, normalized

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.storage.stored_items import KeptSession

SECONDS = 5.0
"""An entry that cannot be written in this time is given up, so that a cancelled call ends."""
LOG_PREFIX = "search-log:"
"""Prefix of the names of documents that are entries of the log."""
WATCH_ENDING = "-watch"
"""Suffix of the names of entries that are not the user's own searches: those of a watch or of a check of a draft."""


class KeepsDocument(Protocol):
    """The part of `EvidenceStore` that writing a log needs."""

    async def keep_document(self, name: str, content: str) -> None: ...


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


class HasDocuments(Protocol):
    """The part of `EvidenceStore` that holds the log."""

    async def documents(self, prefix: str) -> dict[str, str]: ...


def is_own_search(name: str) -> bool:
    """Whether the document of that name is the log's entry of a search of the user's own."""
    return name.startswith(LOG_PREFIX) and not name.endswith(WATCH_ENDING)


async def search_log(store: HasDocuments) -> tuple[LoggedSearch, ...]:
    """The log of searches, the first one first, written by any process."""
    kept = await store.documents(LOG_PREFIX)
    return tuple(LoggedSearch.model_validate_json(one) for one in kept.values())


MAX_TITLE = 120  # characters
MAX_NAMED = 5
ID_PREFIX = "rs_"
_NEW = "new"


def session_title(text: str) -> str:
    """`text` as a title: on one line.

    Raises:
        InvalidInputError: it is empty or too long, or would be taken for an id or for "new".
    """
    title = clean_line(text)
    if not title or len(title) > MAX_TITLE:
        raise InvalidInputError(f"A title has 1 to {MAX_TITLE} characters, and this one has {len(title)}.")
    if not _is_free(title):
        raise InvalidInputError(
            f'"{title}" cannot be a title: a session_id like that is an id or opens a new session. Pass some words.'
        )
    return title


def title_of_query(query: str) -> str:
    """The title of a session whose first query this is; "" if the query has no words."""
    title = clipped(clean_line(query), MAX_TITLE - 2)
    return title if _is_free(title) else f'"{title}"'


def with_title(sessions: Sequence[KeptSession], title: str) -> KeptSession | None:
    """The one of `sessions` (latest use first) with that title, else the only one whose title begins so. Case and
    blanks do not matter.

    Raises:
        AmbiguousSessionError: there are several.
    """
    key = folded_title(title)
    exact = [one for one in sessions if one.title and folded_title(one.title) == key]
    found = exact or [one for one in sessions if key and folded_title(one.title).startswith(key)]
    if len(found) > 1:
        have = "the title" if exact else "titles that begin with"
        raise AmbiguousSessionError(_choice(title, found, have), [one.session_id for one in found])
    return found[0] if found else None


def _choice(title: str, found: Sequence[KeptSession], have: str) -> str:
    what = f'{len(found)} sessions have {have} "{clean_line(title)[:MAX_TITLE]}"'
    more = f", and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return f"{what}. Pass the id of one instead: {'; '.join(map(_line, found[:MAX_NAMED]))}{more}."


def _line(one: KeptSession) -> str:
    used = f", last used {datetime.fromtimestamp(one.used, UTC):%Y-%m-%d %H:%M} UTC" if one.used else ""
    return f'{one.session_id} = "{one.title}", {one.size}{used}'


def _is_free(title: str) -> bool:
    """Whether a title cannot be mistaken for another value of session_id."""
    return title.partition(":")[0].strip().casefold() != _NEW and not title.casefold().startswith(ID_PREFIX)


def folded_title(title: str) -> str:
    """The form in which titles are compared, regardless of case, blanks and the encoding of accents."""
    return normalized("NFKC", clean_line(title)).casefold()
