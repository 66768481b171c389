"""What a search of literature tells beside its records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepcritical_mcp.models import ProviderReport, SearchResult
from deepcritical_mcp.search.literature_paging import Page
from deepcritical_mcp.search.literature_ranking import Asked, Window
from deepcritical_mcp.search.literature_request import Question
from deepcritical_mcp.sources.pubmed.eutils import ESearchAnswer


def bare_result(
    question: Question, asked: Sequence[Asked], window: Window, page: Page, session_id: str
) -> SearchResult:
    """What is known of a search before its records are fetched."""
    direct = asked[0].answer
    failed = [one for one in asked if one.error]
    return SearchResult(
        session_id=session_id,
        query=question.wordings[0],
        sources_searched=("pubmed",),
        total_found=window.total,
        queries=tuple(one.report for one in asked),
        errors=tuple(f'"{one.query}": {one.error.message}' for one in failed if one.error),
        warnings=tuple(_remarks(asked)),
        duplicates_removed=page.known,
        providers=(
            ProviderReport(
                name="pubmed",
                status="ok",
                detail=f"failed for {len(failed)} of {len(asked)} wordings" if failed else "",
                results=window.total,
            ),
        ),
        query_translation=direct.query_translation if direct else "",
        next_offset=page.next_offset,
    )


def _remarks(asked: Sequence[Asked]) -> Iterator[str]:
    """What PubMed left out of each wording, or said about it."""
    for one in asked:
        for remark in _remarks_on(one.answer) if one.answer else ():
            yield remark if one.is_direct else f'Variant "{one.query}": {remark}'


def _remarks_on(answer: ESearchAnswer) -> Iterator[str]:
    without = "searched without it" if answer.count else "found nothing"
    yield from (f'PubMed does not know "{phrase}" and {without}.' for phrase in answer.phrases_not_found)
    yield from (f"PubMed has no search field {field} and left it out." for field in answer.fields_not_found)
    yield from (f'PubMed ignored "{word}".' for word in answer.phrases_ignored)
    for phrase in answer.quoted_phrases_not_found:
        yield f"PubMed's index has no phrase {phrase}; its words were searched one by one."
    yield from (f'PubMed says: "{text}"' for text in answer.messages if text != "No items found.")
