"""Reads a complete response of efetch: the records, and the ids of those that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from xml.etree.ElementTree import Element
from xml.parsers.expat import ExpatError

from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.pubmed.elements import ForbiddenXmlError, parse_xml, repair_xml, texts_at
from deepcritical_mcp.sources.pubmed.eutils_answers import refuse_other_data, refuse_xml_errors, unreadable
from deepcritical_mcp.sources.pubmed.xml.record_bibliography import article, book

_SETS = {"PubmedArticleSet", "PubmedBookArticleSet", "MedlineCitationSet", "BookDocumentSet"}
_DELETIONS = {"DeleteCitation", "DeleteDocument"}
_ROOT = re.compile(r"<([A-Za-z]\w*)")
_RECORD_TAG = re.compile(r"<(/?)(PubmedArticle|PubmedBookArticle|DeleteCitation)(?:\s[^<>]*+)?>")
_PMID = re.compile(r"<PMID[^<>]*+>\s*+(\d+)")
MAX_RECORDS = 1_000
"""More than a request asks for."""


@dataclass(frozen=True)
class Records:
    """The contents of a response of efetch in its order, with the losses as in `Fetched`.

    If it was not `well_formed` XML, a retry may return what is missing.
    """

    publications: tuple[Publication, ...]
    losses: Mapping[str, str] = field(default_factory=dict[str, str])
    unnamed: tuple[str, ...] = ()
    well_formed: bool = True


def read_records(body: bytes) -> Records:
    """Read a response of efetch; ProviderError if it is not a whole set of PubMed records, or declares entities."""
    refuse_other_data(body)
    try:
        records, broken = _split(body)
    except ForbiddenXmlError as error:
        raise unreadable(str(error)) from None
    publications: list[Publication] = []
    failed, deleted = list(broken), list[str]()
    for record in records:
        if record.tag in _DELETIONS:
            deleted += texts_at(record, "PMID")
            continue
        try:
            publications.append(_READERS[record.tag](record))
        except (ValueError, RecursionError) as error:
            reason = str(error) if type(error) is ValueError else "one of its fields is invalid"
            numbers = (pmid for one in record.iter("PMID") if (pmid := (one.text or "").strip()).isdecimal())
            failed.append((next(numbers, ""), reason))
    losses = {pmid: f"PMID {pmid} could not be read: {reason}." for pmid, reason in failed if pmid}
    losses |= {pmid: f"PMID {pmid} was withdrawn from PubMed." for pmid in deleted}
    unnamed = tuple(f"A record could not be read: {reason}." for pmid, reason in failed if not pmid)
    return Records(tuple(publications), losses, unnamed, well_formed=not broken)


def _split(body: bytes) -> tuple[list[Element], list[tuple[str, str]]]:
    """The records in a response; and of those that are not XML, after all repairs, the PMID or "" and the reason."""
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
    return records[:MAX_RECORDS]


def _split_one_by_one(text: str) -> tuple[list[Element], list[tuple[str, str]]]:
    """Like `_split`, one record at a time, so that a broken one does not affect the others."""
    root = _ROOT.search(text)
    if not root or root[1] not in _ROOTS:
        refuse_xml_errors(text.encode())
        raise unreadable("it is not XML")
    if not text.endswith(f"</{root[1]}>"):
        raise unreadable("it is cut off")
    records: list[Element] = []
    broken: list[tuple[str, str]] = []
    for record in islice(_texts_of_records(text), MAX_RECORDS):
        try:
            records.append(parse_xml(record))
        except ExpatError:
            pmid = _PMID.search(record)
            broken.append((pmid[1] if pmid else "", "it is not valid XML"))
    if not records:
        raise unreadable("it is not valid XML")
    return records, broken or [("", "the text between the records is not valid XML")]


def _texts_of_records(text: str) -> Iterator[str]:
    """From each closing tag back to the last opening one of its kind."""
    opened: dict[str, int] = {}
    for tag in _RECORD_TAG.finditer(text):
        if not tag[1]:
            opened[tag[2]] = tag.start()
        elif tag[2] in opened:
            yield text[opened.pop(tag[2]) : tag.end()]


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
