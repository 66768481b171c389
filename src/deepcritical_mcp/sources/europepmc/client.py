"""Requests to Europe PMC's REST service, and the records of its search (resultType=core; lite has fewer fields)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import httpx

from deepcritical_mcp.dates import current_date, iso_date, readings
from deepcritical_mcp.errors import (
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
)
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    PREPRINT,
    UNKNOWN_DATE,
    Publication,
    RecordLink,
    split_names,
    status_from_links,
)
from deepcritical_mcp.net.client import ApiOfService, JsonService, is_web_page
from deepcritical_mcp.net.fields import (
    authors_at,
    field_at,
    field_table,
    fields_at,
    first_records,
    json_answer,
    json_texts,
    mapping_of,
    number_of,
    plain_abstract,
    rows_of,
    text_at,
    texts_of,
)
from deepcritical_mcp.sources.lookup import PaperNames
from deepcritical_mcp.sources.settings import EuropePMCSettings
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import is_web_address

PROVIDER, TITLE = "europepmc", "Europe PMC"
SPACING = 0.21
"""Seconds between two starts: EBI publishes no limit; 5 requests a second have proved safe."""
MAX_PAGE = 1_000
"""Results that one request may ask for."""
T = TypeVar("T")
ReadRow = Callable[[Mapping[str, object]], T | None]
_MAX_QUOTE = 200
MAX_QUERY_STRING = 1_500
"""Characters; a longer query is sent in the body, since some servers on the way refuse long addresses."""
_ERROR_BEAN = re.compile(rb"<errorBean>.{0,200}?<errCode>(-?[0-9]{1,5})</errCode>.{0,200}?<errMsg>([^<>]*)", re.DOTALL)
_NOT_OPEN = re.compile(r"not open access", re.IGNORECASE)


class NoOpenTextError(ProviderRequestError):
    """Europe PMC has no full text under this id that it may pass on; the id may be unknown, too."""


@dataclass(frozen=True)
class EuropePMCPage(Generic[T]):
    """A page of results; `next_cursor` is "" on the last one. `skipped` rows have no id."""

    records: tuple[T, ...]
    total: int
    next_cursor: str = ""
    skipped: int = 0


def explain_status(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status, if it is a full text that is not there: 404 without a web page."""
    if response.status_code != 404 or not response.request.url.path.endswith("/fullTextXML"):
        return None
    if is_web_page(response.content):
        return ProviderUnavailableError(PROVIDER, f"{TITLE} answered with a web page (HTTP 404). Try again later.")
    return NoOpenTextError(PROVIDER, f"{TITLE} has no open full text under this id.")


class EuropePMCService(JsonService):
    """Europe PMC's search and full texts. Raises only ProviderErrors; its errors may come with HTTP 200."""

    name, title = PROVIDER, TITLE
    api = ApiOfService(
        PROVIDER, TITLE, lambda settings: settings.of(EuropePMCSettings).europepmc_base_url, SPACING, explain_status
    )

    async def search(
        self, query: str, read_row: ReadRow[T], *, page_size: int = 25, cursor: str = "*", result_type: str = "core"
    ) -> EuropePMCPage[T]:
        """A page of what `query` finds, in Europe PMC's query language: what `read_row`, e.g. `read_record`, makes of
        each row; None is not a record."""
        sent = {"query": query, "resultType": result_type, "pageSize": str(page_size), "cursorMark": cursor}
        sent["format"] = "json"
        read = partial(_page, read_row=read_row, cursor=cursor)
        is_long = len(query) > MAX_QUERY_STRING
        return await self._api.get("searchPOST" if is_long else "search", sent, read, kind=read_row, in_body=is_long)

    async def linked(self, pmid: str, what: str, read_row: ReadRow[T]) -> EuropePMCPage[T]:
        """The "citations" of a paper, which are documents that cite it, or its "references"; at most 1,000."""
        sent = {"page": "1", "pageSize": str(MAX_PAGE), "format": "json"}
        place = f"{what.removesuffix('s')}List.{what.removesuffix('s')}"
        read = partial(_page, read_row=read_row, place=place)
        return await self._api.get(f"MED/{pmid}/{what}", sent, read, kind=read_row)

    async def full_text(self, id: str) -> bytes:
        """The JATS of "PMC3040717" or "PPR1036674".

        Raises:
            NoOpenTextError: there is none that may be passed on.
        """

        def checked(response: httpx.Response) -> bytes:
            body = response.content
            if found := _ERROR_BEAN.search(body[:2_000]):
                raise _error_of(int(found[1]), found[2].decode("utf-8", "replace"))
            if not body.rstrip().endswith(b"</article>"):
                told = f"{TITLE} sent a full text that is cut off, or something else. Try again in a minute."
                raise ProviderResponseError(PROVIDER, told)
            return body

        return await self._api.get(f"{id}/fullTextXML", {}, checked)


