"""What PubMed sent recently: answers to searches, for their next pages, and records, for all of the process."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import anyio.to_thread

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.models import Publication

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
KEPT_FOR_PAGES = 600.0
"""Seconds for which a next page uses the answer that the first one got."""
MAX_KEPT_IDS = 100_000
"""Of all answers: some 7 MB. The longest answer has 10,000, that of a variant on the first pages 200."""
ANSWER_IDS = 20
"""What an answer takes besides its ids, counted in ids."""
KEPT = 6 * 3_600.0
"""Seconds that a record counts, but never beyond its day (UTC): the day that a citation names as read stays true."""
MAX_BYTES = 8 * 1024 * 1024
"""Of all records: about 5,000. Packed they take an eighth of what they take as values."""
_ENTRY_BYTES = 300
"""What an entry takes besides the packed record."""


class Recent(Generic[K, V]):
    """The latest values by key, each with a time to live in seconds and a size; if they exceed `room` together, the
    least recently used ones are dropped. `clock` gives monotonic seconds."""

    def __init__(self, room: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._room, self._seconds, self._clock = room, seconds, clock
        self._entries: dict[K, tuple[float, int, V]] = {}  # in order of use, the latest last
        self.size = 0

    def get(self, key: K, within: float | None = None) -> V | None:
        """The value of a key, if it is recent, or was put `within` so many seconds."""
        if (entry := self._entries.get(key)) is None:
            return None
        age = self._clock() - entry[0]
        if age >= self._seconds:
            self.drop([key])
            return None
        self._entries[key] = self._entries.pop(key)
        return entry[2] if age < (self._seconds if within is None else within) else None

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value in place of an earlier one."""
        self.drop([key])
        self._entries[key] = self._clock(), size, value
        self.size += size
        while self.size > self._room:
            self.drop([next(iter(self._entries))])

    def drop(self, keys: Iterable[K]) -> None:
        """Forget these keys."""
        for key in keys:
            if entry := self._entries.pop(key, None):
                self.size -= entry[1]


class RecentRecords:
    """The latest records, by PMID."""

    def __init__(self, *, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._records = Recent[str, tuple[str, bytes]](max_bytes, KEPT, clock)

    async def keep(self, asked: Sequence[str], records: Mapping[str, Publication]) -> None:
        """Keep the answer to a request for `asked`, read completely; records missing from it no longer exist."""
        sent = [records[id] for id in asked if id in records]

        def packed() -> list[bytes]:
            return [zlib.compress(one.model_dump_json(exclude_defaults=True).encode(), 1) for one in sent]

        bodies = await anyio.to_thread.run_sync(packed)
        self.forget(asked)
        for record, body in zip(sent, bodies, strict=True):
            self._records.put(record.pmid, (record.status_checked, body), len(body) + _ENTRY_BYTES)

    def forget(self, ids: Iterable[str]) -> None:
        """Request these records again when they are next needed."""
        self._records.drop(ids)

    async def recent(self, ids: Sequence[str], *, within: float = KEPT) -> dict[str, Publication]:
        """Those that were sent within the last seconds, and today."""
        today, found = current_date().isoformat(), {id: self._records.get(id, within) for id in ids}
        bodies = {id: entry[1] for id, entry in found.items() if entry and entry[0] == today}

        def unpacked() -> dict[str, Publication]:
            return {id: Publication.model_validate_json(zlib.decompress(body)) for id, body in bodies.items()}

        return await anyio.to_thread.run_sync(unpacked) if bodies else {}
