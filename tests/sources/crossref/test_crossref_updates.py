"""Works of Crossref as publications, and what happened to them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import NO_TITLE, status_told_by
from deepcritical_mcp.sources.crossref.service import read_work, updates_of
from tests.sources.crossref.crossref_wire import dated, update, work


def told(**fields: object) -> list[tuple[str, str, str]]:
    notices = updates_of(work("10.5555/Zinc", **fields))
    return [(one.kind, one.doi, one.reference) for one in notices]


def status(**fields: object) -> str:
    return status_told_by(updates_of(work("10.5555/Zinc", **fields)))


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


def test_a_preprint_names_its_article_and_the_article_its_preprint():
    def related(name: str, **one: object) -> dict[str, object]:
        return {"relation": {name: [{"id-type": "doi", "id": "10.5555/OTHER", "asserted-by": "subject", **one}]}}

    assert told(**related("is-preprint-of")) == [("published", "10.5555/other", "")]
    assert told(**related("has-preprint")) == [("preprint", "10.5555/other", "")]
    assert told(**related("is-preprint-of", **{"id-type": "uri"})) == []
    assert told(**related("is-preprint-of", id="10.5555/zinc")) == []
    assert told(**related("cites")) == []
    assert status(**related("is-preprint-of")) == "ok"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["retraction", "10.5555/zinc"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(["DOI", "type", "updated", "id"]), one),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_whatever_comes_is_read(updated_by: object, update_to: object, relation: object):
    updates_of({"DOI": "10.5555/zinc", "updated-by": updated_by, "update-to": update_to, "relation": relation})


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


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"subtitle": ["A randomised trial"]}, "Zinc in wound repair: A randomised trial"),
        ({"subtitle": ["in wound repair"]}, "Zinc in wound repair"),
        ({"title": ["Does zinc help?"], "subtitle": ["A review"]}, "Does zinc help? A review"),
        ({"title": ["Zn<sup>2+</sup> &amp; <jats:italic>Zip4</jats:italic>, p&lt;0.05"]}, "Zn2+ & Zip4, p<0.05"),
        ({"title": ["The\n            <i>ZIP4</i>\n   gene"]}, "The ZIP4 gene"),
        ({"title": []}, NO_TITLE),
    ],
)
def test_titles_are_whole_and_plain(fields: dict[str, Any], title: str):
    assert read_work(work(**fields)).title == title


def test_a_licence_for_mining_is_none_for_readers():
    rows = [{"URL": "https://press.example/text-and-data-mining", "content-version": "vor"}]
    assert read_work(work(license=rows)).text.licence == ""


WORK_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from([*work(), "name", "URL"]), one, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*work(), "abstract", "license", "funder", "editor", "subtype"]), WORK_JSON))
def test_whatever_fields_come_a_record_is_made(fields: dict[str, Any]):
    assert read_work({**fields, "DOI": "10.5555/zinc"}).id == "doi:10.5555/zinc"
