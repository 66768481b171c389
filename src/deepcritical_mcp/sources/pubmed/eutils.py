"""Requests to NCBI's E-utilities, at the pace that all of NCBI's services share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, TypeVar

from pydantic import SecretStr

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderResponseError
from deepcritical_mcp.logs import hide
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.json_api import ApiOfService, Explain, JsonApi, paced_client
from deepcritical_mcp.sources.pubmed.eutils_answers import (
    PROVIDER,
    ESearchAnswer,
    read_ecitmatch,
    read_elink,
    read_esearch,
    read_espell,
    read_esummary,
)
from deepcritical_mcp.sources.settings import PubMedSettings

TOOL = "deepcritical-mcp"
"""The name of this program, which NCBI requires with every request."""
NO_KEY = SecretStr("")
T = TypeVar("T")
MAX_QUERY_STRING = 1_000
"""Characters; a longer request is sent in the body, as NCBI asks for more than 200 ids."""


class EUtilities:
    """E-utilities. Every method raises ProviderErrors only, after the client's retries; identical concurrent requests
    are sent once.

    `client` is built with `explain=explain_refusal`, which reads NCBI's own error texts. With an API key every request
    is a POST: URLs may be logged on the way.
    """

    def __init__(self, client: ApiClient, *, base_url: str, email: str = "", api_key: SecretStr = NO_KEY) -> None:
        self._key = api_key.get_secret_value()
        self._identity = {"tool": TOOL, "email": email, "api_key": self._key}
        self._api = JsonApi(client, base_url, identity=self._identity)
        self.has_key = bool(self._key)
        self.has_email = bool(email)

    async def esearch(
        self,
        term: str,
        *,
        db: str = "pubmed",
        retstart: int = 0,
        retmax: int = 20,
        sort: str = "relevance",
        mindate: str = "",
        maxdate: str = "",
        rettype: Literal["", "count"] = "",
    ) -> ESearchAnswer:
        """Search `db`, or only count what there is. Dates ("YYYY[/MM[/DD]]") are those of publication; one alone leaves
        the other end open."""
        params = {"db": db, "term": term, "retstart": str(retstart), "retmax": str(retmax), "sort": sort}
        if mindate or maxdate:
            params |= {"datetype": "pdat", "mindate": mindate or "1000", "maxdate": maxdate or "3000"}
        params |= {"rettype": rettype} if rettype else {}

        def read(body: bytes) -> ESearchAnswer:
            answer = read_esearch(body)
            if answer.count > retstart and retmax > 0 and not answer.ids:
                message = f"PubMed found {answer.count:,} records but sent no ids. Try again."
                raise ProviderResponseError(PROVIDER, message)
            return answer

        return await self._ask("esearch", params | {"retmode": "json"}, read)

    async def efetch(self, pmids: Sequence[str], read: Callable[[bytes], T]) -> T:
        """The XML of PubMed records, parsed by `read` in a worker thread.

        If `read` raises a retryable ProviderError, the records are fetched again.
        """
        params = {"db": "pubmed", "retmode": "xml", "id": ",".join(pmids)}
        return await self._ask("efetch", params, read, reader=read, step="next")

    async def efetch_pmc(self, pmcids: Sequence[str], read: Callable[[bytes], T]) -> T:
        """The JATS of articles in PMC ("PMC3040717"), parsed like that of `efetch`."""
        params = {"db": "pmc", "retmode": "xml", "id": ",".join(one.removeprefix("PMC") for one in pmcids)}
        return await self._ask("efetch", params, read, reader=read, in_body=True)

    async def esummary_json(self, ids: Sequence[str], *, db: str) -> Mapping[str, Mapping[str, object]]:
        """Document summaries by id; ids without a summary are missing."""
        return await self._ask("esummary", {"db": db, "retmode": "json", "id": ",".join(ids)}, read_esummary)

    async def espell(self, term: str) -> str:
        """The spelling that NCBI suggests for `term`; "" if it has no suggestion."""
        return await self._ask("espell", {"db": "pubmed", "term": term}, read_espell)

    async def elink(self, pmid: str, *, linkname: str) -> list[str]:
        """PMIDs linked to `pmid` by `linkname`, e.g. "pubmed_pubmed_refs", the closest first, without `pmid`."""
        params = {"dbfrom": "pubmed", "db": "pubmed", "id": pmid, "linkname": linkname, "retmode": "json"}
        params["cmd"] = "neighbor_score" if linkname == "pubmed_pubmed" else "neighbor"
        linked = await self._ask("elink", params, lambda body: read_elink(body, linkname))
        return [one for one in linked if one != pmid]

    async def ecitmatch(self, citations: Sequence[str]) -> list[str]:
        """What PubMed has for each of `citations` ("journal|year|volume|first page|author"): a PMID; "" where it has
        nothing, or more than one article."""
        rows = "\r".join(f"{one}|{key}|" for key, one in enumerate(citations, start=1))
        params = {"db": "pubmed", "retmode": "xml", "bdata": rows}
        return await self._ask("ecitmatch", params, lambda body: read_ecitmatch(body, len(citations)), script="cgi")

    async def _ask(
        self,
        utility: str,
        params: Mapping[str, str],
        read: Callable[[bytes], T],
        *,
        reader: Hashable = None,
        step: Literal["first", "next"] = "first",
        in_body: bool = False,
        script: Literal["fcgi", "cgi"] = "fcgi",
    ) -> T:
        """Send a request, or wait for the same one; `reader` distinguishes requests that are parsed differently."""
        is_long = sum(map(len, (*params.values(), *self._identity.values()))) > MAX_QUERY_STRING
        in_body = in_body or self.has_key or is_long
        try:
            return await self._api.get(
                f"{utility}.{script}",
                params,
                lambda answer: read(answer.content),
                kind=reader,
                in_body=in_body,
                step=step,
            )
        except ProviderError as error:
            if not self._key or self._key not in error.message:
                raise
            message = hide(error.message, [self._key])
            raise type(error)(error.provider, message, retry_after=error.retry_after, details=error.details) from None


SPACING_WITHOUT_KEY = 0.37
SPACING_WITH_KEY = 0.11
"""Seconds between two starts. NCBI allows 3 requests a second, 10 with a key; a tenth is left for network jitter."""
MAX_IDS = 200
"""Identifiers in one request."""


def ncbi_client(
    settings: Settings,
    net: Net,
    *,
    provider: str,
    title: str,
    explain: Explain | None = None,
    keyless: bool = False,
    steps: int = 1,
) -> ApiClient:
    """A client at the pace that all of NCBI's services share; `steps` is how many requests a call sends."""
    key = settings.of(PubMedSettings).ncbi_api_key.get_secret_value()
    spacing = SPACING_WITH_KEY if key else SPACING_WITHOUT_KEY
    api = ApiOfService(
        provider, title, lambda settings: settings.of(PubMedSettings).ncbi_base_url, spacing, explain, keyless
    )
    return paced_client(settings, net, api, steps=steps, shared_pace="ncbi", key=key)


def eutilities(settings: Settings, client: ApiClient) -> EUtilities:
    """E-utilities through `client`, with the key and the email address of the settings."""
    ours = settings.of(PubMedSettings)
    return EUtilities(client, base_url=ours.ncbi_base_url, email=settings.ncbi_email.strip(), api_key=ours.ncbi_api_key)
