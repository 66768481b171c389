"""Full texts: the record of a document, the best copy that any provider has, and both kept in the session."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import (
    TO_ASK_WITNESS,
    TO_FETCH_RECORDS,
    TO_KEEP_RESULTS,
    Progress,
    even_share,
    for_each,
    no_progress,
    seconds_before,
    seconds_for,
)
from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    EvidenceStoreError,
    ProviderError,
    SessionBusyError,
    SessionFullError,
)
from deepcritical_mcp.evidence.identity import bears_out, identity_of
from deepcritical_mcp.identifiers import RecordIds, preprint_number
from deepcritical_mcp.models import SESSION, Attempt, FetchVerdict, Publication, Text, TextKind
from deepcritical_mcp.net.client import InFlight
from deepcritical_mcp.reading import bounded
from deepcritical_mcp.search.copies import (
    CopySearch,
    final_status,
    identity_of_page,
    judged,
    outages_of,
    page_as_claim,
    publication_of,
    unconfirmed,
)
from deepcritical_mcp.search.documents import DocumentId, FoundRecord, FoundText, told_first
from deepcritical_mcp.search.item_finder import ItemFinder
from deepcritical_mcp.search.record_finder import (
    AT_ONCE,
    Lookup,
    RecordFinder,
    ids_of,
    is_paper,
    other_number,
    stub_of,
)
from deepcritical_mcp.search.reference_finder import ReferenceFinder
from deepcritical_mcp.search.search_steps import ReadingSession, Recording, lookup_entry
from deepcritical_mcp.sources.base import Service, Source, in_time
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, Wanted
from deepcritical_mcp.text import clean_line, counted
from deepcritical_mcp.urls import host_of

PAGE = "page"
"""The provider that reads any address."""
MAX_ADDRESSES = 3
"""Addresses of copies that are tried."""
READ_KINDS: tuple[TextKind, ...] = ("full_text", "registration", "page")
_LEAST_SECONDS = 0.2
logger = logging.getLogger(__name__)


class FullTexts:
    """Finds and reads documents; `seconds` is how long it takes at most where no deadline is set around it.

    `records` and `references` find records by identifiers and by what references say. `off` names those that could
    have been asked if this server had not switched them off.
    """

    def __init__(
        self,
        providers: Sequence[FullTextSource],
        pubmed: Source | None,
        *,
        lookups: Sequence[Service] = (),
        seconds: float = 45.0,
        off: Sequence[str] = (),
    ) -> None:
        self.providers = tuple(providers)
        self.off = tuple(off)
        self.records = RecordFinder(pubmed, providers, lookups)
        self.references = ReferenceFinder(pubmed, self.records, lookups)
        self._items = ItemFinder(self.records, self.references, self.off)
        self._page = next((one for one in providers if one.name == PAGE), None)
        self._browsers = [one for one in providers if one.has_browser]
        self._others = [one for one in providers if one is not self._page and not one.has_browser]
        self._seconds = seconds
        self._in_flight = InFlight()

    async def read(
        self,
        document: DocumentId,
        session: ReadingSession,
        *,
        tool: str = "get_full_text",
        progress: Progress = no_progress,
    ) -> FoundText:
        """The text of a document, from the session or from the first provider that has it, kept in the session. If
        anybody is asked, it is in the session's log of searches as a look-up of `tool`; not if that is "".

        Raises:
            AllProvidersFailedError: nothing is known about the document, and somebody who could know did not answer.
        """
        held = await self._held(document, session)
        text = _read_text(held) if held else None
        kept = held
        if not held and document.evidence:  # a text of the user's own that was read into parts
            kept = (await session.publications([document.evidence])).get(document.evidence)
            text = next((one for one in kept.texts if one.parts), None) if kept else None
        if kept and text and (found := await session.text(kept.id_of(text))):
            kept, text = found
            warnings = (*told_first(kept), *_about_text(text, ""))
            attempts = (Attempt(provider=SESSION, status="full_text"),)
            return FoundText("full_text", kept, text, kept.id_of(text), attempts, (), warnings)
        recording = Recording(lookup_entry(tool, [document.name]), session)
        async with recording if tool else nullcontext():
            await progress(0.1, "looking for the record")
            key = (document.ids, document.url, held and (held.id, held.is_record))
            search = await self._in_flight.ask(key, partial(self._find_copy, document, held, progress))
            await progress(0.8, "keeping the text in the session")
            found = await self._kept(document, search, session)
            recording.read(found, is_new=held is None)
        return replace(found, warnings=tuple(filter(None, (*found.warnings, recording.problem))))

    async def fetch(
        self, documents: Sequence[DocumentId], session: ReadingSession, *, progress: Progress = no_progress
    ) -> list[FoundRecord]:
        """The record of each document, or its page if it is not a paper or trial. Papers known by numbers cost four
        requests at most, all together; what the session has costs none. If anybody is asked, it is in the session's log
        of searches as a look-up of `add_evidence`."""
        held = [await self._held(one, session) for one in documents]
        if all(one and _is_complete(one) for one in held):
            return await self._fetched(documents, held, progress)
        async with Recording(lookup_entry("add_evidence", [one.name for one in documents]), session) as recording:
            found = await self._fetched(documents, held, progress)
            records = [one.publication for one in found if one.publication]
            known = await session.known(records)
            new = {one.id for one, id in zip(records, known, strict=True) if not id}
            recording.looked_up(found, [id or one.id for one, id in zip(records, known, strict=True)], new=len(new))
        if recording.problem:
            found[0] = replace(found[0], remark=f"{found[0].remark} {recording.problem}".strip())
        return found

    async def _fetched(
        self, documents: Sequence[DocumentId], held: Sequence[Publication | None], progress: Progress
    ) -> list[FoundRecord]:
        read = {n: one for n, one in enumerate(held) if one and not one.is_record and _read_text(one)}
        missing = sum(one is None or not _is_complete(one) for one in held)
        await progress(0.05, f"fetching {counted(missing, 'record')}")
        open_ones = [n for n in range(len(documents)) if n not in read]
        seconds = seconds_before(TO_KEEP_RESULTS, cap=self._seconds)
        kept = [one if one and one.is_record and not one.awaits_pubmed else None for one in held]
        outcomes = await self._items.find([documents[n] for n in open_ones], [kept[n] for n in open_ones], seconds)
        found = {n: FoundRecord(one) for n, one in read.items()} | dict(zip(open_ones, outcomes, strict=True))
        for n, one in enumerate(held):
            if one and one.awaits_pubmed and found[n].verdict in ("outage", "not_found"):
                found[n] = FoundRecord(one, unasked=found[n].unasked)
        off = {n for n in found if documents[n].not_asked(documents[n].ids, self.off)}
        unknown = (n for n, one in found.items() if one.verdict == "not_found" or (n in off and not one.publication))
        pages = await self._pages({n: documents[n].url for n in unknown if documents[n].url}, seconds)
        found |= {n: page for n, page in pages.items() if page.publication or n not in off}
        return [found[n] for n in range(len(documents))]

    async def _pages(self, urls: Mapping[int, str], seconds: float) -> dict[int, FoundRecord]:
        """Pages and files as publications; instead of one that cannot be read, why."""
        found: dict[int, FoundRecord] = {}
        limiter, end = anyio.CapacityLimiter(AT_ONCE), anyio.current_time() + seconds

        async def read(number: int, url: str) -> None:
            async with limiter:
                search = CopySearch(Lookup(Wanted(RecordIds(), (url,))), [], [], [url])
                await self._read_pages(search, end)
                await self._identify(search, end)
                told = [attempt.detail for attempt in search.attempts if attempt.detail]
                reason = " ".join(told) or "this address cannot be read"
                verdict: FetchVerdict = "outage" if search.failures else "not_found"
                page = await run_sync(publication_of, search)
                remark = " ".join([*search.remarks, *(told_first(page) if page and page.source == "web" else ())])
                found[number] = FoundRecord(page, remark=remark) if page else FoundRecord(None, verdict, reason)

        await for_each(read, urls, urls.values())
        return found

    async def _held(self, document: DocumentId, session: ReadingSession) -> Publication | None:
        """What the session holds of the document."""
        named = [document.evidence] if document.evidence else []
        found = await session.publications(named)
        if not found and any(document.ids):
            known = await session.known([stub_of(document.ids)])
            found = await session.publications([id for id in known if id])
        # What only claims to be the document is not what was asked for, but by its own id or address.
        is_named = not any(document.ids)
        return next((one for one in found.values() if not one.is_note and (is_named or not one.claims)), None)

    async def _find_copy(self, document: DocumentId, held: Publication | None, progress: Progress) -> CopySearch:
        urls = tuple(filter(None, (document.url or (held.url if held and not is_paper(ids_of(held)) else ""),)))
        if held and held.is_record and not held.awaits_pubmed:
            lookup = Lookup.of(held, urls)
        else:
            ids = document.ids
            if held and not any(ids):
                ids = next(filter(any, (held.own_ids, held.claimed_ids)), RecordIds())
            seconds = seconds_before(TO_FETCH_RECORDS, cap=self._seconds)
            (lookup,) = await self.records.find([Wanted(ids, urls)], seconds)
            lookup.record = lookup.record or (held if held and held.is_record else None)
            if held and held.claims and lookup.record and not bears_out(identity_of(held), identity_of(lookup.record)):
                lookup = Lookup(Wanted(RecordIds(), urls))
            if lookup.record and (problem := other_number(ids, lookup.record)):
                attempt = Attempt(provider=lookup.record.text.provider, status="not_found", detail=f"{problem}.")
                lookup = Lookup(Wanted(ids, urls), attempts=[*lookup.attempts, attempt], failures=lookup.failures)
        # Europe PMC's page of a preprint has only what its record says.
        pages = [url for url in lookup.wanted.urls if not (lookup.record and preprint_number(url))]
        search = CopySearch(lookup, [*lookup.attempts], [*lookup.failures], pages)
        if (found := lookup.record) and found.source == "trial" and document.ids.nct in found.registrations:
            search.remarks.append(f"{document.ids.nct} is now registered as {found.nct}.")
        end = anyio.current_time() + seconds_before(TO_KEEP_RESULTS, cap=self._seconds)
        others = [one for one in self._others if one.accepts(lookup.wanted)]
        for number, provider in enumerate(others, start=1):
            if search.copy is None:
                await progress(0.2 + 0.5 * number / (len(others) + 1), f"asking {provider.title}")
                await self._ask(provider, search, lookup.wanted, even_share(end, len(others) - number + 1))
        if search.copy is None:
            await self._read_pages(search, end)
        if search.copy is None and search.refused and document.url:
            search.copy, search.lookup = search.refused, Lookup(Wanted(RecordIds(), urls))
        await self._identify(search, end)
        for name in () if search.copy else self.off:
            search.note(name, "skipped", "switched off on this server")
        return search

    async def _read_pages(self, search: CopySearch, end: float) -> None:
        """Read the addresses of copies, the best first; those after one that has another document's text, once more."""
        page, wanted = self._page, search.lookup.wanted
        addresses = list(dict.fromkeys(search.addresses))[:MAX_ADDRESSES]
        for _ in range(MAX_ADDRESSES):
            one = replace(wanted, urls=tuple(addresses))
            if page is None or search.copy or not page.accepts(one):
                return
            answer = await self._ask(page, search, one, even_share(end, int(len(addresses) > 1)))
            if answer and answer.needs_browser:
                for browser in self._browsers:
                    await self._ask(browser, search, replace(wanted, urls=(answer.url,)), even_share(end, 1))
            if not (addresses and answer and answer.status == "full_text"):
                return
            addresses = addresses[addresses.index(answer.url) + 1 if answer.url in addresses else 1 :]

    async def _ask(self, provider: FullTextSource, search: CopySearch, wanted: Wanted, seconds: float) -> Copy | None:
        """Ask one provider, for at most so long, and note what it said; None if it did not answer."""
        if provider.off or seconds < _LEAST_SECONDS:
            search.note(provider.name, "skipped", provider.off or "no time left")
            return None
        try:
            answer = search.lookup.copies.get(provider.name)
            answer = answer or await in_time(provider, seconds, lambda: provider.read(wanted))
            answer = replace(answer, reading=answer.reading and await run_sync(bounded, answer.reading))
        except ProviderError as error:
            search.failures.append(error)
            search.note(provider.name, "failed", error.message)
            return None
        search.addresses += answer.elsewhere
        is_page = provider is self._page or provider.has_browser
        search.note(provider.name, *await run_sync(partial(judged, answer, search.lookup, is_page=is_page)))
        is_text = search.attempts[-1].status == "full_text"
        is_own = is_page and answer.status == "full_text" and search.attempts[-1].status == "not_found"
        if is_text or (is_own and host_of(answer.url) in map(host_of, wanted.urls)):
            search.provider, search.is_page = provider.name, is_page
            search.copy, search.refused = (answer, None) if is_text else (None, answer)
        return answer

    async def _identify(self, search: CopySearch, end: float) -> None:
        """Look up the record that a page claims to be the text of, and whether it has a retracted paper's title."""
        reading = search.copy.reading if search.copy else None
        if search.copy is None or reading is None or not search.is_page or search.lookup.record:
            return
        asked, lookup = search.lookup, search.lookup
        claim = page_as_claim(reading, ids=asked.given, provider=search.provider, url=search.copy.url)
        page = identity_of_page(claim, reading)
        seconds = max(0.0, end - anyio.current_time())
        if any(claim.claimed_ids) and asked.given != claim.claimed_ids:
            (lookup,) = await self.records.find([Wanted(claim.claimed_ids, asked.wanted.urls)], seconds)
        found = [one for one in (lookup.record, *lookup.others) if one]
        if record := next((one for one in found if bears_out(identity_of(one), page)), None):
            search.lookup = replace(Lookup.of(record, asked.wanted.urls), unasked=lookup.unasked)
        elif claim.claims:
            search.remarks.append(unconfirmed(claim, found, lookup))
        if not search.lookup.record:
            seconds = min(seconds, seconds_for(TO_ASK_WITNESS))
            search.namesakes = tuple(await self.references.retracted_namesakes(page, seconds))

    async def _kept(self, document: DocumentId, search: CopySearch, session: ReadingSession) -> FoundText:
        """What was found, kept in the session; if that fails, it is returned all the same, with an error."""
        publication, status = await run_sync(publication_of, search), final_status(search)
        attempts = tuple(dict.fromkeys(search.attempts))
        if publication is None:
            if search.failures and status == "not_found":
                told = " ".join(dict.fromkeys(error.message for error in search.failures))
                message = f"{clean_line(document.name)[:80]} could not be looked up, which does not mean that it does "
                raise AllProvidersFailedError(f"{message}not exist: {told} Try again later.", search.failures)
            if status == "not_found" and (told := document.not_asked(document.ids, self.off)):
                others = dict.fromkeys(f" {one.detail}" for one in search.attempts if one.status == "not_found")
                raise AllProvidersFailedError(f"{told}.{''.join(others)}", search.failures)
            return FoundText(status, attempts=attempts, errors=tuple(outages_of(search)))
        text, id, errors = _read_text(publication) if search.copy else None, "", [*outages_of(search)]
        try:
            (outcome,) = await session.add_evidence([publication])
            publication = outcome.publication
            text = _read_text(publication) if text else None
            id = publication.id_of(text) if text else publication.id
        except (SessionFullError, SessionBusyError, EvidenceStoreError) as error:
            errors.append(f"The text was found, but could not be kept: {error.message}")
        detail = search.attempts[-1].detail if search.copy else ""
        warnings = (*told_first(publication), *search.remarks, *_about_text(text, detail))
        return FoundText(status, publication, text, id, attempts, tuple(errors), warnings)


def _read_text(publication: Publication) -> Text | None:
    """The text that was read from a provider; not what a search gave of it, nor the user's."""
    read = (one for kind in READ_KINDS for one in publication.texts if one.kind == kind)
    return next((one for one in read if one.parts and not one.is_users), None)


def _is_complete(held: Publication) -> bool:
    """Whether the session has the record, or the page as it was read."""
    return (held.is_record and not held.awaits_pubmed) or _read_text(held) is not None


def _about_text(text: Text | None, detail: str) -> Iterator[str]:
    if detail:
        yield detail
    if text and text.is_ocr:
        yield "This text was read from scanned pages by a machine (OCR): check figures and names against the original."
    yield from text.remarks if text else ()
