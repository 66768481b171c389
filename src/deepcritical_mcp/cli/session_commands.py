"""The commands over the sessions that the server keeps for this user: `sessions` lists, exports, deletes and restores
them, `refresh` says what is new in them, `report` writes one as a page."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import typer

from deepcritical_mcp.board import MAX_POINTS, Places, board_report
from deepcritical_mcp.config import IN_MEMORY, load_settings, variable_name
from deepcritical_mcp.context import AppContext, Services
from deepcritical_mcp.errors import (
    ConfigurationError,
    DeepCriticalError,
    EmbeddingError,
    EvidenceStoreError,
    InvalidInputError,
    SessionBusyError,
    SessionNotFoundError,
)
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.projection import project
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage.stored_items import KeptSession, folded_title, with_title
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.identifiers import SESSION_ID
from deepcritical_mcp.models import FileResult, Publication
from deepcritical_mcp.search.library.files import UserFiles
from deepcritical_mcp.search.news import gather_news
from deepcritical_mcp.session_export import AnyFormat, ExportRequest, checked_request, exported
from deepcritical_mcp.session_export.whole_export import OUTPUTS, notes_left_out
from deepcritical_mcp.session_export.zotero_collection import sent_to_zotero
from deepcritical_mcp.text import UTF_16, clipped, counted

TITLE_WIDTH = 48


async def show_sessions(*, as_json: bool) -> None:
    """Print a table of all sessions, or JSON."""
    async with kept_services() as services:
        found = await services.sessions.sessions()
        expired = await services.sessions.gone(only_expired=True)
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2, ensure_ascii=False))
    elif found:
        print("\n".join(_table(found)))
    else:
        print(f"No sessions are kept in {kept_place()}.")
    for one in found if not as_json else ():
        if one.damage:
            print(f"{one.session_id}: {one.damage}", file=sys.stderr)
    for one in expired:
        print(
            f'"{one.title}" has not been used for its time, and is deleted within a month. To take it back: '
            f"deepcritical-mcp sessions undo {one.session_id}",
            file=sys.stderr,
        )


async def export_session(session: str, format: str, output: Path | None, asked: dict[str, Any], *, force: bool) -> None:
    """Write a session in a format to `output`, by default to stdout; the status of its records is checked again before.
    `asked` are fields of `ExportRequest`.

    Raises:
        ConfigurationError: there is no such format, or it cannot do what is asked.
        InvalidInputError: there is no such session, it is empty or locked, or the file exists and must not be
            overwritten.
    """
    if output is not None and not force and await anyio.Path(output).exists():
        raise InvalidInputError(f"{output} exists and was not changed. Pass another name, or --force to overwrite it.")
    styles = load_settings().kept_for_user().styles_folder
    known: dict[str, AnyFormat] = {one: one for one in OUTPUTS if one != "news"}
    if format.casefold() not in known:
        raise ConfigurationError(f'There is no format "{format}"; there are {", ".join(known)}.')
    try:
        request = checked_request(ExportRequest(known[format.casefold()], **asked, own_styles=styles))
    except InvalidInputError as error:
        raise ConfigurationError(error.message) from error
    async with kept_services() as services:
        store = await opened_session(services.sessions, session)
        await services.library.check_soon(store)
        if request.format == "zotero":
            whole = await sent_to_zotero(store, request, load_settings().zotero_url, services.witness, _printed)
        else:
            report = await services.checker.written_report(store) if request.ends_with_report else ""
            whole = await exported(store, request, witness=services.witness, report=report)
    for remark in filter(None, (*whole.remarks, notes_left_out(whole.left_out))):
        typer.echo(f"Note: {remark}", err=True)
    if output is None:
        typer.echo(whole.text, nl=False)
        return
    encoding = "utf-8-sig" if request.output == "csv" else "utf-8"  # Excel needs the mark
    async with await anyio.open_file(output, "w" if force else "x", encoding=encoding, newline="") as file:
        await file.write(whole.text)
    what = "search" if request.format == "search-log" else "record"
    print(f"{counted(whole.count, what, f'{what}es' if what == 'search' else 'records')} written to {output}")


_UNDO = (
    " Its text stays on disk for a day. To undo this until then: deepcritical-mcp sessions undo {id}; to delete it "
    "now: deepcritical-mcp sessions delete --now {id}"
)


async def delete_sessions(sessions: Sequence[str], *, yes: bool, now: bool) -> None:
    """Delete sessions, after asking, unless `yes`; if `now`, at once and for good, also those deleted before."""
    async with kept_services() as services:
        registry = services.sessions
        kept = {one.session_id for one in await registry.sessions()}
        gone = await registry.gone() if now else ()
        deleted = {one.session_id: one for one in gone if one.session_id not in kept}
        found = [deleted.get(session) or await kept_session(registry, session) for session in sessions]
        chosen = {one.session_id: one for one in found}
        print("\n".join(_table(list(chosen.values()))))
        if not yes:
            warning = " This cannot be undone." if now else ""
            typer.confirm(f"Delete {counted(len(chosen), 'session')} with all evidence?{warning}", abort=True)
        undo = registry.backend.undo_seconds and not now
        for session_id in chosen:
            if session_id in kept:
                await registry.drop(session_id)
            if now:
                await registry.erase(session_id)
            print(f"Deleted {session_id}.{_UNDO.format(id=session_id) if undo else ''}")


async def restore_session(session_id: str) -> None:
    """Take back the deletion of a session; raises InvalidInputError if it is not deleted, or cannot be restored."""
    async with kept_services() as services:
        if any(one.session_id == session_id for one in await services.sessions.sessions()):
            raise InvalidInputError(f"{session_id} is not deleted, so there is nothing to undo. Nothing has changed.")
        try:
            store = await services.sessions.restore(session_id)
        except SessionNotFoundError:
            raise InvalidInputError(
                f"There is nothing to restore for {session_id}: a deleted session can be restored by its id, "
                "within a day, where sessions are kept in a folder."
            ) from None
        print(f"{session_id} is back, with {counted(await store.count(), 'item')} of evidence.")


async def import_into(session: str, files: Sequence[str], tags: Sequence[str], *, as_json: bool) -> bool:
    """Add files to a session, which is opened under the title `session` if there is none, and print what became of
    each; whether everything was read."""
    async with kept_services() as services:
        kept = await services.sessions.sessions()
        titled = [one for one in kept if folded_title(one.title) == folded_title(session)]  # not one that begins so
        is_kept = any(one.session_id == session for one in kept) or with_title(titled, session)
        if not is_kept and SESSION_ID.fullmatch(session):
            raise InvalidInputError(f"There is no session {session}. deepcritical-mcp sessions lists them.")
        registry = services.sessions
        store = await (opened_session(registry, session) if is_kept else registry.open(title=session))
        told = list[FileResult]()
        for given in files:
            what = UserFiles(given, tags=tuple(tags), folders=None)
            try:
                told += await services.library.bring_in(what, store, _printed)
            except DeepCriticalError as error:
                told.append(FileResult(file=given, unread=(error.message,)))
        for one in told:
            print(one.model_dump_json(exclude_defaults=True) if as_json else one.told)
        checked = await services.library.check(store) if any(one.read for one in told) else None
        if not as_json:
            print(checked.told if checked else "", end="\n" if checked else "")
            print(f"{counted(await store.count(), 'item')} in {store.session_id} ({store.title})")
    return not any(one.unread for one in told)


async def _printed(share: float, what: str) -> None:
    """Tell progress where a person watches."""
    if sys.stderr.isatty():
        typer.echo(f"\r{share:4.0%} {what}", err=True, nl=share >= 1.0)


@asynccontextmanager
async def kept_services() -> AsyncGenerator[Services]:
    """The services over the sessions of the server on stdio."""
    async with aclosing(AppContext(load_settings().kept_for_user())) as app:
        services = await app.services()
        if services.sessions.backend.warning:
            raise EvidenceStoreError(services.sessions.backend.warning)
        if not services.sessions.backend.lasting:
            told = f"No sessions are kept: {variable_name('data_dir')} is {IN_MEMORY}, so they end with the server."
            raise ConfigurationError(told)
        yield services


async def opened_session(registry: SessionRegistry, session: str) -> EvidenceStore:
    """The session with this id or title, opened.

    Raises:
        InvalidInputError: there is none, or another program has locked it.
        AmbiguousSessionError: several have titles that begin so.
    """
    found = await kept_session(registry, session)
    try:
        return await registry.get(found.session_id)
    except SessionBusyError:
        raise InvalidInputError(
            "Another program has locked the file of this session, which is safe. Try again when it has finished."
        ) from None


async def kept_session(registry: SessionRegistry, session: str) -> KeptSession:
    """The session with this id or title; raises as `opened_session` does."""
    kept = await registry.sessions()
    found = next((one for one in kept if one.session_id == session), None) or with_title(kept, session)
    if found is None:
        raise InvalidInputError(
            f'No session has the id or title "{session}". deepcritical-mcp sessions lists what is kept in '
            f"{kept_place()}."
        )
    return found


def kept_place() -> str:
    """The folder in which this user's sessions are kept, for messages."""
    return str(load_settings().kept_for_user().data_dir)


