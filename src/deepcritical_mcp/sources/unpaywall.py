"""Unpaywall: where open copies of an article are, by its DOI. It has no texts itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Self
from urllib.parse import quote

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.net.client import ApiClient, JsonApi, Net
from deepcritical_mcp.net.fields import json_answer, mapping_of, rows_of, text_at, text_of
from deepcritical_mcp.sources.base import Finding, SourceCheck
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.settings import UnpaywallSettings
from deepcritical_mcp.urls import is_web_address

NAME, TITLE = "unpaywall", "Unpaywall"
_VERSIONS = {
    "publishedVersion": "the published version",
    "acceptedVersion": "the accepted manuscript",
    "submittedVersion": "the submitted manuscript",
}
"""Best first."""
_SAMPLE = "10.1371/journal.pmed.0020124"
"""An open article, for the check."""
_MAX_COPIES = 10
_MAX_DESCRIBED = 3


class UnknownDoiError(ProviderRequestError):
    """Unpaywall does not know the DOI."""


class Unpaywall(FullTextSource):
    """Unpaywall's API, which requires an email address."""

    name = NAME
    title = TITLE

    def __init__(self, client: ApiClient, *, base_url: str, email: str) -> None:
        self._api = JsonApi(client, base_url)
        self._email = email
        self.off = "" if email else "no email address (NCBI_EMAIL)"

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        client = net.client(NAME, TITLE, explain=explain_unpaywall, keyless=True)
        base_url = settings.of(UnpaywallSettings).unpaywall_base_url
        return cls(client, base_url=base_url, email=settings.ncbi_email.strip())

    def accepts(self, wanted: Wanted) -> bool:
        return bool(normalize_doi(wanted.ids.doi)) and not self.off

    async def read(self, wanted: Wanted) -> Copy:
        """Where open copies are. The text itself is never in the answer."""
        doi = normalize_doi(wanted.ids.doi)
        path, sent = quote(doi, safe="/"), {"email": self._email}
        try:
            return await self._api.get(path, sent, lambda answer: _copies(json_answer(NAME, TITLE, answer), doi))
        except UnknownDoiError as error:
            return Copy("not_found", error.message)

    def checks(self) -> tuple[SourceCheck, ...]:
        async def examine() -> Finding:
            if self.off:
                return Finding("no email address (optional); NCBI_EMAIL enables it", "off")
            await self.read(Wanted(RecordIds(doi=_SAMPLE)))
            return Finding("answers")

        return (SourceCheck(self.title, examine),)


def explain_unpaywall(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status: an unknown DOI, or an email address that Unpaywall does not accept."""
    with suppress(ProviderResponseError):  # a page from someone else
        said = text_of(json_answer(NAME, TITLE, response).get("message"))
        if response.status_code == 404:
            return UnknownDoiError(NAME, f"{TITLE} does not know this DOI.")
        if response.status_code == 422:
            why = " refused the request (HTTP 422)."
            if "email" in said.lower():
                why = " does not accept the email address (HTTP 422): set NCBI_EMAIL to your own, real address."
            return ProviderRequestError(NAME, f"{TITLE}{why}")
    return None


def _copies(payload: Mapping[str, object], doi: str) -> Copy:
    """Where copies are, according to an answer; ProviderResponseError if it is about something else."""
    if normalize_doi(text_at(payload, "doi")) != doi:
        raise ProviderResponseError(NAME, f"{TITLE} sent an answer that is not about the DOI it was asked for.")
    best = mapping_of(payload.get("best_oa_location"))
    locations = [one for one in (best, *rows_of(payload.get("oa_locations"))) if one]
    rank = [*_VERSIONS, ""]
    locations.sort(key=lambda one: rank.index(version if (version := text_at(one, "version")) in rank else ""))
    pdfs = [text_at(one, "url_for_pdf") for one in locations]
    pages = [text_of(one.get(name)) for one in locations for name in ("url_for_landing_page", "url")]
    addresses = tuple(dict.fromkeys(url for url in (*pdfs, *pages) if is_web_address(url)))[:_MAX_COPIES]
    if not addresses:
        return Copy("abstract_only", f"{TITLE} knows of no open copy.")
    known = "; ".join([*dict.fromkeys(map(_described, locations))][:_MAX_DESCRIBED])
    return Copy("abstract_only", f"{TITLE} knows of open copies: {known}.", elsewhere=addresses)


def _described(location: Mapping[str, object]) -> str:
    version = _VERSIONS.get(text_at(location, "version"), "a copy of unknown version")
    licence = text_at(location, "license")
    host = {"publisher": "at its publisher", "repository": "in a repository"}.get(text_at(location, "host_type"), "")
    return ", ".join(filter(None, (version, host, f"licence {licence}" if licence else "no licence stated")))
