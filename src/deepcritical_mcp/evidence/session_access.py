"""Opens a session when it is needed. Many calls may read it at once, one writes.

Passages without vectors are embedded in the background; if the model fails, they are found by words only. Removed items
are kept as documents for a day, so that they can be restored."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import islice
from typing import Protocol, TypeAlias, TypeVar

import anyio
import anyio.lowlevel
import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import TO_EMBED_FOR_ANSWER, seconds_for
from deepcritical_mcp.errors import (
    DeepCriticalError,
    EmbeddingError,
    EvidenceStoreError,
    SessionBusyError,
    SessionError,
    SessionNotFoundError,
)
from deepcritical_mcp.evidence.adding import Batch
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import long_passages, short_passages
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.evidence.embedding.service import BUSY, KnownModel
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.session_file import DamagedFileError
from deepcritical_mcp.evidence.storage.stored_items import (
    KeptItem,
    Vector,
    now,
    packed,
    restored,
    title_of_query,
    unpacked,
)
from deepcritical_mcp.models import LoggedSearch, Publication
from deepcritical_mcp.text import batches

T = TypeVar("T")

logger = logging.getLogger(__name__)

SECONDS_TO_LOG = 5.0
"""An entry that cannot be written in this time is given up, so that a cancelled call ends."""
LOG_PREFIX = "search-log:"
"""Prefix of the names of documents that are entries of the log."""
WATCH_ENDING = "-watch"
"""Suffix of the names of entries that are not the user's own searches: those of a watch or of a check of a draft."""
INDEXED_AT_ONCE = 48
"""Passages that are embedded in one turn: between turns, other calls get the model, and the session is written."""
WRITTEN_AT_ONCE = 32
"""Publications that are written together: all are compared with what the session holds at once."""

# In memory, measured with abstracts of 1,700 characters, and with full texts.
PUBLICATION_BYTES = 20_000
PASSAGE_BYTES = 6_000

Opening: TypeAlias = "Callable[[SessionAccess], Awaitable[None]]"


_failure: ContextVar[str] = ContextVar("failure", default="")
_loss: ContextVar[str] = ContextVar("loss", default="")


def _with_ids(search: LoggedSearch, ids: Sequence[str]) -> LoggedSearch:
    """A logged search under the ids of now; records that turned out to be one since then were found again."""
    distinct = tuple(dict.fromkeys(ids))
    return search.but(ids=distinct, duplicates=search.duplicates + len(ids) - len(distinct))


