"""What a witness says about a publication, laid against its record: the graver status counts, and who says what is
kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from deepcritical_mcp.identifiers import normalize_doi
from deepcritical_mcp.models import (
    NOTICE_LABELS,
    Publication,
    PublicationStatus,
    StatusNotice,
    gravest,
    status_label,
    status_told_by,
)

NOT_IN_PUBMED, NOT_IN_RECORD = "; PubMed does not say so", "; its record does not say so"
"""End the reference of a notice in which a witness contradicts the record."""
_GRAVE = ("retracted", "concern")
Notices = tuple[StatusNotice, ...]


def testified(record: Publication, notices: Notices, title: str, day: str) -> tuple[Publication, str]:
    """A record with what the witness of that title said about it on that day, and a remark if the two contradict each
    other on a retraction or concern. Of PubMed's records, PubMed says what is in order."""
    told, own = status_told_by(notices), record.status
    is_pubmeds = bool(record.pmid) and record.source == "pubmed"
    mark = NOT_IN_PUBMED if is_pubmeds else NOT_IN_RECORD
    new = (_signed(one, title, "" if _is_as_grave(own, one) else mark) for one in _new(record, notices))
    is_vouched = not is_pubmeds and not record.awaits_pubmed
    checked = max(record.status_checked, day) if is_vouched else record.status_checked
    in_order = _in_order((*record.status_notices, *new))
    completed = record.with_status(gravest((own, told)), checked, status_notices=in_order)
    contested = [one for one in completed.status_notices if one.reference.endswith(mark)]
    named, theirs = (f"PMID {record.pmid}", "PubMed") if is_pubmeds else (record.doi, "its record")
    remark = ""
    if contested:
        label, by = status_label(status_told_by(contested)), "; ".join(one.reference for one in contested)
        remark = f"{named} is marked {label} by {by.replace(mark, '')}, but not by {theirs}. The graver status counts."
    elif own in _GRAVE and told != own:
        remark = f"{named} is marked {status_label(own)} by {theirs}, but not by {title}. The graver status counts."
    return completed, remark


def with_status_of(fresh: Publication, kept: Publication) -> Publication:
    """`kept` with the status that its record has now, and what others have said about it that the record does not."""
    known = {(one.kind, one.doi) for one in fresh.status_notices if one.doi}
    others = [
        one
        for one in kept.status_notices
        if (one.pmid or (one.kind, one.doi) not in known)
        and not (one.reference.endswith(NOT_IN_PUBMED) and _is_as_grave(fresh.status, one))
    ]
    in_order = _in_order((*fresh.status_notices, *others))
    return kept.with_status(gravest((fresh.status, kept.status)), fresh.status_checked, status_notices=in_order)


def with_article_pmids(publication: Publication, pmids: Mapping[str, str]) -> Publication:
    """A preprint whose notices name the article not only by DOI, but also by the PMID, where `pmids` has it. An article
    that has a notice with the PMID needs no other."""
    known = {one.pmid for one in publication.status_notices if one.kind == "published"}
    notices: list[StatusNotice] = []
    for one in publication.status_notices:
        pmid = pmids.get(one.doi, "") if one.kind == "published" and not one.pmid else ""
        if not pmid:
            notices.append(one)
        elif pmid not in known:
            known.add(pmid)
            notices.append(one.model_copy(update={"pmid": pmid}))
    return publication.model_copy(update={"status_notices": tuple(dict.fromkeys(notices))})


def _is_as_grave(status: PublicationStatus, notice: StatusNotice) -> bool:
    """Whether a record with this status says what the notice says, or worse; only retractions and concerns count."""
    told = status_told_by([notice])
    return told not in _GRAVE or gravest((status, told)) == status


def _new(record: Publication, notices: Notices) -> Iterator[StatusNotice]:
    """The notices that the record does not have: by their DOI, or, where the record names others of the same kind
    without a DOI, as far as there are more of them. A preprint's article is the same only if its PMID is."""
    for kind in NOTICE_LABELS:
        own = [one for one in record.status_notices if one.kind == kind]
        dois = {normalize_doi(one.doi) for one in own}
        unknown = [one for one in notices if one.kind == kind and one.doi not in dois]
        yield from unknown if kind == "published" else unknown[sum(not one.doi for one in own) :]


def _signed(notice: StatusNotice, title: str, mark: str) -> StatusNotice:
    """A notice that says who the witness is, and that it contradicts the record."""
    by = f" ({title})" if notice.reference and title not in notice.reference else ""
    return notice.model_copy(update={"reference": f"{notice.reference}{by}{mark}"})


def _in_order(notices: Iterable[StatusNotice]) -> Notices:
    order = [*NOTICE_LABELS]
    return tuple(sorted(dict.fromkeys(notices), key=lambda notice: order.index(notice.kind)))
