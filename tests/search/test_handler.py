"""Literature and web side by side."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    DeepCriticalError,
    InvalidInputError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from deepcritical_mcp.models import Citation, Evidence, ProviderReport
from deepcritical_mcp.search.handler import SearchHandler
from tests.search.web_fakes import page

DOWN = ProviderUnavailableError("pubmed", "PubMed is out of order (HTTP 502).")
WEB_DOWN = AllProvidersFailedError("No web search provider could answer.", [RateLimitError("brave", "Busy.")])


class FakeTool:
    """A source that gives or raises what it was given; None = it never answers."""

    def __init__(self, name: str, answer: Sequence[Evidence] | DeepCriticalError | None) -> None:
        self.name = name
        self.answer = answer
        self.asked: list[tuple[str, int]] = []

    async def search(self, query: str, max_results: int) -> list[Evidence]:
        self.asked.append((query, max_results))
        if isinstance(self.answer, DeepCriticalError):
            raise self.answer
        if self.answer is None:
            await anyio.sleep_forever()
        return list(self.answer or ())


def record(pmid: str) -> Evidence:
    return Evidence.of(Citation(source="pubmed", title=f"Record {pmid}", pmid=pmid), "Abstract.", provider="pubmed")


async def test_both_sources_answer_fused_by_rank():
    pubmed, web = FakeTool("pubmed", [record("1"), record("2")]), FakeTool("web", [page("a"), page("b")])
    result = await SearchHandler([pubmed, web]).execute("metformin", 5)
    assert [item.citation.title for item in result.evidence] == ["Record 1", "Title of a", "Record 2", "Title of b"]
    assert pubmed.asked == web.asked == [("metformin", 5)]
    assert result.sources_searched == ("pubmed", "web")
    assert (result.session_id, result.errors, result.duplicates_removed) == ("", (), 0)
    assert result.providers == (
        ProviderReport(name="pubmed", status="ok", results=2),
        ProviderReport(name="web", status="ok", results=2),
    )


async def test_the_same_publication_from_both_appears_once_as_the_first_has_it():
    on_the_web = page("a", url="https://pubmed.ncbi.nlm.nih.gov/1/").model_copy(update={"id": "pubmed:1"})
    result = await SearchHandler([FakeTool("pubmed", [record("1")]), FakeTool("web", [on_the_web])]).execute("q")
    assert [item.citation.title for item in result.evidence] == ["Record 1"]
    assert result.duplicates_removed == 1


@pytest.mark.parametrize(
    ("pubmed", "web", "lost", "left"),
    [
        (DOWN, [page("a")], "pubmed", "web"),
        ([record("1")], WEB_DOWN, "web", "pubmed"),
        ([record("1")], InvalidInputError("That query cannot be asked."), "web", "pubmed"),
        (None, [page("a")], "pubmed", "web"),
    ],
)
async def test_the_loss_of_either_is_survived_and_told(
    pubmed: Sequence[Evidence] | DeepCriticalError | None,
    web: Sequence[Evidence] | DeepCriticalError | None,
    lost: str,
    left: str,
):
    result = await SearchHandler([FakeTool("pubmed", pubmed), FakeTool("web", web)], seconds=0.2).execute("q")
    assert len(result.evidence) == 1
    assert result.sources_searched == (left,)
    assert len(result.errors) == 1
    assert {report.name: report.status for report in result.providers} == {lost: "failed", left: "ok"}


async def test_the_loss_of_all_is_one_error_with_each_cause_in_order():
    with pytest.raises(AllProvidersFailedError) as caught:
        await SearchHandler([FakeTool("pubmed", DOWN), FakeTool("web", WEB_DOWN)]).execute("q")
    assert caught.value.causes == (DOWN, WEB_DOWN)
    assert caught.value.message.endswith("PubMed is out of order (HTTP 502). No web search provider could answer.")


async def test_tools_that_hang_end_before_the_deadline():
    with anyio.fail_after(1), pytest.raises(AllProvidersFailedError) as caught:
        await SearchHandler([FakeTool("pubmed", None)]).execute("q")
    assert isinstance(caught.value.causes[0], ProviderTimeoutError)


async def test_finding_nothing_is_an_answer():
    result = await SearchHandler([FakeTool("pubmed", []), FakeTool("web", [])]).execute("q")
    assert result.evidence == ()
    assert result.sources_searched == ("pubmed", "web")


async def test_a_blank_query_is_refused():
    with pytest.raises(InvalidInputError):
        await SearchHandler([FakeTool("pubmed", [])]).execute("  ")
