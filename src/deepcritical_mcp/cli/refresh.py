"""The command `refresh`: what is new in the sessions that are kept, with an exit code for cron."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import typer

from deepcritical_mcp.cli.session_commands import kept_place, kept_services, kept_session
from deepcritical_mcp.context import Services
from deepcritical_mcp.errors import DeepCriticalError, SessionBusyError
from deepcritical_mcp.models import News
from deepcritical_mcp.search.news import gather_news
from deepcritical_mcp.text import clipped

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

NOTHING_NEW, SOMETHING_NEW, FAILED, INCOMPLETE = 0, 1, 2, 3
"""Exit codes. The last one means that nothing was new so far, but a service was down, another program has locked a
session, or there was no time for everything."""
_MAX_NAME = 60


def refresh_sessions(sessions: Sequence[str], *, web: bool, as_json: bool) -> int:
    """Print what is new in these sessions, by id or title, or in all that are kept, and return the exit code.

    Raises:
        EvidenceStoreError: the folder of the sessions cannot be used.
        ConfigurationError: a setting is wrong, or sessions are kept in memory.
    """
    logging.getLogger("deepcritical_mcp").addHandler(logging.NullHandler())  # what failed is printed
    return anyio.run(_refresh, sessions, web, as_json)


async def _refresh(names: Sequence[str], web: bool, as_json: bool) -> int:
    async with kept_services() as services:
        names = names or [one.session_id for one in await services.sessions.sessions()]
        codes = [await _refresh_one(name, services, web=web, as_json=as_json) for name in names]
    if not names and not as_json:
        typer.echo(f"Nothing new: no sessions are kept in {kept_place()}.")
    order = (FAILED, SOMETHING_NEW, INCOMPLETE, NOTHING_NEW)
    return min(codes, key=order.index, default=NOTHING_NEW)


async def _refresh_one(name: str, services: Services, *, web: bool, as_json: bool) -> int:
    """Print what is new in one session; after a failure, the others follow."""
    try:
        store = await services.sessions.get((await kept_session(services.sessions, name)).session_id)
        news = await gather_news(store, services.searches, services.witness, web=web)
    except DeepCriticalError as error:
        is_busy = isinstance(error, SessionBusyError)
        busy = "another program has locked this session; refresh it when that has finished."
        message = busy if is_busy else error.message
        if as_json:
            typer.echo(json.dumps({"session": name, "error": message}))
        else:
            typer.echo(f"{clipped(name, _MAX_NAME)}: {message}", err=True)
        return INCOMPLETE if is_busy else FAILED
    _show(store, news, as_json=as_json)
    return SOMETHING_NEW if news.items else NOTHING_NEW if news.is_complete else INCOMPLETE


def _show(store: EvidenceStore, news: News, *, as_json: bool) -> None:
    """One line for the session, and one for each piece of news; as JSON, one object on a line."""
    if as_json:  # ASCII, since a pipe on Windows may have any encoding
        typer.echo(json.dumps({"title": store.title, **news.model_dump(mode="json"), "summary": news.summary}))
        return
    title = clipped(store.title, _MAX_NAME)
    named = f"{title} ({store.session_id})" if title else store.session_id
    typer.echo(f"{named}: {news.summary}")
    for item in news.items:
        typer.echo(f"  {item.line}")
    for error in news.errors:
        typer.echo(f"  Not asked: {error}", err=True)
