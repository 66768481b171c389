"""The answers of efetch: each record, an article or a book, as a publication, and which could not be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from xml.etree.ElementTree import Element

from deepcritical_mcp.dates import date_of_parts
from deepcritical_mcp.models import (
    AHEAD_OF_PRINT,
    NO_ABSTRACT,
    NO_TITLE,
    UNKNOWN_DATE,
    AuthorName,
    Publication,
    PublicationStatus,
    RecordLink,
    StatusNotice,
    language_names,
    status_from_links,
)
from deepcritical_mcp.reading.jats_text import SUBSCRIPTS, SUPERSCRIPTS, in_script
from deepcritical_mcp.reading.xml_tree import XmlError, first, new_element, read_xml
from deepcritical_mcp.sources.base import author_of
from deepcritical_mcp.sources.pubmed.eutils_answers import refuse_other_data, refuse_xml_errors, unreadable
from deepcritical_mcp.text import MONTHS, clean_line, clean_text, limited

_SCRIPTS = {"sup": SUPERSCRIPTS, "sub": SUBSCRIPTS}
# The two bytes of a Latin letter in UTF-8, each read as a character of Latin-1. After "Ã" the second one may be a sign
# ("Ã©" for "é"); after "Ä" and "Å" only a control character counts, because "Å³" and the like are units.
_ENCODED_TWICE = re.compile("(?:Ã[\x80-\xbf]|[ÄÅ][\x80-\x9f])+")
MAX_TEXT = 100_000
"""Characters of one element: many times the longest abstract."""


def text_at(element: Element, *paths: str) -> str:
    """The first text at one of `paths`, tried in this order, that is not empty; "" if there is none."""
    return next((text for path in paths for text in texts_at(element, path)), "")


def texts_at(element: Element, path: str) -> tuple[str, ...]:
    """The texts of the elements at `path` that are not empty, each on one line."""
    texts = (limited(_plain(found), MAX_TEXT) for found in element.iterfind(path))
    return tuple(filter(None, (" ".join(repair_letters(text).split()) for text in texts)))


def repair_letters(text: str) -> str:
    """`text` with Latin letters decoded that older records have encoded twice: "FÅ\\x93tus" becomes "Fœtus".

    Only what is certain is touched, within a word: correct text has no capital "Ã" and a sign next to a lower-case
    letter, and no control character next to any letter.
    """
    return _ENCODED_TWICE.sub(_decoded, text)


def _decoded(match: re.Match[str]) -> str:
    start, end = match.span()
    around = match.string[max(start - 1, 0) : start], match.string[end : end + 1]
    has_control = any(letter < "\xa0" for letter in match[0])
    if not any(one.islower() or (has_control and one.isalpha()) for one in around):
        return match[0]
    letters = match[0].encode("latin-1").decode("utf-8", "replace")
    return letters if letters.isalpha() else match[0]


def _plain(element: Element) -> str:
    text = (element.text or "") + "".join(_plain(child) + (child.tail or "") for child in element)
    core, table = text.strip(), _SCRIPTS.get(element.tag)
    return text.replace(core, in_script(core, table) or core) if table and core else text


def status_of(
    citation: Element, publication_types: Sequence[str], journal: str
) -> tuple[PublicationStatus, tuple[StatusNotice, ...]]:
    """A record's most severe status, and its notices in the order of `NOTICE_LABELS`.

    `citation` has the record's CommentsCorrectionsList, `journal` is the abbreviation of its journal.
    """
    links = (
        RecordLink(link.get("RefType", ""), text_at(link, "RefSource"), text_at(link, "PMID"))
        for link in citation.iterfind("CommentsCorrectionsList/CommentsCorrections")
    )
    return status_from_links(links, publication_types, journal)


# Elsevier's number of an article or a chapter, which is not a page: "S0021-9150(18)30209-0", "B978-0-12-3".
_ITEM_NUMBER = re.compile(r"[SB][0-9]{4}-?[0-9]{3}[0-9X]\(?[0-9]{2}\)?[0-9]{5}-?[0-9X]|B97[89]-?[0-9X.-]+")
_NO_TITLE = re.compile(r"(?:\[not available\]\.?)?", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(1[4-9]|20|21)\d\d(?!\d)")
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})[a-z]*\b", re.IGNORECASE)


def article(record: Element) -> Publication:
    """A publication from a <PubmedArticle>; ValueError if it has no PMID.

    `date` is that of the issue, also when the article was online earlier; ahead of print it is the electronic one.
    """
    citation = first(record, "MedlineCitation")
    entry = first(citation, "Article")
    journal = first(entry, "Journal")
    medline = text_at(citation, "MedlineJournalInfo/MedlineTA")
    abbreviation = text_at(journal, "ISOAbbreviation") or medline
    stage = text_at(record, "PubmedData/PublicationStatus")
    electronic, printed = _date(entry, "ArticleDate"), _date(journal, "JournalIssue/PubDate")
    ahead = stage == AHEAD_OF_PRINT and bool(electronic)
    doi = text_at(record, "PubmedData/ArticleIdList/ArticleId[@IdType='doi']") or _location(entry, "doi")
    number = _article_number(entry)
    title, vernacular = text_at(entry, "ArticleTitle"), text_at(entry, "VernacularTitle")
    return _publication(
        citation,
        entry,
        types=texts_at(entry, "PublicationTypeList/PublicationType"),
        title=vernacular if vernacular and _NO_TITLE.fullmatch(title) else title,
        date=electronic if ahead else printed or electronic,
        authors=_names(entry),
        doi=doi,
        pmcid=text_at(record, "PubmedData/ArticleIdList/ArticleId[@IdType='pmc']") or _older_pmcid(citation),
        # Before print, a number is sure to be part of the citation only if the DOI ends with it.
        pages=_pages(entry) or (number if not ahead or doi.lower().endswith(number.lower()) else ""),
        journal=text_at(journal, "Title") or abbreviation,
        journal_abbreviation=abbreviation,
        medline_abbreviation="" if medline == abbreviation else medline,
        issue_date=_words_of_date(journal) if printed and not ahead else "",
        volume=text_at(journal, "JournalIssue/Volume"),
        issue=text_at(journal, "JournalIssue/Issue"),
        issn=text_at(journal, "ISSN") or text_at(citation, "MedlineJournalInfo/ISSNLinking"),
        electronic_date=electronic or UNKNOWN_DATE,
        publication_stage=stage,
        **_registrations(entry),
    )


def book(record: Element) -> Publication:
    """A publication from a <PubmedBookArticle>: a whole book, or a chapter with its own title; ValueError if it has no
    PMID. A chapter's `date` is that of its contribution; its book's years are in `book_years`.
    """
    document = first(record, "BookDocument")
    whole = first(document, "Book")
    chapter = text_at(document, "ArticleTitle", "VernacularTitle")
    title = text_at(whole, "BookTitle")
    contributed, published = _date(document, "ContributionDate"), _date(whole, "PubDate")
    # A chapter's DOI is not its book's.
    doi = "" if chapter else _location(whole, "doi")

    def id_of(kind: str) -> str:
        path = f"ArticleIdList/ArticleId[@IdType='{kind}']"
        return text_at(record, f"BookDocument/{path}", f"PubmedBookData/{path}")

    return _publication(
        document,
        document,
        types=texts_at(document, "PublicationType"),
        title=chapter or title,
        date=contributed or published if chapter else published or contributed,
        authors=_names(document) or _names(whole),
        doi=id_of("doi") or doi,
        pmcid=id_of("pmc"),
        pages=_pages(document),
        volume=text_at(whole, "Volume"),
        publication_stage=text_at(record, "PubmedBookData/PublicationStatus"),
        publisher=text_at(whole, "Publisher/PublisherName"),
        publisher_place=text_at(whole, "Publisher/PublisherLocation"),
        book_title=title,
        editors=_names(whole, document, editors=True),
        book_years=_years(whole, is_chapter=bool(chapter)),
        isbn=text_at(whole, "Isbn"),
        bookshelf_id=id_of("bookaccession"),
        revised_date=_date(document, "DateRevised") or UNKNOWN_DATE,
    )


def _publication(
    citation: Element,
    entry: Element,
    *,
    types: tuple[str, ...],
    title: str,
    date: str,
    journal_abbreviation: str = "",
    **fields: object,
) -> Publication:
    """What articles and books have in common; `entry` is the part of `citation` that describes the text itself."""
    pmid = text_at(citation, "PMID")
    if not pmid.isdecimal():
        raise ValueError("it has no PMID")
    status, notices = status_of(citation, types, journal_abbreviation)
    return Publication.of(
        "abstract",
        clean_text(_abstract(entry, citation)) or NO_ABSTRACT,
        provider="pubmed",
        source="pubmed",
        title=clean_line(title) or NO_TITLE,
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        pmid=pmid,
        date=date or UNKNOWN_DATE,
        journal_abbreviation=journal_abbreviation,
        vernacular_title="" if (vernacular := text_at(entry, "VernacularTitle")) == title else vernacular,
        language=", ".join(texts_at(entry, "Language")),
        publication_types=types,
        mesh_terms=texts_at(citation, "MeshHeadingList/MeshHeading/DescriptorName"),
        keywords=tuple(dict.fromkeys(texts_at(citation, "KeywordList/Keyword"))),
        substances=tuple(dict.fromkeys(texts_at(citation, "ChemicalList/Chemical/NameOfSubstance"))),
        status=status,
        status_notices=notices,
        grants=tuple(dict.fromkeys(map(_grant, entry.iterfind("GrantList/Grant")))),
        conflict_of_interest=text_at(citation, "CoiStatement"),
        **fields,
    )


def _registrations(entry: Element) -> dict[str, object]:
    """Accession numbers with their bank; `nct` where the record names exactly one trial of ClinicalTrials.gov."""
    banks = [
        (text_at(bank, "DataBankName"), number)
        for bank in entry.iterfind("DataBankList/DataBank")
        for number in texts_at(bank, "AccessionNumberList/AccessionNumber")
    ]
    trials = {number.upper() for _, number in banks if number.upper().startswith("NCT")}
    named = (
        number if bank and number.upper().startswith(bank.upper()) else f"{bank} {number}" for bank, number in banks
    )
    return {"registrations": tuple(dict.fromkeys(named)), "nct": trials.pop() if len(trials) == 1 else ""}


def _grant(grant: Element) -> str:
    return ", ".join(filter(None, (text_at(grant, name) for name in ("GrantID", "Agency", "Country"))))


def _abstract(entry: Element, citation: Element) -> str:
    """The abstract; where a record has none, its other abstract, in English if possible, with its language named."""
    if text := _sections(first(entry, "Abstract")):
        return text
    others = citation.findall("OtherAbstract")
    for other in sorted(others, key=lambda one: one.get("Language", "").lower() not in ("", "eng")):
        if text := _sections(other):
            (language,) = language_names(other.get("Language", "")) or [""]
            return text if language in ("", "English") else f"[Abstract in {language}]\n{text}"
    return ""


def _sections(abstract: Element) -> str:
    """The sections of an abstract, one per line, with "LABEL: " before a labeled one."""
    found = abstract.iterfind("AbstractText")
    sections = ((section.get("Label", "").strip(), text_at(section, ".")) for section in found)
    return "\n".join(f"{label}: {text}" if label else text for label, text in sections if text)


def _names(*parents: Element, editors: bool = False) -> tuple[AuthorName, ...]:
    """Authors or editors in the record's order, without names that were corrected later (ValidYN="N")."""
    lists = (one for parent in parents for one in parent.iterfind("AuthorList"))
    people = (
        author
        for one in lists
        if (one.get("Type") == "editors") == editors
        for author in one.iterfind("Author")
        if author.get("ValidYN") != "N"
    )
    return tuple(filter(None, map(_name, people)))