class Embedder(KnownModel, Protocol):
    """What a session needs of `EmbeddingService`; see there."""

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]: ...
    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class PassageEmbedder:
    """Embeds for one session. If the model fails, evidence is found by words only, without an error."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.calibration = embedder.calibration

    @property
    def failure(self) -> str:
        """Why the model failed when the present call last asked it; "" if it did not. Failures in the background, in
        other calls, and in `beside` do not count."""
        return _failure.get()

    @property
    def warning(self) -> str:
        """A warning about the model for results; "" if it works and is calibrated."""
        if self.failure:
            return (
                f"{self.failure} Evidence is found by words only, and relevance measures words shared with the "
                "query, not meaning."
            )
        return _loss.get() or ("" if self.calibration else UNCALIBRATED)

    async def queries(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of queries; None without a model."""
        _loss.set("")
        return await _or_none(self._embedder.query_vectors(texts), _failure)

    async def sentences(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of sentences; None without a model."""
        return await _or_none(self._embedder.vectors(texts), _failure)

    async def beside(self, texts: Sequence[str], loss: str) -> NDArray[np.float32] | None:
        """The vectors of what an answer can do without; None without a model, or if there is no time: then `warning`
        says why, and `loss`, what came of it."""
        return await _in_time(self._embedder.vectors(texts), loss)

    async def cosines(self, question: str, texts: Sequence[str], loss: str) -> list[float]:
        """The cosines of such texts to a question; [] without them."""
        vectors = await self.beside(texts, loss)
        query = None if vectors is None else await _in_time(self._embedder.query_vectors([question]), loss)
        return [] if vectors is None or query is None else (vectors @ query[0]).tolist()

    async def publications(self, publications: Sequence[Publication], room: int = 0) -> list[Sequence[Vector]]:
        """The vectors of each publication's first passages, at least one; () without a model.

        These are all passages, as long as those of long texts are at most `room` in all; else only those of its texts
        without parts.
        """
        texts = await run_sync(_texts, publications, room, abandon_on_cancel=True)
        vectors = await self.sentences([text for some in texts for text in some]) if texts else None
        if vectors is None:
            return [() for _ in publications]
        rows = iter(vectors)
        return [[next(rows) for _ in some] for some in texts]


async def _in_time(vectors: Awaitable[NDArray[np.float32]], loss: str) -> NDArray[np.float32] | None:
    _loss.set(f"{BUSY} {loss}")
    with anyio.move_on_after(seconds_for(TO_EMBED_FOR_ANSWER)):
        return await _or_none(vectors, _loss, loss)
    return None


async def _or_none(
    vectors: Awaitable[NDArray[np.float32]], failure: ContextVar[str], loss: str = ""
) -> NDArray[np.float32] | None:
    try:
        found = await vectors
    except EmbeddingError as error:
        failure.set(f"{error.message} {loss}".rstrip())
        return None
    failure.set("")
    return found


def _texts(publications: Sequence[Publication], room: int) -> list[list[str]]:
    texts: list[list[str]] = []
    for publication in publications:
        whole = short_passages(publication)
        long = [*islice(long_passages(publication), room + 1)]
        if len(long) <= room:
            whole, room = whole + long, room - len(long)
        texts.append([passage.content for passage in whole or long[:1]])
    return texts


class SessionAccess:
    """The session's space and catalogue while it is open, its title, and its documents that are no evidence.

    The numbers of its publications and searches are kept with it; a search that a watch repeats is not counted again.

    A task in the background embeds what lacks vectors (long texts, and what was kept without a model). A failure is
    logged and ends it; the next call that needs the vectors starts it again.

    Every method raises SessionNotFoundError if the session has been dropped, and EvidenceStoreError if it cannot be
    read or written; what was acknowledged earlier is not lost.

    Args:
        embedder: the model.
        open_session: opens the session's place and attaches it.
        settings: how much it may hold, and what counts as a duplicate.
        backend: the place where it is kept.

    Attributes:
        calibration: what was measured with the model.
        users: how many calls are using it now.
        awake: whether its indexes are in memory.
        lost: whether the open session turned out to be gone, or must be opened again.
        used, recorded: when it was last used, and the last use that its place has recorded (Unix seconds).
        rested: when it was put to rest; 0.0 if it has been woken since.
        returns: whether it was woken soon after that.
    """

    def __init__(
        self, session_id: str, embedder: Embedder, open_session: Opening, settings: Settings, backend: Backend
    ) -> None:
        self.session_id = session_id
        self.awake = self.lost = self.returns = False
        self.used = self.recorded = self.rested = 0.0
        self._embedder = PassageEmbedder(embedder)
        self.calibration = embedder.calibration
        self._open_session = open_session
        self._settings, self._backend = settings, backend
        self._space: Space | None = None
        self._catalogue: Catalogue | None = None
        self._opening, self._writing, self._indexing_turn = anyio.Lock(), anyio.Lock(), anyio.Lock()
        self._indexing: asyncio.Task[None] | None = None
        self._first = ""
        self._mutex = threading.RLock()
        """The lock of the space, which the thread of a cancelled call may still hold."""
        self.users = self._size = self._searches = 0

    @property
    def size(self) -> int:
        """The number of publications; 0 before the first call."""
        return len(self._catalogue) if self._catalogue is not None else self._size

    async def rest(self) -> None:
        """Release the memory of the indexes, unless a call is using them; the next call builds them again."""
        async with self._opening:
            space = self._space  # it may be closed meanwhile
            if self.awake and space is not None and not self.users and self._mutex.acquire(blocking=False):
                self._mutex.release()
                self._size = self.size
                catalogue, self._catalogue, self.awake = self._catalogue, None, False
                with anyio.CancelScope(shield=True), contextlib.suppress(EvidenceStoreError, SessionError):
                    if catalogue is not None:
                        await run_sync(catalogue.keep_derived)
                    await run_sync(self._alone, space.table.clear)

    async def record_use(self) -> None:
        """Record its last use where it is kept, if that can be written."""
        if self.used > self.recorded:
            self.recorded = self.used
            with contextlib.suppress(EvidenceStoreError, SessionError):
                await run_sync(lambda: self.space.rows.record(used=self.used))

    @property
    def memory(self) -> int:
        """About how many bytes its indexes take."""
        passages = self._catalogue.passages if self._catalogue is not None else 0
        return self.size * PUBLICATION_BYTES + passages * PASSAGE_BYTES

    @property
    def title(self) -> str:
        """The session's title; "" if it has none."""
        return self._space.rows.info.title if self._space is not None else ""

    async def set_title_if_none(self, query: str) -> None:
        """Make its first query the title of a session that has none. If that cannot be written, the next one is."""
        if (title := title_of_query(query)) and not self.title:
            async with self._session() as catalogue:
                with contextlib.suppress(EvidenceStoreError, SessionBusyError):
                    await self._in_thread(lambda: catalogue.space.rows.set_title_if_none(title))

    async def keep_document(self, name: str, content: str) -> None:
        """Store a text of up to a few MB that is not evidence, e.g. a report, replacing an earlier one of that name; ""
        deletes it."""
        async with self._session() as catalogue:
            await self._in_thread(lambda: catalogue.space.keep_documents({name: content}))
            if _is_own_search(name):
                self._searches += 1

    async def document(self, name: str) -> str:
        """What was kept under that name; "" if nothing was."""
        return (await self._read(lambda catalogue: catalogue.space.documents([name]))).get(name, "")

    async def documents(self, prefix: str) -> dict[str, str]:
        """All that was kept under names that begin with `prefix`, in the order of their names."""
        return await self._read(lambda one: one.space.documents(one.space.rows.keys("document", prefix)))

    async def log_search(self, search: LoggedSearch) -> None:
        """Append to the log of searches; also in a call that is being cancelled."""
        end = "" if search.is_own else WATCH_ENDING
        name = f"{LOG_PREFIX}{search.at}-{time.time_ns():x}-{secrets.token_hex(2)}{end}"  # in the order of writing
        with anyio.move_on_after(SECONDS_TO_LOG, shield=True) as scope:
            await self.keep_document(name, search.model_dump_json(exclude_defaults=True))
        if scope.cancelled_caught:
            raise EvidenceStoreError("The session could not be written in time.")

    async def search_log(self) -> tuple[LoggedSearch, ...]:
        """The log of searches, the first one first, written by any process; what they found has the ids that it has
        now."""
        kept = await self.documents(LOG_PREFIX)
        found = [LoggedSearch.model_validate_json(one) for one in kept.values()]
        now = await self.present_ids({id for one in found for id in one.ids})
        return tuple(_with_ids(one, [now[id] for id in one.ids]) for one in found)

    async def present_ids(self, ids: Collection[str]) -> dict[str, str]:
        """The id that each of these has now; its own if the session does not have it."""
        return await self._read(lambda catalogue: {id: catalogue.resolve(id) or id for id in ids})

    @property
    def space(self) -> Space:
        """The place of the session, which is open."""
        if self._space is None:
            raise SessionNotFoundError()
        return self._space

    def attach(self, space: Space, used: float) -> None:
        """Use `space`, which is open, until `detach`."""
        self._space, self._catalogue, self.lost, self._mutex = space, None, False, space.lock
        self.used, self.recorded, self.rested, self.returns = used, space.rows.info.used, 0.0, False

    def detach(self) -> Space:
        """Stop using the open space, and give it; the next call opens it again."""
        space, self._space, self._catalogue, self.awake = self.space, None, None, False
        return space

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncGenerator[Catalogue]:
        self.users += 1
        try:
            if self._space is None or self._catalogue is None or self.lost:
                await self._open()
            if (catalogue := self._catalogue) is None:
                raise SessionNotFoundError()
            if self._backend.shared:
                await self._in_thread(catalogue.catch_up)
            yield catalogue
            space, counts = catalogue.space, (len(catalogue), self._searches)
            if not self.lost and counts != (space.rows.info.items, space.rows.info.searches):
                with contextlib.suppress(EvidenceStoreError, SessionBusyError):  # the next call tries again
                    await self._in_thread(lambda: space.rows.record(items=counts[0], searches=counts[1]))
        except (SessionNotFoundError, DamagedFileError):
            self.lost = True
            raise
        except EvidenceStoreError:
            if self._space is None:  # another call deleted the session meanwhile
                raise SessionNotFoundError() from None
            raise
        finally:
            self.users -= 1
            if not self.users and self._catalogue is not None:
                self._catalogue.forget_gone()

    async def _open(self) -> None:
        async with self._opening:
            if self._space is None or self.lost:
                await self._open_session(self)
            space = self._space
            if space is not None and self._catalogue is None:
                self.awake = True
                self._catalogue = await run_sync(Catalogue.of, space, abandon_on_cancel=True)
                # A killed process may not have written the number.
                logged = await run_sync(lambda: space.rows.keys("document", LOG_PREFIX), abandon_on_cancel=True)
                self._searches = len([name for name in logged if _is_own_search(name)])
                with contextlib.suppress(EvidenceStoreError, SessionError):
                    await run_sync(forget_old, space, abandon_on_cancel=True)

    async def _read(self, work: Callable[[Catalogue], T]) -> T:
        """Do `work` in a worker thread, next to others."""
        async with self._session() as catalogue:
            return await run_sync(work, catalogue, abandon_on_cancel=True)

    async def _write(self, work: Callable[[], T]) -> T:
        """Do `work` in a worker thread, which finishes even if the call is cancelled, on the latest state of a session
        that is shared; after a failure, the session is read again."""
        catalogue = self._catalogue

        def in_turn() -> T:
            with catalogue.space.turn() if catalogue else contextlib.nullcontext():
                if catalogue and self._backend.shared:
                    catalogue.catch_up()
                return work()

        try:
            return await run_sync(in_turn, abandon_on_cancel=True)
        except Exception:
            self._catalogue = None
            raise

    async def _write_alone(self, work: Callable[[], T]) -> T:
        """The same, while no other call writes."""
        async with self._writing:
            return await self._write(work)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Do `work` in a worker thread while no other has the space."""
        return await run_sync(self._alone, work, abandon_on_cancel=True)

    def _alone(self, work: Callable[[], T]) -> T:
        with self._mutex:
            return work()

    async def settle(self, *, to_stay: bool) -> None:
        """End the background work, before the space is closed, or deleted unless it is `to_stay`."""
        if self._indexing is not None and not self._indexing.done():
            self._indexing.cancel()
            await asyncio.wait({self._indexing})
            await self._in_thread(lambda: None)  # what it has begun in a thread has ended
        self._indexing = None
        if to_stay and self._catalogue is not None and not self.lost:
            with contextlib.suppress(EvidenceStoreError, SessionError):
                await run_sync(self._catalogue.keep_derived)

    def _start_indexing(self, catalogue: Catalogue) -> None:
        """Start the task if something lacks a vector and there is a model; it outlives the call."""
        is_running = self._indexing is not None and not self._indexing.done()
        if not is_running and catalogue.waiting() and not self._embedder.failure:
            self._indexing = asyncio.get_running_loop().create_task(self._index_all())

    async def _wait_for(self, id: str, catalogue: Catalogue, seconds: float) -> None:
        """Wait until this publication has been embedded, before anything else, at most that long."""
        self._first = id
        self._start_indexing(catalogue)
        with anyio.move_on_after(seconds):
            while self._indexing is not None and not self._indexing.done() and id in catalogue.waiting():
                async with self._indexing_turn:  # the task's next turn comes after this one
                    await anyio.lowlevel.checkpoint()

    async def _index_all(self) -> None:
        try:
            async with self._session() as catalogue:
                while waiting := catalogue.waiting():
                    waiting.sort(key=self._first.__ne__)
                    if not await self._index_more(waiting, catalogue):
                        break
        except DeepCriticalError as error:
            logger.warning("a session is not indexed further for now: %s", error.message)

    async def _index_more(self, ids: Collection[str], catalogue: Catalogue) -> bool:
        """Embed the next passages of these publications; False if nothing is left, or without a model."""
        async with self._indexing_turn:
            rows = await run_sync(catalogue.missing, ids, INDEXED_AT_ONCE, abandon_on_cancel=True)
            texts = [passage.content for *_, some in rows for passage in some]
            vectors = await self._embedder.sentences(texts) if texts else None
            if vectors is None:
                return False
            found = iter(vectors)
            embedded = [(one, start, [next(found) for _ in passages]) for one, start, passages in rows]
            batch = Batch(catalogue, self.calibration)
            for some in batches(embedded, WRITTEN_AT_ONCE):
                await self._write_alone(partial(batch.store_vectors, some))
            return True


def _is_own_search(name: str) -> bool:
    """Whether the document of that name is the log's entry of a search of the user's own."""
    return name.startswith(LOG_PREFIX) and not name.endswith(WATCH_ENDING)


PREFIX = "removed"
"""The names of the documents begin so; then follow the time of the removal (Unix milliseconds) and the id."""
UNDO_SECONDS = 86_400.0


def keep_removed(space: Space, items: Collection[KeptItem], at: int = 0) -> None:
    """Keep these, which were removed together at that time, now by default."""
    at = at or now()
    space.keep_documents({f"{PREFIX} {at} {item.id}": packed(item).decode("utf-8", "surrogatepass") for item in items})


def removed_items(space: Space, ids: Collection[str]) -> dict[str, KeptItem]:
    """What was removed under these ids, under any id that it had, by document; without ids, what was removed last."""
    kept = space.documents([name for name in space.rows.keys("document", PREFIX) if not _is_old(name)])
    found = {name: unpacked(text.encode("utf-8", "surrogatepass")) for name, text in kept.items()}
    if ids:
        return {name: one for name, one in found.items() if {one.id, *(each.id for each in one.members)} & {*ids}}
    last = max(map(_removed_at, found), default=0)
    return {name: item for name, item in found.items() if _removed_at(name) == last}


def forget_old(space: Space) -> None:
    """Delete what can no longer be brought back. Version 0.2 kept all in one document, which is divided first."""
    if old := [name for name in space.rows.keys("document", PREFIX) if _is_old(name)]:
        with space.turn():
            for row in json.loads(space.documents([PREFIX]).get(PREFIX, "[]")):
                members = tuple(map(restored, row["members"]))
                keep_removed(space, [KeptItem(members[0], 0, given=members)], row["at"])
            space.keep_documents(dict.fromkeys(old, ""))


def _removed_at(name: str) -> int:
    return 0 if name == PREFIX else int(name.split(" ", 2)[1])


def _is_old(name: str) -> bool:
    return _removed_at(name) < now() - UNDO_SECONDS * 1_000