def _page(
    response: httpx.Response, read_row: ReadRow[T], *, place: str = "resultList.result", cursor: str = ""
) -> EuropePMCPage[T]:
    payload = json_answer(PROVIDER, TITLE, response)
    if "errCode" in payload:
        raise _error_of(int(number_of(payload["errCode"]) or 0), text_at(payload, "errMsg"))
    total, listed = number_of(payload.get("hitCount")), field_at(payload, *place.split("."))
    if total is None or listed is None:
        raise ProviderResponseError(PROVIDER, f"{TITLE} sent JSON without a {place.partition('.')[0]}.")
    rows = first_records(listed)
    records = tuple(record for record in map(read_row, rows) if record is not None)
    if rows and not records:
        raise ProviderResponseError(PROVIDER, f"{TITLE} sent records without ids.")
    following = text_at(payload, "nextCursorMark")
    has_more = bool(records) and following != cursor
    return EuropePMCPage(records, int(total), following if has_more else "", len(rows) - len(records))


def names_of(row: Mapping[str, object]) -> PaperNames:
    """What a document is called in a row of a list or of results; nothing if Europe PMC only has its title."""
    source, number = text_at(row, "source"), text_at(row, "id")
    pmid = normalize_pmid(number if source == "MED" else text_at(row, "pmid"))
    doi = normalize_doi(text_at(row, "doi"))
    pmcid = normalize_pmcid(number) if source == "PMC" else ""
    named = (f"pmid:{pmid}" if pmid else "", f"doi:{doi}" if BARE_DOI.fullmatch(doi) else "")
    own = (f"pmcid:{pmcid}" if pmcid else "", f"ppr:{number}" if source == PREPRINTS and number else "")
    return frozenset(filter(None, (*named, *own)))


def _error_of(code: int, message: str) -> ProviderError:
    """The error in a body: Europe PMC sends it with HTTP 200."""
    quote = clean_line(message)[:_MAX_QUOTE].strip(" .") or "no reason given"
    if _NOT_OPEN.search(message):
        return NoOpenTextError(PROVIDER, f'{TITLE} says: "{quote}".')
    if 400 <= code < 500:
        return ProviderRequestError(PROVIDER, f'{TITLE} refused the request: "{quote}".')
    return ProviderUnavailableError(PROVIDER, f'{TITLE} reports an error: "{quote}". Try again in a minute.')


PREPRINTS = "PPR"
"""The source code of preprints."""
_WITH_STATUS = ("MED", "PMC", PREPRINTS)
"""Source codes of records that have links to retractions and the like; patents and theses have none."""
_FIELDS, _AUTHOR = field_table(__file__, "fields.txt"), field_table(__file__, "author_fields.txt")
_FREE = ("OA", "F")
"""Codes of full texts that anybody may read: open access, and free."""


@dataclass(frozen=True)
class EuropePMCRecord:
    """A record, and where its text is.

    Attributes:
        source: who the record is from: "MED" (PubMed), "PMC", "PPR" (preprints); others are patents, theses and so on.
        id: Europe PMC's own, e.g. "PPR1036674".
        is_open: whether it is open access.
        full_text_id: under which Europe PMC has the full text; "" if it has none.
        free_copies: addresses of copies that anybody may read, PDFs first.
    """

    publication: Publication
    source: str
    id: str
    is_open: bool = False
    full_text_id: str = ""
    free_copies: tuple[str, ...] = ()


def articles_first(record: EuropePMCRecord) -> tuple[bool, bool]:
    """Sorts articles before preprints, and records of PubMed and PMC before others."""
    return record.source == PREPRINTS, record.source not in ("MED", "PMC")


def europe_pmc_page(source: str, number: str) -> str:
    """The address of a record's page in Europe PMC."""
    return f"https://europepmc.org/{'articles' if source == 'PMC' else f'article/{source}'}/{number}"


def identifier_terms(ids: RecordIds) -> Iterator[str]:
    """A term of Europe PMC's query language for each identifier that it knows."""
    doi = normalize_doi(ids.doi).replace('"', "").replace("\\", "")
    if ids.pmid:
        yield f"(EXT_ID:{ids.pmid} AND SRC:MED)"
    if ids.pmcid:
        yield f"PMCID:{ids.pmcid}"
    if doi:
        yield f'DOI:"{doi}"'
    if ids.preprint_number:
        yield f"(EXT_ID:{ids.preprint_number} AND SRC:{PREPRINTS})"


