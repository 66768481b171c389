"""What is near is found among all vectors of a session, also after it was opened again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, SessionInfo, new_session_id
from deepcritical_mcp.evidence.storage.vector_table import VectorTable
from deepcritical_mcp.models import CitationSource, Publication

DIMENSION = 48
LIMIT = 10
INFO = SessionInfo("", "random", items=0, searches=0)


def unit_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def item(number: int, parts: int, source: CitationSource = "pubmed") -> KeptItem:
    publication = Publication.of(
        "abstract", f"Text {number}.", provider="test", source=source, title=f"Title {number}", pmid=str(number)
    )
    return KeptItem(publication, number, parts, embedded=True, written=number + 1)


def test_passages_after_a_gap_are_not_taken_for_those_before() -> None:
    table = VectorTable()
    table.put("one", 3, unit_vectors(2))
    assert table.get("one", 5) is None
    assert table.nearest([unit_vectors(1)[0]], LIMIT, None) == [[]]


def test_after_a_failed_write_the_vectors_are_read_again() -> None:
    space = MemoryBackend(limit=1).create(new_session_id(), INFO)
    space.write([(item(1, 1), list(unit_vectors(1)))])
    with pytest.raises(ValueError, match="shape"):
        space.write([(item(2, 1), list(unit_vectors(1)[:, :3]))])  # of another dimension
    assert [one.publication.id for page in space.read() for one in page] == [item(1, 1).publication.id]
    (found,) = space.nearest([unit_vectors(1)[0]], LIMIT)
    assert [one.id for one in found] == [item(1, 1).publication.id]
    space.delete()


def test_only_what_is_close_enough_is_found() -> None:
    table, vectors = VectorTable(), unit_vectors(200)
    for number, vector in enumerate(vectors):
        table.put(f"id {number}", 0, [vector])
        table.set_source(f"id {number}", "web" if number % 2 else "pubmed")
    table.cut("id 7")
    queries = list(unit_vectors(40, seed=2))
    for source in (None, "web"):
        near = table.nearest(queries, LIMIT, source)
        close = [[one for one in some if one.cosine >= 0.33] for some in near]
        assert any(close)
        assert not all(close)
        assert table.nearest(queries, LIMIT, source, least=0.33) == close
