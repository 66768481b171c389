"""Earlier results: found again by the same query, and never in the way."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_process
import pytest

from deepcritical_mcp.sources.base import Hit
from deepcritical_mcp.sources.web.earlier_results import WebCache, clear_web_cache
from deepcritical_mcp.sources.web.request import WebOptions
from tests.publications import published

ANY = WebOptions()


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def page(url: str = "https://a.example/1", content: str = "Text.") -> Hit:
    publication = published(content, provider="brave", source="web", title="Title", url=url)
    return Hit(publication=publication, score=0.7)


async def found(cache: WebCache, query: str, options: WebOptions = ANY) -> str:
    answer = await cache.find(query, options)
    return answer.query if answer else ""


async def put(cache: WebCache, query: str, options: WebOptions = ANY, *pages: Hit) -> None:
    await cache.put(query, options, provider="brave", hits=pages or (page(),))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, clock: Clock) -> WebCache:
    return WebCache(tmp_path / "cache", ttl=3600, now=clock)


async def test_the_oldest_go_when_it_grows_too_large(tmp_path: Path, clock: Clock):
    cache = WebCache(tmp_path, ttl=3600, max_bytes=100_000, now=clock)
    for number in range(50):
        clock.now += 1
        await put(cache, f"word{number}", ANY, page(content="x" * 5_000))
    assert not await found(cache, "word0")
    assert await found(cache, "word49")


async def test_clearing_forgets_everything_and_counts_it(tmp_path: Path, clock: Clock):
    cache = WebCache(tmp_path, ttl=3600, now=clock)
    assert clear_web_cache(tmp_path) == 0
    await put(cache, "metformin")
    await put(cache, "aspirin")
    assert clear_web_cache(tmp_path) == 2
    assert not await found(cache, "metformin")
    await put(cache, "metformin")
    assert await found(cache, "metformin")


async def test_a_folder_that_cannot_be_made_is_no_cache_and_no_error(tmp_path: Path, clock: Clock):
    (tmp_path / "file").write_text("in the way")
    cache = WebCache(tmp_path / "file" / "cache", ttl=3600, now=clock)
    await put(cache, "metformin")
    assert not await found(cache, "metformin")
    assert clear_web_cache(tmp_path / "file" / "cache") == 0


def _fill(folder: str, name: str) -> int:
    """Runs in a process of its own: put ten answers and find them again."""

    async def run() -> int:
        cache = WebCache(Path(folder), ttl=3600)
        for number in range(10):
            await put(cache, f"{name} query{number}")
        return sum([bool(await found(cache, f"{name} query{number}")) for number in range(10)])

    return anyio.run(run)


async def test_several_processes_share_it_and_lose_nothing(tmp_path: Path):
    counts: list[int] = []

    async def fill(name: str) -> None:
        counts.append(await anyio.to_process.run_sync(_fill, str(tmp_path), name))

    async with anyio.create_task_group() as tasks:
        for name in ("one", "two"):
            tasks.start_soon(fill, name)
    cache = WebCache(tmp_path, ttl=3600)
    assert counts == [10, 10]
    assert all([await found(cache, f"{name} query{number}") for name in ("one", "two") for number in range(10)])


async def test_many_at_once_do_not_lock_each_other_out(tmp_path: Path):
    cache = WebCache(tmp_path, ttl=3600)
    async with anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(put, cache, f"query{number}", ANY)
    assert all([await found(cache, f"query{number}") for number in range(30)])
