"""What a record's links to other records, and its types, say about its status."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from deepcritical_mcp.models.evidence import PREPRINT
from deepcritical_mcp.models.publication import NOTICE_LABELS, NoticeKind, PublicationStatus, StatusNotice, gravest
from deepcritical_mcp.text import data_lines

_ROWS = [row.split(" | ") for row in data_lines(__file__, "record_links.txt")]
_LINKS: dict[str, tuple[NoticeKind, PublicationStatus]] = {
    name: (cast(NoticeKind, kind), cast(PublicationStatus, status)) for name, kind, status in _ROWS if kind
}
_TYPES: dict[str, PublicationStatus] = {
    name: cast(PublicationStatus, status) for name, kind, status in _ROWS if not kind
}
# What replaces its earlier version when it is updated; a trial whose follow-up is reported elsewhere is not replaced.
_UPDATED_AS_A_WHOLE = frozenset(
    {"review", "systematic review", "meta-analysis", "guideline", "practice guideline"}
    | {"consensus development conference"}
)
_PREPRINT_SERVERS = frozenset(
    {"arxiv", "biorxiv", "chemrxiv", "medrxiv", "preprints", "psyarxiv", "res sq", "researchsquare", "ssrn"}
)
"""Their abbreviations in PubMed's references ("Res Sq. 2022 Jun 29:…")."""
_DOI = re.compile(r"\bdoi: ?(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)


_STATUS_OF: Mapping[NoticeKind, PublicationStatus] = {
    "retraction": "retracted",
    "partial_retraction": "corrected",
    "concern": "concern",
    "erratum": "corrected",
    "update": "superseded",
    "about": "notice",
}


class RecordLink(NamedTuple):
    """A link to another record.

    Attributes:
        kind: PubMed's name of it, "RetractionIn", Europe PMC's, "Retraction in", or JATS', "retraction-forward".
        reference: how the other record is cited.
    """

    kind: str
    reference: str = ""
    pmid: str = ""


def status_from_links(
    links: Iterable[RecordLink], publication_types: Sequence[str], journal: str
) -> tuple[PublicationStatus, tuple[StatusNotice, ...]]:
    """A record's most severe status, and its notices in the order of `NOTICE_LABELS`.

    `journal` is the abbreviation of its journal.
    """
    types = {name.lower() for name in publication_types}
    statuses: list[PublicationStatus] = ["ok", *(status for name, status in _TYPES.items() if name in types)]
    notices: list[StatusNotice] = []
    for link in links:
        found = _meaning(re.sub("[ -]", "", link.kind).lower(), link.reference, types, journal)
        if found is None:
            continue
        kind, status = found
        doi = match[1].rstrip(".,;") if (match := _DOI.search(link.reference)) else ""
        statuses.append(status)
        notices.append(StatusNotice(kind=kind, pmid=link.pmid, doi=doi, reference=link.reference))
    notices.sort(key=lambda notice: [*NOTICE_LABELS].index(notice.kind))
    return gravest(statuses), tuple(notices)


def status_told_by(notices: Iterable[StatusNotice]) -> PublicationStatus:
    """The status of a record if `notices` is all that a witness says about it."""
    return gravest(("ok", *(_STATUS_OF.get(notice.kind, "ok") for notice in notices)))


def _meaning(kind: str, reference: str, types: set[str], journal: str) -> tuple[NoticeKind, PublicationStatus] | None:
    if kind == "updateof":
        return ("preprint" if _is_preprint(reference) else "earlier"), "ok"
    if kind != "updatein":
        return _LINKS.get(kind)
    if PREPRINT.lower() in types and not _is_preprint(reference):
        return "published", "ok"
    if _is_preprint(reference):
        return "update", "superseded" if PREPRINT.lower() in types else "ok"
    replaced = types & _UPDATED_AS_A_WHOLE or (journal and _journal(reference) == _journal(journal))
    return "update", "superseded" if replaced else "ok"


def _is_preprint(reference: str) -> bool:
    return _journal(reference) in _PREPRINT_SERVERS


def _journal(reference: str) -> str:
    """The journal of a citation such as "Cochrane Database Syst Rev. 2004;(1):CD002020"."""
    name = re.split(r"\. ?(?=[0-9]{4})|(?= [0-9]{4})", reference, maxsplit=1)[0]
    return name.replace(".", "").strip().lower()
