"""Requests to the search of preprints: names of servers, and Europe PMC's query language."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import ClassVar, Self

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import arxiv_doi, normalize_doi, preprint_number, record_ids
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.sources.base import DatedRequest, Remaining, any_of
from deepcritical_mcp.text import clean_line, counted, data_lines, without_question_words

_FIELDS = "|".join(data_lines(__file__, "query_fields.txt"))
_ROWS = [row.split(" | ") for row in data_lines(__file__, "query_patterns.txt")]
_NOTATIONS = [(re.compile(pattern), remark) for kind, pattern, *remark in _ROWS if kind == "notation"]
"""What is written in PubMed's notation is left out; the remark says so."""
_TOKEN = re.compile("|".join(pattern for kind, pattern, *_ in _ROWS if kind == "token").replace("FIELDS", _FIELDS))
"""A bracket, a part of Europe PMC's syntax, words with a slash between them, a sign alone, or a word."""
_SIGNS = str.maketrans(dict.fromkeys("?:/\\^~{}[]", " "))
_OPERATORS = ("AND", "OR", "NOT")


def europe_pmc_query(text: str) -> tuple[str, list[str]]:
    """`text` as Europe PMC reads it as it was meant, and remarks on what was changed: its own syntax stays, signs that
    would break a query do not. "" if nothing is left."""
    if number := _identifier(text.strip()):
        return number, []
    text = without_question_words(text)
    remarks: list[str] = []
    for pattern, (remark,) in _NOTATIONS:
        if found := list(dict.fromkeys(pattern.findall(text))):
            remarks.append(remark.format(", ".join(found[:5])))
            text = pattern.sub(" ", text)
    if text.count('"') % 2:
        remarks.append("A quotation mark that is not closed was left out.")
        text = "".join(text.rsplit('"', 1))
    tokens = [*_TOKEN.finditer(text)]
    if sum(bool(one["open"]) for one in tokens) != sum(bool(one["close"]) for one in tokens):
        remarks.append("The query's brackets are not balanced and were left out.")
        tokens = [one for one in tokens if not (one["open"] or one["close"])]
    return _rebuilt(tokens), remarks


def _rebuilt(tokens: Iterable[re.Match[str]]) -> str:
    """The query of its tokens, without signs that would break it, and operators that have nothing to join."""
    groups: list[tuple[str, list[str]]] = [("", [])]
    for token in tokens:
        text, kind, parts = token[0], token.lastgroup, list[str]()
        if kind == "open":
            groups.append((text, []))
        elif kind == "close" and len(groups) > 1:
            begins, inside = groups.pop()
            groups[-1][1].extend([f"{begins}{inner})"] if (inner := _joined(inside)) else [])
        elif kind == "kept":
            parts = [text]
        elif kind == "slash":
            parts = [f'"{text}"'] if text.casefold() != "and/or" else []
        elif kind == "sign":
            parts = {"&&": ["AND"], "||": ["OR"]}.get(text, [])
        else:
            parts = text.strip(")").translate(_SIGNS).split()
        if parts and groups[-1][1] and token.string[: token.start()].endswith(")"):  # "(LDL)-cholesterol"
            parts[0] = groups[-1][1].pop() + parts[0]
        groups[-1][1].extend(parts)
    return _joined([part for _, parts in groups for part in parts])


def _joined(parts: Iterable[str]) -> str:
    kept: list[str] = []
    for part in parts:
        if part not in ("AND", "OR") or (kept and kept[-1] not in _OPERATORS):
            kept.append(part)
    while kept and kept[-1] in _OPERATORS:
        kept.pop()
    return " ".join(kept)


