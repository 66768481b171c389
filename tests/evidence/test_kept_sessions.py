"""Sessions are found again: by their title, in a list, after a restart; which of them stay awake."""

import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from unittest.mock import Mock

import pytest

from deepcritical_mcp.config import Settings, user_data_folder
from deepcritical_mcp.errors import AmbiguousSessionError, EvidenceStoreError, InvalidInputError, SessionNotFoundError
from deepcritical_mcp.evidence.sessions import REST_AFTER, STAYS_AWAKE, SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.backend import MemoryBackend
from deepcritical_mcp.evidence.storage.folder_store import FolderBackend
from deepcritical_mcp.evidence.storage.stored_items import KeptSession, new_session_id, session_title, with_title
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import LoggedSearch, ScreeningMark
from deepcritical_mcp.models.search_log import WATCH_TOOL
from tests.evidence.stand_ins import Clock, HashingModel, Registries, piece, registry_of

DAY = 86_400.0
SEARCH = LoggedSearch(at="2026-11-23T04:45:10Z", tool="pubmed_search", source="pubmed", title="PubMed")


async def test_after_a_restart_the_list_says_what_each_session_holds(
    registries: Registries, lasting_place: Settings, clock: Clock
) -> None:
    owner = new_session_id()
    first = registries(lasting_place)
    began = clock()
    store = await first.open(owner=owner)
    await store.set_title_if_none("does zinc heal warts")
    await store.set_title_if_none("and iron?")
    await store.add_evidence([piece("Zinc heals warts."), piece("Iron does not.")])
    await store.log_search(SEARCH)
    await store.log_search(SEARCH.model_copy(update={"tool": WATCH_TOOL}))
    await first.aclose()
    later = registries(lasting_place)
    (kept,) = await later.sessions(owner=owner)
    assert (kept.session_id, kept.title) == (store.session_id, "does zinc heal warts")
    assert (kept.items, kept.searches) == (2, 1)
    assert kept.created == pytest.approx(began)
    ttl = 90 * DAY if lasting_place.data_dir else DAY
    assert kept.expires == pytest.approx(kept.used + ttl)
    again = await later.find("does zinc", owner=owner)
    assert again.title == "does zinc heal warts"
    assert later.kept_until(again.session_id) == pytest.approx(clock() + ttl)


async def test_another_process_keeps_a_title_that_it_does_not_know(
    registries: Registries, lasting_place: Settings
) -> None:
    one, other = registries(lasting_place), registries(lasting_place)
    owner = new_session_id()
    mine = await one.open(owner=owner)
    await mine.keep_document("log", "")
    theirs = await other.get(mine.session_id, owner=owner)
    await mine.set_title_if_none("Warts")
    await theirs.add_evidence([piece("Zinc heals warts.")])  # writes the numbers, with what it knows
    await theirs.set_title_if_none("zinc")
    for registry in (one, other):
        assert [(kept.title, kept.items) for kept in await registry.sessions(owner=owner)] == [("Warts", 1)]
    assert theirs.title == "Warts"


@pytest.mark.parametrize(
    "title", ["new", "NEW", "new: warts", "New : x", "rs_" + "0" * 32, "RS_7", "", " \n", "x" * 121]
)
def test_a_title_that_means_something_else_is_refused(title: str) -> None:
    with pytest.raises(InvalidInputError):
        session_title(title)


def test_of_several_sessions_with_such_titles_the_message_lists_five() -> None:
    kept = [KeptSession(new_session_id(), f"Warts {number}", used=1e9, items=number) for number in range(7)]
    with pytest.raises(AmbiguousSessionError) as error:
        with_title(kept, "warts")
    assert error.value.code == "ambiguous_session"
    assert error.value.sessions == tuple(one.session_id for one in kept)
    assert f'{kept[1].session_id} = "Warts 1", 1 item, last used 2001-09-09 01:46 UTC' in error.value.message
    assert "Warts 4" in error.value.message
    assert "Warts 5" not in error.value.message
    assert "and 2 more" in error.value.message
    assert '7 sessions have titles that begin with "warts".' in error.value.message
    with pytest.raises(AmbiguousSessionError, match='2 sessions have the title "warts"'):
        with_title([*kept, KeptSession(new_session_id(), "Warts"), KeptSession(new_session_id(), "WARTS")], "warts")
    exact = with_title([*kept, KeptSession(new_session_id(), "Warts")], "WARTS")
    assert exact is not None
    assert exact.title == "Warts"


