"""Results that must fit, and what is said of the cuts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.models import Citation, Evidence, EvidenceList, EvidencePage, EvidenceSummary, SearchResult
from deepcritical_mcp.tools.budget import fit, structured, wire_length
from deepcritical_mcp.tools.render import to_markdown

SENTENCE = "Metformin lowered glucose in the treated group. "


def piece(number: int, *, sentences: int = 3, authors: int = 2) -> Evidence:
    citation = Citation(
        source="pubmed",
        title=f"Paper {number}",
        pmid=str(number),
        authors=tuple(f"Author{i} A" for i in range(authors)),
    )
    return Evidence.of(citation, SENTENCE * sentences, provider="pubmed", keywords=("glucose",))


def result(*pieces: Evidence) -> SearchResult:
    return SearchResult(session_id="rs_0", query="metformin", evidence=pieces, total_found=len(pieces))


def test_what_fits_is_not_touched() -> None:
    whole = result(piece(1), piece(2))
    assert fit(whole, 32_000, wire_length) is whole


def test_long_contents_are_cut_at_a_sentence_end_and_marked_and_short_ones_stay_whole() -> None:
    cut = fit(result(piece(1, sentences=500), piece(2, sentences=2)), 8_000, wire_length)
    long, short = cut.evidence
    assert wire_length(cut) <= 8_000
    assert long.content_truncated
    assert long.content.endswith("group.")
    assert len(long.content) > 4_000
    assert not short.content_truncated


def test_a_thousand_authors_are_shortened_only_when_cutting_contents_is_not_enough() -> None:
    cut = fit(result(piece(1, sentences=50, authors=3_000)), 8_000, wire_length)
    assert wire_length(cut) <= 8_000
    assert len(cut.evidence[0].citation.authors) == 10
    assert "Only the first 10 authors are shown of pubmed:1." in cut.warnings


def test_results_that_cannot_fit_at_all_are_named_with_the_way_to_get_them() -> None:
    cut = fit(result(*(piece(number, sentences=20) for number in range(1, 101))), 16_000, wire_length)
    assert wire_length(cut) <= 16_000
    shown = len(cut.evidence)
    assert 0 < shown < 100
    assert f"{100 - shown} more results are kept in the session" in cut.warnings[-1]
    assert "pubmed:100" in cut.warnings[-1]


def test_the_text_form_has_the_same_budget_of_its_own() -> None:
    whole = result(*(piece(number, sentences=40) for number in range(1, 51)))
    cut = fit(whole, 16_000, lambda one: len(to_markdown(one)))
    assert len(to_markdown(cut)) <= 16_000
    assert len(cut.evidence) == 50


def test_internal_fields_never_cross_the_wire() -> None:
    assert "keywords" not in structured(result(piece(1)))["evidence"][0]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 200)), max_size=30),
    st.sampled_from([4_000, 12_000, 32_000]),
    st.booleans(),
)
def test_both_kinds_of_result_always_fit(sizes: list[tuple[int, int]], limit: int, listed: bool) -> None:
    pieces = tuple(piece(n, sentences=s + 1, authors=a) for n, (s, a) in enumerate(sizes, start=1))
    whole = EvidenceList(session_id="rs_0", evidence=pieces) if listed else result(*pieces)
    cut = fit(whole, limit, wire_length)
    assert wire_length(cut) <= limit
    assert len(cut.evidence) == len(pieces) or cut.evidence == () or cut.evidence[0].id == pieces[0].id


def test_a_page_of_long_titles_becomes_shorter_and_says_where_the_next_one_starts() -> None:
    items = tuple(
        EvidenceSummary(id=f"pubmed:{n}", title="T" * 500, source="pubmed", date="2020", status="ok")
        for n in range(100)
    )
    page = EvidencePage(session_id="rs_0", total=400, items=items, next_offset=300)
    cut = fit(page, 8_000, wire_length)
    assert wire_length(cut) <= 8_000
    assert cut.next_offset == 200 + len(cut.items)


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_and_one_piece_fit(count: int) -> None:
    whole = result(*(piece(n) for n in range(1, count + 1)))
    assert len(fit(whole, 2_000, wire_length).evidence) == count
