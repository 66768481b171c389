"""What happened to a work, as Crossref tells it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import status_told_by
from deepcritical_mcp.sources.crossref.work import date_of, updates_of
from tests.sources.crossref.crossref_wire import dated, update, work


def told(**fields: object) -> list[tuple[str, str, str]]:
    notices = updates_of(work("10.5555/Zinc", **fields))
    return [(one.kind, one.doi, one.reference) for one in notices]


def status(**fields: object) -> str:
    return status_told_by(updates_of(work("10.5555/Zinc", **fields)))


@pytest.mark.parametrize(
    ("type", "kind", "mark"),
    [
        ("retraction", "retraction", "retracted"),
        ("withdrawal", "retraction", "retracted"),
        ("removal", "retraction", "retracted"),
        ("expression_of_concern", "concern", "concern"),
        ("Expression of concern", "concern", "concern"),
        ("partial_retraction", "partial_retraction", "corrected"),
        ("correction", "erratum", "corrected"),
        ("corrigendum", "erratum", "corrected"),
        ("addendum", "erratum", "corrected"),
        ("new_version", "update", "superseded"),
    ],
)
def test_each_kind_of_update_has_its_status(type: str, kind: str, mark: str):
    fields = {"updated-by": [update("10.5555/NOTICE", type)]}
    assert [(one[0], one[1]) for one in told(**fields)] == [(kind, "10.5555/notice")]
    assert status(**fields) == mark


def test_who_reported_it_is_named_and_what_it_is_if_the_kind_does_not_say():
    updates = [
        update("10.5555/n1", "retraction", "publisher"),
        update("10.5555/n2", "withdrawal", "retraction-watch"),
        update("10.5555/n3", "correction", "publisher", updated=dated(None)),
        {"DOI": "10.5555/n4", "type": "erratum", "updated": dated(2019)},
    ]
    assert [one[2] for one in told(**{"updated-by": updates})] == [
        "publisher, 2021-05-04",
        "Withdrawal: Retraction Watch, 2021-05-04",
        "publisher",
        "Crossref, 2019",
    ]


def test_one_notice_that_two_have_reported_is_one():
    updates = [update("10.5555/n", "retraction", "publisher"), update("10.5555/N", updated=dated(2021, 6))]
    assert told(**{"updated-by": updates}) == [
        ("retraction", "10.5555/n", "publisher, 2021-05-04; Retraction Watch, 2021-06")
    ]


def test_a_retraction_that_was_taken_back_is_not_one():
    updates = [update("10.5555/n"), update("10.5555/back", "reinstatement", updated=dated(2022, 1, 2))]
    assert told(**{"updated-by": updates}) == [
        ("erratum", "10.5555/n", "Retracted (Retraction Watch, 2021-05-04) and reinstated (2022-01-02)")
    ]
    again = [*updates, update("10.5555/again", updated=dated(2023, 1))]
    assert status(**{"updated-by": again}) == "retracted"


def test_a_notice_is_about_another_work_and_says_so():
    assert told(**{"update-to": [update("10.5555/PAPER")]}) == [("about", "10.5555/paper", "Retraction")]
    assert status(**{"update-to": [update("10.5555/PAPER")]}) == "notice"


def test_a_newer_version_names_the_earlier_one():
    assert told(**{"update-to": [update("10.5555/v1", "new_version")]}) == [("earlier", "10.5555/v1", "")]
    assert status(**{"update-to": [update("10.5555/v1", "new_version")]}) == "ok"


def test_an_article_that_was_changed_in_place_reports_itself():
    assert told(**{"update-to": [update("10.5555/zinc", "correction", "publisher")]}) == [
        ("erratum", "", "publisher, 2021-05-04")
    ]
    assert status(**{"update-to": [update("10.5555/zinc", "withdrawal")]}) == "retracted"


def test_a_preprint_names_its_article_and_the_article_its_preprint():
    def related(name: str, **one: object) -> dict[str, object]:
        return {"relation": {name: [{"id-type": "doi", "id": "10.5555/OTHER", "asserted-by": "subject", **one}]}}

    assert told(**related("is-preprint-of")) == [("published", "10.5555/other", "")]
    assert told(**related("has-preprint")) == [("preprint", "10.5555/other", "")]
    assert told(**related("is-preprint-of", **{"id-type": "uri"})) == []
    assert told(**related("is-preprint-of", id="10.5555/zinc")) == []
    assert told(**related("cites")) == []
    assert status(**related("is-preprint-of")) == "ok"


def test_a_title_that_says_retracted_is_no_proof():
    assert status(title=["RETRACTED: Zinc in wound repair"]) == "ok"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["retraction", "10.5555/zinc"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(["DOI", "type", "updated", "id"]), one),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_whatever_comes_is_read(updated_by: object, update_to: object, relation: object):
    updates_of({"DOI": "10.5555/zinc", "updated-by": updated_by, "update-to": update_to, "relation": relation})


@pytest.mark.parametrize(
    ("parts", "date"),
    [
        ([[2026, 9, 3]], "2026-09-03"),
        ([[2026, 9]], "2026-09"),
        ([[2026]], "2026"),
        ([["2026", "9"]], "2026-09"),
        ([[None]], "Unknown"),
        ([[2026, None]], "2026"),
        ([[26, 9]], "Unknown"),
        ([[2026, 13, 1]], "2026"),
        ([[2026, 1e300]], "2026"),
        ([[2026, 5, 99]], "2026-05"),
        ([], "Unknown"),
    ],
)
def test_dates_are_as_exact_as_they_are_known(parts: object, date: str):
    assert date_of({"date-parts": parts}) == date
