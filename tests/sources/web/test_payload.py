"""Fields of any type, texts with markup, and dates as providers write them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.dates import current_date
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


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<strong>Insulin</strong> &amp; glucose", "Insulin & glucose"),
        ("p<0.05 and q>0.1", "p<0.05 and q>0.1"),
        ("&lt;LOD", "<LOD"),
        ("it&amp;#39;s twice encoded", "it's twice encoded"),
        ("one<br/>two<p>three</p>", "one two three "),
        ("List<String> stays", "List<String> stays"),
        ("a&nbsp;b", "a b"),
        ("AT&T &unknown; &#99999999;", "AT&T &unknown; �"),
    ],
)
def test_html_goes_and_its_text_stays(markup: str, text: str):
    assert without_markup(markup) == text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# Title\nText", "Title\nText"),
        ("## A. # B: C", "A. B: C"),
        ("**bold** and ***both***", "bold and both"),
        ("[link](https://a.example/x_(y)) ![image](i.png)", "link image"),
        ("`code`", "code"),
        ("p*q*r, C# and [1]", "p*q*r, C# and [1]"),
        ("part one [...] part two", "part one [...] part two"),
    ],
)
def test_markdown_goes_and_its_text_stays(markdown: str, text: str):
    assert without_markdown(markdown) == text


def test_fields_of_other_types_are_read_or_passed_over():
    texts: list[object] = ["a", 1, 1.5, True, None, {}, ["a", None, "b"]]
    numbers: list[object] = [1, "0.5", True, None, "x", [], float("inf")]
    assert [text_of(value) for value in texts] == ["a", "1", "1.5", "", "", "", "a b"]
    assert [number_of(value) for value in numbers] == [1, 0.5, None, None, None, None, None]


def test_rows_of_which_none_is_usable_are_junk_and_not_an_empty_answer():
    with pytest.raises(ProviderResponseError):
        read_hits(
            "brave", "Brave", [{"title": "no address"}], lambda row: hit_of("brave", title="", url="", content="")
        )
    with pytest.raises(ProviderResponseError):
        read_hits("brave", "Brave", {"a": 1}, lambda row: hit_of("brave", title="", url="", content=""))
    assert read_hits("brave", "Brave", None, lambda row: hit_of("brave", title="", url="", content="")) == []


def test_a_result_says_on_which_day_it_was_read():
    hit = hit_of("tavily", title="Zinc", url="https://who.int/zinc", content="Zinc closes wounds.")
    assert hit is not None
    assert hit.publication.accessed == current_date().isoformat()


def test_a_publications_page_claims_its_number_and_has_its_own_title():
    title, url = "Metformin in older adults - PubMed", "https://pubmed.ncbi.nlm.nih.gov/123/"
    record = hit_of("brave", title=title, url=url, content="Text.")
    title = "A page about PubMed - PubMed"
    page = hit_of("brave", title=title, url="https://blog.example/pubmed", content="Text.")
    assert record
    assert page
    assert record.id.startswith("url:")
    assert (record.publication.pmid, record.publication.claims) == ("", ("PMID 123",))
    assert record.publication.title == "Metformin in older adults"
    assert (page.publication.claims, page.publication.title) == ((), "A page about PubMed - PubMed")


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


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2023-05-25T15:48:12", "2023-05-25"),
        ("2023-05-25", "2023-05-25"),
        ("2023-05", "2023-05"),
        ("2023", "2023"),
        ("Tue, 20 May 2025 10:00:00 GMT", "2025-05-20"),
        ("April 20, 2023", "2023-04-20"),
        ("Mar 4, 2021", "2021-03-04"),
        ("Sept. 4th, 2021", "2021-09-04"),
        ("4 March 2021", "2021-03-04"),
        ("Mar 2021", "2021-03"),
        ("05/01/2024, 07:00 AM, +0000 UTC", "2024-05-01"),
        ("5 minutes ago", "2026-03-15"),
        ("an hour ago", "2026-03-15"),
        ("3 days ago", "2026-03-12"),
        ("2 weeks ago", "2026-03"),
        ("1 month ago", "2026-02"),
        ("4 years ago", "2022"),
        ("yesterday", "2026-03-14"),
        ("Today", "2026-03-15"),
        ("", "Unknown"),
        ("soon", "Unknown"),
        ("2023-13-01", "Unknown"),
        ("February 30, 2023", "Unknown"),
        ("9999-01-01", "Unknown"),
        ("0001-01-01", "Unknown"),
        ("99999999 years ago", "Unknown"),
        ("Foo 12, 2023", "Unknown"),
    ],
)
def test_a_date_is_as_exact_as_its_text(text: str, date: str):
    assert publication_date(text, TODAY) == date


@given(st.text())
def test_any_text_gives_a_date_that_a_citation_takes(text: str):
    Citation(source="web", title="T", date=publication_date(text, TODAY))
