"""What is deleted is gone: at once in memory, after a day in a folder, and whenever the process is killed."""

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import anyio
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import DeepCriticalError, EvidenceStoreError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.embedding.service import CACHE_FILE, EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.stored_items import new_session_id
from deepcritical_mcp.net.cache import Cache
from tests.evidence.stand_ins import Clock, HashingModel, Registries, piece

HOUR = 3_600.0
DAY = 24 * HOUR
SECRET = "Zanzibarium heals warts in mice."
PIECES = [piece(f"{SECRET} Case {number}.", f"Title {number}", pmid=str(number)) for number in range(1, 31)]


def traces(folder: Path, text: str = "anzibarium") -> list[str]:
    """The files below `folder` that contain `text`."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if text.encode() in path.read_bytes()]


def names(data_dir: Path) -> list[str]:
    return [path.name for path in data_dir.glob("sessions/*")]


async def sweep_for(registries: Registries, data_dir: Path, clock: Clock, seconds: float) -> None:
    """Let that time pass, at the beginning and at the end of which a server looks for what is old."""
    settings = Settings(data_dir=data_dir)
    await registries(settings).sweep()
    clock.now += seconds
    await registries(settings).sweep()


async def kept(registry: SessionRegistry, *, owner: str = "") -> str:
    """A session with evidence."""
    store = await registry.open(owner=owner)
    await store.add_evidence(PIECES[:10])
    return store.session_id


async def test_a_cleared_session_in_a_folder_can_be_restored_for_a_day_and_then_nothing_is_left_of_it(
    registries: Registries, tmp_path: Path, clock: Clock
) -> None:
    registry = registries(Settings(data_dir=tmp_path))
    session_id = await kept(registry, owner="ada")
    await registry.drop(session_id, owner="ada")
    with pytest.raises(SessionNotFoundError):
        await registry.get(session_id, owner="ada")
    for stranger in ("", "bob"):
        with pytest.raises(SessionNotFoundError):
            await registry.restore(session_id, owner=stranger)
    again = await registries(Settings(data_dir=tmp_path)).restore(session_id, owner="ada")
    assert [item.id for item in await again.page(0, 40)] == [item.id for item in PIECES[:10]]
    assert registry.backend.undo_seconds == 24 * HOUR
    await registry.drop(session_id, owner="ada")
    assert traces(tmp_path)
    await sweep_for(registries, tmp_path, clock, 25 * HOUR)
    with pytest.raises(SessionNotFoundError):
        await registry.restore(session_id, owner="ada")
    assert traces(tmp_path) == []


async def test_a_cleared_session_is_erased_at_once_by_its_owner_alone(registries: Registries, tmp_path: Path) -> None:
    registry = registries(Settings(data_dir=tmp_path))
    session_id = await kept(registry, owner="ada")
    await registry.drop(session_id, owner="ada")
    await registry.erase(session_id, owner="bob")
    assert traces(tmp_path)
    assert not await registry.gone(owner="bob")
    assert [one.session_id for one in await registry.gone(owner="ada")] == [session_id]
    await registry.erase(session_id, owner="ada")
    assert traces(tmp_path) == []
    assert not await registry.gone(owner="ada")


async def test_after_a_day_a_removed_record_is_forgotten_when_its_session_is_opened(
    registries: Registries, tmp_path: Path
) -> None:
    registry = registries(Settings(data_dir=tmp_path))
    store = await registry.get(await kept(registry))
    await store.add_evidence([piece("Quokkaine does not.", "Other", pmid="77")])
    await store.remove(["pubmed:77"])
    ((name, text),) = (await store.documents("removed")).items()
    _, at, id = name.split(" ")
    await store.keep_document(name, "")
    await store.keep_document(f"removed {int(at) - 25 * 3_600_000} {id}", text)
    assert traces(tmp_path, "uokkaine")
    assert await (await registries(Settings(data_dir=tmp_path)).get(store.session_id)).count() == 10
    assert traces(tmp_path, "uokkaine") == []


async def test_what_another_window_has_deleted_stops_no_other_call(
    registries: Registries, tmp_path: Path, clock: Clock
) -> None:
    first, second = (registries(settings, HashingModel()) for settings in [Settings(data_dir=tmp_path)] * 2)
    session_id, other = await kept(first), await kept(second)
    await (await second.get(session_id)).count()
    clock.now += 10
    await second.get(session_id)  # this use is recorded when it is closed
    await first.drop(session_id)
    clock.now += 91 * DAY
    assert await (await second.get(other)).count() == 10
    assert await (await first.restore(session_id)).count() == 10
    await (await second.get(session_id)).count()
    await first.drop(session_id)
    assert await (await second.restore(session_id)).count() == 10
    clock.now += 10
    await second.get(session_id)
    await first.drop(session_id)


async def test_the_cached_vectors_of_cleared_texts_go_with_them(
    registries: Registries, tmp_path: Path, clock: Clock
) -> None:
    settings = Settings(data_dir=tmp_path)
    embedder = EmbeddingService(settings)
    registry = registries(settings, embedder)
    session_id = await kept(registry)
    rows = sqlite3.connect(tmp_path / CACHE_FILE).execute("SELECT key, value FROM entries").fetchall()
    assert len(rows) == 10
    await registry.drop(session_id)
    later = registries(settings, embedder)
    await later.sweep()
    clock.now += 25 * HOUR
    await later.sweep()
    left = b"".join((tmp_path / name).read_bytes() for name in os.listdir(tmp_path) if ".sqlite3" in name)
    assert b"Zanzibarium" not in left
    assert not [key for key, vector in rows if key in left or vector in left]
    embedder.close()


DRIVER = """
import sys
from pathlib import Path
import deepcritical_mcp.evidence.storage.folder_store  # once, not in each child
from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from tests.evidence.stand_ins import Clock, HashingModel, Steps, killed_at_each_step
from tests.evidence.test_deletion import PIECES, sweep_weekly

