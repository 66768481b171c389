"""The status of publications from a second witness, and from PubMed again where it was read too long ago."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import anyio

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.deadline import TO_ASK_WITNESS, TO_READ_STATUS, seconds_for
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.memory import SizedCache
from deepcritical_mcp.models import (
    GRAVE_STATUSES,
    NOTICE_LABELS,
    Publication,
    PublicationStatus,
    StatusNotice,
    asked_on,
    gravest,
    status_label,
    status_told_by,
)
from deepcritical_mcp.net.circuit_breaker import CircuitBreaker
from deepcritical_mcp.search.documents import PUBMED_OFF
from deepcritical_mcp.search.search_steps import ReadingSession
from deepcritical_mcp.sources.base import Service, Source, in_time
from deepcritical_mcp.sources.lookup import RecordLookup, StatusLookup
from deepcritical_mcp.text import batches, counted

NOT_IN_PUBMED, NOT_IN_RECORD = "; PubMed does not say so", "; its record does not say so"
"""End the reference of a notice in which a witness contradicts the record."""
Notices = tuple[StatusNotice, ...]


def testified(record: Publication, notices: Notices, title: str, day: str) -> tuple[Publication, str]:
    """A record with the notices that the service of that title gave on that day, and a remark if the two contradict
    each other on a retraction or concern. Of PubMed's records, PubMed says what is in order."""
    told, own = status_told_by(notices), record.status
    is_pubmeds = bool(record.pmid) and record.source == "pubmed"
    mark = NOT_IN_PUBMED if is_pubmeds else NOT_IN_RECORD
    new = list[StatusNotice]()
    for kind in NOTICE_LABELS:
        known = [one for one in record.status_notices if one.kind == kind]
        dois = {normalize_doi(one.doi) for one in known}
        more = [one for one in notices if one.kind == kind and one.doi not in dois]
        # The record's notices without a DOI may be among these: as many are skipped; an article is known by its PMID.
        for one in more if kind == "published" else more[sum(not one.doi for one in known) :]:
            by = f" ({title})" if one.reference and title not in one.reference else ""
            contradiction = "" if _is_as_grave(own, one) else mark
            new.append(one.but(reference=f"{one.reference}{by}{contradiction}"))
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
    elif own in GRAVE_STATUSES and told != own:
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
        if not pmid or pmid not in known:
            known.add(pmid)
            notices.append(one.but(pmid=pmid) if pmid else one)
    return publication.but(status_notices=tuple(dict.fromkeys(notices)))


def _is_as_grave(status: PublicationStatus, notice: StatusNotice) -> bool:
    """Whether a record with this status says what the notice says, or worse; only retractions and concerns count."""
    told = status_told_by([notice])
    return told not in GRAVE_STATUSES or gravest((status, told)) == status


def _in_order(notices: Iterable[StatusNotice]) -> Notices:
    order = [*NOTICE_LABELS]
    return tuple(sorted(dict.fromkeys(notices), key=lambda notice: order.index(notice.kind)))


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
"""Publications that remarks name, of those that the witness contradicts, and in one on an outage; and days."""
MAX_DATED = 30
"""Publications that a remark names whose status could not be asked again."""
_ONLY_RECORDS_SAY = "preprints may have been published: unpublished_only leaves out only those whose records say so."

ASK_AGAIN = "add_evidence with the same number or reference asks it again."


class OutageRemark(str):
    """A remark that a service could not be asked."""

    __slots__ = ()


class Rechecked(NamedTuple):
    """Publications with their status asked again, and remarks; `answered` are the places of those that somebody gave an
    answer about, and `is_down` says that PubMed gave none."""

    publications: Sequence[Publication]
    remarks: tuple[str, ...]
    answered: frozenset[int]
    is_down: bool


_Told = tuple[str, Notices | None]
"""On which day a witness said what; None if it does not know the DOI."""


