"""Results that must fit, and what is said of the cuts."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from deepcritical_mcp.models import Evidence, EvidenceList, EvidencePage, EvidenceSummary, ProviderReport, SearchResult
from deepcritical_mcp.tools.answers.budget import fit
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.answers.structured import wire_length
from deepcritical_mcp.tools.offered import as_offered
from tests.publications import published

SENTENCE = "Metformin lowered glucose in the treated group. "


def piece(number: int, text: str = SENTENCE * 3, *, authors: int = 2) -> Evidence:
    names = (f"Author{i} A" for i in range(authors))
    return Evidence.of(published(text, source="pubmed", title=f"Paper {number}", pmid=str(number), authors=names))


def result(*pieces: Evidence) -> SearchResult:
    return SearchResult(session_id="rs_0", query="metformin", evidence=pieces, total_found=len(pieces))


def text_length(one: BaseModel) -> int:
    return len(to_markdown(one))


@pytest.mark.parametrize("listed", [False, True])
def test_the_user_s_notes_do_not_break_the_budget(listed: bool) -> None:
    notes = tuple(f"{number}. {SENTENCE * 2_000}" for number in range(20))
    pieces = tuple(piece(n, SENTENCE * 10).model_copy(update={"notes": notes}) for n in range(1, 6))
    whole = EvidenceList(session_id="rs_0", evidence=pieces) if listed else result(*pieces)
    for length in (wire_length, text_length):
        cut = fit(whole, 32_000, length)
        assert length(cut) <= 32_000
        assert not any(one.content_truncated for one in cut.evidence)
        assert all(one.notes[0].startswith("0. Metformin") and one.notes[0].endswith("group.") for one in cut.evidence)
        note = cut.next_step if isinstance(cut, EvidenceList) else " ".join(cut.warnings)
        assert 'semantic_search with source="user" returns the complete notes' in note


def test_a_page_of_long_titles_becomes_shorter_and_says_where_the_next_one_starts() -> None:
    items = tuple(
        EvidenceSummary(id=f"pubmed:{n}", title="T" * 500, source="pubmed", date="2020", status="ok")
        for n in range(100)
    )
    page = EvidencePage(session_id="rs_0", total=400, items=items, next_offset=300)
    cut = fit(page, 8_000, wire_length)
    assert wire_length(cut) <= 8_000
    assert cut.next_offset == 200 + len(cut.items)


MARK = re.compile(r'\[… ([\d,]+) characters left out: get_evidence ids=\["pubmed:1@(\d+)-(\d*)"\] …\]')
ABSTRACT = (
    "BACKGROUND: Zinc is studied. " + "Much is known about it from many places and years. " * 12 + "\n"
    "METHODS: "
    + "We looked at animals in cages with great care. " * 12
    + "The cages were cleaned on most days of every week. " * 12
    + "\n"
    "RESULTS: The dose was 5 mg/kg. Nothing else was seen.\n"
    "CONCLUSIONS: The NOAEL was 5 mg/kg. Zinc is safe."
)


def both(one: BaseModel) -> int:
    return max(wire_length(one), text_length(one))


def searched(*pieces: Evidence) -> SearchResult:
    """What a search of the sources found."""
    return result(*pieces).model_copy(update={"providers": (ProviderReport(name="pubmed", status="ok"),)})


def test_a_labeled_abstract_loses_what_has_no_figures_before_its_results_and_the_mark_stands_at_the_gap() -> None:
    one = fit(searched(*(piece(n, ABSTRACT) for n in range(1, 15))), 32_000, both).evidence[0]
    assert re.fullmatch(
        rf"BACKGROUND: Zinc is studied\. {MARK.pattern} RESULTS: The dose was 5 mg/kg\. Nothing else was seen\.\n"
        r"CONCLUSIONS: The NOAEL was 5 mg/kg\. Zinc is safe\.",
        one.content,
    )
    for length, start, end in MARK.findall(one.content):
        assert int(end) - int(start) == int(length.replace(",", "")) >= 400


NULL_RESULTS = (
    "Eight monoesters were compared. Communication was significantly reduced at 50 pM in rat hepatocytes. "
    + "The cells were seen through a microscope on most days. " * 12
    + "In contrast, it was not inhibited in human hepatocytes. None of the substances had any effect on weight. "
    + "Then the cells were seen through a microscope again. " * 12
    + "Rodents are poor models. More work follows."
)


def test_a_single_abstract_that_does_not_fit_keeps_its_null_results_and_what_they_refer_to() -> None:
    (one,) = fit(searched(piece(1, NULL_RESULTS)), 1_700, both).evidence
    assert one.content_truncated
    for sentence in ("significantly reduced at 50 pM", "In contrast, it was not inhibited", "None of the substances"):
        assert sentence in one.content


@settings(max_examples=25)
@given(st.lists(st.integers(1, 700), min_size=1, max_size=12), st.lists(st.booleans(), min_size=12, max_size=12))
def test_the_parts_shown_and_the_parts_named_make_the_whole_text(sizes: list[int], results: list[bool]) -> None:
    text = " ".join(
        f"S{n} {'x ' * (size // 2)}{'p < 0.05' if found else 'end'}."
        for n, (size, found) in enumerate(zip(sizes, results, strict=False))
    )
    for whole, limit in ((result(piece(1, text)), 1_000), (searched(*[piece(1, text)] * 4), 9_000)):
        for cut in fit(whole, limit, both).evidence:
            assert MARK.sub(_gap(text), cut.content).split() == text.split()
            if limit == 9_000:
                assert all(int(gap[0].replace(",", "")) >= 200 for gap in MARK.findall(cut.content))


def _gap(text: str) -> Callable[[re.Match[str]], str]:
    return lambda mark: text[int(mark[2]) : int(mark[3]) if mark[3] else None]


RESULTS = "The mean difference was {n}.5 mg/dL (95% CI 1.2-3.4; p < 0.05) in group {n} of this long trial. "
RICH = (
    "BACKGROUND: Zinc is studied. RESULTS: "
    + "".join(RESULTS.format(n=n) for n in range(60))
    + "The dose was raised by 5 mg. " * 40
    + "The no observed-effect-level was 3 mg/kg. \nCONCLUSIONS: Zinc is safe."
)


@pytest.mark.parametrize("limit", [4_000, 8_000, 32_000])
def test_an_abstract_full_of_results_keeps_its_conclusion(limit: int) -> None:
    cut = fit(result(*(piece(n, RICH) for n in range(1, 20))), limit, both)
    assert both(cut) <= limit
    assert cut.evidence
    for one in cut.evidence:
        assert one.content.startswith("BACKGROUND: Zinc is studied.")
        assert "The no observed-effect-level was 3 mg/kg." in one.content
        assert one.content.endswith("CONCLUSIONS: Zinc is safe.")


@pytest.mark.parametrize(("asked", "shown"), [(20, 20), (60, 25)])
def test_no_record_is_left_out_while_an_abstract_can_be_shortened(asked: int, shown: int) -> None:
    others = (piece(n, "It begins. " + RESULTS.format(n=n) * 30 + "It ends.") for n in range(2, asked + 1))
    cut = fit(searched(piece(1, "It begins. " + RESULTS.format(n=1) * 200), *others), 32_000, both)
    assert both(cut) <= 32_000
    assert shown <= len(cut.evidence) <= asked
    if len(cut.evidence) < asked:
        assert max(len(one.content) for one in cut.evidence) < 1_200
    for one in cut.evidence:
        assert one.content.startswith("It begins.")
        assert one.content_truncated == ("characters left out: get_evidence" in one.content)


def test_what_does_not_fit_starts_the_next_page() -> None:
    whole = result(*(piece(n, SENTENCE * 40) for n in range(1, 51)))
    whole = whole.model_copy(update={"total_found": 500, "next_offset": 50, "offsets": tuple(range(1, 51))})
    whole = whole.model_copy(update={"next_step": "More: offset=50. Go on."})
    cut = fit(whole, 32_000, both)
    shown = len(cut.evidence)
    assert 0 < shown < 50
    assert (cut.next_offset, cut.next_step) == (shown, f"More: offset={shown}. Go on.")
    assert f"{50 - shown} more results do not fit here; continue with offset={shown}." in cut.warnings


LONG: dict[str, object] = {"query": "x" * 3_000, "query_translation": "y" * 9_000, "warnings": ("z" * 400,) * 30}


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(1, 120), st.integers(0, 1_500)), min_size=1, max_size=60),
    st.sampled_from([6_000, 12_000, 32_000]),
    st.sampled_from([10, 50, 100]),
)
def test_paging_loses_no_record_whatever_the_budget(sizes: list[tuple[int, int]], limit: int, page: int) -> None:
    kinds = ("abstract", "page")
    pieces = [
        piece(n, SENTENCE * s, authors=a).model_copy(update={"kind": kinds[n % 2]})
        for n, (s, a) in enumerate(sizes, start=1)
    ]
    types = tuple(f"Type {n} of publication" for n in range(40))
    heavy = pieces[-1].citation.model_copy(update={"publication_types": types, "mesh_terms": types})
    similar = tuple(f"pubmed:{m}" for m in range(99))
    pieces[-1] = pieces[-1].model_copy(update={"citation": heavy, "similar": similar, "notes": ("A note. " * 200,) * 3})
    seen: list[str] = []
    offset = 0
    while offset >= 0:
        some = pieces[offset : offset + page]
        following = offset + len(some)
        found = result(*some).model_copy(
            update={
                "total_found": len(pieces),
                **(LONG if offset else {}),
                "offsets": tuple(range(offset + 1, following + 1)),
                "next_offset": following if following < len(pieces) else -1,
                "providers": (ProviderReport(name="pubmed", status="ok"),),
            }
        )
        cut = fit(found, limit, both)
        assert both(cut) <= limit
        assert cut.evidence
        seen += [one.id for one in cut.evidence]
        offset = cut.next_offset
    assert seen == [one.id for one in pieces]


def test_no_more_ids_are_named_than_one_call_takes() -> None:
    short = fit(result(*(piece(number, SENTENCE * 40) for number in range(1, 101))), 20_000, wire_length)
    (note,) = (one for one in short.warnings if "get_evidence ids=" in one)
    assert note.count('"pubmed:') == 50
    assert note.endswith("and so on; list_evidence has all ids.")


def test_without_get_evidence_a_cut_names_what_returns_it_and_nothing_is_cut_that_nothing_returns() -> None:
    whole = searched(*(piece(number, ABSTRACT) for number in range(1, 15)))
    shown = as_offered(fit(whole, 32_000, both), ["get_evidence"])
    assert 'characters left out: semantic_search detail="full" …]' in shown.evidence[0].content
    assert "get_evidence" not in str(shown)
    assert both(shown) <= 32_000
    assert fit(whole, 80_000, both) != whole
    assert fit(whole, 80_000, both, saves_room=False) == whole
    bare = as_offered(fit(whole, 5_000, both), ["get_evidence", "semantic_search", "list_evidence"])
    assert "characters left out …]" in bare.evidence[0].content
    assert re.search(r"more results? do(?:es)? not fit here\.$", bare.warnings[-1])


def test_a_short_abstract_is_cut_where_not_even_one_record_fits() -> None:
    text = "It begins. " + "Filler without any number stands here. " * 12
    whole = result(*(piece(n, text) for n in range(30_000_000, 30_000_020)))
    cut = fit(whole.model_copy(update={"next_step": "Go on. " * 50}), 1_200, both)
    assert both(cut) <= 1_200
    assert [(one.id, one.content_truncated) for one in cut.evidence] == [("pubmed:30000000", True)]
    assert cut.evidence[0].content.startswith("It begins. Filler")
