"""One query, several providers: the first that finds something answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    AuthenticationError,
    BlockedError,
    CircuitOpenError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from deepcritical_mcp.models import ProviderReport
from deepcritical_mcp.net.fair_queue import Slots, turn_of
from deepcritical_mcp.sources.base import Answer
from deepcritical_mcp.sources.web.chain import ProviderChain
from deepcritical_mcp.sources.web.earlier_results import WebCache
from deepcritical_mcp.sources.web.request import WebOptions, WebRequest
from tests.search.web_fakes import FakeProvider, never, page

ANY = WebOptions()
DOWN = ProviderUnavailableError("brave", "Brave is unavailable (HTTP 503).")


class Clock:
    now = 5_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, clock: Clock) -> WebCache:
    return WebCache(tmp_path, ttl=86_400, now=clock)


def chain(providers: Sequence[FakeProvider], cache: WebCache, clock: Clock, *, seconds: float = 45.0) -> ProviderChain:
    return ProviderChain(providers, cache, seconds=seconds, clock=clock, now=clock)


async def ask(asked: ProviderChain, query: str, limit: int) -> Answer:
    return await asked.ask(query, WebRequest(query=query), limit=limit)


async def test_the_first_that_finds_something_answers_and_later_ones_are_not_asked(cache: WebCache, clock: Clock):
    first, second = FakeProvider("tavily", [page("a")]), FakeProvider("brave", [page("b")])
    answer = await ask(chain([first, second], cache, clock), "metformin", 5)
    assert [item.publication.title for item in answer.records.values()] == ["Title of a"]
    assert answer.reports == (ProviderReport(name="tavily", status="ok", results=1),)
    assert first.asked == [("metformin", 5, ANY)]
    assert second.asked == []


async def test_a_provider_without_its_key_is_skipped_and_says_which_variable_sets_it(cache: WebCache, clock: Clock):
    keyless = FakeProvider("tavily", [page("a")], key="TAVILY_API_KEY")
    answer = await ask(chain([keyless, FakeProvider("duckduckgo", [page("b")])], cache, clock), "metformin", 5)
    assert answer.reports == (
        ProviderReport(name="tavily", status="skipped", detail="no API key: set TAVILY_API_KEY to use Tavily"),
        ProviderReport(name="duckduckgo", status="ok", results=1),
    )
    assert keyless.asked == []


async def test_a_failure_moves_on_and_is_told(cache: WebCache, clock: Clock):
    providers = [
        FakeProvider("tavily", AuthenticationError("tavily", "Tavily refused access.")),
        FakeProvider("brave", [page("b")]),
    ]
    answer = await ask(chain(providers, cache, clock), "metformin", 5)
    assert answer.reports == (
        ProviderReport(name="tavily", status="failed", detail="Tavily refused access."),
        ProviderReport(name="brave", status="ok", results=1),
    )


async def test_an_empty_answer_moves_on_to_the_next_provider(cache: WebCache, clock: Clock):
    answer = await ask(chain([FakeProvider("tavily", []), FakeProvider("brave", [page("b")])], cache, clock), "q", 5)
    assert answer.reports[0] == ProviderReport(name="tavily", status="ok", detail="found nothing")
    assert len(answer.records) == 1


async def test_nothing_found_anywhere_is_an_empty_success(cache: WebCache, clock: Clock):
    answer = await ask(chain([FakeProvider("tavily", []), FakeProvider("brave", [])], cache, clock), "q", 5)
    assert answer.records == {}
    assert [report.status for report in answer.reports] == ["ok", "ok"]


async def test_when_all_fail_one_error_keeps_every_cause_in_order(cache: WebCache, clock: Clock):
    causes = [
        AuthenticationError("tavily", "Tavily refused access."),
        RateLimitError("brave", "Brave is busy.", retry_after=30),
        BlockedError("duckduckgo", "DuckDuckGo blocks."),
    ]
    providers = [FakeProvider(cause.provider, cause) for cause in causes]
    with pytest.raises(AllProvidersFailedError) as caught:
        await ask(chain(providers, cache, clock), "q", 5)
    assert caught.value.causes == tuple(causes)
    assert "Tavily refused access. Brave is busy. DuckDuckGo blocks." in caught.value.message
    assert caught.value.retry_after == 30


async def test_when_all_fail_the_cache_answers_and_says_so(cache: WebCache, clock: Clock):
    provider = FakeProvider("brave", [page("a", score=0.8), page("b")], DOWN)
    tested = chain([provider], cache, clock)
    await ask(tested, "Metformin and cancer", 5)
    clock.now += 3 * 3600
    answer = await ask(tested, "metformin and cancer?", 1)
    origin = "cached results that brave found 3 hours ago"
    assert answer.from_cache
    assert [item.publication.title for item in answer.records.values()] == ["Title of a"]
    assert answer.reports == (
        ProviderReport(name="brave", status="failed", detail=DOWN.message),
        ProviderReport(name="cache", status="ok", detail=origin, results=1),
    )
    assert answer.remarks == (f"No provider could answer now; these are {origin}.",)


async def test_an_empty_answer_after_a_failure_asks_the_cache_as_well(cache: WebCache, clock: Clock):
    first = FakeProvider("tavily", [page("a")], ProviderUnavailableError("tavily", "Down."))
    tested = chain([first, FakeProvider("duckduckgo", [])], cache, clock)
    await ask(tested, "metformin", 5)
    assert (await ask(tested, "metformin", 5)).from_cache
    unknown = await ask(tested, "something else entirely", 5)
    assert unknown.ids == ()
    assert [report.status for report in unknown.reports] == ["failed", "ok"]


async def test_a_live_answer_is_preferred_to_the_cache(cache: WebCache, clock: Clock):
    tested = chain([FakeProvider("brave", [page("old")], [page("new")])], cache, clock)
    await ask(tested, "metformin", 5)
    answer = await ask(tested, "metformin", 5)
    assert not answer.from_cache
    assert [item.publication.title for item in answer.records.values()] == ["Title of new"]


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


async def test_an_open_circuit_is_among_the_causes(cache: WebCache, clock: Clock):
    tested = chain([FakeProvider("brave", DOWN)], cache, clock)
    for _ in range(3):
        with pytest.raises(AllProvidersFailedError):
            await ask(tested, "q", 5)
    with pytest.raises(AllProvidersFailedError) as caught:
        await ask(tested, "q", 5)
    assert isinstance(caught.value.causes[0], CircuitOpenError)


async def test_a_provider_that_hangs_leaves_time_for_the_others(cache: WebCache, clock: Clock):
    providers = [FakeProvider("tavily", never), FakeProvider("brave", never), FakeProvider("duckduckgo", [page("a")])]
    answer = await ask(chain(providers, cache, clock, seconds=0.3), "q", 5)
    assert [report.status for report in answer.reports] == ["failed", "failed", "ok"]
    assert answer.reports[0].detail.startswith("Tavily did not answer within 0.")


async def test_all_that_hang_end_before_the_deadline_with_their_causes(cache: WebCache, clock: Clock):
    providers = [FakeProvider("tavily", never), FakeProvider("brave", never)]
    with anyio.fail_after(1), pytest.raises(AllProvidersFailedError) as caught:
        await ask(chain(providers, cache, clock), "q", 5)
    assert [type(cause) for cause in caught.value.causes] == [ProviderTimeoutError, ProviderTimeoutError]


async def test_without_a_deadline_the_chain_sets_its_own(cache: WebCache, clock: Clock):
    with pytest.raises(AllProvidersFailedError):
        await ask(chain([FakeProvider("brave", never)], cache, clock, seconds=0.1), "q", 5)


async def test_queries_share_a_providers_places(cache: WebCache, clock: Clock):
    async def slow(query: str) -> Answer:
        for _ in range(5):
            await checkpoint()
        return Answer.whole([page(query)])

    provider = FakeProvider("brave", slow)
    tested = chain([provider], cache, clock)
    async with anyio.create_task_group() as tasks:
        for number in range(9):
            tasks.start_soon(ask, tested, f"q{number}", 5)
    assert len(provider.asked) == 9
    assert provider.most_at_once == 3


async def test_queries_that_wait_for_a_provider_do_not_ask_it_when_its_circuit_opens_meanwhile(
    cache: WebCache, clock: Clock
):
    down = anyio.Event()

    async def fail(query: str) -> Answer:
        await down.wait()
        raise ProviderUnavailableError("tavily", "Down.")

    failing, good = FakeProvider("tavily", fail), FakeProvider("brave", [page("a")])
    tested = chain([failing, good], cache, clock)
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(ask, tested, f"q{number}", 5)
        await anyio.wait_all_tasks_blocked()
        down.set()
    assert len(failing.asked) == 3
    assert len(good.asked) == 8


async def test_a_cancelled_query_gives_its_place_back(cache: WebCache, clock: Clock):
    provider = FakeProvider("brave", *[never] * 3, [page("a")])
    tested = chain([provider], cache, clock)
    for _ in range(3):
        with anyio.move_on_after(0.01):
            await ask(tested, "q", 5)
    assert len((await ask(tested, "q", 5)).records) == 1


async def test_a_greedy_caller_leaves_the_next_slot_to_another() -> None:
    slots, served = Slots(1), list[str]()

    async def call(caller: str) -> None:
        turn_of.set(caller)
        await slots.acquire()
        served.append(caller)
        await checkpoint()
        slots.release()

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(call, "greedy")
        await checkpoint()
        tasks.start_soon(call, "good")
    assert served.index("good") <= 3
