"""Publications into a collection of the user's Zotero, from version 10 on, which asks its user before it is written.

Nothing there is changed except which collections an item is in, and nothing is added that is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import (
    AuthenticationError,
    InvalidInputError,
    ProviderError,
    ProviderRequestError,
    ProviderTimeoutError,
)
from deepcritical_mcp.evidence.titles import identifies, tokens
from deepcritical_mcp.export.reference import ET_AL, Reference, references
from deepcritical_mcp.models import UNKNOWN_DATE, AuthorName, Publication, language_tag, without_retraction_mark
from deepcritical_mcp.net.client import RequestParts, RetryPolicy
from deepcritical_mcp.net.fields import field_at, mapping_of, text_at, text_of, texts_of
from deepcritical_mcp.search.library.records import read_entry
from deepcritical_mcp.search.library.zotero import (
    SAID,
    TO_DECIDE,
    WRITES_FROM,
    ZOTERO,
    Zotero,
    ZoteroRow,
    opened_zotero,
    payload,
    written_item,
)
from deepcritical_mcp.text import batches, clean_line, clipped, counted

AT_ONCE, MAX_NAME, MAX_FAILURES = 50, 200, 5
"""Objects that Zotero takes in one request; characters of a collection's name; failures that are told."""
_ROWS = [[cell.strip() for cell in row.split("|")] for row in data_lines(__file__, "zotero_items.txt")]
_TYPES = {form: (kind, [one.split("=") for one in fields.split()]) for form, kind, fields in _ROWS}
_keys: dict[str, str] = {}
"""What Zotero lets this process write with, by its server's id, where the user chose Always Allow; never on disk."""


async def export_to_zotero(
    publications: Sequence[Publication], name: str, address: str, progress: Progress
) -> tuple[str, int]:
    """Put publications into the collection of this name, which is made if there is none; what Zotero has is not added
    again: the same DOI, PMID or PMCID, or the same title and year. Gives what became of them in words, and how many are
    in it.

    Raises:
        InvalidInputError: this Zotero cannot be written.
        ProviderError: it does not run, or its user refuses; nothing was added.
    """
    name, counts, failed, told = clipped(clean_line(name), MAX_NAME), Counter[str](), list[str](), list[str]()
    async with opened_zotero(address) as zotero:
        if zotero.is_before(WRITES_FROM) or not zotero.headers.get("zotero-server-id"):
            raise InvalidInputError(SAID["read only"].format(version=zotero.version))
        held, rows = await _held(zotero, progress), dict[str, dict[str, object]]()
        key = next((one.key for one in zotero.collections if one.path.casefold() == name.casefold()), "")
        for one in references(publications):
            there = _found(held, one.publication)
            if there and key in there.collections:
                counts["known"] += 1
            elif there:
                rows[there.key] = {"key": there.key, "version": there.version, "collections": [*there.collections]}
            else:
                rows[one.publication.id] = new_item(one)
        if rows and not key:
            key = text_at(await _write(zotero, "collections", [{"name": name}], progress), "success.0")
            if not key:
                raise ProviderRequestError(ZOTERO, SAID["not made"].format(name=name))
        for some in batches([*rows.values()], AT_ONCE):
            sent = [{**row, "collections": [*texts_of(row.get("collections")), key]} for row in some]
            try:
                answer = await _write(zotero, "items", sent, progress)
            except ProviderError as error:
                if not counts["added"] + counts["filed"]:
                    raise
                told.append(SAID["stopped"].format(why=error.message))
                break
            for place, row in enumerate(sent):
                why = text_at(answer, f"failed.{place}.message")
                failed += [f"{row.get('title') or row.get('key')}: {clean_line(why)}"] if why else []
                counts["failed" if why else "filed" if "key" in row else "added"] += 1
            await progress(counts.total() / len(publications), f"{counts.total():,} sent to Zotero")
    kept = {one: counts[one] for one in ("added", "filed", "known")}
    total = counted(sum(kept.values()), "record")
    told += [SAID["failed"].format(listed="; ".join(failed[:MAX_FAILURES]))] if failed else []
    return " ".join((SAID["exported"].format(total=total, name=name, **kept), *told)), sum(kept.values())


class _There(NamedTuple):
    """An item of Zotero's."""

    key: str
    version: object
    collections: Sequence[str]
    numbers: Mapping[str, str]


_Held = Mapping[tuple[str, ...], _There]
"""Items by their numbers, and by title and year."""


