"""RIS, as EndNote, Zotero, Mendeley and RefWorks read it: `XX  - value`, one line each, from TY to ER."""

from __future__ import annotations

from collections.abc import Iterator

from deepcritical_mcp.export.reference import FIELDS, TRIAL_GENRE, TYPES, Reference
from deepcritical_mcp.models import AuthorName, language_names
from deepcritical_mcp.text import clean_line


def entry(reference: Reference) -> str:
    """One record, with a line break at its end."""
    lines = [f"{tag}  - {value}" for tag, text in _fields(reference) if (value := clean_line(text))]
    return "\n".join([f"TY  - {TYPES[reference.form].ris}", *lines, "ER  - ", ""])


def _fields(reference: Reference) -> Iterator[tuple[str, str]]:
    publication, date = reference.publication, reference.date
    yield "TI", reference.title
    yield from (("AU", _name(author)) for author in publication.authors)
    if date:
        yield "PY", f"{date[0]:04d}"
        # Year, month, day and a free part ("Nov-Dec"), of which any may be empty.
        day = "/".join((publication.date.replace("-", "/"), *[""] * (4 - len(date))))
        yield "DA", day + reference.within_year.replace("/", "-")
    yield from (("A2", _name(editor)) for editor in publication.editors)
    yield "T2", publication.book_title if reference.form == "chapter" else publication.journal
    yield "M3", {"preprint": "Preprint", "trial": TRIAL_GENRE}.get(reference.form, "")
    yield from ((names.ris, getattr(publication, field)) for field, names in FIELDS.items() if names.ris)
    # Of a report, Zotero and EndNote keep its number there.
    yield "SN", publication.nct if reference.form == "trial" else publication.isbn or publication.issn
    yield "Y2", reference.accessed.replace("-", "/")
    yield "LA", ", ".join(language_names(publication.language))
    yield from zip(("SP", "EP"), reference.pages, strict=False)
    yield "DO", publication.doi
    yield "DB", "PubMed" if publication.pmid else ""
    yield "UR", reference.url
    yield "N1", f"Original title: {reference.original_title}" if publication.vernacular_title else ""
    yield from (("N1", note) for note in (*reference.notes, *reference.licences, reference.remark))
    yield "AB", reference.abstract
    # Zotero splits keywords at semicolons.
    yield from (("KW", keyword.replace(";", ",")) for keyword in reference.keywords)


def _name(author: AuthorName) -> str:
    """ "Family, Given, Suffix", or "Group," for EndNote. Commas in a part cannot be escaped and become semicolons."""
    family, *others = (part.replace(",", ";") for part in author[:3])
    return ", ".join(filter(None, (family, *others))) if author.given else f"{family},"
