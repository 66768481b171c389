"""The tool `add_evidence`."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple
from urllib.parse import unquote

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from deepcritical_mcp.dates import readings
from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import InvalidInputError, ProviderError
from deepcritical_mcp.evidence.identity import DECLARED
from deepcritical_mcp.identifiers import (
    BARE_DOI,
    RecordIds,
    normalize_doi,
    normalize_pmcid,
    normalize_pmid,
    normalize_trial,
    preprint_number,
    record_ids,
)
from deepcritical_mcp.models import (
    MAX_REASON_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    UNKNOWN_DATE,
    USER,
    AddedItem,
    AddResult,
    AuthorName,
    DecidedItem,
    DuplicateItem,
    FileResult,
    Publication,
    RecordCandidate,
    RejectedItem,
    ScreeningMark,
    SimilarItem,
    Verdict,
    decision_line,
    decision_replaced,
    is_marked,
    merged,
    split_names,
    status_label,
    vancouver,
)
from deepcritical_mcp.search.documents import PUBMED_OFF, DocumentId, FoundRecord
from deepcritical_mcp.search.library.files import is_zotero
from deepcritical_mcp.text import clean_line, clean_text, counted, cut_at_sentence
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    caller,
    is_local,
    progress_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import (
    MAX_CALL_LENGTH,
    GivenId,
    OtherSession,
    Word,
    at_most,
    evidence_id,
    identifier_field,
    is_findable,
    read_document_id,
    split_place,
)
from deepcritical_mcp.tools.spec import ToolSpec
from deepcritical_mcp.urls import clean_url, is_web_address

if TYPE_CHECKING:
    from deepcritical_mcp.context import Services
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.tools.arguments.call_session import CallSession

MAX_CONTENT_LENGTH = 100_000
MAX_DOI_LENGTH = 200
MAX_REFERENCE = 4_000

MAX_REQUESTS = 4
"""What one call may cost, if the services allow it; a second witness is asked only if that leaves a request."""
IMPORT_FILES = "deepcritical_mcp.search.library.importing:import_files"
IMPORT_ZOTERO = "deepcritical_mcp.search.library.zotero:import_zotero"
ImportFiles = Callable[..., Awaitable[list[FileResult]]]
ImportZotero = Callable[..., Awaitable[FileResult]]
MAX_LISTED = 5
"""Items that a warning names, at most."""


async def add_evidence(ctx: ToolContext, items: GivenItems, session_id: OtherSession = "") -> AddResult:
    """Save (store, add, keep, upload, paste) a note, comment, quote, text or document of your own in the session, to
    remember. An item without content, but with pmid, doi, pmcid, nct, url or reference (a citation in any style)
    imports that paper or page, if it agrees with the reference or title given: import articles by PMIDs. file (path)
    imports a library (RIS, BibTeX, EndNote, CSV). decision
    (include, exclude; with reason) and tags mark (screen) what is added or kept under its id."""
    session = await session_for(ctx, session_id, may_open=not all(item.id for item in items))
    progress = progress_of(ctx)
    problems = await to_thread.run_sync(lambda: {at: told for at, one in enumerate(items) if (told := _problem(one))})
    files = await _imported(ctx, {at: one for at, one in enumerate(items) if one.file and at not in problems}, session)
    problems |= files.problems
    same = await _declared(
        session.store, {at: one for at, one in enumerate(items) if one.same_as and at not in problems}
    )
    problems |= same.problems
    kept, unknown = await decidable(session.store, items)
    problems = unknown | problems
    marked = {index: id for index, id in kept.items() if index not in problems and index not in same.done}
    decisions = await decided(session.store, items, marked)
    done = problems.keys() | marked.keys() | files.done | same.done
    new = {index: one for index, one in enumerate(items) if index not in done}
    read = await _read(new, await application(ctx).services(), session.store, progress)
    problems |= read.problems
    await progress(0.1, f"keeping {counted(len(read.publications), 'item')}")
    outcomes = await session.store.add_evidence([*read.publications.values()])
    outcome = dict(zip(read.publications, outcomes, strict=True))
    marked = {index: one.publication.id for index, one in outcome.items() if items[index].decides}
    decisions += await decided(session.store, items, marked)
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
    rejected = tuple(_rejected(index, one, read.found.get(index)) for index, one in sorted(problems.items()))
    late = sum(one.verdict == "outage" for one in rejected)
    reread = [index for index in outcome if clean_line(items[index].date).capitalize() not in ("", _date(items[index]))]
    return AddResult(
        session_id=session.store.session_id,
        files=files.told,
        added=(*same.apart, *added),
        duplicates=(*same.joined, *duplicates),
        similar=tuple(SimilarItem(index=index, id=id, similarity=round(near, 4)) for index, id, near in folds),
        decided=tuple(sorted(decisions, key=lambda one: one.index)),
        rejected=rejected,
        warnings=(*read.warnings, *retracted),
        total=await session.store.count(),
        next_step=session.next_step(
            "".join(f"Item {at}: date {_shown(items[at].date)} read as {_date(items[at])}. " for at in reread).rstrip(),
            "Correct the rejected items and send them again." if late < len(rejected) else "",
            "Items with an outage can be sent again later as they are." if late else "",
            "Items that were merged before turned out to be different publications and are separate now."
            if any(one.separates for one in outcomes)
            else "",
            "Find items by meaning with semantic_search." if outcomes else "",
            'list_evidence marked="included", or a tag, lists what is marked so.' if decisions else "",
        ),
    )


class _Imported(NamedTuple):
    """What became of items that name files, by their places in the call."""

    told: tuple[FileResult, ...] = ()
    problems: Mapping[int, str] = {}
    done: Set[int] = frozenset()


async def _imported(ctx: ToolContext, items: Mapping[int, EvidenceItem], session: CallSession) -> _Imported:
    """Bring in the files that items name, or the library that the content of one is."""
    if not items:
        return _Imported()
    import_files: ImportFiles = await to_thread.run_sync(pkgutil.resolve_name, IMPORT_FILES)
    import_zotero: ImportZotero = await to_thread.run_sync(pkgutil.resolve_name, IMPORT_ZOTERO)
    told, problems, address = list[FileResult](), dict[int, str](), application(ctx).settings.zotero_url
    folders, services = application(ctx).settings.import_dirs, await application(ctx).services()
    for index, one in items.items():
        if not is_local(ctx):
            problems[index] = "over HTTP no file is read, nor Zotero: pass its text as content"
            continue
        try:
            if is_zotero(one.file):
                told.append(await import_zotero(one.file, address, session.store, progress_of(ctx), one.clean_tags))
                continue
            texts = services.full_texts
            told += await import_files(one.file, folders, session.store, texts, progress_of(ctx), one.clean_tags)
        except (InvalidInputError, ProviderError) as error:
            problems[index] = error.message
    if any(one.read for one in told):
        services.library.start(session.store)
    return _Imported(tuple(told), problems, items.keys())


class _Declared(NamedTuple):
    """What became of items that declare two ids to be the same, or take that back, by their places in the call."""

    joined: Sequence[DuplicateItem]
    apart: Sequence[AddedItem]
    problems: Mapping[int, str]
    done: Set[int]


async def _declared(store: EvidenceStore, items: Mapping[int, EvidenceItem]) -> _Declared:
    joined, apart, problems = list[DuplicateItem](), list[AddedItem](), dict[int, str]()
    for index, one in items.items():
        undo = clean_line(one.same_as).lower() == NOT_THE_SAME
        ids = [_kept_id(one.id), *([] if undo else [_kept_id(one.same_as)])]
        became = await store.declare_same(ids, undo=undo)
        if not became:
            problems[index] = f"{' and '.join(ids)} are not two items of this session; list_evidence has the ids"
        elif undo:
            apart += (AddedItem(index=index, id=each.id, reference=vancouver(each)) for each in became)
        else:
            named = {"duplicate_of": became[0].id, "reference": vancouver(became[0])}
            joined.append(DuplicateItem(index=index, similarity=1.0, reason=DECLARED, **named))
    return _Declared(joined, apart, problems, items.keys() if items else frozenset())


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
    texts = await to_thread.run_sync(lambda: {at: _publication(one) for at, one in items.items() if not _wanted(one)})
    wanted = {index: one for index, item in items.items() if (one := _wanted(item) or _claimed(texts[index]))}
    fetched = await reader.fetch([*wanted.values()], store, progress=progress) if wanted else []
    found = dict(zip(wanted, fetched, strict=True))
    records = {index: one.publication for index, one in found.items() if one.publication}
    contested: Sequence[str] = ()
    if _requests_for([one.ids for one in wanted.values()]) < MAX_REQUESTS:
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


_NUMBERS = (
    ("pmid", normalize_pmid, "a PMID"),
    ("pmcid", normalize_pmcid, "a PMCID such as PMC1790863"),
    ("nct", normalize_trial, "a trial's number such as NCT00000620"),
)


def _problem(item: EvidenceItem) -> str:
    """Why an item cannot be kept or heeded; "" if it can."""
    if item.same_as and (item.decides or not item.id):
        return "same_as goes with id, and nothing else: two ids of one publication"
    if (problem := decision_problem(item)) or item.id:
        return problem
    sought = (item.pmid, item.doi, item.pmcid, item.nct, item.url, item.reference)
    if clean_line(item.file):
        alone = not (clean_text(item.content) or any(map(clean_line, sought)) or item.verdict)
        return "" if alone else "file brings in what it holds: pass file, with tags at most"
    if not clean_text(item.content) and not any(map(clean_line, sought)):
        return "content is empty: pass content, or one of pmid, doi, pmcid, nct, url, reference to fetch a record"
    if clean_text(item.content) and clean_line(item.reference):
        return "reference fetches a record, which content would replace: send them as two items"
    if len(item.reference) > MAX_REFERENCE:
        return f"reference has {len(item.reference):,} characters; pass one reference (at most {MAX_REFERENCE:,})"
    if len(item.content) > MAX_CONTENT_LENGTH:
        return f"content has {len(item.content):,} characters; the limit is {MAX_CONTENT_LENGTH:,}, so split it"
    doi, url = normalize_doi(clean_line(item.doi)), clean_line(item.url)
    if clean_line(item.date) and not _date(item):
        return f"date {_shown(item.date)} is not YYYY, YYYY-MM or YYYY-MM-DD"
    for name, read, what in _NUMBERS:
        given = clean_line(getattr(item, name))
        if given and not read(given):
            return f"{name} {_shown(given)} is not {what}"
    given = unquote(clean_line(item.doi)).lower()
    found = BARE_DOI.search(given)
    has_more = found is not None and found.end() < len(given)
    if doi and (has_more or not BARE_DOI.fullmatch(doi) or len(doi) > MAX_DOI_LENGTH):
        return f"doi {_shown(item.doi)} is not a DOI such as 10.1000/182"
    if url and not is_web_address(url):
        return f"url {_shown(url)} is not a web address (http or https)"
    return ""


def _wanted(item: EvidenceItem) -> DocumentId | None:
    """The record or page to fetch for an item without a text, or with an id in its place; None for others."""
    content = clean_line(item.content)
    if content:
        is_id = len(content) <= MAX_DOI_LENGTH and (identifier_field(content)[0] or preprint_number(content))
        return read_document_id(content)[0] if is_id and not is_web_address(content) else None
    url = clean_url(clean_line(item.url))
    own = _ids(item)
    ids = own if any(own) else record_ids(url)
    reference = item.reference.strip()
    name = next(filter(None, (*ids, url, reference)))
    evidence = ids.pmid or ids.doi or ids.nct or url
    title, people = clean_line(item.title), _authors(item)
    return DocumentId(name, evidence and evidence_id(evidence), ids, url, title, reference, people)


def _claimed(text: Publication) -> DocumentId | None:
    """The record that a text claims to be of; None if it does not."""
    if not text.claims:
        return None
    ids = text.claimed_ids
    name = next(filter(None, ids))
    return DocumentId(name, evidence_id(name), ids, text=text)


def _requests_for(documents: Sequence[RecordIds]) -> int:
    """How many requests it takes to look these up: the converter's for PMCIDs, a search for DOIs, one for the records
    of PubMed, and one for trials."""
    unnumbered = [ids for ids in documents if not ids.pmid]
    kinds = ([ids.pmid for ids in documents], [one.pmcid for one in unnumbered], [one.doi for one in unnumbered])
    papers, *searches = map(any, kinds)
    return sum((papers or any(searches), *searches, any(ids.nct for ids in documents)))


def _date(item: EvidenceItem) -> str:
    """The date in ISO 8601; "" if it is none, or could be two."""
    has_year = re.search("[0-9]{4}", item.date)  # "last year" is no publication's date
    found = [UNKNOWN_DATE] if clean_line(item.date).lower() == "unknown" else readings(item.date) if has_year else []
    return found[0] if len(found) == 1 else ""


def _shown(text: str) -> str:
    line = clean_line(text)
    return f'"{line[:40]}{"…" if len(line) > 40 else ""}"'


def _title(content: str) -> str:
    """The first line, as the title of an item without one; never the whole content, which would look like a title-only
    record."""
    title = cut_at_sentence(clean_line(content.strip().partition("\n")[0]), 120)
    return f"{title.rstrip('.')}…" if title == clean_line(content) else title


def _publication(item: EvidenceItem) -> Publication:
    from deepcritical_mcp.reading.user_text import read_own_text

    (reading, own_title), url = read_own_text(clean_text(item.content)), clean_url(clean_line(item.url))
    content = reading.content
    own_ids, of_page = _ids(item), record_ids(url)
    text = Publication.of(
        "note" if item.source == "user" else "page",
        content,
        provider=USER,
        parts=reading.parts,
        source=item.source,
        title=clean_line(item.title) or own_title or _title(content),
        url=url,
        date=_date(item) or UNKNOWN_DATE,
        authors=_authors(item),
        nct=own_ids.nct,
        **{name: getattr(own_ids, name) or getattr(of_page, name) for name in ("pmid", "doi", "pmcid")},
    )
    return text.as_claim() if item.source == "web" else text


def _ids(item: EvidenceItem) -> RecordIds:
    numbers = {name: read(clean_line(getattr(item, name))) for name, read, _ in _NUMBERS}
    return RecordIds(doi=normalize_doi(clean_line(item.doi)), **numbers)


def _authors(item: EvidenceItem) -> tuple[AuthorName, ...]:
    return tuple(name for author in map(clean_line, item.authors) for name in split_names(author))


IF_LATE = "Some items may be kept. Send the same items again, fewer in one call: what is already kept is recognized."
TOOL = ToolSpec(add_evidence, "Add evidence", "📝", open_world=True, changes_session=True, if_late=IF_LATE)


NOT_THE_SAME = "undo"
"""In place of an id that another one is declared to be the same as: it is so no longer."""
NO_TAGS = "none"
"""The tag that takes all tags away; an empty list means that none were given."""


ShortText = Annotated[str, at_most(10_000)]
"""More than any item needs: which of its texts is too long to keep is told for each item."""


class EvidenceItem(BaseModel):
    """One item as the client's model writes it: evidence to keep, or a decision about what is kept under `id`."""

    model_config = ConfigDict(extra="forbid")

    content: Annotated[str, at_most(MAX_CALL_LENGTH)] = ""
    title: ShortText = ""
    url: ShortText = ""
    source: Literal["pubmed", "web", "user"] = "user"
    date: Annotated[Word, Field(description="YYYY[-MM[-DD]]")] = ""
    authors: Annotated[list[ShortText], Field(max_length=10_000)] = []
    pmid: GivenId = ""
    doi: GivenId = ""
    pmcid: GivenId = ""
    nct: GivenId = ""
    reference: ShortText = ""
    file: ShortText = ""
    id: GivenId = ""
    same_as: GivenId = ""
    decision: Literal["unchanged", "included", "excluded", "cited", "undecided"] = "unchanged"
    reason: ShortText = ""
    tags: Annotated[list[ShortText], Field(max_length=200)] = []

    @property
    def verdict(self) -> Verdict:
        """Its decision; "" if that is unchanged."""
        return "" if self.decision == "unchanged" else self.decision

    @property
    def decides(self) -> bool:
        """Whether it says anything about a decision or tags."""
        return bool(self.verdict or clean_line(self.reason) or self.clean_tags)

    @property
    def numbers(self) -> list[str]:
        """The identifiers and addresses that it gives, apart from `id`."""
        return [*filter(None, map(clean_line, (self.pmid, self.doi, self.pmcid, self.nct, self.url)))]

    @cached_property
    def clean_tags(self) -> tuple[str, ...]:
        """The tags, each once, whatever its case."""
        tags = [NO_TAGS if tag.casefold() == NO_TAGS else tag for tag in map(clean_line, self.tags)]
        return tuple({tag.casefold(): tag for tag in reversed(tags) if tag}.values())[::-1]

    def mark(self, id: str) -> ScreeningMark:
        """Its decision about the publication `id`."""
        tags = self.clean_tags
        new = None if not tags else () if tags == (NO_TAGS,) else tags
        return ScreeningMark(id, self.verdict, clean_line(self.reason), new)


