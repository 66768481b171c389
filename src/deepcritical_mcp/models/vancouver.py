"""References in Vancouver style: the ICMJE's sample references and NLM's "Citing Medicine"; and names of languages."""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Sequence

from deepcritical_mcp.models.evidence import Publication
from deepcritical_mcp.models.publication import UNKNOWN_DATE, AuthorName, retraction_label
from deepcritical_mcp.text import data_lines
from deepcritical_mcp.urls import host_of

_ROWS = [(row[:3], row[4:-3], row[-2:]) for row in data_lines(__file__, "languages.txt")]
_LANGUAGES = {code: (name, tag) for marc, name, tag in _ROWS for code in (marc, tag)}
_NO_LANGUAGE = ("und", "mul", "zxx")
"""Codes for undetermined, several, and no language."""


def language_names(codes: str) -> list[str]:
    """The English names of languages: "eng, ger" is ["English", "German"].

    Two-letter codes count too. What is not a code stands for itself; undetermined languages are left out.
    """
    given = [code.strip() for code in codes.split(",")]
    return [_LANGUAGES.get(code.lower(), (code, ""))[0] for code in given if code and code.lower() not in _NO_LANGUAGE]


def language_code(name: str) -> str:
    """The MARC code of a language by its English name or tag, "eng" for "English" or "en-US"; else the name itself."""
    word = name.strip().lower()
    known = (code for code, full, tag in _ROWS if word in (code, full.lower()) or word.partition("-")[0] == tag)
    return next(known, name.strip())


def language_tag(codes: str) -> str:
    """The BCP 47 tag of the first language, e.g. "de" for "ger"; "" if it is not known."""
    first = codes.split(",")[0].strip().lower()
    return _LANGUAGES.get(first, ("", first if len(first) == 2 and first.isascii() else ""))[1]


_LISTED_AUTHORS = 6


def vancouver(publication: Publication) -> str:
    """The reference to a publication on one line, ready to be pasted into a list of references.

    Names six authors, then "et al."; a retracted publication is marked as such after its title.
    """
    bodies = {"chapter": _chapter, "book": _book, "trial": _trial}
    bodies |= dict.fromkeys(("preprint", "article", "conference"), _serial)
    form, editors = publication.form, _people(publication.editors, "editors") if publication.form == "book" else ""
    is_online = form == "trial" or (form not in bodies and publication.is_on_the_web)
    medium = _medium(publication) if form == "book" else " [Internet]" if is_online else ""
    authors, parts = _people(publication.authors), bodies.get(form, _page)(publication)
    title, label = publication.title, retraction_label(publication.status, publication.title)
    mark = medium + (f" [{label.capitalize()}]" if label else "")
    head = (
        authors or editors,
        _sentence(title.removesuffix(".") + mark if mark else title),
        editors if authors else "",
    )
    numbers = {"PMID": publication.pmid, "PMCID": publication.pmcid, "Bookshelf ID": publication.bookshelf_id}
    tail = (
        f"doi: {publication.doi}." if publication.doi else "",
        "Epub ahead of print." if publication.is_ahead_of_print else "",
        _sentence("; ".join(f"{name}: {value}" for name, value in numbers.items() if value)),
    )
    return " ".join(filter(None, (*head, *parts, *tail)))


def written_date(date: str) -> str:
    """A date as NLM writes it: "2021 Mar 4" for "2021-03-04"; "date unknown" in brackets if it is unknown."""
    if date == UNKNOWN_DATE:
        return "[date unknown]"
    year, *rest = date.split("-")
    return " ".join([year, *(calendar.month_abbr[int(month)] for month in rest[:1]), *(str(int(d)) for d in rest[1:])])


def _serial(publication: Publication) -> Iterator[str]:
    journal = publication.short_journal or publication.journal
    if publication.form == "preprint":
        yield f"Version {publication.version}." if publication.version else ""
        yield f"{journal or publication.publisher} [Preprint].".lstrip()
    else:
        yield _sentence(journal)
    volume = publication.volume + (f"({publication.issue})" if publication.issue else "")
    pages = f":{publication.pages}" if publication.pages else ""
    dated = publication.issue_date or written_date(publication.date)
    yield f"{dated}{f';{volume}' if volume else ''}{pages}."  # 2021 Mar 4;9(2):11-9.
    yield _language(publication)


def _chapter(publication: Publication) -> Iterator[str]:
    if publication.date != UNKNOWN_DATE:
        revised = publication.revised_date
        updated = f" [updated {written_date(revised)}]" if revised != UNKNOWN_DATE else ""
        yield f"{written_date(publication.date)}{updated}."
    yield f"In: {_people(publication.editors, 'editors')}".rstrip()
    yield _sentence(publication.book_title + _medium(publication))
    yield _imprint(publication, publication.book_years)
    yield f"p. {publication.pages}." if publication.pages else ""
    yield _language(publication)


def _book(publication: Publication) -> Iterator[str]:
    yield _imprint(publication, publication.book_years or written_date(publication.date))
    yield _language(publication)


def _trial(publication: Publication) -> Iterator[str]:
    """With the last update of the registration, and the day on which it was read."""
    changed = {"updated": publication.revised_date, "cited": publication.accessed}
    known = "; ".join(f"{what} {written_date(day)}" for what, day in changed.items() if day != UNKNOWN_DATE)
    dated = written_date(publication.date) + (f" [{known}]" if known else "")
    registry = publication.publisher or host_of(publication.url)
    yield f"{registry}; {dated}." if registry else f"{dated}."
    yield f"Identifier: {publication.nct}."
    yield f"Available from: {publication.url}" if publication.is_on_the_web else ""


def _page(publication: Publication) -> Iterator[str]:
    online = publication.is_on_the_web
    is_read = online and publication.accessed != UNKNOWN_DATE
    read = f" [cited {written_date(publication.accessed)}]" if is_read else ""
    dated = f"{written_date(publication.date)}{read}." if online or publication.date != UNKNOWN_DATE else ""
    publisher = publication.publisher or publication.journal or (host_of(publication.url) if online else "")
    yield f"{publisher}; {dated}" if publisher and dated else _sentence(publisher) or dated
    yield _language(publication)
    yield f"Identifier: {publication.nct}." if publication.nct else ""
    yield f"Available from: {publication.url}" if online and not publication.pmid else ""


def _people(names: Sequence[AuthorName], role: str = "") -> str:
    """Names with a full stop at the end: "Berg JA, Ruiz K, editors."; after people, and around a name with a comma of
    its own, an organization is set off by semicolons."""
    listed = ""
    for name, before in zip(names[:_LISTED_AUTHORS], (None, *names), strict=False):
        if before:
            own_comma = any("," in one.family for one in (before, name) if not one.given)
            listed += "; " if own_comma or (before.given and not name.given) else ", "
        listed += name.short
    if len(names) > _LISTED_AUTHORS:
        listed += ", et al"
    if role and names:
        listed += f", {role.removesuffix('s') if len(names) == 1 else role}"
    return _sentence(listed)


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "?", "!", "…", ".]", "?]", "!]")) else f"{text}."


def _imprint(publication: Publication, date: str) -> str:
    """E.g. "Seattle (WA): University of Washington, Seattle; 1993-2025."."""
    publisher = ": ".join(filter(None, (publication.publisher_place, publication.publisher)))
    return _sentence("; ".join(filter(None, (publisher, date))))


def _medium(publication: Publication) -> str:
    return " [Internet]" if publication.bookshelf_id else ""


def _language(publication: Publication) -> str:
    names = language_names(publication.language)
    return f"{', '.join(names)}." if names and names != ["English"] else ""
