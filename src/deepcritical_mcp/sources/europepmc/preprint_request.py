"""Requests to the search of preprints."""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.sources.base import Hit, SearchRequest
from deepcritical_mcp.sources.date_limits import checked_limits, dates_in_words
from deepcritical_mcp.sources.europepmc.preprint_servers import SERVERS, servers_named
from deepcritical_mcp.sources.europepmc.query_syntax import europe_pmc_query
from deepcritical_mcp.text import counted

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
