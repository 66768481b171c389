"""One record of PubMed, an article or a book, as a publication."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, UNKNOWN_DATE, AuthorName, Publication, language_names
from deepcritical_mcp.models.vancouver import AHEAD_OF_PRINT
from deepcritical_mcp.sources.pubmed.xml.element import Element
from deepcritical_mcp.sources.pubmed.xml.partial_dates import date_of
from deepcritical_mcp.sources.pubmed.xml.record_status import status_of
from deepcritical_mcp.text import clean_line, clean_text

# Elsevier's number of an article or a chapter, which is not a page: "S0021-9150(18)30209-0", "B978-0-12-3".
_ITEM_NUMBER = re.compile(r"[SB][0-9]{4}-?[0-9]{3}[0-9X]\(?[0-9]{2}\)?[0-9]{5}-?[0-9X]|B97[89]-?[0-9X.-]+")


def article(record: Element) -> Publication:
    """A publication out of a <PubmedArticle>.

    `date` is that of the issue, also when the article was online earlier; ahead of print it is the electronic one.

    Raises:
        ValueError: it has no PMID.
    """
    citation = record.first("MedlineCitation")
    entry = citation.first("Article")
    journal = entry.first("Journal")
    issue = journal.first("JournalIssue")
    medline = citation.first("MedlineJournalInfo")
    abbreviation = journal.first("ISOAbbreviation").text or medline.first("MedlineTA").text
    stage = record.first("PubmedData", "PublicationStatus").text
    electronic = date_of(*entry.all("ArticleDate"))
    printed = date_of(issue.first("PubDate"))
    ahead = stage == AHEAD_OF_PRINT and electronic != UNKNOWN_DATE
    types = entry.texts("PublicationTypeList", "PublicationType")
    ids = tuple(record.all("PubmedData", "ArticleIdList", "ArticleId"))
    return _publication(
        citation,
        entry,
        types=types,
        journal_of_status=abbreviation,
        title=_first_text(entry, "ArticleTitle", "VernacularTitle"),
        date=electronic if ahead or printed == UNKNOWN_DATE else printed,
        authors=_names(_authors(entry.all("AuthorList"))),
        doi=_id(ids, "doi") or _location(entry.all("ELocationID"), "doi"),
        pmcid=_id(ids, "pmc") or _older_pmcid(citation),
        pages=_pages(entry.first("Pagination")) or ("" if ahead else _article_number(entry)),
        journal=journal.first("Title").text or abbreviation,
        journal_abbreviation=abbreviation,
        volume=issue.first("Volume").text,
        issue=issue.first("Issue").text,
        vernacular_title=entry.first("VernacularTitle").text if entry.first("ArticleTitle").text else "",
        issn=journal.first("ISSN").text or medline.first("ISSNLinking").text,
        electronic_date=electronic,
        publication_stage=stage,
        **_registrations(entry),
    )


def book(record: Element) -> Publication:
    """A publication out of a <PubmedBookArticle>: a whole book, or a chapter, which has a title of its own.

    A chapter's `date` is that of its contribution; its book's years are in `book_years`.

    Raises:
        ValueError: it has no PMID.
    """
    document = record.first("BookDocument")
    whole = document.first("Book")
    chapter = _first_text(document, "ArticleTitle", "VernacularTitle")
    title = whole.first("BookTitle").text
    ids = (*document.all("ArticleIdList", "ArticleId"), *record.all("PubmedBookData", "ArticleIdList", "ArticleId"))
    dates = (document.first("ContributionDate"), whole.first("PubDate"))
    authors = tuple(_authors(document.all("AuthorList"))) or tuple(_authors(whole.all("AuthorList")))
    return _publication(
        document,
        document,
        types=document.texts("PublicationType"),
        journal_of_status="",
        title=chapter or title,
        date=date_of(*(dates if chapter else reversed(dates))),
        authors=_names(authors),
        # A chapter's DOI is not its book's.
        doi=_id(ids, "doi") or ("" if chapter else _location(whole.all("ELocationID"), "doi")),
        pmcid=_id(ids, "pmc"),
        pages=_pages(document.first("Pagination")),
        volume=whole.first("Volume").text,
        vernacular_title=document.first("VernacularTitle").text if document.first("ArticleTitle").text else "",
        publication_stage=record.first("PubmedBookData", "PublicationStatus").text,
        publisher=whole.first("Publisher", "PublisherName").text,
        publisher_place=whole.first("Publisher", "PublisherLocation").text,
        book_title=title,
        editors=_names(_authors((*whole.all("AuthorList"), *document.all("AuthorList")), "editors")),
        book_years=_years(whole, is_chapter=bool(chapter)),
        isbn=whole.first("Isbn").text,
        bookshelf_id=_id(ids, "bookaccession"),
        revised_date=date_of(document.first("DateRevised")),
    )


def _publication(
    citation: Element, entry: Element, *, types: tuple[str, ...], journal_of_status: str, title: str, **fields: object
) -> Publication:
    """What articles and books have in common; `entry` is the part of `citation` that describes the text itself."""
    pmid = citation.first("PMID").text
    if not pmid.isdecimal():
        raise ValueError("it has no PMID")
    status, notices = status_of(citation, types, journal_of_status)
    return Publication.of(
        "abstract",
        clean_text(_abstract(entry, citation)) or NO_ABSTRACT,
        provider="pubmed",
        source="pubmed",
        title=clean_line(title) or NO_TITLE,
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        pmid=pmid,
        language=", ".join(entry.texts("Language")),
        publication_types=types,
        mesh_terms=citation.texts("MeshHeadingList", "MeshHeading", "DescriptorName"),
        keywords=tuple(dict.fromkeys(_keywords(citation))),
        status=status,
        status_notices=notices,
        grants=tuple(dict.fromkeys(_grants(entry))),
        conflict_of_interest=citation.first("CoiStatement").text,
        **fields,
    )


def _registrations(entry: Element) -> dict[str, object]:
    """Accession numbers with their bank; `nct` where the record names exactly one trial of ClinicalTrials.gov."""
    banks = [
        (bank.first("DataBankName").text, number)
        for bank in entry.all("DataBankList", "DataBank")
        for number in bank.texts("AccessionNumberList", "AccessionNumber")
    ]
    trials = list(dict.fromkeys(number.upper() for _, number in banks if number.upper().startswith("NCT")))
    named = (
        number if bank and number.upper().startswith(bank.upper()) else f"{bank} {number}" for bank, number in banks
    )
    return {"registrations": tuple(dict.fromkeys(named)), "nct": trials[0] if len(trials) == 1 else ""}


def _grants(entry: Element) -> Iterator[str]:
    for grant in entry.all("GrantList", "Grant"):
        parts = (grant.first(name).text for name in ("GrantID", "Agency", "Country"))
        yield ", ".join(filter(None, parts))


def _keywords(citation: Element) -> Iterator[str]:
    yield from citation.texts("KeywordList", "Keyword")
    yield from citation.texts("ChemicalList", "Chemical", "NameOfSubstance")


def _first_text(element: Element, *names: str) -> str:
    return next((text for text in (element.first(name).text for name in names) if text), "")


def _abstract(entry: Element, citation: Element) -> str:
    """The abstract; where a record has none, its other abstract, in English if possible, with its language named."""
    if text := _sections(entry.first("Abstract")):
        return text
    others = sorted(citation.all("OtherAbstract"), key=lambda one: one.attribute("Language").lower() not in ("", "eng"))
    for one in others:
        if text := _sections(one):
            (language,) = language_names(one.attribute("Language")) or [""]
            return text if language in ("", "English") else f"[Abstract in {language}]\n{text}"
    return ""


def _sections(abstract: Element) -> str:
    """The sections of an abstract, a line each, with "LABEL: " before a labelled one."""
    sections = ((one.attribute("Label"), one.text) for one in abstract.all("AbstractText"))
    return "\n".join(f"{label}: {text}" if label else text for label, text in sections if text)


def _authors(lists: Iterable[Element], role: str = "authors") -> Iterator[Element]:
    """Authors or editors in the record's order, without names that were corrected later (ValidYN="N")."""
    for one in lists:
        if (one.attribute("Type") == "editors") == (role == "editors"):
            yield from (author for author in one.all("Author") if author.attribute("ValidYN") != "N")


