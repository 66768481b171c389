"""Requests to NCBI's E-utilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import anyio.to_thread
from pydantic import SecretStr

from deepcritical_mcp.errors import ProviderError, ProviderResponseError
from deepcritical_mcp.logs import hide
from deepcritical_mcp.net.client import USER_AGENT, ApiClient
from deepcritical_mcp.net.in_flight import InFlight
from deepcritical_mcp.sources.pubmed.eutils_answers import (
    PROVIDER,
    ESearchAnswer,
    read_elink,
    read_esearch,
    read_espell,
    read_esummary,
)

TOOL = "deepcritical-mcp"
NO_KEY = SecretStr("")
T = TypeVar("T")
IDS_IN_AN_ADDRESS = 200
CHARACTERS_IN_AN_ADDRESS = 1_000


class EUtilities:
    """E-utilities. Every method raises ProviderErrors only, after the client's retries; identical concurrent requests
    are sent once.

    Args:
        client: limits and retries; built with `explain=explain_refusal`, which reads NCBI's own error texts.
        base_url: ends in /entrez/eutils.
        tool: who asks; NCBI wants it with every request.
        email: sent unless "".
        api_key: sent unless empty. With a key every request is a POST: addresses end up in logs along the way.
    """

    def __init__(
        self, client: ApiClient, *, base_url: str, tool: str = TOOL, email: str = "", api_key: SecretStr = NO_KEY
    ) -> None:
        self._client = client
        self._base_url = base_url
        self._key = api_key.get_secret_value()
        self._in_flight = InFlight()
        self._identity = {"tool": tool, "email": email, "api_key": self._key}

    @property
    def has_key(self) -> bool:
        """Whether requests carry an API key."""
        return bool(self._key)

    @property
    def has_email(self) -> bool:
        """Whether requests carry the email address that NCBI asks for."""
        return bool(self._identity["email"])

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
    ) -> ESearchAnswer:
        """Search `db`. Dates ("YYYY[/MM[/DD]]") are those of publication; one alone is open at the other end."""
        params = {"db": db, "term": term, "retstart": str(retstart), "retmax": str(retmax), "sort": sort}
        if mindate or maxdate:
            params |= {"datetype": "pdat", "mindate": mindate or "1000", "maxdate": maxdate or "3000"}

        def read(body: bytes) -> ESearchAnswer:
            answer = read_esearch(body)
            if answer.count > retstart and retmax > 0 and not answer.ids:
                raise ProviderResponseError(
                    PROVIDER, f"PubMed found {answer.count:,} records but sent no ids. Try again."
                )
            return answer

        return await self._ask("esearch", params | {"retmode": "json"}, read)

    async def efetch(self, pmids: Sequence[str], read: Callable[[bytes], T]) -> T:
        """What `read` makes of the XML of PubMed records, in a worker thread.

        Where `read` raises a retryable ProviderError, the records are fetched again.
        """
        params = {"db": "pubmed", "retmode": "xml", "id": ",".join(pmids)}
        return await self._ask("efetch", params, read, in_body=len(pmids) > IDS_IN_AN_ADDRESS, reader=read)

    async def esummary_json(self, ids: Sequence[str], *, db: str) -> Mapping[str, Mapping[str, object]]:
        """Document summaries by id; one that `db` has no summary of is missing."""
        params = {"db": db, "retmode": "json", "id": ",".join(ids)}
        return await self._ask("esummary", params, read_esummary, in_body=len(ids) > IDS_IN_AN_ADDRESS)

    async def espell(self, term: str, *, db: str = "pubmed") -> str:
        """The spelling that NCBI suggests for `term`; "" when it has nothing to suggest."""
        return await self._ask("espell", {"db": db, "term": term}, read_espell)

    async def elink(self, pmid: str, *, linkname: str) -> list[str]:
        """PMIDs linked to `pmid` by `linkname`, e.g. "pubmed_pubmed_refs", the closest first, without `pmid`."""
        params = {"dbfrom": "pubmed", "db": "pubmed", "id": pmid, "linkname": linkname, "retmode": "json"}
        params["cmd"] = "neighbor_score" if linkname == "pubmed_pubmed" else "neighbor"
        linked = await self._ask("elink", params, lambda body: read_elink(body, linkname))
        return [one for one in linked if one != pmid]

    async def _ask(
        self,
        utility: str,
        params: Mapping[str, str],
        read: Callable[[bytes], T],
        *,
        in_body: bool = False,
        reader: Hashable = None,
    ) -> T:
        """Send a request, or wait for the same one; `reader` tells apart those whose answers are read differently."""
        sent = {name: value for name, value in {**params, **self._identity}.items() if value}
        in_body = in_body or bool(self._key) or sum(map(len, sent.values())) > CHARACTERS_IN_AN_ADDRESS
        url = f"{self._base_url}/{utility}.fcgi"

        async def attempt() -> T:
            if in_body:
                response = await self._client.send("POST", url, data=sent, headers=_HEADERS)
            else:
                response = await self._client.send("GET", url, params=sent, headers=_HEADERS)
            return await anyio.to_thread.run_sync(read, response.content, abandon_on_cancel=True)

        try:
            return await self._in_flight.ask(
                (utility, tuple(params.items()), reader), lambda: self._client.run(attempt)
            )
        except ProviderError as error:
            if self._key and self._key in error.message:
                raise _without_key(error, self._key) from None
            raise


def _without_key(error: ProviderError, key: str) -> ProviderError:
    message = hide(error.message, [key])
    return type(error)(error.provider, message, retry_after=error.retry_after, details=error.details)


_HEADERS = {"User-Agent": USER_AGENT}