def _name(author: Element) -> AuthorName | None:
    whole = text_at(author, "CollectiveName")
    given, initials = text_at(author, "ForeName", "FirstName", "Initials"), text_at(author, "Initials")
    family = "" if whole else text_at(author, "LastName")
    return author_of(family, given, text_at(author, "Suffix"), initials=initials, whole=whole)


def _older_pmcid(citation: Element) -> str:
    """The PMCID where older records have it: "PMC3680733 [Available on 06/12/14]"."""
    numbers = (text.split()[0] for text in texts_at(citation, "OtherID[@Source='NLM']"))
    return next((number for number in numbers if number.startswith("PMC")), "")


def _location(element: Element, kind: str) -> str:
    """The DOI or publisher's number among electronic locations; one with ValidYN="N" was wrong."""
    locations = element.iterfind(f"ELocationID[@EIdType='{kind}']")
    return next((text_at(one, ".") for one in locations if one.get("ValidYN") != "N" and text_at(one, ".")), "")


def _pages(element: Element) -> str:
    ends = (text_at(element, f"Pagination/{name}") for name in ("StartPage", "EndPage"))
    return text_at(element, "Pagination/MedlinePgn") or "-".join(filter(None, ends))


def _article_number(entry: Element) -> str:
    """The publisher's number of an article without pages, by which it is cited ("e47969"); never a DOI."""
    number = _location(entry, "pii")
    return "" if number.startswith("10.") or _ITEM_NUMBER.fullmatch(number) else number


