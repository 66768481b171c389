"""Sessions and their items as they are kept: the values exchanged between a store and its storage, and how they are
serialized; and the titles by which a session is found again."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from deepcritical_mcp.errors import AmbiguousSessionError, InvalidInputError
from deepcritical_mcp.identifiers import SESSION_ID
from deepcritical_mcp.models import Accession, AuthorName, Part, Publication, StatusNotice, Text, with_day
from deepcritical_mcp.text import clean_line, clipped, counted, normalized

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "Sequence[float] | NDArray[np.float32]"


def new_session_id() -> str:
    """An unguessable session id: "rs_" and 128 random bits."""
    return f"rs_{secrets.token_hex(16)}"


def now() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


def is_session_id(text: str) -> bool:
    """Whether `text` has the form of a session id; only such text may become part of a path."""
    return SESSION_ID.fullmatch(text) is not None


def dumped(publication: Publication) -> str:
    """A publication, serialized."""
    return publication.model_dump_json(exclude_defaults=True)


def restored(text: str) -> Publication:
    """The publication that `dumped` wrote. It was validated then; validating again would take twice as long.

    Raises:
        ValueError: the text was not written by `dumped`.
    """
    return _publication(json.loads(text))


def _publication(written: dict[str, Any]) -> Publication:
    try:
        row = cast("dict[str, Any]", with_day(written))
        nested = {
            "texts": tuple(_text(one) for one in row.pop("texts")),
            "authors": tuple(AuthorName(*one) for one in row.pop("authors", ())),
            "editors": tuple(AuthorName(*one) for one in row.pop("editors", ())),
            "accessions": tuple(Accession(*one) for one in row.pop("accessions", ())),
            "status_notices": tuple(StatusNotice.model_construct(**one) for one in row.pop("status_notices", ())),
        }
        lists = {name: tuple(cast("list[Any]", value)) for name, value in row.items() if isinstance(value, list)}
        return _BLANK.model_copy(update={**row, **lists, **nested})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a publication") from error


def _text(row: dict[str, Any]) -> Text:
    parts = (_BLANK_PART.model_copy(update={**one, "path": tuple(one.get("path", ()))}) for one in row.pop("parts", ()))
    return _BLANK_TEXT.model_copy(update={**row, "parts": tuple(parts), "remarks": tuple(row.pop("remarks", ()))})


# Copying takes a tenth of the time of constructing, which looks up the default of every field.
_BLANK = Publication.model_construct(set(), id="", texts=(), source="user", title="")
_BLANK_TEXT = Text.model_construct(set(), kind="note", content="")
_BLANK_PART = Part.model_construct(set(), anchor="")


@dataclass(frozen=True)
class KeptSession:
    """What is known of a session without reading its evidence.

    Attributes:
        session_id: "" where that is known anyway.
        title: the user's, else the first query, else "".
        created, used: its beginning and its last use (Unix seconds); 0.0 = unknown.
        expires: when it is deleted if nobody uses it (Unix seconds); 0.0 if it is not kept, or not yet.
        items, searches: publications and entries of the log; -1 = unknown, as of versions that did not count.
        damage: what was lost when its file was found damaged, for people; "" if that never was.
        owner: digest of the owner's name; "" without authentication.
        model: the model of its vectors.
    """

    session_id: str = ""
    title: str = ""
    created: float = 0.0
    used: float = 0.0
    expires: float = 0.0
    items: int = 0
    searches: int = 0
    damage: str = ""
    owner: str = ""
    model: str = ""


UNKNOWN = KeptSession(items=-1, searches=-1)
"""A session of which nothing is known."""
UNREAD_TITLE = "(cannot be read)"
"""Stands in place of the title of a session that is locked or damaged."""


@dataclass(frozen=True)
class KeptItem:
    """A publication as it is stored.

    Attributes:
        order: its position in insertion order.
        vectors: how many of its passages, from the first on, have vectors; without any, it is found by words only.
        similar: the ids of nearly identical publications.
        given: the descriptions that were merged into it, each as it was added; () if it has only one.
    """

    publication: Publication
    order: int
    vectors: int = 0
    similar: tuple[str, ...] = ()
    given: tuple[Publication, ...] = ()

    @property
    def id(self) -> str:
        """The publication's id."""
        return self.publication.id

    @property
    def members(self) -> tuple[Publication, ...]:
        """The descriptions that the publication consists of."""
        return self.given or (self.publication,)

    @property
    def place(self) -> KeptItem:
        """The row that stands for it once it is removed, from which other processes learn of that."""
        text = Text(kind="note", content="[removed]")
        return KeptItem(Publication(id=self.id, source=self.publication.source, title="[removed]", texts=(text,)), GONE)


