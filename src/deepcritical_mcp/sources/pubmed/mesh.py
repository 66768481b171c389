"""What NCBI knows about the words of a topic: spelling, term mapping, and MeSH descriptors with their names and tree.

The MeSH database is asked through E-utilities (`db=mesh`): esearch finds a heading, esummary gives its names
(`ds_meshterms`, the heading first), its id (`ds_meshui`) and its places in the tree (`ds_idxlinks`, with the record
numbers of the parent and the children of each place). MeSH changes once a year, so answers are kept on disk that long.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from deepcritical_mcp.models import Value
from deepcritical_mcp.net.answer_cache import AnswerCache
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.text import clean_line

A_YEAR = 365 * 86_400.0

# Automatic Term Mapping also maps to journals ("APC"), authors, substances and free text; only headings are trusted.
_HEADING = re.compile(r'"([^"]+)"\[MeSH Terms(?::noexp)?\]', re.IGNORECASE)
# The record number of a descriptor is its id with the letter D as its ASCII code: D000544 -> 68000544.
_DESCRIPTOR_UID = re.compile(r"68(\d{6,})")
_MOST_RECORDS = 100


class MeshDescriptor(Value):
    """A MeSH descriptor.

    `uid` is its record number in the MeSH database, `mesh_id` the id that NLM shows (e.g. "D000544"). `parents` and
    `children` are record numbers of the descriptors right above and below it, over all its places in the tree.
    """

    uid: str
    mesh_id: str
    name: str
    entry_terms: tuple[str, ...] = ()
    tree_numbers: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


class MappedTerm(Value):
    """Words of a query, and the MeSH headings (in lower case) that PubMed's term mapping takes them for."""

    text: str
    headings: tuple[str, ...]


_MAPPED = TypeAdapter(tuple[MappedTerm, ...])


class MeshConcepts:
    """Asks NCBI about concepts. Every method raises ProviderErrors only; the cache never fails a call.

    Args:
        eutils: E-utilities, spaced and retrying.
        cache_dir: folder of the answers kept on disk.
        origin: what tells the answers of one server from those of another, e.g. its address.
    """

    def __init__(self, eutils: EUtilities, *, cache_dir: Path, origin: str = "") -> None:
        self._eutils = eutils
        self._cache = AnswerCache(cache_dir / "mesh.sqlite3", ttl=A_YEAR)
        self._origin = origin

    async def corrected(self, text: str) -> str:
        """The spelling that NCBI suggests for `text`, "" when it has nothing to suggest.

        Raises:
            ProviderError: NCBI gave no usable answer.
        """
        key = self._key("spelling", text)
        kept = await self._cache.get([key])
        if key in kept:
            return kept[key]
        suggestion = clean_line(await self._eutils.espell(text))
        if suggestion.casefold() == text.casefold():
            suggestion = ""
        await self._cache.put({key: suggestion})
        return suggestion

    async def mapped(self, text: str) -> tuple[MappedTerm, ...]:
        """The words of `text` that PubMed maps to MeSH headings, in their order.

        Raises:
            ProviderError: NCBI gave no usable answer.
        """
        key = self._key("mapping", text)
        kept = await self._cache.get([key])
        if key in kept:
            try:
                return _MAPPED.validate_json(kept[key])
            except ValidationError:
                pass
        answer = await self._eutils.esearch(text, retmax=0)
        terms = tuple(
            MappedTerm(text=clean_line(given), headings=headings)
            for given, made in answer.translations
            if (headings := tuple(dict.fromkeys(heading.lower() for heading in _HEADING.findall(made))))
        )
        if terms:
            await self._cache.put({key: _MAPPED.dump_json(terms).decode()})
        return terms

    async def descriptors(self, headings: Sequence[str]) -> dict[str, MeshDescriptor]:
        """The descriptors of `headings` (any case), by heading as given; an unknown one is missing.

        Raises:
            ProviderError: NCBI gave no usable answer.
        """
        keys = {heading: self._key("heading", heading) for heading in headings}
        kept = _readable(await self._cache.get(list(keys.values())))
        found = {heading: kept[key] for heading, key in keys.items() if key in kept}
        missing = [heading for heading in keys if heading not in found]
        if not missing:
            return found
        term = " OR ".join(f'"{heading}"[MeSH Terms]' for heading in missing)
        answer = await self._eutils.esearch(term, db="mesh", retmax=_MOST_RECORDS, sort="")
        by_name = _by_name(await self._records([uid for uid in answer.ids if _DESCRIPTOR_UID.fullmatch(uid)]))
        fresh = {heading: by_name[heading.casefold()] for heading in missing if heading.casefold() in by_name}
        await self._cache.put({keys[heading]: record.model_dump_json() for heading, record in fresh.items()})
        return found | fresh

    async def by_uid(self, uids: Sequence[str]) -> dict[str, MeshDescriptor]:
        """Descriptors by their record numbers; an unknown one is missing.

        Raises:
            ProviderError: NCBI gave no usable answer.
        """
        keys = {uid: self._key("record", uid) for uid in uids[:_MOST_RECORDS]}
        kept = _readable(await self._cache.get(list(keys.values())))
        found = {uid: kept[key] for uid, key in keys.items() if key in kept}
        fresh = {record.uid: record for record in await self._records([uid for uid in keys if uid not in found])}
        await self._cache.put({keys[uid]: record.model_dump_json() for uid, record in fresh.items() if uid in keys})
        return found | fresh

    async def _records(self, uids: Sequence[str]) -> list[MeshDescriptor]:
        if not uids:
            return []
        summaries = await self._eutils.esummary_json(uids, db="mesh")
        records = (_descriptor(uid, summaries[uid]) for uid in uids if uid in summaries)
        return [record for record in records if record is not None]

    def _key(self, kind: str, text: str) -> str:
        return hashlib.sha256(json.dumps([self._origin, kind, text.casefold()]).encode()).hexdigest()


class _Place(BaseModel):
    """One place of a record in the MeSH tree."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    treenum: str = ""
    parent: str = ""
    children: tuple[str, ...] = ()


class _Summary(BaseModel):
    """What esummary says of a MeSH record, as far as it is used."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    ds_meshterms: tuple[str, ...] = ()
    ds_meshui: str = ""
    ds_idxlinks: tuple[_Place, ...] = ()


def _descriptor(uid: str, summary: Mapping[str, object]) -> MeshDescriptor | None:
    """A summary as a descriptor; None when it is of another kind of record or cannot be read."""
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
    """Without the roots of the tree, which are no descriptors (their numbers begin with 1)."""
    return tuple(dict.fromkeys(uid for uid in uids if _DESCRIPTOR_UID.fullmatch(uid)))


def _by_name(records: Iterable[MeshDescriptor]) -> dict[str, MeshDescriptor]:
    """Records by heading in lower case, then by entry term where that is no other record's heading."""
    records = list(records)
    by_name = {record.name.casefold(): record for record in records}
    for record in records:
        for term in record.entry_terms:
            by_name.setdefault(term.casefold(), record)
    return by_name


def _readable(kept: Mapping[str, str]) -> dict[str, MeshDescriptor]:
    """Cached descriptors; one of another version of this package that cannot be read counts as not cached."""
    found: dict[str, MeshDescriptor] = {}
    for key, text in kept.items():
        try:
            found[key] = MeshDescriptor.model_validate_json(text)
        except ValidationError:
            continue
    return found
