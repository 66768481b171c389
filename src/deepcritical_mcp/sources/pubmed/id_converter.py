"""NCBI's ID converter: PMID, PMCID and DOI of articles in PMC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, Self

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, normalize_pmid
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.json_fields import first_records, json_answer, list_of, mapping_of, text_at
from deepcritical_mcp.sources.base import Net, SourceCheck
from deepcritical_mcp.sources.json_api import JsonApi
from deepcritical_mcp.sources.pubmed.eutils import MAX_IDS, TOOL, ncbi_client
from deepcritical_mcp.sources.settings import PubMedSettings
from deepcritical_mcp.text import batches

NAME, TITLE = "idconv", "NCBI's ID converter"
MAX_SPLITS = 16
"""Of a batch with ids that are refused: enough to single out two of 200."""
IdKind = Literal["pmid", "pmcid", "doi"]
_VALID: Mapping[IdKind, re.Pattern[str]] = {
    "pmid": re.compile(r"[1-9][0-9]{0,8}"),
    "pmcid": re.compile(r"PMC[1-9][0-9]{0,9}"),
    # Commas separate ids, and a DOI with a comma would become two.
    "doi": re.compile(r"10\.[0-9]{4,9}[^\s,/]{0,50}/[^\s,]{1,300}"),
}


class RefusedIdsError(ProviderRequestError):
    """The converter refuses the whole batch because of some of its ids."""


class IdConverter:
    """The ID converter, which takes ids of one kind in a request. Raises only ProviderErrors."""

    def __init__(self, client: ApiClient, *, base_url: str, email: str = "") -> None:
        self._api = JsonApi(client, base_url, identity={"tool": TOOL, **({"email": email} if email else {})})

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        """The converter as the settings describe it. It shares the pace of E-utilities: NCBI names no other."""
        client = ncbi_client(settings, net, provider=NAME, title=TITLE, explain=explain_conversion, keyless=True)
        base_url = settings.of(PubMedSettings).idconv_base_url
        return cls(client, base_url=base_url, email=settings.ncbi_email.strip())

    async def convert(self, ids: Sequence[RecordIds]) -> Sequence[RecordIds]:
        """The ids of publications, in order, as given and with what the converter adds: one request for each kind of id
        and 200 publications. For an article outside PMC it has no PMCID: it does not know whether it exists.

        Publications whose PMCID is known with a PMID or a DOI are not asked for.
        """
        asked = [_key(one) for one in ids]
        known: dict[tuple[IdKind, str] | None, RecordIds] = {}
        for kind in _VALID:
            values = dict.fromkeys(key[1] for key in asked if key and key[0] == kind and _VALID[kind].fullmatch(key[1]))
            for batch in batches([*values], MAX_IDS):
                answered = await self._ask_in_parts(kind, batch)
                known |= {(kind, value): one for value, one in answered.items()}
        pairs = zip(ids, (known.get(key, RecordIds()) for key in asked), strict=True)
        return [RecordIds(*(one or other for one, other in zip(*pair, strict=True))) for pair in pairs]

    async def _ask_in_parts(self, kind: IdKind, batch: Sequence[str]) -> dict[str, RecordIds]:
        """The answer for a batch, which is split until the ids that are refused stand alone."""
        found: dict[str, RecordIds] = {}
        parts = [batch]
        for _ in range(1 + 2 * MAX_SPLITS):
            part = parts.pop(0)
            try:
                found |= await self._ask(kind, part)
            except RefusedIdsError:
                middle = len(part) // 2
                parts += [part[:middle], part[middle:]] if middle else []
            if not parts:
                return found
        raise ProviderRequestError(NAME, f"{TITLE} refuses too many of these ids. Check them, or ask for fewer.")

    async def _ask(self, kind: IdKind, batch: Sequence[str]) -> dict[str, RecordIds]:
        params = {"ids": ",".join(batch), "idtype": kind, "format": "json"}

        return await self._api.get("", params, lambda one: _read(json_answer(NAME, TITLE, one), kind, batch))

    def check(self) -> SourceCheck:
        """The check for `doctor`."""
        return SourceCheck.answering(TITLE, lambda: self._ask("pmcid", ["PMC3040717"]), searches=False)


def _key(ids: RecordIds) -> tuple[IdKind, str] | None:
    """The id to ask for; None if nothing is missing, or if there is none."""
    if ids.pmcid and (ids.pmid or ids.doi):
        return None
    if ids.pmid:
        return "pmid", ids.pmid
    if ids.pmcid:
        return "pmcid", ids.pmcid.upper()
    return ("doi", normalize_doi(ids.doi)) if ids.doi else None


def _read(payload: Mapping[str, object], kind: IdKind, batch: Sequence[str]) -> dict[str, RecordIds]:
    """The ids in an answer by those that were asked for. A record with an error says only that PMC has no such article;
    one of another article says nothing.

    Raises ProviderResponseError if a record is missing or about something else.
    """
    if payload.get("status") not in ("ok", None) or "records" not in payload:
        raise ProviderResponseError(NAME, f"{TITLE} sent an answer without records.")
    wanted = {value.lower(): value for value in batch}
    found: dict[str, RecordIds] = {}
    for row in first_records(payload["records"]):
        ids = RecordIds(
            pmid=normalize_pmid(text_at(row, "pmid")),
            pmcid=text_at(row, "pmcid").upper(),
            doi=normalize_doi(text_at(row, "doi")),
        )
        requested = text_at(row, "requested-id") or getattr(ids, kind)
        if value := wanted.get(normalize_doi(requested) if kind == "doi" else requested.lower()):
            own = getattr(ids, kind).lower()
            is_own = own in ("", value.lower()) or own.startswith(f"{value.lower()}.")
            found[value] = RecordIds() if row.get("status") == "error" or row.get("errmsg") or not is_own else ids
    if len(found) < len(wanted):
        raise ProviderResponseError(NAME, f"{TITLE} answered for {len(found)} of {len(wanted)} ids.")
    return found


def explain_conversion(response: httpx.Response) -> ProviderError | None:
    """The error behind a refusal: an id of the wrong kind fails a whole batch."""
    if response.status_code != 400:
        return None
    try:
        payload = json_answer(NAME, TITLE, response)
    except ProviderResponseError:
        return None
    codes = [text_at(row, "code") for row in list_of(mapping_of(payload).get("errors"))]
    return RefusedIdsError(NAME, f"{TITLE} refused the ids ({', '.join(codes)}).") if codes else None
