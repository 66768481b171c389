"""The bibliographic records of documents, for all of them at once: from PubMed, else from other providers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from deepcritical_mcp.deadline import even_share
from deepcritical_mcp.errors import ProviderError, ProviderTimeoutError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, preprint_number
from deepcritical_mcp.models import Attempt, Publication, publication_id
from deepcritical_mcp.sources.base import Source
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted

AT_ONCE = 4
"""Documents that are looked up at the same time, where a provider takes one at a time."""
PUBMED = "pubmed"
RECORDS = "records"
"""Stands among the attempts for looking up a record, when that took too long."""
_MORE_HITS = 20
"""PubMed may find papers under a DOI that only mention it."""

logger = logging.getLogger(__name__)


@dataclass
class Lookup:
    """What is known about a document.

    Attributes:
        wanted: with all identifiers that were found.
        record: its bibliographic record; None if nobody has one.
        attempts: who did not have it, or could not be asked.
        failures: the outages among these.
        copies: by provider, what it answered about the text when it was asked for the record.
        asked_converter: whether the converter was asked for other identifiers.
    """

    wanted: Wanted
    record: Publication | None = None
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    failures: list[ProviderError] = field(default_factory=list[ProviderError])
    copies: dict[str, Copy] = field(default_factory=dict[str, Copy])
    asked_converter: bool = False

    @classmethod
    def of(cls, record: Publication, urls: Sequence[str] = ()) -> Lookup:
        """Of a document whose record is known."""
        return cls(Wanted(ids_of(record), tuple(urls)), record)

    def found(self, record: Publication) -> None:
        """Take the record, with the identifiers that it adds."""
        known, own = self.wanted.ids, ids_of(record)
        if (
            known.pmid and not own.pmid and own.pmcid and known.pmcid == own.pmcid
        ):  # an article in PMC need not name its PMID
            record = record.model_copy(update={"pmid": known.pmid})
            record = record.model_copy(update={"id": publication_id(record)})
        ids = RecordIds(*(new or old for new, old in zip(own, known, strict=True)))
        self.record, self.wanted = record, replace(self.wanted, ids=_of_one_kind(ids))

    def failed(self, provider: str, error: ProviderError) -> None:
        """Note an outage."""
        self.failures.append(error)
        self.attempts.append(Attempt(provider=provider, status="failed", detail=error.message))


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
    """Finds records by identifiers. 100 papers cost at most two requests to the converter and two to PubMed."""

    def __init__(self, pubmed: Source | None, providers: Sequence[FullTextSource]) -> None:
        self._pubmed = pubmed
        self._providers = providers
        self._completer = pubmed.completer if pubmed else None

    async def find(self, wanted: Sequence[Wanted], seconds: float) -> list[Lookup]:
        """What is known about each document, in order, after so many seconds. An outage is in its `failures`, never
        raised."""
        lookups = [Lookup(one) for one in wanted]
        papers = [one for one in lookups if is_paper(one.wanted.ids)]
        with anyio.move_on_after(seconds) as scope:
            await self._complete([one for one in papers if not one.wanted.ids.pmid])
            with anyio.move_on_after(even_share(anyio.current_time() + seconds, 1)) as turn:
                await self._from_pubmed(papers)
            unknown = [one for one in papers if one.record is None and one.wanted.ids.pmid]
            for one in unknown if turn.cancelled_caught else ():
                one.failed(PUBMED, ProviderTimeoutError(PUBMED, "PubMed did not answer in time."))
            # PubMed's record names the other identifiers; without one, only the converter knows them.
            await self._complete([one for one in unknown if not one.asked_converter])
            await self._from_others([one for one in lookups if one.record is None and has_record(one.wanted)])
        for one in lookups if scope.cancelled_caught else ():
            if one.record is None:
                one.failed(RECORDS, ProviderTimeoutError(RECORDS, "There was no time left to look up the record."))
        return lookups

    async def _complete(self, lookups: Sequence[Lookup]) -> None:
        if self._completer is None or not lookups:
            return
        for one in lookups:
            one.asked_converter = True
        try:
            completed = await self._completer.convert([one.wanted.ids for one in lookups])
        except ProviderError as error:
            logger.info("identifiers not converted: %s", error.code)
            for one in lookups:
                one.failed(error.provider, error)
            return
        for one, ids in zip(lookups, completed.ids, strict=True):
            known = RecordIds(*(old or new for old, new in zip(one.wanted.ids, ids, strict=True)))
            one.wanted = replace(one.wanted, ids=_of_one_kind(known))

    async def _from_pubmed(self, lookups: Sequence[Lookup]) -> None:
        """PubMed's records, in one request; before it, one that finds the PMIDs of DOIs."""
        if self._pubmed is None:
            return
        by_doi = [one for one in lookups if not one.wanted.ids.pmid and one.wanted.ids.doi]
        pmids = [one.wanted.ids.pmid for one in lookups if one.wanted.ids.pmid]
        try:
            if by_doi:
                pmids += await self._pmids_of([one.wanted.ids.doi for one in by_doi])
        except ProviderError as error:
            for one in by_doi:
                one.failed(self._pubmed.name, error)
        await self._fetch(self._pubmed, lookups, pmids)

    async def _pmids_of(self, dois: Sequence[str]) -> Sequence[str]:
        assert self._pubmed is not None
        query = " OR ".join(f'"{doi}"[doi]' for doi in dict.fromkeys(dois))
        request = self._pubmed.request(query="doi")
        answer = await self._pubmed.ask(query, request, offset=0, limit=len(dois) + _MORE_HITS)
        return answer.ids

    async def _fetch(self, pubmed: Source, lookups: Sequence[Lookup], pmids: Sequence[str]) -> None:
        """Give each document its record, by its own PMID or DOI."""
        if not pmids:
            return
        try:
            fetched = await pubmed.fetch(list(dict.fromkeys(pmids)))
        except ProviderError as error:
            for one in lookups:
                one.failed(pubmed.name, error)
            return
        by_doi = {normalize_doi(record.doi): record for record in fetched.records.values() if record.doi}
        for one in lookups:
            pmid, doi = one.wanted.ids.pmid, one.wanted.ids.doi
            record = fetched.records.get(pmid) or (by_doi.get(doi) if doi and not pmid else None)
            if record:
                one.found(record)
            elif pmid:
                detail = fetched.losses.get(pmid, f"PubMed has no record with PMID {pmid}.")
                one.attempts.append(Attempt(provider=pubmed.name, status="not_found", detail=detail))

    async def _from_others(self, lookups: Sequence[Lookup]) -> None:
        """Records of other providers, and PubMed's of those that turn out to have a PMID."""
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def look_up(one: Lookup) -> None:
            async with limiter:
                await self._from_any(one)

        async with anyio.create_task_group() as tasks:
            for one in lookups:
                tasks.start_soon(look_up, one)
        if pubmed := self._pubmed:
            asked = {id(one) for one in lookups if any(attempt.provider == pubmed.name for attempt in one.attempts)}
            new = [one for one in lookups if one.record and one.wanted.ids.pmid and id(one) not in asked]
            await self._fetch(pubmed, new, [one.wanted.ids.pmid for one in new])

    async def _from_any(self, one: Lookup) -> None:
        for provider in self._providers:
            if provider.off or not provider.accepts(one.wanted):
                continue
            try:
                record, copy = await provider.record_and_copy(one.wanted)
            except ProviderError as error:
                one.failed(provider.name, error)
                continue
            if copy:
                one.copies[provider.name] = copy
            if record and agree(one.wanted.ids, ids_of(record)):
                one.found(record)
                return


def agree(one: RecordIds, other: RecordIds) -> bool:
    """Whether the identifiers can be those of one document: no number that identifies it differs."""
    return compared(one, other) != "different"


def compared(one: RecordIds, other: RecordIds) -> str:
    """ "same" or "different" by the most reliable number that both have; "" if they have none in common.

    A DOI decides only where nothing else does, because versions of an article may have their own.
    """
    for name in ("pmid", "pmcid", "nct", "doi"):
        first, second = getattr(one, name).lower(), getattr(other, name).lower()
        if first and second:
            is_version = name == "doi" and _is_version(*sorted((first, second), key=len))
            return "same" if first == second or is_version else "different"
    return ""


def _is_version(short: str, long: str) -> bool:
    """Whether one DOI is the other with the number of a version: "10.7554/elife.1", "10.7554/elife.1.2"."""
    rest = long.removeprefix(short)
    return rest != long and rest.lstrip("./v").isdecimal() and rest[:1] in "./v"
