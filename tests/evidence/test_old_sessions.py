"""Sessions that earlier versions kept: those of 0.2 are upgraded when they are opened, those of 0.1 are left alone."""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio
import chromadb
import httpx
import pytest
from chromadb import Collection
from chromadb.api.client import Client
from filelock import FileLock

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence import session_access
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage.chroma_rows import MAX_RECORDS, MAX_WRITTEN, portions_of
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, new_session_id
from deepcritical_mcp.models import Publication
from tests.evidence.archives import unpack
from tests.evidence.conftest import ChromaServer
from tests.evidence.stand_ins import Clock, Registries, long_sections, paper, piece, registry_of
from tests.evidence.test_damage import damage
from tests.evidence.test_deletion import DAY, sweep_for
from tests.evidence.version_0_2 import CARD, FORMAT, kept_by_0_2, record_row, written_by_0_2
from tests.sampling import one_in

DECIDED = piece("Iron does not heal warts.", "Iron", pmid="2").model_copy(
    update={"screening": "excluded", "screening_reason": "animals", "tags": ("mice",)}
)
ITEMS = [
    piece("Zinc heals warts.", "Zinc in warts", pmid="1"),
    DECIDED,
    paper(long_sections("zinc", 3), "Zinc in steps", pmid="3", abstract="Zinc was weighed."),
    piece("Without a vector.", "Copper", pmid="4"),
]
WRITTEN_BY_0_2 = Path(__file__).with_name("session_0_2.tar.xz")
"""A data folder in which version 0.2.0 has kept two records, a note, a decision, a report, and what was removed."""
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


@pytest.mark.parametrize("killed_after", range(9))
async def test_a_session_of_0_2_on_a_server_is_upgraded_even_if_that_is_interrupted(
    registries: Registries, chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch, killed_after: int
) -> None:
    client, session_id = chromadb.HttpClient(port=httpx.URL(chroma_server.url).port or 0), new_session_id()
    metadata = {**FORMAT, "owner": "", "used": 1_000_000_000, "items": 4}
    written_by_0_2(cast(Client, client), session_id, ITEMS, DOCUMENTS, metadata=metadata)
    client.get_collection(f"{session_id}-words").modify(metadata={**metadata, "title": "Zinc"})
    settings = Settings(chroma_url=chroma_server.url, session_ttl=1e10)
    await _upgrade_killed(registries(settings), session_id, monkeypatch, killed_after)
    for store in [await registries(settings).get(session_id), await registries(settings).get(session_id)]:
        assert (store.title, await store.ids()) == ("Zinc", [one.id for one in ITEMS])
        assert await store.publications(await store.ids()) == {one.id: one for one in ITEMS}
        assert await store.documents("") == DOCUMENTS
    store = await registries(settings).get(session_id)
    assert (await store.search_similar("do warts heal with zinc?"))[0].id == "pubmed:1"
    await store.remove(["pubmed:2"])
    assert await (await registries(settings).get(session_id)).count() == 3
    assert client.get_collection(session_id).count() == 0


@pytest.mark.parametrize("killed_after", range(4))
async def test_what_0_2_left_in_one_collection_is_upgraded_even_if_that_is_interrupted(
    registries: Registries, chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch, killed_after: int
) -> None:
    client, session_id = chromadb.HttpClient(port=httpx.URL(chroma_server.url).port or 0), new_session_id()
    written_by_0_2(cast(Client, client), session_id, ITEMS[-1:], DOCUMENTS, metadata={**FORMAT, "used": 1_000_000_000})
    client.delete_collection(session_id)  # 0.2 was killed while it discarded vectors
    settings = Settings(chroma_url=chroma_server.url, session_ttl=1e10)
    await _upgrade_killed(registries(settings), session_id, monkeypatch, killed_after)
    store = await registries(settings).get(session_id)
    assert (await store.ids(), await store.documents("")) == ([ITEMS[-1].id], DOCUMENTS)


async def test_a_text_that_0_2_changes_after_the_upgrade_loses_its_vectors(
    registries: Registries, chroma_server: ChromaServer
) -> None:
    client, session_id = chromadb.HttpClient(port=httpx.URL(chroma_server.url).port or 0), new_session_id()
    metadata = {**FORMAT, "owner": "", "used": 1_000_000_000, "items": 2}
    written_by_0_2(cast(Client, client), session_id, ITEMS[:2], {}, metadata=metadata)
    settings = Settings(chroma_url=chroma_server.url, session_ttl=1e10)
    store = await registries(settings).get(session_id)
    assert (await store.search_similar("Zinc in warts. Zinc heals warts."))[0].id == "pubmed:1"
    changed = piece("Copper conducts.", "Zinc in warts", pmid="1")
    main = client.get_collection(session_id)
    main.upsert(ids=[changed.id], embeddings=[[1.0] * 16], metadatas=[record_row(KeptItem(changed, 0, 1), 5, 0)])
    main.modify(metadata=metadata)  # as 0.2 does with each use
    store = await registries(settings).get(session_id)
    found = {item.id: item.relevance for item in await store.search_similar("Zinc in warts. Zinc heals warts.")}
    assert (await store.publications(["pubmed:1"]))["pubmed:1"].text.content == "Copper conducts."
    assert found.get("pubmed:1", 0.0) < 0.9


