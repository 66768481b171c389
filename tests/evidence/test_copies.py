"""Copies of a data folder, as backup and sync programs make them: no session is lost, and nothing ends."""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, packed
from tests.evidence.archives import unpack
from tests.evidence.stand_ins import Clock, piece, registry_of
from tests.evidence.test_damage import named_as_lost
from tests.evidence.version_0_2 import kept_by_0_2
from tests.sampling import one_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX dates, permissions and signals")

DAY = 86_400.0
ITEMS = [piece(f"Zinc in case {number}. " * 20, f"Title {number}", pmid=str(number)) for number in range(1, 13)]
IDS = {one.id for one in ITEMS}


class Original(NamedTuple):
    """A data folder, the ids of the sessions kept there besides a deleted one, and one that this version has kept."""

    folder: Path
    kept: frozenset[str]
    session_id: str

    def copied_to(self, folder: Path) -> Path:
        """The file of that session in a copy of the folder."""
        copied(self.folder, folder)
        return folder / "sessions" / f"{self.session_id}.sqlite3"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    folder: Path = tmp_path_factory.mktemp("original") / "data"

    async def fill() -> list[str]:
        async with registry_of(folder, Clock()) as registry:
            stores = [await registry.open(title=f"Session {number}") for number in range(3)]
            for store in stores:
                await store.add_evidence(ITEMS)
            await registry.drop(stores[-1].session_id)
        async with registry_of(folder, Clock()) as registry:
            await registry.sweep()
        return [store.session_id for store in stores]

    *kept, _ = anyio.run(fill)
    return Original(folder, frozenset([*kept, kept_by_0_2(folder, ITEMS).name]), kept[0])


def copied(source: Path, target: Path) -> None:
    shutil.copytree(source, target, copy_function=shutil.copyfile)  # cp -r: with the dates and modes of now


def archived(source: Path, target: Path) -> None:
    with tarfile.open(target.with_suffix(".tar"), "w") as archive:
        archive.add(source, ".")
    with tarfile.open(target.with_suffix(".tar")) as archive:
        unpack(archive, target)


def synced(source: Path, target: Path) -> None:
    """As programs do that leave out empty files."""
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        if path.is_file() and not path.stat().st_size:
            path.unlink()


def halved(source: Path, target: Path) -> None:
    """Every other file of ours, and what belongs to those of version 0.2."""
    shutil.copytree(source, target)
    for path in sorted(target.glob("*/*.sqlite3"))[::2]:
        path.unlink()


COPIES: tuple[Callable[[Path, Path], object], ...] = (copied, shutil.copytree, archived, synced, halved)
YEAR = 365 * DAY
DATES: tuple[float | None, ...] = (None, time.time() - YEAR, time.time() + 20 * YEAR, 1.0)
TIMES = ("with the times", "without the times", "with times of nothing", "with empty times")


def dated(folder: Path, date: float | None) -> None:
    if date is not None:
        for path in (*folder.rglob("*"), folder):
            os.utime(path, (date, date))


def timed(folder: Path, times: str) -> None:
    file = folder / "idle.json"
    if times == "without the times":
        file.unlink()
    elif times != "with the times":
        file.write_text("{}" if times == "with times of nothing" else "")


@pytest.mark.parametrize(("copy", "date", "times"), one_in(7, itertools.product(COPIES, range(len(DATES)), TIMES)))
async def test_no_copy_loses_a_session(
    copy: Callable[[Path, Path], object], date: int, times: str, original: Original, tmp_path: Path, clock: Clock
) -> None:
    folder = tmp_path / "copy"
    copy(original.folder, folder)
    timed(folder, times)
    dated(folder, DATES[date])
    there = {path.stem for path in folder.glob("sessions/rs_*")}
    assert there == original.kept or copy is halved
    clock.now += 5 * YEAR
    for _ in range(3):
        async with registry_of(folder, clock) as registry:
            await registry.sweep()
            clock.now += 20 * DAY
    async with registry_of(folder, clock) as registry:
        assert {one.session_id for one in await registry.sessions()} == there
        assert await registry.gone(only_expired=True) == []
        for session_id in there:
            store = await registry.get(session_id)
            assert set(await store.ids()) == IDS
            assert not any("damaged" in warning for warning in store.warnings())
        assert {one.items for one in await registry.sessions()} == {len(ITEMS)}


