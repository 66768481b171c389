"""A work of Crossref's as a publication, with what Crossref says happened to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.dates import current_date, date_of_parts
from deepcritical_mcp.identifiers import normalize_doi, normalize_trial
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    PREPRINT,
    UNKNOWN_DATE,
    NoticeKind,
    Publication,
    StatusNotice,
    status_told_by,
)
from deepcritical_mcp.net.json_fields import (
    field_at,
    list_of,
    plain_abstract,
    rows_of,
    text_at,
    text_of,
    texts_of,
)
from deepcritical_mcp.sources.fields import authors_at, field_table, fields_at, json_texts, plain_line
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
    rows = list_of(field_at(value, "date-parts"))
    year, month, day = [*map(text_of, list_of(rows[0]) if rows else ()), "", "", ""][:3]
    return date_of_parts(year, month, day) or UNKNOWN_DATE


_FIELDS, _AUTHOR = field_table(__file__, "fields.txt"), field_table(__file__, "author_fields.txt")
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
    fields, type = fields_at(work, _FIELDS, json_texts), text_at(work, "type")
    is_preprint = type == "posted-content" and text_at(work, "subtype") in _PREPRINTS
    title, notices = _title(work, str(fields["title"])), updates_of(work)
    if is_preprint:  # of the server that has it
        server = next(iter(json_texts(work, "institution.name")), "")
        fields |= {"publisher": plain_line(server) or fields["publisher"], "publisher_place": ""}
    dates = (date_of(work.get(name)) for name in _DATES)
    trials = json_texts(work, "clinical-trial-number.clinical-trial-number")
    more = {
        "title": title or NO_TITLE,
        "url": f"https://doi.org/{fields['doi']}",
        "date": next((date for date in dates if date != UNKNOWN_DATE), UNKNOWN_DATE),
        "electronic_date": date_of(work.get("published-online")),
        "authors": authors_at(rows_of(work.get("author")), _AUTHOR, json_texts),
        "editors": authors_at(rows_of(work.get("editor")), _AUTHOR, json_texts),
        "publication_types": (PREPRINT if is_preprint else type.replace("-", " ").title(),) if type else (),
        "registrations": tuple(dict.fromkeys(normalize_trial(number) or number for number in trials)),
        "grants": tuple(dict.fromkeys(_grants(work))),
        "status": status_told_by(notices),
        "status_notices": notices,
        "status_checked": current_date().isoformat(),
        "licence": _licence(work),
    }
    source = "preprint" if is_preprint else "web"
    abstract = plain_abstract(text_at(work, "abstract")) or NO_ABSTRACT
    return Publication.of(
        "abstract", abstract, provider=NAME, source=source, **(fields | _container(work, type, title) | more)
    )


def _title(work: Mapping[str, object], title: str) -> str:
    """The title with its subtitle, which many publishers give apart."""
    subtitle = plain_line(next(iter(texts_of(work.get("subtitle"))), ""))
    if not title or not subtitle or subtitle.casefold() in title.casefold():
        return title
    return f"{title} {subtitle}" if title.endswith((":", "?", "!", "—", "–")) else f"{title}: {subtitle}"


def _container(work: Mapping[str, object], type: str, title: str) -> dict[str, str]:
    """The journal, or the book: the last name that is not that of the book's series."""
    given = [plain_line(name) for name in texts_of(work.get("container-title"))]
    names = [name for name in given if not _SERIES.search(name)] or given
    short = plain_line(next(iter(texts_of(work.get("short-container-title"))), ""))
    if type in _CHAPTERS and names:
        return {"book_title": names[-1]}
    if type in _BOOKS:
        return {"book_title": title}
    if type not in _ARTICLES or not names:
        return {}
    return {"journal": names[-1], "journal_abbreviation": "" if short in given else short}


def _grants(work: Mapping[str, object]) -> Iterator[str]:
    for funder in rows_of(work.get("funder")):
        name = plain_line(text_at(funder, "name"))
        for award in texts_of(list_of(funder.get("award"))) or ("",):
            if text := ", ".join(filter(None, (award, name))):
                yield text


def _licence(work: Mapping[str, object]) -> str:
    """The address of the licence of the published version; that for mining alone is no licence to reuse."""
    rows = [one for one in rows_of(work.get("license")) if one.get("content-version") != "tdm"]
    rows.sort(key=lambda one: one.get("content-version") != "vor")
    addresses = (text_at(one, "URL") for one in rows)
    return next((url for url in addresses if is_web_address(url) and not _FOR_MINING.search(url)), "")
