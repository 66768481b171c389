"""What the answers of NCBI's E-utilities mean. An HTTP 200 can be an error; none is read as an empty result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar, cast
from xml.parsers.expat import ExpatError

import httpx
import xmltodict
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
)
from deepcritical_mcp.text import clean_line

PROVIDER = "pubmed"
LONGEST_QUOTE = 200

# What NCBI says when the request is at fault. Everything else it calls an error has been seen to be temporary, even
# "Database is not supported: pubmed".
_OUR_FAULT = re.compile(
    r"invalid|empty term|empty id|list is empty|mandatory|is omitted|retstart|retrieve dbinfo", re.IGNORECASE
)
_XML_ERROR = re.compile(rb"<ERROR>(.*?)(?:</ERROR>|$)", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<[^>]*>|&lt;.*?&gt;", re.DOTALL)
_WEB_PAGE = re.compile(rb"\s*<(?:.*<)?(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_BACKEND = "proxy_stream()"  # the part of efetch that relays its own backend's outages as HTTP 400
_NO_POSSIBLE_ID = "id list is empty"

Text = Annotated[str, BeforeValidator(lambda value: clean_line(value) if isinstance(value, str) else value)]
Texts = list[Text]
M = TypeVar("M", bound=BaseModel)


class NoPossibleIdError(ProviderRequestError):
    """efetch was asked for ids that cannot exist."""


@dataclass(frozen=True)
class ESearchAnswer:
    """What esearch found, and what it made of the query.

    Attributes:
        count: results in all, of which `ids` is one page.
        query_translation: the query as it was run.
        translations: (words as given, what Automatic Term Mapping made of them).
        phrases_not_found: phrases that were dropped because nothing has them.
        fields_not_found: field tags that do not exist and were dropped.
        phrases_ignored: words that are never searched for.
        quoted_phrases_not_found: quoted phrases that are not in the phrase index; their words were searched for.
        messages: further remarks, e.g. "No items found.".
    """

    count: int
    ids: tuple[str, ...]
    query_translation: str = ""
    translations: tuple[tuple[str, str], ...] = ()
    phrases_not_found: tuple[str, ...] = ()
    fields_not_found: tuple[str, ...] = ()
    phrases_ignored: tuple[str, ...] = ()
    quoted_phrases_not_found: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


class _Translation(BaseModel):
    source: Text = Field(default="", alias="from")
    target: Text = Field(default="", alias="to")


class _ErrorList(BaseModel):
    phrasesnotfound: Texts = []
    fieldsnotfound: Texts = []


class _WarningList(BaseModel):
    phrasesignored: Texts = []
    quotedphrasesnotfound: Texts = []
    outputmessages: Texts = []


class _Found(BaseModel):
    count: Annotated[int, Field(ge=0)]
    idlist: list[Annotated[str, Field(pattern=r"^\d+$")]]
    querytranslation: Text = ""
    translationset: list[_Translation] = []
    errorlist: _ErrorList = _ErrorList()
    warninglist: _WarningList = _WarningList()


class _ESearch(BaseModel):
    esearchresult: _Found


class _ESummary(BaseModel):
    result: dict[str, object]


class _Spelling(BaseModel):
    CorrectedQuery: Text | None = None


class _ESpell(BaseModel):
    eSpellResult: _Spelling


class _Link(BaseModel):
    id: Annotated[str, BeforeValidator(str), Field(pattern=r"^\d+$")]
    score: int = 0


def _link(value: object) -> object:
    return {"id": value} if isinstance(value, str | int) else value


class _LinkSetDb(BaseModel):
    linkname: str = ""
    links: list[Annotated[_Link, BeforeValidator(_link)]] = []


class _LinkSet(BaseModel):
    linksetdbs: list[_LinkSetDb] = []


class _ELink(BaseModel):
    linksets: list[_LinkSet]


def read_esearch(body: bytes) -> ESearchAnswer:
    """The answer of `esearch` with retmode=json.

    Raises:
        ProviderError: `body` holds no answer.
    """
    found = _validated(_ESearch, body).esearchresult
    return ESearchAnswer(
        count=found.count,
        ids=tuple(dict.fromkeys(found.idlist)),
        query_translation=found.querytranslation,
        translations=tuple((one.source, one.target) for one in found.translationset),
        phrases_not_found=tuple(found.errorlist.phrasesnotfound),
        fields_not_found=tuple(found.errorlist.fieldsnotfound),
        phrases_ignored=tuple(found.warninglist.phrasesignored),
        quoted_phrases_not_found=tuple(found.warninglist.quotedphrasesnotfound),
        messages=tuple(found.warninglist.outputmessages),
    )


def read_esummary(body: bytes) -> dict[str, dict[str, object]]:
    """The documents of `esummary` with retmode=json by id; one that NCBI has no summary of is missing.

    Raises:
        ProviderError: `body` holds no answer.
    """
    result = _validated(_ESummary, body).result
    documents = {uid: cast("dict[str, object]", one) for uid, one in result.items() if isinstance(one, dict)}
    return {uid: one for uid, one in documents.items() if "error" not in one}


def read_elink(body: bytes, linkname: str) -> list[str]:
    """The ids that `elink` with retmode=json lists under `linkname`, by score where there are scores.

    Raises:
        ProviderError: `body` holds no answer.
    """
    sets = [one for linkset in _validated(_ELink, body).linksets for one in linkset.linksetdbs]
    links = [link for one in sets if one.linkname == linkname for link in one.links]
    return list(dict.fromkeys(link.id for link in sorted(links, key=lambda link: -link.score)))


def read_espell(body: bytes) -> str:
    """The corrected query of `espell`, "" when there is nothing to correct.

    Raises:
        ProviderError: `body` holds no answer.
    """
    refuse_xml_errors(body)
    try:
        answer = _ESpell.model_validate(xmltodict.parse(body))
    except (ValueError, ExpatError) as error:  # ValueError: another shape, or it declares entities
        raise unreadable("invalid XML") from error
    return answer.eSpellResult.CorrectedQuery or ""


def refuse_other_data(body: bytes) -> None:
    """Let through whatever may be data.

    Raises:
        ProviderError: it is empty, or a web page.
    """
    if not body.strip():
        raise unreadable("it is empty")
    if _WEB_PAGE.match(body[:2_000]):
        raise ProviderUnavailableError(
            PROVIDER,
            "PubMed answered with a web page instead of data, so it is probably under maintenance. "
            "Try again in a few minutes.",
        )


def refuse_xml_errors(body: bytes) -> None:
    """Let through whatever may be XML data. Only for an answer without records: a record's text could say anything.

    Raises:
        ProviderError: it is empty, a web page, or says <ERROR>.
    """
    refuse_other_data(body)
    found = _XML_ERROR.search(body)
    if found and found[1].strip():
        raise error_of(found[1].decode("utf-8", "replace"))


def explain_refusal(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status of NCBI, where its body tells more than the status.

    efetch answers 400 both for a backend that is down, which is temporary, and for impossible ids.
    """
    if response.status_code in (401, 403):
        return AuthenticationError(
            PROVIDER,
            f"NCBI refused access (HTTP {response.status_code}). Check NCBI_API_KEY, or unset it; without a key, NCBI "
            "has blocked this network for a while.",
        )
    if response.status_code != 400:
        return None
    said = response.content[:4_000].decode("utf-8", "replace").lower()
    if _BACKEND in said:
        return ProviderUnavailableError(PROVIDER, "PubMed's own backend is down (HTTP 400). Try again in a minute.")
    if _NO_POSSIBLE_ID in said:
        return NoPossibleIdError(PROVIDER, "PubMed has no such record. Check the PMID.")
    if "api key invalid" in said or "api-key" in said:
        return _wrong_key()
    return ProviderRequestError(
        PROVIDER, "PubMed refused the request (HTTP 400). Check the query's syntax, or make it shorter."
    )


