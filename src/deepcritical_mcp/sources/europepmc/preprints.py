"""Preprints as a source of evidence, through Europe PMC, the requests to it, and its query language."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import ClassVar, NamedTuple, Self

from pydantic import model_validator

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import InvalidInputError, ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, arxiv_doi, normalize_doi, preprint_number, record_ids
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication, StatusNotice
from deepcritical_mcp.net.json_fields import text_of
from deepcritical_mcp.sources.base import (
    Answer,
    Fetched,
    Hit,
    Net,
    SearchRequest,
    Source,
    SourceCheck,
    checked_limits,
    dates_in_words,
)
from deepcritical_mcp.sources.europepmc.client import MAX_PAGE, TITLE, EuropePMCClient
from deepcritical_mcp.sources.europepmc.record import PREPRINTS, PROVIDER, EuropePMCRecord, europe_pmc_page
from deepcritical_mcp.sources.europepmc.services import identifier_terms
from deepcritical_mcp.text import clean_line, counted, data_lines, without_question_words

_FIELDS = (
    "ABSTRACT|ACCESSION_TYPE|ACK_FUND|AFF|AUTH|AUTHOR|AUTHORID|AUTH_FIRST|AUTH_LAST|BODY|CHEM|CITED|CITES|CONCL|"
    "CREATION_DATE|DISCUSS|DISEASE|DOI|EXT_ID|E_PDATE|FIG|FIRST_IDATE|FIRST_PDATE|GENE_PROTEIN|GRANT_AGENCY|GRANT_ID|"
    "HAS_ABSTRACT|HAS_DATA|HAS_FT|HAS_FULLTEXT|HAS_PDF|HAS_REFLIST|HAS_SUPPL|INTRO|IN_EPMC|IN_PMC|JOURNAL|KW|LABS_PUBS|"
    "LANG|LICENSE|METHODS|OPEN_ACCESS|ORGANISM|PMCID|PUBLISHER|PUB_TYPE|PUB_YEAR|P_PDATE|REF|RESULTS|SRC|SUPPL|TABLE|"
    "TITLE|TITLE_ABS|UPDATE_DATE"
)
_KEPT = rf'\b(?:{_FIELDS}):(?:\[[^\[\]]{{1,80}}\]|(?=["(])|[^\s()"\[\]]+)|"[^"]*"'
_TAG = r"\[(?![^\[\]]{1,40} TO )[^\[\]]{1,60}\]"
_NARROWING_TAG = (
    r"(?:\"[^\"\[\]]{1,80}\"|[^\s()\"\[\]]{1,80})\s?\[(?:dp|pdat|edat|crdt|date[^\[\]]{0,40}|la|lang|language|pt|ptyp|"
    r"publication type|sb|filter|subset)\]"
)
_LEFT_OUT = re.compile(_NARROWING_TAG, re.IGNORECASE)
_TAGS = re.compile(_TAG)
_WITH_SLASH = r"(?<![\w/])[^\W_][\w-]{0,40}(?:/[^\W_][\w-]{0,40}){1,4}(?![\w/])"
_SIGNS = re.compile(rf"{_KEPT}|{_WITH_SLASH}|[?:/\\^~{{}}\[\]]|(?<!\S)[-–—+!*&|]{{1,3}}(?!\S)")
_DANGLING = (
    (re.compile(r"\( ?(?:(?:AND|OR) )*\)"), " "),
    (re.compile(r"\( ?(?:AND|OR) "), "("),
    (re.compile(r" (?:AND|OR|NOT) ?\)"), ")"),
    (re.compile(r"\b(AND|OR|NOT) (?:AND|OR)(?= )"), r"\1"),
    (re.compile(r"\A(?:AND|OR)(?: |\Z)"), ""),
    (re.compile(r"(?:\A| )(?:AND|OR|NOT)\Z"), ""),
)


class Translated(NamedTuple):
    """A query in Europe PMC's language, "" if nothing is left of it, and remarks on what was changed."""

    query: str
    remarks: tuple[str, ...] = ()


