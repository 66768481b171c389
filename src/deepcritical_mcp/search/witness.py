"""The status of publications from a second witness, and from PubMed again where it was read too long ago."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import anyio

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.deadline import TO_ASK_WITNESS, TO_READ_STATUS, seconds_for
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.net.breaker import CircuitBreaker
from deepcritical_mcp.search.documents import PUBMED_OFF
from deepcritical_mcp.search.testimony import Notices, testified, with_article_pmids, with_status_of
from deepcritical_mcp.sources.base import Source
from deepcritical_mcp.sources.lookup import LookupService, RecordLookup, StatusLookup
from deepcritical_mcp.text import counted

AT_A_TIME = 100
"""DOIs in a request to a witness."""
RECORDS_AT_A_TIME = 200
"""Records in a request to PubMed."""
REMEMBERED = 24 * 3_600.0
"""Seconds for which the answer of a witness counts."""
MAX_REMEMBERED = 20_000
SKIPPED = 60.0
"""Seconds for which a witness that failed is not asked."""
MAX_NAMED = 5
"""Publications that remarks name, of those that the witness contradicts, and in one on an outage."""
_ONLY_RECORDS_SAY = "preprints may have been published: unpublished_only leaves out only those whose records say so."

ASK_AGAIN = "add_evidence with the same number or reference asks it again."


class OutageRemark(str):
    """A remark that a service could not be asked."""

    __slots__ = ()


class StatusSession(Protocol):
    """The part of `EvidenceStore` that checking needs."""

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]: ...
    async def set_statuses(self, publications: Sequence[Publication]) -> None: ...


@dataclass
class _Testimony:
    """What a witness says about DOIs: None for those that it does not know."""

    title: str
    told: dict[str, Notices | None] = field(default_factory=dict[str, "Notices | None"])
    remarks: list[str] = field(default_factory=list[str])


class Witness:
    """Asks the services of `lookups` that know what happened to publications.

    What they say completes a record. Where they contradict it, the graver status counts, and both the record's notices
    and a remark say who says what. An outage is a remark; it is never an error, and costs little time.

    Args:
        lookups: its StatusLookups are the witnesses; the other RecordLookups find the PMID of a preprint's article.
        pubmed: where the status of its records is read again.
        off: titles of witnesses that are switched off.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        lookups: Sequence[LookupService] = (),
        pubmed: Source | None = None,
        *,
        off: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._witnesses = [one for one in lookups if isinstance(one, StatusLookup)]
        self._records = [one for one in lookups if isinstance(one, RecordLookup) and not isinstance(one, StatusLookup)]
        self._pubmed = pubmed
        self._off = off
        self._clock = clock
        self._remembered: dict[tuple[str, str], tuple[float, Notices | None]] = {}
        self._breakers = {
            one.name: CircuitBreaker(one.name, one.title, threshold=1, cooldown=SKIPPED, clock=clock)
            for one in self._witnesses
        }

    @property
    def title(self) -> str:
        """Who is asked; "" if nobody is."""
        return " and ".join(one.title for one in self._witnesses)

    async def completed(self, publications: Sequence[Publication]) -> tuple[list[Publication], tuple[str, ...]]:
        """`publications` with what the witnesses say about those that have a DOI, and remarks.

        Costs one request for 100 of them, and one that finds the PMIDs of preprints' articles.
        """
        completed, remarks, _ = await self._completed(publications)
        return completed, remarks

    async def _completed(
        self, publications: Sequence[Publication], *, anew: bool = False
    ) -> tuple[list[Publication], tuple[str, ...], set[int]]:
        """The same, and the places of those that a witness gave an answer about. With `anew` all that have a DOI are
        asked about, whatever is remembered of them."""
        completed, remarks, answered = list(publications), list[str](), set[int]()
        wanted = [n for n, one in enumerate(completed) if (_doi_of(one) if anew else self._has_more_to_say(one))]
        for witness in self._witnesses if wanted else ():
            testimony = await self._ask(witness, [completed[n] for n in wanted], anew=anew)
            answered |= {n for n in wanted if _doi_of(completed[n]) in testimony.told}
            contradictions = dict[str, None]()
            for n in wanted:
                notices = testimony.told.get(_doi_of(completed[n]))
                if notices is not None:
                    completed[n], remark = testified(completed[n], notices, testimony.title)
                    contradictions |= {remark: None} if remark else {}
            remarks += [*contradictions][:MAX_NAMED]
            if (more := len(contradictions) - MAX_NAMED) > 0:
                remarks.append(
                    f"{counted(more, 'more record')}: {testimony.title} and the record contradict each other."
                )
            remarks += testimony.remarks
        if self._off and any(map(_may_be_published, completed)):
            are_off = f"{' and '.join(self._off)} is switched off here (DEEPCRITICAL_OFF)"
            remarks.append(f"{are_off}, so these {_ONLY_RECORDS_SAY}")
        return await self._with_pmids(completed), tuple(dict.fromkeys(remarks)), answered

    def not_asked(self, publications: Sequence[Publication]) -> str:
        """A remark for a call that does not ask the witnesses about `publications`; "" if they know nothing more."""
        count = sum(map(self._has_more_to_say, publications))
        if not self._witnesses or not count:
            return ""
        return f"{self.title}, the second witness of retractions, was not asked about {count:,} of these records"

    def _has_more_to_say(self, publication: Publication) -> bool:
        """Whether a witness may know of it, and has not just described it itself."""
        described = {(one.name, _today()) for one in self._witnesses}
        return bool(_doi_of(publication)) and (publication.text.provider, publication.status_checked) not in described

    async def rechecked(self, publications: Sequence[Publication]) -> tuple[list[Publication], tuple[str, ...]]:
        """The same, for publications that a session holds: first PubMed is asked again for the status of its records
        that were read before today, or for another search. Nothing but the status changes."""
        checked, remarks, _ = await self._rechecked(publications, anew=False)
        return checked, remarks

    async def checked_anew(
        self, publications: Sequence[Publication]
    ) -> tuple[list[Publication], tuple[str, ...], set[int]]:
        """The same, whenever their status was last read; and the places of those that somebody gave an answer about."""
        return await self._rechecked(publications, anew=True)

    async def _rechecked(
        self, publications: Sequence[Publication], *, anew: bool
    ) -> tuple[list[Publication], tuple[str, ...], set[int]]:
        stale = [n for n, one in enumerate(publications) if _is_pubmeds(one) and (anew or self._is_old(one))]
        current, remarks, read = list(publications), list[str](), set[int]()
        if self._pubmed and stale:
            fresh, remarks = await self._read_again(self._pubmed, [current[n].pmid for n in stale])
            for n in stale:
                if record := fresh.get(current[n].pmid):
                    current[n] = with_status_of(record, current[n])
                    read.add(n)
        completed, more, answered = await self._completed(current, anew=anew)
        others = [one for n, one in enumerate(completed) if not (self._pubmed and n in stale)]
        advice = ASK_AGAIN if self._pubmed else PUBMED_OFF
        return completed, (*remarks, *_not_read_again(others, advice), *more), read | answered

    def _is_old(self, publication: Publication) -> bool:
        """Whether the status of PubMed's record was read before today, or never, or for another search."""
        read = publication.status_checked
        return (
            read in (UNKNOWN_DATE, "")
            or read < _today()
            or (self._pubmed is not None and self._pubmed.was_reused(publication.pmid))
        )

    async def refresh(self, session: StatusSession, ids: Sequence[str]) -> tuple[str, ...]:
        """Recheck what a session holds under these ids, and keep what changed; gives the remarks.

        Raises:
            EvidenceStoreError: the session cannot be read or written.
        """
        held = [*(await session.publications(ids)).values()]
        checked, remarks = await self.rechecked(held)
        changed = [new for new, old in zip(checked, held, strict=True) if status_fields(new) != status_fields(old)]
        if changed:
            await session.set_statuses(changed)
        return remarks

    async def _read_again(self, pubmed: Source, pmids: Sequence[str]) -> tuple[dict[str, Publication], list[str]]:
        found: dict[str, Publication] = {}
        asked = list(dict.fromkeys(pmids))
        problem = ""
        for batch in _batches(asked, RECORDS_AT_A_TIME):
            with anyio.move_on_after(seconds_for(TO_READ_STATUS)) as scope:
                try:
                    found |= (await pubmed.fetch_anew(batch)).records
                except ProviderError as error:
                    problem = error.message
            problem = f"{pubmed.title} did not answer in time." if scope.cancelled_caught else problem
            if problem:
                break
        missing = [f"PMID {pmid}" for pmid in asked if pmid not in found]
        if not missing:
            return found, []
        text = problem or f"{pubmed.title} sent no record."
        remark = f"The status of {_listed(missing)} could not be read again and may be out of date: {text}"
        return found, [OutageRemark(remark)]

    async def _ask(
        self, witness: StatusLookup, publications: Sequence[Publication], *, anew: bool = False
    ) -> _Testimony:
        """What one witness says about publications with a DOI, now or, unless `anew`, of late."""
        dois = [_doi_of(one) for one in publications]
        testimony, now = _Testimony(witness.title), self._clock()
        for doi in dois:
            at, notices = self._remembered.get((witness.name, doi), (-REMEMBERED, None))
            if not anew and now - at < REMEMBERED:
                testimony.told[doi] = notices
        missing = [doi for doi in dict.fromkeys(dois) if doi not in testimony.told]
        problem = ""
        for batch in _batches(missing, AT_A_TIME):
            with anyio.move_on_after(seconds_for(TO_ASK_WITNESS)) as scope:
                try:
                    with self._breakers[witness.name].guard():
                        told = await witness.notices(batch)
                    answers = {doi: told.get(doi) for doi in batch}
                    testimony.told |= answers
                    self._remember(witness.name, answers)
                except ProviderError as error:
                    problem = error.message
            problem = f"{witness.title} did not answer in time." if scope.cancelled_caught else problem
            if problem:
                lost = [doi for doi in missing if doi not in testimony.told]
                unsure = any(_may_be_published(one) and _doi_of(one) in lost for one in publications)
                what = f"of retractions{' and of published preprints' if unsure else ''}"
                asked = f"{witness.title}, the second witness {what}, could not be asked about {_listed(lost)}"
                testimony.remarks.append(OutageRemark(f"{asked}: {problem}"))
                testimony.remarks += [f"These {_ONLY_RECORDS_SAY}"] if unsure else []
                break
        return testimony

    def _remember(self, name: str, told: Mapping[str, Notices | None]) -> None:
        now = self._clock()
        self._remembered |= {(name, doi): (now, notices) for doi, notices in told.items()}
        for oldest in list(self._remembered)[: max(0, len(self._remembered) - MAX_REMEMBERED)]:
            del self._remembered[oldest]

    async def _with_pmids(self, publications: Sequence[Publication]) -> list[Publication]:
        """`publications`; articles of preprints that are named by DOI, with their PMIDs, if they have any."""
        named = (notice for one in publications for notice in one.status_notices)
        dois = list(dict.fromkeys(one.doi for one in named if one.kind == "published" and one.doi and not one.pmid))
        pmids: dict[str, str] = {}
        with anyio.move_on_after(seconds_for(TO_ASK_WITNESS)):
            for lookup in self._records:
                wanted = [RecordIds(doi=doi) for doi in dois if doi not in pmids][:AT_A_TIME]
                wanted = [ids for ids in wanted if lookup.accepts(ids)]
                try:
                    found = await lookup.records(wanted) if wanted else None
                except ProviderError:  # the DOI leads to the article, too
                    continue
                for ids, record in zip(wanted, found.records if found else (), strict=False):
                    if record and record.pmid:
                        pmids[ids.doi] = record.pmid
        return [with_article_pmids(one, pmids) for one in publications] if pmids else list(publications)


