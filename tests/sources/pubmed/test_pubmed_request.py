"""Requests, checked before PubMed is asked."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from tests.search.pubmed_library import request


def test_a_query_reaches_pubmed_untouched_and_filters_are_added_around_it():
    query = '("Zinc"[MeSH Terms] OR zn[ti]) AND wound*[tiab] NOT review[pt] AND 2020:2021[dp] & <β-carotene>'
    assert request(query).term(request(query).queries[0]) == query
    asked = request("zinc OR copper", publication_types=("review", "Meta analysis", "Review"), has_abstract=True)
    assert asked.term("zinc OR copper") == (
        '(zinc OR copper) AND ("Review"[Publication Type] OR "Meta-Analysis"[Publication Type]) AND hasabstract'
    )


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "blank": ({"query": "  \u200b"}, "blank"),
    "too long": ({"query": "z" * 10_000}, "4,000"),
    "too many variants": ({"variants": tuple("abcdefgh")}, "at most 7"),
    "no date": ({"min_date": "yesterday"}, "YYYY-MM-DD"),
    "a month too many": ({"max_date": "2020-13"}, "does not exist"),
    "a day too many": ({"max_date": "2021-02-29"}, "does not exist"),
    "reversed": ({"min_date": "2021", "max_date": "2020-12-31"}, "swap"),
    "no such type": ({"publication_types": ("Randomised Controlled Trial",)}, "Randomized Controlled Trial"),
    "nothing like it": ({"publication_types": ("xyzzy",)}, "Review"),
    "no results wanted": ({"max_results": 0}, "1 to 100"),
    "too many wanted": ({"max_results": 1_000}, "1 to 100"),
    "before the first": ({"offset": -1}, "0 or more"),
    "beyond the last": ({"offset": 9_999}, "min_date"),
    "over the end": ({"offset": 9_990, "max_results": 20}, "at most 8"),
}


@pytest.mark.parametrize(("refused", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_right_is_named_with_what_would_be(refused: dict[str, object], told: str):
    with pytest.raises(InvalidInputError) as caught:
        PubMedRequest.model_validate({"query": "zinc", **refused})
    assert told in caught.value.message


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=3), st.text(max_size=12), st.text(max_size=12))
def test_whatever_is_asked_is_answered_or_refused(query: str, types: list[str], earliest: str, latest: str):
    with contextlib.suppress(InvalidInputError):
        asked = request(query, publication_types=tuple(types), min_date=earliest, max_date=latest)
        assert asked.queries[0] in asked.term(asked.queries[0])
