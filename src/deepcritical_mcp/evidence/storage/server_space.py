"""A session on a Chroma server, which several processes may change: they take turns."""

from __future__ import annotations

import contextlib
import logging
import random
import secrets
import time
from collections.abc import Generator
from typing import TYPE_CHECKING

from chromadb.errors import ChromaError, NotFoundError

from deepcritical_mcp.errors import DeepCriticalError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.chroma_space import ChromaSpace, found_collection
from deepcritical_mcp.evidence.storage.collection_metadata import collection_metadata

if TYPE_CHECKING:
    from chromadb import Collection

logger = logging.getLogger(__name__)

TURN = "-turn"
ABANDONED_SECONDS = 15.0
"""After which a turn is taken for that of a process that has died. A turn lasts for about 30 ms."""
_PAUSES = (0.002, 0.02)
"""Seconds between two looks, at random."""


class ServerSpace(ChromaSpace):
    """One session's collections, which other processes may change; see `Space`.

    Chroma has no transactions. But of several that create a collection, only one succeeds: that has the turn, until it
    deletes the collection.
    """

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        with self._writing():
            ours, began = self._take_turn()
        try:
            yield
        finally:
            with contextlib.suppress(DeepCriticalError), self._writing():
                if time.monotonic() - began < ABANDONED_SECONDS:
                    self._client.delete_collection(ours.name)
                else:  # it may be another's turn now
                    self._end(ours)

    def delete(self) -> None:
        super().delete()
        with contextlib.suppress(SessionNotFoundError), self._writing():
            self._client.delete_collection(self.session_id + TURN)

    def _take_turn(self) -> tuple[Collection, float]:
        """Wait for the turn: what shows that it is ours, and since when (monotonic seconds)."""
        other, seen = None, 0.0
        while True:
            began = time.monotonic()
            if ours := self._created_turn():
                return ours, began
            holder = found_collection(self._client, self.session_id + TURN)
            if holder is not None and holder.id != other:
                other, seen = holder.id, time.monotonic()
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
