"""The web search as the settings describe it, over loopback, from the first request to the session."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.web.chain import ProviderChain
from deepcritical_mcp.sources.web.earlier_results import WebCache
from deepcritical_mcp.sources.web.request import WebRequest
from tests.net.stand_in import StandIn, stand_in
from tests.search.fake_session import FakeSession
from tests.sources import wire

NO_KEYS = {"TAVILY_API_KEY": "", "BRAVE_API_KEY": "", "SERPAPI_API_KEY": ""}


def settings(folder: Path, keys: dict[str, str], **providers: StandIn) -> Settings:
    urls = {f"{name}_base_url": provider.url for name, provider in providers.items() if name != "duckduckgo"}
    duckduckgo = {"duckduckgo_url": f"{providers['duckduckgo'].url}/html/"} if "duckduckgo" in providers else {}
    return Settings.model_validate({**NO_KEYS, **keys, **urls, **duckduckgo, "cache_dir": folder, "web_delay": 0})


async def test_without_keys_duckduckgo_answers_and_the_others_say_what_they_lack(tmp_path: Path):
    async with stand_in(wire.duckduckgo()) as duckduckgo, httpx.AsyncClient() as http:
        wired = settings(tmp_path, {}, duckduckgo=duckduckgo)
        # Services are built in a worker thread, away from the event loop that uses them.
        searching = SourceSearch(await anyio.to_thread.run_sync(ProviderChain.create, wired, Net(http)))
        result = await searching.search(WebRequest(query="metformin", max_results=3), FakeSession())
    assert [(report.name, report.status) for report in result.providers] == [
        ("tavily", "skipped"),
        ("brave", "skipped"),
        ("serpapi", "skipped"),
        ("duckduckgo", "ok"),
    ]
    assert [report.detail for report in result.providers[:3]] == [
        "no API key: set TAVILY_API_KEY to use Tavily",
        "no API key: set BRAVE_API_KEY to use Brave Search",
        "no API key: set SERPAPI_API_KEY to use SerpAPI",
    ]
    assert [item.citation.title for item in result.evidence] == [page.title for page in wire.PAGES]
    assert await WebCache(tmp_path, ttl=60).find("metformin", WebRequest(query="metformin").options)


@pytest.mark.parametrize("first", ["tavily", "brave", "serpapi"])
async def test_each_key_switches_its_provider_on_before_those_after_it(tmp_path: Path, first: str):
    keys = {f"{name.upper()}_API_KEY": "key-of-the-test" for name in ("tavily", "brave", "serpapi")}
    asked_for = dict(list(keys.items())[("tavily", "brave", "serpapi").index(first) :])
    async with stand_in(getattr(wire, first)()) as provider, httpx.AsyncClient() as http:
        searching = SourceSearch(ProviderChain.create(settings(tmp_path, asked_for, **{first: provider}), Net(http)))
        result = await searching.search(WebRequest(query="metformin"), FakeSession())
    assert (result.providers[-1].name, result.providers[-1].status) == (first, "ok")
    assert len(provider.asked) == 1
