"""A question and its variants through the chain, merged and kept."""

from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread
import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    DeepCriticalError,
    EvidenceStoreError,
    ProviderUnavailableError,
)
from deepcritical_mcp.models import Evidence, Publication
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.base import Answer
from deepcritical_mcp.sources.web.chain import ProviderChain
from deepcritical_mcp.sources.web.earlier_results import WebCache
from deepcritical_mcp.sources.web.request import WebRequest
from tests.net.stand_in import StandIn, stand_in
from tests.search.fake_session import FakeSession
from tests.search.web_fakes import FakeProvider, Page, answer_of, never, page
from tests.sources import wire

DOWN = ProviderUnavailableError("brave", "Brave is unavailable (HTTP 503).")


def web_search(folder: Path, *providers: FakeProvider, seconds: float = 45.0) -> SourceSearch:
    return SourceSearch(ProviderChain(providers, WebCache(folder, ttl=60), seconds=seconds), seconds=seconds)


def by_query(answers: dict[str, Sequence[Page] | DeepCriticalError]) -> FakeProvider:
    """A provider that answers each query with what is given for it."""

    async def answer(query: str) -> Answer:
        found = answers[query]
        if isinstance(found, DeepCriticalError):
            raise found
        return answer_of(found, total=100 + len(found))

    return FakeProvider("brave", answer)


def titles(evidence: Sequence[Evidence]) -> list[str]:
    return [item.citation.title.removeprefix("Title of ") for item in evidence]


async def test_results_below_the_threshold_go_and_are_counted(tmp_path: Path):
    provider = FakeProvider("brave", [page("a", score=0.9), page("b", score=0.29), page("c", score=0.3)])
    result = await web_search(tmp_path, provider).search(WebRequest(query="q"), FakeSession())
    assert titles(result.evidence) == ["a", "c"]
    assert result.warnings == ("1 result below min_score 0.3 omitted.",)


async def test_a_copy_of_a_page_elsewhere_is_a_duplicate_only_word_for_word(tmp_path: Path):
    text = "The trial enrolled 500 adults and found no difference in the primary outcome after two years of follow-up."
    copies = [
        page("a long title of a press release", url="https://one.example/1", content=text),
        page("a long title of a press release", url="https://two.example/2", content=text.replace(" and ", "  AND ")),
        page("a long title of a press release", url="https://three.example/3", content=text.replace("no ", "a ")),
    ]
    result = await web_search(tmp_path, FakeProvider("brave", copies)).search(WebRequest(query="q"), FakeSession())
    assert [item.citation.url for item in result.evidence] == ["https://one.example/1", "https://three.example/3"]
    assert result.duplicates_removed == 1


async def test_a_variant_that_hangs_leaves_the_others_their_results(tmp_path: Path):
    async def answer(query: str) -> Answer:
        return await never(query) if query == "direct" else answer_of([page("a")])

    request = WebRequest(query="direct", variants=("variant",))
    searching = web_search(tmp_path, FakeProvider("brave", answer), seconds=0.5)
    result = await searching.search(request, FakeSession())
    assert titles(result.evidence) == ["a"]
    assert [report.status for report in result.queries] == ["failed", "ok"]


async def test_when_every_variant_fails_one_error_keeps_each_providers_cause(tmp_path: Path):
    provider = by_query({"direct": DOWN, "variant": DOWN})
    with pytest.raises(AllProvidersFailedError) as caught:
        await web_search(tmp_path, provider).search(WebRequest(query="direct", variants=("variant",)), FakeSession())
    assert caught.value.causes == (DOWN,)


async def test_with_only_new_what_was_found_before_is_left_out_and_counted(tmp_path: Path):
    provider = FakeProvider("brave", [page("a"), page("b")], [page("a"), page("b"), page("c")])
    searching, session = web_search(tmp_path, provider), FakeSession(kept={"x": page("x")[0]})
    await searching.search(WebRequest(query="q"), session)
    result = await searching.search(WebRequest(query="q", only_new=True, max_results=2), session)
    assert titles(result.evidence) == ["c"]
    assert "Title of x" in [related.title for related in result.related]
    assert result.duplicates_removed == 2
    assert provider.asked[1][1] == 4  # asked for more, since some will be known
    nothing = await searching.search(WebRequest(query="q", only_new=True), session)
    assert nothing.evidence == ()
    assert "only_new=false" in nothing.warnings[0]


async def test_a_session_that_cannot_be_read_or_written_costs_no_results(tmp_path: Path):
    class Unreadable(FakeSession):
        async def known(self, publications: Sequence[Publication]) -> list[str]:
            raise EvidenceStoreError("The disk is broken.")

    full = FakeSession(error=EvidenceStoreError("The disk is full."))
    for session, said in (
        (full, "The results were found, but not all could be kept: The disk is full."),
        (Unreadable(), "The disk is broken."),
    ):
        searching = web_search(tmp_path, FakeProvider("brave", [page("a")]))
        result = await searching.search(WebRequest(query="q"), session)
        assert titles(result.evidence) == ["a"]
        assert said in result.errors[0]


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
    lacking = {"Tavily": "TAVILY", "Brave Search": "BRAVE", "SerpAPI": "SERPAPI"}
    assert [(report.name, report.status, report.detail) for report in result.providers] == [
        *((key.lower(), "skipped", f"no API key: set {key}_API_KEY to use {name}") for name, key in lacking.items()),
        ("duckduckgo", "ok", ""),
    ]
    assert [item.citation.title for item in result.evidence] == [page.title for page in wire.PAGES]
    assert await WebCache(tmp_path, ttl=60).find("metformin", WebRequest(query="metformin"))


@pytest.mark.parametrize("first", ["tavily", "brave", "serpapi"])
async def test_each_key_switches_its_provider_on_before_those_after_it(tmp_path: Path, first: str):
    keys = {f"{name.upper()}_API_KEY": "key-of-the-test" for name in ("tavily", "brave", "serpapi")}
    asked_for = dict(list(keys.items())[("tavily", "brave", "serpapi").index(first) :])
    async with stand_in(getattr(wire, first)()) as provider, httpx.AsyncClient() as http:
        searching = SourceSearch(ProviderChain.create(settings(tmp_path, asked_for, **{first: provider}), Net(http)))
        result = await searching.search(WebRequest(query="metformin"), FakeSession())
    assert (result.providers[-1].name, result.providers[-1].status) == (first, "ok")
    assert len(provider.asked) == 1
