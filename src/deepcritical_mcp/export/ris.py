"""RIS, as EndNote, Zotero, Mendeley and RefWorks read it: `XX  - value`, one line each, from TY to ER."""

from __future__ import annotations

from collections.abc import Iterator

from deepcritical_mcp.export.reference import PLAIN_FIELDS, Reference
from deepcritical_mcp.models import AuthorName, PublicationForm, language_names
from deepcritical_mcp.text import clean_line

_TYPES: dict[PublicationForm, str] = {
    "article": "JOUR",
    "preprint": "UNPB",
    "chapter": "CHAP",
    "book": "BOOK",
    "trial": "ELEC",
    "page": "ELEC",
    "other": "GEN",
}


def entry(reference: Reference) -> str:
    """One record, with a line break at its end."""
    lines = [f"{tag}  - {value}" for tag, text in _fields(reference) if (value := clean_line(text))]
    return "\n".join([f"TY  - {_TYPES[reference.kind]}", *lines, "ER  - ", ""])


def _fields(reference: Reference) -> Iterator[tuple[str, str]]:
    publication = reference.publication
    yield "TI", reference.title
    for author in reference.authors:
        yield "AU", _name(author)
    if reference.date:
        yield "PY", f"{reference.date[0]:04d}"
        # Year, month, day and a free part, of which any may be empty.
        yield "DA", "/".join((publication.date.replace("-", "/"), *[""] * (4 - len(reference.date))))
    for editor in publication.editors:
        yield "A2", _name(editor)
    first, last = reference.pages
    yield "T2", publication.book_title if reference.kind == "chapter" else publication.journal
    yield "J2", publication.journal_abbreviation
    yield "M3", "Preprint" if reference.kind == "preprint" else ""
    yield "PB", publication.publisher
    yield "SN", publication.isbn or publication.issn
    yield "LA", ", ".join(language_names(publication.language))
    for plain in PLAIN_FIELDS:
        yield plain.ris, getattr(publication, plain.field)
    yield "SP", first
    yield "EP", last
    yield "DO", publication.doi
    yield "AN", publication.pmid
    yield "DB", "PubMed" if publication.pmid else ""
    yield "C2", publication.pmcid
    yield "UR", reference.url
    yield "N1", reference.status_note
    yield "N1", f"Original title: {publication.vernacular_title}" if publication.vernacular_title else ""
    for fact in reference.facts:
        yield "N1", fact
    yield "N1", reference.remark
    yield "AB", reference.abstract
    for keyword in reference.keywords:
        # Zotero takes a semicolon for the end of a keyword.
        yield "KW", keyword.replace(";", ",")


def _name(author: AuthorName) -> str:
    """ "Family, Given, Suffix"; a body's name ends with a comma, so that EndNote does not take it apart."""
    if not author.given:
        return author.family.replace(",", " –") + ","
    return ", ".join(filter(None, (author.family, author.given, author.suffix)))
