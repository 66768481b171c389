"""A page is a publication's page only when its address says so for certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.identifiers import RecordIds, normalize_doi, record_ids


@pytest.mark.parametrize(
    ("url", "ids"),
    [
        ("https://pubmed.ncbi.nlm.nih.gov/12345678/", RecordIds(pmid="12345678")),
        ("https://pubmed.ncbi.nlm.nih.gov/12345678/#full-view-affiliation-1", RecordIds(pmid="12345678")),
        ("http://www.ncbi.nlm.nih.gov/pubmed/12345678", RecordIds(pmid="12345678")),
        ("https://www.ncbi.nlm.nih.gov/m/pubmed/12345678/", RecordIds(pmid="12345678")),
        ("https://europepmc.org/article/MED/12345678", RecordIds(pmid="12345678")),
        ("https://pubmed.ncbi.nlm.nih.gov/?term=12345678", RecordIds(pmid="12345678")),
        ("https://www.ncbi.nlm.nih.gov/pubmed?term=12345678", RecordIds(pmid="12345678")),
        ("https://pubmed.gov/12345678", RecordIds(pmid="12345678")),
        (
            "http://www.ncbi.nlm.nih.gov/entrez/query.fcgi?cmd=Retrieve&db=PubMed&list_uids=12345678&dopt=Abstract",
            RecordIds(pmid="12345678"),
        ),
        ("https://www.ncbi.nlm.nih.gov/labs/pmc/articles/PMC1234567/", RecordIds(pmcid="PMC1234567")),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/1234567/", RecordIds(pmcid="PMC1234567")),
        ("http://www.pubmedcentral.nih.gov/articlerender.fcgi?artid=1234567", RecordIds(pmcid="PMC1234567")),
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
        ("https://reviews.example/cdsr/doi/10.1000/cd1.pub2/full/es", RecordIds(doi="10.1000/cd1.pub2")),
        ("https://reviews.example/cdsr/doi/10.1000/cd1.pub2/information", RecordIds(doi="10.1000/cd1.pub2")),
        ("https://doi.org/10.1000.10/ABC", RecordIds(doi="10.1000.10/abc")),
        ("https://www.publisher.example/doi/10.1000.10/abc", RecordIds(doi="10.1000.10/abc")),
        ("https://doi.org/10.1000/abc.", RecordIds(doi="10.1000/abc")),
        ("https://link.springer.com/content/pdf/10.1000/s1-2.pdf", RecordIds(doi="10.1000/s1-2")),
        ("https://link.springer.com/10.1000/s1-2", RecordIds(doi="10.1000/s1-2")),
        ("https://www.nature.com/articles/s41590-020-0001-2_reference.pdf", RecordIds(doi="10.1038/s41590-020-0001-2")),
        ("https://www.bmj.com/content/bmj/370/bmj.m1.full.pdf", RecordIds(doi="10.1136/bmj.m1")),
        ("https://elifesciences.org/articles/50001.pdf", RecordIds(doi="10.7554/elife.50001")),
        ("https://peerj.com/articles/4001.pdf", RecordIds(doi="10.7717/peerj.4001")),
        (
            "https://jamanetwork.com/journals/jama/fullarticle/10.1001/jama.2019.0001",
            RecordIds(doi="10.1001/jama.2019.0001"),
        ),
        (
            "https://academic.oup.com/brain/article-lookup/doi/10.1093/brain/awz001",
            RecordIds(doi="10.1093/brain/awz001"),
        ),
        (
            "https://academic.oup.com/brain/advance-article/doi/10.1093/brain/awz001/5300001",
            RecordIds(doi="10.1093/brain/awz001"),
        ),
        (
            "http://www.plosone.org/article/info%3Adoi%2F10.1371%2Fjournal.pone.0000001",
            RecordIds(doi="10.1371/journal.pone.0000001"),
        ),
        (
            "https://www.thelancet.com/action/showPdf?pii=S0140-6736%2819%2930001-2",
            RecordIds(doi="10.1016/s0140-6736(19)30001-2"),
        ),
        (
            "https://www.thelancet.com/pdfs/journals/lancet/PIIS0140-6736%2819%2930001-2.pdf",
            RecordIds(doi="10.1016/s0140-6736(19)30001-2"),
        ),
        (
            "https://www.thelancet.com/article/S0140-6736(19)30001-2/fulltext",
            RecordIds(doi="10.1016/s0140-6736(19)30001-2"),
        ),
        (
            "https://www.medrxiv.org/content/10.1101/2020.01.02.000001v1.full.pdf+html",
            RecordIds(doi="10.1101/2020.01.02.000001"),
        ),
        (
            "https://www.biorxiv.org/content/biorxiv/early/2018/01/02/240001.full.pdf",
            RecordIds(doi="10.1101/240001"),
        ),
        ("https://www.medrxiv.org/content/10.64898/2026.01.02.000001v1", RecordIds(doi="10.64898/2026.01.02.000001")),
        (
            "https://www.biorxiv.org/content/10.64898/2026.01.02.000001v2.full.pdf",
            RecordIds(doi="10.64898/2026.01.02.000001"),
        ),
        (
            "https://www.biorxiv.org/content/10.64898/2026.01.02.000001v2.full-text",
            RecordIds(doi="10.64898/2026.01.02.000001"),
        ),
        ("https://doi.org/10.1101/2020.01.02.000001v2", RecordIds(doi="10.1101/2020.01.02.000001")),
        ("https://clinicaltrials.gov/ct2/show/results/NCT01234567", RecordIds(nct="NCT01234567")),
        ("https://clinicaltrials.gov/ct2/show/record/NCT01234567", RecordIds(nct="NCT01234567")),
        ("http://clinicaltrials.gov/ct/show/nct01234567", RecordIds(nct="NCT01234567")),
        ("https://classic.clinicaltrials.gov/ct2/show/NCT01234567", RecordIds(nct="NCT01234567")),
        ("http://www.controlled-trials.com/isrctn/pf/12345678", RecordIds(nct="ISRCTN12345678")),
        ("http://www.controlled-trials.com/ISRCTN12345678", RecordIds(nct="ISRCTN12345678")),
        ("https://doi.org/10.1186/ISRCTN12345678", RecordIds(nct="ISRCTN12345678")),
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


@pytest.mark.parametrize(
    ("written", "doi"),
    [
        ("10.1101/2020.01.02.000001v2", "10.1101/2020.01.02.000001"),
        ("doi:10.64898/2026.01.02.26000001v12.", "10.64898/2026.01.02.26000001"),
        ("10.1101/2020.01.02.000001/v1", "10.1101/2020.01.02.000001"),
        ("10.1101/240001v1.full.pdf", "10.1101/240001"),
        ("10.21203/rs.3.rs-1/v1", "10.21203/rs.3.rs-1/v1"),
        ("10.12688/f1000research.1.2", "10.12688/f1000research.1.2"),
        ("10.20944/preprints202001.0001.v1", "10.20944/preprints202001.0001.v1"),
        ("10.1101/gr.100001.100v2", "10.1101/gr.100001.100v2"),
    ],
)
def test_a_version_that_is_not_part_of_a_doi_is_left_out(written: str, doi: str):
    assert normalize_doi(written) == doi
