"""PubMed's records: every shape the DTD allows, and some that it does not."""

from __future__ import annotations

import tracemalloc

import pytest

from deepcritical_mcp.errors import ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.sources.pubmed.records import Records, read_records
from tests.sources.ncbi import article, efetch


def read(*records: str) -> Records:
    return read_records(efetch(*records).body)


ODD = {
    "no PMID": article("").replace('<PMID Version="1"></PMID>', ""),
    "no number for a PMID": article("abc"),
    "nothing in it": "<PubmedArticle/>",
    "text instead": "<PubmedArticle>wrong format</PubmedArticle>",
    "a book of nothing": "<PubmedBookArticle><BookDocument/></PubmedBookArticle>",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_unreadable_record_costs_itself_alone(odd: str):
    records = read(article("1"), odd, article("2"))
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]
    assert len(records.losses) + len(records.unnamed) == 1
    assert records.well_formed


@pytest.mark.parametrize("between", ["<b>", "</b>", "&", "<PubmedArticle><PMID>7</PMID>"])
def test_what_stands_between_records_costs_none_of_them(between: str):
    records = read(article("1"), between, article("2"), between)
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]


def test_a_maintenance_page_is_an_outage():
    with pytest.raises(ProviderUnavailableError):
        read_records(b"<!-- NCBI -->\n<html lang='en'><head><meta charset=utf-8></head><body>Back soon<br></html>")


def test_markup_nested_too_deeply_costs_only_its_record():
    records = read(article("1"), article("2", "<i>" * 50_000 + "deep" + "</i>" * 50_000))
    assert [item.pmid for item in records.publications] == ["1"]
    assert list(records.losses) == ["2"]


@pytest.mark.parametrize("inside", ["<i>" * 2_000_000, "<a/>" * 1_500_000], ids=["unclosed", "elements"])
def test_markup_that_pubmed_never_sends_costs_neither_memory_nor_time(inside: str):
    body = f"<PubmedArticleSet>{inside}</PubmedArticleSet>".encode()
    tracemalloc.start()
    try:
        with pytest.raises(ProviderResponseError, match=r"cannot be read: (it is not valid XML|.* too many)"):
            read_records(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(body)