folder, action = Path(sys.argv[1]), sys.argv[2]
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.utime"}
OPENS = {"open", "os.mkdir", "os.chmod", "sqlite3.connect"}

async def act(point):
    data_dir, steps = folder / str(point), Steps(point)
    settings = Settings(data_dir=data_dir, session_ttl=3_600)
    registry = SessionRegistry(settings, HashingModel(), open_backend(settings), clock=(clock := Clock()))
    armed = action == "create"

    def count(event, args):
        if armed and (event in CHANGES or event in OPENS and str(data_dir) in str(args)):
            steps.step()

    sys.addaudithook(count)
    store = await registry.open()
    await store.add_evidence(PIECES[:3])
    if action == "clear":
        armed = True
        await registry.drop(store.session_id)
    elif action == "sweep":
        await registry.aclose()
        armed = True
        await sweep_weekly(settings, clock, 7)

killed_at_each_step(act)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(("action", "least"), [("create", 3), ("clear", 4), ("sweep", 10)])
def test_a_kill_at_any_point_leaves_nothing_for_ever(action: str, least: int, tmp_path: Path) -> None:
    """The process is killed before each of its file operations in turn; each time in a data folder of its own."""
    command = [sys.executable, "-c", DRIVER, str(tmp_path), action]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    folders = list(tmp_path.iterdir())
    assert len(folders) > least, "the last one ran to its end"
    for folder in folders:
        anyio.run(clear_what_is_whole, folder, {0, 3} if action == "create" else {3})
        assert traces(folder) == []
        assert list(folder.glob("*/*")) == []


async def clear_what_is_whole(data_dir: Path, counts: set[int]) -> None:
    """Sweep; clear the sessions that are left, which must be whole; sweep again, until nothing can be taken back."""
    settings, clock = Settings(data_dir=data_dir, session_ttl=HOUR), Clock()
    registry = SessionRegistry(settings, HashingModel(), open_backend(settings), clock=clock)
    await registry.sweep()
    for session in [*await registry.sessions(), *await registry.gone(only_expired=True)]:
        assert await (await registry.restore(session.session_id)).count() in counts
        await registry.drop(session.session_id)
    await registry.aclose()
    await sweep_weekly(settings, clock, 7)


