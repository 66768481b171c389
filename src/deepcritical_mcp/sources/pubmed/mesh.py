"""What NCBI knows about the words of a topic: spelling, term mapping, and MeSH descriptors with their names and tree.

The MeSH database is searched through E-utilities (`db=mesh`): esearch finds a heading; esummary returns its names
(`ds_meshterms`, the heading first), its id (`ds_meshui`) and its positions in the tree (`ds_idxlinks`, with the record
numbers of the parent and the children of each position). Answers are cached on disk for a year.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from deepcritical_mcp.models import Value
from deepcritical_mcp.net.cache import Cache, cache_key
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.text import clean_line

T = TypeVar("T")

CACHE_FILE = "mesh-2.sqlite3"
CACHE_BYTES = 64 * 1024 * 1024
ONE_YEAR = 365 * 86_400.0
"""Seconds: NLM publishes a new edition of MeSH once a year."""

# Automatic Term Mapping also maps to journals ("APC"), authors, substances and free text; only headings are trusted.
_HEADING = re.compile(r'"([^"]+)"\[MeSH Terms(?::noexp)?\]', re.IGNORECASE)
# The record number of a descriptor is its id with the letter D as its ASCII code: D000544 -> 68000544.
_DESCRIPTOR_UID = re.compile(r"68(\d{6,})")
_MOST_RECORDS = 100


class MeshDescriptor(Value):
    """A MeSH descriptor.

    `uid` is its record number in the MeSH database, `mesh_id` the id that NLM shows (e.g. "D000544"). `parents` and
    `children` are the record numbers of the descriptors directly above and below it at all its positions in the tree.
    """

    uid: str
    mesh_id: str
    name: str
    entry_terms: tuple[str, ...] = ()
    tree_numbers: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


class MappedTerm(Value):
    """Words of a query, and the MeSH headings (in lower case) that PubMed's term mapping maps them to."""

    text: str
    headings: tuple[str, ...]


_SPELLING = TypeAdapter(str)
_MAPPED = TypeAdapter(tuple[MappedTerm, ...])
_DESCRIPTOR = TypeAdapter(MeshDescriptor)