GivenItems = Annotated[list[EvidenceItem], Field(min_length=1, max_length=100)]


def decision_problem(item: EvidenceItem) -> str:
    """Why a decision cannot be kept; "" if it can, or there is none."""
    tags, reason = item.clean_tags, clean_line(item.reason)
    words = [tag for tag in tags if tag != NO_TAGS and not is_findable(tag)]
    long = next((tag for tag in tags if len(tag) > MAX_TAG_LENGTH), "")
    problems: dict[str, object] = {
        f"reason has {len(reason):,} characters; the limit is {MAX_REASON_LENGTH}": len(reason) > MAX_REASON_LENGTH,
        'decision="undecided" takes a decision back and keeps no reason: leave reason out, or use tags': (
            item.decision == "undecided" and reason
        ),
        f"{len(tags)} tags; an item has at most {MAX_TAGS}": len(tags) > MAX_TAGS,
        f'tag "{long[:40]}…" has {len(long)} characters; the limit is {MAX_TAG_LENGTH}': long,
        f"{', '.join(words)}: that is a decision, not a tag; pass it as decision": words,
        f'tags: "{NO_TAGS}" takes all tags away, so pass it alone': NO_TAGS in tags and len(tags) > 1,
    }
    if item.id:
        kept, has_text = "id is of evidence that is kept", item.content.strip() or item.reference.strip()
        is_other = any(evidence_id(one) != _kept_id(item.id) for one in item.numbers)
        problems |= {
            f"{kept}: pass decision, reason, tags or same_as with it (get_evidence reads it)": not (
                item.decides or item.same_as
            ),
            f"{kept}: for a note about it pass pmid, doi or url with content, in another item": has_text,
            "id and another identifier are not the same: pass only id": is_other,
        }
    return next((problem for problem, is_true in problems.items() if is_true), "")