def unreadable(reason: str) -> ProviderResponseError:
    """An answer that is cut off or malformed."""
    return ProviderResponseError(PROVIDER, f"PubMed's answer cannot be read: {reason}. Try again in a minute.")


def error_of(said: str) -> ProviderError:
    """The error that NCBI's own words mean; they are quoted, without markup."""
    words = clean_line(_MARKUP.sub(" ", said)).strip(" .:")[:LONGEST_QUOTE] or "no reason given"
    if "api key" in words.lower():
        return _wrong_key()
    if _OUR_FAULT.search(words):
        return ProviderRequestError(PROVIDER, f'PubMed refused the request: "{words}". Change the query or the ids.')
    return ProviderUnavailableError(PROVIDER, f'PubMed reports an error: "{words}". Try again in a minute.')


def _wrong_key() -> AuthenticationError:
    return AuthenticationError(PROVIDER, "NCBI does not know this API key. Correct or unset NCBI_API_KEY.")


def _validated(model: type[M], body: bytes) -> M:
    refuse_other_data(body)
    try:
        document = json.loads(body, strict=False)
    except (ValueError, RecursionError) as error:
        if found := _XML_ERROR.search(body):
            raise error_of(found[1].decode("utf-8", "replace")) from error
        raise unreadable("broken JSON") from error
    for said in _errors_in(document):
        raise error_of(said)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise unreadable(f"{error.error_count()} fields differ from its documented form") from None


def _errors_in(document: object) -> Iterator[str]:
    """NCBI's error texts in an answer: at its top, in its result, or in a set of links."""
    if not isinstance(document, Mapping):
        return
    for name, part in cast("Mapping[str, object]", document).items():
        if part and name.lower() in ("error", "esummaryresult"):
            yield str(part)
        elif name in ("esearchresult", "result"):
            yield from _errors_in(part)
        elif name == "linksets" and isinstance(part, list):
            for one in cast("list[object]", part):
                yield from _errors_in(one)
