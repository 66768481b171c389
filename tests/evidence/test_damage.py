"""What is damaged on a disk costs what cannot be read of it, and that is named; nothing ends, and all else goes on."""

import random
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import DeepCriticalError, EvidenceStoreError
from deepcritical_mcp.evidence.embedding.service import CACHE_FILE
from deepcritical_mcp.evidence.storage.session_file import salvaged
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.cache import Cache, cache_key
from tests.evidence.stand_ins import Clock, Registries, long_sections, paper, piece, registry_of

PAGE = 4_096
FIRST_LEAVES = 5 * PAGE
"""After the pages that say where others are: without one of these, nothing can be read."""
REPORT = "What was found. " * 400
ITEMS = [
    *(piece(f"Zinc in case {n}. " + "More. " * (n * 97 % 400), f"Title {n}", pmid=str(n)) for n in range(1, 31)),
    paper(long_sections("zinc", 5), "Zinc in ten steps", pmid="700", abstract="Zinc was weighed."),
]
LATER = piece("Iron in mice.", "Iron", pmid="999")


class Kept(NamedTuple):
    """A data folder with two sessions, and what is kept in the first."""

    folder: Path
    session_id: str
    other_id: str
    items: dict[str, Publication]

    def file(self, folder: Path) -> Path:
        return folder / "sessions" / f"{self.session_id}.sqlite3"


def flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(int(3 * 333 ** chance.random())):  # 3 to 1,000
        changed[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    return bytes(changed)


def truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def zeroed(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for start in chance.sample(range(0, len(data), PAGE), min(3, -(-len(data) // PAGE))):
        changed[start : start + PAGE] = bytes(len(changed[start : start + PAGE]))
    return bytes(changed)


def beheaded(data: bytes, chance: random.Random) -> bytes:
    size = chance.choice((16, 100, PAGE))
    return bytes(len(data[:size])) + data[size:]


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (flipped, flipped, truncated, zeroed, beheaded)


def damage(file: Path, seed: int) -> None:
    file.write_bytes(DAMAGES[seed % len(DAMAGES)](file.read_bytes(), random.Random(seed)))


@pytest.fixture(scope="module", params=["", "ada"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Kept]:
    folder: Path = tmp_path_factory.mktemp("kept")

    async def fill() -> Kept:
        async with registry_of(folder) as registry:
            store, other = [await registry.open(owner=request.param, title=title) for title in ("Zinc", "Copper")]
            await store.add_evidence(ITEMS)
            await store.search("until all is embedded")
            await store.keep_document("report", REPORT)
            await other.add_evidence(ITEMS[:3])
            return Kept(folder, store.session_id, other.session_id, await store.publications(await store.ids()))

    return request.param, anyio.run(fill)


def named_as_lost(warnings: Sequence[str]) -> float:
    """How many entries the warnings name as lost, at least; infinitely many if they say that this is not known."""
    (said,) = [one for one in warnings if "file was found damaged" in one] or [""]
    if "lost is not known" in said:
        return float("inf")
    lost = re.search(r"Lost: (.*?)\. A copy", said)
    if lost is None:
        return 0
    others = sum(int(one) for one in re.findall(r"\b(\d+) (?:more|other entr)", lost[1]))
    return others + sum(":" in one for one in re.split(r", | and ", lost[1]))


async def intact(store: EvidenceStore, kept: Kept) -> set[str]:
    """The ids of what the session still has, all of which is as it was kept; what is missing is named."""
    found = await store.publications(await store.ids())
    assert all(publication == kept.items[id] for id, publication in found.items())
    report = await store.document("report")
    assert report in ("", REPORT)
    missing = len(kept.items) - len(found) + (report == "")
    assert missing <= named_as_lost(store.warnings()), store.warnings()
    return set(found)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
async def test_of_a_damaged_session_all_is_there_that_is_not_named_as_lost(
    seed: int, kept: tuple[str, Kept], tmp_path: Path
) -> None:
    owner, before = kept
    folder = tmp_path / "data"
    shutil.copytree(before.folder, folder)
    damage(before.file(folder), seed)
    async with registry_of(folder) as registry:
        found: list[set[str]] = []
        try:
            store = await registry.get(before.session_id, owner=owner)
            found.append(await intact(store, before))
            await store.search_similar("zinc in case 7")
            await store.add_evidence([LATER])
        except DeepCriticalError as error:
            assert "nothing of it can be read" in error.message  # noqa: PT017  # other seeds raise nothing
        assert await (await registry.get(before.other_id, owner=owner)).count() == 3
        assert "Copper" in [one.title for one in await registry.sessions(owner=owner)]
    async with registry_of(folder) as registry:
        for left in found:
            again = await registry.get(before.session_id, owner=owner)
            assert set(await again.ids()) == {*left, LATER.id}
            assert left == set(before.items) or named_as_lost(again.warnings())
            assert len([*(folder / "damaged").glob("*")]) <= 1
    assert found or before.file(folder).exists()


async def test_a_page_of_the_file_that_is_gone_takes_what_was_on_it_and_no_more(
    kept: tuple[str, Kept], tmp_path: Path
) -> None:
    owner, before = kept
    whole = before.file(before.folder).read_bytes()
    counts: list[int] = []
    for start in (0, *range(FIRST_LEAVES, len(whole), PAGE)):
        folder = tmp_path / str(start)
        shutil.copytree(before.folder, folder)
        before.file(folder).write_bytes(whole[:start] + bytes(PAGE) + whole[start + PAGE :])
        async with registry_of(folder) as registry:
            counts.append(len(await intact(await registry.get(before.session_id, owner=owner), before)))
    assert min(counts) >= len(before.items) - 15
    assert counts[0] == max(counts) == len(before.items), "the first page is known"


async def test_no_other_digit_of_the_times_and_no_damage_to_them_deletes_anything(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "idle.json"
    async with registry_of(tmp_path, clock) as registry:
        stays, deleted = [await registry.open() for _ in range(2)]
        for store in (stays, deleted):
            await store.add_evidence(ITEMS[:1])
        await registry.drop(deleted.session_id)
    for _ in range(2):
        async with registry_of(tmp_path, clock) as registry:
            await registry.sweep()
        clock.now += 60
    whole = file.read_text()
    digits = [at for at, one in enumerate(whole) if one in "0123456789.]"]
    changed = [whole[:place] + other + whole[place + 1 :] for place in digits for other in ("9", "e9")]
    chances = [(DAMAGES[seed % len(DAMAGES)], random.Random(seed)) for seed in range(10)]
    for damaged in (*map(str.encode, changed), *(harm(whole.encode(), chance) for harm, chance in chances)):
        file.write_bytes(damaged)
        async with registry_of(tmp_path, clock) as registry:
            await registry.sweep()
            assert (tmp_path / "trash" / f"{deleted.session_id}.sqlite3").exists(), damaged
            assert [one.session_id for one in await registry.sessions()] == [stays.session_id], damaged
            assert await registry.gone(only_expired=True) == []


def test_of_damaged_cached_vectors_none_is_used_that_is_not_as_it_was(tmp_path: Path) -> None:
    vectors = {cache_key(str(n)): random.Random(n).randbytes(1_536) for n in range(30)}
    file = tmp_path / CACHE_FILE
    cache = Cache(file, max_bytes=10**9)
    cache.put(vectors)
    cache.close()
    whole = file.read_bytes()
    counts: list[int] = []
    for seed in range(50):
        file.write_bytes(whole)
        damage(file, seed)
        cache = Cache(file, max_bytes=10**9)
        found = cache.get(list(vectors))
        assert found.items() <= vectors.items(), seed
        counts.append(len(found))
        cache.put(vectors)
        cache.put(vectors)  # the first finds a file that it replaces
        assert cache.get(list(vectors)).items() <= vectors.items(), seed
        cache.close()
    assert max(counts) > min(counts)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
async def test_after_a_failed_write_nothing_waits_for_the_lock_that_it_left(
    registries: Registries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    registry = registries(Settings(data_dir=tmp_path))
    first = await registry.open()
    await first.add_evidence([piece("Iron does not heal warts.")])
    session_id = first.session_id
    largest = (tmp_path / "sessions" / f"{session_id}.sqlite3").stat().st_size + 300_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures: list[str] = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))  # as a quota does
    try:
        for number in range(8):
            store = await registry.get(session_id)
            try:
                large = [piece(f"Large {number} {item} " + "zinc " * 4_000) for item in range(10)]
                await store.add_evidence(large)
            except EvidenceStoreError as error:
                failures.append(error.message)
            await (await registry.get(session_id)).add_evidence([piece(f"Small {number}.")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(failures) >= 5
    assert all("disk is full" in message for message in failures)
    kept = await (await registry.get(session_id)).page(0, 100)
    assert {f"Small {number}." for number in range(8)} <= {item.content for item in kept}


async def test_a_file_with_part_of_a_later_change_does_not_say_that_nothing_is_lost(tmp_path: Path) -> None:
    async with registry_of(tmp_path) as registry:
        store = await registry.open()
        await store.add_evidence(ITEMS[:3])
    file = tmp_path / "sessions" / f"{store.session_id}.sqlite3"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE rows SET change = 99 WHERE key = 'pubmed:2'")
    assert named_as_lost([salvaged(file.read_bytes())[0].damage]) == float("inf")


async def test_an_index_that_lacks_a_row_is_damage_too(tmp_path: Path) -> None:
    async with registry_of(tmp_path) as registry:
        store = await registry.open()
        await store.add_evidence([piece(f"Zinc in case {number}. " * 20, pmid=str(number)) for number in range(1, 9)])
    file = tmp_path / "sessions" / f"{store.session_id}.sqlite3"
    file.write_bytes(file.read_bytes().replace(b"itempubmed:7", b"iteppubmed:7", 1))
    file.with_suffix(".0123abcd.new-journal").write_text("as a repair leaves it that is killed")
    async with registry_of(tmp_path) as registry:
        assert len(await (await registry.get(store.session_id)).ids()) == 8
    assert [*file.parent.iterdir()] == [file]