async def decidable(store: EvidenceStore, items: Sequence[EvidenceItem]) -> tuple[dict[int, str], dict[int, str]]:
    """The ids of kept publications that items only decide about, by the place of each; and why some cannot be found.

    An item with other identifiers in place of an `id`, and nothing else to keep, is one of these if the session has
    what all of them name.
    """
    sought = {
        index: [_kept_id(item.id)] if item.id else [evidence_id(value) for value in item.numbers]
        for index, item in enumerate(items)
        if item.id or (item.decides and item.numbers and not any((item.content, item.title, item.reference)))
    }
    found = await store.publications([id for ids in sought.values() for id in ids])
    kept: dict[int, str] = {}
    unknown: dict[int, str] = {}
    for index, ids in sought.items():
        names = {found[id].id if id in found else "" for id in ids}
        if len(names) == 1 and "" not in names:
            kept[index] = names.pop()
        elif items[index].id:
            name, number = identifier_field(ids[0])
            fetch = f' To fetch and mark it, pass {name}="{number}" instead of id.' if name else ""
            unknown[index] = f"{ids[0][:100]} is not in this session; list_evidence has the ids.{fetch}"
    return kept, unknown


async def decided(store: EvidenceStore, items: Sequence[EvidenceItem], ids: Mapping[int, str]) -> list[DecidedItem]:
    """Write the decisions of items about the publications `ids`, and give what is decided then: "undecided; tags: rct"
    if there are only tags."""
    marks = [replace(items[index].mark(id), by=caller()) for index, id in ids.items()]
    told: list[DecidedItem] = []
    for index, one in zip(ids, await store.decide(marks) if marks else (), strict=True):
        if one:
            line = decision_line(one[1])
            line = f"undecided; {line}" if line and not one[1].screening else line
            told.append(DecidedItem(index=index, id=one[1].id, decision=line, replaced=decision_replaced(*one)))
    return told


def _kept_id(given: str) -> str:
    """The id of a publication or text in the session, from any spelling; of a part of a text, that of the text."""
    return evidence_id(split_place(given)[0])
