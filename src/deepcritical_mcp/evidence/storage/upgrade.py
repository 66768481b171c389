"""Kept sessions of version 0.1, brought into the form of today in place.

Version 0.1 wrote one `evidence` for each publication, with one text into which the user's words were glued. What it
wrote stays in each row next to the new form until the whole session has been upgraded, and goes only then. If the
process is killed at any point, the upgrade starts again with nothing lost.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.storage.rows import dumped
from deepcritical_mcp.models.version_0_1 import upgraded

if TYPE_CHECKING:
    from chromadb import Collection

logger = logging.getLogger(__name__)

FORMAT = 2
"""Written next to each session; version 0.1 wrote none."""
_PAGE = 200
_Row = dict[str, Any]


def upgrade(vectors: Collection | None, words: Collection | None, open_words: Callable[[], Collection]) -> None:
    """Upgrade every row of a session's two collections; `open_words` creates the second one if it is needed.

    Raises:
        ValueError: a row cannot be read; nothing is lost.
    """
    work = _Upgrade(vectors, words, open_words)
    for collection in filter(None, (vectors, words)):
        for ids, rows in _pages(collection):
            work.upgrade(collection, ids, rows)
    for collection in filter(None, (vectors, work.words)):
        for ids, rows in _pages(collection):
            done = [id for id, row in zip(ids, rows, strict=True) if "evidence" in row]
            if done:
                collection.update(ids=done, metadatas=[cast(Any, {"evidence": None})] * len(done))
    logger.info("upgraded a session of version 0.1: %d publications", work.count)


class _Upgrade:
    def __init__(
        self, vectors: Collection | None, words: Collection | None, open_words: Callable[[], Collection]
    ) -> None:
        self.words = words
        self.count = 0
        self._vectors = vectors
        self._open_words = open_words
        places = (
            int(row.get("order", 0)) for some in (vectors, words) if some for _, rows in _pages(some) for row in rows
        )
        self._last = max(places, default=0)

    def upgrade(self, collection: Collection, ids: Sequence[str], rows: Sequence[_Row]) -> None:
        """Write the new form of a page of rows next to the old one."""
        stay: dict[str, _Row] = {}
        move: dict[str, _Row] = {}
        passages_of: list[str] = []
        for id, row in zip(ids, rows, strict=True):
            if "evidence" not in row or "publication" in row:
                continue
            publication, *notes = upgraded(str(row["evidence"]))
            similar = "\n".join(json.loads(str(row["evidence"])).get("similar", ()))
            changed = {**row, "publication": dumped(publication), "similar": similar}
            parts = int(row["parts"])
            if collection is self._vectors and (notes or parts != len(passages(publication))):
                move[id] = {**changed, "parts": 1}  # its vectors are of another text: it is embedded again
                passages_of += [id, *(f"{id}\n{part}" for part in range(1, parts))]
            else:
                stay[id] = changed
            for note in notes:
                self._last += 1
                place = {"source": note.source, "order": self._last, "parts": 1, "written": int(row["written"])}
                move[note.id] = {**place, "similar": "", "publication": dumped(note)}
            self.count += 1
        if move:
            self._move(move)
        if passages_of:
            collection.delete(ids=passages_of)
        if stay:
            collection.update(ids=list(stay), metadatas=cast(Any, list(stay.values())))

    def _move(self, rows: Mapping[str, _Row]) -> None:
        if self.words is None:
            self.words = self._open_words()
        placeholders = np.ones((len(rows), 1), np.float32)
        self.words.upsert(ids=list(rows), embeddings=placeholders, metadatas=cast(Any, list(rows.values())))


def _pages(collection: Collection) -> Iterator[tuple[list[str], list[_Row]]]:
    ids = collection.get(include=[])["ids"]
    for start in range(0, len(ids), _PAGE):
        found = collection.get(ids=ids[start : start + _PAGE], include=["metadatas"])
        yield found["ids"], [dict(row) for row in found["metadatas"] or []]
