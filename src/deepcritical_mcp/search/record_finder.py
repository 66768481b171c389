"""The bibliographic records of documents, for all of them at once: from PubMed, else from other providers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import anyio

from deepcritical_mcp.deadline import even_share, for_each
from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from deepcritical_mcp.evidence.titles import tokens
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, preprint_number
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Attempt, Publication, publication_id
from deepcritical_mcp.search.documents import PUBMED_OFF
from deepcritical_mcp.sources.base import Service, Source
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, RecordLookup, Wanted
from deepcritical_mcp.text import batches

AT_ONCE = 4
"""Documents that are looked up at the same time, where a provider takes one at a time."""
MAX_AT_ONCE = 100
"""Documents that one request to a `RecordLookup` asks for."""
PUBMED = "pubmed"
RECORDS = "records"
"""Stands among the attempts for looking up a record, when that took too long."""
LABELS = {"pmid": "PMID", "pmcid": "PMCID", "doi": "DOI", "nct": "trial number"}
"""What people call the kinds of identifiers."""
_MORE_HITS = 20
"""PubMed may find papers under a DOI that only mention it."""

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass
class Lookup:
    """What is known about a document.

    Attributes:
        wanted: with all identifiers that were found.
        record: its bibliographic record; None if nobody has one.
        others: further records with the same DOI, e.g. of the abstracts in one supplement.
        attempts: who did not have it, or could not be asked.
        failures: the outages among these.
        copies: by provider, what it answered about the text when it was asked for the record.
        asked_converter: whether the converter was asked for other identifiers.
        unasked: why PubMed, which may have it, could not be asked for a record that came from elsewhere; its status is
            then unchecked.
        given: the identifiers that the caller named.
    """

    wanted: Wanted
    record: Publication | None = None
    others: list[Publication] = field(default_factory=list[Publication])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    failures: list[ProviderError] = field(default_factory=list[ProviderError])
    copies: dict[str, Copy] = field(default_factory=dict[str, Copy])
    asked_converter: bool = False
    unasked: str = ""
    given: RecordIds = field(default_factory=RecordIds)

    @classmethod
    def of(cls, record: Publication, urls: Sequence[str] = ()) -> Lookup:
        """Of a document whose record is known."""
        return cls(Wanted(ids_of(record), tuple(urls)), record)

    def found(self, record: Publication) -> None:
        """Note the record, with the identifiers that it adds."""
        known, own = self.wanted.ids, ids_of(record)
        # An article in PMC need not name its PMID.
        if known.pmid and not own.pmid and own.pmcid and known.pmcid == own.pmcid:
            named = record.but(pmid=known.pmid)
            record = named.but(id=publication_id(named))
        self.record, self.wanted = record, replace(self.wanted, ids=_of_one_kind(own.completed(known)))

    def was_asked(self, provider: str) -> bool:
        """Whether this provider said that it has no record, or failed."""
        return any(attempt.provider == provider for attempt in self.attempts)

    def lacks(self, provider: str, detail: str) -> None:
        """Note that a provider has no record."""
        self.attempts.append(Attempt(provider=provider, status="not_found", detail=detail))

    def failed(self, error: ProviderError) -> None:
        """Note an outage."""
        self.failures.append(error)
        self.attempts.append(Attempt(provider=error.provider, status="failed", detail=error.message))


def ids_of(publication: Publication) -> RecordIds:
    """The identifiers of a publication; a paper's trial registration is not one."""
    doi = normalize_doi(publication.doi)
    return _of_one_kind(RecordIds(publication.pmid, publication.pmcid, doi, publication.nct))


def is_paper(ids: RecordIds) -> bool:
    """Whether they are a paper's, and not a trial's or none."""
    return bool(ids.pmid or ids.pmcid or ids.doi)


def has_record(wanted: Wanted) -> bool:
    """Whether somebody may have a record of it: it has a number, or an address that names one."""
    return any(wanted.ids) or any(map(preprint_number, wanted.urls))


def _of_one_kind(ids: RecordIds) -> RecordIds:
    return ids._replace(nct="") if is_paper(ids) else ids