def _doi_of(publication: Publication) -> str:
    """The DOI by which a witness knows it; "" if it is the user's own, or has none."""
    return "" if publication.is_users else normalize_doi(publication.doi)


def _may_be_published(publication: Publication) -> bool:
    """Whether it is a preprint that a witness could be asked about, and whose record names no article."""
    notices = publication.status_notices
    is_known = any(notice.kind == "published" for notice in notices)
    return publication.form == "preprint" and bool(_doi_of(publication)) and not is_known


def status_fields(publication: Publication) -> tuple[object, ...]:
    """All that checking its status may change."""
    return publication.status, publication.status_notices, publication.status_checked


def has_askable_status(publication: Publication) -> bool:
    """Whether PubMed or a witness knows it by a number; a note or a document of the user's own they do not."""
    return _is_pubmeds(publication) or bool(_doi_of(publication))


def _is_pubmeds(publication: Publication) -> bool:
    return bool(publication.pmid) and publication.source == "pubmed" and publication.is_record


def _not_read_again(publications: Sequence[Publication], advice: str) -> Iterator[str]:
    """What to know about records that PubMed is not asked for again."""
    if unread := [one.id for one in publications if one.awaits_pubmed]:
        yield (
            f"The status of {_listed(unread)} was never read from PubMed, so a retraction that only PubMed knows may "
            f"be missing. {advice}"
        )
    yesterday = (current_date() - timedelta(days=1)).isoformat()
    if old := [one for one in publications if one.is_record and one.status_checked < yesterday]:
        since = min(one.status_checked for one in old)
        named = _listed([one.id for one in old])
        yield f"The status of {named} is as of {since} or later: only PubMed's records are read again."


def _today() -> str:
    return current_date().isoformat()


def _listed(names: Sequence[str]) -> str:
    if len(names) > MAX_NAMED:
        return counted(len(names), "record")
    return ", ".join(names)


def _batches(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))
