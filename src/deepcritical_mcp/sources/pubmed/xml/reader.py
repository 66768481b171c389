"""A whole answer of efetch: every record that can be read, and the name of every one that cannot."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.parsers import expat

from pydantic import ValidationError

from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.pubmed.eutils_answers import refuse_other_data, refuse_xml_errors, unreadable
from deepcritical_mcp.sources.pubmed.xml import bibliography as records
from deepcritical_mcp.sources.pubmed.xml.element import Element, parse
from deepcritical_mcp.sources.pubmed.xml.markup import ForbiddenEntityError, Pieces, RawRecord, cut, repaired

_ROOTS = frozenset(
    {
        "PubmedArticleSet",
        "PubmedBookArticleSet",
        "MedlineCitationSet",
        "BookDocumentSet",
        "PubmedArticle",
        "PubmedBookArticle",
    }
)
_ROOT = re.compile(r"<([A-Za-z]\w*)")
_ONE_RECORD = re.compile(r"<(PubmedArticle|PubmedBookArticle|DeleteCitation)(?:\s[^>]*)?>.*?</\1\s*>", re.DOTALL)
_PMID = re.compile(r"<PMID[^>]*>\s*(\d+)")


@dataclass(frozen=True)
class Unreadable:
    """A record that could not be read; `pmid` is "" where not even that could."""

    pmid: str
    reason: str


@dataclass(frozen=True)
class Records:
    """What an answer of efetch holds.

    Attributes:
        publications: the records, in the answer's order.
        deleted: PMIDs that NCBI names as withdrawn.
        unreadable: the records that cost themselves.
        well_formed: whether the answer was XML throughout; otherwise another attempt may bring what is missing.
    """

    publications: tuple[Publication, ...]
    deleted: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    well_formed: bool = True


def read_records(body: bytes) -> Records:
    """Read an answer of efetch.

    Raises:
        ProviderError: it is no set of PubMed records, it breaks off, it declares entities, or it is an error.
    """
    refuse_other_data(body)
    try:
        pieces, broken = _cut(body)
    except ForbiddenEntityError:
        raise unreadable("it declares entities of its own, which PubMed never does") from None
    if not pieces.records and not broken:
        refuse_xml_errors(body)
    if pieces.root not in _ROOTS:
        raise unreadable(f"it holds <{pieces.root[:40]}> where records were expected")
    publications: list[Publication] = []
    deleted: list[str] = []
    failed = list(broken)
    for raw in pieces.records:
        try:
            record = parse(raw.xml)
            if raw.name in _DELETIONS:
                deleted += record.texts("PMID")
            else:
                publications.append(_READERS[raw.name](record))
        except ValidationError:
            failed.append(_unreadable(raw.xml, "one of its fields makes no sense"))
        except (ValueError, expat.ExpatError) as error:
            failed.append(_unreadable(raw.xml, str(error)))
    return Records(tuple(publications), tuple(deleted), tuple(failed), well_formed=not broken)


def _cut(body: bytes) -> tuple[Pieces, list[Unreadable]]:
    """The records of an answer and those that are no XML, after repairing what can be repaired."""
    try:
        return cut(body), []
    except expat.ExpatError:
        text = repaired(body)
    try:
        return cut(text), []
    except expat.ExpatError:
        return _cut_one_by_one(text)


def _cut_one_by_one(text: str) -> tuple[Pieces, list[Unreadable]]:
    """Like `_cut` where something within is no XML: each record on its own, so that one costs itself alone."""
    root = _ROOT.search(text)
    if not root or root[1] not in _ROOTS:
        refuse_xml_errors(text.encode())
        raise unreadable("it is no XML")
    if not text.endswith(f"</{root[1]}>"):
        raise unreadable("it breaks off before its end")
    whole: list[RawRecord] = []
    broken: list[Unreadable] = []
    for match in _ONE_RECORD.finditer(text):
        try:
            whole += cut(match[0]).records
        except expat.ExpatError:
            broken.append(_unreadable(match[0], "it is no valid XML"))
    if not whole:
        raise unreadable("it is no valid XML")
    return Pieces(root[1], tuple(whole)), broken or [Unreadable("", "what stands between the records is no valid XML")]


def _unreadable(xml: str, reason: str) -> Unreadable:
    pmid = _PMID.search(xml)
    return Unreadable(pmid[1] if pmid else "", reason)


_DELETIONS = ("DeleteCitation", "DeleteDocument")
_READERS: dict[str, Callable[[Element], Publication]] = {
    "PubmedArticle": records.article,
    "MedlineCitation": lambda citation: records.article(citation.within("MedlineCitation")),
    "PubmedBookArticle": records.book,
    "BookDocument": lambda document: records.book(document.within("BookDocument")),
}
