"""The user's Zotero, which answers other programs on the same machine: its items into a session, with the text of
their files and the user's notes.

As Zotero's own `server_localAPI.js` has it: reading from 7.0, texts of files from 8.0, writing from 10.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import NamedTuple
from urllib.parse import quote

import anyio
import httpx
from anyio.to_thread import run_sync

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.deadline import OWN_TEXTS, Progress, seconds_for
from deepcritical_mcp.errors import (
    AuthenticationError,
    DocumentNotFoundError,
    InvalidInputError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
)
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import FILE, USER, FileResult, Publication, Text
from deepcritical_mcp.net.client import USER_AGENT, ApiClient, RetryPolicy
from deepcritical_mcp.net.fields import list_of, mapping_of, number_of, plain_abstract, text_at, text_of
from deepcritical_mcp.reading.library_entries import MAX_ENTRIES, MAX_VALUE, WrittenEntry, json_fields
from deepcritical_mcp.reading.user_text import read_own_text
from deepcritical_mcp.search.library.keeping import Row, keep_records
from deepcritical_mcp.search.library.records import read_entry
from deepcritical_mcp.text import batches, clean_line, clean_text, clipped, counted

ZOTERO = "zotero"
SAID = data_table(__file__, "zotero_messages.txt")
PAGE, MAX_ROWS = 100, 4 * MAX_ENTRIES
"""Rows of one answer and of one list, in which files and notes are rows too."""
MAX_FILES, MAX_TEXT_BYTES = 500, 2 * 1024**2
"""Whose text one call reads, and of one of them."""
TEXTS_AT_ONCE, MAX_DEPTH, MAX_NAMED = 10, 50, 20
TO_CONNECT, TO_ANSWER, TO_DECIDE = 0.8, 30.0, 300.0
"""Seconds: for the connection, for an answer, and for the user to answer a dialog."""
TEXTS_FROM, WRITES_FROM = 8, 10
"""Versions."""
_TRIED = ("read", "none", "long")
ZoteroRow = Mapping[str, object]


@dataclass
class Zotero:
    """A Zotero that runs; `headers` are those of its last answer, `collections` in the order of their paths."""

    client: ApiClient
    address: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    collections: Sequence[Collection] = ()

    @property
    def version(self) -> str:
        """E.g. "10.0.1"."""
        return self.headers.get("x-zotero-version", "")

    def is_before(self, major: int) -> bool:
        """Whether it says that it is older than this version."""
        return 0 < (number_of(self.version.partition(".")[0]) or 0) < major

    async def read(self, path: str, **params: str | int) -> object:
        """What is at a path of the user's library.

        Raises:
            ProviderError: it does not answer, or refuses; the message says what to do.
        """
        url = f"{self.address}/api/users/0/{path}"
        found, self.headers = await self.client.request("GET", url, payload, params=params)
        return found

    async def pages(self, path: str, **params: str) -> AsyncGenerator[Sequence[ZoteroRow]]:
        """The rows of a list, a page at a time."""
        for start in range(0, MAX_ROWS, PAGE):
            found = await self.read(path, limit=PAGE, start=start, **params)
            if found and not list_of(found):
                raise ProviderResponseError(ZOTERO, "Zotero sent something that is not a list.")
            yield [*map(mapping_of, list_of(found))]
            if len(list_of(found)) < PAGE:
                return

    async def text_of(self, key: str) -> tuple[str, Sequence[str]]:
        """The text of a file as Zotero has indexed it, "" if it has not; and remarks on what is missing of it.

        Raises:
            ProviderResponseError: it is too long.
        """
        limited = replace(self, client=replace(self.client, max_bytes=MAX_TEXT_BYTES))
        try:
            found = mapping_of(await limited.read(f"items/{quote(key, safe='')}/fulltext"))
        except DocumentNotFoundError:
            return "", ()
        units = (
            (one.lower(), number_of(found.get(f"indexed{one}")), number_of(found.get(f"total{one}"))) for one in _UNITS
        )
        parts = [f"Zotero has indexed {n:,.0f} of {all:,.0f} {one}." for one, n, all in units if n and all and n < all]
        return text_of(found.get("content"), MAX_TEXT_BYTES), parts


_UNITS = ("Pages", "Chars")


class Collection(NamedTuple):
    """A collection: `path` is "Parent/Child", `within` the keys of it and of all it is in."""

    key: str
    path: str
    within: Sequence[str]


@asynccontextmanager
async def opened_zotero(address: str) -> AsyncGenerator[Zotero]:
    """The Zotero at an address of this machine; its connections are closed with the context.

    Raises:
        ProviderError: it does not run, or does not let other programs in.
    """
    headers, timeout = {"User-Agent": USER_AGENT, "Zotero-API-Version": "3"}, httpx.Timeout(None, connect=TO_CONNECT)
    # Never through a proxy, and nowhere else.
    async with httpx.AsyncClient(headers=headers, timeout=timeout, trust_env=False, follow_redirects=False) as http:
        policy = RetryPolicy(attempts=1, attempt_timeout=TO_ANSWER)
        zotero = Zotero(ApiClient(http, provider=ZOTERO, title="Zotero", retry=policy, explain=_explained), address)
        try:
            zotero.collections = _collections([row async for page in zotero.pages("collections") for row in page])
        except ProviderUnavailableError as error:
            if not isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
                raise
            raise ProviderUnavailableError(ZOTERO, SAID["not running"].format(address=address)) from error
        except (DocumentNotFoundError, ProviderResponseError) as error:
            raise ProviderRequestError(ZOTERO, SAID["other"].format(address=address)) from error
        yield zotero


def payload(response: httpx.Response) -> tuple[object, Mapping[str, str]]:
    """The JSON of an answer, and its headers."""
    try:
        return response.json(), response.headers
    except (ValueError, RecursionError) as error:
        raise ProviderResponseError(ZOTERO, "Zotero sent something that is not JSON, or was cut off.") from error


def _explained(response: httpx.Response) -> ProviderError | None:
    status, told = response.status_code, clipped(clean_line(response.text), 200)
    if status == 404:
        return DocumentNotFoundError(ZOTERO, "Zotero has nothing there.")
    if status == 429 or status >= 500:
        return None
    kinds = {"denied": '"denied"' in told and status == 403, "off": "not enabled" in told, "key": status == 401}
    said = next((kind for kind, holds in kinds.items() if holds), "refused")
    kind = AuthenticationError if status == 401 else ProviderRequestError
    return kind(ZOTERO, SAID[said].format(status=status, told=told))


def _collections(rows: Sequence[ZoteroRow]) -> list[Collection]:
    found = {text_at(row, "key"): mapping_of(row.get("data")) for row in rows}
    made = list[Collection]()
    for key in found:
        line = [key]
        while (parent := text_of(found[line[-1]].get("parentCollection"))) in found and len(line) < MAX_DEPTH:
            line.append(parent)
        made.append(Collection(key, "/".join(clean_line(text_of(found[one].get("name"))) for one in line[::-1]), line))
    return sorted(made, key=lambda one: one.path.casefold())


def collection_named(zotero: Zotero, name: str) -> Collection:
    """The collection with this name, path or key.

    Raises:
        InvalidInputError: there is none, or several have the name; the message names them.
    """
    wanted = "/".join(map(str.strip, name.casefold().split("/")))
    paths = {one.path.casefold(): one.path for one in zotero.collections}
    found = [one for one in zotero.collections if one.key == name]
    found = found or [one for one in zotero.collections if f"/{one.path.casefold()}".endswith(f"/{wanted}")]
    if len(found) == 1:
        return found[0]
    if found:
        told, listed = "several", [f'"{one.path}" is zotero:{one.key}' for one in found]
    else:
        names = {path.rpartition("/")[2]: path for path in paths} | {path: path for path in paths}
        near = dict.fromkeys(names[one] for one in get_close_matches(wanted, names, n=MAX_NAMED))
        told, listed = "no collection", [paths[one] for one in near or paths] or ["none"]
    named = {"name": clipped(name, 100), "count": len(found), "listed": "; ".join(listed[:MAX_NAMED])}
    raise InvalidInputError(SAID[told].format(**named))


class Files(NamedTuple):
    """What belongs to an item: the keys of its files, PDFs first, and its notes as plain text."""

    keys: list[str]
    notes: list[str]


class Items:
    """What was read: entries, and what belongs to the item of each key ("" for what belongs to none)."""

    def __init__(self) -> None:
        self.entries = list[WrittenEntry]()
        self.keys = list[str]()
        self.files: dict[str, Files] = {}
        self._seen = set[str]()

    def take(self, row: ZoteroRow) -> None:
        """Keep a row of Zotero's, if it is new."""
        key, kind, parent = (text_at(row, path) for path in ("key", "data.itemType", "data.parentItem"))
        if not key or key in self._seen or kind == "annotation":
            return
        self._seen.add(key)
        if kind not in ("attachment", "note"):
            self.keys.append(key)
            self.entries.append(written_item(row, len(self.keys)))
            return
        files = self.files.setdefault(parent, Files([], []))
        if kind == "note":
            note = plain_abstract(text_of(mapping_of(row.get("data")).get("note"), MAX_VALUE))
            files.notes.append(note)
        else:
            is_pdf = text_at(row, "data.contentType") == "application/pdf"
            files.keys.insert(0 if is_pdf else len(files.keys), key)


