"""PubMed's records: every shape the DTD allows, and some that it does not."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest

from deepcritical_mcp.errors import ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.pubmed.records import Records, read_records
from tests.sources.ncbi import article, efetch, notice


def read(*records: str) -> Records:
    return read_records(efetch(*records).body)


def read_one(record: str) -> Publication:
    (evidence,) = read(record).publications
    return evidence


Statuses = list[tuple[tuple[str, ...], str, str, list[tuple[str, str, str]]]]
STATUSES: Statuses = [
    (("Retracted Publication",), "", "retracted", []),
    ((), notice("RetractionIn", "J. 2022;1:2", "77"), "retracted", [("retraction", "77", "J. 2022;1:2")]),
    ((), notice("ExpressionOfConcernIn", "J. 2023", "78"), "concern", [("concern", "78", "J. 2023")]),
    ((), notice("PartialRetractionIn", "J. 2024", "80"), "corrected", [("partial_retraction", "80", "J. 2024")]),
    ((), notice("CommentIn", "J. 2020", "5"), "unchecked", []),
]


@pytest.mark.parametrize(("types", "xml", "status", "notices"), STATUSES)
def test_what_became_of_a_paper(types: Sequence[str], xml: str, status: str, notices: Sequence[tuple[str, str, str]]):
    citation = read_one(article("1", types=types, citation=xml))
    assert citation.status == status
    assert [(one.kind, one.pmid, one.reference) for one in citation.status_notices] == notices


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


def test_deleted_records_are_named_beside_the_others():
    deleted = "<DeleteCitation><PMID>71</PMID><PMID>72</PMID></DeleteCitation>"
    records = read(article("70"), deleted)
    assert [piece.id for piece in records.publications] == ["pubmed:70"]
    assert list(records.losses) == ["71", "72"]
