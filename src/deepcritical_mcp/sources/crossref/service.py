"""Crossref: records of works by DOI, works that a reference may mean, and a second witness of retractions."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Self, TypeVar, cast
from urllib.parse import quote

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.dates import current_date, date_of_parts
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi, normalize_trial
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    PREPRINT,
    UNKNOWN_DATE,
    NoticeKind,
    Publication,
    StatusNotice,
    status_told_by,
)
from deepcritical_mcp.net.client import ApiOfService, JsonApi, Net, is_web_page, paced_client
from deepcritical_mcp.net.fields import (
    authors_at,
    field_at,
    field_table,
    fields_at,
    first_records,
    json_answer,
    json_if_any,
    json_texts,
    list_of,
    mapping_of,
    number_of,
    plain_abstract,
    plain_line,
    rows_of,
    text_at,
    text_of,
    texts_of,
)
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.lookup import (
    CitedPlace,
    Direction,
    Linked,
    LinkLookup,
    PaperNames,
    RecordLookup,
    ReferenceLookup,
    StatusLookup,
)
from deepcritical_mcp.sources.settings import CrossrefSettings
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import is_web_address

NAME, TITLE = "crossref", "Crossref"
SELECT = "DOI,updated-by,update-to,relation"
"""The fields that are read here, for a request."""
_TYPES = cast("dict[str, NoticeKind]", data_table(__file__, "update_types.txt"))
_KINDS: dict[str, NoticeKind] = {name.strip("()"): kind for name, kind in _TYPES.items()}
"""Kinds of notices by Crossref's types of updates."""
_RELATIONS: Mapping[str, NoticeKind] = {"is-preprint-of": "published", "has-preprint": "preprint"}
_REPORTERS = {"retraction-watch": "Retraction Watch", "publisher": "publisher"}
_MAX_NOTICES = 50


def updates_of(work: Mapping[str, object]) -> tuple[StatusNotice, ...]:
    """What happened to a work, and what it says about others; () if nothing.

    `reference` says what it is, if its kind does not, who reported it, and when: "Retraction Watch, 2010-02-06".
    """
    own = normalize_doi(text_at(work, "DOI"))
    to = rows_of(work.get("update-to"))
    # A publisher that changes an article in place says so in the article's own record.
    happened = [*rows_of(work.get("updated-by")), *(one for one in to if _doi(one) == own)]
    found = [*_happened(happened, own)]
    for one in to:  # what it says about others: it is a notice, or a newer version
        kind, doi = _KINDS.get(_type(one)), _doi(one)
        if kind == "update" and doi and doi != own:
            found.append(StatusNotice(kind="earlier", doi=doi))
        elif kind and doi and doi != own:
            label = text_at(one, "label") or _type(one).replace("_", " ").capitalize()
            found.append(StatusNotice(kind="about", doi=doi, reference=label))
    for name, kind in _RELATIONS.items():
        for one in rows_of(field_at(work, "relation", name)):
            doi = normalize_doi(text_at(one, "id"))
            if text_at(one, "id-type").lower() == "doi" and doi and doi != own:
                found.append(StatusNotice(kind=kind, doi=doi))
    return tuple(dict.fromkeys(found))[:_MAX_NOTICES]


def _happened(updates: list[Mapping[str, object]], own: str) -> Iterator[StatusNotice]:
    """One notice for each document that reports something, whoever has told Crossref."""
    reports: dict[tuple[NoticeKind, str], list[str]] = {}
    back = max((date_of(one.get("updated")) for one in updates if _type(one) == "reinstatement"), default="")
    for one in updates:
        type, date = _type(one), date_of(one.get("updated"))
        kind = _KINDS.get(type)
        if kind is None:
            continue
        # What it is, if its kind does not say so, who has reported it, and when.
        what = "" if type in _TYPES else f"{type.replace('_', ' ').capitalize()}: "
        who = _REPORTERS.get(text_at(one, "source"), "Crossref")
        report = f"{what}{who}{'' if date == UNKNOWN_DATE else f', {date}'}"
        if kind == "retraction" and back and date <= back:
            kind, report = "erratum", f"Retracted ({report}) and reinstated ({back})"
        doi = _doi(one)
        told = reports.setdefault((kind, "" if doi == own else doi), [])
        if report not in told:
            told.append(report)
    for (kind, doi), told in reports.items():
        yield StatusNotice(kind=kind, doi=doi, reference="; ".join(told))


def _type(update: Mapping[str, object]) -> str:
    return re.sub("[ -]", "_", text_at(update, "type").strip().lower())


def _doi(update: Mapping[str, object]) -> str:
    doi = normalize_doi(text_at(update, "DOI"))
    return doi if doi.startswith("10.") else ""


