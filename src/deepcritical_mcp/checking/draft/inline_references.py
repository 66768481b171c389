"""References that stand in the text itself: PMIDs, DOIs, numbers of trials, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from deepcritical_mcp.identifiers import (
    arxiv_doi,
    normalize_doi,
    normalize_pmcid,
    normalize_pmid,
    normalize_trial,
    record_ids,
)

_STATED = re.compile(
    r"""(?P<link>https?://[^\s"'<>\]}|]{1,1000})
    | \b(?:PMIDs?|PubMed(?:\ IDs?)?)\b[\s:#]{0,4}(?P<pmids>[1-9][0-9]{2,8}(?![0-9])
        (?:(?:\s\([^()\n]{1,60}\))?(?:\s{0,2}[,;/]\s{0,2}(?:(?:and|or|und|&)\s{1,2})?|\s(?:and|or|und|&)\s)
        (?:PMID:?\s?)?[1-9][0-9]{4,8}(?![0-9])){0,40})
    | \b(?P<pmcid>PMC[1-9][0-9]{2,9})\b
    | \b(?P<trial>NCT[0-9]{8}|ISRCTN[0-9]{5,10})\b
    | (?<![\w/.])(?:doi(?:\.org/|\b)[\s:]{0,3})?(?P<doi>10\.[0-9]{4,9}(?:\.[0-9]{1,6}){0,3}/[^\s"<>\]}|]{1,300})
    | \b(?P<arxiv>arXiv\ ?:\ ?(?:[a-z.-]{2,20}/[0-9]{7}|[0-9]{4}\.[0-9]{4,5})(?:v[0-9]{1,3})?)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(r"\([^()]{1,60}\)|([1-9][0-9]{2,8})")
"""A number, which is none within brackets: "30000001 (Berg 2019) and 30000002"."""


class StatedId(NamedTuple):
    """An identifier or an address in a text: its normalized form ("pmid:1", "doi:10.1/x", an address), as it is
    written, and where it stands."""

    key: str
    written: str
    start: int
    end: int

    @property
    def is_record(self) -> bool:
        """Whether it leads to a paper, a preprint or a trial, and not just to some site."""
        return not self.key.startswith("http")


def stated_ids(text: str) -> Iterator[StatedId]:
    """The identifiers and addresses in a text, in order."""
    for found in _STATED.finditer(text):
        kind = str(found.lastgroup)
        if kind == "pmids":
            yield from _pmids(found)
            continue
        value = _balanced(found[kind])
        if key := _key(kind, value):
            yield StatedId(key, value, found.start(), found.start(kind) + len(value))


def are_forms(key: str, other: str) -> bool:
    """Whether two identifiers are one, or forms of one DOI: "doi:10.1000/1", "doi:10.1000/1/full"."""
    return key == other or (key.startswith("doi:") and (key.startswith(other) or other.startswith(key)))


def _pmids(found: re.Match[str]) -> Iterator[StatedId]:
    numbers = (one for one in _NUMBER.finditer(found["pmids"]) if one[1])
    for number, one in enumerate(numbers):
        at = found.start("pmids") + one.start()
        yield StatedId(f"pmid:{one[1]}", f"PMID {one[1]}", at if number else found.start(), at + len(one[1]))


def _balanced(address: str) -> str:
    while address and (
        address[-1] in ".,;:'’”*_!?" or (address[-1] == ")" and address.count(")") > address.count("("))
    ):
        address = address[:-1]
    return address


def _key(kind: str, value: str) -> str:
    if kind == "link":
        ids = record_ids(value)
        found = next(((name, one) for name, one in zip(ids._fields, ids, strict=True) if one), None)
        return f"{found[0]}:{found[1].lower()}" if found else value.rstrip("/").lower() if "." in value else ""
    if kind == "doi":
        return f"doi:{normalize_doi(value)}"
    if kind == "arxiv":
        return f"doi:{arxiv_doi(value)}"
    if kind == "trial":
        return f"nct:{normalize_trial(value).lower()}"
    return f"pmcid:{normalize_pmcid(value).lower()}" if kind == "pmcid" else f"pmid:{normalize_pmid(value)}"