async def test_of_two_windows_that_open_one_title_at_once_the_second_is_told(
    registries: Registries, tmp_path: Path
) -> None:
    windows = [registries(Settings(data_dir=tmp_path), HashingModel()) for _ in range(2)]
    first, second = [await window.open(title="Warts", is_only=True) for window in windows]
    await first.add_evidence([piece("Zinc heals warts.")])
    with pytest.raises(InvalidInputError, match=first.session_id):
        await second.add_evidence([piece("Iron does not.")])
    assert (await windows[1].find("warts")).session_id == first.session_id
    await second.add_evidence([piece("Iron does not.")])
    assert {one.title: one.items for one in await windows[0].sessions()} == {"Warts": 1, "": 1}


async def test_an_empty_session_leaves_no_file(registries: Registries, tmp_path: Path) -> None:
    registry = registries(Settings(data_dir=tmp_path))
    stores = [await registry.open(title="Warts"), await registry.open()]
    for store in stores:
        assert await store.search_similar("warts") == []
        assert (await store.count(), await store.document("report"), await store.documents("")) == (0, "", {})
        assert (await registry.get(store.session_id)).session_id == store.session_id
    await registry.drop(stores[1].session_id)
    with pytest.raises(SessionNotFoundError):
        await registry.get(stores[1].session_id)
    await registry.aclose()
    assert list((tmp_path / "sessions").iterdir()) == []
    assert list((tmp_path / "trash").iterdir()) == []


async def test_listing_a_thousand_sessions_opens_and_deletes_none(tmp_path: Path, clock: Clock) -> None:
    async with registry_of(tmp_path, clock) as registry:
        store = await registry.open(title="T")
        await store.add_evidence([piece("Zinc heals warts.")])
    file = tmp_path / "sessions" / f"{store.session_id}.sqlite3"
    for _ in range(999):
        shutil.copyfile(file, file.with_name(f"{new_session_id()}.sqlite3"))
    for path in file.parent.iterdir():
        os.utime(path, (0, 0))
    clock.now += 3_650 * DAY
    async with registry_of(tmp_path, clock) as registry:
        for _ in range(2):
            assert [one.items for one in await registry.sessions()] == [1] * 1_000
        assert registry.open_sessions == 0
        assert (await registry.sessions(owner="somebody")) == []
        assert len([*file.parent.iterdir()]) == 1_000


def test_sessions_of_a_user_are_kept_unless_the_setting_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPCRITICAL_DATA_DIR", raising=False)
    assert Settings().data_dir is None
    assert Settings().kept_for_user().data_dir == user_data_folder()
    assert Settings(data_dir=Path("x")).kept_for_user().data_dir == Path("x")
    for value in ("memory", " Memory "):
        monkeypatch.setenv("DEEPCRITICAL_DATA_DIR", value)
        assert Settings().kept_for_user().data_dir is None
    monkeypatch.setenv("DEEPCRITICAL_DATA_DIR", "")
    assert Settings().kept_for_user().data_dir == user_data_folder()


