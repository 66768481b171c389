"""Sessions that earlier versions kept: those of 0.2 are upgraded when they are opened, those of 0.1 are left alone."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import Clock, long_sections, paper, piece
from tests.evidence.test_damage import damage, refused_if_nothing_is_left
from tests.evidence.test_deletion import DAY, sweep_for
from tests.evidence.version_0_2 import CARD, kept_by_0_2

Registries = Callable[[Settings], SessionRegistry]

DECIDED = piece("Iron does not heal warts.", "Iron", pmid="2").model_copy(
    update={"screening": "excluded", "screening_reason": "animals", "tags": ("mice",)}
)
ITEMS = [
    piece("Zinc heals warts.", "Zinc in warts", pmid="1"),
    DECIDED,
    paper(long_sections("zinc", 3), "Zinc in steps", pmid="3", abstract="Zinc was weighed."),
    piece("Without a vector.", "Copper", pmid="4"),
]
DOCUMENTS = {"report": "What was found – “all”.", "search-log/1": "{}"}


async def publications(registry: SessionRegistry, session_id: str, owner: str = "") -> dict[str, Publication]:
    store = await registry.get(session_id, owner=owner)
    return await store.publications(await store.ids())


async def test_a_session_of_0_2_is_listed_upgraded_and_found(
    registries: Registries, tmp_path: Path, clock: Clock
) -> None:
    folder = kept_by_0_2(tmp_path, ITEMS, DOCUMENTS)
    registry = registries(Settings(data_dir=tmp_path))
    (listed,) = await registry.sessions()
    assert (listed.session_id, listed.title, listed.items) == (folder.name, CARD["title"], CARD["items"])
    assert listed.expires == listed.used + 90 * DAY == clock.now + 90 * DAY, "what cannot be dated counts as used now"

    store = await registry.find("zinc")

    assert await publications(registry, folder.name) == {one.id: one for one in ITEMS}
    assert await store.ids() == [one.id for one in ITEMS]
    assert await store.documents("") == DOCUMENTS
    assert (await store.search_similar("do warts heal with zinc?"))[0].id == "pubmed:1"
    assert not folder.exists()
    assert (tmp_path / "trash" / folder.name / "chroma" / "chroma.sqlite3").exists()
    await store.add_evidence([piece("Manganese.", "Manganese", pmid="5")])
    (listed,) = await registries(Settings(data_dir=tmp_path)).sessions()
    assert (listed.title, listed.items, listed.used, listed.damage) == ("Zinc", 5, clock.now, "")
    await sweep_for(registries, tmp_path, clock, 1.1 * DAY)
    assert not (tmp_path / "trash" / folder.name).exists()
    assert len(await publications(registries(Settings(data_dir=tmp_path)), folder.name)) == 5


async def test_what_a_killed_server_left_in_chroma_s_log_is_applied(registries: Registries, tmp_path: Path) -> None:
    folder = kept_by_0_2(tmp_path, ITEMS, removed=["pubmed:2"])
    database = sqlite3.connect(folder / "chroma" / "chroma.sqlite3")
    logged = database.execute("SELECT count(*) FROM embeddings_queue").fetchone()[0]
    assert logged > 4, "the log is all there is to make of it again"
    database.execute("DELETE FROM embedding_metadata WHERE id > 1")
    database.execute("DELETE FROM embeddings WHERE id > 1")
    database.execute("UPDATE max_seq_id SET seq_id = (SELECT min(seq_id) FROM embeddings_queue)")
    database.commit()
    database.close()
    found = await publications(registries(Settings(data_dir=tmp_path)), folder.name)
    assert found == {one.id: one for one in ITEMS if one.id != "pubmed:2"}


async def test_a_folder_of_0_2_without_its_empty_file_is_kept_and_opened(
    registries: Registries, tmp_path: Path, clock: Clock
) -> None:
    folder = kept_by_0_2(tmp_path, ITEMS)
    for name in ("used", "lock", "session.json"):
        (folder / name).unlink()
    for _ in range(30):
        await sweep_for(registries, tmp_path, clock, 7 * DAY)
    found = await publications(registries(Settings(data_dir=tmp_path)), folder.name)
    assert found == {one.id: one for one in ITEMS}


async def test_a_session_of_0_2_stays_its_owner_s(registries: Registries, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"ada").hexdigest()
    folder = kept_by_0_2(tmp_path, ITEMS, owner=digest)
    registry = registries(Settings(data_dir=tmp_path))
    for stranger in ("", "bob"):
        with pytest.raises(SessionNotFoundError):
            await registry.get(folder.name, owner=stranger)
        assert await registry.sessions(owner=stranger) == []
    assert len(await publications(registry, folder.name, "ada")) == len(ITEMS)


async def test_a_session_that_a_server_of_0_2_has_open_is_left_to_it(registries: Registries, tmp_path: Path) -> None:
    folder = kept_by_0_2(tmp_path, ITEMS)
    registry = registries(Settings(data_dir=tmp_path))
    with FileLock(folder / "lock"), pytest.raises(SessionBusyError, match="earlier version"):
        await registry.get(folder.name)
    assert len(await publications(registry, folder.name)) == len(ITEMS)


async def test_a_session_of_0_1_is_refused_in_a_sentence_and_left_as_it_is(
    registries: Registries, tmp_path: Path
) -> None:
    folder = kept_by_0_2(tmp_path, ITEMS, metadata={"owner": ""})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    registry = registries(Settings(data_dir=tmp_path))
    for _ in range(2):
        with pytest.raises(EvidenceStoreError, match=r"^Version 0\.1 of deepcritical-mcp kept this session\."):
            await registry.get(folder.name)
    await registry.sweep()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("seed", range(20))
async def test_of_a_damaged_folder_of_0_2_what_can_be_read_is_kept_and_the_rest_is_said_to_be_lost(
    seed: int, registries: Registries, tmp_path: Path
) -> None:
    folder = kept_by_0_2(tmp_path, ITEMS, DOCUMENTS)
    database = folder / "chroma" / "chroma.sqlite3"
    damage(database, seed)
    damaged = database.read_bytes()
    registry = registries(Settings(data_dir=tmp_path))
    with refused_if_nothing_is_left():
        store = await registry.get(folder.name)
        found, whole = await store.publications(await store.ids()), {one.id: one for one in ITEMS}
        if found != whole or await store.documents("") != DOCUMENTS:
            assert any("lost is not known" in warning for warning in store.warnings)
            database = tmp_path / "damaged" / folder.name / "chroma" / "chroma.sqlite3"
            assert database.read_bytes() == damaged
    assert await (await registry.open()).count() == 0
    await registry.drop(folder.name)
    assert await registry.sessions() == []


async def test_an_earlier_state_of_0_2_that_is_there_too_neither_outlives_its_session_nor_takes_its_place(
    registries: Registries, tmp_path: Path, clock: Clock
) -> None:
    """As a process leaves it that is killed while it upgrades, or a merged backup."""
    folder = kept_by_0_2(tmp_path, ITEMS)
    shutil.copytree(folder, tmp_path / "backup")
    registry = registries(Settings(data_dir=tmp_path))
    await (await registry.get(folder.name)).add_evidence([piece("Manganese.", "Manganese", pmid="5")])
    shutil.copytree(tmp_path / "backup", folder)

    await registry.drop(folder.name)

    assert await registry.sessions() == []
    with pytest.raises(SessionNotFoundError):
        await registry.get(folder.name)
    assert await (await registry.restore(folder.name)).count() == len(ITEMS) + 1
    await registry.aclose()
    shutil.copytree(tmp_path / "backup", folder)
    for _ in range(14):
        await sweep_for(registries, tmp_path, clock, 6.9 * DAY)
    later = registries(Settings(data_dir=tmp_path))
    assert await later.sessions() == []
    assert await (await later.restore(folder.name)).count() == len(ITEMS) + 1
