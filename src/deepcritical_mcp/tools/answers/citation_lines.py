"""What the readable form says of a citation: its reference, its numbers, and its links to other publications."""

from __future__ import annotations

from collections.abc import Iterator

from deepcritical_mcp.identifiers import normalize_trial
from deepcritical_mcp.models import (
    MAX_TRIAL_PAPERS,
    NOTICE_LABELS,
    USER,
    Citation,
    Evidence,
    NoticeKind,
    StatusNotice,
    split_text_id,
)
from deepcritical_mcp.text import counted, inert
from deepcritical_mcp.urls import is_web_address

_TYPES_NOT_SHOWN = ("Journal Article", "Research Support")
"""Publication types that tell nothing: nearly every record is of the first, and the others name who paid."""
_MAX_REGISTRATIONS = 5
_IN_HEADING: tuple[NoticeKind, ...] = ("retraction", "partial_retraction", "concern", "erratum", "update")
"""Notices that the heading names with the status."""
TRIAL_PAPERS: tuple[NoticeKind, ...] = ("result", "derived")
"""Notices that name the papers of a trial."""


def types_shown(citation: Citation) -> tuple[str, ...]:
    """The publication types that tell something."""
    return tuple(one for one in citation.publication_types if not one.startswith(_TYPES_NOT_SHOWN))


def url_shown(citation: Citation) -> str:
    """The address of what has no PMID, if the reference does not have it."""
    is_missing = is_web_address(citation.url) and not citation.pmid and citation.url not in citation.reference
    return citation.url if is_missing else ""


def provider_shown(provider: str, citation: Citation, kind: str = "") -> str:
    """Who delivered a text of that kind, if a reader has to be told: not PubMed its abstracts, nor the user what is
    theirs."""
    is_plain = (citation.pmid and kind == "abstract") or provider == citation.source == USER
    return "" if is_plain else provider


def numbers_shown(citation: Citation) -> tuple[str, ...]:
    """The first registrations, and the trial's number if neither they nor the reference have it."""
    numbers = citation.registrations[:_MAX_REGISTRATIONS]
    is_named = any(citation.nct in one for one in (citation.reference, *numbers))
    return numbers if is_named else (*numbers, citation.nct)


def _numbers(citation: Citation) -> Iterator[str]:
    """The trials that a paper registers, as `add_evidence` takes them; of a trial, its former numbers and those of
    other registers."""
    others = list[str]()
    for number in numbers_shown(citation):
        trial = normalize_trial(number)
        if citation.source != "trial":
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


def reference_shown(citation: Citation) -> str:
    """The reference without the title, which stands next to it: "Smith A, Lee B. JAMA. 2020;324(1):1-9."."""
    before, title, after = f". {citation.reference}".partition(f". {citation.title.removesuffix('.')}")
    return f"{before}. {after.lstrip('.?! ')}".removeprefix(". ").strip() if len(title) > 2 else citation.reference


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
    yield from (f"{NOTICE_LABELS['published']} {_published(one)}" for one in published)
    yield f"Reference: {inert(reference_shown(citation))}"
    numbers = [*_numbers(citation)]
    more = max(len(citation.registrations) - _MAX_REGISTRATIONS, 0)
    unpublished = "its record names no published article" if citation.source == "preprint" and not published else ""
    facts = (
        *types_shown(citation),
        unpublished,
        *numbers,
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
    if url := url_shown(citation):
        yield inert(url)


def _published(notice: StatusNotice) -> str:
    """The article that a preprint became, to be cited in its place."""
    address = inert(f"https://pubmed.ncbi.nlm.nih.gov/{notice.pmid}/")
    number = f"PMID {inert(notice.pmid)} {address}" if notice.pmid else inert(notice.own_doi)
    place = f"({inert(_place(notice))})" if number and notice.reference else inert(_place(notice))
    return " ".join(filter(None, (number, place)))


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