def date_of(value: object) -> str:
    """A date of Crossref's, `{"date-parts": [[2026, 9, 3]]}`, as "2026-09-03"; "Unknown" for `[[null]]` and none."""
    rows = list_of(field_at(value, "date-parts"))
    year, month, day = [*map(text_of, list_of(rows[0]) if rows else ()), "", "", ""][:3]
    return date_of_parts(year, month, day) or UNKNOWN_DATE


_FIELDS, _AUTHOR = field_table(__file__, "fields.txt"), field_table(__file__, "author_fields.txt")
_ARTICLES = ("journal-article", "proceedings-article")
_CHAPTERS = ("book-chapter", "book-section", "book-part", "book-track", "reference-entry")
_BOOKS = ("book", "monograph", "edited-book", "reference-book", "book-set", "proceedings")
_PREPRINTS = ("", "preprint", "working_paper", "other")
"""Subtypes of posted content; the others are letters, reports, theses and reviews."""
_DATES = ("published-print", "published", "issued", "posted", "published-online", "published-other", "approved")
"""The date of publication, the first that is known; `created` and `deposited` are those of the record."""
_FOR_MINING = re.compile(r"\btdm|text-and-data-mining", re.IGNORECASE)
_SERIES = re.compile(
    r"\bseries\b|springerbriefs|\b(?:lecture notes|(?:advances|communications|methods|progress|studies|topics) in)\b",
    re.IGNORECASE,
)


def read_work(work: Mapping[str, object]) -> Publication:
    """The record of a work, with its status."""
    fields, type = fields_at(work, _FIELDS, json_texts), text_at(work, "type")
    is_preprint = type == "posted-content" and text_at(work, "subtype") in _PREPRINTS
    title, notices = _title(work, str(fields["title"])), updates_of(work)
    if is_preprint:  # of the server that has it
        server = next(iter(json_texts(work, "institution.name")), "")
        fields |= {"publisher": plain_line(server) or fields["publisher"], "publisher_place": ""}
    dates = (date_of(work.get(name)) for name in _DATES)
    trials = json_texts(work, "clinical-trial-number.clinical-trial-number")
    funders = ((text_at(one, "name"), texts_of(list_of(one.get("award")))) for one in rows_of(work.get("funder")))
    grants = (", ".join(filter(None, (one, plain_line(name)))) for name, awards in funders for one in awards or ("",))
    # The licence of the published version; that for mining alone is no licence to reuse.
    licences = [one for one in rows_of(work.get("license")) if one.get("content-version") != "tdm"]
    licences.sort(key=lambda one: one.get("content-version") != "vor")
    addresses = (text_at(one, "URL") for one in licences)
    more = {
        "title": title or NO_TITLE,
        "url": f"https://doi.org/{fields['doi']}",
        "date": next((date for date in dates if date != UNKNOWN_DATE), UNKNOWN_DATE),
        "electronic_date": date_of(work.get("published-online")),
        "authors": authors_at(rows_of(work.get("author")), _AUTHOR, json_texts),
        "editors": authors_at(rows_of(work.get("editor")), _AUTHOR, json_texts),
        "publication_types": (PREPRINT if is_preprint else type.replace("-", " ").title(),) if type else (),
        "registrations": tuple(dict.fromkeys(normalize_trial(number) or number for number in trials)),
        "grants": tuple(dict.fromkeys(filter(None, grants))),
        "status": status_told_by(notices),
        "status_notices": notices,
        "status_checked": current_date().isoformat(),
        "licence": next((url for url in addresses if is_web_address(url) and not _FOR_MINING.search(url)), ""),
    }
    fields |= {"source": "preprint" if is_preprint else "web", **_container(work, type, title), **more}
    abstract = plain_abstract(text_at(work, "abstract")) or NO_ABSTRACT
    return Publication.of("abstract", abstract, provider=NAME, **fields)


def _title(work: Mapping[str, object], title: str) -> str:
    """The title with its subtitle, which many publishers give apart."""
    subtitle = plain_line(next(iter(texts_of(work.get("subtitle"))), ""))
    if not title or not subtitle or subtitle.casefold() in title.casefold():
        return title
    return f"{title} {subtitle}" if title.endswith((":", "?", "!", "—", "–")) else f"{title}: {subtitle}"


def _container(work: Mapping[str, object], type: str, title: str) -> dict[str, str]:
    """The journal, or the book: the last name that is not that of the book's series."""
    given = [plain_line(name) for name in texts_of(work.get("container-title"))]
    names = [name for name in given if not _SERIES.search(name)] or given
    short = plain_line(next(iter(texts_of(work.get("short-container-title"))), ""))
    if type in _CHAPTERS and names:
        return {"book_title": names[-1]}
    if type in _BOOKS:
        return {"book_title": title}
    if type not in _ARTICLES or not names:
        return {}
    return {"journal": names[-1], "journal_abbreviation": "" if short in given else short}


