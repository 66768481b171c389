"""The values exchanged between a session's store and its storage, and how they are serialized."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.identifiers import SESSION_ID
from deepcritical_mcp.models import AuthorName, Part, Publication, StatusNotice, Text, with_day
from deepcritical_mcp.text import counted

Vector = Sequence[float] | NDArray[np.float32]


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

    @property
    def size(self) -> str:
        """How much it holds, in words."""
        return counted(self.items, "item") if self.items >= 0 else "size unknown"


UNKNOWN = KeptSession(items=-1, searches=-1)
"""A session of which nothing is known."""


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
    def is_gone(self) -> bool:
        """Whether its publication was removed, and it only keeps its place."""
        return self.order == _GONE

    @property
    def place(self) -> KeptItem:
        """What takes its place when it is removed, so that other processes learn of that."""
        text = Text(kind="note", content="[removed]")
        return KeptItem(
            Publication(id=self.id, source=self.publication.source, title="[removed]", texts=(text,)), _GONE
        )


_GONE = -1


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