async def sweep_weekly(settings: Settings, clock: Clock, weeks: int) -> None:
    """Look for what is old once a week."""
    for _ in range(weeks):
        registry = SessionRegistry(settings, HashingModel(), open_backend(settings), clock=clock)
        await registry.sweep()
        await registry.aclose()
        clock.now += 7 * DAY


async def test_what_is_not_a_session_stays(registries: Registries, tmp_path: Path, clock: Clock) -> None:
    names = (f"sessions/{new_session_id()}", "sessions/notes", "trash/notes", "notes")
    for name in names:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "text").write_text(SECRET)
    (tmp_path / "sessions" / "notes.sqlite3").write_text(SECRET)
    for _ in range(20):
        await sweep_for(registries, tmp_path, clock, 7 * DAY)
    assert len(traces(tmp_path)) == len(names) + 1
    assert await registries(Settings(data_dir=tmp_path)).sessions() == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
async def test_the_data_folder_is_the_user_s_alone_whatever_the_umask(registries: Registries, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    listable = tmp_path / "open" / "sessions"
    listable.mkdir(mode=0o755)  # as a copy may make it
    earlier = os.umask(0)
    try:
        for data_dir in (tmp_path / "new" / "deep", tmp_path / "open"):
            registry = registries(Settings(data_dir=data_dir))
            await kept(registry)
            await registry.drop(await kept(registry))
        Cache(tmp_path / "new" / CACHE_FILE, max_bytes=1_000_000).put({b"key": b"value"})
    finally:
        os.umask(earlier)
    deep = tmp_path / "new" / "deep"
    below = [tmp_path / "new", deep, *(path for path in deep.iterdir() if path.is_dir()), listable]
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in below} == {"0o700"}
    files = [path for path in deep.rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in files} == {"0o600"}
    assert stat.S_IMODE((tmp_path / "new" / CACHE_FILE).stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize(("is_default", "mode"), [(True, 0o700), (False, 0o777)])
async def test_of_folders_that_exist_only_the_default_one_is_closed_to_others(
    monkeypatch: pytest.MonkeyPatch, registries: Registries, tmp_path: Path, is_default: bool, mode: int
) -> None:
    data_dir = tmp_path / "ours"
    data_dir.mkdir()
    data_dir.chmod(0o777)
    default = data_dir if is_default else tmp_path / "other"
    monkeypatch.setattr("deepcritical_mcp.config.platformdirs.user_data_path", Mock(return_value=default))
    await kept(registries(Settings(data_dir=data_dir)))
    assert stat.S_IMODE(data_dir.stat().st_mode) == mode


async def test_a_clock_that_is_wrong_expires_nothing(registries: Registries, tmp_path: Path, clock: Clock) -> None:
    registry = registries(Settings(data_dir=tmp_path))
    session_id = await kept(registry)
    deleted = await kept(registry)
    for years in (10, -20, 10, *(1, -1) * 20, *(-1, 1) * 20):
        await sweep_for(registries, tmp_path, clock, years * 365 * DAY)
    later = registries(Settings(data_dir=tmp_path))
    assert {one.session_id for one in await later.sessions()} == {deleted, session_id}
    assert await later.gone(only_expired=True) == []
    await later.drop(deleted)
    await sweep_for(registries, tmp_path, clock, -365 * DAY)
    assert await (await later.restore(deleted)).count() == 10


async def test_what_nobody_uses_for_its_time_can_be_taken_back_for_a_month(
    registries: Registries, tmp_path: Path, clock: Clock
) -> None:
    first = registries(Settings(data_dir=tmp_path))
    session_id, used = await kept(first), await kept(first)
    await first.aclose()
    for _ in range(14):
        await (await registries(Settings(data_dir=tmp_path)).get(used)).count()
        await sweep_for(registries, tmp_path, clock, 6.9 * DAY)
    registry = registries(Settings(data_dir=tmp_path))
    assert [one.session_id for one in await registry.sessions()] == [used]
    assert [one.session_id for one in await registry.gone(only_expired=True)] == [session_id]
    with pytest.raises(SessionNotFoundError):
        await registry.get(session_id)
    assert await (await registry.restore(session_id)).count() == 10
    await registry.aclose()
    for weeks, expired in ((12, []), (3, [session_id]), (4, [])):
        for _ in range(weeks):
            await (await registries(Settings(data_dir=tmp_path)).get(used)).count()
            await sweep_for(registries, tmp_path, clock, 6.9 * DAY)
        assert [
            one.session_id for one in await registries(Settings(data_dir=tmp_path)).gone(only_expired=True)
        ] == expired
    assert names(tmp_path) == [f"{used}.sqlite3"]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "junk": lambda database: database.write_bytes(b"junk" * 5_000),
    "no pages": lambda database: database.write_bytes(b"SQLite format 3\0" + b"\xff" * 4_080),
    "empty": lambda database: database.write_bytes(b""),
    "a folder": lambda database: (database.unlink(), database.mkdir()),
    "a pipe": lambda database: (database.unlink(), os.mkfifo(database)),
    "a link to nothing": lambda database: (database.unlink(), database.symlink_to("nothing")),
}


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_session_that_cannot_be_read_says_the_same_each_time_and_can_be_cleared(
    damage: str, registries: Registries, tmp_path: Path
) -> None:
    first = registries(Settings(data_dir=tmp_path))
    session_id = await kept(first)
    await first.aclose()
    file = tmp_path / "sessions" / f"{session_id}.sqlite3"
    DAMAGES[damage](file)
    registry = registries(Settings(data_dir=tmp_path))
    said: set[str] = set()
    for _ in range(3):
        with pytest.raises(DeepCriticalError) as error:
            await (await registry.get(session_id)).count()
        said.add(error.value.message)
    assert len(said) == 1
    with pytest.raises((SessionNotFoundError, EvidenceStoreError)):
        await registry.drop(session_id, owner="bob")
    assert file.name in names(tmp_path)
    await registry.drop(session_id)
    assert file.name not in names(tmp_path)


