"""Fields of any type, texts with markup, and dates as providers write them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.models import Citation
from deepcritical_mcp.net.json_fields import number_of, text_of, without_markup
from deepcritical_mcp.sources.base import Hit
from deepcritical_mcp.sources.web.provider import hit_of, publication_date, read_hits, without_markdown

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


def test_rows_of_which_none_is_usable_are_junk_and_not_an_empty_answer():
    with pytest.raises(ProviderResponseError):
        read_hits(
            "brave", "Brave", [{"title": "no address"}], lambda row: hit_of("brave", title="", url="", content="")
        )
    with pytest.raises(ProviderResponseError):
        read_hits("brave", "Brave", {"a": 1}, lambda row: hit_of("brave", title="", url="", content=""))
    assert read_hits("brave", "Brave", None, lambda row: hit_of("brave", title="", url="", content="")) == []


@given(JSON)
def test_no_payload_whatever_raises_anything_but_a_provider_error(payload: object):
    def hit(row: dict[str, object]):
        return hit_of(
            "p",
            title=without_markup(text_of(row.get("title"))),
            url=f"https://a.example/{text_of(row.get('url'))}",
            content=without_markup(without_markdown(text_of(row.get("content")))),
            score=number_of(row.get("score")),
        )

    try:
        hits = read_hits("p", "P", [{"title": payload, "url": payload, "content": payload, "score": payload}], hit)  # pyright: ignore[reportArgumentType]
    except ProviderResponseError:
        return
    assert all(isinstance(hit, Hit) for hit in hits)


TODAY = datetime.date(2026, 3, 15)


@given(st.text())
def test_any_text_gives_a_date_that_a_citation_takes(text: str):
    Citation(source="web", title="T", date=publication_date(text, TODAY))
