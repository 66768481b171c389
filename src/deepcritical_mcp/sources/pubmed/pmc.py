"""PMC (PubMed Central) as a provider of full texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds, normalize_pmcid
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.sources.base import Net, SourceCheck
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted, articles_in
from deepcritical_mcp.sources.pubmed.eutils import (
    EUtilities,
    NoPossibleIdError,
    eutilities,
    explain_refusal,
    ncbi_client,
    refuse_other_data,
    refuse_xml_errors,
    unreadable,
)
from deepcritical_mcp.text import clean_line

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
            copies = _copies(await articles_in(body, NAME, TITLE), body, asked)
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
    message = error.message.replace("PubMed", TITLE)
    return type(error)(NAME, message, retry_after=error.retry_after)


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
