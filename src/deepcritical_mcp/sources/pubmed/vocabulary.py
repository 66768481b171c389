"""What NCBI knows about the words of a topic: spelling, MeSH, how authors use an abbreviation, and how many papers a
query finds.

The MeSH database is searched through E-utilities (`db=mesh`): esearch finds a name; esummary returns all names of its
record (`ds_meshterms`, the heading first), its id (`ds_meshui`) and its positions in the tree (`ds_idxlinks`, with the
record numbers of the parent and the children of each position). Answers are cached on disk for a year, numbers of hits
for a day.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, cast

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError

from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.cache import Cache, cache_key
from deepcritical_mcp.net.json_fields import rows_of, text_at, texts_of
from deepcritical_mcp.sources.base import Hits, MeshDescriptor, Vocabulary
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.sources.pubmed.records import read_records
from deepcritical_mcp.text import clean_line

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
            return {query: Hits(count=answer.count, translation=answer.query_translation, unknown_phrases=unknown)}

        return (await self._cached(f"hits {today}{' as read' * as_read}", [query], Hits, ask))[query]

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