T = TypeVar("T")
Work = Mapping[str, object]
"""A work as Crossref sends it."""
MAX_DOIS = 100
MAX_FILTER = 6_000
"""Characters of DOIs in one address, as sent."""
MAX_REFERENCE = 1_000
AT_ONCE = {True: 3, False: 1}
"""Requests at the same time, in the polite pool and in the public one."""
_MAX_QUOTE = 200


class UnknownWorkError(ProviderRequestError):
    """Crossref does not have what was asked for."""


def explain_crossref(response: httpx.Response) -> ProviderError | None:
    """The error behind an HTTP status: nothing under that DOI (plain text), or a request that Crossref cannot read."""
    if response.status_code not in (400, 404):
        return None
    if is_web_page(response.content):
        told = f"{TITLE} answered with a web page (HTTP {response.status_code}). Try again later."
        return ProviderUnavailableError(NAME, told)
    if response.status_code == 404 and response.content.strip().startswith(b"Resource not found"):
        return UnknownWorkError(NAME, f"{TITLE} has nothing under this DOI.")
    failures = rows_of(json_if_any(response).get("message"))
    said = clean_line(" ".join(text_at(one, "message") for one in failures))[:_MAX_QUOTE].strip(" .")
    reason = f'"{said}"' if said else f"HTTP {response.status_code}"
    return ProviderRequestError(NAME, f"{TITLE} refused the request: {reason}.")


def _works(response: httpx.Response, read: Callable[[Work], T], dois: Sequence[str]) -> dict[str, T]:
    """The works that were asked for, each under its own DOI; ProviderResponseError if some were left out."""
    items = _items(response)
    total = number_of(field_at(_message(response), "total-results"))
    if total is None or total > len(items):
        raise ProviderResponseError(NAME, f"{TITLE} sent only a part of its answer.")
    return {doi: read(one) for one in items if (doi := normalize_doi(text_at(one, "DOI"))) in dois}


def _items(response: httpx.Response) -> list[Work]:
    message = _message(response)
    if not isinstance(message.get("items"), list):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not a list of works.")
    return [row for row in first_records(message["items"]) if text_at(row, "DOI")]


def _message(response: httpx.Response) -> Work:
    payload = json_answer(NAME, TITLE, response)
    if text_at(payload, "status") != "ok" or not (message := mapping_of(payload.get("message"))):
        raise ProviderResponseError(NAME, f"{TITLE} sent JSON that is not an answer to the request.")
    return message


POLITE_SPACING, PUBLIC_SPACING = 0.37, 1.01
"""Seconds between two starts: Crossref allows 3 list requests per second in the polite pool, 1 in the public one."""
MAX_CANDIDATES = 5
MAX_AGENCIES = 3
"""Requests that ask who registered DOIs which Crossref does not have."""
_SAMPLE = "10.1371/journal.pmed.0020124"
_OWNERS = data_table(__file__, "datacite_prefixes.txt")

logger = logging.getLogger(__name__)