class RecordFinder:
    """Finds records by identifiers. 100 papers cost one request to the converter for PMCIDs, two to PubMed, and one to
    each of `lookups` for those that are still without a record."""

    def __init__(
        self, pubmed: Source | None, providers: Sequence[FullTextSource], lookups: Sequence[Service] = ()
    ) -> None:
        self._pubmed = pubmed
        self._providers = providers
        self._lookups = [one for one in lookups if isinstance(one, RecordLookup)]
        self._completer = pubmed.completer if pubmed else None

    async def find(self, wanted: Sequence[Wanted], seconds: float) -> list[Lookup]:
        """What is known about each document, in order, after so many seconds. An outage is in its `failures`, never
        raised."""
        by_wanted = {one: Lookup(one, given=one.ids) for one in wanted}
        lookups = [*by_wanted.values()]
        papers = [one for one in lookups if is_paper(one.wanted.ids)]
        with anyio.move_on_after(seconds) as scope:
            # PubMed cannot be asked by a PMCID.
            await self._complete([one for one in papers if not (one.wanted.ids.pmid or one.wanted.ids.doi)])
            with anyio.move_on_after(even_share(anyio.current_time() + seconds, 1)) as turn:
                await self._from_pubmed(papers)
            unknown = [one for one in papers if one.record is None]
            for one in unknown if turn.cancelled_caught else ():
                one.failed(ProviderTimeoutError(PUBMED, "PubMed did not answer in time."))
            unknown = [one for one in unknown if one.wanted.ids.pmid]
            # PubMed's record names the other identifiers; without one, only the converter knows them.
            await self._complete([one for one in unknown if not one.asked_converter])
            await self._from_lookups([one for one in lookups if one.record is None])
            await self._from_others([one for one in lookups if one.record is None and has_record(one.wanted)])
            # PubMed's records of those that turned out to have a PMID.
            elsewhere = [one for one in lookups if one.record and one.record.text.provider != PUBMED]
            new = [one for one in elsewhere if one.wanted.ids.pmid and not one.was_asked(PUBMED)]
            await self._fetch(new, [one.wanted.ids.pmid for one in new])
        for one in lookups if scope.cancelled_caught else ():
            if one.record is None:
                one.failed(ProviderTimeoutError(RECORDS, "There was no time left to look up the record."))
        for one in lookups:
            record = one.record
            if record and record.text.provider != PUBMED and is_paper(ids_of(record)):
                failed = (told.detail for told in one.attempts if told.provider == PUBMED and told.status == "failed")
                too_late = "PubMed did not answer in time." if record.pmid and not one.was_asked(PUBMED) else ""
                one.unasked = next(failed, too_late) if self._pubmed else PUBMED_OFF
                one.record = record.with_status(record.status, "") if one.unasked else record
        return [replace(by_wanted[one]) for one in wanted]

    async def _complete(self, lookups: Sequence[Lookup]) -> None:
        if self._completer is None or not lookups:
            return
        for one in lookups:
            one.asked_converter = True
        completed = await _answer(lookups, self._completer.convert([one.wanted.ids for one in lookups]))
        for one, ids in zip(lookups, completed or (), strict=bool(completed)):
            one.wanted = replace(one.wanted, ids=_of_one_kind(one.wanted.ids.completed(ids)))

    async def _from_pubmed(self, lookups: Sequence[Lookup]) -> None:
        """PubMed's records, in one request; before it, one that finds the PMIDs of DOIs."""
        if self._pubmed is None:
            return
        by_doi = [one for one in lookups if not one.wanted.ids.pmid and one.wanted.ids.doi]
        pmids = [one.wanted.ids.pmid for one in lookups if one.wanted.ids.pmid]
        if by_doi:
            dois = dict.fromkeys(one.wanted.ids.doi for one in by_doi)
            query, request = " OR ".join(f'"{doi}"[doi]' for doi in dois), self._pubmed.request(query="doi")
            limit = len(by_doi) + _MORE_HITS
            if answer := await _answer(by_doi, self._pubmed.ask(query, request, offset=0, limit=limit)):
                pmids += answer.ids
        await self._fetch(lookups, pmids)

    async def _fetch(self, lookups: Sequence[Lookup], pmids: Sequence[str]) -> None:
        """Give each document its record in PubMed, by its own PMID or DOI."""
        if self._pubmed is None or not pmids:
            return
        fetched = await _answer(lookups, self._pubmed.fetch(list(dict.fromkeys(pmids))))
        if fetched is None:
            return
        by_doi: dict[str, list[Publication]] = {}
        for record in fetched.records.values():
            by_doi.setdefault(normalize_doi(record.doi), []).append(record)
        for one in lookups:
            pmid, doi = one.wanted.ids.pmid, one.wanted.ids.doi
            own = [fetched.records[pmid]] if pmid in fetched.records else []
            if found := own or (by_doi.get(doi, []) if doi and not pmid else []):
                one.found(found[0])
                one.others = found[1:]
            elif not fetched.unread.isdisjoint((pmid, "")):
                told = fetched.losses.get(pmid, f"Records in {self._pubmed.title}'s response could not be read.")
                one.failed(ProviderResponseError(self._pubmed.name, f"{told} Try again in a minute."))
            elif pmid:
                one.lacks(self._pubmed.name, fetched.losses.get(pmid, f"PubMed has no record with PMID {pmid}."))

    async def _from_others(self, lookups: Sequence[Lookup]) -> None:
        """Records of providers of full texts, one provider after the other."""
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def ask(provider: FullTextSource, batch: Sequence[Lookup]) -> None:
            async with limiter:
                answers = await _answer(batch, provider.records_and_copies([one.wanted for one in batch]))
            for one, (record, copy) in zip(batch, answers or (), strict=bool(answers)):
                if copy:
                    one.copies[provider.name] = copy
                if record and compared(one.wanted.ids, ids_of(record)) != "different":
                    one.found(record)
                elif copy and copy.status == "not_found":
                    one.lacks(provider.name, copy.detail)

        for provider in self._providers:
            able = [one for one in lookups if one.record is None and not provider.off and provider.accepts(one.wanted)]
            able = [one for one in able if not one.was_asked(provider.name)]
            await for_each(partial(ask, provider), batches(able, provider.at_once))

    async def _from_lookups(self, lookups: Sequence[Lookup]) -> None:
        """Records of services that take many documents at once, one service after the other."""
        for service in self._lookups:
            asked = [one for one in lookups if one.record is None and service.accepts(one.wanted.ids)]
            for batch in batches(asked, MAX_AT_ONCE):
                found = await _answer(batch, service.records([one.wanted.ids for one in batch]))
                for one, record in zip(batch, found or (), strict=bool(found)):
                    # A trial's record has its present number, whatever number was asked for.
                    ids = one.wanted.ids._replace(nct="")
                    if isinstance(record, Publication) and compared(ids, ids_of(record)) != "different":
                        one.found(record)
                        continue
                    # A remark names the DOI, which must be the caller's own.
                    is_own = isinstance(record, str) and (one.given.doi or not one.wanted.ids.doi)
                    one.lacks(service.name, (is_own and str(record)) or f"{service.title} has no record of it.")


