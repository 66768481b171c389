"""Real answers of the web providers, from the folder in DEEPCRITICAL_RECORDED_DIR: every one is read."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    BlockedError,
    ProviderError,
    ProviderRequestError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.sources.web.request import WebOptions
from tests.net.stand_in import Answer, stand_in
from tests.sources.contestants import make_brave, make_duckduckgo, make_serpapi, make_tavily
from tests.sources.contract import found

FOLDER = Path(os.environ.get("DEEPCRITICAL_RECORDED_DIR", ""))
pytestmark = pytest.mark.skipif(
    not os.environ.get("DEEPCRITICAL_RECORDED_DIR"), reason="DEEPCRITICAL_RECORDED_DIR is not set"
)


def recorded(pattern: str) -> list[Any]:
    files = sorted(FOLDER.glob(pattern)) if os.environ.get("DEEPCRITICAL_RECORDED_DIR") else []
    return [pytest.param(file, id=file.name) for file in files]


def sent(file: Path, status: int = 200) -> Answer:
    kind = "text/html; charset=utf-8" if file.suffix == ".html" else "application/json"
    return Answer(status, file.read_bytes(), kind)


def payload(file: Path) -> Any:
    return json.loads(file.read_bytes())


def addresses(rows: list[dict[str, Any]], field: str) -> Iterator[str]:
    """What an independent reading finds: host and path of each result, without a slash at the end."""
    for row in rows:
        yield str(httpx.URL(row[field]).copy_with(query=None, fragment=None)).rstrip("/")


def shown(url: str) -> str:
    return str(httpx.URL(url).copy_with(query=None)).rstrip("/")


@pytest.mark.parametrize("file", recorded("brave/*.json") + recorded("serpapi/*-google-*.json"))
async def test_brave_and_serpapi(file: Path, http: httpx.AsyncClient):
    is_brave = file.parent.name == "brave"
    rows = payload(file)["web"]["results"] if is_brave else payload(file)["organic_results"]
    async with stand_in(sent(file)) as provider:
        evidence = await found((make_brave if is_brave else make_serpapi)(provider.url, http), "q", 50)
    assert [shown(item.url) for item in evidence] == list(addresses(rows, "url" if is_brave else "link"))
    texts = [item.text.content for item in evidence]
    assert not any(mark in text for text in texts for mark in ("<strong>", "&amp;", "&quot;", "&#"))


@pytest.mark.parametrize("file", recorded("tavily/*.response.json"))
async def test_tavily(file: Path, http: httpx.AsyncClient):
    rows = payload(file)["results"]
    async with stand_in(sent(file)) as provider:
        answer = await make_tavily(provider.url, http).ask("q", 20, WebOptions())
    evidence = list(answer.records.values())
    assert [shown(item.url) for item in evidence] == list(addresses(rows, "url"))
    assert [answer.scores[item.id] for item in evidence] == [pytest.approx(row["score"]) for row in rows]
    assert all(item.text.content.count("**") <= 1 for item in evidence)  # one has a lone mark


@pytest.mark.parametrize("file", recorded("duckduckgo/ddg_html_*.html"))
async def test_duckduckgo(file: Path, http: httpx.AsyncClient):
    async with stand_in(sent(file)) as provider:
        evidence = await found(make_duckduckgo(provider.url, http), "q", 10)
    assert len(evidence) == 10
    assert all(item.url.startswith("http") and "duckduckgo" not in item.url for item in evidence)
    assert all(len(item.text.content) > 40 for item in evidence)


@pytest.mark.parametrize("file", recorded("duckduckgo/interstitial_*.html"))
async def test_duckduckgos_challenge(file: Path, http: httpx.AsyncClient):
    async with stand_in(sent(file)) as provider:
        with pytest.raises(BlockedError):
            await found(make_duckduckgo(provider.url, http), "q", 10)


REFUSALS = {
    "brave-422-missing-token.json": (make_brave, AuthenticationError),
    "brave-422-validation.json": (make_brave, ProviderRequestError),
    "brave-429-rate_limited.json": (make_brave, RateLimitError),
    "serpapi-401-invalid-key.json": (make_serpapi, AuthenticationError),
    "serpapi-429-out-of-searches.json": (make_serpapi, QuotaExceededError),
    "tavily-401.json": (make_tavily, AuthenticationError),
    "tavily-429.json": (make_tavily, RateLimitError),
    "tavily-432.json": (make_tavily, QuotaExceededError),
    "tavily-433.json": (make_tavily, QuotaExceededError),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_refusals(name: str, http: httpx.AsyncClient):
    make, error = REFUSALS[name]
    status = int(name.split("-")[1].removesuffix(".json"))
    async with stand_in(sent(FOLDER / "errors_transcribed" / name, status)) as provider:
        with pytest.raises(ProviderError) as caught:
            await found(make(provider.url, http), "q", 10)
    assert type(caught.value) is error
