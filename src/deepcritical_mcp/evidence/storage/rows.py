"""The values that pass between a session's store and the place where it is kept, and how they are written down."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.models import AuthorName, Publication, StatusNotice, Text

Vector = Sequence[float] | NDArray[np.float32]

_SESSION_ID = re.compile(r"rs_[0-9a-f]{32}")


def new_session_id() -> str:
    """A session's id that nobody can guess: "rs_" and 128 random bits."""
    return f"rs_{secrets.token_hex(16)}"


def now() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


def is_session_id(text: str) -> bool:
    """Whether `text` has the form of a session id; only such text may become part of a path."""
    return _SESSION_ID.fullmatch(text) is not None


def dumped(publication: Publication) -> str:
    """A publication as it is written down."""
    return publication.model_dump_json(exclude_defaults=True)


def restored(text: str) -> Publication:
    """The publication that `dumped` wrote. It was validated then; validating again would take twice as long.

    Raises:
        ValueError: the text was not written by `dumped`.
    """
    try:
        row = cast("dict[str, Any]", json.loads(text))
        nested = {
            "texts": tuple(Text.model_construct(**one) for one in row.pop("texts")),
            "authors": tuple(AuthorName(*one) for one in row.pop("authors", ())),
            "editors": tuple(AuthorName(*one) for one in row.pop("editors", ())),
            "status_notices": tuple(StatusNotice.model_construct(**one) for one in row.pop("status_notices", ())),
        }
        return Publication.model_construct(**nested, **_with_tuples(row))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a publication") from error


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for name, value in row.items()}


@dataclass(frozen=True)
class SessionInfo:
    """What is written next to a session: its owner, the model of its vectors, when it was last used (Unix seconds)."""

    owner: str
    model: str
    used: float = 0.0


@dataclass(frozen=True)
class Record:
    """A publication to keep: its place in the order of arrival, when it is written (Unix milliseconds), what says
    nearly the same, and a vector for each passage. Without vectors it waits to be embedded and is found by its words
    alone."""

    publication: Publication
    order: int
    written: int
    similar: tuple[str, ...] = ()
    vectors: Sequence[Vector] = ()


@dataclass(frozen=True)
class KeptItem:
    """A publication as read back: what says nearly the same, how many passages it has, whether they have vectors, and
    when it was written (Unix milliseconds)."""

    publication: Publication
    order: int
    parts: int
    embedded: bool
    written: int
    similar: tuple[str, ...] = ()
