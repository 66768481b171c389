"""Which publications are nearly identical, as each of them has it in `KeptItem.similar`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from deepcritical_mcp.evidence.storage.rows import KeptItem


class NearLinks:
    """Links in both directions between ids, under which publications are stored or were."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[str, ...]] = {}
        self._naming: dict[str, dict[str, None]] = {}

    def put(self, id: str, similar: Iterable[str]) -> None:
        """Set the ids that publication `id` names; () removes them. Others may still name it."""
        for other in self._named.pop(id, ()):
            self._naming[other].pop(id, None)
        if named := tuple(similar):
            self._named[id] = named
        for other in named:
            self._naming.setdefault(other, {})[id] = None

    def of(self, ids: Iterable[str]) -> list[str]:
        """The ids that are linked with any of these."""
        return [other for id in ids for other in (*self._named.get(id, ()), *list(self._naming.get(id, ())))]

    def naming(self, ids: Iterable[str]) -> list[str]:
        """The ids of those that name any of these."""
        return list(dict.fromkeys(other for id in ids for other in list(self._naming.get(id, ()))))


def unlinked(item: KeptItem, gone: Sequence[str]) -> KeptItem:
    """The item as it is written when these ids are no longer similar to it."""
    return replace(item, similar=tuple(one for one in item.similar if one not in gone), written=item.next_written)
