"""PMC (PubMed Central) as a provider of full texts; and its ID converter: PMID, PMCID and DOI of articles in PMC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, Self

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.net.client import ApiClient, JsonApi, Net
from deepcritical_mcp.net.fields import first_records, json_answer, json_if_any, list_of, text_at
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.reading.reader_process import read_articles
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.pubmed.eutils import (
    MAX_IDS,
    TOOL,
    EUtilities,
    NoPossibleIdError,
    eutilities,
    explain_refusal,
    ncbi_client,
    refuse_other_data,
    refuse_xml_errors,
    unreadable,
)
from deepcritical_mcp.sources.settings import PubMedSettings
from deepcritical_mcp.text import batches, clean_line

NAME, TITLE = "pmc", "PMC"
ADDRESS = "https://pmc.ncbi.nlm.nih.gov/articles/"
_SAMPLE = "PMC1"  # for the check: no article has this number, so the answer is small
_SET_END, _ARTICLE_END = b"</pmc-articleset>", b"</article>"
_NO_ARTICLE = re.compile(rb'<Reply\s[^<>]*?\berror="([^"<>]*)"|<error\b[^<>]*>([^<>]*)', re.IGNORECASE)
_UNKNOWN = re.compile(r"not available|not found|does not exist|invalid|no items", re.IGNORECASE)


class PMC(FullTextSource):
    """PMC through efetch, by PMCID."""

    name = NAME
    title = TITLE
    at_once = 25  # whole articles, which the largest answer allowed must hold

    def __init__(self, eutils: EUtilities) -> None:
        self._eutils = eutils

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        client = ncbi_client(settings, net, provider=cls.name, title=cls.title, explain=explain_pmc_refusal)
        return cls(eutilities(settings, client))

    def accepts(self, wanted: Wanted) -> bool:
        return bool(normalize_pmcid(wanted.ids.pmcid))

    async def read(self, wanted: Wanted) -> Copy:
        ((_, copy),) = await self.records_and_copies([wanted])
        return copy

    async def records_and_copies(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Publication | None, Copy]]:
        """What the articles say about themselves; PubMed knows more of those that it has."""
        pmcids = [normalize_pmcid(one.ids.pmcid) for one in wanted]
        asked = list(dict.fromkeys(pmcids))
        try:
            body = await self._eutils.efetch_pmc(asked, _checked)
            copies = _copies(await read_articles(body, NAME, TITLE), body, asked)
        except NoPossibleIdError:
            copies = {pmcid: _copy(None, b"", pmcid) for pmcid in asked}
        return [(_record(copies[pmcid].reading), copies[pmcid]) for pmcid in pmcids]

    def checks(self) -> tuple[SourceCheck, ...]:
        key, sample = "NCBI_API_KEY" if self._eutils.has_key else "", Wanted(RecordIds(pmcid=_SAMPLE))
        return (SourceCheck.answering(self.title, lambda: self.read(sample), key_variable=key),)


def explain_pmc_refusal(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status of efetch, if its body says more than the status."""
    error = explain_refusal(response)
    return error and _of_pmc(error)


def _of_pmc(error: ProviderError) -> ProviderError:
    """An error of E-utilities under PMC's name: they say "PubMed" for all of NCBI's databases."""
    return type(error)(NAME, error.message.replace("PubMed", TITLE), retry_after=error.retry_after)


def _record(reading: Reading | None) -> Publication | None:
    """What an article says about itself."""
    fields = {"source": "pubmed", **reading.fields} if reading else {}
    return Publication.of("abstract", reading.abstract or NO_ABSTRACT, provider=NAME, **fields) if reading else None


def _copies(found: Sequence[Reading], body: bytes, pmcids: Sequence[str]) -> dict[str, Copy]:
    """What an answer of efetch says about articles; a ProviderError if it is about another one than the only one."""
    articles = {normalize_pmcid(str(one.fields.get("pmcid", ""))): one for one in found}
    if len(pmcids) == 1 and [*articles] == [""]:  # an old article may name none
        articles = {pmcids[0]: articles[""]}
    if len(pmcids) == 1 and articles and pmcids[0] not in articles:
        sent = ", ".join(filter(None, articles))
        raise ProviderResponseError(NAME, f"{TITLE} was asked for {pmcids[0]} and sent {sent}.")
    return {one: _copy(articles.get(one), body, one) for one in pmcids}


def _checked(body: bytes) -> bytes:
    """An answer; a ProviderError if it is not a set of articles."""
    try:
        refuse_other_data(body)
        if not body.rstrip().endswith((_SET_END, _ARTICLE_END)):
            refuse_xml_errors(body)
            raise unreadable("it is cut off, or is not a set of articles")
    except ProviderError as error:
        raise _of_pmc(error) from error
    return body


