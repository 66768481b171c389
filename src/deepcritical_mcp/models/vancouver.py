"""References in Vancouver style: the ICMJE's sample references and NLM's "Citing Medicine"."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence

from deepcritical_mcp.models.evidence import Publication
from deepcritical_mcp.models.languages import language_names
from deepcritical_mcp.models.publication import UNKNOWN_DATE, AuthorName
from deepcritical_mcp.urls import host_of

_SENTENCE_ENDS = (".", "?", "!", "…", ".]", "?]", "!]")
_LISTED_AUTHORS = 6
AHEAD_OF_PRINT = "aheadofprint"


def vancouver(publication: Publication) -> str:
    """The reference to a publication on one line, ready to be pasted into a list of references.

    Names six authors, then "et al."; a retracted publication is marked as such behind its title.
    """
    match publication.form:
        case "chapter":
            parts = _chapter(publication)
        case "book":
            parts = _book(publication)
        case "preprint":
            parts = _preprint(publication)
        case "article":
            parts = _article(publication)
        case "page" | "trial" | "other":
            parts = _page(publication)
    return " ".join(part for part in (*parts, *_numbers(publication)) if part)


def written_date(date: str) -> str:
    """A date as NLM writes it: "2021 Mar 4" for "2021-03-04"; "date unknown" in brackets if it is unknown."""
    if date == UNKNOWN_DATE:
        return "[date unknown]"
    year, *rest = date.split("-")
    return " ".join([year, *(calendar.month_abbr[int(month)] for month in rest[:1]), *(str(int(d)) for d in rest[1:])])


def _article(publication: Publication) -> Iterator[str]:
    yield _people(publication.authors)
    yield _title(publication)
    yield f"{_sentence(_journal(publication))} {_issue(publication)}."
    yield _language(publication)


def _preprint(publication: Publication) -> Iterator[str]:
    server = _journal(publication) or publication.publisher
    yield _people(publication.authors)
    yield _title(publication)
    yield f"{server} [Preprint]." if server else "[Preprint]."
    yield f"{_issue(publication)}."
    yield _language(publication)


def _chapter(publication: Publication) -> Iterator[str]:
    yield _people(publication.authors)
    yield _title(publication)
    if publication.date != UNKNOWN_DATE:
        yield f"{written_date(publication.date)}{_revised(publication)}."
    yield f"In: {_people(publication.editors, 'editors')}".rstrip()
    yield _sentence(publication.book_title + _medium(publication))
    yield _imprint(publication, publication.book_years) + (f" p. {publication.pages}." if publication.pages else "")
    yield _language(publication)


def _book(publication: Publication) -> Iterator[str]:
    yield _people(publication.authors)
    if not publication.authors:
        yield _people(publication.editors, "editors")
    yield _title(publication, _medium(publication))
    if publication.authors:
        yield _people(publication.editors, "editors")
    yield _imprint(publication, publication.book_years or written_date(publication.date))
    yield _language(publication)


def _page(publication: Publication) -> Iterator[str]:
    online = publication.is_on_the_web
    dated = f"{written_date(publication.date)}." if online or publication.date != UNKNOWN_DATE else ""
    publisher = publication.publisher or publication.journal or (host_of(publication.url) if online else "")
    yield _people(publication.authors)
    yield _title(publication, " [Internet]" if online else "")
    yield f"{publisher}; {dated}" if publisher and dated else _sentence(publisher) or dated
    yield _language(publication)
    if publication.nct:
        yield f"Identifier: {publication.nct}."
    if online and not publication.pmid:
        yield f"Available from: {publication.url}"


def _people(names: Sequence[AuthorName], role: str = "") -> str:
    """Names with a full stop at the end: "Berg JA, Ruiz K, editors."; a body follows people after a semicolon."""
    listed = ""
    for name, before in zip(names[:_LISTED_AUTHORS], (None, *names), strict=False):
        divider = "" if before is None else "; " if before.given and not name.given else ", "
        listed += divider + name.initials
    if len(names) > _LISTED_AUTHORS:
        listed += ", et al"
    if role and names:
        listed += f", {role.removesuffix('s') if len(names) == 1 else role}"
    return _sentence(listed)


def _title(publication: Publication, medium: str = "") -> str:
    title = publication.title
    says_it = title.lower().startswith("retracted")
    mark = medium + (" [Retracted]" if publication.status == "retracted" and not says_it else "")
    return _sentence(title.removesuffix(".") + mark if mark else title)


def _sentence(text: str) -> str:
    return text if not text or text.endswith(_SENTENCE_ENDS) else f"{text}."


def _journal(publication: Publication) -> str:
    """The abbreviation without full stops, as NLM writes it: "Proc Natl Acad Sci U S A"."""
    return re.sub(r"\.(?=\w)", " ", publication.journal_abbreviation).replace(".", "") or publication.journal


def _issue(publication: Publication) -> str:
    """E.g. "2021 Mar 4;9(2):11-9"."""
    volume = publication.volume + (f"({publication.issue})" if publication.issue else "")
    pages = f":{publication.pages}" if publication.pages else ""
    return written_date(publication.date) + (f";{volume}" if volume else "") + pages


def _imprint(publication: Publication, date: str) -> str:
    """E.g. "Seattle (WA): University of Washington, Seattle; 1993-2025."."""
    publisher = ": ".join(filter(None, (publication.publisher_place, publication.publisher)))
    return _sentence("; ".join(filter(None, (publisher, date))))


def _medium(publication: Publication) -> str:
    return " [Internet]" if publication.bookshelf_id else ""


def _revised(publication: Publication) -> str:
    return f" [updated {written_date(publication.revised_date)}]" if publication.revised_date != UNKNOWN_DATE else ""


def _language(publication: Publication) -> str:
    names = language_names(publication.language)
    return f"{', '.join(names)}." if names and names != ["English"] else ""


def _numbers(publication: Publication) -> Iterator[str]:
    if publication.doi:
        yield f"doi: {publication.doi}."
    if publication.publication_stage == AHEAD_OF_PRINT:
        yield "Epub ahead of print."
    numbers = (
        ("PMID: ", publication.pmid),
        ("PMCID: ", publication.pmcid),
        ("Bookshelf ID: ", publication.bookshelf_id),
    )
    yield _sentence("; ".join(f"{name}{value}" for name, value in numbers if value))