def written_item(row: ZoteroRow, number: int = 1) -> WrittenEntry:
    """An item as an entry."""
    return WrittenEntry(number, tuple(json_fields({"data": mapping_of(row.get("data"))})))


async def import_zotero(
    given: str, address: str, store: EvidenceStore, progress: Progress, tags: Sequence[str] = ()
) -> FileResult:
    """Add what Zotero has, "zotero", or a collection with those in it, "zotero:Name", "zotero:Parent/Child", as a file
    of a library is added; then the text of its files, where the session has none, and its notes.

    Raises:
        InvalidInputError: there is no such collection, or several.
        ProviderError: Zotero does not answer; the message says what to do.
    """
    name = given.partition(":")[2].strip()
    async with opened_zotero(address) as zotero:
        chosen = collection_named(zotero, name) if name else None
        within = [one.key for one in zotero.collections if chosen and chosen.key in one.within]
        items = await _items(zotero, [f"collections/{key}/items" for key in within] or ["items"], progress)
        records = await run_sync(lambda: [read_entry(one, "json") for one in items.entries[:MAX_ENTRIES]])
        titled, form = f"Zotero: {chosen.path if chosen else 'whole library'}", f"Zotero {zotero.version}".strip()
        result, rows = await keep_records(records, titled, form, store, progress, tags)
        counts = await _add_texts(zotero, items, rows, store, progress)
    counts["loose"] = sum(map(len, items.files.get("", ())))
    counts["cut"] = MAX_ENTRIES if len(items.keys) > MAX_ENTRIES else 0
    told = [SAID[what].format(count=count, version=zotero.version) for what, count in counts.items() if count]
    unread = tuple(one.replace("line ", "item ", 1) for one in result.unread)
    return result.but(unread=unread, detail="; ".join((result.detail, *told)))


