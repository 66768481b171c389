"""Crossref: records of works by DOI, works that a reference may mean, and a second witness of retractions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self, TypeVar
from urllib.parse import quote

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.net.json_fields import (
    field_at,
    first_records,
    json_answer,
    mapping_of,
    number_of,
    rows_of,
    text_at,
)
from deepcritical_mcp.sources.base import Finding, Net, SourceCheck
from deepcritical_mcp.sources.crossref.work import NAME, SELECT, TITLE, read_work, updates_of
from deepcritical_mcp.sources.json_api import ApiOfService, JsonApi, is_web_page, paced_client
from deepcritical_mcp.sources.lookup import RecordLookup, ReferenceLookup, StatusLookup
from deepcritical_mcp.sources.settings import CrossrefSettings
from deepcritical_mcp.text import clean_line

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


class UnknownWorkError(ProviderRequestError):
    """Crossref does not have what was asked for."""


def explain_crossref(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status: nothing under that DOI (plain text), or a request that Crossref cannot read."""
    if response.status_code not in (400, 404):
        return None
    if is_web_page(response.content):
        told = f"{TITLE} answered with a web page (HTTP {response.status_code}). Try again later."
        return ProviderUnavailableError(NAME, told)
    try:
        failures = rows_of(json_answer(NAME, TITLE, response).get("message"))
    except ProviderResponseError:
        failures = []
    if response.status_code == 404 and response.content.strip().startswith(_NOTHING_THERE):
        return UnknownWorkError(NAME, f"{TITLE} has nothing under this DOI.")
    said = clean_line(" ".join(text_at(one, "message") for one in failures))[:_MAX_QUOTE].strip(" .")
    reason = f'"{said}"' if said else f"HTTP {response.status_code}"
    return ProviderRequestError(NAME, f"{TITLE} refused the request: {reason}.")


def _batches(dois: Sequence[str]) -> Iterator[list[str]]:
    """DOIs in batches that fit into one URL each."""
    batch, length = list[str](), 0
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
    return {doi: read(one) for one in items if (doi := normalize_doi(text_at(one, "DOI"))) in dois}


def _items(response: httpx.Response) -> list[Work]:
    message = _message(response)
    if not isinstance(message.get("items"), list):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a list of works.")
    return [row for row in first_records(message["items"]) if text_at(row, "DOI")]


def _message(response: httpx.Response) -> Work:
    payload = json_answer(NAME, TITLE, response)
    if text_at(payload, "status") != "ok" or not (message := mapping_of(payload.get("message"))):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not an answer to the request.")
    return message


POLITE_SPACING, PUBLIC_SPACING = 0.37, 1.01
"""Seconds between two starts: Crossref allows 3 list requests per second in the polite pool, 1 in the public one."""
MAX_CANDIDATES = 5
MAX_AGENCIES = 3
"""Requests that ask who registered DOIs which Crossref does not have."""
_SAMPLE = "10.1371/journal.pmed.0020124"
_DATACITE = "DataCite"
_OWNERS = data_table(__file__, "datacite_prefixes.txt")

logger = logging.getLogger(__name__)


class Crossref(RecordLookup, ReferenceLookup, StatusLookup):
    """Crossref's REST API: works by their DOIs or by a reference, and who registered a DOI.

    `api` is built with `explain=explain_crossref`; `is_polite` says whether requests go to the polite pool.
    """

    name = NAME
    title = TITLE

    def __init__(self, api: JsonApi, *, is_polite: bool = False) -> None:
        self._api, self._is_polite = api, is_polite

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        email = settings.ncbi_email.strip()
        spacing = POLITE_SPACING if email else PUBLIC_SPACING
        api = ApiOfService(
            NAME, TITLE, lambda settings: settings.of(CrossrefSettings).crossref_base_url, spacing, explain_crossref
        )
        client, at_once = paced_client(settings, net, api), AT_ONCE[bool(email)]
        identity = {"mailto": email} if email else {}
        return cls(JsonApi(client, api.base_url(settings), identity=identity, at_once=at_once), is_polite=bool(email))

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
            found |= await self._api.get("works", asked, lambda one, batch=batch: _works(one, read, batch), kind=read)
        for doi in (doi for doi in wanted if "," in doi):
            try:
                path = f"works/{quote(doi, safe='')}"
                found[doi] = await self._api.get(path, {}, lambda one: read(_message(one)), kind=read)
            except UnknownWorkError:
                continue
        return found

    async def agency(self, doi: str) -> str:
        """The agency with which a DOI is registered, e.g. "DataCite"; "" if none is known."""

        def read(response: httpx.Response) -> str:
            return text_at(_message(response), "agency.label", "agency.id")

        try:
            return await self._api.get(f"works/{quote(doi, safe='')}/agency", {}, read)
        except UnknownWorkError:
            return ""

    def accepts(self, ids: RecordIds) -> bool:
        return _is_doi(normalize_doi(ids.doi))

    async def records(self, wanted: Sequence[RecordIds]) -> Sequence[Publication | str]:
        """One request, and up to three more that ask who registered the DOIs that Crossref does not have."""
        dois = [normalize_doi(ids.doi) for ids in wanted]
        found = await self.works(list(filter(_is_doi, dois)), read_work)
        unknown = [doi for doi in dois if _is_doi(doi) and doi not in found]
        agencies = await self._agencies(unknown) if unknown else {}
        return [found.get(doi) or (_remark(doi, agencies[doi]) if doi in agencies else "") for doi in dois]

    async def match(self, reference: str) -> Sequence[Publication]:
        """The works that are most like a written reference, best first."""
        asked = {"query.bibliographic": clean_line(reference)[:MAX_REFERENCE], "rows": str(MAX_CANDIDATES)}
        return await self._api.get("works", asked, lambda answer: [*map(read_work, _items(answer))])

    async def notices(self, dois: Sequence[str]) -> Mapping[str, tuple[StatusNotice, ...]]:
        return await self.works(list(filter(_is_doi, dois)), updates_of, select=SELECT)

    async def _agencies(self, dois: Sequence[str]) -> dict[str, str]:
        """With whom DOIs are registered, as far as that is found out, "" if with nobody; an outage leaves it open."""
        known = {doi: _DATACITE for doi in dois if doi.partition("/")[0] in _OWNERS}
        asked = dict.fromkeys(doi for doi in dois if doi not in known)
        try:
            for doi in list(asked)[:MAX_AGENCIES]:
                known[doi] = await self.agency(doi)
        except ProviderError as error:
            logger.info("agency of a DOI not found: %s", error.code)
        return known

    def checks(self) -> Sequence[SourceCheck]:
        async def examine() -> Finding:
            await self.agency(_SAMPLE)
            if self._is_polite:
                return Finding("answers; polite pool: 3 requests per second")
            return Finding("answers; public pool: 1 request per second, 3 with an email address (NCBI_EMAIL)")

        return (SourceCheck(self.title, examine),)


def _is_doi(doi: str) -> bool:
    return bool(BARE_DOI.fullmatch(doi))


def _remark(doi: str, agency: str) -> str:
    """Why Crossref has no record of a DOI, by the agency with which it is registered."""
    if not agency:
        return f"No registration agency knows {doi}: the DOI may be wrong."
    if agency == TITLE:
        return f"{doi} has a prefix of {TITLE}'s, but no record there: the DOI may be wrong."
    owner = _OWNERS.get(doi.partition("/")[0], "")
    named = f"a DOI of {owner}, registered" if owner else "a DOI registered"
    return f"{doi} is {named} with {agency}; {TITLE} has no record of it."
