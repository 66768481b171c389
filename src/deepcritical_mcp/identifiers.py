"""Identifiers of publications: normalized, and extracted from the URLs of pages."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from deepcritical_mcp.urls import clean_url, host_of


class RecordIds(NamedTuple):
    """Identifiers of a publication; "" for each that is not known. `preprint_number` is Europe PMC's, "PPR1036674"."""

    pmid: str = ""
    pmcid: str = ""
    doi: str = ""
    nct: str = ""
    preprint_number: str = ""


_PMID = re.compile(r"0*([1-9]\d{0,8})/?")
_PUBMED_OLD = re.compile(r"/(?:m/)?pubmed/0*([1-9]\d{0,8})/?")
_PMC = re.compile(r"(?:/labs)?(?:/pmc)?/articles/(?:instance/)?(PMC\d{3,9})(?:/(?:pdf(?:/[^/]*)?)?)?", re.IGNORECASE)
_PUBMED_BY_QUERY = ("pubmed.ncbi.nlm.nih.gov", "ncbi.nlm.nih.gov/pubmed", "ncbi.nlm.nih.gov/entrez/query.fcgi")
_PMC_OLD = re.compile(r"/pmc/articles/([1-9]\d{2,8})/?")
_PMC_BY_PMID = re.compile(r"(?:/pmc)?/articles/pmid/0*([1-9]\d{0,8})/?")
_EUROPE_PMC = re.compile(r"/(?:article|abstract)/(MED|PMC)/(?:PMC)?0*([1-9]\d{0,8})/?", re.IGNORECASE)
_PREPRINT = re.compile(r"/(?:article|abstract)/PPR/?(?:PPR)?([0-9]{1,9})/?", re.IGNORECASE)
_BARE_PREPRINT = re.compile(r"PPR ?:? ?([0-9]{1,9})", re.IGNORECASE)
_NAMED_PREPRINT = re.compile(r"\bPPR[0-9]{1,9}\b")
SESSION_ID = re.compile("rs_[0-9a-f]{32}")
_PREFIX = r"10\.[0-9]{4,9}(?:\.[0-9]{1,9}+){0,4}/"
_DOI = re.compile(rf"{_PREFIX}[^\s?#]+")

# Publishers' pages of an article with the DOI in the path. Views such as the abstract or PDF count as the article;
# its figures, supplements and citing articles do not.
_VIEWS = "abs|abstract|full|fulltext|pdf|epdf|pdfdirect|pdfplus|epub|html|full-xml|full\\.pdf|full-text"
_ENDS = rf"(?:/(?:{_VIEWS}|information)(?:/[a-z]{{2}})?)?"
_BY_DOI = re.compile(rf"(?:/cdsr)?/doi/(?:(?:{_VIEWS})/)?({_PREFIX}[^\s?#]+?){_ENDS}")
_BIORXIV = re.compile(
    r"/content/(?:early/[\d/]+/)?(10\.(?:1101|64898)/[\d.]+?)(?:v\d+)?(?:\.(?:full|abstract|full-text))?(?:\.pdf(?:\+html)?)?"
)
_EARLY = re.compile(r"/content/(?:biorxiv|medrxiv)/early/\d{4}/\d\d/\d\d/([\d.]*\d)(?:\.(?:full|abstract))?(?:\.pdf)?")
_LANCET = re.compile(
    r"(?:/pdfs)?(?:/journals/\w+)?(?:/article)?/(?:PII)?(S\d{4}-\d{3}[\dX]\(\d\d\)\d{5}-[\dX])"
    r"(?:/(?:fulltext|abstract)|\.pdf)?"
)
_OUP = r"10\.1093/[^/]+/[^/]+"
# A publisher's host, the beginning of the DOI that its addresses leave out, and where they have the rest.
_PUBLISHERS = (
    (
        "link.springer.com",
        "",
        re.compile(r"/(?:(?:article|chapter|content/pdf)/)?(10\.\d{4,9}/[^/]+?)(?:\.pdf|/fulltext\.html)?"),
    ),
    (
        "frontiersin.org",
        "",
        re.compile(r"(?:/journals/[^/]+)?/articles?/(10\.3389/[^/]+)(?:/(?:full|abstract|pdf|epub))?"),
    ),
    ("biomedcentral.com", "", re.compile(r"/(?:articles|counter/pdf)/(10\.\d{4,9}/[^/]+?)(?:\.pdf)?")),
    ("biorxiv.org", "", _BIORXIV),
    ("biorxiv.org", "10.1101/", _EARLY),
    ("medrxiv.org", "", _BIORXIV),
    ("medrxiv.org", "10.1101/", _EARLY),
    ("jamanetwork.com", "", re.compile(r"/journals/[\w-]+/(?:fullarticle|abstract)/(10\.1001/[^/]+)")),
    ("academic.oup.com", "", re.compile(rf"/[\w-]+/article-lookup/doi/({_OUP})")),
    ("academic.oup.com", "", re.compile(rf"/[\w-]+/advance-article(?:-abstract|-pdf)?/doi/({_OUP})/\d+")),
    ("plosone.org", "", re.compile(r"/article/info:doi/(10\.1371/[\w.]+)")),
    ("f1000research.com", "", re.compile(r"/articles/(10\.12688/[^/]+)")),
    ("nature.com", "10.1038/", re.compile(r"/articles/(s?\d[\w.-]+?)(?:_reference)?(?:\.pdf)?")),
    ("thelancet.com", "10.1016/", _LANCET),
    ("bmj.com", "10.1136/", re.compile(r"/content/(?:bmj/)?\d+/(bmj\.\w+)(?:\.full)?(?:\.pdf)?")),
    ("elifesciences.org", "10.7554/elife.", re.compile(r"/articles/(\d{5,6})(?:\.pdf)?")),
    ("peerj.com", "10.7717/peerj.", re.compile(r"/articles/(\d+)(?:\.pdf)?")),
    ("arxiv.org", "10.48550/arxiv.", re.compile(r"/(?:abs|pdf)/(\d{4}\.\d{4,5})(?:v\d+)?(?:\.pdf)?")),
)
_TRIAL = re.compile(r"(?:/ct2?)?/(?:show|study)/(?:(?:study|results|record)/)?(NCT\d{8})", re.IGNORECASE)
_ISRCTN = re.compile(r"/(?:ISRCTN|isrctn/pf/)(\d{5,10})", re.IGNORECASE)
_ISRCTN_DOI = re.compile(r"10\.1186/(ISRCTN\d{5,10})", re.IGNORECASE)
_PII = re.compile(r"(?:^|&)pii=(S[\dX()-]+)(?:&|$)")
_TERM = re.compile(r"(?:^|&)(?:term|list_uids)=0*([1-9]\d{0,8})(?:&|$)")
_ARTID = re.compile(r"(?:^|&)artid=(?:PMC)?([1-9]\d{2,8})(?:&|$)", re.IGNORECASE)
_BARE_TRIAL = re.compile(
    r"(?:nct:|clinicaltrials\.gov[/:]?|ISRCTN/)?(?:(NCT):?([0-9]{8})|(ISRCTN):?([0-9]{5,10}))", re.IGNORECASE
)
_MAX_TRIAL_LENGTH = 60
_ARXIV = re.compile(r"arxiv ?: ?((?:[a-z.-]{2,20}/)?[0-9]{4}\.?[0-9]{3,5})(?:v[0-9]{1,3})?", re.IGNORECASE)
_BARE_PMCID = re.compile(r"(?:pmcid ?:? ?)?pmc ?:? ?0{0,9}([1-9][0-9]{0,9})(?:\.[0-9]{1,2})?", re.IGNORECASE)
_PLOS = re.compile(r"(?:^|&)id=(10\.1371/[\w./-]+)")