class MeshConcepts:
    """Looks up concepts at NCBI. Every method raises ProviderErrors only; the cache never makes a call fail.

    Args:
        cache_dir: folder of the cache file.
        origin: keeps apart the cached answers of different servers, e.g. the server's address.
    """

    def __init__(self, eutils: EUtilities, *, cache_dir: Path, origin: str = "") -> None:
        self._eutils = eutils
        self._cache = Cache(cache_dir / CACHE_FILE, max_bytes=CACHE_BYTES, ttl=ONE_YEAR)
        self._origin = origin

    async def corrected(self, text: str) -> str:
        """The spelling that NCBI suggests for `text`; "" if it has no suggestion.

        Raises:
            ProviderError: NCBI returned no usable answer.
        """
        key = self._key("spelling", text)
        cached = await self._cached([key], _SPELLING)
        if key in cached:
            return cached[key]
        suggestion = clean_line(await self._eutils.espell(text))
        if suggestion.casefold() == text.casefold():
            suggestion = ""
        await self._put({key: suggestion}, _SPELLING)
        return suggestion

    async def mapped(self, text: str) -> tuple[MappedTerm, ...]:
        """The words of `text` that PubMed maps to MeSH headings, in their order in `text`.

        Raises:
            ProviderError: NCBI returned no usable answer.
        """
        key = self._key("mapping", text)
        cached = await self._cached([key], _MAPPED)
        if key in cached:
            return cached[key]
        answer = await self._eutils.esearch(text, retmax=0)
        terms = tuple(
            MappedTerm(text=clean_line(given), headings=headings)
            for given, made in answer.translations
            if (headings := tuple(dict.fromkeys(heading.lower() for heading in _HEADING.findall(made))))
        )
        if terms:
            await self._put({key: terms}, _MAPPED)
        return terms

    async def descriptors(self, headings: Sequence[str]) -> dict[str, MeshDescriptor]:
        """The descriptors of `headings` (in any case), by heading as given; unknown headings are left out.

        Raises:
            ProviderError: NCBI returned no usable answer.
        """
        keys = {heading: self._key("heading", heading) for heading in headings}
        cached = await self._cached(list(keys.values()), _DESCRIPTOR)
        found = {heading: cached[key] for heading, key in keys.items() if key in cached}
        missing = [heading for heading in keys if heading not in found]
        if not missing:
            return found
        term = " OR ".join(f'"{heading}"[MeSH Terms]' for heading in missing)
        answer = await self._eutils.esearch(term, db="mesh", retmax=_MOST_RECORDS, sort="")
        by_name = _by_name(await self._records([uid for uid in answer.ids if _DESCRIPTOR_UID.fullmatch(uid)]))
        fresh = {heading: by_name[heading.casefold()] for heading in missing if heading.casefold() in by_name}
        await self._put({keys[heading]: record for heading, record in fresh.items()}, _DESCRIPTOR)
        return found | fresh

    async def by_uid(self, uids: Sequence[str]) -> dict[str, MeshDescriptor]:
        """Descriptors by record number; unknown numbers are left out.

        Raises:
            ProviderError: NCBI returned no usable answer.
        """
        keys = {uid: self._key("record", uid) for uid in uids[:_MOST_RECORDS]}
        cached = await self._cached(list(keys.values()), _DESCRIPTOR)
        found = {uid: cached[key] for uid, key in keys.items() if key in cached}
        fresh = {record.uid: record for record in await self._records([uid for uid in keys if uid not in found])}
        await self._put({keys[uid]: record for uid, record in fresh.items() if uid in keys}, _DESCRIPTOR)
        return found | fresh

    async def _records(self, uids: Sequence[str]) -> list[MeshDescriptor]:
        if not uids:
            return []
        summaries = await self._eutils.esummary_json(uids, db="mesh")
        records = (_descriptor(uid, summaries[uid]) for uid in uids if uid in summaries)
        return [record for record in records if record is not None]

    async def _cached(self, keys: Sequence[bytes], kind: TypeAdapter[T]) -> dict[bytes, T]:
        """The cached answers under `keys`; one that cannot be read, e.g. of another version, counts as not cached."""
        found: dict[bytes, T] = {}
        for key, value in (await anyio.to_thread.run_sync(self._cache.get, keys, abandon_on_cancel=True)).items():
            with suppress(ValidationError):
                found[key] = kind.validate_json(value)
        return found

    async def _put(self, answers: Mapping[bytes, T], kind: TypeAdapter[T]) -> None:
        values = {key: kind.dump_json(answer) for key, answer in answers.items()}
        await anyio.to_thread.run_sync(self._cache.put, values, abandon_on_cancel=True)

    def _key(self, kind: str, text: str) -> bytes:
        return cache_key(self._origin, kind, text.casefold())


class _Place(BaseModel):
    """One position of a record in the MeSH tree."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    treenum: str = ""
    parent: str = ""
    children: tuple[str, ...] = ()


class _Summary(BaseModel):
    """The fields of a MeSH record's summary that are used here."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    ds_meshterms: tuple[str, ...] = ()
    ds_meshui: str = ""
    ds_idxlinks: tuple[_Place, ...] = ()


def _descriptor(uid: str, summary: Mapping[str, object]) -> MeshDescriptor | None:
    """The descriptor in `summary`; None if it is another kind of record or cannot be read."""
    try:
        record = _Summary.model_validate(summary)
    except ValidationError:
        return None
    number = _DESCRIPTOR_UID.fullmatch(uid)
    names = tuple(dict.fromkeys(name for term in record.ds_meshterms if (name := clean_line(term))))
    if number is None or not names:
        return None
    return MeshDescriptor(
        uid=uid,
        mesh_id=clean_line(record.ds_meshui) or f"D{number[1]}",
        name=names[0],
        entry_terms=names[1:],
        tree_numbers=tuple(place.treenum for place in record.ds_idxlinks if place.treenum),
        parents=_descriptor_uids(place.parent for place in record.ds_idxlinks),
        children=_descriptor_uids(child for place in record.ds_idxlinks for child in place.children),
    )


def _descriptor_uids(uids: Iterable[str]) -> tuple[str, ...]:
    """`uids` without the roots of the tree, which are not descriptors (their numbers begin with 1)."""
    return tuple(dict.fromkeys(uid for uid in uids if _DESCRIPTOR_UID.fullmatch(uid)))


def _by_name(records: Iterable[MeshDescriptor]) -> dict[str, MeshDescriptor]:
    """Records by heading in lower case, and by entry term unless that is another record's heading."""
    records = list(records)
    by_name = {record.name.casefold(): record for record in records}
    for record in records:
        for term in record.entry_terms:
            by_name.setdefault(term.casefold(), record)
    return by_name
