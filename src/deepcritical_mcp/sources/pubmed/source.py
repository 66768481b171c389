"""PubMed as a source of evidence."""

from __future__ import annotations

import time
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Generic, Self, TypeVar

import anyio.to_thread

from deepcritical_mcp.config import Settings
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import InvalidInputError, ProviderResponseError
from deepcritical_mcp.identifiers import normalize_pmid
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication
from deepcritical_mcp.sources.base import (
    Answer,
    Completer,
    Fetched,
    Finding,
    Net,
    SearchRequest,
    Source,
    SourceCheck,
    as_sent,
)
from deepcritical_mcp.sources.pubmed.eutils import EUtilities, eutilities, ncbi_client
from deepcritical_mcp.sources.pubmed.eutils_answers import (
    PROVIDER,
    ESearchAnswer,
    NoPossibleIdError,
    explain_refusal,
    unreadable,
)
from deepcritical_mcp.sources.pubmed.id_converter import IdConverter
from deepcritical_mcp.sources.pubmed.records import Records, read_records
from deepcritical_mcp.sources.pubmed.request import PubMedRequest, Sort
from deepcritical_mcp.sources.pubmed.vocabulary import PubMedVocabulary
from deepcritical_mcp.sources.settings import PubMedSettings
from deepcritical_mcp.text import clean_line

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
KEPT_FOR_PAGES = 600.0
"""Seconds for which a next page uses the answer that the first one got."""
MAX_KEPT_IDS = 100_000
"""Of all answers: some 7 MB. The longest answer has 10,000, that of a variant on the first pages 200."""
ANSWER_IDS = 20
"""What an answer takes besides its ids, counted in ids."""
KEPT = 6 * 3_600.0
"""Seconds that a record counts, but never beyond its day (UTC): the day that a citation names as read stays true."""
MAX_BYTES = 8 * 1024 * 1024
"""Of all records: about 5,000. Packed they take an eighth of what they take as values."""
_ENTRY_BYTES = 300
"""What an entry takes besides the packed record."""


