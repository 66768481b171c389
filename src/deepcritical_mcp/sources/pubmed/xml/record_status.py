"""What a record's links to other records, and its types, say about its status."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from deepcritical_mcp.models import NOTICE_LABELS, PREPRINT, NoticeKind, PublicationStatus, StatusNotice, gravest
from deepcritical_mcp.sources.pubmed.elements import text_at

# The RefType of CommentsCorrections: what kind of notice it is, and the status of the record that has it. A partial
# retraction retracts parts of a paper, so the paper counts as corrected. "RepublishedIn" does not say whether the
# new version corrects anything.
_LINKS: dict[str, tuple[NoticeKind, PublicationStatus]] = {
    "RetractionIn": ("retraction", "retracted"),
    "RetractedandRepublishedIn": ("retraction", "retracted"),
    "ExpressionOfConcernIn": ("concern", "concern"),
    "PartialRetractionIn": ("retraction", "corrected"),
    "CorrectedandRepublishedIn": ("erratum", "corrected"),
    "ErratumIn": ("erratum", "corrected"),
    "CorrectedandRepublishedFrom": ("earlier", "corrected"),
    "RetractedandRepublishedFrom": ("earlier", "corrected"),
    "RepublishedFrom": ("earlier", "ok"),
    "RepublishedIn": ("republished", "ok"),
    "RetractionOf": ("about", "notice"),
    "PartialRetractionOf": ("about", "notice"),
    "ErratumFor": ("about", "notice"),
    "ExpressionOfConcernFor": ("about", "notice"),
    "CommentOn": ("about", "notice"),
}
_TYPES: dict[str, PublicationStatus] = {
    "retracted publication": "retracted",
    "corrected and republished article": "corrected",
    "retraction of publication": "notice",
    "retraction notice": "notice",
    "published erratum": "notice",
    "expression of concern": "notice",
    "comment": "notice",
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


def status_of(
    citation: Element, publication_types: Sequence[str], journal: str
) -> tuple[PublicationStatus, tuple[StatusNotice, ...]]:
    """A record's most severe status, and its notices in the order of `NOTICE_LABELS`.

    `citation` has the record's CommentsCorrectionsList, `journal` is the abbreviation of its journal.
    """
    types = {name.lower() for name in publication_types}
    statuses: list[PublicationStatus] = ["ok", *(status for name, status in _TYPES.items() if name in types)]
    notices: list[StatusNotice] = []
    for link in citation.iterfind("CommentsCorrectionsList/CommentsCorrections"):
        reference = text_at(link, "RefSource")
        found = _link(link.get("RefType", ""), reference, types, journal)
        if found is None:
            continue
        kind, status = found
        doi = match[1].rstrip(".,;") if (match := _DOI.search(reference)) else ""
        statuses.append(status)
        notices.append(StatusNotice(kind=kind, pmid=text_at(link, "PMID"), doi=doi, reference=reference))
    notices.sort(key=lambda notice: [*NOTICE_LABELS].index(notice.kind))
    return gravest(statuses), tuple(notices)


def _link(kind: str, reference: str, types: set[str], journal: str) -> tuple[NoticeKind, PublicationStatus] | None:
    if kind == "UpdateOf":
        return ("preprint" if _is_preprint(reference) else "earlier"), "ok"
    if kind != "UpdateIn":
        return _LINKS.get(kind)
    if PREPRINT.lower() in types and not _is_preprint(reference):
        return "published", "ok"
    if _is_preprint(reference):
        return "update", "superseded" if PREPRINT.lower() in types else "ok"
    replaced = types & _UPDATED_AS_A_WHOLE or (journal and _journal(reference) == _plain(journal))
    return "update", "superseded" if replaced else "ok"


def _is_preprint(reference: str) -> bool:
    return _journal(reference) in _PREPRINT_SERVERS


def _journal(reference: str) -> str:
    """The journal of a citation such as "Cochrane Database Syst Rev. 2004;(1):CD002020"."""
    return _plain(re.split(r"\. ?(?=[0-9]{4})|(?= [0-9]{4})", reference, maxsplit=1)[0])


def _plain(journal: str) -> str:
    return journal.replace(".", "").strip().lower()
