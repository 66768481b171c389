"""What the tool `add_evidence` returns."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.models.publication import Value

FetchVerdict = Literal["found", "not_found", "ambiguous", "wrong", "outage"]
"""What became of a record that was to be fetched."""


class AddedItem(Value):
    """Item `index` of the call is now kept under `id`; of a record that was fetched, its `reference`."""

    index: int
    id: str
    reference: str = ""


class DuplicateItem(Value):
    """Item `index` duplicates `duplicate_of`, which the session already has."""

    index: int
    duplicate_of: str
    reference: str = ""
    similarity: float
    reason: str


class SimilarItem(Value):
    """Item `index` is nearly identical to `id`; both are kept."""

    index: int
    id: str
    similarity: float


class RecordCandidate(Value):
    """A record that an item may mean: `id`, e.g. "pubmed:31978945", fetches it."""

    id: str
    reference: str


class RejectedItem(Value):
    """Item `index` could not be added, and why; `candidates` are what it may mean, best first."""

    index: int
    reason: str
    verdict: Literal["invalid", "not_found", "ambiguous", "wrong", "outage"] = "invalid"
    candidates: tuple[RecordCandidate, ...] = ()


class DecidedItem(Value):
    """What is decided about the publication `id` after item `index`, see `decision_line`, and what that `replaced`, see
    `decision_replaced`; "" for nothing."""

    index: int
    id: str
    decision: str = ""
    replaced: Annotated[str, Field(exclude_if=lambda text: not text)] = ""


class AddResult(Value):
    """The outcome for each item of an `add_evidence` call; `total` counts the session's evidence afterward."""

    session_id: str
    added: tuple[AddedItem, ...] = ()
    duplicates: tuple[DuplicateItem, ...] = ()
    similar: tuple[SimilarItem, ...] = ()
    decided: tuple[DecidedItem, ...] = ()
    rejected: tuple[RejectedItem, ...] = ()
    warnings: tuple[str, ...] = ()
    total: int = 0
    next_step: str = ""
