"""What Crossref says happened to a work: `updated-by`, `update-to` and `relation` as notices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

from deepcritical_mcp.identifiers import normalize_doi
from deepcritical_mcp.models import UNKNOWN_DATE, NoticeKind, StatusNotice
from deepcritical_mcp.net.json_fields import field_at, list_of, mapping_of, number_of, rows_of, text_of

SELECT = "DOI,updated-by,update-to,relation"
"""The fields that are read here, for a request."""
# Crossref's types of updates.
_KINDS: Mapping[str, NoticeKind] = {
    "retraction": "retraction",
    "withdrawal": "retraction",
    "removal": "retraction",
    "expression_of_concern": "concern",
    "partial_retraction": "partial_retraction",
    "correction": "erratum",
    "corrigendum": "erratum",
    "erratum": "erratum",
    "addendum": "erratum",
    "clarification": "erratum",
    "new_version": "update",
    "new_edition": "update",
}
_SAYS_ITSELF = ("retraction", "partial_retraction", "expression_of_concern", "correction", "erratum", "new_version")
"""Types that the label of their kind says."""
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
    own = normalize_doi(text_of(work.get("DOI")))
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
            label = text_of(one.get("label")) or _type(one).replace("_", " ").capitalize()
            is_version = kind == "update"
            yield StatusNotice(
                kind="earlier" if is_version else "about", doi=doi, reference="" if is_version else label
            )


def _related(work: Mapping[str, object], own: str) -> Iterator[StatusNotice]:
    for name, kind in _RELATIONS.items():
        for one in rows_of(field_at(work, "relation", name)):
            doi = normalize_doi(text_of(one.get("id")))
            if text_of(one.get("id-type")).lower() == "doi" and doi and doi != own:
                yield StatusNotice(kind=kind, doi=doi)


def _report(update: Mapping[str, object]) -> str:
    """What it is, if its kind does not say so, who has reported it, and when."""
    type, date = _type(update), date_of(update.get("updated"))
    what = "" if type in _SAYS_ITSELF else f"{type.replace('_', ' ').capitalize()}: "
    who = _REPORTERS.get(text_of(update.get("source")), "Crossref")
    return f"{what}{who}{'' if date == UNKNOWN_DATE else f', {date}'}"


def _type(update: Mapping[str, object]) -> str:
    return re.sub("[ -]", "_", text_of(update.get("type")).strip().lower())


def _doi(update: Mapping[str, object]) -> str:
    doi = normalize_doi(text_of(update.get("DOI")))
    return doi if doi.startswith("10.") else ""


def date_of(value: object) -> str:
    """A date of Crossref's, `{"date-parts": [[2026, 9, 3]]}`, as "2026-09-03"; "Unknown" for `[[null]]` and none."""
    rows = list_of(mapping_of(value).get("date-parts"))
    parts = [int(number_of(one) or 0) for one in list_of(rows[0])[:3]] if rows else []
    known = takewhile(lambda pair: pair[1][0] <= pair[0] <= pair[1][1], zip(parts, _POSSIBLE, strict=False))
    return "-".join(f"{one:02d}" for one, _ in known) or UNKNOWN_DATE