def _table(sessions: Sequence[KeptSession]) -> list[str]:
    rows = [("TITLE", "ITEMS", "SEARCHES", "LAST USED", "KEPT UNTIL", "ID")]
    for one in sessions:
        items, searches = (str(count) if count >= 0 else "?" for count in (one.items, one.searches))
        used, until = (datetime.fromtimestamp(seconds).astimezone() for seconds in (one.used, one.expires))
        kept = f"{until:%Y-%m-%d}" if one.expires else "deleted"
        title = clipped(one.title, TITLE_WIDTH) or "(no title)"
        rows.append((title, items, searches, f"{used:%Y-%m-%d %H:%M}", kept, one.session_id))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip("<>><<<", widths, strict=True))
    return [form.format(*row).rstrip() for row in rows]


NOTHING_NEW, SOMETHING_NEW, FAILED, INCOMPLETE = 0, 1, 2, 3
"""Exit codes. The last one means that nothing was new so far, but a service was down, another program has locked a
session, or there was no time for everything."""
_MAX_NAME = 60


async def refresh_sessions(names: Sequence[str], *, web: bool, as_json: bool) -> int:
    """Print what is new in these sessions, by id or title, or in all that are kept, and return the exit code.

    Raises:
        EvidenceStoreError: the folder of the sessions cannot be used.
        ConfigurationError: a setting is wrong, or sessions are kept in memory.
    """
    logging.getLogger("deepcritical_mcp").addHandler(logging.NullHandler())  # what failed is printed
    async with kept_services() as services:
        names = names or [one.session_id for one in await services.sessions.sessions()]
        codes = [await _refresh_one(name, services, web=web, as_json=as_json) for name in names]
    if not names and not as_json:
        typer.echo(f"Nothing new: no sessions are kept in {kept_place()}.")
    order = (FAILED, SOMETHING_NEW, INCOMPLETE, NOTHING_NEW)
    return min(codes, key=order.index, default=NOTHING_NEW)


