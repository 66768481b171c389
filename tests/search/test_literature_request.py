"""Requests, checked before PubMed is asked."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.literature_request import LiteratureRequest, question_of
from tests.search.literature_fakes import request


@pytest.mark.parametrize(
    "query",
    [
        "zinc",
        '("Zinc"[MeSH Terms] OR zn[ti]) AND wound*[tiab] NOT review[pt]',
        "2020:2021[dp] AND ruiz a[au]",
        "β-carotene & <zinc>",
    ],
)
def test_a_query_reaches_pubmed_untouched(query: str):
    question = question_of(request(query))
    assert question.term(question.wordings[0]) == query


def test_filters_are_added_around_the_query():
    question = question_of(
        request("zinc OR copper", publication_types=("review", "Meta analysis", "Review"), has_abstract=True)
    )
    assert question.term("zinc OR copper") == (
        '(zinc OR copper) AND ("Review"[Publication Type] OR "Meta-Analysis"[Publication Type]) AND hasabstract'
    )


def test_dates_are_told_in_pubmeds_form():
    question = question_of(request(min_date="2020", max_date=" 2021-02-28 "))
    assert (question.min_date, question.max_date) == ("2020", "2021/02/28")


def test_the_query_comes_first_and_each_wording_once():
    question = question_of(request("Zinc ", variants=("copper", " ", "zinc", "Copper", "iron")))
    assert question.wordings == ("Zinc", "copper", "iron")


REFUSED: dict[str, tuple[LiteratureRequest, str]] = {
    "blank": (request("  \u200b"), "blank"),
    "too long": (request("z" * 10_000), "4,000"),
    "a variant too long": (request(variants=("z" * 10_000,)), "4,000"),
    "too many variants": (request(variants=tuple("abcdefgh")), "at most 7"),
    "no date": (request(min_date="yesterday"), "YYYY-MM-DD"),
    "American date": (request(min_date="03/04/2020"), "YYYY-MM-DD"),
    "half a month": (request(max_date="2020-1"), "YYYY-MM-DD"),
    "a month too many": (request(max_date="2020-13"), "does not exist"),
    "a day too many": (request(max_date="2021-02-29"), "28 days"),
    "no year": (request(min_date="0000"), "does not exist"),
    "reversed": (request(min_date="2021", max_date="2020-12-31"), "swap"),
    "reversed days": (request(min_date="2021-05-02", max_date="2021-05-01"), "swap"),
    "no such type": (request(publication_types=("Randomised Controlled Trial",)), "Randomized Controlled Trial"),
    "nothing like it": (request(publication_types=("xyzzy",)), "Review"),
    "no results wanted": (request(max_results=0), "1 to 100"),
    "too many wanted": (request(max_results=1_000), "1 to 100"),
    "before the first": (request(offset=-1), "0 or more"),
    "beyond the last": (request(offset=9_999), "min_date"),
    "over the end": (request(offset=9_990, max_results=20), "at most 8"),
}


@pytest.mark.parametrize(("refused", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_right_is_named_with_what_would_be(refused: LiteratureRequest, told: str):
    with pytest.raises(InvalidInputError) as caught:
        question_of(refused)
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("earliest", "latest"),
    [("2021", "2021"), ("2021-05", "2021"), ("2021-05-31", "2021-05"), ("2020-02-29", "2020-02"), ("", "1900")],
)
def test_ranges_within_one_year_or_month_are_right(earliest: str, latest: str):
    question_of(request(min_date=earliest, max_date=latest))


def test_the_last_page_can_be_had():
    question_of(request(offset=9_898, max_results=100))


@settings(deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=3), st.text(max_size=12), st.text(max_size=12))
def test_whatever_is_asked_is_answered_or_refused(query: str, types: list[str], earliest: str, latest: str):
    asked = request(query, publication_types=tuple(types), min_date=earliest, max_date=latest)
    with contextlib.suppress(InvalidInputError):
        question = question_of(asked)
        assert question.wordings[0] in question.term(question.wordings[0])