def europe_pmc_query(text: str) -> Translated:
    """`text` as Europe PMC reads it as it was meant: its own syntax stays, signs that would break a query do not."""
    if number := _identifier(text.strip()):
        return Translated(number)
    text = without_question_words(text)
    remarks: list[str] = []
    if left_out := list(dict.fromkeys(_LEFT_OUT.findall(text))):
        listed = ", ".join(left_out[:5])
        remarks.append(f"{listed} is PubMed's notation and was left out; min_date and max_date limit dates.")
        text = _LEFT_OUT.sub(" ", text)
    if tags := list(dict.fromkeys(_TAGS.findall(text))):
        listed = ", ".join(tags[:3])
        remarks.append(
            f"PubMed's field tags ({listed}) were left out; Europe PMC's fields are TITLE:, AUTH: and so on."
        )
        text = _TAGS.sub(" ", text)
    if text.count('"') % 2:
        remarks.append("A quotation mark that is not closed was left out.")
        text = "".join(text.rsplit('"', 1))
    text = _SIGNS.sub(_sign, text)
    bare = re.sub(r'"[^"]*"', "", text)
    if bare.count("(") != bare.count(")"):
        remarks.append("The query's brackets are not balanced and were left out.")
        text = re.sub(r'("[^"]*")|[()]', lambda found: found[1] or " ", text)
    return Translated(_without_dangling(" ".join(text.split())), tuple(remarks))


def _sign(found: re.Match[str]) -> str:
    """A part of a query that stays, or what is written in its place."""
    text = found[0]
    if "/" in text[1:] and text[0].isalnum() and ":" not in text:
        return " " if text.casefold() == "and/or" else f'"{text}"'
    return {"&&": " AND ", "||": " OR "}.get(text, " ") if len(text) < 4 and not text[0].isalnum() else text


def _without_dangling(text: str) -> str:
    """`text` without operators that have lost what they join."""
    before = ""
    while text != before:
        before = text
        for pattern, instead in _DANGLING:
            text = " ".join(pattern.sub(instead, text).split())
    return text


def _identifier(text: str) -> str:
    """A query for the one preprint that `text` identifies; "" if it is something else."""
    if number := preprint_number(text):
        return f"EXT_ID:{number}"
    if " " in text:
        return ""
    doi = arxiv_doi(text) or record_ids(text).doi or normalize_doi(text)
    if not re.fullmatch(r"10\.[0-9]{4,9}/[^\s\"\\]+", doi):
        return ""
    return f'DOI:"{doi}"'


MAX_NAME = 80
_SERVER_ROWS = (row.split(": ") for row in data_lines(__file__, "preprint_servers.txt"))
SERVERS = {name: tuple(others.split()) for name, others in _SERVER_ROWS}
"""Europe PMC's names of servers, each with others, in lower case without spaces and punctuation."""
_BY_NAME = {name: server for server, names in SERVERS.items() for name in names}
_AROUND = re.compile(r"^(?:https?(?:www)?)|(?:(?:preprint)?servers?|com|net|(?<!preprints)org)$")


def server_named(text: str) -> str:
    """Europe PMC's name of a server, from any spelling or its address; "" for one that is not in the table."""
    plain = re.sub(r"[^a-z0-9]", "", text[:MAX_NAME].casefold())
    bare = _AROUND.sub("", plain)
    return next((_BY_NAME[name] for name in (plain, bare, bare.removeprefix("www")) if name in _BY_NAME), "")


def servers_named(names: Sequence[str]) -> tuple[str, ...]:
    """Europe PMC's names of servers, each once; those that are not in the table as they are written.

    Raises:
        InvalidInputError: a name is probably a misspelling of one in the table, or too long.
    """
    found: dict[str, None] = {}
    for name in filter(None, map(clean_line, names)):
        known = server_named(name)
        near = [] if known else get_close_matches(name.casefold(), [one.casefold() for one in SERVERS], n=1, cutoff=0.8)
        if near:
            meant = next(one for one in SERVERS if one.casefold() == near[0])
            raise InvalidInputError(f'servers: Europe PMC has no "{name[:MAX_NAME]}". Did you mean {meant}?')
        if len(name) > MAX_NAME:
            raise InvalidInputError(f"servers: the name of a server has at most {MAX_NAME} characters.")
        found[known or name.replace('"', "").replace("\\", "")] = None
    return tuple(filter(None, found))


MAX_LISTED = 10