async def _answer(lookups: Sequence[Lookup], asked: Awaitable[T]) -> T | None:
    """What somebody answers about documents; None in an outage, which all of them note."""
    try:
        return await asked
    except ProviderError as error:
        logger.info("records not looked up: %s", error.code)
        for one in lookups:
            one.failed(error)
        return None


def other_number(given: RecordIds, record: Publication) -> str:
    """A number that a record does not have although the caller gave it, e.g. "PMCID PMC1 is not that record's, which
    is PMC2"; "" if there is none, or if the record does not say."""
    own = ids_of(record)._asdict()
    for name, one in given._asdict().items():
        pair = (RecordIds(**{name: normalize_doi(value) if name == "doi" else value}) for value in (one, own[name]))
        # The present number of a trial may be another one.
        if name != "nct" and one and own[name] and compared(*pair) == "different":
            return f"{LABELS[name]} {one} is not that record's, which is {own[name]}"
    return ""


def compared(one: RecordIds, other: RecordIds) -> str:
    """ "same" or "different" by the most reliable number that both have; "" if they have none in common.

    A DOI decides only where nothing else does, because versions of an article may have their own.
    """
    for name in ("pmid", "pmcid", "nct", "doi"):
        first, second = getattr(one, name).lower(), getattr(other, name).lower()
        if first and second:
            # One DOI may be the other with the number of a version: "10.7554/elife.1", "10.7554/elife.1.2".
            short, long = sorted((first, second), key=len)
            rest = long.removeprefix(short)
            is_version = rest != long and rest.lstrip("./v").isdecimal() and rest[:1] in "./v"
            return "same" if first == second or (name == "doi" and is_version) else "different"
    return ""


def stub_of(ids: RecordIds) -> Publication:
    """Enough to recognize a document in a session."""
    return Publication.of("abstract", NO_ABSTRACT, provider="", source="pubmed", title=NO_TITLE, **ids._asdict())


def distinct_records(records: Sequence[Publication]) -> list[Publication]:
    """Records without those that describe one of the others; of two of one paper, PubMed's stays."""

    def is_one_paper(one: Publication, other: Publication) -> bool:
        # By a number that both have; without one to tell them apart, by title and year.
        verdict = compared(ids_of(one), ids_of(other))
        if verdict or one.source != other.source:
            return verdict == "same"
        return tokens(one.title) == tokens(other.title) and one.date[:4] == other.date[:4]

    found: list[Publication] = []
    for one in records:
        place = next((n for n, other in enumerate(found) if is_one_paper(one, other)), None)
        if place is None:
            found.append(one)
        elif one.pmid and not found[place].pmid:
            found[place] = one
    return found
