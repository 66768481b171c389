"""Evidence that was removed from a session: each item is kept for a day as a document, so that it can come back."""

from __future__ import annotations

import json
from collections.abc import Collection

from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, now, packed, restored, unpacked

PREFIX = "removed"
"""The names of the documents begin so; then follow the time of the removal (Unix milliseconds) and the id."""
UNDO_SECONDS = 86_400.0


def keep_removed(space: Space, items: Collection[KeptItem], at: int = 0) -> None:
    """Keep these, which were removed together at that time, now by default."""
    at = at or now()
    space.keep_documents({f"{PREFIX} {at} {item.id}": packed(item).decode("utf-8", "surrogatepass") for item in items})


def removed_items(space: Space, ids: Collection[str]) -> dict[str, KeptItem]:
    """What was removed under these ids, under any id that it had, by document; without ids, what was removed last."""
    kept = space.documents([name for name in space.document_names(PREFIX) if not _is_old(name)])
    found = {name: unpacked(text.encode("utf-8", "surrogatepass")) for name, text in kept.items()}
    if ids:
        return {name: item for name, item in found.items() if not _ids(item).isdisjoint(ids)}
    last = max(map(_removed_at, found), default=0)
    return {name: item for name, item in found.items() if _removed_at(name) == last}


def forget_old(space: Space) -> None:
    """Delete what can no longer be brought back. Version 0.2 kept all in one document, which is divided first."""
    if old := [name for name in space.document_names(PREFIX) if _is_old(name)]:
        with space.turn():
            for row in json.loads(space.documents([PREFIX]).get(PREFIX, "[]")):
                members = tuple(map(restored, row["members"]))
                keep_removed(space, [KeptItem(members[0], 0, given=members)], row["at"])
            space.keep_documents(dict.fromkeys(old, ""))


def _ids(item: KeptItem) -> set[str]:
    return {item.id, *(one.id for one in item.members)}


def _removed_at(name: str) -> int:
    return 0 if name == PREFIX else int(name.split(" ", 2)[1])


def _is_old(name: str) -> bool:
    return _removed_at(name) < now() - UNDO_SECONDS * 1_000
