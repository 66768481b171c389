"""Identifiers of publications: normalised, and extracted from the URLs of pages."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from deepcritical_mcp.urls import clean_url, host_of


class RecordIds(NamedTuple):
    """Identifiers of a publication; "" for each that is not known."""

    pmid: str = ""
    pmcid: str = ""
    doi: str = ""
    nct: str = ""


_PMID = re.compile(r"0*([1-9]\d{0,8})/?")
_PUBMED_OLD = re.compile(r"/(?:m/)?pubmed/0*([1-9]\d{0,8})/?")
_PMC = re.compile(r"(?:/pmc)?/articles/(?:instance/)?(PMC\d{3,9})(?:/(?:pdf(?:/[^/]*)?)?)?", re.IGNORECASE)
_PMC_BY_PMID = re.compile(r"(?:/pmc)?/articles/pmid/0*([1-9]\d{0,8})/?")
_EUROPE_PMC = re.compile(r"/(?:article|abstract)/(MED|PMC)/(?:PMC)?0*([1-9]\d{0,8})/?", re.IGNORECASE)
_DOI = re.compile(r"10\.\d{4,9}/[^\s?#]+")

# Publishers' pages of an article with the DOI in the path. Views such as the abstract or PDF count as the article;
# its figures, supplements and citing articles do not.
_VIEWS = "abs|abstract|full|fulltext|pdf|epdf|pdfdirect|pdfplus|epub|html|full-xml|full\\.pdf|full-text"
_BY_DOI = re.compile(rf"(?:/cdsr)?/doi/(?:(?:{_VIEWS})/)?(10\.\d{{4,9}}/[^\s?#]+?)(?:/(?:{_VIEWS}))?")
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
# Publishers whose addresses hold the end of the DOI, after a prefix that is theirs.
_PREFIXES = {
    "nature.com": ("10.1038/", re.compile(r"/articles/(s?\d[\w.-]+?)(?:\.pdf)?")),
    "thelancet.com": (
        "10.1016/",
        re.compile(r"/journals/\w+/article/PII(S[\d-]+\(\d\d\)[\dX-]+)(?:/(?:fulltext|abstract))?"),
    ),
    "bmj.com": ("10.1136/", re.compile(r"/content/\d+/(bmj\.\w+)(?:\.full)?(?:\.pdf)?")),
    "elifesciences.org": ("10.7554/elife.", re.compile(r"/articles/(\d{5,6})")),
    "peerj.com": ("10.7717/peerj.", re.compile(r"/articles/(\d+)")),
    "arxiv.org": ("10.48550/arxiv.", re.compile(r"/(?:abs|pdf)/(\d{4}\.\d{4,5})(?:v\d+)?(?:\.pdf)?")),
}
_TRIAL = re.compile(r"(?:/ct2)?/(?:show|study|show/study)/(NCT\d{8})", re.IGNORECASE)
_ISRCTN = re.compile(r"/(ISRCTN\d{5,10})", re.IGNORECASE)
_PLOS = re.compile(r"(?:^|&)id=(10\.1371/[\w./-]+)")


def record_ids(url: str) -> RecordIds:
    """The identifiers of the publication that `url` is the page of; all "" if it is not one, or if in doubt.

    Pages about a publication (its citing articles, its figures, a search for it) do not count.
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
    if host in ("clinicaltrials.gov", "beta.clinicaltrials.gov", "isrctn.com"):
        trial = (_ISRCTN if host == "isrctn.com" else _TRIAL).fullmatch(path.rstrip("/"))
        return RecordIds(nct=trial[1].upper()) if trial else RecordIds()
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
    for publisher, (prefix, pattern) in _PREFIXES.items():
        if host == publisher or host.endswith(f".{publisher}"):
            found = pattern.fullmatch(path.rstrip("/"))
            return f"{prefix}{found[1]}" if found else ""
    if host == "journals.plos.org" and path.endswith(("/article", "/article/file")):
        found = _PLOS.search(query)
        return found[1] if found else ""
    for publisher, pattern in _PUBLISHERS.items():
        if host == publisher or host.endswith(f".{publisher}"):
            found = pattern.fullmatch(path)
            return found[1] if found else ""
    return ""


_BARE_DOI = re.compile(r"10\.\d{4,9}/\S+")


def normalise_doi(doi: str) -> str:
    """A DOI without resolver URL or "doi:" prefix, in lower case (DOIs are case-insensitive); "" stays ""."""
    bare = unquote(doi.strip()) if "%" in doi else doi.strip()
    bare = re.sub(r"^(https?://(dx\.)?doi\.org/|doi(:|\s))\s*", "", bare, flags=re.IGNORECASE).lower()
    found = _BARE_DOI.search(bare)
    return found[0] if found else bare


def normalise_pmid(pmid: str) -> str:
    """The digits of a PMID, also from "PMID: 31978945", "pubmed:31978945" or "031978945"; "" if it is not a PMID."""
    found = re.fullmatch(r"(?:(?:pmid|pubmed)\s*:?\s*)?0*([1-9][0-9]{0,8})", pmid.strip(), flags=re.IGNORECASE)
    return found[1] if found else ""