def _years(whole: Element, *, is_chapter: bool) -> str:
    """The years of a book published over time ("1993-2025"), or the year of any other book for its chapters."""
    begun, ended, published = (_date(whole, name)[:4] for name in ("BeginningDate", "EndingDate", "PubDate"))
    return f"{begun}-{ended}" if begun else published if is_chapter else ""


def _date(element: Element, path: str) -> str:
    """The date in the first element at `path` that has a year, "YYYY[-MM[-DD]]"; "" if none has.

    PubMed writes some as "1998 Dec-1999 Jan", or with a season.
    """
    return next((date for found in element.iterfind(path) if (date := _date_of(found))), "")


def _words_of_date(journal: Element) -> str:
    """The issue's date as PubMed writes it if it is a season or a range; "" for any other."""
    parts = ("Year", "Season", "MedlineDate")
    year, season, words = (text_at(journal, f"JournalIssue/PubDate/{part}") for part in parts)
    return words or (f"{year} {season}" if season else "")


def _date_of(element: Element) -> str:
    year, month, day = (text_at(element, name) for name in ("Year", "Month", "Day"))
    text = " ".join((month, text_at(element, "Season"), text_at(element, "MedlineDate")))
    found, named = _YEAR.search(year or text), _MONTH.search(text)
    return date_of_parts(found[0] if found else "", named[1] if named else month, day)


