"""Keys appear nowhere: not in logs of any level, errors and their tracebacks, results, or the cache."""

import dataclasses
import logging
import traceback
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from deepcritical_mcp.errors import AllProvidersFailedError
from deepcritical_mcp.net.client import RetryPolicy
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.web.chain import ProviderChain
from deepcritical_mcp.sources.web.earlier_results import WebCache
from deepcritical_mcp.sources.web.request import WebRequest
from tests.net.stand_in import Answer, StandIn, stand_in
from tests.search.fake_session import FakeSession
from tests.sources import wire
from tests.sources.contestants import CONTESTANTS, KEY
from tests.sources.contract import PATIENT, QUICK

SECRET = KEY.get_secret_value()
ECHO = f'{{"error": "Your key {SECRET} is wrong", "detail": {{"error": "{SECRET}"}}}}'.encode()

LEADING = {"Location": f"/elsewhere?api_key={SECRET}&x={quote(SECRET)}"}
FAULTS = {
    **{str(status): Answer(status, ECHO) for status in (401, 403, 422, 500)},
    "429": Answer(429, ECHO, headers={"Retry-After": "60"}),
    "200 with an error that repeats the key": Answer(200, ECHO),
    "redirect that repeats the key": Answer(302, headers=LEADING),
    "reset": Answer(conduct="reset"),
    "half": Answer(200, ECHO * 10, conduct="half"),
    "silence": Answer(conduct="silent"),
    "junk": Answer(200, b"\xff" + ECHO),
}


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """All that is written until now: every library's records of every level with their tracebacks, and the streams."""
    for name in ("", "httpx", "httpcore", "primp", "ddgs", "tavily", "hpack", "asyncio", "hyper_util"):
        caplog.set_level(logging.DEBUG, logger=name or None)

    def written() -> str:
        formatted = [logging.Formatter("%(name)s %(message)s").format(record) for record in caplog.records]
        captured = capfd.readouterr()
        return "\n".join([*formatted, captured.out, captured.err])

    return written


async def running(stack: AsyncExitStack) -> list[StandIn]:
    return [await stack.enter_async_context(stand_in()) for _ in CONTESTANTS]


def search_with(
    providers: list[StandIn], http: httpx.AsyncClient, folder: Path, retry: RetryPolicy = PATIENT
) -> SourceSearch:
    tools = [one.make(provider.url, http, retry) for one, provider in zip(CONTESTANTS, providers, strict=True)]
    return SourceSearch(ProviderChain(tools, WebCache(folder, ttl=60)))


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_a_search_that_succeeds_writes_no_key(
    http: httpx.AsyncClient, tmp_path: Path, everything_logged: Callable[[], str]
):
    echoing = [
        dataclasses.replace(page, url=f"{page.url}&api_key={SECRET}", text=f"Key {SECRET}") for page in wire.PAGES
    ]
    answers = (wire.tavily(echoing), wire.brave(echoing), wire.serpapi(echoing), wire.duckduckgo())
    results: list[str] = []
    async with AsyncExitStack() as stack:
        providers = await running(stack)
        searching = search_with(providers, http, tmp_path)
        for turn, answer in enumerate(answers):
            for index, provider in enumerate(providers):
                provider.will(answer if index == turn else Answer(403))
            result = await searching.search(WebRequest(query=f"turn {turn}"), FakeSession())
            results.append(result.model_dump_json())
            assert result.providers[turn].status == "ok"
    log = everything_logged()
    assert "HTTP Request: GET" in log  # that much is logged
    assert SECRET not in log
    assert SECRET not in "".join(results)
    assert SECRET.encode() not in on_disk(tmp_path)
    assert any(SECRET in str(asked.query) + str(asked.headers) for provider in providers for asked in provider.asked)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_search_that_fails_writes_no_key(
    fault: str, http: httpx.AsyncClient, tmp_path: Path, everything_logged: Callable[[], str]
):
    async with AsyncExitStack() as stack:
        providers = await running(stack)
        for provider in providers:
            provider.will(FAULTS[fault])
        if fault.startswith("redirect"):
            providers[-1].will(Answer(403))  # DuckDuckGo knows no key that it could repeat
        searching = search_with(providers, http, tmp_path, QUICK if fault == "silence" else PATIENT)
        with pytest.raises(AllProvidersFailedError) as caught:
            await searching.search(WebRequest(query="metformin"), FakeSession())
    for error in (caught.value, *caught.value.causes):
        told = "".join(traceback.format_exception(error)) + repr(error) + str(error.details)
        assert SECRET not in told
    logging.getLogger("test").error("logged with its causes", exc_info=caught.value)
    assert SECRET not in everything_logged()
    assert SECRET.encode() not in on_disk(tmp_path)
