"""Works of Crossref as publications."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import NO_TITLE
from deepcritical_mcp.sources.crossref.work import read_work
from tests.sources.crossref.crossref_wire import work


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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from([*work(), "name", "URL"]), one, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*work(), "abstract", "license", "funder", "editor", "subtype"]), JSON))
def test_whatever_fields_come_a_record_is_made(fields: dict[str, Any]):
    assert read_work({**fields, "DOI": "10.5555/zinc"}).id == "doi:10.5555/zinc"