class PreprintRequest(SearchRequest):
    """The arguments of `preprint_search`.

    `query` and `variants` are plain words or Europe PMC's query language. `min_date` and `max_date` are
    "YYYY[-MM[-DD]]", both inclusive, "" = open, and mean the day on which a preprint was posted. `servers` are names of
    preprint servers in any spelling, () = all. `unpublished_only` leaves out what has become an article.
    `since` is the first day ("YYYY-MM-DD") on which Europe PMC may have indexed a preprint, "" = any.
    """

    LAST_RESULT: ClassVar[int] = 10_000
    NARROWING: ClassVar[str] = (
        "Only the first 10,000 results of a search can be reached. Narrow it by further words, or repeat it with "
        "min_date and max_date for one period after another."
    )

    min_date: str = ""
    max_date: str = ""
    servers: tuple[str, ...] = ()
    unpublished_only: bool = False
    since: str = ""

    @model_validator(mode="after")
    def _check_filters(self) -> Self:
        checked_limits(self.min_date, self.max_date)
        servers_named(self.servers)
        for name, text in zip(("query", *["variants"] * len(self.variants)), self.queries, strict=False):
            if not europe_pmc_query(text).query:
                raise InvalidInputError(f"{name}: there are no words to search for.")
        return self

    def term(self, variant: str) -> str:
        """The search term for `variant` with all filters."""
        servers = [f'PUBLISHER:"{server}"' for server in servers_named(self.servers)]
        earliest, latest = checked_limits(self.min_date, self.max_date)
        parts = (
            f"({europe_pmc_query(variant).query})",
            "SRC:PPR",
            f"({' OR '.join(servers)})" if len(servers) > 1 else "".join(servers),
            f"FIRST_PDATE:[{_first_day(earliest)} TO {_last_day(latest)}]" if earliest or latest else "",
            f"FIRST_IDATE:[{self.since} TO 3000-12-31]" if self.since else "",
        )
        return " AND ".join(filter(None, parts))

    def remarks(self, variant: str) -> tuple[str, ...]:
        """What was changed in a variant, and which servers are not known."""
        unknown = [server for server in servers_named(self.servers) if server not in SERVERS]
        named = ", ".join(f'"{server}"' for server in unknown)
        remark = f"{named}: not a server that is known here; Europe PMC was asked for it as it is written."
        return (*europe_pmc_query(variant).remarks, *([remark] if unknown else []))

    def limits(self) -> Iterator[str]:
        yield from dates_in_words(self.min_date, self.max_date, "posted")
        if self.servers:
            yield f"posted on {' or '.join(servers_named(self.servers))}"
        if self.unpublished_only:
            yield "only preprints that have not become articles"
        if self.since:
            yield f"added to Europe PMC since {self.since}"
        yield from super().limits()

    def leave_out(self, found: Sequence[Hit]) -> tuple[list[Hit], tuple[str, ...]]:
        """`found` without preprints that have become articles, if these are not wanted."""
        published = [hit for hit in found if published_as(hit.publication)]
        if not self.unpublished_only or not published:
            return list(found), ()
        what = counted(len(published), "preprint that was published", "preprints that were published")
        listed = ", ".join(_article(published_as(hit.publication)) for hit in published[:MAX_LISTED])
        more = f" and {len(published) - MAX_LISTED} more" if len(published) > MAX_LISTED else ""
        kept = [hit for hit in found if not published_as(hit.publication)]
        return kept, (f"{what} omitted from this page; the articles are {listed}{more}.",)


def published_as(publication: Publication) -> tuple[StatusNotice, ...]:
    """The articles that a preprint has become."""
    return tuple(notice for notice in publication.status_notices if notice.kind == "published")


def _article(notices: Sequence[StatusNotice]) -> str:
    first = notices[0]
    return f"PMID {first.pmid}" if first.pmid else f"doi:{first.doi}" if first.doi else first.reference


def _first_day(date: str) -> str:
    return date + "1900-01-01"[len(date) :]


def _last_day(date: str) -> str:
    if len(date) == len("2026-01"):
        return f"{date}-{calendar.monthrange(int(date[:4]), int(date[5:]))[1]}"
    return date + "3000-12-31"[len(date) :]


WHOLE_RECORDS = 300
"""A search for at most so many results brings their records with it; one for more brings only their DOIs."""
MAX_HELD = 1_600
"""Records of searches whose second step has not come yet."""


