"""Results that must fit, and what is said of the cuts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from deepcritical_mcp.models import (
    AddedItem,
    AddResult,
    Evidence,
    EvidenceList,
    EvidencePage,
    EvidenceSummary,
    QueryReport,
    SearchResult,
    SimilarItem,
)
from deepcritical_mcp.tools.budget import fit, wire_length
from deepcritical_mcp.tools.render import to_markdown
from tests.publications import published

SENTENCE = "Metformin lowered glucose in the treated group. "


def piece(number: int, *, sentences: int = 3, authors: int = 2) -> Evidence:
    return Evidence.of(
        published(
            SENTENCE * sentences,
            source="pubmed",
            title=f"Paper {number}",
            pmid=str(number),
            authors=(f"Author{i} A" for i in range(authors)),
        )
    )


def result(*pieces: Evidence) -> SearchResult:
    return SearchResult(session_id="rs_0", query="metformin", evidence=pieces, total_found=len(pieces))


def text_length(one: BaseModel) -> int:
    return len(to_markdown(one))


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


def test_many_long_queries_that_found_a_piece_do_not_break_the_budget() -> None:
    found = piece(1).model_copy(update={"found_by": tuple(f"{n} " + "long query " * 350 for n in range(20))})
    cut = fit(result(found), 8_000, wire_length)
    assert wire_length(cut) <= 8_000
    assert len(cut.evidence[0].found_by) == 3


def test_results_that_cannot_fit_at_all_are_named_with_the_way_to_get_them() -> None:
    cut = fit(result(*(piece(number, sentences=20) for number in range(1, 101))), 16_000, wire_length)
    assert wire_length(cut) <= 16_000
    shown = len(cut.evidence)
    assert 0 < shown < 100
    assert f"{100 - shown} more results are kept in the session" in cut.warnings[-1]
    assert "pubmed:100" in cut.warnings[-1]


def test_a_question_of_thousands_of_characters_does_not_push_out_its_answer() -> None:
    wordings = [f"wording {number} " + "and another term " * 230 for number in range(8)]
    pieces = (piece(n).model_copy(update={"found_by": tuple(wordings)}) for n in range(1, 11))
    whole = result(*pieces).model_copy(
        update={
            "query": wordings[0],
            "queries": tuple(QueryReport(query=one, status="ok", results=1) for one in wordings),
            "query_translation": "term[All Fields] OR " * 1_000,
            "warnings": tuple(f'Variant "{one}": PubMed does not know "x".' for one in wordings * 5),
        }
    )
    for length in (wire_length, text_length):
        cut = fit(whole, 32_000, length)
        assert length(cut) <= 32_000
        assert [one.content for one in cut.evidence] == [one.content for one in whole.evidence]
        assert cut.queries[7].query.startswith("wording 7 and")
        assert "And 20 more remarks." in cut.warnings
        assert "found_by is shortened to the latest 3 queries." in cut.warnings


def test_the_many_searches_that_found_a_piece_do_not_push_out_its_content() -> None:
    asked = tuple(f"question number {number} of a long session about metformin" for number in range(200))
    whole = result(*(piece(n, sentences=30).model_copy(update={"found_by": asked}) for n in range(1, 11)))
    cut = fit(whole, 32_000, wire_length)
    assert [one.found_by for one in cut.evidence] == [asked[-3:]] * 10
    assert not any(one.content_truncated for one in cut.evidence)


def test_the_many_pieces_that_say_the_same_do_not_push_out_the_content() -> None:
    alike = tuple(f"text:{n:020}" for n in range(99))
    whole = result(*(piece(n, sentences=10).model_copy(update={"similar": alike}) for n in range(1, 21)))
    cut = fit(whole, 32_000, wire_length)
    assert not any(one.content_truncated for one in cut.evidence)
    assert {len(one.similar) for one in cut.evidence} == {10}
    assert "similar is shortened to 10 ids." in cut.warnings
    assert "and 89 more" in to_markdown(whole)


@pytest.mark.parametrize("listed", [False, True])
def test_the_user_s_notes_do_not_break_the_budget(listed: bool) -> None:
    notes = tuple(f"{number}. {SENTENCE * 2_000}" for number in range(20))
    pieces = tuple(piece(n, sentences=10).model_copy(update={"notes": notes}) for n in range(1, 6))
    whole = EvidenceList(session_id="rs_0", evidence=pieces) if listed else result(*pieces)
    for length in (wire_length, text_length):
        cut = fit(whole, 32_000, length)
        assert length(cut) <= 32_000
        assert not any(one.content_truncated for one in cut.evidence)
        assert all(one.notes[0].startswith("0. Metformin") and one.notes[0].endswith("group.") for one in cut.evidence)
        told = cut.next_step if isinstance(cut, EvidenceList) else " ".join(cut.warnings)
        assert 'semantic_search with source="user" finds them whole' in told


def test_missing_ids_of_any_length_fit() -> None:
    whole = EvidenceList(session_id="rs_0", missing=tuple(f"{n}" + "x" * 5_000 for n in range(50)))
    cut = fit(whole, 32_000, wire_length)
    assert wire_length(cut) <= 32_000
    assert len(cut.missing) == 50


def test_an_addition_names_as_many_pairs_as_fit() -> None:
    added = tuple(AddedItem(index=n, id=f"text:{n:020}") for n in range(100))
    pairs = tuple(SimilarItem(index=n, id=f"text:{m:020}", similarity=0.97) for n in range(100) for m in range(n))
    whole = AddResult(session_id="rs_0", added=added, similar=pairs, total=100, next_step="Go on.")
    for length in (wire_length, text_length):
        cut = fit(whole, 32_000, length)
        assert length(cut) <= 32_000
        assert cut.added == added
        assert 0 < len(cut.similar) < len(pairs)
        assert f"{len(pairs) - len(cut.similar):,} more pairs" in cut.next_step
        assert cut.next_step.endswith("Go on.")


def test_the_text_form_has_the_same_budget_of_its_own() -> None:
    whole = result(*(piece(number, sentences=40) for number in range(1, 51)))
    cut = fit(whole, 16_000, text_length)
    assert len(to_markdown(cut)) <= 16_000
    assert len(cut.evidence) == 50


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