READING = """
import os, shutil, sys, tempfile, anyio, pytest
from pathlib import Path
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, packed
from tests.evidence.stand_ins import Clock, piece, registry_of
from tests.evidence.test_copies import IDS

async def main(folder):
    async with registry_of(folder, Clock()) as registry:
        await registry.sweep()
        listed = [one.session_id for one in await registry.sessions()]
        for path in folder.glob("sessions/*.sqlite3"):
            assert path.stem in listed, "not listed"
            store = await registry.get(path.stem)
            assert set(await store.ids()) == IDS, "not read"
            assert await store.search_similar("zinc in case 7"), "not found"
            with pytest.raises(EvidenceStoreError, match="must be a writable folder"):
                await store.add_evidence([piece("More.", pmid="99")])
        print("read", flush=True)

with tempfile.TemporaryDirectory() as place:
    folder = Path(place) / "data"
    shutil.copytree(sys.argv[1], folder)
    for path in (*folder.rglob("*"), folder, Path(place)):
        os.chmod(path, 0o555 if path.is_dir() else 0o444)
    is_root = not os.geteuid()
    if is_root:
        os.seteuid(65_534)  # whom permissions concern
    anyio.run(main, folder)
    if is_root:
        os.seteuid(0)
    for path in (Path(place), folder, *folder.rglob("*")):
        os.chmod(path, 0o755)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX users")
def test_a_copy_that_cannot_be_written_can_be_read(original: Original) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READING, str(original.folder)], cwd=HERE, capture_output=True, text=True, check=False
    )
    assert done.stdout == "read\n", done.stderr


WRITING = """
import sys, anyio
from pathlib import Path
from tests.evidence.stand_ins import Clock, piece, registry_of

async def main(folder, session_id):
    async with registry_of(folder, Clock()) as registry:
        store = await registry.get(session_id)
        for number in range(100, 1_000_000):
            await store.add_evidence([piece(f"Zinc in case {number}. " * 30, f"Title {number}", pmid=str(number))])
            await store.keep_document("report", f"pubmed:{number}")
            print(f"pubmed:{number}", flush=True)

anyio.run(main, Path(sys.argv[1]), sys.argv[2])
"""
HERE = Path(__file__).parents[2]


async def test_a_copy_that_is_taken_while_a_session_is_written_has_all_that_was_there(
    original: Original, tmp_path: Path, clock: Clock
) -> None:
    folder, session_id = tmp_path / "data", min(original.kept)
    shutil.copytree(original.folder, folder)
    written: list[tuple[Path, set[str]]] = []
    command = [sys.executable, "-c", WRITING, str(folder), session_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE) as writer:  # noqa: ASYNC220
        assert writer.stdout
        known = set(IDS)
        for number in range(20):
            known |= {writer.stdout.readline().strip() for _ in range(3)}
            copy = tmp_path / f"copy {number}"
            with contextlib.suppress(shutil.Error):  # a journal has gone meanwhile
                await anyio.to_thread.run_sync(COPIES[number % 2], folder, copy)
            written.append((copy, set(known)))
        writer.kill()
    for copy, known in written:
        async with registry_of(copy, clock) as registry:
            store = await registry.get(session_id)
            missing = known - set(await store.ids())
            assert len(missing) <= named_as_lost(store.warnings()), store.warnings()
            assert {one.session_id for one in await registry.sessions()} == original.kept


@pytest.mark.long
@pytest.mark.parametrize("action", ["repaired", "deleted"])
@pytest.mark.anyio
async def test_what_another_window_writes_until_a_session_is_taken_from_it_is_there(
    action: str, original: Original, tmp_path: Path, clock: Clock
) -> None:
    session_id = original.session_id
    for number in range(5):
        folder = tmp_path / str(number)
        file_there = original.copied_to(folder)
        command = [sys.executable, "-c", WRITING, str(folder), session_id]
        with subprocess.Popen(  # noqa: ASYNC220
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE
        ) as writer:
            assert writer.stdout
            known = IDS | {writer.stdout.readline().strip() for _ in range(3)}
            if action == "repaired":
                with file_there.open("r+b") as file:
                    file.seek(file.read().index(b"Zinc in case 7. Zinc"))
                    file.write(b"Lead")
            async with registry_of(folder, clock) as registry:
                store = await registry.get(session_id)
                if action == "deleted":
                    await store.count()
                    await registry.drop(session_id)
                    await registry.restore(session_id)
            writer.kill()
            known |= {line.strip() for line in writer.stdout}
        async with registry_of(folder, clock) as registry:
            store = await registry.get(session_id)
            missing = known - set(await store.ids())
            assert missing <= ({"pubmed:7"} if action == "repaired" else set())  # the writer may have written it anew
            assert len(missing) <= named_as_lost(store.warnings()), store.warnings()


@pytest.mark.parametrize("damage", [b"?" * 16, bytes(4096)], ids=["some bytes", "a page"])
async def test_what_is_written_while_another_window_finds_the_file_s_beginning_damaged_is_there(
    damage: bytes, original: Original, tmp_path: Path, clock: Clock
) -> None:
    file = original.copied_to(tmp_path / "copy")
    writer = SessionFile.open(file)
    async with registry_of(tmp_path / "copy", clock) as registry:
        with writer.writing():
            writer.put("item", [("pubmed:99", packed(KeptItem(piece("Iron.", pmid="99"), 99)))], 99)
            with file.open("r+b") as damaged:
                damaged.write(damage)
            with contextlib.suppress(SessionBusyError):
                assert set(await (await registry.get(original.session_id)).ids()) == IDS
        store = await registry.get(original.session_id)
        assert set(await store.ids()) == {*IDS, "pubmed:99"}
        assert not any("damaged" in warning for warning in store.warnings())
    writer.close()


async def test_a_file_of_something_else_is_left_as_it_is(original: Original, tmp_path: Path, clock: Clock) -> None:
    file, diary = original.copied_to(tmp_path / "copy"), (b"My diary. " * 820)[:8192]
    file.write_bytes(diary)
    async with registry_of(tmp_path / "copy", clock) as registry:
        with pytest.raises(EvidenceStoreError, match="damaged"):
            await registry.get(original.session_id)
    assert file.read_bytes() == diary


CRASHING = """
import os, signal, sys
from pathlib import Path
from deepcritical_mcp.evidence.storage.session_file import SessionFile

