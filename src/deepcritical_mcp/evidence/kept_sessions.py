"""What can be said of a session without opening it, and the titles by which sessions are found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from deepcritical_mcp.errors import AmbiguousSessionError, InvalidInputError
from deepcritical_mcp.text import clean_line, clipped, counted, normalized

MAX_TITLE = 120  # characters
MAX_NAMED = 5
ID_PREFIX = "rs_"
_NEW = "new"


@dataclass(frozen=True)
class KeptSession:
    """A session as a list of sessions shows it.

    Attributes:
        title: the user's, else the first query, else "".
        created, used: Unix seconds; 0.0 = unknown, as of earlier versions.
        expires: when it is deleted if nobody uses it (Unix seconds); 0.0 if it is not kept, or not yet.
        items: publications; -1 = unknown, as of earlier versions.
        searches: entries of the log; -1 = unknown.
        damage: what was lost when its file was found damaged; "" if that never was.
    """

    session_id: str
    title: str = ""
    created: float = 0.0
    used: float = 0.0
    expires: float = 0.0
    items: int = 0
    searches: int = 0
    damage: str = ""

    @property
    def size(self) -> str:
        """How much it holds, in words."""
        return counted(self.items, "item") if self.items >= 0 else "size unknown"


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
    """Whether a title is not what session_id means otherwise."""
    return title.partition(":")[0].strip().casefold() != _NEW and not title.casefold().startswith(ID_PREFIX)


def folded_title(title: str) -> str:
    """What titles are compared by: case, blanks and the way in which an accent is encoded do not matter."""
    return normalized("NFKC", clean_line(title)).casefold()
