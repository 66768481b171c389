"""Literature and web side by side."""

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    DeepCriticalError,
    InvalidInputError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from deepcritical_mcp.models import ProviderReport
from deepcritical_mcp.search.pipeline import SearchHandler
from deepcritical_mcp.search.search_steps import Outcome, depth, rank
from deepcritical_mcp.sources.base import Answer, SearchRequest, Source
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from tests.publications import published
from tests.search.fake_session import FakeSession
from tests.search.web_fakes import Page, answer_of, page
from tests.uncreated import Uncreated

DOWN = ProviderUnavailableError("pubmed", "PubMed is unavailable (HTTP 502).")
WEB_DOWN = AllProvidersFailedError("No web search provider could answer.", [RateLimitError("brave", "Busy.")])


class FakeSource(Uncreated, Source):
    """A source that returns or raises what it was given; None = it never answers."""

    kind = "literature"

    def __init__(self, name: str, answer: Sequence[Page] | DeepCriticalError | None) -> None:
        self.name = self.title = name
        self.cited_as = "pubmed" if name == "pubmed" else "web"
        self.answer = answer
        self.asked: list[tuple[str, int]] = []

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        self.asked.append((variant, limit))
        if isinstance(self.answer, DeepCriticalError):
            raise self.answer
        if self.answer is None:
            await anyio.sleep_forever()
        return answer_of(self.answer or ())


def record(pmid: str) -> Page:
    return published("Abstract.", source="pubmed", title=f"Record {pmid}", pmid=pmid), 0.0


async def test_both_sources_answer_fused_by_rank():
    pubmed, web = FakeSource("pubmed", [record("1"), record("2")]), FakeSource("web", [page("a"), page("b")])
    result = await SearchHandler([pubmed, web]).search("metformin", 5, FakeSession())
    assert [item.citation.title for item in result.evidence] == ["Record 1", "Title of a", "Record 2", "Title of b"]
    assert pubmed.asked == web.asked == [("metformin", 5)]
    assert (result.errors, result.duplicates_removed) == ((), 0)
    assert result.providers == (
        ProviderReport(name="pubmed", status="ok", results=2),
        ProviderReport(name="web", status="ok", results=2),
    )


async def test_the_same_publication_from_both_appears_once_as_the_first_has_it():
    on_the_web = page("a", url="https://pubmed.ncbi.nlm.nih.gov/1/", pmid="1")
    handler = SearchHandler([FakeSource("pubmed", [record("1")]), FakeSource("web", [on_the_web])])
    result = await handler.search("q", 10, FakeSession())
    assert [item.citation.title for item in result.evidence] == ["Record 1"]
    assert result.duplicates_removed == 1


Given = Sequence[Page] | DeepCriticalError | None


@pytest.mark.parametrize(
    ("pubmed", "web", "lost", "left"),
    [
        (DOWN, [page("a")], "pubmed", "web"),
        ([record("1")], WEB_DOWN, "web", "pubmed"),
        ([record("1")], InvalidInputError("That query cannot be asked."), "web", "pubmed"),
        (None, [page("a")], "pubmed", "web"),
    ],
)
async def test_the_loss_of_either_is_survived_and_told(pubmed: Given, web: Given, lost: str, left: str):
    handler = SearchHandler([FakeSource("pubmed", pubmed), FakeSource("web", web)], seconds=0.2)
    result = await handler.search("q", 10, FakeSession())
    assert len(result.evidence) == 1
    assert len(result.errors) == 1
    assert {report.name: report.status for report in result.providers} == {lost: "failed", left: "ok"}


async def test_the_loss_of_all_is_one_error_with_each_cause_in_order():
    with anyio.fail_after(1), pytest.raises(AllProvidersFailedError) as caught:
        await SearchHandler([FakeSource("pubmed", None)]).search("q", 10, FakeSession())
    assert isinstance(caught.value.causes[0], ProviderTimeoutError)
    with pytest.raises(AllProvidersFailedError) as caught:
        await SearchHandler([FakeSource("pubmed", DOWN), FakeSource("web", WEB_DOWN)]).search("q", 10, FakeSession())
    assert [type(cause) for cause in caught.value.causes] == [type(DOWN), type(WEB_DOWN)]
    told = [cause.message for cause in caught.value.causes]
    assert "PubMed is unavailable (HTTP 502)." in told[0]
    assert told[1] == WEB_DOWN.message
    assert caught.value.message == f"No source could answer: {told[0]} {told[1]}"


class Library(FakeSource):
    request, two_step = PubMedRequest, True


SOURCE = Library("library", None)


def asked(ids: list[str], depth: int) -> Outcome:
    return Outcome("q", Answer(tuple(ids[:depth]), len(ids)))


PMIDS = st.lists(st.integers(1, 900).map(str), unique=True, max_size=700)


@given(PMIDS, PMIDS, st.integers(1, 100))
def test_pages_neither_repeat_nor_miss_a_record(direct: list[str], variant: list[str], size: int):
    paged: list[str] = []
    ends = False
    while not ends:
        limit = depth(SOURCE, len(paged) + size)
        both = [asked(direct, limit), asked(variant, limit)]
        window = rank(SOURCE, both, offset=len(paged), start=0, size=size, limit=limit)
        paged += window.ids
        ends = window.ends
    assert len(paged) == len(set(paged))
    assert set(paged) == {*direct, *variant}