file = SessionFile.open(Path(sys.argv[1]))
file._connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
with file.writing():
    file.put("item", [(key, value + b" " * 10_000) for key, value in file.values("item", file.keys("item")).items()])
    file.put("document", [(f"half written {n}", b"half written " * 1_000) for n in range(30)])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("journal", ["with", "without"])
@pytest.mark.parametrize("move", ["none", "deleted", "expired"])
async def test_what_a_killed_process_was_writing_is_undone_in_a_copy_too(
    journal: str, move: str, original: Original, tmp_path: Path, clock: Clock
) -> None:
    folder, session_id = tmp_path / "copy", original.session_id
    file = original.copied_to(folder)
    crashed = await anyio.to_thread.run_sync(
        lambda: subprocess.run([sys.executable, "-c", CRASHING, str(file)], cwd=HERE, check=False)
    )
    assert crashed.returncode == -signal.SIGKILL
    left = file.with_name(f"{file.name}-journal")
    assert b"half written" in file.read_bytes()
    assert left.stat().st_size
    if journal == "without":
        left.unlink()
    if move == "deleted":
        async with registry_of(folder, clock) as registry:
            await registry.drop(session_id)
    elif move == "expired":
        for _ in range(15):
            async with registry_of(folder, clock) as registry:
                await registry.sweep()
                clock.now += 7 * DAY
        assert not file.exists()
    async with registry_of(folder, clock) as registry:
        store = await registry.restore(session_id)
        missing = IDS - set(await store.ids())
        assert len(missing) <= named_as_lost(store.warnings())
        assert not missing or journal == "without"
        assert not await store.documents("half written") or journal == "without"
    assert not left.exists()


async def test_an_earlier_copy_that_is_put_back_over_an_open_session_is_noticed(tmp_path: Path) -> None:
    async with registry_of(tmp_path, Clock()) as registry:
        store = await registry.open(title="Zinc")
        await store.add_evidence(ITEMS[:3])
        file = tmp_path / "sessions" / f"{store.session_id}.sqlite3"
        copy = file.read_bytes()
        await store.add_evidence(ITEMS[3:6])
        file.write_bytes(copy)
        with pytest.raises(EvidenceStoreError):
            await store.add_evidence(ITEMS[4:5])
        assert await (await registry.get(store.session_id)).ids() == [one.id for one in ITEMS[:3]]