def read_record(row: Mapping[str, object]) -> EuropePMCRecord | None:
    """The record in a row of results; None if it has no id."""
    source, number = text_at(row, "source"), text_at(row, "id")
    if not source or not number:
        return None
    ids = texts_of(field_at(row, "fullTextIdList", "fullTextId"))
    has_text = text_at(row, "inEPMC") == "Y" or bool(ids)
    # Addresses in the order in which they are worth reading; Europe PMC's own first, as a script may read those.
    rows = rows_of(field_at(row, "fullTextUrlList", "fullTextUrl"))
    free = [one for one in rows if one.get("availabilityCode") in _FREE and is_web_address(text_at(one, "url"))]
    free.sort(key=lambda one: (one.get("documentStyle") != "pdf", one.get("availabilityCode") != "OA"))
    text_id = (ids[0] if ids else normalize_pmcid(text_at(row, "pmcid"))) if has_text else ""
    copies, is_open = tuple(dict.fromkeys(text_at(one, "url") for one in free)), text_at(row, "isOpenAccess") == "Y"
    return EuropePMCRecord(_publication(row, source, number), source, number, is_open, text_id, copies)


def _publication(row: Mapping[str, object], source: str, number: str) -> Publication:
    is_preprint = source == PREPRINTS
    fields = fields_at(row, _FIELDS, json_texts)
    if source == "MED":
        fields["pmid"] = fields["pmid"] or normalize_pmid(number)
    if fields["medline_abbreviation"] == fields["journal_abbreviation"]:
        fields["medline_abbreviation"] = ""
    names = texts_of(field_at(row, "pubTypeList", "pubType")) or text_at(row, "pubType").split(";")
    told = (PREPRINT if name.strip().lower() == "preprint" else name.strip() for name in names if name.strip())
    types = tuple(dict.fromkeys((*[PREPRINT][:is_preprint], *told)))
    status, notices = status_from_links(_links(row), types, str(fields["journal_abbreviation"]))
    given = rows_of(field_at(row, "authorList", "author"))
    people = [one if text_at(one, "lastName") else {"collectiveName": text_at(one, "fullName"), **one} for one in given]
    authors = authors_at(people, _AUTHOR, json_texts)
    given = rows_of(field_at(row, "grantsList", "grant"))
    grants = (", ".join(filter(None, (text_at(one, "grantId"), text_at(one, "agency")))) for one in given)
    address = f"https://doi.org/{fields['doi']}" if fields["doi"] else europe_pmc_page(source, number)
    if fields["pmid"]:
        address = f"https://pubmed.ncbi.nlm.nih.gov/{fields['pmid']}/"
    more = {
        "title": fields["title"] or NO_TITLE,
        "url": address,
        "date": _date(row, is_preprint=is_preprint),
        "authors": authors or tuple(split_names(text_at(row, "authorString").strip().rstrip("."))),
        "version": fields["version"] if is_preprint else "",
        "preprint_number": number if is_preprint else "",
        "publication_types": types,
        "grants": tuple(dict.fromkeys(filter(None, grants))),
        "status": status,
        "status_notices": notices,
        "status_checked": current_date().isoformat() if source in _WITH_STATUS else "",
    }
    kind = "preprint" if is_preprint else "pubmed" if source in ("MED", "PMC") else "web"
    abstract = plain_abstract(text_at(row, "abstractText")) or NO_ABSTRACT
    return Publication.of("abstract", abstract, provider=PROVIDER, source=kind, **(fields | more))


def _links(row: Mapping[str, object]) -> Iterator[RecordLink]:
    """Links to other records. A preprint is known only by Europe PMC's number, e.g. "PPR179288"; it is not the article
    that another preprint became, and neither is what has no name."""
    for link in rows_of(field_at(row, "commentCorrectionList", "commentCorrection")):
        number, source = text_at(link, "id"), text_at(link, "source")
        kind, reference = text_at(link, "type"), text_at(link, "reference")
        if kind.lower() == "preprint of" and (source == PREPRINTS or not (number or reference)):
            continue
        if not reference and source == PREPRINTS:
            by_title = " (matched by title and first author)" if "match" in text_at(link, "note") else ""
            reference = f"Preprint {number} in Europe PMC{by_title}"
        pmid = normalize_pmid(number) if source == "MED" else ""
        yield RecordLink(kind, reference if reference or pmid or not number else f"{number} in Europe PMC", pmid)


def _date(row: Mapping[str, object], *, is_preprint: bool) -> str:
    """That of the issue; of a preprint, when it was posted."""
    posted = iso_date(text_at(row, "firstPublicationDate")) or UNKNOWN_DATE
    if is_preprint and posted != UNKNOWN_DATE:
        return posted
    issue = mapping_of(row.get("journalInfo"))
    year = iso_date(text_at(issue, "yearOfPublication") or text_at(row, "pubYear")) or UNKNOWN_DATE
    if written := text_at(issue, "dateOfPublication"):
        # The words may be a season or a range: then only the year is sure.
        return next(iter(readings(written)), year)
    return posted if year in (posted[:4], UNKNOWN_DATE) else year
