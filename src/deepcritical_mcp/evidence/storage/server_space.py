"""A session on a Chroma server, which several processes may change: they take turns."""

from __future__ import annotations

import contextlib
import logging
import random
import secrets
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chromadb.errors import ChromaError, NotFoundError

from deepcritical_mcp.errors import DeepCriticalError, EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.chroma_failures import translated
from deepcritical_mcp.evidence.storage.chroma_space import ChromaSpace, found_collection
from deepcritical_mcp.evidence.storage.collection_metadata import collection_metadata

if TYPE_CHECKING:
    from chromadb import Collection

logger = logging.getLogger(__name__)

TURN = "-turn"
ABANDONED_SECONDS = 15.0
"""After which a turn that is not renewed is taken for that of a process that has died. A turn lasts for some 30 ms."""
RENEWED_AFTER = 5.0
"""Seconds after which a turn is renewed before the next write."""
_PAUSES = (0.002, 0.02)
"""Seconds between two looks, at random."""


@dataclass
class _Turn:
    """The turn of this process: what shows it to others, since when (monotonic seconds), and the thread that has it."""

    collection: Collection
    renewed: float
    thread: int = field(default_factory=threading.get_ident)


class ServerSpace(ChromaSpace):
    """One session's collections, which other processes may change; see `Space`.

    Chroma has no transactions. But of several that create a collection, only one succeeds: that has the turn, until it
    deletes the collection.
    """

    _ours: _Turn | None = None

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        with translated("keep the evidence"):
            ours = self._ours = self._take_turn()
        try:
            yield
        finally:
            self._ours = None
            with contextlib.suppress(DeepCriticalError), translated("keep the evidence"):
                if time.monotonic() - ours.renewed < ABANDONED_SECONDS:
                    self._client.delete_collection(self.session_id + TURN)
                else:  # it may be another's turn now
                    self._end(ours.collection)

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        with super()._writing():
            ours = self._ours
            if ours is not None and ours.thread == threading.get_ident():
                self._renew(ours)
            yield

    def _renew(self, ours: _Turn) -> None:
        """Show others that this process goes on, if its turn lasts; raise an error if another has ended it."""
        lasted = time.monotonic() - ours.renewed
        if lasted < RENEWED_AFTER:
            return
        try:
            if lasted < ABANDONED_SECONDS:
                began = time.monotonic()
                ours.collection.modify(metadata=collection_metadata(self.info) | {"renewed": secrets.token_hex(4)})
                ours.renewed = began
                return
        except NotFoundError:
            pass
        raise EvidenceStoreError(
            "The evidence store took so long that another process may have changed this session meanwhile: not "
            "everything was kept. Try again."
        )

    def delete(self) -> None:
        with self.turn():  # what another process has begun to write would come back
            super().delete()

    def _words_collection(self) -> Collection:
        if self._words is None and found_collection(self._client, self.session_id) is None:
            raise SessionNotFoundError()
        return super()._words_collection()

    def _take_turn(self) -> _Turn:
        other, seen = None, 0.0
        while True:
            began = time.monotonic()
            if collection := self._created_turn():
                return _Turn(collection, began)
            holder = found_collection(self._client, self.session_id + TURN)
            if holder is not None and (state := (holder.id, holder.metadata)) != other:
                other, seen = state, time.monotonic()
            elif holder is not None and time.monotonic() - seen > ABANDONED_SECONDS:
                logger.warning("a process has not ended its turn to change a session; it is ended")
                self._end(holder)
            time.sleep(random.uniform(*_PAUSES))

    def _created_turn(self) -> Collection | None:
        metadata = collection_metadata(self.info)  # by which it is deleted, if need be, with unused sessions
        try:
            return self._client.create_collection(
                self.session_id + TURN, metadata=metadata, embedding_function=None, get_or_create=False
            )
        except ChromaError as error:
            if "already exists" in str(error):
                return None
            raise

    def _end(self, turn: Collection) -> None:
        """End a turn that took too long. By its name, it could be the next one that is deleted; so it is renamed first,
        which goes by its number and fails if it has been ended."""
        with contextlib.suppress(NotFoundError):
            turn.modify(name=f"{turn.name}-{secrets.token_hex(8)}")
            self._client.delete_collection(turn.name)
