"""A page is a publication's page only when its address says so for certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.identifiers import RecordIds, record_ids


@pytest.mark.parametrize(
    ("url", "ids"),
    [
        ("https://pubmed.ncbi.nlm.nih.gov/12345678/", RecordIds(pmid="12345678")),
        ("https://pubmed.ncbi.nlm.nih.gov/12345678/#full-view-affiliation-1", RecordIds(pmid="12345678")),
        ("http://www.ncbi.nlm.nih.gov/pubmed/12345678", RecordIds(pmid="12345678")),
        ("https://www.ncbi.nlm.nih.gov/m/pubmed/12345678/", RecordIds(pmid="12345678")),
        ("https://europepmc.org/article/MED/12345678", RecordIds(pmid="12345678")),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/pmid/12345678/", RecordIds(pmid="12345678")),
        ("https://pmc.ncbi.nlm.nih.gov/articles/PMC1234567/", RecordIds(pmcid="PMC1234567")),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC1234567/?report=reader", RecordIds(pmcid="PMC1234567")),
        ("https://pmc.ncbi.nlm.nih.gov/articles/PMC1234567/pdf/main.pdf", RecordIds(pmcid="PMC1234567")),
        ("https://europepmc.org/articles/pmc1234567", RecordIds(pmcid="PMC1234567")),
        ("https://europepmc.org/article/PMC/PMC1234567", RecordIds(pmcid="PMC1234567")),
        ("https://doi.org/10.1000/ABC.1", RecordIds(doi="10.1000/abc.1")),
        ("http://dx.doi.org/10.1000/a%3Cb%3E", RecordIds(doi="10.1000/a<b>")),
        ("https://www.publisher.example/doi/full/10.1000/abc?via=x", RecordIds(doi="10.1000/abc")),
        ("https://www.publisher.example/doi/10.1000/abc/abstract", RecordIds(doi="10.1000/abc")),
        ("https://link.springer.com/article/10.1000/s1-2", RecordIds(doi="10.1000/s1-2")),
        ("https://bmc.biomedcentral.com/articles/10.1000/s1-2", RecordIds(doi="10.1000/s1-2")),
        (
            "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0000001",
            RecordIds(doi="10.1371/journal.pone.0000001"),
        ),
        (
            "https://www.biorxiv.org/content/10.1101/2020.01.02.000001v2.full",
            RecordIds(doi="10.1101/2020.01.02.000001"),
        ),
        ("https://www.medrxiv.org/content/10.1101/2020.01.02.000001v1", RecordIds(doi="10.1101/2020.01.02.000001")),
        (
            "https://www.frontiersin.org/articles/10.3389/fimmu.2020.00001/full",
            RecordIds(doi="10.3389/fimmu.2020.00001"),
        ),
    ],
)
def test_a_publications_page_is_recognised(url: str, ids: RecordIds):
    assert record_ids(url) == ids


@pytest.mark.parametrize(
    "url",
    [
        "https://pubmed.ncbi.nlm.nih.gov/?term=12345678",
        "https://pubmed.ncbi.nlm.nih.gov/12345678/citedby/",
        "https://pubmed.ncbi.nlm.nih.gov/12345678,23456789/",
        "https://pubmed.ncbi.nlm.nih.gov/help/",
        "https://pubmed.ncbi.nlm.nih.gov.example.org/12345678/",
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC1234567/figure/F1/",
        "https://www.ncbi.nlm.nih.gov/gene/672",
        "https://pubchem.ncbi.nlm.nih.gov/compound/4091",
        "https://doi.org/",
        "https://doi.org/not-a-doi",
        "https://www.publisher.example/doi/suppl/10.1000/abc",
        "https://www.publisher.example/doi/citedby/10.1000/abc",
        "https://blog.example/why-10.1000/abc-matters",
        "https://news.example/?about=10.1000/abc",
        "",
        "10.1000/abc",
    ],
)
def test_a_page_about_a_publication_is_not_its_page(url: str):
    assert record_ids(url) == RecordIds()


@given(st.text())
def test_no_text_whatever_raises(text: str):
    record_ids(text)
    record_ids(f"https://doi.org/{text}")
    record_ids(f"https://pubmed.ncbi.nlm.nih.gov/{text}")
