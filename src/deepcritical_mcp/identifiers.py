"""Identifiers of publications: normalised, and read from the addresses of pages."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from deepcritical_mcp.urls import clean_url, host_of


class RecordIds(NamedTuple):
    """Identifiers of a publication; "" where the address names none."""

    pmid: str = ""
    pmcid: str = ""
    doi: str = ""


_PMID = re.compile(r"0*([1-9]\d{0,8})/?")
_PUBMED_OLD = re.compile(r"/(?:m/)?pubmed/0*([1-9]\d{0,8})/?")
_PMC = re.compile(r"(?:/pmc)?/articles/(?:instance/)?(PMC\d{3,9})(?:/(?:pdf(?:/[^/]*)?)?)?", re.IGNORECASE)
_PMC_BY_PMID = re.compile(r"(?:/pmc)?/articles/pmid/0*([1-9]\d{0,8})/?")
_EUROPE_PMC = re.compile(r"/(?:article|abstract)/(MED|PMC)/(?:PMC)?0*([1-9]\d{0,8})/?", re.IGNORECASE)
_DOI = re.compile(r"10\.\d{4,9}/[^\s?#]+")

# Publishers' pages of one article, their DOI in the path. A view of the article is the article; its figures,
# supplements or citing articles are not.
_VIEWS = "abs|abstract|full|fulltext|pdf|epdf|pdfdirect|pdfplus|epub|html|full-xml|full\\.pdf|full-text"
_BY_DOI = re.compile(rf"/doi/(?:(?:{_VIEWS})/)?(10\.\d{{4,9}}/[^\s?#]+?)(?:/(?:{_VIEWS}))?")
_PUBLISHERS = {
    "link.springer.com": re.compile(r"/(?:article|chapter)/(10\.\d{4,9}/[^/]+)(?:/fulltext\.html)?"),
    "frontiersin.org": re.compile(r"(?:/journals/[^/]+)?/articles/(10\.3389/[^/]+)(?:/(?:full|abstract|pdf|epub))?"),
    "biomedcentral.com": re.compile(r"/(?:articles|counter/pdf)/(10\.\d{4,9}/[^/]+?)(?:\.pdf)?"),
    "biorxiv.org": re.compile(
        r"/content/(?:early/[\d/]+/)?(10\.1101/[\d.]+?)(?:v\d+)?(?:\.full|\.abstract)?(?:\.pdf)?"
    ),
    "f1000research.com": re.compile(r"/articles/(10\.12688/[^/]+)"),
}
_PUBLISHERS["medrxiv.org"] = _PUBLISHERS["biorxiv.org"]
_PLOS = re.compile(r"(?:^|&)id=(10\.1371/[\w./-]+)")


def record_ids(url: str) -> RecordIds:
    """The identifiers of the publication whose page `url` is; all "" when it is none, or not certainly.

    A page about a publication (its citing articles, its figures, a search for it) is not its page.
    """
    host = host_of(url)
    parts = urlsplit(clean_url(url)) if host else None
    if parts is None:
        return RecordIds()
    path = unquote(parts.path)
    if host in ("doi.org", "dx.doi.org"):
        doi = _DOI.fullmatch(path.lstrip("/").removeprefix("doi:"))
        return RecordIds(doi=doi[0].lower()) if doi else RecordIds()
    if host.endswith("nih.gov"):
        return _from_nih(host, path)
    if host == "europepmc.org":
        return _from_europe_pmc(path)
    return RecordIds(doi=_publishers_doi(host, path, unquote(parts.query)).lower())


def _from_nih(host: str, path: str) -> RecordIds:
    if host == "pubmed.ncbi.nlm.nih.gov" and (found := _PMID.fullmatch(path.lstrip("/"))):
        return RecordIds(pmid=found[1])
    if host not in ("ncbi.nlm.nih.gov", "pmc.ncbi.nlm.nih.gov"):
        return RecordIds()
    if found := _PUBMED_OLD.fullmatch(path) or _PMC_BY_PMID.fullmatch(path):
        return RecordIds(pmid=found[1])
    found = _PMC.fullmatch(path)
    return RecordIds(pmcid=found[1].upper()) if found else RecordIds()


def _from_europe_pmc(path: str) -> RecordIds:
    if found := _EUROPE_PMC.fullmatch(path):
        return RecordIds(pmid=found[2]) if found[1].upper() == "MED" else RecordIds(pmcid=f"PMC{found[2]}")
    found = _PMC.fullmatch(path)
    return RecordIds(pmcid=found[1].upper()) if found else RecordIds()


def _publishers_doi(host: str, path: str, query: str) -> str:
    if found := _BY_DOI.fullmatch(path):
        return found[1]
    if host == "journals.plos.org" and path.endswith("/article"):
        found = _PLOS.search(query)
        return found[1] if found else ""
    for publisher, pattern in _PUBLISHERS.items():
        if host == publisher or host.endswith(f".{publisher}"):
            found = pattern.fullmatch(path)
            return found[1] if found else ""
    return ""


def normalise_doi(doi: str) -> str:
    """A DOI without resolver or "doi:" in front, in lower case (DOIs are case-insensitive); "" stays ""."""
    return re.sub(r"^(https?://(dx\.)?doi\.org/|doi(:|\s))\s*", "", doi.strip(), flags=re.IGNORECASE).lower()


def normalise_pmid(pmid: str) -> str:
    """A PMID as PubMed writes it, from "PMID: 31978945", "pubmed:31978945" or "031978945"; "" when it is none."""
    found = re.fullmatch(r"(?:(?:pmid|pubmed)\s*:?\s*)?0*([1-9][0-9]{0,8})", pmid.strip(), flags=re.IGNORECASE)
    return found[1] if found else ""
