"""A work of Crossref's as a publication, with what Crossref says happened to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import cast

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.identifiers import normalize_doi, normalize_trial
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    PREPRINT,
    UNKNOWN_DATE,
    AuthorName,
    NoticeKind,
    Publication,
    StatusNotice,
    status_told_by,
)
from deepcritical_mcp.net.json_fields import (
    field_at,
    list_of,
    mapping_of,
    number_of,
    plain_abstract,
    rows_of,
    text_at,
    text_of,
    texts_of,
)
from deepcritical_mcp.sources.base import author_of
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import is_web_address

NAME, TITLE = "crossref", "Crossref"
SELECT = "DOI,updated-by,update-to,relation"
"""The fields that are read here, for a request."""
_TYPES: dict[str, NoticeKind] = {
    name: cast("NoticeKind", kind)
    for kind, names in data_table(__file__, "update_types.txt").items()
    for name in names.split()
}
_KINDS: dict[str, NoticeKind] = {name.strip("()"): kind for name, kind in _TYPES.items()}
"""Kinds of notices by Crossref's types of updates."""
_REINSTATEMENT = "reinstatement"
_RELATIONS: Mapping[str, NoticeKind] = {"is-preprint-of": "published", "has-preprint": "preprint"}
_REPORTERS = {"retraction-watch": "Retraction Watch", "publisher": "publisher"}
_MAX_NOTICES = 50
_POSSIBLE = ((1000, 9999), (1, 12), (1, 31))
"""Years, months and days."""


def updates_of(work: Mapping[str, object]) -> tuple[StatusNotice, ...]:
    """What happened to a work, and what it says about others; () if nothing.

    `reference` says what it is, if its kind does not, who reported it, and when: "Retraction Watch, 2010-02-06".
    """
    own = normalize_doi(text_at(work, "DOI"))
    to = rows_of(work.get("update-to"))
    # A publisher that changes an article in place says so in the article's own record.
    happened = [*rows_of(work.get("updated-by")), *(one for one in to if _doi(one) == own)]
    found = [*_happened(happened, own), *_about([one for one in to if _doi(one) != own]), *_related(work, own)]
    return tuple(dict.fromkeys(found))[:_MAX_NOTICES]


def _happened(updates: list[Mapping[str, object]], own: str) -> Iterator[StatusNotice]:
    """One notice for each document that reports something, whoever has told Crossref."""
    reports: dict[tuple[NoticeKind, str], list[str]] = {}
    back = max((date_of(one.get("updated")) for one in updates if _type(one) == _REINSTATEMENT), default="")
    for one in updates:
        kind = _KINDS.get(_type(one))
        if kind is None:
            continue
        report = _report(one)
        if kind == "retraction" and back and date_of(one.get("updated")) <= back:
            kind, report = "erratum", f"Retracted ({report}) and reinstated ({back})"
        doi = _doi(one)
        told = reports.setdefault((kind, "" if doi == own else doi), [])
        if report not in told:
            told.append(report)
    for (kind, doi), told in reports.items():
        yield StatusNotice(kind=kind, doi=doi, reference="; ".join(told))


def _about(updates: list[Mapping[str, object]]) -> Iterator[StatusNotice]:
    """What a work says about others: it is a notice, or a newer version."""
    for one in updates:
        kind, doi = _KINDS.get(_type(one)), _doi(one)
        if kind and doi:
            label = text_at(one, "label") or _type(one).replace("_", " ").capitalize()
            is_version = kind == "update"
            yield StatusNotice(
                kind="earlier" if is_version else "about", doi=doi, reference="" if is_version else label
            )


def _related(work: Mapping[str, object], own: str) -> Iterator[StatusNotice]:
    for name, kind in _RELATIONS.items():
        for one in rows_of(field_at(work, "relation", name)):
            doi = normalize_doi(text_at(one, "id"))
            if text_at(one, "id-type").lower() == "doi" and doi and doi != own:
                yield StatusNotice(kind=kind, doi=doi)


def _report(update: Mapping[str, object]) -> str:
    """What it is, if its kind does not say so, who has reported it, and when."""
    type, date = _type(update), date_of(update.get("updated"))
    what = "" if type in _TYPES else f"{type.replace('_', ' ').capitalize()}: "
    who = _REPORTERS.get(text_at(update, "source"), "Crossref")
    return f"{what}{who}{'' if date == UNKNOWN_DATE else f', {date}'}"


def _type(update: Mapping[str, object]) -> str:
    return re.sub("[ -]", "_", text_at(update, "type").strip().lower())


def _doi(update: Mapping[str, object]) -> str:
    doi = normalize_doi(text_at(update, "DOI"))
    return doi if doi.startswith("10.") else ""


def date_of(value: object) -> str:
    """A date of Crossref's, `{"date-parts": [[2026, 9, 3]]}`, as "2026-09-03"; "Unknown" for `[[null]]` and none."""
    rows = list_of(mapping_of(value).get("date-parts"))
    parts = [int(number_of(one) or 0) for one in list_of(rows[0])[:3]] if rows else []
    known = takewhile(lambda pair: pair[1][0] <= pair[0] <= pair[1][1], zip(parts, _POSSIBLE, strict=False))
    return "-".join(f"{one:02d}" for one, _ in known) or UNKNOWN_DATE


