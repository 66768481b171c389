"""A page is a publication's page only when its address says so for certain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.identifiers import RecordIds, record_ids

PAGES = """
pmid 12345678 https://pubmed.ncbi.nlm.nih.gov/12345678/#full-view-affiliation-1
pmid 12345678 http://www.ncbi.nlm.nih.gov/pubmed/12345678
pmid 12345678 https://www.ncbi.nlm.nih.gov/m/pubmed/12345678/
pmid 12345678 https://europepmc.org/article/MED/12345678
pmid 12345678 https://pubmed.ncbi.nlm.nih.gov/?term=12345678
pmid 12345678 https://pubmed.gov/12345678
pmid 12345678 http://www.ncbi.nlm.nih.gov/entrez/query.fcgi?cmd=Retrieve&db=PubMed&list_uids=12345678&dopt=Abstract
pmcid PMC1234567 https://www.ncbi.nlm.nih.gov/labs/pmc/articles/PMC1234567/
pmcid PMC1234567 https://www.ncbi.nlm.nih.gov/pmc/articles/1234567/
pmcid PMC1234567 http://www.pubmedcentral.nih.gov/articlerender.fcgi?artid=1234567
pmid 12345678 https://www.ncbi.nlm.nih.gov/pmc/articles/pmid/12345678/
pmcid PMC1234567 https://pmc.ncbi.nlm.nih.gov/articles/PMC1234567/
doi 10.1000/abc.1 https://doi.org/10.1000/ABC.1
doi 10.7554/elife.50001 https://elifesciences.org/articles/50001.pdf
doi 10.1001/jama.2019.0001 https://jamanetwork.com/journals/jama/fullarticle/10.1001/jama.2019.0001
doi 10.1093/brain/awz001 https://academic.oup.com/brain/advance-article/doi/10.1093/brain/awz001/5300001
doi 10.1371/journal.pone.0000001 http://www.plosone.org/article/info%3Adoi%2F10.1371%2Fjournal.pone.0000001
doi 10.1016/s0140-6736(19)30001-2 https://www.thelancet.com/action/showPdf?pii=S0140-6736%2819%2930001-2
doi 10.1016/s0140-6736(19)30001-2 https://www.thelancet.com/pdfs/journals/lancet/PIIS0140-6736%2819%2930001-2.pdf
doi 10.1016/s0140-6736(19)30001-2 https://www.thelancet.com/article/S0140-6736(19)30001-2/fulltext
doi 10.1101/2020.01.02.000001 https://www.medrxiv.org/content/10.1101/2020.01.02.000001v1.full.pdf+html
doi 10.1101/240001 https://www.biorxiv.org/content/biorxiv/early/2018/01/02/240001.full.pdf
"""
"""The number, and the address of its page."""


@pytest.mark.parametrize("page", PAGES.strip().splitlines())
def test_a_publications_page_is_recognised(page: str):
    kind, number, url = page.split()
    assert record_ids(url) == RecordIds(**{kind: number})


@given(st.text())
def test_no_text_whatever_raises(text: str):
    record_ids(text)
    record_ids(f"https://doi.org/{text}")
    record_ids(f"https://pubmed.ncbi.nlm.nih.gov/{text}")


@pytest.mark.parametrize(
    "url",
    [
        "https://pubmed.ncbi.nlm.nih.gov/?term=12345678+OR+23456789",
        "https://www.ncbi.nlm.nih.gov/entrez/query.fcgi?db=pubmed&list_uids=12345678,23456789",
        "https://www.medrxiv.org/content/10.1101/2020.01.02.000001v1.supplementary-material",
        "https://clinicaltrials.gov/search?term=NCT01234567",
        "https://pubmed.ncbi.nlm.nih.gov/12345678/citedby/",
        "https://pubmed.ncbi.nlm.nih.gov/12345678,23456789/",
        "https://pubmed.ncbi.nlm.nih.gov/help/",
        "https://pubmed.ncbi.nlm.nih.gov.example.org/12345678/",
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC1234567/figure/F1/",
        "https://www.ncbi.nlm.nih.gov/gene/672",
        "https://doi.org/not-a-doi",
        "https://www.publisher.example/doi/suppl/10.1000/abc",
        "https://blog.example/why-10.1000/abc-matters",
        "https://news.example/?about=10.1000/abc",
        "",
        "10.1000/abc",
    ],
)
def test_a_page_about_a_publication_is_not_its_page(url: str):
    assert record_ids(url) == RecordIds()