def _names(authors: Iterable[Element]) -> tuple[AuthorName, ...]:
    return tuple(name for name in map(_author, authors) if name.family)


def _author(author: Element) -> AuthorName:
    if collective := author.first("CollectiveName").text:
        return AuthorName(collective)
    given = _first_text(author, "ForeName", "FirstName", "Initials")
    family = author.first("LastName").text
    return AuthorName(family, given, author.first("Suffix").text) if family else AuthorName(given)


def _id(ids: Iterable[Element], kind: str) -> str:
    return next((one.text for one in ids if one.attribute("IdType") == kind and one.text), "")


def _older_pmcid(citation: Element) -> str:
    """The PMCID where older records have it: "PMC3680733 [Available on 06/12/14]"."""
    numbers = (one.text.split()[0] for one in citation.all("OtherID") if one.attribute("Source") == "NLM" and one.text)
    return next((number for number in numbers if number.startswith("PMC")), "")


def _location(locations: Iterable[Element], kind: str) -> str:
    """The DOI or publisher's number among electronic locations; one with ValidYN="N" was wrong."""
    valid = (one for one in locations if one.attribute("ValidYN") != "N")
    return next((one.text for one in valid if one.attribute("EIdType") == kind and one.text), "")


def _pages(pagination: Element) -> str:
    if pages := pagination.first("MedlinePgn").text:
        return pages
    return "-".join(text for text in (pagination.first(name).text for name in ("StartPage", "EndPage")) if text)


def _article_number(entry: Element) -> str:
    """The publisher's number of an article without pages, by which it is cited ("e47969"); never a DOI."""
    number = _location(entry.all("ELocationID"), "pii")
    return "" if number.startswith("10.") or _ITEM_NUMBER.fullmatch(number) else number


def _years(whole: Element, *, is_chapter: bool) -> str:
    """The years of a book that is published bit by bit ("1993-2025"); the year of another one for its chapters."""
    first, last = (date_of(whole.first(name))[:4] for name in ("BeginningDate", "EndingDate"))
    if first != UNKNOWN_DATE[:4]:
        return f"{first}-{last if last != UNKNOWN_DATE[:4] else ''}"
    year = date_of(whole.first("PubDate"))
    return year[:4] if is_chapter and year != UNKNOWN_DATE else ""