async def test_an_idle_session_gives_its_memory_back_and_answers_as_before(
    place: Settings, registries: Registries, clock: Clock
) -> None:
    registry = registries(place)
    store, other = await registry.open(owner="ada"), await registry.open()
    await store.add_evidence(PIECES)
    before = await store.search_similar("warts in mice, case 7", max_results=4)
    assert store.awake
    clock.now += HOUR / 2
    await registry.get(other.session_id)
    assert not store.awake
    assert store.size == 30
    assert await store.search_similar("warts in mice, case 7", max_results=4) == before


async def test_a_call_next_to_clearing_ends_with_a_result_or_a_clear_error(
    place: Settings, registries: Registries
) -> None:
    registry = registries(place)
    for attempt in range(8):
        store = await registry.open()
        await store.add_evidence(PIECES[:20])

        async def call(number: int, store: object = store, session_id: str = store.session_id) -> None:
            with contextlib.suppress(SessionNotFoundError, SessionBusyError):
                own = await registry.get(session_id)
                if number % 3 == 0:
                    await own.add_evidence(PIECES[20:])
                elif number % 3 == 1:
                    await own.search_similar("warts in mice")
                else:
                    await own.page(0, 40)

        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(call, number)
            await anyio.sleep(0.003 * attempt)
            await registry.drop(store.session_id)


@pytest.mark.long
def test_many_sessions_in_memory_take_little_memory() -> None:
    """80 sessions took 300 MB when each kept its Chroma collection and its indexes."""
    script = Path(__file__).parents[2] / "bench" / "memory.py"
    command = [sys.executable, script, "--sessions", "80", "--items", "20", "--ours"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    each = float(output.split(" MB each")[0].split()[-1])
    assert each < 2.5


async def test_a_search_says_that_the_data_folder_was_deleted(registries: Registries, tmp_path: Path) -> None:
    registry = registries(Settings(data_dir=tmp_path / "data"))
    session_id = (await registry.default("process")).session_id
    await (await registry.get(session_id)).add_evidence(PIECES[:3])
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(EvidenceStoreError, match="have been deleted"):
        await registry.default("process")
    fresh = await registry.default("process")
    assert fresh.session_id != session_id
    await fresh.add_evidence(PIECES[:3])
    assert await fresh.count() == 3
