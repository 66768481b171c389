"""The records that references mean: looked for in PubMed, for all at once, then by services that read citations."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from deepcritical_mcp.deadline import TO_READ_REFERENCES, for_each, seconds_for
from deepcritical_mcp.errors import ProviderError, ProviderTimeoutError
from deepcritical_mcp.evidence.identity import Identity, has_title_of, identity_of
from deepcritical_mcp.evidence.titles import identifies, is_generic, tokens
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import INITIALS, Publication, StatusNotice, vancouver
from deepcritical_mcp.search.record_finder import AT_ONCE, RecordFinder, ids_of
from deepcritical_mcp.search.references import Agreement, WrittenReference, are_similar, read_reference
from deepcritical_mcp.sources.base import Service, Source
from deepcritical_mcp.sources.lookup import CitedPlace, PlaceLookup, ReferenceLookup, Wanted
from deepcritical_mcp.text import PUBMED_STOP_WORDS, STOP_WORDS, batches

READ_TOGETHER = 8
"""References that one service reads before the next one is asked for those that are open."""
IN_ONE_SEARCH = 25
"""References whose titles one request to PubMed looks for."""
_HITS_EACH = 20
_TITLE_WORDS = 8
_LEAST_WORDS = 3
"""Words of a title that are looked for without a name or a year."""
MAX_CANDIDATES = 3
"""Records that are named for a reference that none of them agrees with."""
_SHARE = 0.4
"""Of a record's title that a reference must share before they are compared."""
_NO_TIME = "There was no time left to look for the reference: send it again in a call of its own."
_WORD = re.compile(r"[^\W\d_]{3,}")
_JOURNAL_WORDS = 7
_MARKUP = re.compile(r"[*_\\]+")
_YEAR = re.compile(r"[(\s](?:1[89]|20)\d\d[a-z]?\b[).;:,]{0,3}")
_FIRST_PAGE = re.compile(r"\w{1,20}")
logger = logging.getLogger(__name__)


@dataclass
class ReferenceMatch:
    """What was found for a reference.

    Attributes:
        considered: every record that may be meant, with how it agrees.
        failures: outages of services that were asked, or could not be.
        without_pubmed: by a record's id, why PubMed could not be asked for it.
        asked: the services that read the reference and answered.
        unasked: those that there was no time for.
    """

    reference: WrittenReference
    considered: dict[str, tuple[Publication, Agreement]] = field(
        default_factory=dict[str, tuple[Publication, Agreement]]
    )
    failures: list[ProviderError] = field(default_factory=list[ProviderError])
    without_pubmed: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[str] = field(default_factory=list[str])
    unasked: list[str] = field(default_factory=list[str])

    def consider(self, records: Iterable[Publication]) -> None:
        """Compare records with the reference."""
        self.considered |= {one.id: (one, Agreement(self.reference, one)) for one in records}

    @property
    def accepted(self) -> list[tuple[Publication, Agreement]]:
        """The records that agree, those that agree best: one, or several that cannot be told apart."""
        found = [one for one in self.considered.values() if one[1].is_accepted]
        best = max((agreement.rank for _, agreement in found), default=None)
        return [one for one in found if one[1].rank == best]

    @property
    def nearest(self) -> list[tuple[Publication, Agreement]]:
        """The records that come nearest, at most three, if none agrees."""
        found: list[tuple[Publication, Agreement]] = []
        for record, agreement in self.considered.values():
            title, has_people, has_journal = agreement.field("title"), *map(agreement.says, ("authors", "journal"))
            # With a similar title it may be another part of it, or have a wrong number in its title.
            is_similar = has_people and has_journal and are_similar(title.written, title.true)
            if is_similar or agreement.says("title") or (agreement.has_place and (has_people or has_journal)):
                found.append((record, agreement))
        return sorted(found, key=lambda one: one[1].rank, reverse=True)[:MAX_CANDIDATES]