async def _held(zotero: Zotero, progress: Progress) -> _Held:
    held, count = dict[tuple[str, ...], _There](), 0
    async for page in zotero.pages("items/top"):
        for row in page:
            if item := read_entry(written_item(row), "json").publication:
                collections = texts_of(field_at(row, "data", "collections"))
                there = _There(text_at(row, "key"), row.get("version"), collections, _numbers(item))
                for name in _names(item):
                    held.setdefault(name, there)
        count += len(page)
        await progress(0.0, f"{counted(count, 'item')} of Zotero compared")
    return held


def _found(held: _Held, publication: Publication) -> _There | None:
    """The item that is this publication; not one with its title and another number of the same kind."""
    own = _numbers(publication)
    found = (held.get(name) for name in _names(publication))
    return next((one for one in found if one and all(one.numbers.get(k, v) == v for k, v in own.items())), None)


def _numbers(publication: Publication) -> dict[str, str]:
    ids = publication.own_ids.completed(publication.claimed_ids)
    return {kind: number.lower() for kind, number in ids._asdict().items() if number and kind != "nct"}


def _names(publication: Publication) -> Iterator[tuple[str, ...]]:
    """Each number; then title and year, of a short title also the first author."""
    yield from _numbers(publication).items()
    title = tokens(without_retraction_mark(publication.title))
    author = "" if identifies(title) else "".join(one.family.casefold() for one in publication.authors[:1])
    yield "title", "".join(title), publication.date[:4], author


def new_item(reference: Reference) -> dict[str, object]:
    """A reference as Zotero writes an item; what it has no field for is in "extra", where it looks for numbers."""
    one = reference.publication
    kind, fields = _TYPES[reference.form]
    special = {"container": reference.container, "pages": "-".join(reference.pages)}
    own = {name: special.get(ours) or text_of(getattr(one, ours, "")) for name, ours in fields}
    numbers = {"PMID": one.pmid, "PMCID": one.pmcid, "DOI": "" if "DOI" in own else one.doi}
    editors = one.editors if kind in ("book", "bookSection") else ()
    item: dict[str, object] = {
        "title": reference.title,
        "creators": [*_creators("author", one.authors), *_creators("editor", editors)],
        "abstractNote": reference.abstract,
        "date": "" if one.date == UNKNOWN_DATE else one.date,
        "language": language_tag(one.language),
        "url": reference.url,
        "accessDate": reference.accessed if reference.url else "",
        "extra": "\n".join((*(f"{name}: {told}" for name, told in numbers.items() if told), *reference.notes)),
        "tags": [*({"tag": tag} for tag in one.tags), *({"tag": word, "type": 1} for word in reference.keywords)],
    }
    return {"itemType": kind} | {name: value for name, value in (item | own).items() if value}


def _creators(kind: str, names: Sequence[AuthorName]) -> Iterator[dict[str, str]]:
    for name in names:
        given = {"lastName": name.family, "firstName": ", ".join(filter(None, name[1:3]))}
        if name != ET_AL:
            yield {"creatorType": kind, **(given if name.given else {"name": name.family})}


async def _write(zotero: Zotero, path: str, rows: Sequence[ZoteroRow], progress: Progress) -> ZoteroRow:
    """Send rows to a list of the user's library; gives what Zotero says became of each.

    Raises:
        ProviderError: the user or Zotero refuses.
    """
    server, url = zotero.headers["zotero-server-id"], f"{zotero.address}/api/users/0/{path}"
    kept = _keys.get(server, "")
    headers = {"Zotero-Server-ID": server, "Zotero-API-Key": kept or await _new_key(zotero, server, progress)}
    try:
        answer, _ = await zotero.client.request("POST", url, payload, json=rows, headers=headers)
    except AuthenticationError:
        if not kept:
            raise
        del _keys[server]  # the user has withdrawn it
        return await _write(zotero, path, rows, progress)
    return mapping_of(answer)


async def _new_key(zotero: Zotero, server: str, progress: Progress) -> str:
    """What one request, or all, may be written with, after the user agreed in a dialog of Zotero's."""
    await progress(0.0, SAID["asks"])
    client = replace(zotero.client, retry=RetryPolicy(attempts=1, attempt_timeout=TO_DECIDE))
    asked: RequestParts = {"json": {"appName": "deepcritical-mcp"}, "headers": {"Zotero-Server-ID": server}}
    try:
        answer, _ = await client.request("POST", f"{zotero.address}/api/local/authorize", payload, **asked)
    except ProviderTimeoutError as error:
        raise ProviderTimeoutError(ZOTERO, SAID["no answer"]) from error
    if mapping_of(answer).get("remember") is True:
        _keys[server] = text_at(answer, "key")
    return text_at(answer, "key")
