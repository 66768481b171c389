"""OpenAlex: references of works, by its free look-ups of single works, and what its numbers of works mean.

A look-up of one work costs nothing and needs no key. A list of works costs $0.0001 of the $0.10 that a network may use
in a day without a key, so that only numbers of works that nothing else explains are looked up in lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import quote

import httpx

from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi
from deepcritical_mcp.net.client import ApiOfService, JsonService
from deepcritical_mcp.net.fields import first_records, json_answer, mapping_of, text_at, text_of, texts_of
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.lookup import Direction, Linked, LinkLookup, NameLookup, PaperNames, names_in
from deepcritical_mcp.sources.settings import OpenAlexSettings

NAME, TITLE = "openalex", "OpenAlex"
SPACING = 0.11
"""Seconds between two starts: OpenAlex allows 10 requests a second."""
_SAMPLE = RecordIds(doi="10.7717/peerj.4375")


class UnknownWorkError(ProviderRequestError):
    """OpenAlex has no work under that number."""


def explain(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status: a work that OpenAlex does not have, of which a page in HTML tells."""
    if response.status_code == 404 and b"requested URL was not found" in response.content:
        return UnknownWorkError(NAME, f"{TITLE} has nothing under this number.")
    return None


class OpenAlex(JsonService, LinkLookup, NameLookup):
    """OpenAlex's API; `api` is at an address that ends before /works."""

    name, title = NAME, TITLE
    directions = ("references",)
    names_kind = "openalex"
    api = ApiOfService(NAME, TITLE, lambda settings: settings.of(OpenAlexSettings).openalex_base_url, SPACING, explain)

    def knows(self, ids: RecordIds) -> bool:
        return bool(ids.pmid) or BARE_DOI.fullmatch(normalize_doi(ids.doi)) is not None

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        ids = papers[0]
        path = f"pmid:{ids.pmid}" if ids.pmid else f"doi:{quote(normalize_doi(ids.doi), safe='/:();')}"

        def read(response: httpx.Response) -> Linked:
            work = json_answer(NAME, TITLE, response)
            if not _number(text_at(work, "id")) or not isinstance(work.get("referenced_works"), list):
                raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a work.")
            numbers = filter(None, map(_number, texts_of(work["referenced_works"])))
            return Linked(tuple(frozenset({f"openalex:{one}"}) for one in numbers))

        with suppress(UnknownWorkError):
            return [await self._api.get(f"works/{path}", {"select": "id,referenced_works"}, read)]
        return [Linked()]

    async def names(self, names: Sequence[str]) -> Mapping[str, PaperNames]:
        def read(response: httpx.Response) -> Mapping[str, PaperNames]:
            payload = json_answer(NAME, TITLE, response)
            if not isinstance(payload.get("results"), list):
                raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a list of works.")
            found = [_named(mapping_of(one.get("ids"))) for one in first_records(payload["results"])]
            return {name: one for one in found for name in one if name in names}

        numbers = "|".join(one.removeprefix("openalex:") for one in names)
        return await self._api.get(
            "works", {"filter": f"openalex:{numbers}", "select": "id,ids", "per-page": "100"}, read
        )

    def checks(self) -> Sequence[SourceCheck]:
        ask = self.links
        return (SourceCheck.answering(TITLE, lambda: ask([_SAMPLE], "references"), searches=False),)


def _number(address: str) -> str:
    """ "W2741809807" from "https://openalex.org/W2741809807"; "" for anything else."""
    number = address.rpartition("/")[2]
    return number if number[:1] == "W" and number[1:].isdecimal() else ""


def _named(ids: Mapping[str, object]) -> PaperNames:
    """The names in the `ids` of a work, which are addresses."""
    given = {kind: text_of(ids.get(kind)) for kind in ("doi", "pmid", "openalex")}
    given |= {"pmid": given["pmid"].rstrip("/").rpartition("/")[2], "openalex": _number(given["openalex"])}
    return names_in(f"{kind}:{number}" for kind, number in given.items() if number)
