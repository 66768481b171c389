"""The structured form of results: what is empty or usual is absent, and nothing stands twice.

It says what the readable form says. Of a citation it has the title, the reference without it, and what this does not
say; exports have every field of a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from deepcritical_mcp.checking.report_text import MAX_WRITTEN, is_sound, ranges
from deepcritical_mcp.identifiers import normalize_trial
from deepcritical_mcp.models import (
    MAX_TRIAL_PAPERS,
    NOTICE_LABELS,
    SAME,
    SESSION,
    USER,
    CheckedRecord,
    CheckedReference,
    Citation,
    CitationReport,
    Document,
    Evidence,
    EvidenceList,
    EvidencePage,
    EvidenceSummary,
    NoticeKind,
    SearchResult,
    StatusNotice,
    is_marked,
    split_text_id,
)
from deepcritical_mcp.text import clipped, counted, inert
from deepcritical_mcp.urls import is_web_address

_ALWAYS = ("total_found", "total")
"""Sent even if it is 0, so that an empty answer says so."""


def structured(result: BaseModel) -> dict[str, Any]:
    """The wire form of a result."""
    lean = _LEAN.get(type(result))
    wire = (lean(result) if lean else result).model_dump(mode="json", exclude_defaults=True)
    return {**wire, **{name: getattr(result, name) for name in _ALWAYS if name in type(result).model_fields}}


def wire_length(result: BaseModel) -> int:
    """Characters of the structured form as it is sent: compact JSON."""
    return len(json.dumps(structured(result), ensure_ascii=False, separators=(",", ":")))


def lean_citation(citation: Citation, *, whole: bool = False) -> Citation:
    """A citation without what its reference says; with `whole`, its notices with all that is known of them.

    The reference is without the title, which stands next to it: "Smith A, Lee B. JAMA. 2020;324(1):1-9.". The address
    is that of what has no PMID. The first registrations are given, and the trial's number if they do not have it.
    """
    before, title, after = f". {citation.reference}".partition(f". {citation.title.removesuffix('.')}")
    reference = f"{before}. {after.lstrip('.?! ')}".removeprefix(". ").strip() if len(title) > 2 else citation.reference
    has_url = is_web_address(citation.url) and not citation.pmid and citation.url not in citation.reference
    numbers = citation.registrations[:_MAX_REGISTRATIONS]
    is_named = any(citation.nct in one for one in (citation.reference, *numbers))
    types = citation.publication_types
    return Citation.model_construct(
        source=citation.source,
        title=citation.title,
        reference=reference,
        url=citation.url if has_url else "",
        publication_types=tuple(one for one in types if not one.startswith(_TYPES_NOT_SHOWN)),
        registrations=numbers if is_named else (*numbers, citation.nct),
        claims=citation.claims,
        status="ok" if citation.source == USER and not is_marked(citation.status) else citation.status,
        status_checked=citation.status_checked,
        status_notices=citation.status_notices if whole else tuple(map(_brief, citation.status_notices)),
    )


def _brief(notice: StatusNotice) -> StatusNotice:
    """A notice by its number, if it has one."""
    if not (notice.pmid or notice.doi):
        return notice
    return StatusNotice.model_construct(kind=notice.kind, pmid=notice.pmid, doi="" if notice.pmid else notice.doi)


def _items(evidence: Sequence[Evidence], queries: int, *, whole: bool = False) -> tuple[Evidence, ...]:
    """The items; what belongs to a publication stands with the first of its texts."""
    first = {publication_key(item): item for item in reversed(evidence)}
    items: list[Evidence] = []
    for item in evidence:
        update: dict[str, object] = {
            "citation": lean_citation(item.citation, whole=whole),
            "provider": provider_shown(item.provider, item.citation, item.kind),
            "content_truncated": item.content_truncated and not item.anchor,
            "found_by": item.found_by if queries > 1 else (),
        }
        if item is not first[publication_key(item)]:
            update |= {"citation": SAME, "similar": (), "notes": (), "decision": ""}
        items.append(item.but(**update))
    return tuple(items)


def _search(result: SearchResult) -> SearchResult:
    queries = () if [one.query for one in result.queries] == [result.query] else result.queries
    return result.but(evidence=_items(result.evidence, len(queries)), queries=queries)


def _page(result: EvidencePage) -> EvidencePage:
    return result.but(
        items=tuple(map(_summary, result.items)),
        statuses={one: count for one, count in result.statuses.items() if one != "ok"},
        sources={} if {*result.sources} == {"pubmed"} else result.sources,
        matching=result.matching if result.matching < result.total else -1,
    )


def _summary(item: EvidenceSummary) -> EvidenceSummary:
    """A line with what happened to it; when its status was asked is told once for all."""
    if is_marked(item.status):
        return item.but(status_notices=tuple(map(_brief, item.status_notices)))
    published = tuple(_brief(one) for one in item.status_notices if one.kind == "published")
    status = "ok" if item.source == USER and not item.about else item.status
    return item.but(status=status, status_checked="", status_notices=published)


def _document(result: Document) -> Document:
    provider = provider_shown(result.provider, result.citation)
    attempts = tuple(one for one in result.attempts if one.provider != SESSION)
    return result.but(citation=lean_citation(result.citation), provider=provider, attempts=attempts)


def _report(result: CitationReport) -> CitationReport:
    """Without what a sound reference says, counts of nothing, and those of entries that were all read and checked."""
    named = [one.index for one in result.references if is_sound(one) and not one.written]
    total = result.counts.get("references", 0)
    usual = {name for name in ("entries", "checked") if result.counts.get(name) == total}
    brief = [one.but(quote=clipped(one.quote, MAX_WRITTEN), passage="") for one in result.quotations]
    pairs = zip(result.quotations, brief, strict=True)
    return result.but(
        references=tuple(_reference(one) for one in result.references if one.index not in named),
        verified=ranges(named),
        quotations=tuple(short if one.verdict == "verbatim" else one for one, short in pairs),
        counts={name: count for name, count in result.counts.items() if count and name not in usual},
    )


def _reference(one: CheckedReference) -> CheckedReference:
    """The beginning of what is written, which the draft has, and its record by the id."""
    records = [_record(record, one) for record in (one.record, *one.candidates) if record]
    label = "" if one.label == str(one.index) else one.label
    record, candidates = (records[0], records[1:]) if one.record else (None, records)
    written = clipped(one.written, MAX_WRITTEN)
    return one.but(label=label, written=written, record=record, candidates=tuple(candidates))


def _record(record: CheckedRecord, of: CheckedReference) -> CheckedRecord:
    is_said = record.reference in of.reason or (record is of.record and bool(of.written))
    reference = "" if is_said else record.reference
    status = record.status if is_marked(record.status) else "unchecked"
    return CheckedRecord.model_construct(id=record.id, reference=reference, status=status)


_LEAN: Mapping[type[BaseModel], Callable[[Any], BaseModel]] = {
    SearchResult: _search,
    EvidenceList: lambda one: one.but(evidence=_items(one.evidence, len(one.queries), whole=True)),
    EvidencePage: _page,
    Document: _document,
    CitationReport: _report,
}


_TYPES_NOT_SHOWN = ("Journal Article", "Research Support")
"""Publication types that tell nothing: nearly every record is of the first, and the others name who paid."""
_MAX_REGISTRATIONS = 5
_IN_HEADING: tuple[NoticeKind, ...] = ("retraction", "partial_retraction", "concern", "erratum", "update")
"""Notices that the heading names with the status."""
TRIAL_PAPERS: tuple[NoticeKind, ...] = ("result", "derived")
"""Notices that name the papers of a trial."""


def provider_shown(provider: str, citation: Citation, kind: str = "") -> str:
    """Who delivered a text of that kind, if a reader has to be told: not PubMed its abstracts, nor the user what is
    theirs."""
    is_plain = (citation.pmid and kind == "abstract") or provider == citation.source == USER
    return "" if is_plain else provider


def _numbers(shown: Citation) -> Iterator[str]:
    """The trials that a paper registers, as `add_evidence` takes them; of a trial, its former numbers and those of
    other registers."""
    others = list[str]()
    for number in shown.registrations:
        trial = normalize_trial(number)
        if shown.source != "trial":
            yield f"trial {trial}" if trial else number  # others as PubMed writes them, "GEO/GSE1"
        elif trial.startswith("NCT"):
            yield f"formerly {trial}"
        else:
            others.append(number)
    if others:
        yield f"other numbers: {', '.join(others)}"


def paper_lines(citation: Citation) -> Iterator[str]:
    """A trial's papers by their PMIDs, a line for each kind, and how to see all of them."""
    papers = [notice for notice in citation.status_notices if notice.kind in TRIAL_PAPERS]
    for kind in TRIAL_PAPERS:
        named = [
            f"PMID {one.pmid}" + (f" ({one.reference})" if one.reference else "") if one.pmid else one.reference
            for one in papers
            if one.kind == kind
        ]
        if named:
            yield f"{NOTICE_LABELS[kind]}: {'; '.join(map(inert, named))}"
    if len(papers) >= MAX_TRIAL_PAPERS:
        yield f'All of its papers: get_full_text(id="{citation.nct}", sections=["References"])'