GONE = -1
"""The `order` of an item whose publication was removed, and that only keeps its place."""


def packed(item: KeptItem) -> bytes:
    """An item without its vectors, serialized."""
    row = {"order": item.order, "similar": item.similar}
    given = ",".join(map(dumped, item.given))
    text = f'{json.dumps(row)[:-1]},"publication":{dumped(item.publication)},"given":[{given}]}}'
    return text.encode("utf-8", "surrogatepass")


def unpacked(data: bytes) -> KeptItem:
    """The item that `packed` serialized; raises ValueError."""
    row = cast("dict[str, Any]", json.loads(data.decode("utf-8", "surrogatepass")))
    publication = _publication(row["publication"])
    given = tuple(sharing(publication, _publication(one)) for one in row["given"])
    return KeptItem(publication, row["order"], similar=tuple(row["similar"]), given=given)


def sharing(publication: Publication, member: Publication) -> Publication:
    """`member` with the texts that `publication` has from it, instead of copies."""
    texts = tuple(next((one for one in publication.texts if one == text), text) for text in member.texts)
    return member.model_copy(update={"texts": texts})


class NearPassage(NamedTuple):
    """A passage near a vector: its publication, its index among the publication's passages, and its cosine."""

    id: str
    part: int
    cosine: float


CITED = "cited-paper:"
"""The names of the documents of a session that are papers which a draft cites begin so."""
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


def described(session: KeptSession, *, titled: bool = False) -> str:
    """A session's id, its title if it is to be `titled`, its size and last use."""
    facts = [f'{session.session_id} = "{session.title}"' if titled else session.session_id]
    facts += [counted(session.items, "item")] if session.items >= 0 else []
    facts += [f"last used {minute(session.used)} UTC"] if session.used else []
    return ", ".join(facts)


def minute(at: float) -> str:
    """A time (Unix seconds) as "2026-11-23 04:45" in UTC; "" for 0.0, which is unknown."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}" if at else ""


def check_title_is_free(title: str, sessions: Sequence[KeptSession]) -> None:
    """Check that none of `sessions` (latest use first) has that title.

    Raises:
        InvalidInputError: one has, or several have; the message says how to continue the latest.
    """
    same = _titled(sessions, folded_title(title))
    if same:
        latest = same[0]
        name = latest.session_id if len(same) > 1 else latest.title
        told = (
            f'You have a session with the title "{latest.title}" already ({described(latest)}). Pass '
            f'session_id="{name}" to continue it, or another title for a new one.'
        )
        raise InvalidInputError(told, details={"session_id": latest.session_id})


def with_title(sessions: Sequence[KeptSession], title: str) -> KeptSession | None:
    """The one of `sessions` (latest use first) with that title, else the only one whose title begins so. Case and
    blanks do not matter.

    Raises:
        AmbiguousSessionError: there are several.
    """
    key = folded_title(title)
    exact = _titled(sessions, key)
    found = exact or [one for one in sessions if key and folded_title(one.title).startswith(key)]
    if len(found) > 1:
        have = "the title" if exact else "titles that begin with"
        lines = [described(one, titled=True) for one in found[:MAX_NAMED]]
        more = f", and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        raise AmbiguousSessionError(
            f'{len(found)} sessions have {have} "{clean_line(title)[:MAX_TITLE]}". '
            f"Pass the id of one instead: {'; '.join(lines)}{more}.",
            [one.session_id for one in found],
        )
    return found[0] if found else None


def _titled(sessions: Sequence[KeptSession], folded: str) -> list[KeptSession]:
    """Those of `sessions` that have exactly that title, see `folded_title`."""
    return [one for one in sessions if one.title and folded_title(one.title) == folded]


def _is_free(title: str) -> bool:
    """Whether a title cannot be mistaken for another value of session_id."""
    return title.partition(":")[0].strip().casefold() != _NEW and not title.casefold().startswith(ID_PREFIX)


def folded_title(title: str) -> str:
    """The form in which titles are compared, regardless of case, blanks and the encoding of accents."""
    return normalized("NFKC", clean_line(title)).casefold()
