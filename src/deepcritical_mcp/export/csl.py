"""CSL-JSON (the schema of citationstyles.org, 1.0.2), as pandoc, Zotero and citeproc read it."""

from __future__ import annotations

import json

from deepcritical_mcp.export.reference import PLAIN_FIELDS, Reference, words_with_case
from deepcritical_mcp.models import UNKNOWN_DATE, AuthorName, PublicationForm, language_tag, status_label

# Zotero refuses a whole file over one type that it does not know, as "document" was until lately.
_TYPES: dict[PublicationForm, str] = {
    "article": "article-journal",
    "preprint": "article",
    "chapter": "chapter",
    "book": "book",
    "trial": "webpage",
    "page": "webpage",
    "other": "article",
}


def entry(reference: Reference) -> str:
    """One item of the array."""
    return json.dumps(_item(reference), ensure_ascii=False)


def _item(reference: Reference) -> dict[str, object]:
    publication = reference.publication
    item: dict[str, object] = {
        "id": reference.key,
        "type": _TYPES[reference.kind],
        "title": _title(reference.title),
        "original-title": publication.vernacular_title,
        "author": [_name(author) for author in reference.authors],
        "editor": [_name(editor) for editor in publication.editors],
        "issued": _date(publication.date),
        "available-date": _date(publication.electronic_date),
        **_container(reference),
        **{plain.csl: getattr(publication, plain.field) for plain in PLAIN_FIELDS},
        "ISBN": publication.isbn,
        "ISSN": publication.issn,
        "language": language_tag(publication.language),
        "DOI": publication.doi,
        "PMID": publication.pmid,
        "PMCID": publication.pmcid,
        "URL": reference.url,
        "status": "retracted" if publication.status == "retracted" else "",
        "note": "\n".join(filter(None, (reference.status_note, *reference.facts, reference.remark))),
        "keyword": "; ".join(reference.keywords),
        "abstract": reference.abstract,
    }
    return {name: value for name, value in item.items() if value}


def _container(reference: Reference) -> dict[str, object]:
    """What it appeared in, and where in it."""
    publication = reference.publication
    if reference.kind == "preprint":
        server = publication.journal_abbreviation or publication.journal or publication.publisher
        return {"genre": "Preprint", "publisher": server, "number": publication.pages}
    is_chapter = reference.kind == "chapter"
    return {
        "container-title": publication.book_title if is_chapter else publication.journal,
        "container-title-short": publication.journal_abbreviation,
        "publisher": publication.publisher,
        "page": "-".join(filter(None, reference.pages)),
    }


def _title(title: str) -> str:
    """The title, with the words marked that pandoc's and Zotero's styles must leave as they are."""
    mark = f"{status_label('retracted')}: "
    words = words_with_case(title.removeprefix(mark))
    return (mark if title.startswith(mark) else "") + " ".join(
        f'<span class="nocase">{word}</span>' if keeps and not {"<", ">"} & set(word) else word for word, keeps in words
    )


def _date(date: str) -> dict[str, object]:
    return {"date-parts": [[int(part) for part in date.split("-")]]} if date != UNKNOWN_DATE else {}


def _name(author: AuthorName) -> dict[str, str]:
    if not author.given:
        return {"literal": author.family}
    parts = {"family": author.family, "given": author.given, "suffix": author.suffix}
    return {name: part for name, part in parts.items() if part}