class Crossref(RecordLookup, ReferenceLookup, StatusLookup, LinkLookup):
    """Crossref's REST API: works by their DOIs or by a reference, their references, and who registered a DOI.

    `api` is built with `explain=explain_crossref`; `is_polite` says whether requests go to the polite pool.
    """

    name, title = NAME, TITLE
    directions = ("references",)
    links_at_once = 50

    def __init__(self, api: JsonApi, *, is_polite: bool = False) -> None:
        self._api, self._is_polite = api, is_polite

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        email = settings.ncbi_email.strip()
        spacing = POLITE_SPACING if email else PUBLIC_SPACING
        api = ApiOfService(
            NAME, TITLE, lambda settings: settings.of(CrossrefSettings).crossref_base_url, spacing, explain_crossref
        )
        client, at_once = paced_client(settings, net, api), AT_ONCE[bool(email)]
        opened = JsonApi(client, api.base_url(settings), identity={"mailto": email}, at_once=at_once)
        return cls(opened, is_polite=bool(email))

    async def works(self, dois: Sequence[str], read: Callable[[Work], T], *, select: str = "") -> dict[str, T]:
        """What `read` makes of the works that Crossref has, by normalized DOI: one request for up to 100 of them.

        `select` names the fields to send; all by default. A DOI with a comma is asked for alone, since a comma ends a
        filter.
        """
        wanted, batches = list(dict.fromkeys(dois)), [list[str]()]
        for doi in (doi for doi in wanted if "," not in doi):
            longer = quote("".join(f"doi:{one}," for one in (*batches[-1], doi)), safe="")
            if batches[-1] and (len(batches[-1]) == MAX_DOIS or len(longer) > MAX_FILTER):  # it must fit into a URL
                batches.append([])
            batches[-1].append(doi)
        found: dict[str, T] = {}
        for batch in filter(None, batches):
            asked = {"filter": ",".join(f"doi:{doi}" for doi in batch), "rows": str(MAX_DOIS), "select": select}
            found |= await self._api.get("works", asked, lambda one, batch=batch: _works(one, read, batch), kind=read)
        for doi in (doi for doi in wanted if "," in doi):
            with suppress(UnknownWorkError):
                path = f"works/{quote(doi, safe='')}"
                found[doi] = await self._api.get(path, {}, lambda one: read(_message(one)), kind=read)
        return found

    async def agency(self, doi: str) -> str:
        """The agency with which a DOI is registered, e.g. "DataCite"; "" if none is known."""

        path = f"works/{quote(doi, safe='')}/agency"
        with suppress(UnknownWorkError):
            return await self._api.get(path, {}, lambda one: text_at(_message(one), "agency.label", "agency.id"))
        return ""

    def accepts(self, ids: RecordIds) -> bool:
        return BARE_DOI.fullmatch(normalize_doi(ids.doi)) is not None

    async def records(self, wanted: Sequence[RecordIds]) -> Sequence[Publication | str]:
        """One request, and up to three more that ask who registered the DOIs that Crossref does not have."""
        dois = [normalize_doi(ids.doi) for ids in wanted]
        valid = list(filter(BARE_DOI.fullmatch, dois))
        found = await self.works(valid, read_work)
        agencies = await self._agencies([doi for doi in valid if doi not in found])
        return [found.get(doi) or (_remark(doi, agencies[doi]) if doi in agencies else "") for doi in dois]

    async def match(self, reference: str) -> Sequence[Publication]:
        """The works that are most like a written reference, best first."""
        asked = {"query.bibliographic": clean_line(reference)[:MAX_REFERENCE], "rows": str(MAX_CANDIDATES)}
        return await self._api.get("works", asked, lambda answer: [*map(read_work, _items(answer))])

    def knows(self, ids: RecordIds) -> bool:
        return self.accepts(ids)

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        dois = [normalize_doi(one.doi) for one in papers]
        found = await self.works(dois, _references, select="DOI,reference")
        return [found.get(doi, Linked()) for doi in dois]

    async def notices(self, dois: Sequence[str]) -> Mapping[str, tuple[StatusNotice, ...]]:
        return await self.works(list(filter(BARE_DOI.fullmatch, dois)), updates_of, select=SELECT)

    async def _agencies(self, dois: Sequence[str]) -> dict[str, str]:
        """With whom DOIs are registered, as far as that is found out, "" if with nobody; an outage leaves it open."""
        known = {doi: "DataCite" for doi in dois if doi.partition("/")[0] in _OWNERS}
        try:
            for doi in [*dict.fromkeys(doi for doi in dois if doi not in known)][:MAX_AGENCIES]:
                known[doi] = await self.agency(doi)
        except ProviderError as error:
            logger.info("agency of a DOI not found: %s", error.code)
        return known

    def checks(self) -> Sequence[SourceCheck]:
        public = "public pool: 1 request per second, 3 with an email address (NCBI_EMAIL)"
        told = f"answers; {'polite pool: 3 requests per second' if self._is_polite else public}"
        return (SourceCheck.answering(self.title, lambda: self.agency(_SAMPLE), told),)


_PLACE = ("journal-title", "year", "volume", "first-page", "author")


def _references(work: Work) -> Linked:
    """The references of a work, by their DOIs, also those within a reference as it was written, or by their places."""
    named = [_reference(one) for one in rows_of(work.get("reference"))]
    return Linked(tuple(filter(None, named)), sum(not one for one in named))


def _reference(one: Work) -> PaperNames:
    written = BARE_DOI.search(text_at(one, "DOI") or text_at(one, "unstructured"))
    if written:
        return frozenset({f"doi:{normalize_doi(written[0])}"})
    place = CitedPlace(*(clean_line(text_at(one, part)).replace("|", " ") for part in _PLACE))
    return frozenset({f"place:{'|'.join(place)}"} if place.journal and place.volume and place.first_page else ())


def _remark(doi: str, agency: str) -> str:
    """Why Crossref has no record of a DOI, by the agency with which it is registered."""
    if not agency:
        return f"No registration agency knows {doi}: the DOI may be wrong."
    if agency == TITLE:
        return f"{doi} has a prefix of {TITLE}'s, but no record there: the DOI may be wrong."
    owner = _OWNERS.get(doi.partition("/")[0], "")
    named = f"a DOI of {owner}, registered" if owner else "a DOI registered"
    return f"{doi} is {named} with {agency}; {TITLE} has no record of it."
