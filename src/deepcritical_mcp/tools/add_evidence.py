"""The tool `add_evidence`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

from anyio import to_thread
from pydantic import Field

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.models import (
    USER,
    AddedItem,
    AddResult,
    DuplicateItem,
    Publication,
    RecordCandidate,
    RejectedItem,
    SimilarItem,
    is_marked,
    merged,
    status_label,
    vancouver,
)
from deepcritical_mcp.search.documents import PUBMED_OFF, FoundRecord
from deepcritical_mcp.text import clean_line, clean_text, counted
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    decider,
    progress_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import OtherSession
from deepcritical_mcp.tools.evidence_items import (
    EvidenceItem,
    claimed_document,
    date_of,
    decidable,
    decided,
    one_by_one,
    problem_of,
    publication_of,
    requests_for,
    shown,
    wanted_document,
)
from deepcritical_mcp.tools.own_library import declared, has_file, imported, shortened
from deepcritical_mcp.tools.spec import ToolSpec

if TYPE_CHECKING:
    from deepcritical_mcp.context import Services
    from deepcritical_mcp.evidence.store import EvidenceStore

MAX_REQUESTS = 4
"""What one call may cost, if the services allow it; a second witness is asked only if that leaves a request."""
MAX_LISTED = 5
"""Items that a warning names, at most."""
GivenItems = Annotated[list[EvidenceItem], Field(min_length=1, max_length=100)]


async def add_evidence(ctx: ToolContext, items: GivenItems, session_id: OtherSession = "") -> AddResult:
    """Save (store, add, keep, upload, paste) a note, comment, quote, text or document of your own in the session. With
    pmid, doi, pmcid, nct, url or reference (any style) and no content, import that paper (articles by PMIDs) or page.
    file: a library (RIS, BibTeX, EndNote, CSV), PDF or folder, or "zotero:collection". decision (include, exclude) and
    tags mark (screen, tag) it, or many kept ids. same_as: the id of its duplicate."""
    items, places = one_by_one(items)
    session = await session_for(ctx, session_id, may_open=not all(item.id for item in items))
    by = decider(ctx)
    progress = progress_of(ctx)
    problems = await to_thread.run_sync(lambda: {at: told for at, one in enumerate(items) if (told := problem_of(one))})
    sound = {at: one for at, one in enumerate(items) if at not in problems}
    files = await imported(ctx, {at: one for at, one in sound.items() if has_file(one)}, session)
    same = await declared(session.store, {at: one for at, one in sound.items() if clean_line(one.same_as)})
    problems |= {**files.problems, **same.problems}
    kept, unknown = await decidable(session.store, items)
    problems = {at: told for at, told in unknown.items() if at not in same.done} | problems
    marked = {index: id for index, id in kept.items() if index not in problems and index not in same.done}
    decisions = await decided(session.store, items, marked, by, places)
    done = problems.keys() | marked.keys() | files.done | same.done
    new = {index: one for index, one in enumerate(items) if index not in done}
    read = await _read(new, await application(ctx).services(), session.store, progress)
    problems |= read.problems
    await progress(0.1, f"keeping {counted(len(read.publications), 'item')}")
    outcomes = await session.store.add_evidence([*read.publications.values()])
    outcome = dict(zip(read.publications, outcomes, strict=True))
    marked = {index: one.publication.id for index, one in outcome.items() if items[index].decides}
    decisions += await decided(session.store, items, marked, by, places)
    added, duplicates, retracted = list[AddedItem](), list[DuplicateItem](), list[str]()
    for index, one in outcome.items():
        id, reference = one.evidence.id, vancouver(read.records[index]) if index in read.records else ""
        if one.status == "added":
            added.append(AddedItem(index=index, id=id, reference=reference))
        else:
            near, why = round(one.similarity, 4), one.reason
            known = DuplicateItem(index=index, duplicate_of=id, reference=reference, similarity=near, reason=why)
            duplicates.append(known)
        if is_marked(status := one.evidence.citation.status):
            retracted.append(f"Item {index}: its paper is marked {status_label(status)}.")
    folds = ((index, *fold) for index, one in outcome.items() for fold in one.folds)
    await progress(1.0, f"{len(added)} added, {len(duplicates)} already known")
    rejected = tuple(_rejected(places[index], one, read.found.get(index)) for index, one in sorted(problems.items()))
    late = sum(one.verdict == "outage" for one in rejected)
    reread = [
        index for index in outcome if clean_line(items[index].date).capitalize() not in ("", date_of(items[index]))
    ]
    return AddResult(
        session_id=session.store.session_id,
        files=shortened(files.told),
        added=(*same.apart, *added),
        duplicates=(*same.joined, *duplicates),
        similar=tuple(SimilarItem(index=index, id=id, similarity=round(near, 4)) for index, id, near in folds),
        decided=tuple(one.but(index=places[one.index]) for one in sorted(decisions, key=lambda one: places[one.index])),
        rejected=rejected,
        warnings=(*read.warnings, *retracted),
        total=await session.store.count(),
        next_step=session.next_step(
            "".join(
                f"Item {at}: date {shown(items[at].date)} read as {date_of(items[at])}. " for at in reread
            ).rstrip(),
            "Correct the rejected items and send them again." if late < len(rejected) else "",
            "Items with an outage can be sent again later as they are." if late else "",
            "Items that were merged before turned out to be different publications and are separate now."
            if any(one.separates for one in outcomes)
            else "",
            *files.next_steps,
            "Find items by meaning with semantic_search." if outcomes or files.told else "",
            'list_evidence marked="included", or a tag, lists what is marked so.' if decisions else "",
        ),
    )


class _Read(NamedTuple):
    """What new items turn out to be, by their places in the call.

    Attributes:
        publications: what to keep.
        records: what was fetched for it.
        found: what looking up gave for each item that names something.
        problems: why an item cannot be kept.
    """

    publications: Mapping[int, Publication]
    records: Mapping[int, Publication]
    found: Mapping[int, FoundRecord]
    problems: Mapping[int, str]
    warnings: Sequence[str]


async def _read(
    items: Mapping[int, EvidenceItem], services: Services, store: EvidenceStore, progress: Progress
) -> _Read:
    """Read the texts of items, and look up the records that they name or claim to be."""
    reader, witness = services.full_texts, services.witness
    texts = await to_thread.run_sync(
        lambda: {at: publication_of(one) for at, one in items.items() if not wanted_document(one)}
    )
    wanted = {
        index: one for index, item in items.items() if (one := wanted_document(item) or claimed_document(texts[index]))
    }
    fetched = await reader.fetch([*wanted.values()], store, progress=progress) if wanted else []
    found = dict(zip(wanted, fetched, strict=True))
    records = {index: one.publication for index, one in found.items() if one.publication}
    contested: Sequence[str] = ()
    if requests_for([one.ids for one in wanted.values()]) < MAX_REQUESTS:
        checked, contested, _ = await witness.completed([*records.values()])
        records = dict(zip(records, checked, strict=True))
    elif untold := witness.not_asked([*records.values()]):
        contested = [f"{untold}, because looking them up took {MAX_REQUESTS} requests: export_evidence asks it."]
    both = {index: merged(one, texts[index]) for index, one in records.items() if index in texts}
    known = texts | records | both
    publications = {index: known[index] for index in items if index in known}
    problems = {index: one.reason for index, one in found.items() if index not in known}
    claims = {at: one for at, one in publications.items() if one.source == "pubmed" and at not in records}
    verified, unverified = await _verified(claims, services, store)
    is_partial = any(one.verdict in ("not_found", "outage") for one in fetched) and reader.off
    off = [f"Not asked for records, since switched off on this server: {', '.join(reader.off)}."] if is_partial else []
    warnings = [*_remarks(items, texts, found), *unverified, *off, *_unasked(found), *contested]
    return _Read(publications | verified, records, found, problems, warnings)


def _remarks(
    items: Mapping[int, EvidenceItem], texts: Mapping[int, Publication], found: Mapping[int, FoundRecord]
) -> Iterator[str]:
    """What to say about what was looked up."""
    for index, one in found.items():
        if one.publication and clean_text(items[index].content) and index not in texts:
            yield f"Item {index}: its content is only an id, so that record was fetched."
    for index, one in found.items():
        if index in texts and one.publication is None:
            claims = " and ".join(texts[index].claims)
            told = f"it claims to be {claims}, which is not confirmed: {one.reason}"
            yield f"Item {index}: {told}. It is kept as itself, not as that paper."
    yield from (f"Item {index}: {one.remark.rstrip('.')}." for index, one in found.items() if one.remark)


async def _verified(
    claims: Mapping[int, Publication], services: Services, store: EvidenceStore
) -> tuple[dict[int, Publication], list[str]]:
    """What claims to be records of PubMed, compared with these; the user's notes where nobody confirms it, with
    warnings."""
    pubmed, found, warnings = services.searches.get("pubmed"), dict[int, Publication](), list[str]()
    unasked = [(one, "PubMed is switched off on this server") for one in claims.values()]
    given = [(one.pmid, one) for one in claims.values()]
    verdicts = await pubmed.verified(given, store) if pubmed and given else unasked
    for index, (one, problem) in zip(claims, verdicts, strict=True):
        found[index] = one
        if problem:  # without the citation, which nobody confirmed
            about = {"source": "user", "title": one.title, "pmid": one.pmid}
            found[index] = Publication.of("note", one.text.content, provider=USER, **about)
            warnings.append(f"Item {index}: kept as your note, not as PubMed's record: {problem}.")
    return found, warnings


def _unasked(found: Mapping[int, FoundRecord]) -> Iterator[str]:
    """Warnings for records from elsewhere, because PubMed could not be asked: one for each reason."""
    reasons = {index: one.unasked for index, one in found.items() if one.publication and one.unasked}
    for reason in dict.fromkeys(reasons.values()):
        indexes = [index for index, one in reasons.items() if one == reason]
        more = f" and {len(indexes) - MAX_LISTED} more" if len(indexes) > MAX_LISTED else ""
        named = f"Item{'s' if len(indexes) > 1 else ''} {', '.join(map(str, indexes[:MAX_LISTED]))}{more}"
        missing = "so a retraction that only PubMed knows may be missing"
        advice = "" if reason == PUBMED_OFF else " Send the same again later."
        yield f"{named}: PubMed could not be asked, {missing}: {reason}{advice}"


def _rejected(index: int, reason: str, found: FoundRecord | None) -> RejectedItem:
    if found is None or found.verdict == "found":
        return RejectedItem(index=index, reason=reason)
    candidates = [RecordCandidate(id=one.id, reference=vancouver(one)) for one in found.candidates]
    return RejectedItem(index=index, reason=reason, verdict=found.verdict, candidates=tuple(candidates))


IF_LATE = "Some items may be kept. Send the same items again, fewer in one call: what is already kept is recognized."
TOOL = ToolSpec(add_evidence, "Add evidence", "📝", open_world=True, changes_session=True, if_late=IF_LATE)