async def _refresh_one(name: str, services: Services, *, web: bool, as_json: bool) -> int:
    """Print what is new in one session: a line for it and one for each piece of news, or one JSON object on a line.
    After a failure, the others follow."""
    try:
        store = await services.sessions.get((await kept_session(services.sessions, name)).session_id)
        news = await gather_news(store, services.searches, services.witness, web=web)
    except DeepCriticalError as error:
        is_busy = isinstance(error, SessionBusyError)
        message = (
            "another program has locked this session; refresh it when that has finished." if is_busy else error.message
        )
        if as_json:
            typer.echo(json.dumps({"session": name, "error": message}))
        else:
            typer.echo(f"{clipped(name, _MAX_NAME)}: {message}", err=True)
        return INCOMPLETE if is_busy else FAILED
    if as_json:  # ASCII, since a pipe on Windows may have any encoding
        typer.echo(json.dumps({"title": store.title, **news.model_dump(mode="json"), "summary": news.summary}))
    else:
        title = clipped(store.title, _MAX_NAME)
        named = f"{title} ({store.session_id})" if title else store.session_id
        typer.echo("\n  ".join((f"{named}: {news.summary}", *(item.line for item in news.items))))
        for failure in news.errors:
            typer.echo(f"  Not asked: {failure}", err=True)
    return SOMETHING_NEW if news.items else NOTHING_NEW if news.is_complete else INCOMPLETE


async def write_report(source: str, output: Path, *, title: str) -> tuple[int, Sequence[str]]:
    """Write the evidence of a saved session or JSON Lines export ("-" = stdin) to `output`, under `title` or, if that
    is empty, the session's; returns how many items, and remarks on their status, which is checked again before.

    InvalidInputError if `source` is neither, has no evidence or is open elsewhere; EvidenceStoreError if the
    session cannot be read.
    """
    publications, remarks, page = await _read(source)
    if not publications:
        raise InvalidInputError("The input contains no evidence, so there is nothing to report.")
    created, titled = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", {"title": title} if title else {}
    await anyio.Path(output).write_text(page(remarks=remarks, created=created, **titled), encoding="utf-8")
    return len(publications), remarks


async def _read(source: str) -> tuple[Sequence[Publication], Sequence[str], Callable[..., str]]:
    """The publications, remarks on their status, and `board_report` for them."""
    if source != "-" and not source.endswith(".jsonl") and not await anyio.Path(source).exists():
        async with kept_services() as services:
            store = await opened_session(services.sessions, source)
            ids = await store.ids()
            remarks = (await services.witness.refresh(store, ids)).remarks
            kept, shown = [*(await store.publications(ids)).values()], [*(await store.get(ids)).values()]
            places, log = await store.places(ids, limit=MAX_POINTS), await store.search_log()
            named = {"session_id": store.session_id, "title": store.title or "Evidence report"}
            return kept, remarks, partial(board_report, kept, shown, places, log=log, **named)
    async with aclosing(AppContext(load_settings())) as app:
        services = await app.services()
        data = sys.stdin.buffer.read() if source == "-" else await anyio.Path(source).read_bytes()
        try:  # Windows PowerShell writes UTF-16 when output is redirected
            text = data.decode("utf-16" if data.startswith(UTF_16) else "utf-8")
        except UnicodeDecodeError:
            raise InvalidInputError("The input is not UTF-8 text. Export the session again as jsonl.") from None
        asked = await services.witness.rechecked(read_jsonl(text))
        shown = list({one.id: one for one in asked.publications}.values())[:MAX_POINTS]
        places: Places = {}
        with suppress(EmbeddingError):  # without the model, there is no map
            vectors = await services.embedder.vectors([passages(one)[0].content for one in shown])
            places = {one.id: point for one, point in zip(shown, project(vectors.tolist()), strict=True)}
        return asked.publications, asked.remarks, partial(board_report, asked.publications, (), places)
