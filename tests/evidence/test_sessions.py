"""Sessions: who can open them, how long they live, and what happens to their evidence."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.backend import MemoryBackend
from deepcritical_mcp.evidence.storage.chroma_backend import ServerBackend
from deepcritical_mcp.evidence.storage.folder_store import FolderBackend
from tests.evidence.conftest import ChromaServer
from tests.evidence.stand_ins import Clock, HashingModel, HeldModel, Registries, piece, registry_of
from tests.evidence.test_copies import HERE, WRITING

HOUR = 3_600.0
PIECES = [
    piece(f"Finding number {number} about subject {number}.", f"Title {number}", pmid=str(number))
    for number in range(30)
]


def test_a_server_takes_precedence_over_a_folder_and_a_folder_over_memory(tmp_path: Path) -> None:
    server = "http://127.0.0.1:9"
    assert isinstance(open_backend(Settings(chroma_url=server, data_dir=tmp_path)), ServerBackend)
    assert isinstance(open_backend(Settings(data_dir=tmp_path)), FolderBackend)
    assert isinstance(open_backend(Settings()), MemoryBackend)
    assert list(tmp_path.iterdir()) == [], "nothing is written before the first session"


async def test_an_unknown_session_is_not_found(place: Settings, registries: Registries, tmp_path: Path) -> None:
    registry = registries(place)
    await registry.open()
    for unknown in ("", "new", "rs_" + "0" * 32, "../../etc/passwd", "rs_/../x", "rs_" + "é" * 32, "x" * 100_000):
        with pytest.raises(SessionNotFoundError):
            await registry.get(unknown)
        with pytest.raises(SessionNotFoundError):
            await registry.drop(unknown)


async def test_a_session_is_found_by_its_owner_alone(place: Settings, registries: Registries) -> None:
    registry = registries(place)
    store = await registry.open(owner="ada")
    assert await registry.get(store.session_id, owner="ada") is store
    for stranger in ("", "bob"):
        with pytest.raises(SessionNotFoundError):
            await registry.get(store.session_id, owner=stranger)
        with pytest.raises(SessionNotFoundError):
            await registry.drop(store.session_id, owner=stranger)
    assert await registry.get(store.session_id, owner="ada") is store


async def test_a_key_has_one_default_session_for_each_owner(place: Settings, registries: Registries) -> None:
    registry = registries(place)
    found: list[str] = []

    async def ask(key: str, owner: str) -> None:
        found.append((await registry.default(key, owner=owner)).session_id)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ask, "process", "")
    assert len(set(found)) == 1
    assert registry.defaults["process", ""] == found[0]
    others = {(await registry.default("other")).session_id, (await registry.default("process", owner="ada")).session_id}
    assert len(others | set(found)) == 3


async def test_a_session_is_deleted_from_where_it_was_kept_when_nobody_has_used_it_for_its_time(
    lasting_place: Settings, registries: Registries, clock: Clock
) -> None:
    settings = lasting_place.model_copy(update={"session_ttl": HOUR})
    store = await registries(settings).open()
    await store.add_evidence(PIECES[:3])
    await store.keep_document("report", "short")
    for _ in range(4):
        clock.now += 0.6 * HOUR
        store = await registries(settings).get(store.session_id)
        await registries(settings).sweep()
    again = await registries(settings).get(store.session_id)
    assert (await again.count(), await again.document("report")) == (3, "short"), "it was used meanwhile"
    clock.now += 1.1 * HOUR
    late = registries(settings)
    await late.sweep()
    clock.now -= HOUR
    with pytest.raises(SessionNotFoundError):
        await late.get(store.session_id)


async def test_where_sessions_last_making_room_only_closes_them(
    lasting_place: Settings, registries: Registries
) -> None:
    registry = registries(lasting_place.model_copy(update={"max_sessions": 2}))
    stores = [await registry.open() for _ in range(4)]
    for number, store in enumerate(stores):
        await store.add_evidence(PIECES[number : number + 1])
    assert registry.open_sessions <= 2
    for number, store in enumerate(stores):
        assert await registry.get(store.session_id) is store
        assert [item.id for item in await store.page(0, 9)] == [PIECES[number].id]


async def test_a_session_is_taken_up_again_after_a_restart(lasting_place: Settings, registries: Registries) -> None:
    first = registries(lasting_place)
    store = await first.open(owner="ada")
    await store.add_evidence(PIECES)
    await store.add_evidence([piece("The XK-4711 compound.", "A compound", pmid="99", found_by=["q"], keywords=["k"])])
    found = await store.search_similar("finding about subject 7", max_results=3)
    await first.aclose()
    again = await registries(lasting_place).get(store.session_id, owner="ada")
    assert await again.count() == 31
    assert [item.id for item in await again.page(0, 40)] == [*(item.id for item in PIECES), "pubmed:99"]
    assert await again.search_similar("finding about subject 7", max_results=3) == found
    assert (await again.search_similar("XK-4711", max_results=1))[0].citation.keywords == ("k",)
    assert {outcome.status for outcome in await again.add_evidence(PIECES)} == {"duplicate"}
    assert await again.count() == 31


async def test_processes_see_each_others_evidence_and_documents(
    lasting_place: Settings, registries: Registries
) -> None:
    settings = lasting_place
    one = await registries(settings).open()
    await one.add_evidence([*PIECES[:5], piece("A draft.", "Aspirin prevents colon cancer in men", doi="10.1/d")])
    other = await registries(settings).get(one.session_id)
    assert await other.count() == 6
    complete = piece("The article.", "Aspirin prevents colon cancer in men", doi="10.1/d", pmid="77")
    await other.add_evidence([*PIECES[5:8], complete])
    assert await one.count() == 9
    assert await one.known([piece("x", pmid="77")]) == ["pubmed:77"]
    assert await one.known([piece("x", "Aspirin prevents colon cancer in men", doi="10.1/d")]) == ["pubmed:77"]
    assert (await one.search_similar("finding about subject 6", max_results=1))[0].id == PIECES[6].id
    for writer, reader in ((one, other), (other, one)):
        await writer.keep_document("report", f"by {id(writer)}")
        assert await reader.document("report") == f"by {id(writer)}"


async def test_a_server_that_comes_back_is_used_again(
    embedder: EmbeddingService, registries: Registries, tmp_path: Path
) -> None:
    server = ChromaServer(tmp_path)
    server.start()
    store = await registries(Settings(chroma_url=server.url)).open()
    await store.add_evidence(PIECES[:3])
    server.stop()
    for attempt in (lambda: store.add_evidence(PIECES[3:6]), lambda: store.search_similar("finding"), store.count):
        with pytest.raises(EvidenceStoreError, match="does not respond"):
            await attempt()
    server.start()
    assert await store.count() == 3
    await store.add_evidence(PIECES[2:6])
    assert await store.count() == 6
    assert (await store.search_similar("finding about subject 5", max_results=1))[0].id == PIECES[5].id
    server.stop()


async def test_vectors_of_two_models_never_meet(lasting_place: Settings, registries: Registries) -> None:
    old, new = HashingModel("old", 16), HashingModel("new", 24)
    first = registries(lasting_place, old)
    store = await first.open()
    await store.add_evidence(PIECES)
    await store.keep_document("report", "short")
    await first.aclose()
    again = await registries(lasting_place, new).get(store.session_id)
    assert await again.count() == 30
    assert again.warnings()[0] == UNCALIBRATED
    assert "embedded again" in again.warnings()[1]
    found = await again.search_similar("Title 7. Finding number 7 about subject 7.", max_results=1)
    assert found[0].relevance == pytest.approx(1.0), "the texts are embedded anew with the model of now"
    assert len(new.embedded) >= 30
    assert again.warnings() == (UNCALIBRATED,)
    assert [item.id for item in await again.page(0, 40)] == [item.id for item in PIECES]
    assert await again.document("report") == "short"


async def test_a_killed_process_loses_nothing_of_its_own_or_of_another_window(tmp_path: Path) -> None:
    async with registry_of(tmp_path) as registry:
        store = await registry.open()
        await store.add_evidence(PIECES[:1])
        acknowledged, ours = list[str](), [PIECES[0].id]
        command = [sys.executable, "-c", WRITING, str(tmp_path), store.session_id]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE) as process:  # noqa: ASYNC220
            assert process.stdout
            for number in range(20):
                (outcome,) = await store.add_evidence([piece(f"Ours {number}.", pmid=str(20_000_000 + number))])
                ours.append(outcome.evidence.id)
                acknowledged.append(process.stdout.readline().strip())
            process.kill()
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
        assert [one.status for one in await store.add_evidence([piece("At last.", pmid="30000000")])] == ["added"]
    async with registry_of(tmp_path) as registry:
        store = await registry.get(store.session_id)
        kept = {item.id for item in await store.page(0, 10_000)} - {*ours, "pubmed:30000000"}
        assert await store.count() == len(kept) + len(ours) + 1
        assert set(acknowledged) <= kept
        assert len(kept) <= len(acknowledged) + 1
        assert await store.document("report") in (*acknowledged[-2:], *(kept - {*acknowledged}))
        assert await store.search_similar("Zinc in case 103.", max_results=1)
        assert not store.warnings()[1:]


async def test_a_search_answers_by_words_what_a_busy_model_cannot_compare_in_time(registries: Registries) -> None:
    model = HeldModel()
    model.missing = True
    model.holds = lambda _: True
    store = await registries(Settings(), model).open()
    text = "Rats were fed zinc for two years. " * 30 + "The kidneys of all animals showed lesions."
    await store.add_evidence([piece(text, pmid="1"), piece("Mice were given copper.", pmid="2")])
    model.missing = False
    with anyio.fail_after(5):
        found = await store.search("lesions of kidneys", max_results=1)
        passages = await store.passages("lesions of kidneys", found, [200])
    assert [item.id for item in found.evidence] == ["pubmed:1"]
    assert "The kidneys of all animals showed lesions." in passages[0].content