def publication_key(item: Evidence) -> tuple[str, str]:
    """The same for all texts of one publication in one session."""
    return split_text_id(item.id)[0], item.session_id


def source_lines(citation: Citation) -> Iterator[str]:
    """As Markdown, the reference, and what it does not say: publication types, other versions, a page's URL."""
    if citation.source == "user":
        if citation.reference.startswith("Note on "):
            yield inert(citation.reference)
        return
    published = [notice for notice in citation.status_notices if notice.kind == "published"]
    for one in published:  # the article that a preprint became, to be cited in its place
        address = inert(f"https://pubmed.ncbi.nlm.nih.gov/{one.pmid}/")
        number = f"PMID {inert(one.pmid)} {address}" if one.pmid else inert(one.own_doi)
        place = f"({inert(_place(one))})" if number and one.reference else inert(_place(one))
        yield " ".join(filter(None, (NOTICE_LABELS["published"], number, place)))
    shown = lean_citation(citation)
    yield f"Reference: {inert(shown.reference)}"
    more = max(len(citation.registrations) - _MAX_REGISTRATIONS, 0)
    unpublished = "its record names no published article" if citation.source == "preprint" and not published else ""
    facts = (
        *shown.publication_types,
        unpublished,
        *_numbers(shown),
        f"and {counted(more, 'more number')}" if more else "",
        citation.asked,
    )
    if any(facts):
        yield " · ".join(inert(one) for one in facts if one)
    for notice in citation.status_notices:
        if notice.kind not in (*_IN_HEADING, "published", *TRIAL_PAPERS):
            yield f"{NOTICE_LABELS[notice.kind]}: {inert(_where(notice))}"
    yield from paper_lines(citation)
    own = (f"PMID {citation.pmid}", citation.pmcid, f"doi:{citation.doi.lower()}", citation.nct)
    if claims := [one for one in citation.claims if one not in own]:
        yield f"Claims to be {' and '.join(claims)}, which no record confirms: cite it as itself"
    if shown.url:
        yield inert(shown.url)