_ARTICLES = ("journal-article", "proceedings-article")
_CHAPTERS = ("book-chapter", "book-section", "book-part", "book-track", "reference-entry")
_BOOKS = ("book", "monograph", "edited-book", "reference-book", "book-set", "proceedings")
_PREPRINTS = ("", "preprint", "working_paper", "other")
"""Subtypes of posted content; the others are letters, reports, theses and reviews."""
_DATES = ("published-print", "published", "issued", "posted", "published-online", "published-other", "approved")
"""The date of publication, the first that is known; `created` and `deposited` are those of the record."""
_FOR_MINING = re.compile(r"\btdm|text-and-data-mining", re.IGNORECASE)
_SERIES = re.compile(
    r"\bseries\b|springerbriefs|\b(?:lecture notes|(?:advances|communications|methods|progress|studies|topics) in)\b",
    re.IGNORECASE,
)


def read_work(work: Mapping[str, object]) -> Publication:
    """The record of a work, with its status."""
    doi, type = normalize_doi(text_at(work, "DOI")), text_at(work, "type")
    is_preprint = type == "posted-content" and text_at(work, "subtype") in _PREPRINTS
    title, notices = _title(work), updates_of(work)
    record = Publication.of(
        "abstract",
        plain_abstract(text_at(work, "abstract")) or NO_ABSTRACT,
        provider=NAME,
        source="preprint" if is_preprint else "web",
        title=title or NO_TITLE,
        url=f"https://doi.org/{doi}",
        date=_date(work),
        electronic_date=date_of(work.get("published-online")),
        doi=doi,
        authors=tuple(filter(None, map(_name, rows_of(work.get("author"))))),
        editors=tuple(filter(None, map(_name, rows_of(work.get("editor"))))),
        **_container(work, type, title),
        volume=text_at(work, "volume"),
        issue=text_at(work, "issue"),
        pages=text_at(work, "page", "article-number"),
        issn=next(iter(texts_of(work.get("ISSN"))), ""),
        isbn=next(iter(texts_of(work.get("ISBN"))), ""),
        language=text_at(work, "language"),
        publisher=_server(work) if is_preprint else _plain_line(text_at(work, "publisher")),
        publisher_place="" if is_preprint else text_at(work, "publisher-location"),
        publication_types=(PREPRINT if is_preprint else type.replace("-", " ").title(),) if type else (),
        registrations=tuple(dict.fromkeys(_registrations(work))),
        grants=tuple(dict.fromkeys(_grants(work))),
        status=status_told_by(notices),
        status_notices=notices,
        status_checked=current_date().isoformat(),
    )
    licence = _licence(work)
    return record.model_copy(update={"texts": (record.text.model_copy(update={"licence": licence}),)})


def _plain_line(text: str) -> str:
    return clean_line(plain_abstract(text))


def _title(work: Mapping[str, object]) -> str:
    """The title with its subtitle, which many publishers give apart."""
    title = _plain_line(next(iter(texts_of(work.get("title"))), ""))
    subtitle = _plain_line(next(iter(texts_of(work.get("subtitle"))), ""))
    if not title or not subtitle or subtitle.casefold() in title.casefold():
        return title
    return f"{title} {subtitle}" if title.endswith((":", "?", "!", "—", "–")) else f"{title}: {subtitle}"


def _container(work: Mapping[str, object], type: str, title: str) -> dict[str, str]:
    """The journal, or the book: the last name that is not that of the book's series."""
    given = [_plain_line(name) for name in texts_of(work.get("container-title"))]
    names = [name for name in given if not _SERIES.search(name)] or given
    short = _plain_line(next(iter(texts_of(work.get("short-container-title"))), ""))
    if type in _CHAPTERS and names:
        return {"book_title": names[-1]}
    if type in _BOOKS:
        return {"book_title": title}
    if type not in _ARTICLES or not names:
        return {}
    return {"journal": names[-1], "journal_abbreviation": "" if short in given else short}


def _server(work: Mapping[str, object]) -> str:
    """The server of a preprint."""
    institutions = rows_of(work.get("institution"))
    named = text_of(institutions[0].get("name")) if institutions else ""
    return _plain_line(named or text_at(work, "publisher"))


def _date(work: Mapping[str, object]) -> str:
    dates = (date_of(work.get(name)) for name in _DATES)
    return next((date for date in dates if date != UNKNOWN_DATE), UNKNOWN_DATE)


def _name(author: Mapping[str, object]) -> AuthorName | None:
    """An author in parts; a group has only a name."""
    family, given, whole = (_plain_line(text_at(author, name)) for name in ("family", "given", "name"))
    return author_of(family, given, text_at(author, "suffix"), whole=whole)


def _registrations(work: Mapping[str, object]) -> Iterator[str]:
    for one in rows_of(work.get("clinical-trial-number")):
        number = text_at(one, "clinical-trial-number")
        if number:
            yield normalize_trial(number) or number


def _grants(work: Mapping[str, object]) -> Iterator[str]:
    for funder in rows_of(work.get("funder")):
        name = _plain_line(text_at(funder, "name"))
        for award in texts_of(list_of(funder.get("award"))) or ("",):
            if text := ", ".join(filter(None, (award, name))):
                yield text


def _licence(work: Mapping[str, object]) -> str:
    """The address of the licence of the published version; that for mining alone is no licence to reuse."""
    rows = [one for one in rows_of(work.get("license")) if one.get("content-version") != "tdm"]
    rows.sort(key=lambda one: one.get("content-version") != "vor")
    addresses = (text_at(one, "URL") for one in rows)
    return next((url for url in addresses if is_web_address(url) and not _FOR_MINING.search(url)), "")