async def test_a_data_folder_that_cannot_be_written_is_no_reason_not_to_serve(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    place = Mock(return_value=tmp_path / "file" / "ours")
    monkeypatch.setattr("deepcritical_mcp.config.platformdirs.user_data_path", place)
    (tmp_path / "file").write_text("in the way")
    settings = Settings().kept_for_user()
    backend = open_backend(settings)
    assert isinstance(backend, MemoryBackend)
    registry = SessionRegistry(settings, HashingModel(), backend)
    store = await registry.open()
    assert any("kept in memory" in warning and str(tmp_path) in warning for warning in store.warnings())
    assert registry.kept_until(store.session_id) == 0.0
    chosen = open_backend(Settings(data_dir=tmp_path / "file" / "chosen"))
    assert isinstance(chosen, FolderBackend)
    with pytest.raises(EvidenceStoreError, match="DEEPCRITICAL_DATA_DIR"):
        await SessionRegistry(settings, HashingModel(), chosen).open()
    monkeypatch.chdir(tmp_path)
    place.return_value = Path("~/.local/share/x")  # of an account without a home
    assert isinstance(open_backend(Settings().kept_for_user()), MemoryBackend)
    assert os.listdir(tmp_path) == ["file"]


async def test_a_session_is_never_read_from_elsewhere(registries: Registries, tmp_path: Path) -> None:
    elsewhere = registries(Settings(data_dir=tmp_path / "other"))
    store = await elsewhere.open(title="Not ours")
    await store.add_evidence([piece("Zinc heals warts.")])
    await elsewhere.aclose()
    own = tmp_path / "data" / "sessions"
    own.mkdir(parents=True)
    link = own / f"{store.session_id}.sqlite3"
    link.symlink_to(tmp_path / "other" / "sessions" / link.name)
    registry = registries(Settings(data_dir=tmp_path / "data"))
    assert await registry.sessions() == []
    with pytest.raises(SessionNotFoundError):
        await registry.get(store.session_id)


@pytest.mark.parametrize("in_the_way", ["data", "data/sessions"])
async def test_a_file_in_place_of_the_folder_is_an_outage_and_not_an_empty_list(
    in_the_way: str, registries: Registries, tmp_path: Path
) -> None:
    (tmp_path / in_the_way).parent.mkdir(exist_ok=True)
    (tmp_path / in_the_way).write_text("not a folder")
    registry = registries(Settings(data_dir=tmp_path / "data"))
    with pytest.raises(EvidenceStoreError, match="could not list the sessions"):
        await registry.sessions()
    with pytest.raises(EvidenceStoreError, match="could not open the session"):
        await registry.get(new_session_id())


async def test_a_list_shows_one_s_own_sessions_only_the_last_used_first(
    registries: Registries, place: Settings, clock: Clock
) -> None:
    registry = registries(place)
    ada, bob = new_session_id(), new_session_id()
    for title, owner in (("first", ada), ("hers", bob), ("second", ada)):
        await (await registry.open(owner=owner, title=title)).add_evidence([piece(title)])
        clock.now += 100
    await registry.open(owner=ada)  # empty: nothing to come back to
    assert [one.title for one in await registry.sessions(owner=ada)] == ["second", "first"]
    await registry.find("first", owner=ada)
    assert [one.title for one in await registry.sessions(owner=ada)] == ["first", "second"]
    with pytest.raises(SessionNotFoundError):
        await registry.find("hers", owner=ada)


SESSIONS = 5
AWAKE = 2


@pytest.fixture
async def registry(clock: Clock) -> AsyncGenerator[SessionRegistry]:
    backend = MemoryBackend(limit=100)
    backend.max_awake = AWAKE
    registry = SessionRegistry(Settings(), HashingModel(), backend, clock=clock)
    yield registry
    await registry.aclose()


async def filled(registry: SessionRegistry) -> list[EvidenceStore]:
    stores = [await registry.open() for _ in range(SESSIONS)]
    for number, store in enumerate(stores):
        await store.add_evidence([piece(f"Finding number {number}.", f"Title {number}", pmid=str(number))])
    return stores


def awake(stores: list[EvidenceStore]) -> list[int]:
    return [number for number, store in enumerate(stores) if store.awake]


async def test_of_idle_sessions_the_last_used_ones_stay_awake(registry: SessionRegistry, clock: Clock) -> None:
    stores = await filled(registry)
    clock.now += STAYS_AWAKE + 1
    await registry.get(stores[1].session_id)
    await registry.sweep()
    assert awake(stores) == [1, 4]
    clock.now += STAYS_AWAKE + 1
    await (await registry.get(stores[0].session_id)).count()
    clock.now += STAYS_AWAKE + 1
    await registry.sweep()
    assert awake(stores) == [0, 1]
    clock.now += REST_AFTER
    await registry.sweep()
    assert awake(stores) == []
    assert [await store.ids() for store in stores] == [[f"pubmed:{number}"] for number in range(SESSIONS)]


ITEMS = 60


async def rested() -> EvidenceStore:
    """A session at rest, of which the last item has no vector."""
    model = HashingModel()
    store = await SessionRegistry(Settings(), model, MemoryBackend(limit=9)).open()
    await store.add_evidence([piece(f"Finding {n} in mice.", f"Title {n}", pmid=str(n)) for n in range(1, ITEMS)])
    model.missing = True
    await store.add_evidence([piece("Copper in rats.", "Copper", pmid="99")])
    await store.rest()
    return store


@pytest.mark.parametrize("id", ["pubmed:7", "pubmed:99"])
async def test_what_is_written_after_it_was_read_is_kept(id: str) -> None:
    store = await rested()
    await store.decide([ScreeningMark(id=id, verdict="included")])
    await store.remove(["pubmed:8"])
    for _ in range(2):
        found = await store.publications([id, "pubmed:8"])
        assert {one.id: one.screening for one in found.values()} == {id: "included"}
        assert await store.count() == ITEMS - 1
        await store.rest()
