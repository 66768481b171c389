"""Every source reaches its provider through the proxy that the environment names, whatever library it uses."""

from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.config import PROXY_VARIABLES, load_settings
from deepcritical_mcp.errors import AllProvidersFailedError, ProviderError
from deepcritical_mcp.net.client import Net, RetryPolicy
from deepcritical_mcp.sources import SOURCES
from deepcritical_mcp.sources.base import Source, created
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.contestants import CONTESTANTS, Contestant
from tests.sources.contract import PATIENT, found


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXY_VARIABLES, *map(str.lower, PROXY_VARIABLES)):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "all_proxy"])
@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda contestant: contestant.name)
async def test_results_come_through_a_proxy(contestant: Contestant, variable: str, monkeypatch: pytest.MonkeyPatch):
    async with stand_in(contestant.success) as proxy:
        monkeypatch.setenv(variable, proxy.url)
        async with httpx.AsyncClient() as http:
            results = await found(contestant.make("http://provider.example", http, PATIENT), "metformin cancer", 10)
    assert [result.title for result in results] == [page.title for page in wire.PAGES]
    assert {asked.headers["host"] for asked in proxy.asked} == {"provider.example"}


async def test_every_source_asks_at_the_proxy_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DEEPCRITICAL_CACHE_DIR", str(tmp_path))
    for name in ("TAVILY", "BRAVE", "SERPAPI"):
        monkeypatch.setenv(f"{name}_API_KEY", "key-0123456789")
    async with stand_in(Answer(502)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with httpx.AsyncClient() as http:
            for source in created(Source, SOURCES, load_settings(), Net(http, retry=RetryPolicy(attempts=1))):
                proxy.asked.clear()
                with pytest.raises((ProviderError, AllProvidersFailedError)) as caught:
                    await source.ask("metformin", source.request(query="metformin"), offset=0, limit=5)
                failed = caught.value.causes if isinstance(caught.value, AllProvidersFailedError) else [caught.value]
                assert [asked.method for asked in proxy.asked] == ["CONNECT"] * len(failed)
