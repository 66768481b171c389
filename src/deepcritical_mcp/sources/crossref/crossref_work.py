"""A work of Crossref's as a publication."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.identifiers import normalize_doi, normalize_trial
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    PREPRINT,
    UNKNOWN_DATE,
    AuthorName,
    Publication,
    status_told_by,
)
from deepcritical_mcp.net.json_fields import list_of, rows_of, text_of, texts_of
from deepcritical_mcp.sources.crossref.crossref_client import NAME
from deepcritical_mcp.sources.crossref.crossref_updates import date_of, updates_of
from deepcritical_mcp.text import clean_line, clean_text
from deepcritical_mcp.urls import is_web_address

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

_NAMESPACE = re.compile(r"(</?)(?:jats|mml):")
_TEX = re.compile(r"<tex-math(?:\s[^<>]*)?>[^<]*</tex-math>")
_INLINE = re.compile(
    r"</?(?!(?:title|label|p|sec|list|list-item|break|br|disp-formula|div|li|ul|ol)\b)[a-z][a-z0-9-]*(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"<title(?:\s[^<>]*)?>([^<]*)</title>(?:\s{0,20}<p(?:\s[^<>]*)?>)?", re.IGNORECASE)
_BLOCK = re.compile(r"</?[a-z][a-z0-9-]*(?:\s[^<>]*)?/?>", re.IGNORECASE)
_NO_HEADING = ("abstract", "summary")


def read_work(work: Mapping[str, object]) -> Publication:
    """The record of a work, with its status."""
    doi, type = normalize_doi(text_of(work.get("DOI"))), text_of(work.get("type"))
    is_preprint = type == "posted-content" and text_of(work.get("subtype")) in _PREPRINTS
    title, notices = _title(work), updates_of(work)
    record = Publication.of(
        "abstract",
        plain_jats(text_of(work.get("abstract"))) or NO_ABSTRACT,
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
        volume=text_of(work.get("volume")),
        issue=text_of(work.get("issue")),
        pages=text_of(work.get("page")) or text_of(work.get("article-number")),
        issn=next(iter(texts_of(work.get("ISSN"))), ""),
        isbn=next(iter(texts_of(work.get("ISBN"))), ""),
        language=text_of(work.get("language")),
        publisher=_server(work) if is_preprint else _plain_line(text_of(work.get("publisher"))),
        publisher_place="" if is_preprint else text_of(work.get("publisher-location")),
        publication_types=(PREPRINT if is_preprint else type.replace("-", " ").title(),) if type else (),
        registrations=tuple(dict.fromkeys(_registrations(work))),
        grants=tuple(dict.fromkeys(_grants(work))),
        status=status_told_by(notices),
        status_notices=notices,
        status_checked=current_date().isoformat(),
    )
    licence = _licence(work)
    return record.model_copy(update={"texts": (record.text.model_copy(update={"licence": licence}),)})


def plain_jats(text: str) -> str:
    """An abstract without JATS, a section on each line with its heading in front: "Background: …"."""
    text = _INLINE.sub("", _TEX.sub("", _NAMESPACE.sub(r"\1", text)))
    lines = _BLOCK.sub("\n", _HEADING.sub(_heading, text)).split("\n")
    return clean_text("\n".join(filter(None, (" ".join(html.unescape(line).split()) for line in lines))))


def _heading(found: re.Match[str]) -> str:
    name = found[1].strip().rstrip(":.")
    return "\n" if name.lower() in _NO_HEADING or not name else f"\n{name}: "


def _plain_line(text: str) -> str:
    return clean_line(html.unescape(plain_jats(text)))


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
    return _plain_line(named or text_of(work.get("publisher")))


def _date(work: Mapping[str, object]) -> str:
    dates = (date_of(work.get(name)) for name in _DATES)
    return next((date for date in dates if date != UNKNOWN_DATE), UNKNOWN_DATE)


def _name(author: Mapping[str, object]) -> AuthorName | None:
    """An author in parts; a group has only a name."""
    family, given = _plain_line(text_of(author.get("family"))), _plain_line(text_of(author.get("given")))
    if not family:
        whole = _plain_line(text_of(author.get("name"))) or given
        return AuthorName(whole) if whole else None
    return AuthorName(family, given, text_of(author.get("suffix")))


def _registrations(work: Mapping[str, object]) -> Iterator[str]:
    for one in rows_of(work.get("clinical-trial-number")):
        number = text_of(one.get("clinical-trial-number"))
        if number:
            yield normalize_trial(number) or number


def _grants(work: Mapping[str, object]) -> Iterator[str]:
    for funder in rows_of(work.get("funder")):
        name = _plain_line(text_of(funder.get("name")))
        for award in texts_of(list_of(funder.get("award"))) or ("",):
            if text := ", ".join(filter(None, (award, name))):
                yield text


def _licence(work: Mapping[str, object]) -> str:
    """The address of the licence of the published version; that for mining alone is no licence to reuse."""
    rows = [one for one in rows_of(work.get("license")) if one.get("content-version") != "tdm"]
    rows.sort(key=lambda one: one.get("content-version") != "vor")
    addresses = (text_of(one.get("URL")) for one in rows)
    return next((url for url in addresses if is_web_address(url) and not _FOR_MINING.search(url)), "")
