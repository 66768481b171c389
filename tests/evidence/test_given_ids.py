"""An id that was given leads to the same publication as long as that is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.chroma_session import ServerSpace
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import HashingModel, piece

ASPIRIN = "Aspirin lowered the risk of colorectal adenoma in a trial of 600 adults over three years."
VITAMIN = "Vitamin D had no effect on falls among 900 older women in nursing homes."
BOOK = "10.1000/book"


def aspirin(**fields: Any) -> Publication:
    return piece(ASPIRIN, "Aspirin and colorectal adenoma in adults", doi=BOOK, **fields)


def vitamin(**fields: Any) -> Publication:
    return piece(VITAMIN, "Vitamin D and falls in nursing homes", doi=BOOK, **fields)


def _nothing(*_: Any) -> None:
    """As if the process had ended before it."""


async def test_a_further_description_does_not_bring_the_id_of_another_publication(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    registry = SessionRegistry(settings, HashingModel(), open_backend(settings))
    store = await registry.open()
    described = (aspirin(), aspirin(pmid="1"), vitamin(), vitamin(pmid="2"), vitamin(journal="Bone"))
    for one in (*described, aspirin(pmid="1", keywords=("adenoma",))):
        await store.add_evidence([one])
    for _ in range(2):
        assert await store.ids() == ["pubmed:1", "pubmed:2"]
        assert (await store.get([f"doi:{BOOK}"]))[f"doi:{BOOK}"].id == "pubmed:1"
        await registry.aclose()
        registry = SessionRegistry(settings, HashingModel(), open_backend(settings))
        store = await registry.get(store.session_id)
    assert [one.id for one in await store.remove([f"doi:{BOOK}"])] == ["pubmed:1"]
    await registry.aclose()


@pytest.mark.parametrize("at_once", [False, True])
async def test_nor_does_it_take_that_id_when_the_other_gets_a_better_one(at_once: bool) -> None:
    store = await SessionRegistry(Settings(), HashingModel(), open_backend(Settings())).open()
    await store.add_evidence([aspirin(pmid="1")])
    described = [vitamin(), aspirin(journal="Gut"), vitamin(pmid="3")]
    calls = [described] if at_once else [[one] for one in described]
    outcomes = [outcome for some in calls for outcome in await store.add_evidence(some)]
    assert outcomes[-1].publication.id == "pubmed:3"
    assert "Vitamin" in outcomes[0].publication.title
    assert (await store.get([f"doi:{BOOK}"]))[f"doi:{BOOK}"].id == "pubmed:3"


async def test_an_interrupted_renaming_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=tmp_path)
    registry = SessionRegistry(settings, HashingModel(), open_backend(settings))
    store = await registry.open()
    await store.add_evidence([aspirin()])
    with monkeypatch.context() as killed:
        killed.setattr(ServerSpace, "remove_parts", _nothing)
        await store.add_evidence([aspirin(pmid="1")])
        await registry.aclose()
    for expected in (["pubmed:1"], []):
        registry = SessionRegistry(settings, HashingModel(), open_backend(settings))
        store = await registry.get(store.session_id)
        assert await store.ids() == expected
        await store.remove(["pubmed:1"])
        await registry.aclose()
