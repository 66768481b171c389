"""One query, several providers: the first that finds something answers, and is found again by the same query."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    ProviderRequestError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from deepcritical_mcp.models import ProviderReport, Publication
from deepcritical_mcp.sources.base import Answer
from deepcritical_mcp.sources.web.chain import ProviderChain
from deepcritical_mcp.sources.web.earlier_results import WebCache, clear_web_cache
from deepcritical_mcp.sources.web.request import WebOptions, WebRequest
from tests.evidence.stand_ins import Clock
from tests.publications import published
from tests.search.web_fakes import FakeProvider, never, page

DOWN = ProviderUnavailableError("brave", "Brave is unavailable (HTTP 503).")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, clock: Clock) -> WebCache:
    return WebCache(tmp_path, ttl=86_400, now=clock)


def chain(providers: Sequence[FakeProvider], cache: WebCache, clock: Clock, *, seconds: float = 45.0) -> ProviderChain:
    return ProviderChain(providers, cache, seconds=seconds, clock=clock)


async def ask(asked: ProviderChain, query: str, limit: int) -> Answer:
    return await asked.ask(query, WebRequest(query=query), limit=limit)


async def test_when_all_fail_the_cache_answers_and_says_so(cache: WebCache, clock: Clock):
    provider = FakeProvider("brave", [page("a", score=0.8), page("b")], DOWN)
    tested = chain([provider], cache, clock)
    await ask(tested, "Metformin and cancer", 5)
    clock.now += 3 * 3600
    answer = await ask(tested, "metformin and cancer?", 1)
    origin = "cached results that brave found on 2023-11-14 at 22:13 UTC"
    assert answer.from_cache
    assert [item.title for item in answer.records.values()] == ["Title of a"]
    assert answer.reports == (
        ProviderReport(name="brave", status="failed", detail=DOWN.message),
        ProviderReport(name="cache", status="ok", detail=origin, results=1),
    )
    assert answer.remarks == (f"No provider could answer now; these are {origin}.",)


async def test_a_circuit_opens_after_three_failures_and_is_probed_after_the_pause(cache: WebCache, clock: Clock):
    failing = FakeProvider("brave", DOWN, DOWN, DOWN, [page("a")])
    tested = chain([failing, FakeProvider("duckduckgo", [page("b")])], cache, clock)
    for _ in range(3):
        await ask(tested, "q", 5)
    answer = await ask(tested, "q", 5)
    assert len(failing.asked) == 3
    assert answer.reports[0].status == "failed"
    assert "failed 3 times in a row and is skipped for now" in answer.reports[0].detail
    clock.now += 15
    answer = await ask(tested, "q", 5)
    assert answer.reports == (ProviderReport(name="brave", status="ok", results=1),)


async def test_requests_that_were_refused_or_cancelled_open_no_circuit(cache: WebCache, clock: Clock):
    refused = [ProviderRequestError("brave", "Too long.")] * 5
    scopes = list[anyio.CancelScope]()

    async def cancelled(query: str) -> Answer:
        scopes[-1].cancel()
        return await never(query)

    tested = chain([FakeProvider("brave", *refused, *[cancelled] * 3, [page("a")])], cache, clock)
    for _ in refused:
        with pytest.raises(AllProvidersFailedError):
            await ask(tested, "q", 5)
    for _ in range(3):
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await ask(tested, "q", 5)
    assert len((await ask(tested, "q", 5)).records) == 1


async def test_all_that_hang_end_before_the_deadline_with_their_causes(cache: WebCache, clock: Clock):
    providers = [FakeProvider("tavily", never), FakeProvider("brave", never)]
    with anyio.fail_after(1), pytest.raises(AllProvidersFailedError) as caught:
        await ask(chain(providers, cache, clock), "q", 5)
    assert [type(cause) for cause in caught.value.causes] == [ProviderTimeoutError, ProviderTimeoutError]


ANY = WebOptions()


def found_page(url: str = "https://a.example/1", content: str = "Text.") -> Publication:
    return published(content, provider="brave", source="web", title="Title", url=url)


async def found(web_cache: WebCache, query: str, options: WebOptions = ANY) -> str:
    answer = await web_cache.find(query, options)
    return answer.query if answer else ""


async def put(web_cache: WebCache, query: str, options: WebOptions = ANY, *pages: Publication) -> None:
    await web_cache.put(query, options, provider="brave", found=Answer.whole(pages or (found_page(),)))


@pytest.fixture
def web_cache(tmp_path: Path, clock: Clock) -> WebCache:
    return WebCache(tmp_path / "cache", ttl=3600, now=clock)


async def test_the_oldest_go_when_it_grows_too_large(tmp_path: Path, clock: Clock):
    web_cache = WebCache(tmp_path, ttl=3600, max_bytes=100_000, now=clock)
    for number in range(50):
        clock.now += 1
        await put(web_cache, f"word{number}", ANY, found_page(content="x" * 5_000))
    assert not await found(web_cache, "word0")
    assert await found(web_cache, "word49")


async def test_clearing_forgets_everything_and_counts_it(tmp_path: Path, clock: Clock):
    web_cache = WebCache(tmp_path, ttl=3600, now=clock)
    assert clear_web_cache(tmp_path) == 0
    await put(web_cache, "metformin")
    await put(web_cache, "aspirin")
    assert clear_web_cache(tmp_path) == 2
    assert not await found(web_cache, "metformin")
    await put(web_cache, "metformin")
    assert await found(web_cache, "metformin")
