"""The table of providers of full texts."""

from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.client import Net, RetryPolicy
from deepcritical_mcp.sources import FULL_TEXTS
from deepcritical_mcp.sources.base import created
from deepcritical_mcp.sources.lookup import FullTextSource, Wanted
from deepcritical_mcp.sources.pubmed.pmc import IdConverter
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources.full_text_wire import article_set, as_json, converted, hit, jats, located, results, study

NAMES = ["pmc", "europepmc", "trials", "unpaywall"]


def built(settings: Settings, http: httpx.AsyncClient) -> dict[str, FullTextSource]:
    sources = created(FullTextSource, FULL_TEXTS, settings, Net(http, retry=RetryPolicy(attempts=1)))
    return {one.name: one for one in sources if one.name in NAMES}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("DEEPCRITICAL_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NCBI_EMAIL", raising=False)
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    return monkeypatch


def point_to(url: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("DEEPCRITICAL_NCBI_BASE_URL", f"{url}/eutils/")
    environment.setenv("DEEPCRITICAL_EUROPEPMC_BASE_URL", f"{url}/europepmc/")
    environment.setenv("DEEPCRITICAL_CLINICALTRIALS_BASE_URL", f"{url}/ctgov/")
    environment.setenv("DEEPCRITICAL_UNPAYWALL_BASE_URL", f"{url}/unpaywall/")
    environment.setenv("DEEPCRITICAL_IDCONV_BASE_URL", f"{url}/idconv/")


def play(asked: Asked) -> Answer:
    """Every provider at one address."""
    if "/studies" in asked.path and "NCT" not in asked.path:
        return as_json({"studies": []})
    answers = {
        "eutils": article_set(jats(f"PMC{asked.form.get('id', '')}")),
        "europepmc": results(hit(isOpenAccess="N")),
        "ctgov": as_json(study()),
        "unpaywall": as_json(located(doi=asked.path.partition("/unpaywall/")[2])),
        "idconv": converted({"requested-id": "PMC3040717", "pmid": 20516115, "pmcid": "PMC3040717"}),
    }
    return answers[asked.path.split("/")[1]]


async def test_the_settings_lead_to_each_provider_in_order(environment: pytest.MonkeyPatch, http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = play
        point_to(server.url, environment)
        environment.setenv("NCBI_EMAIL", " ada@example.org ")
        sources = built(load_settings(), http)
        assert list(sources) == NAMES
        paper = Wanted(RecordIds(pmcid="PMC9000001", pmid="31000001", doi="10.5555/zinc"))
        statuses = {name: (await one.read(paper)).status for name, one in sources.items() if one.accepts(paper)}
        trial = await sources["trials"].read(Wanted(RecordIds(nct="NCT09000001")))
    assert statuses == {"pmc": "full_text", "europepmc": "not_allowed", "unpaywall": "abstract_only"}
    assert trial.status == "full_text"
    assert server.asked[0].form["email"] == "ada@example.org"
    assert server.asked[2].query == {"email": "ada@example.org"}


async def test_every_provider_can_be_checked(environment: pytest.MonkeyPatch, http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = play
        point_to(server.url, environment)
        environment.setenv("NCBI_EMAIL", "ada@example.org")
        settings = load_settings()
        checks = [check for one in built(settings, http).values() for check in one.checks()]
        checks.append(IdConverter.create(settings, Net(http)).check())
        found = {check.title: (await check.examine()).state for check in checks}
    titles = ["PMC", "Europe PMC", "Unpaywall", "NCBI's ID converter"]
    assert found == dict.fromkeys(titles, "ok")