class Preprints(Source):
    """Preprints in Europe PMC. Their records usually come with the search; those of a deep page, in a second step."""

    name = "preprints"
    title = TITLE
    kind = "preprints"
    cited_as = "preprint"
    tool = "preprint_search"
    request = PreprintRequest
    two_step = True
    block = 100
    id_name = "DOI"
    witnessed = True

    def __init__(self, client: EuropePMCClient) -> None:
        self._client = client
        self._held: dict[str, Publication] = {}
        """Records that came with a search, until they are fetched."""

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(EuropePMCClient.create(settings, net, steps=2))

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        """One page of the DOIs of preprints that match `variant`, numbers of Europe PMC where there is no DOI."""
        assert isinstance(request, PreprintRequest)
        term, end = request.term(variant), offset + limit
        kind = "core" if limit <= WHOLE_RECORDS else "lite"
        found: list[EuropePMCRecord] = []
        done, total, cursor, skipped = 0, end, "*", 0
        while cursor and done < min(total, end):
            if done < offset:
                size = min(MAX_PAGE, offset - done)
                page = await self._client.rows(_any, term, page_size=size, cursor=cursor, result_type="idlist")
            else:
                size = min(MAX_PAGE, end - done)
                page = await self._client.search(term, page_size=size, cursor=cursor, result_type=kind)
                found += page.records
                skipped += page.skipped
            done += len(page.records) + page.skipped
            total, cursor = page.total, page.next_cursor
        if total and not done:
            raise ProviderResponseError(
                PROVIDER, f"{TITLE} counts {counted(total, 'result')}, but delivers none. Try again in a minute."
            )
        remarks = request.remarks(variant)
        if skipped:
            remarks += (f"{TITLE} sent {counted(skipped, 'record')} without an id, which cannot be shown.",)
        if done < min(total, end):
            remarks += (f"{TITLE} counts {total:,} results, but delivers only {done:,}.",)
            total = done
        named = _named_once(found)
        self._hold(named, are_whole=kind == "core")
        return Answer(tuple(named), total, remarks=remarks, translation=term, sent=term)

    def sent(self, variant: str, request: SearchRequest) -> str:
        assert isinstance(request, PreprintRequest)
        return request.term(variant)

    def _hold(self, records: Mapping[str, Publication], *, are_whole: bool) -> None:
        """Keep whole records until they are fetched, and none that are older than the last search."""
        for id in records:
            self._held.pop(id, None)
        self._held |= records if are_whole else {}
        for id in list(self._held)[:-MAX_HELD]:
            del self._held[id]

    async def fetch(self, ids: Sequence[str]) -> Fetched:
        held = {id: self._held.pop(id) for id in ids if id in self._held}
        others = [id for id in ids if id not in held]
        return Fetched(held | (await self._fetched(others) if others else {}))

    async def _fetched(self, ids: Sequence[str]) -> dict[str, Publication]:
        are_numbers = [(id, id.startswith(PREPRINTS)) for id in ids]
        wanted = [RecordIds(preprint_number=id) if is_number else RecordIds(doi=id) for id, is_number in are_numbers]
        query = f"({' OR '.join(term for one in wanted for term in identifier_terms(one))}) AND SRC:{PREPRINTS}"
        page = await self._client.search(query, page_size=min(MAX_PAGE, 3 * len(ids)))
        return records_by_id(page.records, ids)

    def stub(self, id: str) -> Publication:
        is_number = id.startswith(PREPRINTS)
        ids = {"preprint_number": id, "url": europe_pmc_page(PREPRINTS, id)} if is_number else {"doi": id}
        return Publication.of("abstract", NO_ABSTRACT, provider=PROVIDER, source="preprint", title=NO_TITLE, **ids)

    def named(self, ids: str) -> str:
        return ids if ids.startswith(PREPRINTS) else super().named(ids)

    def checks(self) -> Sequence[SourceCheck]:
        query = f"SRC:{PREPRINTS}"
        ask = partial(self._client.rows, _any, query, page_size=1, result_type="idlist")
        return (SourceCheck.answering(f"{TITLE} preprints", ask),)


def records_by_id(records: Sequence[EuropePMCRecord], ids: Sequence[str]) -> dict[str, Publication]:
    """The records by those of `ids`, DOIs or numbers, that they have; of several versions with one DOI the newest."""
    found: dict[str, Publication] = {}
    for record in sorted(records, key=lambda one: one.publication.date):
        found[record.id] = record.publication
        if record.publication.doi:
            found[record.publication.doi] = record.publication
    return {id: found[id] for id in ids if id in found}


def _any(row: Mapping[str, object]) -> bool | None:
    return True if text_of(row.get("id")) else None


def _named_once(records: Sequence[EuropePMCRecord]) -> dict[str, Publication]:
    """The records by their DOIs; by its number one that has no DOI, or that of an earlier one."""
    named: dict[str, Publication] = {}
    for record in records:
        doi = record.publication.doi
        named[record.id if not doi or doi in named else doi] = record.publication
    return named
