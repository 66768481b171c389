"""Reads a complete response of efetch: the records, and the ids of those that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree.ElementTree import Element
from xml.parsers.expat import ExpatError

from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.pubmed.elements import ForbiddenEntityError, parse_xml, repair_xml, texts_at
from deepcritical_mcp.sources.pubmed.eutils_answers import refuse_other_data, refuse_xml_errors, unreadable
from deepcritical_mcp.sources.pubmed.xml.bibliography import article, book

_SETS = {"PubmedArticleSet", "PubmedBookArticleSet", "MedlineCitationSet", "BookDocumentSet"}
_DELETIONS = {"DeleteCitation", "DeleteDocument"}
_ROOT = re.compile(r"<([A-Za-z]\w*)")
_ONE_RECORD = re.compile(r"<(PubmedArticle|PubmedBookArticle|DeleteCitation)(?:\s[^>]*)?>.*?</\1\s*>", re.DOTALL)
_PMID = re.compile(r"<PMID[^>]*>\s*(\d+)")


@dataclass(frozen=True)
class Unreadable:
    """A record that could not be read; `pmid` is "" if unknown."""

    pmid: str
    reason: str


@dataclass(frozen=True)
class Records:
    """The contents of a response of efetch.

    Attributes:
        publications: the records, in the answer's order.
        deleted: PMIDs that NCBI has withdrawn.
        unreadable: the records that could not be read.
        well_formed: whether the whole response was XML; if not, a retry may return what is missing.
    """

    publications: tuple[Publication, ...]
    deleted: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    well_formed: bool = True


def read_records(body: bytes) -> Records:
    """Read a response of efetch.

    Raises:
        ProviderError: it is not a set of PubMed records, is cut off, declares entities, or is an error.
    """
    refuse_other_data(body)
    try:
        records, broken = _split(body)
    except ForbiddenEntityError:
        raise unreadable("it declares entities of its own, which PubMed never does") from None
    publications: list[Publication] = []
    deleted: list[str] = []
    failed = list(broken)
    for record in records:
        if record.tag in _DELETIONS:
            deleted += texts_at(record, "PMID")
            continue
        try:
            publications.append(_READERS[record.tag](record))
        except (ValueError, RecursionError) as error:
            reason = str(error) if type(error) is ValueError else "one of its fields is invalid"
            numbers = (pmid for one in record.iter("PMID") if (pmid := (one.text or "").strip()).isdecimal())
            failed.append(Unreadable(next(numbers, ""), reason))
    return Records(tuple(publications), tuple(deleted), tuple(failed), well_formed=not broken)


def _split(body: bytes) -> tuple[list[Element], list[Unreadable]]:
    """The records in a response and those that are not XML, after repairing what can be repaired."""
    try:
        return _records_in(parse_xml(body), body), []
    except ExpatError:
        text = repair_xml(body)
    try:
        return _records_in(parse_xml(text), body), []
    except ExpatError:
        return _split_one_by_one(text)


def _records_in(root: Element, body: bytes) -> list[Element]:
    records = [root] if root.tag in _READERS else [one for one in root if one.tag in _READERS.keys() | _DELETIONS]
    if not records:
        refuse_xml_errors(body)
    if root.tag not in _ROOTS:
        raise unreadable(f"it contains <{root.tag[:40]}> where records were expected")
    return records


def _split_one_by_one(text: str) -> tuple[list[Element], list[Unreadable]]:
    """Like `_split`, one record at a time, so that a broken one does not affect the others."""
    root = _ROOT.search(text)
    if not root or root[1] not in _ROOTS:
        refuse_xml_errors(text.encode())
        raise unreadable("it is not XML")
    if not text.endswith(f"</{root[1]}>"):
        raise unreadable("it is cut off")
    records: list[Element] = []
    broken: list[Unreadable] = []
    for match in _ONE_RECORD.finditer(text):
        try:
            records.append(parse_xml(match[0]))
        except ExpatError:
            pmid = _PMID.search(match[0])
            broken.append(Unreadable(pmid[1] if pmid else "", "it is not valid XML"))
    if not records:
        raise unreadable("it is not valid XML")
    return records, broken or [Unreadable("", "the text between the records is not valid XML")]


def _within(name: str, inner: Element) -> Element:
    outer = Element(name)
    outer.append(inner)
    return outer


_READERS: dict[str, Callable[[Element], Publication]] = {
    "PubmedArticle": article,
    "PubmedBookArticle": book,
    "MedlineCitation": lambda citation: article(_within("PubmedArticle", citation)),
    "BookDocument": lambda document: book(_within("PubmedBookArticle", document)),
}
_ROOTS = _SETS | {"PubmedArticle", "PubmedBookArticle"}
