"""Requests to NCBI's E-utilities, at the pace that all of NCBI's services share, and their answers.

An HTTP 200 can be an error, which must not look like an empty result: every `read_` function raises a ProviderError if
the body is not an answer.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar, Unpack, cast
from xml.parsers.expat import ExpatError

import httpx
import xmltodict
from pydantic import AfterValidator, AliasPath, BaseModel, BeforeValidator, Field, SecretStr, ValidationError

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
)
from deepcritical_mcp.logs import hide
from deepcritical_mcp.net.client import (
    ApiClient,
    ApiOfService,
    Explain,
    JsonApi,
    Net,
    Params,
    RequestOptions,
    is_web_page,
    paced_client,
)
from deepcritical_mcp.net.fields import field_at, list_of, mapping_of, number_of, rows_of, text_of, texts_of
from deepcritical_mcp.sources.settings import PubMedSettings
from deepcritical_mcp.text import clean_line, limited

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
        self, term: str, *, db: str = "pubmed", retstart: int = 0, retmax: int = 20, **more: str
    ) -> ESearchAnswer:
        """Search `db`, best match first; `more` are other parameters of esearch, such as "sort" and "mindate"."""
        params = {"db": db, "term": term, "retstart": str(retstart), "retmax": str(retmax), "sort": "relevance", **more}
        read = partial(read_esearch, first=retstart if retmax else math.inf)
        return await self._ask("esearch.fcgi", params | {"retmode": "json"}, read)

    async def efetch(self, pmids: Sequence[str], read: Callable[[bytes], T]) -> T:
        """The XML of PubMed records, parsed by `read` in a worker thread.

        If `read` raises a retryable ProviderError, the records are fetched again.
        """
        params = {"db": "pubmed", "retmode": "xml", "id": ",".join(pmids)}
        return await self._ask("efetch.fcgi", params, read, kind=read, step="next")

    async def efetch_pmc(self, pmcids: Sequence[str], read: Callable[[bytes], T]) -> T:
        """The JATS of articles in PMC ("PMC3040717"), parsed like that of `efetch`."""
        params = {"db": "pmc", "retmode": "xml", "id": ",".join(one.removeprefix("PMC") for one in pmcids)}
        return await self._ask("efetch.fcgi", params, read, kind=read, in_body=True)

    async def esummary_json(self, ids: Sequence[str], *, db: str) -> Mapping[str, Mapping[str, object]]:
        """Document summaries by id; ids without a summary are missing."""
        return await self._ask("esummary.fcgi", {"db": db, "retmode": "json", "id": ",".join(ids)}, read_esummary)

    async def espell(self, term: str) -> str:
        """The spelling that NCBI suggests for `term`; "" if it has no suggestion."""
        return await self._ask("espell.fcgi", {"db": "pubmed", "term": term}, read_espell)

    async def elinks(self, pmids: Sequence[str], *, linkname: str) -> dict[str, list[str]]:
        """PMIDs linked to each of up to `MAX_IDS` papers by `linkname`, e.g. "pubmed_pubmed_refs", the closest first,
        without the paper itself; missing are papers for which PubMed does not say that the links are theirs alone."""
        params: Params = {"dbfrom": "pubmed", "db": "pubmed", "id": tuple(pmids), "linkname": linkname}
        params |= {"retmode": "json", "cmd": "neighbor_score" if linkname == "pubmed_pubmed" else "neighbor"}
        read = partial(read_elinks, pmids=pmids, linkname=linkname)
        found = await self._ask("elink.fcgi", params, read, in_body=len(pmids) > 1)
        return {pmid: [one for one in linked if one != pmid] for pmid, linked in found.items()}

    async def ecitmatch(self, citations: Sequence[str]) -> list[str]:
        """What PubMed has for each of `citations` ("journal|year|volume|first page|author"): a PMID; "" where it has
        nothing, or more than one article."""
        rows = "\r".join(f"{one}|{key}|" for key, one in enumerate(citations, start=1))
        params = {"db": "pubmed", "retmode": "xml", "bdata": rows}
        return await self._ask("ecitmatch.cgi", params, lambda body: read_ecitmatch(body, len(citations)))

    async def _ask(
        self, utility: str, params: Params, read: Callable[[bytes], T], **options: Unpack[RequestOptions]
    ) -> T:
        """Send a request, or wait for the same one."""
        is_long = sum(map(len, (*params.values(), *self._identity.values()))) > MAX_QUERY_STRING
        options["in_body"] = options.get("in_body", False) or self.has_key or is_long
        try:
            return await self._api.get(utility, params, lambda answer: read(answer.content), **options)
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
    ours = settings.of(PubMedSettings)
    key = ours.ncbi_api_key.get_secret_value()
    spacing = SPACING_WITH_KEY if key else SPACING_WITHOUT_KEY
    address = ours.ncbi_base_url
    api = ApiOfService(provider, title, lambda _: address, spacing, explain, keyless)
    return paced_client(settings, net, api, steps=steps, shared_pace="ncbi", key=key)


def eutilities(settings: Settings, client: ApiClient) -> EUtilities:
    """E-utilities through `client`, with the key and the email address of the settings."""
    ours = settings.of(PubMedSettings)
    return EUtilities(client, base_url=ours.ncbi_base_url, email=settings.ncbi_email.strip(), api_key=ours.ncbi_api_key)


PROVIDER = "pubmed"
MAX_SPELLING = 100_000
"""Bytes of an answer of espell, which repeats the query."""
MAX_QUOTE_LENGTH = 200
MAX_MESSAGE = 4_000
MAX_TEXT = 20_000
MAX_LISTED = 10_000
"""PubMed gives no more ids of a search."""

# NCBI's errors that are caused by the request. All others have proved to be temporary, even "Database is not supported:
# pubmed".
_REQUEST_ERRORS = re.compile(
    r"invalid|empty term|empty id|list is empty|mandatory|is omitted|retstart|retrieve dbinfo", re.IGNORECASE
)
_XML_ERROR = re.compile(rb"<ERROR>(.*?)(?:</ERROR>|$)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")


def _result(*path: str) -> Any:
    return Field(validation_alias=AliasPath("esearchresult", *path))


BoundedLine = Annotated[str, AfterValidator(lambda text: clean_line(limited(text, MAX_TEXT)))]
First = BeforeValidator(lambda value: cast("list[object]", value)[:MAX_LISTED] if isinstance(value, list) else value)
BoundedLines = Annotated[tuple[BoundedLine, ...], First]
Number = Annotated[str, Field(pattern=r"^\d+$")]
Numbers = Annotated[tuple[Number, ...], First, AfterValidator(lambda ids: tuple(dict.fromkeys(ids)))]


class NoPossibleIdError(ProviderRequestError):
    """efetch was asked for ids that cannot exist."""


class ESearchAnswer(BaseModel, frozen=True):
    """What esearch found, and how it interpreted the query.

    Attributes:
        count: results in all, of which `ids` is one page.
        query_translation: the query as it was run.
        phrases_not_found: phrases that were dropped because no record contains them.
        fields_not_found: field tags that do not exist and were dropped.
        phrases_ignored: words that are never searched for.
        quoted_phrases_not_found: quoted phrases that are not in the phrase index; their words were searched for.
        messages: further remarks, e.g. "No items found.".
    """

    count: Annotated[int, Field(ge=0), _result("count")]
    ids: Annotated[Numbers, _result("idlist")] = ()
    query_translation: Annotated[BoundedLine, _result("querytranslation")] = ""
    phrases_not_found: Annotated[BoundedLines, _result("errorlist", "phrasesnotfound")] = ()
    fields_not_found: Annotated[BoundedLines, _result("errorlist", "fieldsnotfound")] = ()
    phrases_ignored: Annotated[BoundedLines, _result("warninglist", "phrasesignored")] = ()
    quoted_phrases_not_found: Annotated[BoundedLines, _result("warninglist", "quotedphrasesnotfound")] = ()
    messages: Annotated[BoundedLines, _result("warninglist", "outputmessages")] = ()


def read_esearch(body: bytes, first: float = math.inf) -> ESearchAnswer:
    """The answer of `esearch` with retmode=json, whose ids begin with the one after number `first`, if there is one."""
    try:
        answer = ESearchAnswer.model_validate(_document(body))
    except ValidationError as error:
        raise unreadable(f"{error.error_count()} fields are not as documented") from None
    if answer.count > first and not answer.ids:
        raise ProviderResponseError(PROVIDER, f"PubMed found {answer.count:,} records but sent no ids. Try again.")
    return answer


def read_esummary(body: bytes) -> dict[str, Mapping[str, object]]:
    """The documents of `esummary` with retmode=json by id; ids without a summary are missing."""
    document = _document(body)
    if not isinstance(document.get("result"), dict):
        raise unreadable("it has no result")
    result = mapping_of(document["result"])
    return {uid: found for uid, one in result.items() if (found := mapping_of(one)) and "error" not in found}


def read_elinks(body: bytes, pmids: Sequence[str], linkname: str) -> dict[str, list[str]]:
    """The ids that `elink` with retmode=json lists under `linkname`, by score if there are scores, for each of `pmids`
    that has a list of its own."""
    sets = _link_sets(body)
    if len(pmids) == 1:
        return {pmids[0]: _linked(sets, linkname)}
    named = [(texts_of(one.get("ids")), one) for one in sets]
    return {ids[0]: _linked([one], linkname) for ids, one in named if len(ids) == 1}


def _link_sets(body: bytes) -> list[Mapping[str, object]]:
    document = _document(body)
    if not isinstance(document.get("linksets"), list):
        raise unreadable("it has no link sets")
    return rows_of(document["linksets"])


def _linked(sets: Sequence[Mapping[str, object]], linkname: str) -> list[str]:
    lists = [one for linkset in sets for one in rows_of(linkset.get("linksetdbs"))]
    links = [link for one in lists if one.get("linkname") == linkname for link in list_of(one.get("links"))]
    scores = [(text_of(field_at(link, "id") or link), number_of(field_at(link, "score")) or 0.0) for link in links]
    return list(dict.fromkeys(id for id, _ in sorted(scores, key=lambda one: -one[1]) if id.isdigit()))


def read_espell(body: bytes) -> str:
    """The corrected query of `espell`, "" if there is nothing to correct."""
    refuse_xml_errors(body)
    if len(body) > MAX_SPELLING:
        raise unreadable("far longer than a spelling")
    try:
        spelling: str | None = xmltodict.parse(body)["eSpellResult"]["CorrectedQuery"]
    except (ValueError, ExpatError, KeyError, TypeError) as error:  # ValueError: it declares entities
        raise unreadable("invalid XML, or without a spelling") from error
    return clean_line(spelling or "")


def read_ecitmatch(body: bytes, count: int) -> list[str]:
    """The PMID of each of `count` citations with the keys "1", "2", … in the answer of `ecitmatch`, which repeats each
    and adds a PMID, or why there is none; "" without one."""
    refuse_xml_errors(body)
    rows = [row.rsplit("|", 2) for row in re.split(r"[\r\n]+", body.decode("utf-8", "replace"))]
    answers = {row[1].strip(): row[2].strip() for row in rows if len(row) == 3}
    found = [answers.get(str(key), "") for key in range(1, count + 1)]
    if any(not (one.isdigit() or one.startswith(("NOT_FOUND", "AMBIGUOUS"))) for one in found):
        raise unreadable("it is not a list of PMIDs, or not complete")
    return [one if one.isdigit() else "" for one in found]


def refuse_other_data(body: bytes) -> None:
    """Raise a ProviderError if `body` cannot be data: it is empty, or a web page."""
    if not body.strip():
        raise unreadable("it is empty")
    if is_web_page(body):
        reason = "a web page instead of data, so it is probably under maintenance"
        raise ProviderUnavailableError(PROVIDER, f"PubMed answered with {reason}. Try again in a few minutes.")


def refuse_xml_errors(body: bytes) -> None:
    """Raise a ProviderError if `body` is empty, a web page, or contains <ERROR>.

    Only for an answer without records: a record's text could contain <ERROR>.
    """
    refuse_other_data(body)
    found = _XML_ERROR.search(body)
    if found and found[1].strip():
        raise _error_of(found[1].decode("utf-8", "replace"))


def explain_refusal(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status of NCBI, if its body says more than the status.

    efetch responds with 400 both for a backend outage, which is temporary, and for impossible ids.
    """
    if response.status_code in (401, 403):
        advice = "Check NCBI_API_KEY, or unset it; without a key, NCBI has blocked this network for a while."
        return AuthenticationError(PROVIDER, f"NCBI refused access (HTTP {response.status_code}). {advice}")
    if response.status_code != 400:
        return None
    message = response.content[:MAX_MESSAGE].decode("utf-8", "replace").lower()
    if "proxy_stream()" in message:  # the component of efetch that reports outages of its backend as HTTP 400
        return ProviderUnavailableError(PROVIDER, "PubMed's own backend is down (HTTP 400). Try again in a minute.")
    if "id list is empty" in message:
        return NoPossibleIdError(PROVIDER, "PubMed has no such record. Check the PMID.")
    if "api key invalid" in message or "api-key" in message:
        return _wrong_key()
    told = "PubMed refused the request (HTTP 400). Check the query's syntax, or make it shorter."
    return ProviderRequestError(PROVIDER, told)


