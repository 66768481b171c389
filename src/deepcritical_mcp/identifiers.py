"""Identifiers of publications: normalized, and extracted from the URLs of pages."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.urls import clean_url, host_of


class RecordIds(NamedTuple):
    """Identifiers of a publication; "" for each that is not known. `preprint_number` is Europe PMC's, "PPR1036674"."""

    pmid: str = ""
    pmcid: str = ""
    doi: str = ""
    nct: str = ""
    preprint_number: str = ""

    def completed(self, others: RecordIds) -> RecordIds:
        """These, and of those that are not known here, the `others`."""
        return RecordIds(*(own or other for own, other in zip(self, others, strict=True)))


_ROWS = (line.split(" | ", 3) for line in data_lines(__file__, "record_pages.txt"))
_PAGES = [(host, kind, prefix, re.compile(rf"(?:{form})(?:\?.*)?", re.I)) for host, kind, prefix, form in _ROWS]
_PREPRINT = re.compile(r"/(?:article|abstract)/PPR/?(?:PPR)?([0-9]{1,9})/?", re.IGNORECASE)
_BARE_PREPRINT = re.compile(r"PPR ?:? ?([0-9]{1,9})", re.IGNORECASE)
_NAMED_PREPRINT = re.compile(r"\bPPR[0-9]{1,9}\b")
SESSION_ID = re.compile("rs_[0-9a-f]{32}")
_PREFIX = r"10\.[0-9]{4,9}(?:\.[0-9]{1,9}+){0,4}/"
_BARE_TRIAL = re.compile(
    r"(?:nct:|clinicaltrials\.gov[/:]?|ISRCTN/)?(?:(NCT):?([0-9]{8})|(ISRCTN):?([0-9]{5,10}))", re.IGNORECASE
)
_MAX_TRIAL_LENGTH = 60
_ARXIV = re.compile(r"arxiv ?: ?((?:[a-z.-]{2,20}/)?[0-9]{4}\.?[0-9]{3,5})(?:v[0-9]{1,3})?", re.IGNORECASE)
_BARE_PMCID = re.compile(r"(?:pmcid ?:? ?)?pmc ?:? ?0{0,9}([1-9][0-9]{0,9})(?:\.[0-9]{1,2})?", re.IGNORECASE)


def registration_number(pmid: str, nct: str) -> str:
    """The trial number of a document if it identifies the document; "" for one with a PMID: a paper names the trial
    that it reports, but is not the trial's registration."""
    return "" if pmid else nct


def record_ids(url: str) -> RecordIds:
    """The identifiers of the publication that `url` is the page of; all "" if it is not one, or if in doubt.

    Pages about a publication (its citing articles, its figures, a search for it) do not count.
    """
    if not (host := host_of(url)):
        return RecordIds()
    parts = urlsplit(clean_url(url))
    address = unquote(f"{parts.path.rstrip('/')}{f'?{parts.query}' if parts.query else ''}")
    for site, kind, prefix, pattern in _PAGES:
        if (site == "*" or f".{host}".endswith(f".{site}")) and (found := pattern.fullmatch(address)):
            number = f"{prefix}{found[1]}"
            return RecordIds(**{kind: normalize_doi(number) if kind == "doi" else number.upper()})
    return RecordIds()


def preprint_number(text: str) -> str:
    """Europe PMC's number of a preprint, "PPR1036674", from the address of its page or as people write it; else ""."""
    is_page = host_of(text) == "europepmc.org"
    found = _PREPRINT.fullmatch(urlsplit(clean_url(text)).path) if is_page else _BARE_PREPRINT.fullmatch(text.strip())
    return f"PPR{found[1]}" if found else ""


def named_preprints(text: str) -> list[str]:
    """The numbers of preprints that a reference names: "Preprint PPR1036674 in Europe PMC"."""
    return _NAMED_PREPRINT.findall(text)


BARE_DOI = re.compile(rf"{_PREFIX}\S+")
_PREPRINTS = re.compile(r"10\.(?:1101/\d|64898/|21203/rs|20944/preprints|31234/|48550/arxiv|26434/chemrxiv|2139/ssrn)")


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
    return _PREPRINTS.match(doi) is not None


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
