"""What the providers of full texts said about a document, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import RecordIds, is_preprint_doi
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    Attempt,
    CitationSource,
    DocumentStatus,
    Part,
    Publication,
    StatusNotice,
    Text,
    TextKind,
    is_marked,
    merged,
    vancouver,
)
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.search.copy_check import contradiction, doubt, ids_in, is_preview, page_as_claim
from deepcritical_mcp.search.record_finder import PUBMED, Lookup, is_paper
from deepcritical_mcp.sources.full_text import Copy
from deepcritical_mcp.urls import host_of


@dataclass
class Climb:
    """What the providers said so far, one after the other.

    Attributes:
        is_page: whether the copy is a page or file, whose numbers are claims.
        refused: such a copy that is not what was asked for, from the address that was given.
        remarks: what to know about its claims.
        namesakes: the retracted papers that have its title and first author.
    """

    lookup: Lookup
    attempts: list[Attempt]
    failures: list[ProviderError]
    addresses: list[str]
    copy: Copy | None = None
    provider: str = ""
    is_page: bool = False
    refused: Copy | None = None
    remarks: list[str] = field(default_factory=list[str])
    namesakes: tuple[StatusNotice, ...] = ()

    def note(self, provider: str, status: str, detail: str = "") -> None:
        self.attempts.append(Attempt.model_validate({"provider": provider, "status": status, "detail": detail}))


def judged(answer: Copy, lookup: Lookup, *, is_page: bool) -> tuple[DocumentStatus, str]:
    """What an answer means: its own status, unless the text is another document's, or only the abstract."""
    reading = answer.reading
    if answer.status != "full_text" or reading is None:
        return answer.status, answer.detail
    if not reading.content:
        return "no_text", answer.detail or "There is no text inside."
    is_named = host_of(answer.url) not in map(host_of, lookup.wanted.urls)
    if problem := contradiction(lookup.record, lookup.wanted.ids, reading, is_page=is_page, is_named=is_named):
        return "not_found", problem
    if is_page and is_paper(lookup.wanted.ids) and is_preview(lookup.record, reading):
        return "abstract_only", "The page has the abstract or a preview, not the whole text."
    told = "" if is_page else doubt(lookup.record, reading)
    return "full_text", " ".join(filter(None, (answer.detail, told)))


def final_status(climb: Climb) -> DocumentStatus:
    """What to say if nobody gave the text: whether somebody has it comes before whether nobody has it."""
    if climb.copy:
        return "full_text"
    said = {attempt.status for attempt in climb.attempts}
    if "not_allowed" in said:
        return "not_allowed"
    if "no_text" in said:
        return "no_text"
    return "abstract_only" if climb.lookup.record or "abstract_only" in said else "not_found"


def outages_of(climb: Climb) -> Iterator[str]:
    """What failed, if that may be why there is no text or no record."""
    if climb.copy is None and climb.failures:
        yield (
            "Not everybody answered, so there may be a full text all the same; asking again may help: "
            + " ".join(dict.fromkeys(error.message for error in climb.failures))
        )
    elif climb.copy and not climb.remarks and (reason := _no_pubmed_record(climb.lookup)):
        record = climb.lookup.record
        if record and record.text.provider != climb.provider:
            yield f"The citation is from {record.text.provider}, not PubMed, which may know of a retraction: {reason}"
        else:
            yield (
                "The citation is what the text says about itself, and whether it was retracted is unknown: " + reason
            )


def _no_pubmed_record(lookup: Lookup) -> str:
    """Why PubMed did not describe a paper that it may have; "" if it did, or has nothing to say about it."""
    if lookup.record is None and lookup.failures:
        return f"the record could not be looked up: {lookup.failures[0].message}"
    if lookup.unasked:
        return lookup.unasked
    asked = (one for one in lookup.attempts if one.provider == PUBMED and one.status in ("failed", "not_found"))
    return next((one.detail for one in asked), "")


def unconfirmed(claim: Publication, records: Sequence[Publication], lookup: Lookup) -> str:
    """What a page or text claims to be, and why it is kept as itself."""
    named, outage = " and ".join(claim.claims), next((error.message for error in lookup.failures), "")
    if records:
        why = f"that is another paper, which differs in title or first author ({vancouver(records[0])})"
    elif outage:
        why = f"its record could not be looked up: {outage}"
    else:
        why = "nobody has a record of it"
    return (
        f"It claims to be {named}, which is not confirmed: {why.rstrip('.')}. It is kept as itself, not as that paper."
    )


def publication_of(climb: Climb) -> Publication | None:
    """The record with the text; without a record, what the text says about itself; None without either."""
    record, copy, ids = climb.lookup.record, climb.copy, climb.lookup.wanted.ids
    reading = copy.reading if copy else None
    if copy is None or reading is None:
        return record
    is_known = is_paper(ids) and (record is not None or any(ids_in(reading)))
    is_claim = record is None and climb.is_page
    kind: TextKind = "page" if is_claim else "registration" if ids.nct else "full_text" if is_known else "page"
    text = Text(
        kind=kind,
        content=reading.content,
        provider=climb.provider,
        parts=reading.parts or (Part(anchor="s0"),),
        licence=reading.licence,
        url=copy.url,
        is_ocr=reading.is_ocr,
        remarks=reading.remarks,
    )
    if is_claim:
        page = page_as_claim(reading, ids=climb.lookup.given, provider=climb.provider, url=copy.url)
        return page.model_copy(update={"texts": (text,), "status_notices": climb.namesakes})
    has_abstract = record and any(one.kind == "abstract" and one.content != NO_ABSTRACT for one in record.texts)
    texts = (text,)
    if reading.abstract and not has_abstract:
        texts = (Text(kind="abstract", content=reading.abstract, provider=climb.provider), text)
    if record:
        pmcid = record.pmcid or ids.pmcid or ("" if climb.is_page else ids_in(reading).pmcid)
        read = {"accessed": current_date().isoformat()} if kind == "page" else {}
        fields = {"texts": texts, "pmcid": pmcid, **read} | _own_status(record, reading)
        return merged(record, record.model_copy(update=fields))
    return _described(reading, copy, ids, texts)


def _own_status(record: Publication, reading: Reading) -> dict[str, object]:
    """What the text says about its status, if the record says nothing."""
    named = ("status", "status_notices") if not is_marked(record.status) and not record.status_notices else ()
    return {name: reading.fields[name] for name in named if name in reading.fields}


def _described(reading: Reading, copy: Copy, ids: RecordIds, texts: tuple[Text, ...]) -> Publication:
    """A publication as its text describes it; with the identifiers that were asked for only if it has them too."""
    own = ids_in(reading)
    known = {name: number for name, number in own._asdict().items() if number}
    if any(own) or ids.nct:
        known = {name: number for name, number in ids._asdict().items() if number} | known
    fields = {"title": NO_TITLE, **reading.fields, **known}
    source: CitationSource = "web"
    if known.get("nct"):
        source = "trial"
    elif known:
        source = "preprint" if is_preprint_doi(own.doi) else "pubmed"
    fields = {name: value for name, value in fields.items() if name in Publication.model_fields}
    first = texts[0]
    page = Publication.of(
        first.kind, first.content, provider=first.provider, **({"url": copy.url} | fields | {"source": source})
    )
    read = {"accessed": current_date().isoformat()} if source == "web" else {}
    return page.model_copy(update={"texts": texts, **read})