def unreadable(reason: str) -> ProviderResponseError:
    """An answer that is cut off or malformed."""
    return ProviderResponseError(PROVIDER, f"PubMed's response cannot be read: {reason}. Try again in a minute.")


def _error_of(message: str) -> ProviderError:
    """The error behind NCBI's message, which is quoted without markup."""
    said = clean_line(_TAG.sub(" ", html.unescape(message[:MAX_MESSAGE]))).strip(" .:")
    quote = said[:MAX_QUOTE_LENGTH] or "no reason given"
    if "api key" in quote.lower():
        return _wrong_key()
    if _REQUEST_ERRORS.search(quote):
        return ProviderRequestError(PROVIDER, f'PubMed refused the request: "{quote}". Change the query or the ids.')
    return ProviderUnavailableError(PROVIDER, f'PubMed reports an error: "{quote}". Try again in a minute.')


def _wrong_key() -> AuthenticationError:
    return AuthenticationError(PROVIDER, "NCBI does not recognize this API key. Correct or unset NCBI_API_KEY.")


def _document(body: bytes) -> Mapping[str, object]:
    """The JSON object in an answer that tells of no error."""
    refuse_other_data(body)
    try:
        document: object = json.loads(body, strict=False)
    except (ValueError, RecursionError) as error:
        if found := _XML_ERROR.search(body):
            raise _error_of(found[1].decode("utf-8", "replace")) from error
        raise unreadable("broken JSON") from error
    if not (found := mapping_of(document)):
        raise unreadable("it is not a JSON object")
    # At the top level, in the result, or in a link set.
    results = (mapping_of(found.get(name)) for name in ("esearchresult", "result"))
    for part in (found, *results, *rows_of(found.get("linksets"))):
        for message in (value for name, value in part.items() if value and name.lower() in ("error", "esummaryresult")):
            raise _error_of(str(message))
    return found
