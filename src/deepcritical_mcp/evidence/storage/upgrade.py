"""Upgrades stored sessions of version 0.1 in place.

Version 0.1 wrote one `evidence` for each publication, with one text to which the user's words were appended. What it
wrote stays in each row next to the new form until the whole session has been upgraded, and is removed only then. If the
process is killed at any point, the upgrade starts again with nothing lost. A server of 0.1 that still has the session
open may write to it later; what it writes is upgraded when it is read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.storage.rows import dumped, restored
from deepcritical_mcp.models import Publication, merged
from deepcritical_mcp.models.version_0_1 import upgraded

if TYPE_CHECKING:
    from chromadb import Collection

logger = logging.getLogger(__name__)

FORMAT = 2
"""Written next to each session; version 0.1 wrote none."""
UNREADABLE: Mapping[str, str] = {"evidence": ""}
"""In every current row: makes version 0.1 fail, which would otherwise show an empty session."""
PAGE = 200
"""Records read at once: 10 ms in Chroma, which holds the GIL meanwhile."""
_Row = dict[str, Any]


def is_of_version_0_1(row: Mapping[str, Any]) -> bool:
    """Whether version 0.1 wrote this row, or wrote over it after its upgrade."""
    return bool(row.get("evidence"))


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
            done = [id for id, row in zip(ids, rows, strict=True) if is_of_version_0_1(row)]
            if done:
                collection.update(ids=done, metadatas=[cast(Any, UNREADABLE)] * len(done))
    logger.info("upgraded a session of version 0.1: %d publications", work.count)


class _Upgrade:
    def __init__(
        self, vectors: Collection | None, words: Collection | None, open_words: Callable[[], Collection]
    ) -> None:
        self.words = words
        self.count = 0
        self._vectors = vectors
        self._open_words = open_words
        self._last = 0
        self._known: dict[str, str] = {}
        for collection in filter(None, (vectors, words)):
            for ids, rows in _pages(collection):
                self._known.update(
                    (id, row["publication"]) for id, row in zip(ids, rows, strict=True) if "publication" in row
                )
                self._last = max([self._last, *(int(row.get("order", 0)) for row in rows)])

    def upgrade(self, collection: Collection, ids: Sequence[str], rows: Sequence[_Row]) -> None:
        """Write the new form of a page of rows next to the old one."""
        stay: dict[str, _Row] = {}
        move: dict[str, _Row] = {}
        outdated: list[str] = []
        for id, row in zip(ids, rows, strict=True):
            if not is_of_version_0_1(row):
                continue
            publication, notes = _read(row, self._known.get(id, ""))
            new = [note for note in notes if note.id not in self._known]
            if not new and row.get("publication") == dumped(publication):
                continue  # upgraded before the process was killed
            changed = {**row, "publication": dumped(publication), "similar": _similar(row)}
            parts = int(row["parts"])
            is_other_text = bool(notes) or "publication" in row or parts != len(passages(publication))
            if collection is self._vectors and is_other_text:
                move[id] = {**changed, "parts": 1}  # its vectors are of another text: it is embedded again
                outdated += [id, *(f"{id}\n{part}" for part in range(1, max(parts, len(passages(publication)))))]
            else:
                stay[id] = changed
            move.update(self._placed(new, int(row["written"])))
            self.count += 1
        self._write(collection, stay, move, outdated)

    def _placed(self, notes: Sequence[Publication], written: int) -> dict[str, _Row]:
        """The rows of new notes, which come after everything else."""
        rows: dict[str, _Row] = {}
        for note in notes:
            self._last += 1
            self._known[note.id] = dumped(note)
            place = {"source": note.source, "order": self._last, "parts": 1, "written": written}
            rows[note.id] = {**place, "similar": "", "publication": dumped(note), **UNREADABLE}
        return rows

    def _write(
        self, collection: Collection, stay: Mapping[str, _Row], move: Mapping[str, _Row], outdated: Sequence[str]
    ) -> None:
        if move:
            if self.words is None:
                self.words = self._open_words()
            placeholders = np.ones((len(move), 1), np.float32)
            self.words.upsert(ids=list(move), embeddings=placeholders, metadatas=cast(Any, list(move.values())))
        if outdated:
            collection.delete(ids=list(outdated))
        if stay:
            collection.update(ids=list(stay), metadatas=cast(Any, list(stay.values())))


def _read(row: _Row, earlier: str) -> tuple[Publication, list[Publication]]:
    """The publication of a row of version 0.1, with what was known of it before, and the user's notes on it."""
    publication, *notes = upgraded(str(row["evidence"]))
    return (merged(restored(earlier), publication) if earlier else publication), notes


def _similar(row: _Row) -> str:
    earlier = str(row.get("similar", "")).split("\n")
    return "\n".join(filter(None, dict.fromkeys([*earlier, *json.loads(str(row["evidence"])).get("similar", ())])))


def _pages(collection: Collection) -> Iterator[tuple[list[str], list[_Row]]]:
    ids = collection.get(include=[])["ids"]
    for start in range(0, len(ids), PAGE):
        found = collection.get(ids=ids[start : start + PAGE], include=["metadatas"])
        yield found["ids"], [dict(row) for row in found["metadatas"] or []]
