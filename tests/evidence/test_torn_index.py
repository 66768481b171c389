"""A process that is killed while Chroma writes its index leaves files that Chroma cannot read. Nothing is lost."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError, EvidenceStoreError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, ScreeningMark
from tests.evidence.stand_ins import HashingModel

PAGES = 90


class Model(HashingModel):
    is_broken = False

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_broken:
            raise EmbeddingError("The model is broken.")
        return await super().vectors(texts)


def pages(first: int) -> list[Publication]:
    return [
        Publication.of(
            "page",
            f"On page {number} zinc heals wounds of kind {number}.",
            provider="test",
            source="web",
            title=f"Page {number}",
            url=f"https://example.org/{number}",
        )
        for number in range(first, first + PAGES)
    ]


def registry(folder: Path, model: Model) -> SessionRegistry:
    settings = Settings(data_dir=folder)
    return SessionRegistry(settings, model, open_backend(settings))


async def kept(folder: Path) -> tuple[str, dict[str, object]]:
    """A session in which Chroma has written the index of both collections, and what it has."""
    model = Model(dimension=64)
    sessions = registry(folder, model)
    store = await sessions.open(title="Wounds")
    await store.add_evidence(pages(0))
    ids = await store.ids()
    await store.decide([ScreeningMark(id=ids[3], verdict="excluded", reason="rats", tags=("late",))])
    await store.remove(ids[-2:])
    await store.keep_document("report", "Zinc.")
    model.is_broken = True
    await store.add_evidence(pages(PAGES))
    found = await state(store)
    await sessions.aclose()
    assert len(written_indexes(folder)) == 2
    return store.session_id, found


def written_indexes(folder: Path) -> list[Path]:
    return [*folder.glob("sessions/*/chroma/*/header.bin")]


async def state(store: EvidenceStore) -> dict[str, object]:
    known = await store.publications(await store.ids())
    return {**known, "report": await store.document("report"), "title": store.title}


def tear(folder: Path) -> None:
    for path in folder.glob("sessions/*/chroma/*/*"):
        path.write_bytes(path.read_bytes()[:10] if path.suffix == ".bin" else b"")


@pytest.mark.parametrize("is_marked", [True, False])
async def test_a_torn_index_is_built_again(is_marked: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    id, before = await kept(tmp_path)
    tear(tmp_path)
    mark = tmp_path / "sessions" / id / "unfinished"
    sessions = registry(tmp_path, Model(dimension=64))
    if is_marked:
        mark.touch()
    else:  # by a version that left no mark
        with pytest.raises(EvidenceStoreError, match="Try again"):
            await (await sessions.get(id)).count()
    store = await sessions.get(id)
    assert await state(store) == before
    assert "built again" in caplog.text
    assert not mark.exists()
    (page, *_) = await store.search_similar("Page 7. On page 7 zinc heals wounds of kind 7.")
    assert (page.citation.title, round(page.relevance, 5)) == ("Page 7", 1.0)
    assert len(await store.restore()) == 2
    assert await store.count() == 2 * PAGES
    await store.add_evidence(pages(2 * PAGES))
    after = await state(store)
    await sessions.aclose()

    caplog.clear()
    sessions = registry(tmp_path, Model(dimension=64))
    store = await sessions.get(id)
    assert await state(store) == after
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]
    await sessions.aclose()


async def test_building_again_can_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id, before = await kept(tmp_path)
    tear(tmp_path)
    (tmp_path / "sessions" / id / "unfinished").touch()
    for step in ("_write_again", "_discard_vectors", "_create"):
        copy = tmp_path / step
        shutil.copytree(tmp_path / "sessions", copy / "sessions")
        with monkeypatch.context() as patch:

            def interrupted(*_: object) -> None:
                raise RuntimeError("killed")

            patch.setattr(f"deepcritical_mcp.evidence.storage.folder_space.FolderSpace.{step}", interrupted)
            sessions = registry(copy, Model(dimension=64))
            with pytest.raises(EvidenceStoreError):
                await (await sessions.get(id)).count()
            await sessions.aclose()
        sessions = registry(copy, Model(dimension=64))
        assert await state(await sessions.get(id)) == before
        await sessions.aclose()


async def test_a_write_that_ends_leaves_no_mark(tmp_path: Path) -> None:
    id, _ = await kept(tmp_path)
    assert not (tmp_path / "sessions" / id / "unfinished").exists()
