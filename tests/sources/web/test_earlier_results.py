"""Earlier results: found again by the same query, and never in the way."""

from pathlib import Path

import pytest

from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.base import Answer
from deepcritical_mcp.sources.web.earlier_results import WebCache, clear_web_cache
from deepcritical_mcp.sources.web.request import WebOptions
from tests.evidence.stand_ins import Clock
from tests.publications import published

ANY = WebOptions()


def page(url: str = "https://a.example/1", content: str = "Text.") -> Publication:
    return published(content, provider="brave", source="web", title="Title", url=url)


async def found(cache: WebCache, query: str, options: WebOptions = ANY) -> str:
    answer = await cache.find(query, options)
    return answer.query if answer else ""


async def put(cache: WebCache, query: str, options: WebOptions = ANY, *pages: Publication) -> None:
    await cache.put(query, options, provider="brave", found=Answer.whole(pages or (page(),)))


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