class Witness:
    """Asks the services of `lookups` that know what happened to publications.

    What they say completes a record. Where they contradict it, the graver status counts, and both the record's notices
    and a remark say who says what. An outage is a remark; it is never an error, and costs little time.

    Args:
        lookups: its StatusLookups are the witnesses; the other RecordLookups find the PMID of a preprint's article.
        pubmed: where the status of its records is read again.
        off: titles of witnesses that are switched off.
    """

    def __init__(
        self, lookups: Sequence[Service] = (), pubmed: Source | None = None, *, off: Sequence[str] = ()
    ) -> None:
        self._witnesses = [one for one in lookups if isinstance(one, StatusLookup)]
        self._records = [one for one in lookups if isinstance(one, RecordLookup) and not isinstance(one, StatusLookup)]
        self._pubmed = pubmed
        self._off = off
        self._remembered = SizedCache[tuple[str, str], _Told](MAX_REMEMBERED)
        self._breakers = {
            one.name: CircuitBreaker(one.name, one.title, threshold=1, cooldown=SKIPPED) for one in self._witnesses
        }

    @property
    def title(self) -> str:
        """Who is asked; "" if nobody is."""
        return " and ".join(one.title for one in self._witnesses)

    async def completed(
        self, publications: Sequence[Publication], wanted: Sequence[int] | None = None, within: float = REMEMBERED
    ) -> tuple[list[Publication], tuple[str, ...], set[int]]:
        """`publications` with what the witnesses say about those that have a DOI, or said `within` the last seconds;
        remarks; and the places of those that a witness knows. They are asked about the places `wanted`, by default
        about those of which they may know more.

        Costs one request for 100 of them, and one that finds the PMIDs of preprints' articles.
        """
        if wanted is None:
            wanted = [n for n, one in enumerate(publications) if self._has_more_to_say(one)]
        completed, remarks, answered = list(publications), list[str](), set[int]()
        for witness in self._witnesses if wanted else ():
            told, outages = await self._ask(witness, [completed[n] for n in wanted], within=within)
            contradictions = dict[str, None]()
            for n in wanted:
                day, notices = told.get(_doi_of(completed[n]), ("", None))
                if notices is not None:
                    answered.add(n)
                    completed[n], remark = testified(completed[n], notices, witness.title, day)
                    contradictions |= {remark: None} if remark else {}
            remarks += [*contradictions][:MAX_NAMED]
            if (more := len(contradictions) - MAX_NAMED) > 0:
                remarks.append(f"{counted(more, 'more record')}: {witness.title} and the record contradict each other.")
            remarks += outages
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
        described = {(one.name, current_date().isoformat()) for one in self._witnesses}
        return bool(_doi_of(publication)) and (publication.text.provider, publication.status_checked) not in described

    async def rechecked(self, publications: Sequence[Publication], *, within: float = 0.0) -> Rechecked:
        """What is to be relied on, with its status asked again: of PubMed's records from PubMed, of all that have a DOI
        from the witnesses, unless they said it within the last seconds. Nothing but the status changes.

        Costs one request for 200 of PubMed's records, besides those of the witnesses. The remarks name what could not
        be asked about, and when its status was last asked.
        """
        current, remarks, read, is_down = list(publications), list[str](), set[int](), False
        stale = [n for n, one in enumerate(publications) if _is_pubmeds(one)]
        if self._pubmed and stale:
            fresh, problem = dict[str, Publication](), ""
            for batch in batches(list(dict.fromkeys(current[n].pmid for n in stale)), RECORDS_AT_A_TIME):
                again = partial(self._pubmed.fetch, batch, within=within)
                try:
                    fresh |= (await in_time(self._pubmed, seconds_for(TO_READ_STATUS), again)).records
                except ProviderError as error:
                    problem = error.message
                    break
            for n in stale:
                if record := fresh.get(current[n].pmid):
                    current[n] = with_status_of(record, current[n])
                    read.add(n)
            is_down = bool(problem)
            if lost := [publications[n] for n in stale if n not in read]:
                remarks.append(OutageRemark(_not_asked(lost, problem or f"{self._pubmed.title} sent no record.")))
        elif stale:
            remarks.append(_not_asked([publications[n] for n in stale], PUBMED_OFF))
        wanted = [n for n, one in enumerate(current) if _doi_of(one)]
        completed, more, answered = await self.completed(current, wanted, within)
        never = [completed[n].id for n in range(len(completed)) if n not in stale and completed[n].awaits_pubmed]
        if never:
            remarks.append(
                f"The status of {_listed(never)} was never read from PubMed, so a retraction that only PubMed knows "
                f"may be missing. {ASK_AGAIN if self._pubmed else PUBMED_OFF}"
            )
        silent = [one for n, one in enumerate(completed) if n not in answered and n not in stale and one.is_record]
        if old := [one for one in silent if "" < one.status_checked < current_date().isoformat()]:
            named = named_with_days(old)
            remarks.append(f"The status of {named} was not asked again: nobody who is asked here knows these records.")
        return Rechecked(completed, (*remarks, *more), frozenset(read | answered), is_down)

    async def refresh(self, session: ReadingSession, ids: Sequence[str], *, within: float = 0.0) -> Rechecked:
        """Recheck what a session holds under these ids, and keep what changed.

        Raises:
            EvidenceStoreError: the session cannot be read or written.
        """
        held = [*(await session.publications(ids)).values()]
        checked = await self.rechecked(held, within=within)
        pairs = zip(checked.publications, held, strict=True)
        if changed := [new for new, old in pairs if status_fields(new) != status_fields(old)]:
            await session.set_statuses(changed)
        return checked

    async def _ask(
        self, witness: StatusLookup, publications: Sequence[Publication], *, within: float
    ) -> tuple[dict[str, _Told], list[str]]:
        """What one witness says about publications with a DOI, now or within the last seconds, and remarks on an
        outage."""
        dois = dict.fromkeys(map(_doi_of, publications))
        remembered = self._remembered.get([(witness.name, doi) for doi in dois], within)
        told = {doi: one for (_, doi), one in remembered.items()}

        async def ask(batch: Sequence[str]) -> Mapping[str, Notices]:
            with self._breakers[witness.name].guard():
                return await witness.notices(batch)

        for batch in batches([doi for doi in dois if doi not in told], AT_A_TIME):
            try:
                answer = await in_time(witness, seconds_for(TO_ASK_WITNESS), partial(ask, batch))
            except ProviderError as error:
                lost = [one for one in publications if _doi_of(one) not in told]
                unsure = any(map(_may_be_published, lost))
                what = f"the second witness of retractions{' and of published preprints' if unsure else ''}"
                named = named_with_days(lost, _doi_of, MAX_NAMED)
                remark = f"{witness.title}, {what}, could not be asked about {named}: {error.message}"
                return told, [OutageRemark(remark), *([f"These {_ONLY_RECORDS_SAY}"] if unsure else [])]
            for doi in batch:
                told[doi] = current_date().isoformat(), answer.get(doi)
                self._remembered.put((witness.name, doi), told[doi], 1)
        return told, []

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
                    found = await lookup.records(wanted) if wanted else ()
                except ProviderError:  # the DOI leads to the article, too
                    continue
                for ids, record in zip(wanted, found, strict=True):
                    if isinstance(record, Publication) and record.pmid:
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


def _not_asked(publications: Sequence[Publication], problem: str) -> str:
    return f"The status of {named_with_days(publications)} could not be asked again and may be out of date: {problem}"


def named_with_days(
    publications: Iterable[Publication], name: Callable[[Publication], str] | None = None, most: int = MAX_DATED
) -> str:
    """Publications by name, and when their status was last asked: "PMID 1, PMID 2 (status last asked 2026-11-20)"."""
    days: dict[str, dict[str, None]] = {}
    for one in publications:
        days.setdefault(one.status_checked, {})[(name or _name_of)(one)] = None
    ordered = sorted(days)
    named = [f"{_listed([*days[day]], most)} ({asked_on(day)})" for day in ordered[:MAX_NAMED]]
    if rest := ordered[MAX_NAMED:]:
        count = counted(sum(len(days[day]) for day in rest), "more record")
        named.append(f"{count} ({asked_on(*rest)})")
    return "; ".join(named)


def _name_of(publication: Publication) -> str:
    return f"PMID {publication.pmid}" if _is_pubmeds(publication) else publication.doi or publication.id


def _listed(names: Sequence[str], most: int = MAX_NAMED) -> str:
    if len(names) > most:
        return counted(len(names), "record")
    return ", ".join(names)
