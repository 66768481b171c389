"""What is near is found among all vectors of a session, also after it was opened again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.folder_store import FolderBackend
from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, NearPassage, SessionInfo, new_session_id
from deepcritical_mcp.evidence.storage.vector_table import VectorTable
from deepcritical_mcp.models import CitationSource, Publication

DIMENSION = 48
LIMIT = 10
INFO = SessionInfo("", "random", items=0, searches=0)


def unit_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def best(kept: dict[tuple[str, int], NDArray[np.float32]], query: NDArray[np.float32]) -> list[tuple[str, int]]:
    return sorted(kept, key=lambda place: -float(np.dot(kept[place], query)))[:LIMIT]


def places(found: list[list[NearPassage]]) -> list[list[tuple[str, int]]]:
    return [[(one.id, one.part) for one in some] for some in found]


def item(number: int, parts: int, source: CitationSource = "pubmed") -> KeptItem:
    publication = Publication.of(
        "abstract", f"Text {number}.", provider="test", source=source, title=f"Title {number}", pmid=str(number)
    )
    return KeptItem(publication, number, parts, embedded=True, written=number + 1)


def test_what_was_overwritten_or_removed_is_not_found_and_its_rows_are_used_again() -> None:
    table, kept = VectorTable(), dict[tuple[str, int], NDArray[np.float32]]()
    chance, vectors = np.random.default_rng(1), iter(unit_vectors(4_000))
    for _ in range(600):
        id, count = f"id {chance.integers(90)}", int(chance.integers(1, 6))
        known = sum(place[0] == id for place in kept)
        first = int(chance.integers(known + 1))
        if chance.random() < 0.3:
            table.cut(id, first)
            kept = {place: one for place, one in kept.items() if place[0] != id or place[1] < first}
        else:
            some = [next(vectors) for _ in range(count)]
            table.put(id, first, some)
            kept |= {(id, first + part): one for part, one in enumerate(some)}
    queries = unit_vectors(70, seed=2)
    assert places(table.nearest(list(queries), LIMIT, None)) == [best(kept, query) for query in queries]
    for id in {place[0] for place in kept}:
        found = table.get(id, 2)
        assert found is not None
        assert np.array_equal(found, [kept[id, part] for part in (0, 1) if (id, part) in kept])


def test_passages_after_a_gap_are_not_taken_for_those_before() -> None:
    table = VectorTable()
    table.put("one", 3, unit_vectors(2))
    assert table.get("one", 5) is None
    assert table.nearest([unit_vectors(1)[0]], LIMIT, None) == [[]]


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_a_session_finds_the_same_after_it_rested_or_was_opened_again(kind: str, tmp_path: Path) -> None:
    backend: Backend = MemoryBackend(limit=1) if kind == "memory" else FolderBackend(tmp_path, limit=1)
    space: Space = backend.create(new_session_id(), INFO)
    vectors, kept = iter(unit_vectors(900)), dict[tuple[str, int], NDArray[np.float32]]()
    for number in range(300):
        one = item(number, 1 + number % 3, "web" if number % 7 == 0 else "pubmed")
        some = [next(vectors) for _ in range(one.parts)]
        space.write([(one, some)])
        kept |= {(one.publication.id, part): vector for part, vector in enumerate(some)}
    for number in range(0, 300, 5):
        id = item(number, 0).publication.id
        left, parts = number % 2, 1 + number % 3
        if left < parts:
            if left:
                space.rewrite(item(number, left))
            space.remove_parts(id, range(left, parts))
            kept = {place: one for place, one in kept.items() if place[0] != id or place[1] < left}
    queries = list(unit_vectors(40, seed=3))
    first = space.nearest(queries, LIMIT)
    assert places(first) == [best(kept, query) for query in queries]
    of_web = space.nearest(queries, LIMIT, "web")
    assert {one.id for some in of_web for one in some} <= {
        item(number, 0).publication.id for number in range(0, 300, 7)
    }
    if kind == "folder":
        backend.release(space)
        space = backend.open(space.session_id, INFO.model)
    else:
        space.rest()
    list(space.read())
    for source, before in ((None, first), ("web", of_web)):
        again = space.nearest(queries, LIMIT, source)
        assert places(again) == places(before)
        for some, others in zip(again, before, strict=True):
            assert [one.cosine for one in some] == pytest.approx([one.cosine for one in others], abs=1e-6)
    backend.delete(space)
    backend.close()


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