def notices_in_heading(citation: Citation) -> str:
    """Where the notices stand that the heading names; what each is, if the status does not say so."""
    notices = [notice for notice in citation.status_notices if notice.kind in _IN_HEADING]
    kinds = [NOTICE_LABELS[one.kind].lower() if one.kind == "partial_retraction" else "" for one in notices]
    places = [f"PMID {one.pmid}" if one.pmid else _where(one) for one in notices]
    named = [", ".join(filter(None, pair)) for pair in zip(kinds, places, strict=True)]
    return f" (notice: {inert('; '.join(filter(None, named)))})" if any(named) else ""


def _where(notice: StatusNotice) -> str:
    """Its reference and its PMID, or else its DOI, if the reference does not have it."""
    place = _place(notice)
    if notice.pmid:
        return f"{place} PMID {notice.pmid}".strip()
    return place if notice.doi in place.lower() else ", ".join(filter(None, (f"doi:{notice.doi}", place)))


def notice_line(notice: StatusNotice) -> str:
    numbers = [f"PMID {notice.pmid}" if notice.pmid else "", f"doi:{notice.doi}" if notice.doi else ""]
    return f"{notice.kind}: {'; '.join(filter(None, (_place(notice), *numbers)))}"


def _place(notice: StatusNotice) -> str:
    """Its reference; one without pages ends in a colon."""
    return notice.reference.rstrip(" :;,")