def test_rows_are_written_in_portions_that_a_server_takes() -> None:
    rows = [(str(number), b"x" * 3_000_000) for number in range(5)] + [(str(number), b"") for number in range(5, 600)]
    portions = list(portions_of(rows))
    assert [row for some in portions for row in some] == rows
    assert max(sum(len(value) for _, value in some) for some in portions) <= MAX_WRITTEN
    assert max(map(len, portions)) == MAX_RECORDS


async def _upgrade_killed(
    registry: SessionRegistry, session_id: str, monkeypatch: pytest.MonkeyPatch, killed_after: int
) -> None:
    """Open a session with a process that is killed after so many writes to its collections."""
    steps = {"left": killed_after}
    for name in ("upsert", "update", "delete", "modify"):
        monkeypatch.setattr(Collection, name, _until_killed(getattr(Collection, name), steps))
    with contextlib.suppress(EvidenceStoreError):
        await registry.get(session_id)
    monkeypatch.undo()


def _until_killed(work: Callable[..., object], steps: dict[str, int]) -> Callable[..., object]:
    def step(*args: Any, **kwargs: Any) -> object:
        steps["left"] -= 1
        if steps["left"] < 0:
            raise RuntimeError("killed")
        return work(*args, **kwargs)

    return step


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
    (folder / "lock").unlink(missing_ok=True)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    registry = registries(Settings(data_dir=tmp_path))
    for _ in range(2):
        with pytest.raises(EvidenceStoreError, match=r"^Version 0\.1 of deepcritical-mcp kept this session\."):
            await registry.get(folder.name)
    await registry.sweep()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("seed", one_in(4, range(20)))
async def test_a_damaged_folder_of_0_2_is_upgraded_whole_or_refused_and_left_as_it_is(
    seed: int, registries: Registries, tmp_path: Path
) -> None:
    folder = kept_by_0_2(tmp_path, ITEMS, DOCUMENTS)
    database = folder / "chroma" / "chroma.sqlite3"
    damage(database, seed)
    damaged = database.read_bytes()
    registry, refused = registries(Settings(data_dir=tmp_path)), ""
    try:
        store = await registry.get(folder.name)
        assert await store.publications(await store.ids()) == {one.id: one for one in ITEMS}
        assert await store.documents("") == DOCUMENTS
    except EvidenceStoreError as error:
        refused = error.message
    assert not refused or "is damaged: nothing of it can be read" in refused
    assert not refused or database.read_bytes() == damaged
    assert await (await registry.open()).count() == 0
    await registry.drop(folder.name)
    assert await registry.sessions() == []


def unpacked(data_dir: Path) -> str:
    """The id of the session that version 0.2.0 itself has kept, in a data folder."""
    with tarfile.open(WRITTEN_BY_0_2) as archive:
        unpack(archive, data_dir)
    (folder,) = (data_dir / "sessions").iterdir()
    return folder.name


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is less than a day since version 0.2.0 has removed something from that session."""
    monkeypatch.setattr(session_access, "now", lambda: 1_795_740_000_000)


async def whole(registry: SessionRegistry, session_id: str) -> None:
    store = await registry.get(session_id)
    found = await store.publications(await store.ids())
    contents = {one.pmid: [text.content for text in one.texts] for one in found.values() if one.source == "pubmed"}
    assert contents == {"1": ["Zinc heals warts."], "2": ["Iron does not heal warts."]}
    assert [one.texts[0].content for one in found.values() if one.source == "user"] == ["Read the zinc trial again."]
    iron = found["pubmed:2"]
    assert (iron.screening, iron.screening_reason, iron.tags) == ("excluded", "animals", ("mice",))
    assert await store.document("report") == "What was found: “all” of it."
    assert store.title == "Zinc in warts"
    assert (await store.search_similar("do warts heal with zinc?"))[0].content
    assert [back.id for back in await store.restore(["pubmed:3"])] == ["pubmed:3"]


@pytest.mark.usefixtures("soon")
async def test_what_version_0_2_itself_has_written_is_all_there(registries: Registries, tmp_path: Path) -> None:
    session_id = unpacked(tmp_path)
    await whole(registries(Settings(data_dir=tmp_path)), session_id)
    assert (tmp_path / "sessions" / f"{session_id}.sqlite3").exists()


UPGRADING = """
import shutil, sys
from pathlib import Path
from tests.evidence.stand_ins import Steps, killed_at_each_step, registry_of

template, folder, session_id = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
STEPS = {"os.remove", "os.rename", "open", "os.mkdir", "sqlite3.connect"}

async def upgrade(point):
    data_dir, steps = folder / str(point), Steps(point)
    shutil.copytree(template, data_dir)
    sys.addaudithook(lambda event, args: steps.step() if event in STEPS and str(data_dir) in str(args) else None)
    async with registry_of(data_dir) as registry:
        await (await registry.get(session_id)).count()

killed_at_each_step(upgrade)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.usefixtures("soon")
def test_an_upgrade_that_is_killed_at_any_point_loses_nothing(tmp_path: Path) -> None:
    template, folder = tmp_path / "template", tmp_path / "killed"
    session_id = unpacked(template)
    command = [sys.executable, "-c", UPGRADING, str(template), str(folder), session_id]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    places = [*folder.iterdir()]
    assert len(places) > 5, "the last one ran to its end"

    async def check() -> None:
        for place in places:
            async with registry_of(place) as registry:
                await whole(registry, session_id)

    anyio.run(check)


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