def _copy(reading: Reading | None, body: bytes, pmcid: str) -> Copy:
    """An article, or why there is only its abstract (the publisher, an embargo, or a scan without text), or nothing."""
    if reading is None:
        found = _NO_ARTICLE.search(body)
        said = clean_line((found[1] or found[2] or b"").decode("utf-8", "replace"))[:200] if found else ""
        if said and not _UNKNOWN.search(said):
            raise ProviderUnavailableError(NAME, f'{TITLE} reports an error: "{said}". Try again in a minute.')
        return Copy("not_found", f"{TITLE} has no article {pmcid}.")
    url = f"{ADDRESS}{pmcid}/"
    if reading.content:
        return Copy("full_text", reading=reading, url=url)
    if not reading.is_withheld and (b"<body" in body or b"scanned-page" in body):
        return Copy("no_text", f"{TITLE} has this article as scanned pages only, without text.", reading, url)
    reason = "but does not pass on its full text: its publisher forbids it, or an embargo has not ended."
    if reading.is_withheld:
        reason = "but its publisher does not allow its full text to be downloaded."
    return Copy("not_allowed", f"{TITLE} has this article, {reason}", reading, url)


CONVERTER, CONVERTER_TITLE = "idconv", "NCBI's ID converter"
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
        self._api = JsonApi(client, base_url, identity={"tool": TOOL, "email": email})

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        """The converter as the settings describe it. It shares the pace of E-utilities: NCBI names no other."""
        client = ncbi_client(
            settings, net, provider=CONVERTER, title=CONVERTER_TITLE, explain=explain_conversion, keyless=True
        )
        return cls(client, base_url=settings.of(PubMedSettings).idconv_base_url, email=settings.ncbi_email.strip())

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
        return [one.completed(known.get(key, RecordIds())) for one, key in zip(ids, asked, strict=True)]

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
        told = f"{CONVERTER_TITLE} refuses too many of these ids. Check them, or ask for fewer."
        raise ProviderRequestError(CONVERTER, told)

    async def _ask(self, kind: IdKind, batch: Sequence[str]) -> dict[str, RecordIds]:
        params = {"ids": ",".join(batch), "idtype": kind, "format": "json"}
        return await self._api.get("", params, lambda answer: _read(answer, kind, batch))

    def check(self) -> SourceCheck:
        """The check for `doctor`."""
        return SourceCheck.answering(CONVERTER_TITLE, lambda: self._ask("pmcid", ["PMC3040717"]), searches=False)


def _key(ids: RecordIds) -> tuple[IdKind, str] | None:
    """The id to ask for; None if nothing is missing, or if there is none."""
    if ids.pmcid and (ids.pmid or ids.doi):
        return None
    if ids.pmid:
        return "pmid", ids.pmid
    if ids.pmcid:
        return "pmcid", ids.pmcid.upper()
    return ("doi", normalize_doi(ids.doi)) if ids.doi else None


def _read(response: httpx.Response, kind: IdKind, batch: Sequence[str]) -> dict[str, RecordIds]:
    """The ids in an answer by those that were asked for. A record with an error says only that PMC has no such article;
    one of another article says nothing.

    Raises ProviderResponseError if a record is missing or about something else.
    """
    payload = json_answer(CONVERTER, CONVERTER_TITLE, response)
    if payload.get("status") not in ("ok", None) or "records" not in payload:
        raise ProviderResponseError(CONVERTER, f"{CONVERTER_TITLE} sent an answer without records.")
    wanted = {value.lower(): value for value in batch}
    found: dict[str, RecordIds] = {}
    for row in first_records(payload["records"]):
        pmid, pmcid, doi = (text_at(row, name) for name in ("pmid", "pmcid", "doi"))
        ids = RecordIds(normalize_pmid(pmid), pmcid.upper(), normalize_doi(doi))
        requested = text_at(row, "requested-id") or getattr(ids, kind)
        if value := wanted.get(normalize_doi(requested) if kind == "doi" else requested.lower()):
            own = getattr(ids, kind).lower()
            is_own = own in ("", value.lower()) or own.startswith(f"{value.lower()}.")
            found[value] = RecordIds() if row.get("status") == "error" or row.get("errmsg") or not is_own else ids
    if len(found) < len(wanted):
        raise ProviderResponseError(CONVERTER, f"{CONVERTER_TITLE} answered for {len(found)} of {len(wanted)} ids.")
    return found


def explain_conversion(response: httpx.Response) -> ProviderError | None:
    """The error behind a refusal: an id of the wrong kind fails a whole batch."""
    if response.status_code != 400:
        return None
    codes = [text_at(row, "code") for row in list_of(json_if_any(response).get("errors"))]
    return RefusedIdsError(CONVERTER, f"{CONVERTER_TITLE} refused the ids ({', '.join(codes)}).") if codes else None
