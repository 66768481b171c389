"""The vectors that stored publications lack: of which passages, and how they are written when they are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import Passage
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.rows import KeptItem, Vector
from deepcritical_mcp.evidence.units import has_other_texts
from deepcritical_mcp.models import Publication


class Missing(NamedTuple):
    """Passages of a publication, from number `start` on, that have no vectors yet."""

    publication: Publication
    start: int
    passages: Sequence[Passage]


def missing(catalogue: Catalogue, ids: Iterable[str], limit: int) -> list[Missing]:
    """The next passages of these ids that have no vectors yet, about `limit` in all."""
    found: list[Missing] = []
    for id in ids:
        if limit > 0 and id in catalogue:
            item = catalogue[id]
            start = item.vector_count
            if some := catalogue.layout(id).passages[start : start + limit]:
                found.append(Missing(item.publication, start, some))
                limit -= len(some)
    return found


def extend(catalogue: Catalogue, space: Space, rows: Sequence[tuple[Missing, Sequence[Vector]]]) -> None:
    """Store the vectors of passages that were missing; those of texts that have changed meanwhile are dropped."""
    whole: list[tuple[KeptItem, Sequence[Vector]]] = []
    for (publication, start, _), vectors in rows:
        entry = _with_same_texts(catalogue, publication)
        if entry is None or entry.vector_count != start:
            continue
        item = replace(entry, parts=start + len(vectors), embedded=True)
        if start:
            item = replace(item, progressed=entry.next_written)
            space.extend(item, vectors)
            catalogue.put(item)
        else:
            whole.append((replace(item, written=entry.next_written), vectors))
    _write(catalogue, space, whole)


def embed_again(catalogue: Catalogue, space: Space, rows: Sequence[tuple[Publication, Sequence[Vector]]]) -> None:
    """Store the vectors of publications whose texts have changed; those of texts that have changed again meanwhile, or
    of which as many are stored already, are dropped."""
    entries = [(_with_same_texts(catalogue, publication), vectors) for publication, vectors in rows]
    whole = [
        (replace(entry, parts=len(vectors), embedded=True, written=entry.next_written), vectors)
        for entry, vectors in entries
        if entry is not None and entry.vector_count < len(vectors)
    ]
    _write(catalogue, space, whole)


def _write(catalogue: Catalogue, space: Space, rows: Sequence[tuple[KeptItem, Sequence[Vector]]]) -> None:
    if rows:
        space.write(rows)
        for item, _ in rows:
            catalogue.put(item)


def _with_same_texts(catalogue: Catalogue, publication: Publication) -> KeptItem | None:
    """The stored item with the id of `publication`; None if it is gone, or its texts are others now."""
    if publication.id not in catalogue:
        return None
    entry = catalogue[publication.id]
    return None if has_other_texts(entry.publication, publication) else entry