_SETS = {"PubmedArticleSet", "PubmedBookArticleSet", "MedlineCitationSet", "BookDocumentSet"}
_DELETIONS = {"DeleteCitation", "DeleteDocument"}
_ROOT = re.compile(r"<([A-Za-z]\w*)")
_RECORD = re.compile(r"(?=<(PubmedArticle|PubmedBookArticle|DeleteCitation)[\s>])")
_PMID = re.compile(r"<PMID[^<>]*+>\s*+(\d+)")
MAX_TAGS = 1_000_000
"""Of a document: 3,000 authors with their affiliations take 100,000."""
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
    if b"<!ENTITY" in body:
        raise unreadable("it declares entities of its own, which PubMed never does")
    if body.count(b"<") > MAX_TAGS:
        raise unreadable("it has too many tags")
    records, broken = _split(body)
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
        root, text, is_damaged = read_xml(body)
    except XmlError:
        refuse_xml_errors(body)
        raise unreadable("it is not XML") from None
    return _split_one_by_one(text) if is_damaged else (_records_in(root, body), [])


def _records_in(root: Element, body: bytes) -> list[Element]:
    records = [root] if root.tag in _READERS else [one for one in root if one.tag in _READERS.keys() | _DELETIONS]
    if not records:
        refuse_xml_errors(body)
    if root.tag not in _ROOTS:
        raise unreadable(f"it contains <{root.tag[:40]}> where records were expected")
    return records[:MAX_RECORDS]


def _split_one_by_one(text: str) -> tuple[list[Element], list[tuple[str, str]]]:
    """Like `_split`, one record at a time, so that a broken one does not affect the others."""
    before, *pieces = _RECORD.split(text)
    root = _ROOT.match(before or text)
    if not root or root[1] not in _ROOTS:
        refuse_xml_errors(text.encode())
        raise unreadable("it is not XML")
    if not text.rstrip().endswith(f"</{root[1]}>"):
        raise unreadable("it is cut off")
    records: list[Element] = []
    broken: list[tuple[str, str]] = []
    for name, piece in islice(zip(pieces[::2], pieces[1::2], strict=True), MAX_RECORDS):
        end = f"</{name}>"  # what stands behind it is no part of the record
        with suppress(XmlError):
            element, _, is_damaged = read_xml(f"{piece.rpartition(end)[0]}{end}".encode())
            if not is_damaged:
                records.append(element)
                continue
        pmid = _PMID.search(piece)
        broken.append((pmid[1] if pmid else "", "it is not valid XML"))
    if not records:
        raise unreadable("it is not valid XML")
    return records, broken or [("", "the text between the records is not valid XML")]


def _within(name: str, inner: Element) -> Element:
    outer = new_element(name)
    outer.append(inner)
    return outer


_READERS: dict[str, Callable[[Element], Publication]] = {
    "PubmedArticle": article,
    "PubmedBookArticle": book,
    "MedlineCitation": lambda citation: article(_within("PubmedArticle", citation)),
    "BookDocument": lambda document: book(_within("PubmedBookArticle", document)),
}
_ROOTS = _SETS | {"PubmedArticle", "PubmedBookArticle"}
