"""The values that pass between a session's store and the place where it is kept."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from deepcritical_mcp.models import AuthorName, Citation, Evidence, StatusNotice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = Sequence[float] | NDArray[np.float32]

_SESSION_ID = re.compile(r"rs_[0-9a-f]{32}")


def new_session_id() -> str:
    """A session's id that nobody can guess: "rs_" and 128 random bits."""
    return f"rs_{secrets.token_hex(16)}"


def now() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


def is_session_id(text: str) -> bool:
    """Whether `text` has the form of a session's id; only such text may become part of a path."""
    return _SESSION_ID.fullmatch(text) is not None


def dumped(evidence: Evidence) -> str:
    """Evidence as it is written down; `relevance` belongs to a search, not to the evidence."""
    return evidence.model_copy(update={"relevance": 0.0}).model_dump_json(exclude_defaults=True)


def restored(text: str) -> Evidence:
    """Evidence out of what `dumped` made. It was validated then; doing it again would take twice as long.

    Raises:
        ValueError: the text is none of ours.
    """
    row: dict[str, Any] = json.loads(text)
    try:
        citation: dict[str, Any] = _with_tuples(row.pop("citation"))
        notices = [StatusNotice.model_construct(**notice) for notice in citation.pop("status_notices", ())]
        parts = [AuthorName(*part) for part in row.pop("author_parts", ())]
        return Evidence.model_construct(
            citation=Citation.model_construct(status_notices=tuple(notices), **citation),
            author_parts=tuple(parts),
            **_with_tuples(row),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a piece of evidence") from error


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for name, value in row.items()}


@dataclass(frozen=True)
class SessionInfo:
    """What is written beside a session: its owner, the model of its vectors, when it was last used (Unix seconds)."""

    owner: str
    model: str
    used: float = 0.0


@dataclass(frozen=True)
class Record:
    """A piece of evidence to keep: its place in the order of arrival, when it is written (Unix milliseconds), and a
    vector for each passage. Without vectors it waits to be embedded and is found by its words alone."""

    evidence: Evidence
    order: int
    written: int
    vectors: Sequence[Vector] = ()


@dataclass(frozen=True)
class KeptItem:
    """A piece of evidence as read back: how many passages it has, whether they have vectors, and when it was written
    (Unix milliseconds)."""

    evidence: Evidence
    order: int
    parts: int
    embedded: bool
    written: int