class ReferenceFinder:
    """Finds what references mean. However many there are, PubMed is asked for their titles 25 at a time, for their
    places 100 at a time, and for all records together; what is open then costs a request each at services that read
    citations, which are asked for as many as there is time for."""

    def __init__(self, pubmed: Source | None, records: RecordFinder, lookups: Sequence[Service]) -> None:
        self._pubmed = pubmed
        self._records = records
        self._places = [one for one in lookups if isinstance(one, PlaceLookup)]
        self._readers = [one for one in lookups if isinstance(one, ReferenceLookup)]

    async def find(self, references: Sequence[WrittenReference], seconds: float) -> list[ReferenceMatch]:
        """What is found for each reference, in order, within so many seconds; outages are in `failures`."""
        by_reference = {one: ReferenceMatch(one) for one in references}
        matches = [*by_reference.values()]
        end = anyio.current_time() + seconds
        with anyio.move_on_after(seconds) as scope:
            await self._from_pubmed(matches, end)
            # All services that read citations are asked for a few references before the next few.
            stop = anyio.current_time() + seconds_for(TO_READ_REFERENCES)
            for batch in batches([one for one in matches if not one.accepted], READ_TOGETHER):
                for reader in self._readers:
                    if open_ones := [one for one in batch if not one.accepted]:
                        await self._from_reader(reader, open_ones, stop, end)
        for one in matches if scope.cancelled_caught else ():
            if not one.accepted:
                one.failures.append(ProviderTimeoutError("records", _NO_TIME))
        return [by_reference[one] for one in references]

    async def retracted_namesakes(self, page: Identity, seconds: float) -> list[StatusNotice]:
        """Notices of retracted papers with the title of a page, where nothing speaks against it. Costs one request, and
        another one if PubMed has retracted papers with such a title; an outage says nothing."""
        words = " ".join(page.title)
        query = _title_query(read_reference(page.shown_title)) if identifies(page.title) else ""
        found: Sequence[Publication] = ()
        with anyio.move_on_after(seconds):
            try:
                if self._pubmed and query and not is_generic(page.title):
                    asked, request = f"({query}) AND retracted publication[pt]", self._pubmed.request(query=words)
                    answer = await self._pubmed.ask(asked, request, offset=0, limit=_HITS_EACH)
                    found = [*(await self._pubmed.fetch(answer.ids)).records.values()] if answer.ids else ()
            except ProviderError as error:
                logger.info("no retracted papers looked for: %s", error.code)
        same = [one for one in found if one.status == "retracted" and has_title_of(page, identity_of(one))]
        return [StatusNotice(kind="about", pmid=one.pmid, reference=vancouver(one)) for one in same]

    async def _from_pubmed(self, matches: Sequence[ReferenceMatch], end: float) -> None:
        found: dict[str, None] = {}
        if pubmed := self._pubmed:
            for batch in batches([one for one in matches if _title_query(one.reference)], IN_ONE_SEARCH):
                query = " OR ".join(dict.fromkeys(_title_query(one.reference) for one in batch))
                request, limit = pubmed.request(query="title"), _HITS_EACH * len(batch)
                try:
                    found |= dict.fromkeys((await pubmed.ask(query, request, offset=0, limit=limit)).ids)
                except ProviderError as error:
                    for one in batch:
                        one.failures.append(error)
        asked = [(match, place) for match in matches for place in _places(match.reference)]
        for service in self._places:
            for batch in batches(asked, 100):
                try:
                    found |= dict.fromkeys(filter(None, await service.at_places([place for _, place in batch])))
                except ProviderError as error:
                    for one in {id(match): match for match, _ in batch}.values():
                        one.failures.append(error)
        await self._consider(matches, [RecordIds(pmid=pmid) for pmid in found], end)

    async def _from_reader(
        self, reader: ReferenceLookup, matches: Sequence[ReferenceMatch], stop: float, end: float
    ) -> None:
        """Ask a service that reads one citation at a time, until `stop`, and look up what it names."""
        limiter, named = anyio.CapacityLimiter(AT_ONCE), dict[RecordIds, None]()

        async def ask(one: ReferenceMatch) -> None:
            async with limiter:
                if anyio.current_time() >= stop:
                    one.unasked.append(reader.title)
                    return
                try:
                    candidates = await reader.match(one.reference.text)
                except ProviderError as error:
                    one.failures.append(error)
                    return
            one.asked.append(reader.title)
            # Unchecked, until PubMed is asked for them, too.
            described = (candidate for candidate in candidates if isinstance(candidate, Publication))
            records = [record.with_status(record.status, "") for record in described]
            one.consider(records)
            named.update(dict.fromkeys(candidate for candidate in candidates if isinstance(candidate, RecordIds)))
            # What the service describes may have a fuller record elsewhere.
            named.update(dict.fromkeys(ids_of(record) for record, _ in one.accepted if record in records))

        await for_each(ask, matches)
        await self._consider(matches, [*named], end)

    async def _consider(self, matches: Sequence[ReferenceMatch], ids: Sequence[RecordIds], end: float) -> None:
        """Fetch records, and compare each with the references that it may belong to."""
        known = {id for one in matches for id in one.considered}
        wanted = [one for one in ids if any(one) and f"pubmed:{one.pmid}" not in known]
        if not wanted:
            return
        lookups = await self._records.find([Wanted(one) for one in wanted], max(0.0, end - anyio.current_time()))
        records = [one.record for one in lookups if one.record]
        await anyio.to_thread.run_sync(_compare_all, matches, records)
        unasked = {one.record.id: one.unasked for one in lookups if one.record and one.unasked}
        for match in matches:
            match.without_pubmed |= unasked
        # A record that another service had says that PubMed was down, and may have kept others back.
        if failures := [error for one in lookups for error in one.failures if one.record is None or one.unasked]:
            for one in matches:
                one.failures += [] if one.accepted else failures[:1]