async def _items(zotero: Zotero, paths: Sequence[str], progress: Progress) -> Items:
    """The items of these lists, each once, with their files and notes."""
    items = Items()
    for path in paths:
        async for page in zotero.pages(path, itemType="-annotation"):
            for row in page:
                items.take(row)
            await progress(0.0, f"{counted(len(items.keys), 'item')} read from Zotero")
            if len(items.keys) > MAX_ENTRIES:
                return items
    return items


async def _add_texts(
    zotero: Zotero, items: Items, rows: Sequence[Row], store: EvidenceStore, progress: Progress
) -> Counter[str]:
    """Add the texts of the files of items that were kept, and notes, and count them. What the session has is not asked
    for, so that a further call goes on."""
    counts, until, done = Counter[str](), anyio.current_time() + seconds_for(OWN_TEXTS), 0
    wanted = [(row, files) for row in rows if (files := items.files.get(items.keys[row[0].line - 1]))]
    for some in batches(wanted, TEXTS_AT_ONCE):
        added = list[Publication]()
        for (record, publication, _), files in some:
            kept = publication.texts
            notes = [one for one in files.notes if one and one not in {text.content for text in kept}]
            new = [Text(kind="note", content=one, provider=USER) for one in notes]
            counts["notes"] += len(new)
            if not any(one.kind == "full_text" and one.provider == FILE for one in kept):
                new += await _text(zotero, files.keys, counts, until)
            if new and record.publication:
                added.append(record.publication.but(texts=(*record.publication.texts, *new)))
        await store.add_evidence(added, embed=False)
        done += len(some)
        await progress(done / len(wanted), f"files of {done:,} of {counted(len(wanted), 'item')} read")
    return counts


async def _text(zotero: Zotero, files: Sequence[str], counts: Counter[str], until: float) -> list[Text]:
    """The text of the first of these files that has one, if there is time for it; counts what became of them."""
    for key in files:
        is_old = zotero.is_before(TEXTS_FROM)
        if is_old or sum(counts[one] for one in _TRIED) >= MAX_FILES or anyio.current_time() >= until:
            counts["old" if is_old else "left"] += 1
            return []
        try:
            content, remarks = await zotero.text_of(key)
        except ProviderResponseError:
            counts["long"] += 1
            continue
        reading, _ = await run_sync(read_own_text, clean_text(content))
        counts["read" if reading.content else "none"] += 1
        if reading.content:
            own = {"content": reading.content, "parts": reading.parts, "remarks": (*reading.remarks, *remarks)}
            return [Text.model_validate({"kind": "full_text", "provider": FILE, **own})]
    return []