def record_ids(url: str) -> RecordIds:
    """The identifiers of the publication that `url` is the page of; all "" if it is not one, or if in doubt.

    Pages about a publication (its citing articles, its figures, a search for it) do not count.
    """
    host = host_of(url)
    parts = urlsplit(clean_url(url)) if host else None
    if parts is None:
        return RecordIds()
    path, query = unquote(parts.path), unquote(parts.query)
    if host in ("doi.org", "dx.doi.org"):
        if trial := _ISRCTN_DOI.fullmatch(path.lstrip("/")):
            return RecordIds(nct=trial[1].upper())
        doi = _DOI.fullmatch(path.lstrip("/").removeprefix("doi:"))
        return RecordIds(doi=normalize_doi(doi[0]) if doi else "")
    if host.endswith("nih.gov") or host == "pubmed.gov":
        return _from_nih(host, path, query)
    if host == "europepmc.org":
        return _from_europe_pmc(path)
    if host.removeprefix("beta.").removeprefix("classic.") == "clinicaltrials.gov":
        trial = _TRIAL.fullmatch(path.rstrip("/"))
        return RecordIds(nct=trial[1].upper() if trial else "")
    if host in ("isrctn.com", "controlled-trials.com"):
        trial = _ISRCTN.fullmatch(path.rstrip("/"))
        return RecordIds(nct=f"ISRCTN{trial[1]}" if trial else "")
    return RecordIds(doi=_publishers_doi(host, path, query).lower())


def _from_nih(host: str, path: str, query: str) -> RecordIds:
    if host in ("pubmed.ncbi.nlm.nih.gov", "pubmed.gov") and (found := _PMID.fullmatch(path.lstrip("/"))):
        return RecordIds(pmid=found[1])
    address = host + path.rstrip("/")
    # A search for a PMID alone leads to the record.
    if address in _PUBMED_BY_QUERY and (found := _TERM.search(query)):
        return RecordIds(pmid=found[1])
    if address == "pubmedcentral.nih.gov/articlerender.fcgi" and (found := _ARTID.search(query)):
        return RecordIds(pmcid=f"PMC{found[1]}")
    if host not in ("ncbi.nlm.nih.gov", "pmc.ncbi.nlm.nih.gov"):
        return RecordIds()
    if found := _PUBMED_OLD.fullmatch(path) or _PMC_BY_PMID.fullmatch(path):
        return RecordIds(pmid=found[1])
    if found := _PMC_OLD.fullmatch(path):
        return RecordIds(pmcid=f"PMC{found[1]}")
    found = _PMC.fullmatch(path)
    return RecordIds(pmcid=found[1].upper()) if found else RecordIds()