def _compare_all(matches: Sequence[ReferenceMatch], records: Sequence[Publication]) -> None:
    titles = [(record, frozenset(tokens(record.title))) for record in records]
    for match in matches:
        says, words = match.reference.says, frozenset(word.token for word in match.reference.words)
        first = _FIRST_PAGE.match(says.pages) if says.volume else None
        match.consider(
            record
            for record, title in titles
            if len(title & words) >= _SHARE * len(title) or (first and record.pages.startswith(first[0]))
        )


def _places(reference: WrittenReference) -> Iterator[CitedPlace]:
    """Where it says that the article stands, for each way to read its journal; nothing if it says too little."""
    says, first = reference.says, _FIRST_PAGE.match(reference.says.pages)
    if not says.volume or not first:
        return
    journals = [says.journal] if says.journal else []
    if not says.title or (says.title not in says.journal and len(says.title.split()) <= _JOURNAL_WORDS):
        journals += _journals_before(reference.text, says.volume)
    yield from (CitedPlace(one, says.year, says.volume, first[0], says.author) for one in dict.fromkeys(journals))


def _journals_before(text: str, volume: str) -> Iterator[str]:
    """What may be the journal of a reference without a title, behind its names: each of the last words before the
    volume with those that follow it ("Naeije R, Chin K. Circulation 2019;140")."""
    before = _MARKUP.sub(" ", text).partition(f" {volume}")[0] if f" {volume}" in text else text.partition(volume)[0]
    words = _YEAR.sub(" ", _MARKUP.sub(" ", before)).strip(" .,;:").split()[-_JOURNAL_WORDS:]
    for at, word in enumerate(words):
        is_last = at == len(words) - 1
        if word[0].isupper() and (is_last or not INITIALS.fullmatch(word.rstrip(",;:"))):
            yield " ".join(words[at:])


def _title_query(reference: WrittenReference) -> str:
    """A query that finds the title although a word of it may be wrong; "" if it has too few words."""
    if not reference.says.title:
        return ""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(reference.says.title))
    telling = [word for word in words if word not in PUBMED_STOP_WORDS and word not in STOP_WORDS]
    longest = sorted(telling, key=len, reverse=True)[:_TITLE_WORDS]
    year, author = reference.says.year, _WORD.findall(reference.says.author)[-1:]
    years = f"{int(year) - 1}:{int(year) + 1}[dp]" if year else ""
    if len(longest) < _LEAST_WORDS:
        more = [*(f"{name}[au]" for name in author), *filter(None, [years])]
        return _all_of([*(f"{word}[ti]" for word in longest), *more]) if longest and more else ""
    whole = _all_of(f"{word}[ti]" for word in longest)
    if not years or len(longest) < 2 * _LEAST_WORDS:
        return whole
    halves = (_all_of([*(f"{word}[ti]" for word in longest[at::2]), years]) for at in (0, 1))
    return " OR ".join((whole, *halves))


def _all_of(terms: Iterable[str]) -> str:
    return f"({' AND '.join(terms)})"
