"""Works of Crossref as publications."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import NO_TITLE
from deepcritical_mcp.sources.crossref.work import read_work
from tests.sources.crossref.crossref_wire import update, work


@pytest.mark.parametrize("subtype", ["letter", "report", "dissertation", "peer_review"])
def test_other_posted_content_is_no_preprint(subtype: str):
    assert read_work(work(type="posted-content", subtype=subtype)).form != "preprint"


def test_a_book_is_its_own():
    record = read_work(work(type="monograph", **{"container-title": [], "publisher-location": "Oslo"}))
    assert (record.form, record.publisher_place) == ("book", "Oslo")


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


def test_an_article_without_pages_has_its_number():
    assert read_work(work(page=None, **{"article-number": "e776"})).pages == "e776"


def test_a_licence_for_mining_is_none_for_readers():
    rows = [{"URL": "https://press.example/text-and-data-mining", "content-version": "vor"}]
    assert read_work(work(license=rows)).text.licence == ""


def test_what_happened_to_it_is_part_of_the_record():
    record = read_work(work(**{"updated-by": [update("10.5555/notice"), update("10.5555/fix", "correction")]}))
    assert record.status == "retracted"
    assert {one.doi for one in record.status_notices} == {"10.5555/notice", "10.5555/fix"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from([*work(), "name", "URL"]), one, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*work(), "abstract", "license", "funder", "editor", "subtype"]), JSON))
def test_whatever_fields_come_a_record_is_made(fields: dict[str, Any]):
    assert read_work({**fields, "DOI": "10.5555/zinc"}).id == "doi:10.5555/zinc"
