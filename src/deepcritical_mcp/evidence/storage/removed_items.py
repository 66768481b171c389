"""Evidence that was removed from a session, kept in a document of the session for a day so that it can come back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, dumped, now, restored
from deepcritical_mcp.models import Publication, Text

REMOVED = "removed"
"""The document's name."""
UNDO_SECONDS = 86_400.0
_GONE = -1


@dataclass(frozen=True)
class RemovedItem:
    """A publication that was removed: its id, when (Unix milliseconds), and the descriptions that it consists of."""

    id: str
    at: int
    members: tuple[Publication, ...]


def removed_items(space: Space) -> list[RemovedItem]:
    """What can still be brought back, in order of removal."""
    rows = json.loads(space.document(REMOVED) or "[]")
    since = now() - UNDO_SECONDS * 1_000
    return [
        RemovedItem(row["id"], row["at"], tuple(map(restored, row["members"]))) for row in rows if row["at"] >= since
    ]


def keep_removed(space: Space, items: Iterable[RemovedItem]) -> None:
    """Keep these in place of what was kept before."""
    rows = [{"id": one.id, "at": one.at, "members": [*map(dumped, one.members)]} for one in items]
    space.keep_document(REMOVED, json.dumps(rows))


def forget_removed(space: Space, items: Collection[RemovedItem]) -> None:
    """Keep these no longer, because they were brought back."""
    keep_removed(space, [one for one in removed_items(space) if one not in items])


def forget_old(space: Space) -> None:
    """Keep what can no longer be brought back no longer."""
    if len(removed_items(space)) < len(json.loads(space.document(REMOVED) or "[]")):
        with space.turn():
            keep_removed(space, removed_items(space))


def to_restore(items: Sequence[RemovedItem], ids: Collection[str]) -> list[RemovedItem]:
    """Those with these ids, under any id that they had; without ids, those of the latest removal."""
    if ids:
        return [one for one in items if not {one.id, *(member.id for member in one.members)}.isdisjoint(ids)]
    return [one for one in items if one.at == items[-1].at]


def tombstone(item: KeptItem) -> KeptItem:
    """What takes the place of a removed item, so that other processes learn of it."""
    text = Text(kind="note", content="[removed]")
    bare = Publication(id=item.publication.id, source=item.publication.source, title="[removed]", texts=(text,))
    return KeptItem(bare, order=_GONE, parts=1, embedded=False, written=item.next_written)


def is_gone(item: KeptItem) -> bool:
    """Whether it is only the place of a removed one."""
    return item.order == _GONE
