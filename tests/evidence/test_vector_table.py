"""What is near is found among all vectors of a session, also after it was opened again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, SessionInfo, new_session_id
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


def test_after_a_failed_write_the_vectors_are_read_again() -> None:
    space = MemoryBackend(limit=1).create(new_session_id(), INFO)
    space.write([(item(1, 1), list(unit_vectors(1)))])
    with pytest.raises(ValueError, match="shape"):
        space.write([(item(2, 1), list(unit_vectors(1)[:, :3]))])  # of another dimension
    assert [one.publication.id for page in space.read() for one in page] == [item(1, 1).publication.id]
    (found,) = space.nearest([unit_vectors(1)[0]], LIMIT)
    assert [one.id for one in found] == [item(1, 1).publication.id]
    space.delete()