def _identifier(text: str) -> str:
    """A query for the one preprint that `text` identifies; "" if it is something else."""
    if number := preprint_number(text):
        return f"EXT_ID:{number}"
    if " " in text:
        return ""
    doi = arxiv_doi(text) or record_ids(text).doi or normalize_doi(text)
    return f'DOI:"{doi}"' if re.fullmatch(r"10\.[0-9]{4,9}/[^\s\"\\]+", doi) else ""


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
        InvalidInputError: a name is too long, or probably a misspelling of one in the table.
    """
    given = [*filter(None, map(clean_line, names))]
    if any(len(name) > MAX_NAME and not server_named(name) for name in given):
        raise InvalidInputError(f"servers: the name of a server has at most {MAX_NAME} characters.")
    lower = {one.casefold(): one for one in SERVERS}
    for name in given:
        if not server_named(name) and (near := get_close_matches(name.casefold(), lower, n=1, cutoff=0.8)):
            raise InvalidInputError(f'servers: Europe PMC has no "{name}". Did you mean {lower[near[0]]}?')
    found = (server_named(name) or name.replace('"', "").replace("\\", "") for name in given)
    return tuple(dict.fromkeys(filter(None, found)))


MAX_LISTED = 10


class PreprintRequest(DatedRequest):
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

    servers: tuple[str, ...] = ()
    unpublished_only: bool = False

    @model_validator(mode="after")
    def _check_filters(self) -> Self:
        servers_named(self.servers)
        for name, text in zip(("query", *["variants"] * len(self.variants)), self.queries, strict=False):
            if not europe_pmc_query(text)[0]:
                raise InvalidInputError(f"{name}: there are no words to search for.")
        return self

    def term(self, variant: str) -> str:
        """The search term for `variant` with all filters."""
        servers = [f'PUBLISHER:"{server}"' for server in servers_named(self.servers)]
        earliest, latest = self.dates
        if len(latest) == len("2026-01"):
            latest += f"-{calendar.monthrange(int(latest[:4]), int(latest[5:]))[1]}"
        days = f"{earliest}{'1900-01-01'[len(earliest) :]} TO {latest}{'3000-12-31'[len(latest) :]}"
        parts = (
            f"({europe_pmc_query(variant)[0]})",
            "SRC:PPR",
            any_of(servers),
            f"FIRST_PDATE:[{days}]" if earliest or latest else "",
            f"FIRST_IDATE:[{self.since} TO 3000-12-31]" if self.since else "",
        )
        return " AND ".join(filter(None, parts))

    def remarks(self, variant: str) -> tuple[str, ...]:
        """What was changed in a variant, and which servers are not known."""
        unknown = [server for server in servers_named(self.servers) if server not in SERVERS]
        named = ", ".join(f'"{server}"' for server in unknown)
        remark = f"{named}: not a server that is known here; Europe PMC was asked for it as it is written."
        return (*europe_pmc_query(variant)[1], *([remark] if unknown else []))

    def filters(self) -> Iterable[str]:
        yield self.dates_in_words("posted")
        yield f"posted on {' or '.join(servers_named(self.servers))}" if self.servers else ""
        yield "only preprints that have not become articles" if self.unpublished_only else ""
        yield f"added to Europe PMC since {self.since}" if self.since else ""

    def leave_out(self, found: Sequence[Publication], scores: Mapping[str, float]) -> Remaining:
        """`found` without preprints that have become articles, if these are not wanted."""
        articles = [published_as(one)[0] for one in found if self.unpublished_only and published_as(one)]
        if not articles:
            return list(found), ()
        what = counted(len(articles), "preprint that was published", "preprints that were published")
        named = [f"PMID {one.pmid}" if one.pmid else f"doi:{one.doi}" if one.doi else one.reference for one in articles]
        more = f" and {len(named) - MAX_LISTED} more" if len(named) > MAX_LISTED else ""
        told = f"{what} omitted from this page; the articles are {', '.join(named[:MAX_LISTED])}{more}."
        return [one for one in found if not published_as(one)], (told,)


def published_as(publication: Publication) -> tuple[StatusNotice, ...]:
    """The articles that a preprint has become."""
    return tuple(notice for notice in publication.status_notices if notice.kind == "published")
