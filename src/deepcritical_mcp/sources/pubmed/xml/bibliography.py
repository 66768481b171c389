"""One record of PubMed, an article or a book, as a publication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    STATUSES,
    AuthorName,
    NoticeKind,
    Publication,
    PublicationStatus,
    StatusNotice,
)
from deepcritical_mcp.sources.pubmed.xml.element import Element
from deepcritical_mcp.sources.pubmed.xml.partial_dates import date_of
from deepcritical_mcp.text import clean_line, clean_text

RETRACTED_TYPE = "Retracted Publication"
# What another record says about this one, by the RefType of CommentsCorrections. A partial retraction retracts parts
# of a paper, so the paper counts as corrected.
_NOTICES: dict[str, tuple[NoticeKind, PublicationStatus]] = {
    "RetractionIn": ("retraction", "retracted"),
    "ExpressionOfConcernIn": ("concern", "concern"),
    "PartialRetractionIn": ("retraction", "corrected"),
    "CorrectedandRepublishedIn": ("erratum", "corrected"),
    "ErratumIn": ("erratum", "corrected"),
}


@dataclass(frozen=True)
class _Description:
    """What articles and books have in common, found where each keeps it."""

    pmid: str
    title: str
    date: str
    authors: tuple[Element, ...]
    ids: tuple[Element, ...]
    locations: tuple[Element, ...]
    publication_types: tuple[str, ...]
    abstract: Element
    citation: Element
    pages: str
    journal: str = ""
    volume: str = ""
    issue: str = ""


def article(record: Element) -> Publication:
    """A publication out of a <PubmedArticle>.

    Raises:
        ValueError: it has no PMID.
    """
    citation = record.first("MedlineCitation")
    entry = citation.first("Article")
    journal = entry.first("Journal")
    issue = journal.first("JournalIssue")
    return _publication(
        _Description(
            pmid=citation.first("PMID").text,
            title=_first_text(entry, "ArticleTitle", "VernacularTitle"),
            date=date_of(issue.first("PubDate"), *entry.all("ArticleDate")),
            authors=tuple(_authors(entry.all("AuthorList"))),
            ids=tuple(record.all("PubmedData", "ArticleIdList", "ArticleId")),
            locations=tuple(entry.all("ELocationID")),
            publication_types=entry.texts("PublicationTypeList", "PublicationType"),
            abstract=entry.first("Abstract"),
            citation=citation,
            pages=_pages(entry.first("Pagination")),
            journal=journal.first("Title").text or citation.first("MedlineJournalInfo", "MedlineTA").text,
            volume=issue.first("Volume").text,
            issue=issue.first("Issue").text,
        )
    )


def book(record: Element) -> Publication:
    """A publication out of a <PubmedBookArticle>: a whole book, or a chapter, which has a title of its own.

    Raises:
        ValueError: it has no PMID.
    """
    document = record.first("BookDocument")
    whole = document.first("Book")
    chapter = _first_text(document, "ArticleTitle", "VernacularTitle")
    return _publication(
        _Description(
            pmid=document.first("PMID").text,
            title=chapter or whole.first("BookTitle").text,
            date=date_of(whole.first("PubDate"), document.first("ContributionDate")),
            authors=tuple(_authors(document.all("AuthorList"))) or tuple(_authors(whole.all("AuthorList"))),
            ids=(
                *document.all("ArticleIdList", "ArticleId"),
                *record.all("PubmedBookData", "ArticleIdList", "ArticleId"),
            ),
            locations=() if chapter else tuple(whole.all("ELocationID")),  # a chapter's DOI is not its book's
            publication_types=document.texts("PublicationType"),
            abstract=document.first("Abstract"),
            citation=document,
            pages=_pages(document.first("Pagination")),
            volume=whole.first("Volume").text,
        )
    )


def _publication(found: _Description) -> Publication:
    if not found.pmid.isdecimal():
        raise ValueError("it has no PMID")
    status, notices = _status(found)
    return Publication.of(
        "abstract",
        clean_text(_abstract(found.abstract)) or NO_ABSTRACT,
        provider="pubmed",
        source="pubmed",
        title=clean_line(found.title) or NO_TITLE,
        url=f"https://pubmed.ncbi.nlm.nih.gov/{found.pmid}/",
        date=found.date,
        authors=tuple(name for name in map(_author, found.authors) if name.family),
        pmid=found.pmid,
        doi=_id(found.ids, "doi") or _location(found.locations),
        pmcid=_id(found.ids, "pmc"),
        journal=found.journal,
        volume=found.volume,
        issue=found.issue,
        pages=found.pages,
        publication_types=found.publication_types,
        mesh_terms=found.citation.texts("MeshHeadingList", "MeshHeading", "DescriptorName"),
        keywords=tuple(dict.fromkeys(_keywords(found.citation))),
        status=status,
        status_notices=notices,
    )


def _keywords(citation: Element) -> Iterator[str]:
    yield from citation.texts("KeywordList", "Keyword")
    yield from citation.texts("ChemicalList", "Chemical", "NameOfSubstance")


def _first_text(element: Element, *names: str) -> str:
    return next((text for text in (element.first(name).text for name in names) if text), "")


def _abstract(abstract: Element) -> str:
    """The sections of an abstract, a line each, with "LABEL: " before a labelled one."""
    sections = ((one.attribute("Label"), one.text) for one in abstract.all("AbstractText"))
    return "\n".join(f"{label}: {text}" if label else text for label, text in sections if text)


def _authors(lists: Iterable[Element]) -> Iterator[Element]:
    """Authors in the record's order; not a book's editors, nor names that were corrected later (ValidYN="N")."""
    for one in lists:
        if one.attribute("Type") != "editors":
            yield from (author for author in one.all("Author") if author.attribute("ValidYN") != "N")


def _author(author: Element) -> AuthorName:
    if collective := author.first("CollectiveName").text:
        return AuthorName(collective)
    given = _first_text(author, "ForeName", "FirstName", "Initials")
    family = author.first("LastName").text
    return AuthorName(family, given, author.first("Suffix").text) if family else AuthorName(given)


def _id(ids: Iterable[Element], kind: str) -> str:
    return next((one.text for one in ids if one.attribute("IdType") == kind and one.text), "")


def _location(locations: Iterable[Element]) -> str:
    """The DOI among electronic locations; one with ValidYN="N" was wrong."""
    valid = (one for one in locations if one.attribute("ValidYN") != "N")
    return next((one.text for one in valid if one.attribute("EIdType") == "doi" and one.text), "")


def _pages(pagination: Element) -> str:
    if pages := pagination.first("MedlinePgn").text:
        return pages
    return "-".join(text for text in (pagination.first(name).text for name in ("StartPage", "EndPage")) if text)


def _status(found: _Description) -> tuple[PublicationStatus, tuple[StatusNotice, ...]]:
    """The gravest of what is said about a record, and each notice that says it."""
    said: list[PublicationStatus] = ["retracted" if RETRACTED_TYPE in found.publication_types else "ok"]
    notices: list[StatusNotice] = []
    for one in found.citation.all("CommentsCorrectionsList", "CommentsCorrections"):
        if one.attribute("RefType") in _NOTICES:
            kind, status = _NOTICES[one.attribute("RefType")]
            said.append(status)
            notices.append(StatusNotice(kind=kind, pmid=one.first("PMID").text, reference=one.first("RefSource").text))
    notices.sort(key=lambda notice: ("retraction", "concern", "erratum").index(notice.kind))
    return max(said, key=lambda status: STATUSES[status].gravity), tuple(notices)