def _from_europe_pmc(path: str) -> RecordIds:
    if found := _EUROPE_PMC.fullmatch(path):
        return RecordIds(pmid=found[2]) if found[1].upper() == "MED" else RecordIds(pmcid=f"PMC{found[2]}")
    found = _PMC.fullmatch(path)
    return RecordIds(pmcid=found[1].upper()) if found else RecordIds()


def preprint_number(text: str) -> str:
    """Europe PMC's number of a preprint, "PPR1036674", from the address of its page or as people write it; else ""."""
    is_page = host_of(text) == "europepmc.org"
    found = _PREPRINT.fullmatch(urlsplit(clean_url(text)).path) if is_page else _BARE_PREPRINT.fullmatch(text.strip())
    return f"PPR{found[1]}" if found else ""


def named_preprints(text: str) -> list[str]:
    """The numbers of preprints that a reference names: "Preprint PPR1036674 in Europe PMC"."""
    return _NAMED_PREPRINT.findall(text)


def _publishers_doi(host: str, path: str, query: str) -> str:
    if found := _BY_DOI.fullmatch(path):
        return found[1]
    if host == "thelancet.com" and path == "/action/showPdf" and (found := _PII.search(query)):
        return f"10.1016/{found[1]}"
    if host == "journals.plos.org" and path.endswith(("/article", "/article/file")):
        found = _PLOS.search(query)
        return found[1] if found else ""
    for publisher, prefix, pattern in _PUBLISHERS:
        is_theirs = host == publisher or host.endswith(f".{publisher}")
        if is_theirs and (found := pattern.fullmatch(path.rstrip("/"))):
            return f"{prefix}{found[1]}"
    return ""


BARE_DOI = re.compile(rf"{_PREFIX}\S+")
_PREPRINT_DOI = re.compile(
    r"10\.(?:1101/\d|64898/|21203/rs|20944/preprints|31234/|48550/arxiv|26434/chemrxiv|2139/ssrn)"
)


# What bioRxiv and medRxiv append to a DOI for the page of a version. Research Square's "/v1" belongs to its DOIs.
_WITH_VERSION = re.compile(
    r"(10\.(?:1101|64898)/(?:[0-9]{4}\.[0-9]{2}\.[0-9]{2}\.)?[0-9]{5,9})/?v[0-9]{1,2}"
    r"(?:\.(?:full-text|full|abstract))?(?:\.pdf)?"
)


def normalize_doi(doi: str) -> str:
    """A DOI without resolver URL or "doi:" prefix, in lower case (DOIs are case-insensitive); "" stays "".

    A version that is not part of the DOI is left out: "10.1101/2020.01.01.123456v2".
    """
    bare = unquote(doi.strip()) if "%" in doi else doi.strip()
    bare = re.sub(r"^(https?://(dx\.)?doi\.org/|doi(:|\s))\s*", "", bare, flags=re.IGNORECASE).lower()
    found = BARE_DOI.search(bare)
    if not found:
        return bare
    bare = found[0].rstrip(".,;")
    versioned = _WITH_VERSION.fullmatch(bare)
    return versioned[1] if versioned else bare


def arxiv_doi(text: str) -> str:
    """The DOI of "arXiv:2301.00001v2"; "" for anything else."""
    found = _ARXIV.fullmatch(text.strip())
    return f"10.48550/arxiv.{found[1].lower()}" if found else ""


def is_preprint_doi(doi: str) -> bool:
    """Whether a normalized DOI is a preprint server's (bioRxiv, medRxiv, Research Square, arXiv and so on)."""
    return _PREPRINT_DOI.match(doi) is not None


def normalize_pmid(pmid: str) -> str:
    """The digits of a PMID, also from "PMID: 31978945", "pubmed:31978945" or "031978945"; "" if it is not a PMID."""
    found = re.fullmatch(r"(?:(?:pmid|pubmed)\s*+:?\s*+)?0*+([1-9][0-9]{0,8})", pmid.strip(), flags=re.IGNORECASE)
    return found[1] if found else ""


def normalize_pmcid(pmcid: str) -> str:
    """E.g. "PMC12" also from "PMCID: PMC12", "pmc:12" or "pmc12.1"; "" if it is not a PMCID."""
    found = _BARE_PMCID.fullmatch(pmcid.strip())
    return f"PMC{found[1]}" if found else ""


def normalize_trial(number: str) -> str:
    """A trial's number in capitals, also from "nct:NCT00000009", "NCT 0000 0009" or PubMed's
    "ClinicalTrials.gov NCT00000009"; "" if it is not one."""
    found = _BARE_TRIAL.fullmatch("".join(number.split())) if len(number) <= _MAX_TRIAL_LENGTH else None
    return "".join(filter(None, found.groups())).upper() if found else ""