class Recent(Generic[K, V]):
    """The latest values by key, each with a time to live in seconds and a size; if they exceed `room` together, the
    least recently used ones are dropped."""

    def __init__(self, room: int, seconds: float) -> None:
        self._room, self._seconds = room, seconds
        self._entries: dict[K, tuple[float, int, V]] = {}  # in order of use, the latest last
        self.size = 0

    def get(self, key: K, within: float | None = None) -> V | None:
        """The value of a key, if it is recent, or was put `within` so many seconds."""
        if (entry := self._entries.get(key)) is None:
            return None
        age = time.monotonic() - entry[0]
        if age >= self._seconds:
            self.drop([key])
            return None
        self._entries[key] = self._entries.pop(key)
        return entry[2] if age < (self._seconds if within is None else within) else None

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value in place of an earlier one."""
        self.drop([key])
        self._entries[key] = time.monotonic(), size, value
        self.size += size
        while self.size > self._room:
            self.drop([next(iter(self._entries))])

    def drop(self, keys: Iterable[K]) -> None:
        """Forget these keys."""
        for key in keys:
            if entry := self._entries.pop(key, None):
                self.size -= entry[1]


class RecentRecords:
    """The latest records, by PMID."""

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._records = Recent[str, tuple[str, bytes]](max_bytes, KEPT)

    async def keep(self, asked: Sequence[str], records: Mapping[str, Publication]) -> None:
        """Keep the answer to a request for `asked`, read completely; records missing from it no longer exist."""
        sent = [records[id] for id in asked if id in records]

        def packed() -> list[bytes]:
            return [zlib.compress(one.model_dump_json(exclude_defaults=True).encode(), 1) for one in sent]

        bodies = await anyio.to_thread.run_sync(packed)
        self.forget(asked)
        for record, body in zip(sent, bodies, strict=True):
            self._records.put(record.pmid, (record.status_checked, body), len(body) + _ENTRY_BYTES)

    def forget(self, ids: Iterable[str]) -> None:
        """Request these records again when they are next needed."""
        self._records.drop(ids)

    async def recent(self, ids: Sequence[str], *, within: float = KEPT) -> dict[str, Publication]:
        """Those that were sent within the last seconds, and today."""
        today, found = current_date().isoformat(), {id: self._records.get(id, within) for id in ids}
        bodies = {id: entry[1] for id, entry in found.items() if entry and entry[0] == today}

        def unpacked() -> dict[str, Publication]:
            return {id: Publication.model_validate_json(zlib.decompress(body)) for id, body in bodies.items()}

        return await anyio.to_thread.run_sync(unpacked) if bodies else {}


_SORTS: dict[Sort, str] = {"relevance": "relevance", "date": "pub_date"}
_LINKS = {
    "similar": ("pubmed_pubmed", "articles similar to"),
    "cited_by": ("pubmed_pubmed_citedin", "articles that cite"),
    "references": ("pubmed_pubmed_refs", "references of"),
}
"""By kind: its name in E-utilities, and what it lists."""

_ABOUT_STATUS = ("retract", "concern")
"""Words of queries that may ask for the status of records: records sent earlier could contradict what they find."""


class PubMed(Source):
    """PubMed through E-utilities: esearch returns PMIDs, efetch their records."""

    name = PROVIDER
    title = "PubMed"
    kind = "literature"
    cited_as = "pubmed"
    tool = "pubmed_search"
    request = PubMedRequest
    two_step = True
    id_name = "PMID"
    links = {kind: lists for kind, (_, lists) in _LINKS.items()}  # noqa: RUF012

    def __init__(
        self, eutils: EUtilities, mesh: PubMedVocabulary | None = None, completer: Completer | None = None
    ) -> None:
        self.vocabulary = mesh
        self.completer = completer
        self._eutils = eutils
        self._recent = RecentRecords()
        self._answers = Recent[Hashable, ESearchAnswer](MAX_KEPT_IDS, KEPT_FOR_PAGES)

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        # Two steps: esearch and efetch.
        client = ncbi_client(settings, net, provider=PROVIDER, title=cls.title, explain=explain_refusal, steps=2)
        eutils, origin = eutilities(settings, client), settings.of(PubMedSettings).ncbi_base_url
        vocabulary = PubMedVocabulary(eutils, cache_dir=settings.cache_dir, origin=origin)
        return cls(eutils, vocabulary, IdConverter.create(settings, net))

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        """One page of the PMIDs that match `variant`, and how PubMed interpreted it.

        A page of several variants is ranked from the first results of each. So the next pages use the answers that the
        first one was given: they fit together, and cost no more searches.
        """
        assert isinstance(request, PubMedRequest)
        term, sort = request.term(variant), _SORTS[request.sort]
        mindate, maxdate = (day.replace("-", "/") for day in request.dates)
        key = term, offset, limit, sort, mindate, maxdate
        found = self._answers.get(key) if request.offset else None
        if found is None:
            found = await self._eutils.esearch(
                term, retstart=offset, retmax=limit, sort=sort, mindate=mindate, maxdate=maxdate
            )
            if any(word in variant.lower() for word in _ABOUT_STATUS):
                self._recent.forget(found.ids)
            if len(request.queries) > 1:
                self._answers.put(key, found, ANSWER_IDS + len(found.ids))
        sent, translation = self.sent(variant, request), found.query_translation
        return Answer(found.ids, found.count, remarks=tuple(_remarks(found)), translation=translation, sent=sent)

    def sent(self, variant: str, request: SearchRequest) -> str:
        assert isinstance(request, PubMedRequest)
        days = zip(("mindate", "maxdate"), request.dates, strict=True)
        dates = {name: day.replace("-", "/") for name, day in days if day}
        term = request.term(variant)
        return f"{term} [{as_sent({'datetype': 'pdat', **dates})}]" if dates else term

    async def fetch(self, ids: Sequence[str]) -> Fetched:
        """The records of PMIDs; recently sent ones as they were then."""
        return await self.fetch_anew(ids, within=KEPT)

    async def fetch_anew(self, ids: Sequence[str], *, within: float = 0.0) -> Fetched:
        recent = await self._recent.recent(ids, within=within) if within else {}
        missing = [id for id in ids if id not in recent]
        sent = await self._sent_now(missing) if missing else Fetched({})
        return replace(sent, records={**recent, **sent.records})

    async def _sent_now(self, ids: Sequence[str]) -> Fetched:
        """The records of PMIDs. If parts of the answer are still not XML after all retries, returns the rest."""
        is_whole = True
        try:
            found = await self._eutils.efetch(ids, _read_complete)
        except _BrokenXMLError as error:
            found, is_whole = error.records, False
        except NoPossibleIdError:
            return Fetched({})
        today = datetime.now(UTC).date().isoformat()
        records = {one.pmid: one.with_status(one.status, today) for one in found.publications}
        if is_whole:
            await self._recent.keep(ids, records)
        return Fetched(records, found.losses, found.unnamed)

    def stub(self, id: str) -> Publication:
        return Publication.of("abstract", NO_ABSTRACT, provider=PROVIDER, source="pubmed", title=NO_TITLE, pmid=id)

    def known_id(self, text: str) -> str:
        if not (pmid := normalize_pmid(text)):
            raise InvalidInputError(f'"{clean_line(text)[:40]}" is not a PMID: a PMID is a number such as 31978945.')
        return pmid

    async def related(self, id: str, kind: str) -> Sequence[str]:
        """PMIDs of similar articles (closest first), of those that cite `id` (newest first), or of its references."""
        return await self._eutils.elink(id, linkname=_LINKS[kind][0])

    async def spelling(self, query: str) -> str:
        return await self._eutils.espell(query)

    def checks(self) -> Sequence[SourceCheck]:
        has_key = self._eutils.has_key

        async def examine() -> Finding:
            await self._eutils.esearch("aspirin", retmax=1)
            pace = "with an API key: 10 requests per second" if has_key else "without an API key: 3 requests per second"
            if self._eutils.has_email:
                return Finding(f"answers; {pace}")
            return Finding(f"answers; {pace}", "warning", "NCBI asks for an email address: set NCBI_EMAIL to yours.")

        pubmed = SourceCheck(self.title, examine, key_variable="NCBI_API_KEY" if has_key else "")
        return (pubmed, self.completer.check()) if self.completer else (pubmed,)


def _remarks(found: ESearchAnswer) -> Iterator[str]:
    """What PubMed ignored in a query, or reported about it."""
    without = "searched without it" if found.count else "found nothing"
    yield from (f'PubMed does not know "{phrase}" and {without}.' for phrase in found.phrases_not_found)
    yield from (f"PubMed has no search field {field} and left it out." for field in found.fields_not_found)
    yield from (f'PubMed ignored "{word}".' for word in found.phrases_ignored)
    for phrase in found.quoted_phrases_not_found:
        yield f"PubMed's index has no phrase {phrase}; its words were searched individually."
    yield from (f'PubMed says: "{text}"' for text in found.messages if text != "No items found.")


class _BrokenXMLError(ProviderResponseError):
    """Some of the records are not valid XML; a retry may help."""

    def __init__(self, records: Records) -> None:
        super().__init__(PROVIDER, unreadable("parts of it are not valid XML").message)
        self.records = records


def _read_complete(body: bytes) -> Records:
    records = read_records(body)
    if not records.well_formed:
        raise _BrokenXMLError(records)
    return records
