"""Requests to Crossref's REST API."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

import httpx

from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import normalize_doi
from deepcritical_mcp.net.client import USER_AGENT, ApiClient, InFlight
from deepcritical_mcp.net.json_fields import (
    field_at,
    first_records,
    json_answer,
    mapping_of,
    number_of,
    rows_of,
    text_of,
)
from deepcritical_mcp.net.turns import Slots
from deepcritical_mcp.text import clean_line

NAME, TITLE = "crossref", "Crossref"
T = TypeVar("T")
Work = Mapping[str, object]
"""A work as Crossref sends it."""
MAX_DOIS = 100
MAX_FILTER = 6_000
"""Characters of DOIs in one address, as sent."""
MAX_REFERENCE = 1_000
AT_ONCE = {True: 3, False: 1}
"""Requests at the same time, in the polite pool and in the public one."""
_MAX_QUOTE = 200
_NOTHING_THERE = b"Resource not found"
_WEB_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)


class UnknownWorkError(ProviderRequestError):
    """Crossref does not have what was asked for."""


class CrossrefClient:
    """Works by their DOIs or by a reference, and who registered a DOI. Raises only ProviderErrors.

    `client` is built with `explain=explain_crossref`. With an `email` requests go to the polite pool.
    """

    def __init__(self, client: ApiClient, *, base_url: str, email: str = "") -> None:
        self._client = client
        self._base_url = base_url
        self._email = email
        self._in_flight = InFlight()
        self._slots = Slots(AT_ONCE[bool(email)])

    @property
    def is_polite(self) -> bool:
        """Whether requests go to the polite pool."""
        return bool(self._email)

    async def works(self, dois: Sequence[str], read: Callable[[Work], T], *, select: str = "") -> dict[str, T]:
        """What `read` makes of the works that Crossref has, by normalized DOI: one request for up to 100 of them.

        `select` names the fields to send; all by default. A DOI with a comma is asked for alone, since a comma ends a
        filter.
        """
        wanted = list(dict.fromkeys(dois))
        found: dict[str, T] = {}
        for batch in _batches([doi for doi in wanted if "," not in doi]):
            asked = {"filter": ",".join(f"doi:{doi}" for doi in batch), "rows": str(MAX_DOIS)}
            asked |= {"select": select} if select else {}
            found |= await self._ask("works", asked, lambda one, batch=batch: _works(one, read, batch), kind=read)
        for doi in (doi for doi in wanted if "," in doi):
            try:
                path = f"works/{quote(doi, safe='')}"
                found[doi] = await self._ask(path, {}, lambda one: read(_message(one)), kind=read)
            except UnknownWorkError:
                continue
        return found

    async def matching(self, reference: str, read: Callable[[Work], T], *, rows: int) -> list[T]:
        """What `read` makes of the works that are most like a written reference, best first."""
        asked = {"query.bibliographic": clean_line(reference)[:MAX_REFERENCE], "rows": str(rows)}
        return await self._ask("works", asked, lambda response: [read(one) for one in _items(response)], kind=read)

    async def agency(self, doi: str) -> str:
        """The agency with which a DOI is registered, e.g. "DataCite"; "" if none is known."""

        def read(response: httpx.Response) -> str:
            agency = mapping_of(_message(response).get("agency"))
            return text_of(agency.get("label")) or text_of(agency.get("id"))

        try:
            return await self._ask(f"works/{quote(doi, safe='')}/agency", {}, read)
        except UnknownWorkError:
            return ""

    async def _ask(
        self, path: str, params: Mapping[str, str], read: Callable[[httpx.Response], T], *, kind: Hashable = None
    ) -> T:
        """What `read` makes of an answer; requests of one `kind` at the same time share theirs."""
        url, headers = f"{self._base_url}/{path}", {"User-Agent": USER_AGENT, "Accept": "application/json"}
        sent = {**params, **({"mailto": self._email} if self._email else {})}

        async def request(begin: Callable[[], None]) -> T:
            await self._slots.acquire()
            try:
                return await self._client.request("GET", url, read, begin=begin, params=sent, headers=headers)
            finally:
                self._slots.release()

        return await self._in_flight.ask((path, tuple(params.items()), kind), request)


def explain_crossref(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status: nothing under that DOI (plain text), or a request that Crossref cannot read."""
    if response.status_code not in (400, 404):
        return None
    if _WEB_PAGE.match(response.content[:1_000]):
        return ProviderUnavailableError(
            NAME, f"{TITLE} answered with a web page (HTTP {response.status_code}). Try again later."
        )
    try:
        failures = rows_of(json_answer(NAME, TITLE, response).get("message"))
    except ProviderResponseError:
        failures = []
    if response.status_code == 404 and response.content.strip().startswith(_NOTHING_THERE):
        return UnknownWorkError(NAME, f"{TITLE} has nothing under this DOI.")
    said = clean_line(" ".join(text_of(one.get("message")) for one in failures))[:_MAX_QUOTE].strip(" .")
    reason = f'"{said}"' if said else f"HTTP {response.status_code}"
    return ProviderRequestError(NAME, f"{TITLE} refused the request: {reason}.")


def _batches(dois: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    length = 0
    for doi in dois:
        size = len(quote(f"doi:{doi},", safe=""))
        if batch and (len(batch) == MAX_DOIS or length + size > MAX_FILTER):
            yield batch
            batch, length = [], 0
        batch.append(doi)
        length += size
    if batch:
        yield batch


def _works(response: httpx.Response, read: Callable[[Work], T], dois: Sequence[str]) -> dict[str, T]:
    """The works that were asked for, each under its own DOI; ProviderResponseError if some were left out."""
    items = _items(response)
    total = number_of(field_at(_message(response), "total-results"))
    if total is None or total > len(items):
        raise ProviderResponseError(NAME, f"{TITLE} sent only a part of its answer.")
    return {doi: read(one) for one in items if (doi := normalize_doi(text_of(one.get("DOI")))) in dois}


def _items(response: httpx.Response) -> list[Work]:
    message = _message(response)
    if not isinstance(message.get("items"), list):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a list of works.")
    return [row for row in first_records(message["items"]) if text_of(row.get("DOI"))]


def _message(response: httpx.Response) -> Work:
    payload = json_answer(NAME, TITLE, response)
    if text_of(payload.get("status")) != "ok" or not (message := mapping_of(payload.get("message"))):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not an answer to the request.")
    return message
