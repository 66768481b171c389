"""The answers of efetch: each record, an article or a book, as a publication, and which could not be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import cast
from xml.etree.ElementTree import Element

from deepcritical_mcp.dates import date_of_parts
from deepcritical_mcp.models import (
    AHEAD_OF_PRINT,
    NO_ABSTRACT,
    NO_TITLE,
    UNKNOWN_DATE,
    AuthorName,
    Publication,
    RecordLink,
    language_names,
    status_from_links,
)
from deepcritical_mcp.net.fields import authors_at, field_table, fields_at
from deepcritical_mcp.reading.jats_text import SUBSCRIPTS, SUPERSCRIPTS, in_script
from deepcritical_mcp.reading.xml_tree import XmlError, first, new_element, read_xml
from deepcritical_mcp.sources.pubmed.eutils import refuse_other_data, refuse_xml_errors, unreadable
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
    return tuple(filter(None, (" ".join(_ENCODED_TWICE.sub(repaired, text).split()) for text in texts)))


def repaired(match: re.Match[str]) -> str:
    """Latin letters that older records have encoded twice, decoded: "FÅ\\x93tus" becomes "Fœtus".

    Only what is certain is touched, within a word: correct text has no capital "Ã" and a sign next to a lower-case
    letter, and no control character next to any letter.
    """
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


# Elsevier's number of an article or a chapter, which is not a page: "S0021-9150(18)30209-0", "B978-0-12-3".
_ITEM_NUMBER = re.compile(r"[SB][0-9]{4}-?[0-9]{3}[0-9X]\(?[0-9]{2}\)?[0-9]{5}-?[0-9X]|B97[89]-?[0-9X.-]+")
_NO_TITLE = re.compile(r"(?:\[not available\]\.?)?", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(1[4-9]|20|21)\d\d(?!\d)")
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})[a-z]*\b", re.IGNORECASE)


_ARTICLE, _BOOK, _AUTHOR = (field_table(__file__, f"{of}_fields.txt") for of in ("article", "book", "author"))


def article(record: Element) -> Publication:
    """A publication from a <PubmedArticle>; ValueError if it has no PMID.

    `date` is that of the issue, also when the article was online earlier; ahead of print it is the electronic one.
    """
    fields, entry = fields_at(record, _ARTICLE, texts_at), first(record, "MedlineCitation/Article")
    issue = first(entry, "Journal/JournalIssue")
    electronic, printed = _date(entry, "ArticleDate"), _date(issue, "PubDate")
    ahead = fields["publication_stage"] == AHEAD_OF_PRINT and bool(electronic)
    # The publisher's number of an article without pages, by which it is cited ("e47969"); never a DOI.
    number = text_at(entry, "ELocationID[@EIdType='pii'][@ValidYN='Y']")
    # Before print, a number is sure to be part of the citation only if the DOI ends with it.
    is_unsure = ahead and not str(fields["doi"]).lower().endswith(number.lower())
    if is_unsure or number.startswith("10.") or _ITEM_NUMBER.fullmatch(number):
        number = ""
    # Where older records have the PMCID: "PMC3680733 [Available on 06/12/14]".
    older = (text.split()[0] for text in texts_at(record, "MedlineCitation/OtherID[@Source='NLM']"))
    # As PubMed writes the date of an issue if it is a season or a range.
    of_issue = first(issue, "PubDate")
    season = text_at(of_issue, "Season")
    in_words = text_at(of_issue, "MedlineDate") or (f"{text_at(of_issue, 'Year')} {season}" if season else "")
    if _NO_TITLE.fullmatch(str(fields["title"])):
        fields["title"] = fields["vernacular_title"]
    if fields["medline_abbreviation"] == fields["journal_abbreviation"]:
        fields["medline_abbreviation"] = ""
    fields |= {
        "date": electronic if ahead else printed or electronic,
        "authors": _names(entry),
        "pmcid": fields["pmcid"] or next((one for one in older if one.startswith("PMC")), ""),
        "pages": fields["pages"] or _pages(entry) or number,
        "issue_date": in_words if printed and not ahead else "",
        "electronic_date": electronic or UNKNOWN_DATE,
    }
    return _publication(first(record, "MedlineCitation"), entry, fields)


def book(record: Element) -> Publication:
    """A publication from a <PubmedBookArticle>: a whole book, or a chapter with its own title; ValueError if it has no
    PMID. A chapter's `date` is that of its contribution; its book's years are in `book_years`.
    """
    fields, document = fields_at(record, _BOOK, texts_at), first(record, "BookDocument")
    whole, is_chapter = first(document, "Book"), bool(fields["title"])
    contributed, published = _date(document, "ContributionDate"), _date(whole, "PubDate")
    begun, ended = _date(whole, "BeginningDate")[:4], _date(whole, "EndingDate")[:4]
    fields |= {
        "title": fields["title"] or fields["book_title"],
        # A chapter's DOI is not its book's.
        "doi": fields["doi"] or ("" if is_chapter else text_at(whole, "ELocationID[@EIdType='doi'][@ValidYN='Y']")),
        "date": contributed or published if is_chapter else published or contributed,
        "authors": _names(document) or _names(whole),
        "editors": _names(whole, document, editors=True),
        "pages": fields["pages"] or _pages(document),
        "book_years": f"{begun}-{ended}" if begun else published[:4] if is_chapter else "",
        "revised_date": _date(document, "DateRevised") or UNKNOWN_DATE,
    }
    return _publication(document, document, fields)


def _publication(citation: Element, entry: Element, fields: dict[str, object]) -> Publication:
    """What articles and books have in common; `entry` is the part of `citation` that describes the text itself."""
    pmid = text_at(citation, "PMID")
    if not pmid.isdecimal():
        raise ValueError("it has no PMID")
    linked = citation.iterfind("CommentsCorrectionsList/CommentsCorrections")
    links = (RecordLink(one.get("RefType", ""), text_at(one, "RefSource"), text_at(one, "PMID")) for one in linked)
    types, journal = cast("tuple[str, ...]", fields["publication_types"]), str(fields.get("journal_abbreviation", ""))
    status, notices = status_from_links(links, types, journal)
    granted = entry.iterfind("GrantList/Grant")
    given = ([text_at(one, name) for name in ("GrantID", "Agency", "Country")] for one in granted)
    listed = ((one, text_at(one, "DataBankName")) for one in entry.iterfind("DataBankList/DataBank"))
    banks = [(name, number) for one, name in listed for number in texts_at(one, "AccessionNumberList/AccessionNumber")]
    # The trial, where the record names exactly one of ClinicalTrials.gov.
    trials = {number.upper() for _, number in banks if number.upper().startswith("NCT")}
    named = (one if bank and one.upper().startswith(bank.upper()) else f"{bank} {one}" for bank, one in banks)
    common: dict[str, object] = {
        "title": clean_line(str(fields["title"])) or NO_TITLE,
        "vernacular_title": "" if fields["vernacular_title"] == fields["title"] else fields["vernacular_title"],
        "date": fields["date"] or UNKNOWN_DATE,
        "language": ", ".join(cast("tuple[str, ...]", fields["language"])),
        "url": f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        "pmid": pmid,
        "status": status,
        "status_notices": notices,
        "grants": tuple(dict.fromkeys(", ".join(filter(None, grant)) for grant in given)),
        "registrations": tuple(dict.fromkeys(named)),
        "nct": trials.pop() if len(trials) == 1 else "",
    }
    abstract = clean_text(_abstract(entry, citation)) or NO_ABSTRACT
    return Publication.of("abstract", abstract, provider="pubmed", source="pubmed", **(fields | common))


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
    wanted = (one for one in lists if (one.get("Type") == "editors") == editors)
    people = (author for one in wanted for author in one.iterfind("Author") if author.get("ValidYN") != "N")
    return authors_at(people, _AUTHOR, texts_at)


def _pages(element: Element) -> str:
    return "-".join(filter(None, (text_at(element, f"Pagination/{name}") for name in ("StartPage", "EndPage"))))


def _date(element: Element, path: str) -> str:
    """The date in the first element at `path` that has a year, "YYYY[-MM[-DD]]"; "" if none has.

    PubMed writes some as "1998 Dec-1999 Jan", or with a season.
    """
    for one in element.iterfind(path):
        year, month, day = (text_at(one, name) for name in ("Year", "Month", "Day"))
        text = " ".join((month, text_at(one, "Season"), text_at(one, "MedlineDate")))
        found, named = _YEAR.search(year or text), _MONTH.search(text)
        if date := date_of_parts(found[0] if found else "", named[1] if named else month, day):
            return date
    return ""


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
    """The contents of a response of efetch in its order, with the losses and what is unread as in `Fetched`.

    If it was not `well_formed` XML, a retry may return what is missing.
    """

    publications: tuple[Publication, ...]
    losses: Mapping[str, str] = field(default_factory=dict[str, str])
    unnamed: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()
    well_formed: bool = True


def read_records(body: bytes) -> Records:
    """Read a response of efetch; ProviderError if it is not a whole set of PubMed records, or declares entities."""
    refuse_other_data(body)
    if b"<!ENTITY" in body:
        raise unreadable("it declares entities of its own, which PubMed never does")
    if body.count(b"<") > MAX_TAGS:
        raise unreadable("it has too many tags")
    try:
        root, text, is_damaged = read_xml(body)
    except XmlError:
        refuse_xml_errors(body)
        raise unreadable("it is not XML") from None
    records, failed = [root] if root.tag in _READERS else [*root], list[tuple[str, str]]()
    if is_damaged:
        records, failed = _split_one_by_one(text)
    else:
        records = [one for one in records if one.tag in _READERS.keys() | _DELETIONS]
        if not records:
            refuse_xml_errors(body)
        if root.tag not in _ROOTS:
            raise unreadable(f"it contains <{root.tag[:40]}> where records were expected")
    publications, deleted = list[Publication](), list[str]()
    for record in records[:MAX_RECORDS]:
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
    unread = [pmid for pmid, _ in failed] + [""] * is_damaged  # a record may have lost its PMID, or its beginning
    return Records(tuple(publications), losses, unnamed, frozenset(unread), well_formed=not is_damaged)


def _split_one_by_one(text: str) -> tuple[list[Element], list[tuple[str, str]]]:
    """The records in a damaged response, read one at a time, so that a broken one does not affect the others; and of
    those that are not XML, the PMID or "" and the reason."""
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
