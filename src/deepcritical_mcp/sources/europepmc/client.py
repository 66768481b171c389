"""Requests to Europe PMC's REST service."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx

from deepcritical_mcp.errors import (
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
)
from deepcritical_mcp.net.json_fields import field_at, first_records, json_answer, number_of, text_at
from deepcritical_mcp.sources.europepmc.record import PROVIDER, EuropePMCRecord, read_record
from deepcritical_mcp.sources.json_api import ApiOfService, JsonService, is_web_page
from deepcritical_mcp.sources.settings import EuropePMCSettings
from deepcritical_mcp.text import clean_line

TITLE = "Europe PMC"
SPACING = 0.21
"""Seconds between two starts: EBI publishes no limit; 5 requests a second have proved safe."""
MAX_PAGE = 1_000
"""Results that one request may ask for."""
T = TypeVar("T")
_MAX_QUOTE = 200
MAX_QUERY_STRING = 1_500
"""Characters; a longer query is sent in the body, since some servers on the way refuse long addresses."""
_ERROR_BEAN = re.compile(rb"<errorBean>.{0,200}?<errCode>(-?[0-9]{1,5})</errCode>.{0,200}?<errMsg>([^<>]*)", re.DOTALL)
_NOT_OPEN = re.compile(r"not open access", re.IGNORECASE)


class NoOpenTextError(ProviderRequestError):
    """Europe PMC has no full text under this id that it may pass on; the id may be unknown, too."""


@dataclass(frozen=True)
class EuropePMCPage(Generic[T]):
    """A page of results; `next_cursor` is "" on the last one. `skipped` rows have no id."""

    records: tuple[T, ...]
    total: int
    next_cursor: str = ""
    skipped: int = 0


def explain_status(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status, if it is a full text that is not there: 404 without a web page."""
    is_text = response.request.url.path.endswith("/fullTextXML")
    if response.status_code != 404 or not is_text:
        return None
    if is_web_page(response.content):
        return ProviderUnavailableError(PROVIDER, f"{TITLE} answered with a web page (HTTP 404). Try again later.")
    return NoOpenTextError(PROVIDER, f"{TITLE} has no open full text under this id.")


class EuropePMCService(JsonService):
    """Europe PMC's search and full texts. Raises only ProviderErrors; its errors may come with HTTP 200."""

    name = PROVIDER
    title = TITLE
    api = ApiOfService(
        PROVIDER, TITLE, lambda settings: settings.of(EuropePMCSettings).europepmc_base_url, SPACING, explain_status
    )

    async def search(
        self, query: str, *, page_size: int = 25, cursor: str = "*", result_type: str = "core"
    ) -> EuropePMCPage[EuropePMCRecord]:
        """A page of what `query` finds, in Europe PMC's query language."""
        return await self.rows(read_record, query, page_size=page_size, cursor=cursor, result_type=result_type)

    async def rows(
        self,
        read_row: Callable[[Mapping[str, object]], T | None],
        query: str,
        *,
        page_size: int,
        cursor: str = "*",
        result_type: str,
    ) -> EuropePMCPage[T]:
        """As `search`, with what `read_row` makes of each row; None is not a record."""
        sent = {"query": query, "resultType": result_type, "pageSize": str(page_size), "cursorMark": cursor}
        is_long = len(query) > MAX_QUERY_STRING
        return await self._api.get(
            "searchPOST" if is_long else "search",
            sent | {"format": "json"},
            lambda response: _page(response, read_row, cursor=cursor),
            kind=read_row,
            in_body=is_long,
        )

    async def citations(self, pmid: str, *, page_size: int) -> EuropePMCPage[tuple[str, str]]:
        """The documents that cite a paper, by Europe PMC's code of their source and their number there; at most
        1,000."""
        sent = {"page": "1", "pageSize": str(page_size), "format": "json"}
        place = "citationList.citation"
        return await self._api.get(f"MED/{pmid}/citations", sent, lambda one: _page(one, _citing_row, place=place))

    async def full_text(self, id: str) -> bytes:
        """The JATS of "PMC3040717" or "PPR1036674".

        Raises:
            NoOpenTextError: there is none that may be passed on.
        """

        def checked(response: httpx.Response) -> bytes:
            body = response.content
            if found := _ERROR_BEAN.search(body[:2_000]):
                raise _error_of(int(found[1]), found[2].decode("utf-8", "replace"))
            if not body.rstrip().endswith(b"</article>"):
                told = f"{TITLE} sent a full text that is cut off, or something else. Try again in a minute."
                raise ProviderResponseError(PROVIDER, told)
            return body

        return await self._api.get(f"{id}/fullTextXML", {}, checked)


def _page(
    response: httpx.Response,
    read_row: Callable[[Mapping[str, object]], T | None],
    *,
    place: str = "resultList.result",
    cursor: str = "",
) -> EuropePMCPage[T]:
    payload = json_answer(PROVIDER, TITLE, response)
    if "errCode" in payload:
        raise _error_of(int(number_of(payload["errCode"]) or 0), text_at(payload, "errMsg"))
    total, listed = number_of(payload.get("hitCount")), field_at(payload, *place.split("."))
    if total is None or listed is None:
        raise ProviderResponseError(PROVIDER, f"{TITLE} sent JSON without a {place.partition('.')[0]}.")
    rows = first_records(listed)
    records = tuple(record for record in map(read_row, rows) if record is not None)
    if rows and not records:
        raise ProviderResponseError(PROVIDER, f"{TITLE} sent records without ids.")
    following = text_at(payload, "nextCursorMark")
    next_cursor = following if records and following != cursor else ""
    return EuropePMCPage(records, int(total), next_cursor, len(rows) - len(records))


def _citing_row(row: Mapping[str, object]) -> tuple[str, str] | None:
    source, number = text_at(row, "source"), text_at(row, "id")
    return (source, number) if source and number else None


def _error_of(code: int, message: str) -> ProviderError:
    """The error in a body: Europe PMC sends it with HTTP 200."""
    quote = clean_line(message)[:_MAX_QUOTE].strip(" .") or "no reason given"
    if _NOT_OPEN.search(message):
        return NoOpenTextError(PROVIDER, f'{TITLE} says: "{quote}".')
    if 400 <= code < 500:
        return ProviderRequestError(PROVIDER, f'{TITLE} refused the request: "{quote}".')
    return ProviderUnavailableError(PROVIDER, f'{TITLE} reports an error: "{quote}". Try again in a minute.')
