"""What PubMed sent of late: answers to searches, for their next pages, and records, for all sessions of the process."""

from __future__ import annotations

import time
import zlib
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.client import ran_out_of_time
from deepcritical_mcp.sources.base import Fetched
from deepcritical_mcp.sources.pubmed.eutils_answers import ESearchAnswer

KEPT_FOR_PAGES = 600.0
"""Seconds within which a next page continues what the first one was told."""
MAX_KEPT_IDS = 100_000
"""Of all answers: some 7 MB. The longest answer has 10,000, that of a variant on the first pages 200."""
_FIXED = 20
"""What the rest of an answer takes, counted in ids."""


class RecentAnswers:
    """The latest answers by what was asked, the oldest dropped first."""

    def __init__(self, *, max_ids: int = MAX_KEPT_IDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_ids, self._clock = max_ids, clock
        self._answers: dict[Hashable, tuple[float, ESearchAnswer]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: Hashable) -> ESearchAnswer | None:
        """The answer to `key`, if it is recent."""
        at, answer = self._answers.get(key, (0.0, None))
        return answer if self._clock() - at < KEPT_FOR_PAGES else None

    def put(self, key: Hashable, answer: ESearchAnswer) -> None:
        """Keep an answer in place of an earlier one, and drop what is too old or too much."""
        self._drop(key)
        self._answers[key] = self._clock(), answer
        self._count += _FIXED + len(answer.ids)
        while self._answers and (self._count > self._max_ids or self.get(next(iter(self._answers))) is None):
            self._drop(next(iter(self._answers)))

    def _drop(self, key: Hashable) -> None:
        if key in self._answers:
            _, answer = self._answers.pop(key)
            self._count -= _FIXED + len(answer.ids)


KEPT = 6 * 3_600.0
"""Seconds that a record counts, but never beyond its day (UTC): the day that a citation names as read stays true."""
MAX_BYTES = 8 * 1024 * 1024
"""Of all records: about 5,000. Packed they take an eighth of what they take as values."""
_ENTRY_BYTES = 300
"""What an entry takes besides the packed record."""

Fetch = Callable[[Sequence[str]], Awaitable[Fetched]]


@dataclass(frozen=True)
class _KeptRecord:
    packed: bytes
    kept: float
    status_checked: str

    @property
    def size(self) -> int:
        return len(self.packed) + _ENTRY_BYTES


@dataclass
class _UnderWay:
    """A request for records that others may want, too; without answer and error if who asked was cancelled, or ran
    out of time."""

    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Fetched | None = None
    error: ProviderError | None = None


class RecentRecords:
    """Records by PMID, each asked for once at a time, and not again while what was sent is recent.

    Args:
        max_bytes: beyond it, the records that nobody has wanted for longest are dropped.
        clock: monotonic seconds.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes, self._clock = max_bytes, clock
        self._entries: dict[str, _KeptRecord] = {}  # the last one used is the last one
        self._under_way: dict[str, _UnderWay] = {}
        self.size = 0

    async def fetch(self, ids: Sequence[str], fetch: Fetch) -> Fetched:
        """The records of `ids`; `fetch` is called once, for those that are neither recent nor under way.

        Raises:
            ProviderError: raised by `fetch`, here or in another call for some of the same records.
        """
        wanted, found, losses, unnamed = set(ids), dict[str, Publication](), dict[str, str](), dict[str, None]()
        while wanted:
            # Nothing is awaited until `_first` says what is under way: an answer could come meanwhile and be missed.
            kept = self._kept(wanted)
            wanted -= kept.keys()
            shared = {id: self._under_way[id] for id in wanted if id in self._under_way}
            answers = list[tuple[set[str], Fetched]]()
            if mine := [id for id in dict.fromkeys(ids) if id in wanted and id not in shared]:
                answers.append((set(mine), await self._first(mine, fetch)))
            found |= await _read(kept)
            for id, request in shared.items():
                await request.done.wait()
                # What is wrong with a request for other records need not be wrong with one for these.
                if request.error and request.error.retryable:
                    raise request.error
                if request.answer:
                    answers.append(({id}, request.answer))
            for asked, answer in answers:
                found |= {id: answer.records[id] for id in asked & answer.records.keys()}
                losses |= {id: answer.losses[id] for id in asked & answer.losses.keys()}
                if asked - answer.records.keys() - answer.losses.keys():
                    unnamed |= dict.fromkeys(answer.unnamed)
                wanted -= asked
        return Fetched({id: found[id] for id in ids if id in found}, losses, tuple(unnamed))

    async def _first(self, ids: Sequence[str], fetch: Fetch) -> Fetched:
        """Ask for records, and let those who want them meanwhile share the answer."""
        request = _UnderWay()
        self._under_way |= dict.fromkeys(ids, request)
        try:
            request.answer = await fetch(ids)
            return request.answer
        except ProviderError as error:
            if not ran_out_of_time(error):
                request.error = error
            raise
        finally:
            for id in ids:
                del self._under_way[id]
            request.done.set()

    async def keep(self, asked: Sequence[str], records: Mapping[str, Publication]) -> None:
        """Keep the answer to a request for `asked`, which was read without a flaw; what is not in it, is no more."""
        sent = [records[id] for id in asked if id in records]
        packed = await anyio.to_thread.run_sync(_packed, sent)
        for id in asked:
            self._drop(id)
        for record, body in zip(sent, packed, strict=True):
            entry = _KeptRecord(body, self._clock(), record.status_checked)
            self._drop(record.pmid)
            self._entries[record.pmid] = entry
            self.size += entry.size
        while self.size > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def forget(self, ids: Iterable[str]) -> None:
        """Ask again for these records when they are wanted next."""
        for id in ids:
            self._drop(id)

    async def recent(self, ids: set[str], *, within: float = KEPT) -> dict[str, Publication]:
        """Those that were sent within the last seconds, and today."""
        return await _read(self._kept(ids, within=within))

    def _kept(self, ids: set[str], *, within: float = KEPT) -> dict[str, _KeptRecord]:
        now, today = self._clock(), current_date().isoformat()
        known = {id: self._entries[id] for id in ids if id in self._entries}
        fresh = {id: one for id, one in known.items() if now - one.kept < KEPT and one.status_checked == today}
        for id in known:
            if id in fresh:
                self._entries[id] = self._entries.pop(id)
            else:
                self._drop(id)
        return {id: one for id, one in fresh.items() if now - one.kept < within}

    def _drop(self, id: str) -> None:
        if entry := self._entries.pop(id, None):
            self.size -= entry.size


def _packed(records: Sequence[Publication]) -> list[bytes]:
    return [zlib.compress(one.model_dump_json(exclude_defaults=True).encode(), 1) for one in records]


async def _read(kept: Mapping[str, _KeptRecord]) -> dict[str, Publication]:
    records = await anyio.to_thread.run_sync(_unpacked, [one.packed for one in kept.values()]) if kept else []
    return dict(zip(kept, records, strict=True))


def _unpacked(bodies: Sequence[bytes]) -> list[Publication]:
    return [Publication.model_validate_json(zlib.decompress(body)) for body in bodies]
