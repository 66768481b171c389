"""PubMed as a source of evidence, and as a vocabulary: what NCBI knows about the words of a topic.

The MeSH database is searched through E-utilities (`db=mesh`): esearch finds a name; esummary returns all names of its
record (`ds_meshterms`, the heading first), its id (`ds_meshui`) and its positions in the tree (`ds_idxlinks`).
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeVar, cast

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError

from deepcritical_mcp.config import Settings
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.memory import SizedCache
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication
from deepcritical_mcp.net.cache import Cache, cache_key
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.net.fields import rows_of, text_at, texts_of
from deepcritical_mcp.sources.base import (
    Answer,
    Completer,
    Fetched,
    Finding,
    Hits,
    MeshDescriptor,
    Source,
    SourceCheck,
    Vocabulary,
    as_sent,
)
from deepcritical_mcp.sources.pubmed.eutils import (
    PROVIDER,
    ESearchAnswer,
    EUtilities,
    NoPossibleIdError,
    eutilities,
    explain_refusal,
    ncbi_client,
    unreadable,
)
from deepcritical_mcp.sources.pubmed.pmc import IdConverter
from deepcritical_mcp.sources.pubmed.records import Records, read_records
from deepcritical_mcp.sources.pubmed.request import PubMedRequest, Sort
from deepcritical_mcp.sources.settings import PubMedSettings
from deepcritical_mcp.text import clean_line

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


class RecentRecords(SizedCache[str, tuple[str, bytes]]):
    """The latest records, by PMID: the day of each, and the record, packed."""

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(max_bytes, KEPT)

    async def keep(self, asked: Sequence[str], records: Mapping[str, Publication]) -> None:
        """Keep the answer to a request for `asked`, read completely; records missing from it no longer exist."""
        sent = [records[id] for id in asked if id in records]

        def packed() -> list[bytes]:
            return [zlib.compress(one.model_dump_json(exclude_defaults=True).encode(), 1) for one in sent]

        bodies = await anyio.to_thread.run_sync(packed)
        self.drop(asked)
        for record, body in zip(sent, bodies, strict=True):
            self.put(record.pmid, (record.status_checked, body), len(body) + _ENTRY_BYTES)

    async def recent(self, ids: Sequence[str], *, within: float = math.inf) -> dict[str, Publication]:
        """Those that were sent within the last seconds, and today."""
        today, found = current_date().isoformat(), self.get(ids, within)
        bodies = {id: body for id, (day, body) in found.items() if day == today}

        def unpacked() -> dict[str, Publication]:
            return {id: Publication.model_validate_json(zlib.decompress(body)) for id, body in bodies.items()}

        return await anyio.to_thread.run_sync(unpacked) if bodies else {}


_SORTS: dict[Sort, str] = {"relevance": "relevance", "date": "pub_date"}
_ABOUT_STATUS = ("retract", "concern")
"""Words of queries that may ask for the status of records: records sent earlier could contradict what they find."""


class PubMed(Source[PubMedRequest]):
    """PubMed through E-utilities: esearch returns PMIDs, efetch their records."""

    name = PROVIDER
    title = "PubMed"
    kind = "literature"
    cited_as = "pubmed"
    tool = "pubmed_search"
    request = PubMedRequest
    two_step = True
    id_name = "PMID"

    def __init__(self, eutils: EUtilities, mesh: Vocabulary | None = None, completer: Completer | None = None) -> None:
        self.vocabulary, self.completer = mesh, completer
        self._eutils = eutils
        self._recent = RecentRecords()
        self._answers = SizedCache[Hashable, ESearchAnswer](MAX_KEPT_IDS, KEPT_FOR_PAGES)

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        # Two steps: esearch and efetch.
        client = ncbi_client(settings, net, provider=PROVIDER, title=cls.title, explain=explain_refusal, steps=2)
        eutils, origin = eutilities(settings, client), settings.of(PubMedSettings).ncbi_base_url
        vocabulary = PubMedVocabulary(eutils, cache_dir=settings.cache_dir, origin=origin)
        return cls(eutils, vocabulary, IdConverter.create(settings, net))

    async def ask(self, variant: str, request: PubMedRequest, *, offset: int, limit: int) -> Answer:
        """One page of the PMIDs that match `variant`, and how PubMed interpreted it.

        A page of several variants is ranked from the first results of each. So the next pages use the answers that the
        first one was given: they fit together, and cost no more searches.
        """
        term, sort = request.term(variant), _SORTS[request.sort]
        days = [day.replace("-", "/") for day in request.dates]
        # One date alone leaves the other end open.
        dates = {"datetype": "pdat", "mindate": days[0] or "1000", "maxdate": days[1] or "3000"} if any(days) else {}
        key = term, offset, limit, sort, *days
        found = self._answers.get([key]).get(key) if request.offset else None
        if found is None:
            found = await self._eutils.esearch(term, retstart=offset, retmax=limit, sort=sort, **dates)
            if any(word in variant.lower() for word in _ABOUT_STATUS):
                self._recent.drop(found.ids)
            if len(request.queries) > 1:
                self._answers.put(key, found, ANSWER_IDS + len(found.ids))
        # What PubMed ignored in a query, or reported about it.
        without = "searched without it" if found.count else "found nothing"
        individually = "its words were searched individually"
        remarks = (
            *(f'PubMed does not know "{one}" and {without}.' for one in found.phrases_not_found),
            *(f"PubMed has no search field {one} and left it out." for one in found.fields_not_found),
            *(f'PubMed ignored "{one}".' for one in found.phrases_ignored),
            *(f"PubMed's index has no phrase {one}; {individually}." for one in found.quoted_phrases_not_found),
            *(f'PubMed says: "{one}"' for one in found.messages if one != "No items found."),
        )
        sent, translation = self.sent(variant, request), found.query_translation
        return Answer(found.ids, found.count, remarks=remarks, translation=translation, sent=sent)

    def sent(self, variant: str, request: PubMedRequest) -> str:
        days = zip(("mindate", "maxdate"), request.dates, strict=True)
        dates = {name: day.replace("-", "/") for name, day in days if day}
        term = request.term(variant)
        return f"{term} [{as_sent({'datetype': 'pdat', **dates})}]" if dates else term

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        """See `Source.fetch`. If parts of the answer are still not XML after all retries, returns the rest."""
        recent = await self._recent.recent(ids, within=within) if within else {}
        found, is_whole, missing = Records(()), True, [id for id in ids if id not in recent]
        try:
            found = await self._eutils.efetch(missing, _read_complete) if missing else found
        except _BrokenXMLError as error:
            found, is_whole = error.records, False
        except NoPossibleIdError:
            return Fetched(recent)
        today = datetime.now(UTC).date().isoformat()
        records = {one.pmid: one.with_status(one.status, today) for one in found.publications}
        if is_whole and missing:
            await self._recent.keep(missing, records)
        return Fetched(recent | records, found.losses, found.unnamed, found.unread)

    def stub(self, id: str) -> Publication:
        return Publication.of("abstract", NO_ABSTRACT, provider=PROVIDER, source="pubmed", title=NO_TITLE, pmid=id)

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


T = TypeVar("T")

CACHE_FILE = "vocabulary.sqlite3"
CACHE_BYTES = 64 * 1024 * 1024
ONE_YEAR = 365 * 86_400.0
"""Seconds: NLM publishes a new edition of MeSH once a year."""

# The record number of an older record is its id with the letter as ASCII code: D000544 -> 68000544, C508053 ->
# 67508053; that of a newer one is any number, but not one of the roots of the tree.
_OLD_UID = re.compile(r"6[78](\d{6})")
_ROOT_UID = re.compile(r"1\d{6}")
_MESH_ID = re.compile(r"[CD]\d+")
_MAX_RECORDS = 100
_ACTION = "pharmacological-action"


class PubMedVocabulary(Vocabulary):
    """Looks up concepts at NCBI. Every method raises ProviderErrors only; the cache never makes a call fail.

    `origin`, e.g. the server's address, keeps apart the cached answers of different servers.
    """

    def __init__(self, eutils: EUtilities, *, cache_dir: Path, origin: str = "") -> None:
        self._eutils = eutils
        self._cache = Cache(cache_dir / CACHE_FILE, max_bytes=CACHE_BYTES, ttl=ONE_YEAR)
        self._origin = origin

    async def corrected(self, text: str) -> str:
        """The spelling that NCBI suggests for `text`; "" if it has no suggestion."""

        async def ask(_: Sequence[str]) -> dict[str, str]:
            suggestion = clean_line(await self._eutils.espell(text))
            return {text: "" if suggestion.casefold() == text.casefold() else suggestion}

        return (await self._cached("spelling", [text], str, ask))[text]

    async def descriptors(self, headings: Sequence[str]) -> dict[str, MeshDescriptor]:
        """The records with these names (in any case), by name as given; unknown names are left out."""

        async def ask(missing: Sequence[str]) -> dict[str, MeshDescriptor | None]:
            term = " OR ".join(f'"{name}"[MeSH Terms] OR "{name}"[Substance Name]' for name in missing)
            answer = await self._eutils.esearch(term, db="mesh", retmax=_MAX_RECORDS, sort="")
            by_name = _by_name(await self._records(answer.ids))
            return {name: by_name.get(name.casefold()) for name in missing}

        found = await self._cached("name", headings, cast(type[MeshDescriptor | None], MeshDescriptor | None), ask)
        return {name: record for name, record in found.items() if record}

    async def by_uid(self, uids: Sequence[str]) -> dict[str, MeshDescriptor]:
        """Descriptors by record number; unknown numbers are left out."""

        async def ask(missing: Sequence[str]) -> dict[str, MeshDescriptor]:
            return {record.uid: record for record in await self._records(missing)}

        return await self._cached("record", uids[:_MAX_RECORDS], MeshDescriptor, ask)

    async def members(self, action: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The substances that have a pharmacological action, e.g. "Proton Pump Inhibitors": headings, and supplementary
        concepts. MeSH has a record of its own for each action, which a search by its name finds too."""

        async def ask(_: Sequence[str]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
            answer = await self._eutils.esearch(f'"{action}"', db="mesh", retmax=_MAX_RECORDS, sort="")
            if not answer.ids:
                return {action: ((), ())}
            summaries = await self._eutils.esummary_json(answer.ids, db="mesh")
            names = [name for one in summaries.values() for name in _members(one, action)]
            headings, others = ([name[1:] for name in names if name[0] == kind] for kind in "DC")
            return {action: (tuple(dict.fromkeys(headings)), tuple(dict.fromkeys(others)))}

        found = await self._cached("members", [action], tuple[tuple[str, ...], tuple[str, ...]], ask)
        return found.get(action, ((), ()))

    async def among(self, query: str, pmids: Sequence[str]) -> frozenset[str]:
        """Which of some records a query finds."""
        term = f"({query}) AND ({' OR '.join(f'{pmid}[uid]' for pmid in pmids)})"
        return frozenset((await self._eutils.esearch(term, retmax=len(pmids))).ids)

    async def publications(self, pmids: Sequence[str]) -> tuple[Publication, ...]:
        """The records with these PMIDs."""
        return tuple((await self._eutils.efetch(list(pmids), read_records)).publications)

    async def texts(self, query: str, count: int) -> tuple[str, ...]:
        """Titles and abstracts of the `count` best papers for a query."""

        async def ask(_: Sequence[str]) -> dict[str, tuple[str, ...]]:
            answer = await self._eutils.esearch(query, retmax=count)
            found = (await self._eutils.efetch(answer.ids, read_records)).publications if answer.ids else ()
            return {query: tuple(f"{one.title} {one.text.content}" for one in found)}

        return (await self._cached("texts", [query], tuple[str, ...], ask))[query]

    async def hits(self, query: str, *, as_read: bool = False) -> Hits:
        """How many papers a query finds today; and, if wanted, how PubMed reads it."""
        today = datetime.now(UTC).date().isoformat()

        async def ask(_: Sequence[str]) -> dict[str, Hits]:
            answer = await self._eutils.esearch(query, retmax=0, rettype="" if as_read else "count")
            unknown = tuple(one.strip('"').partition('"')[0].rstrip("*") for one in answer.quoted_phrases_not_found)
            hits = Hits(count=answer.count, translation=answer.query_translation, unknown_phrases=unknown)
            return {query: hits.but(unknown_terms=answer.phrases_not_found)}

        kind = f"hits {today} as read" if as_read else f"hits {today}"
        return (await self._cached(kind, [query], Hits, ask))[query]

    async def _records(self, uids: Sequence[str]) -> list[MeshDescriptor]:
        if not uids:
            return []
        summaries = await self._eutils.esummary_json(uids, db="mesh")
        return [record for uid in uids if (record := _descriptor(uid, summaries.get(uid, {})))]

    async def _cached(
        self, kind: str, texts: Sequence[str], form: type[T], ask: Callable[[Sequence[str]], Awaitable[dict[str, T]]]
    ) -> dict[str, T]:
        """The answers for `texts` from the cache, and from `ask` for the others, which are then cached.

        A cached answer that cannot be read, e.g. of another version, is asked for again.
        """
        adapter = TypeAdapter(form)
        keys = {text: cache_key(self._origin, kind, text.casefold()) for text in texts}
        cached = await anyio.to_thread.run_sync(self._cache.get, list(keys.values()), abandon_on_cancel=True)
        found: dict[str, T] = {}
        for text, key in keys.items():
            with suppress(ValidationError, KeyError):
                found[text] = adapter.validate_json(cached[key])
        missing = [text for text in keys if text not in found]
        if not missing:
            return found
        fresh = await ask(missing)
        values = {keys[text]: adapter.dump_json(answer) for text, answer in fresh.items() if text in keys}
        await anyio.to_thread.run_sync(self._cache.put, values, abandon_on_cancel=True)
        return found | fresh


def _names(summary: Mapping[str, object]) -> tuple[str, ...]:
    """The names of a MeSH record, its heading first."""
    return tuple(dict.fromkeys(filter(None, map(clean_line, texts_of(summary.get("ds_meshterms"))))))


def _members(summary: Mapping[str, object], action: str) -> tuple[str, ...]:
    """The substances of the record of an action, each with "D" before it for a heading, "C" for a supplementary
    concept; () for another record."""
    named = {name.removesuffix(" [Pharmacological Action]").casefold() for name in _names(summary)}
    if text_at(summary, "ds_recordtype") != _ACTION or action.casefold() not in named:
        return ()
    return tuple(name for name in texts_of(summary.get("ds_palist")) if name[0] in "CD" and name[1:])


def _descriptor(uid: str, summary: Mapping[str, object]) -> MeshDescriptor | None:
    """The descriptor in `summary`; None if it is another kind of record or cannot be read."""
    names, places = _names(summary), rows_of(summary.get("ds_idxlinks"))
    old = _OLD_UID.fullmatch(uid)
    mesh_id = clean_line(text_at(summary, "ds_meshui")) or (f"{chr(int(uid[:2]))}{old[1]}" if old else "")
    if not _MESH_ID.fullmatch(mesh_id) or not names or text_at(summary, "ds_recordtype") == _ACTION:
        return None
    return MeshDescriptor(
        uid=uid,
        mesh_id=mesh_id,
        name=names[0],
        entry_terms=names[1:],
        tree_numbers=tuple(number for one in places if (number := text_at(one, "treenum"))[:1].isalpha()),
        parents=_descriptor_uids(text_at(one, "parent") for one in places),
        children=_descriptor_uids(child for one in places for child in texts_of(one.get("children"))),
    )


def _descriptor_uids(uids: Iterable[str]) -> tuple[str, ...]:
    """`uids` without the roots of the tree, which are not descriptors."""
    return tuple(dict.fromkeys(uid for uid in uids if uid.isdecimal() and not _ROOT_UID.fullmatch(uid)))


def _by_name(records: Iterable[MeshDescriptor]) -> dict[str, MeshDescriptor]:
    """Records by heading in lower case, and by entry term unless that is another record's heading."""
    records = list(records)
    by_name = {record.name.casefold(): record for record in records}
    for record in records:
        for term in record.entry_terms:
            by_name.setdefault(term.casefold(), record)
    return by_name
