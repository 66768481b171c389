"""The numbers of a PRISMA 2020 flow diagram: each derived from the log and the records, and they add up."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.export.flow_numbers import NO_REASON, FlowNumbers
from deepcritical_mcp.models import LoggedSearch, Publication, Text
from deepcritical_mcp.models.search_log import LoggedQuery
from tests.publications import published


def paper(number: int, **fields: Any) -> Publication:
    return published("Zinc closed wounds.", source="pubmed", title=f"Zinc {number}", pmid=str(number), **fields)


def search(*numbers: int, query: str = "zinc", **fields: Any) -> LoggedSearch:
    told = {
        "at": "2026-11-20T09:00:00Z",
        "tool": "pubmed_search",
        "source": "pubmed",
        "title": "PubMed",
        "queries": (LoggedQuery(query=query, results=500),),
        "total": 500,
        "examined": len(numbers),
        "ids": tuple(f"pubmed:{one}" for one in numbers),
    }
    return LoggedSearch.model_validate(told | fields)


def assert_sums(numbers: FlowNumbers) -> None:
    kept = numbers.duplicates + numbers.left_out + numbers.removed + numbers.records
    assert numbers.total_identified == kept
    assert numbers.records == numbers.excluded_records + numbers.included + numbers.cited + numbers.undecided


def test_what_a_watch_finds_again_is_no_duplicate_and_what_is_new_belongs_to_the_search_that_it_repeats() -> None:
    since = ("added to PubMed since 2026-11-19", "only results new to the session", "at most 200 results")
    watch = search(1, 2, 3, tool="refresh", filters=since, new=1)
    first, other = search(1, filters=("at most 10 results",)), search(2, query="wound")
    numbers = FlowNumbers([first, other, watch, watch], [paper(1), paper(2), paper(3)])
    (found,) = numbers.identified
    assert (found.records, found.searches, numbers.duplicates) == (3, 2, 0)
    assert_sums(numbers)


def test_exclusions_are_counted_by_reason_whatever_their_case_and_by_whether_the_full_text_is_there() -> None:
    whole = Text(kind="full_text", content="All of it.", provider="pmc")
    records = [
        paper(1, screening="excluded", screening_reason="Animals."),
        paper(2, screening="excluded", screening_reason="animals"),
        paper(3, screening="excluded"),
        paper(4, screening="excluded", screening_reason="No control group"),
        paper(5, screening="included"),
        paper(6, screening="cited", status="retracted"),
        paper(7, status="retracted"),
    ]
    records[3] = records[3].model_copy(update={"texts": (*records[3].texts, whole)})
    numbers = FlowNumbers([], records)
    assert numbers.excluded == {"Animals": 2, NO_REASON: 1}
    assert numbers.excluded_with_text == {"No control group": 1}
    assert (numbers.screened, numbers.included, numbers.cited, numbers.undecided) == (6, 1, 1, 1)
    assert numbers.retracted == {"pubmed:6": "cited", "pubmed:7": ""}
    assert numbers.retrieved == 1
    assert_sums(numbers)


def test_a_full_text_that_was_asked_for_and_is_not_there_was_not_retrieved() -> None:
    asked = search(1, 2, kind="lookup", tool="get_full_text", source="lookup", title="Look-up")
    whole = paper(2).model_copy(update={"texts": (Text(kind="full_text", content="All of it.", provider="pmc"),)})
    numbers = FlowNumbers([asked], [paper(1), whole, paper(3)])
    assert (numbers.retrieved, numbers.not_retrieved) == (1, 1)


def any_entry(numbers: list[int], query: str, first: int, counts: tuple[int, int], kind: str) -> LoggedSearch:
    return search(*numbers, query=query, first=first, duplicates=counts[0], left_out=counts[1], kind=kind)


entries = st.builds(
    any_entry,
    st.lists(st.integers(1, 9), max_size=5, unique=True),
    st.sampled_from(("zinc", "wound")),
    st.sampled_from((1, 11)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.sampled_from(("search", "citations", "lookup")),
)


@given(st.lists(entries, max_size=6), st.sets(st.integers(1, 12)))
def test_the_numbers_always_add_up(log: Sequence[LoggedSearch], kept: set[int]) -> None:
    marks = ("", "included", "excluded", "cited")
    numbers = FlowNumbers(log, [paper(one, screening=marks[one % 4]) for one in kept])
    assert_sums(numbers)
    assert min(numbers.duplicates, numbers.removed, numbers.undecided) >= 0
