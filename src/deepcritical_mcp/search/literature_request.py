"""What a literature search is asked for, checked before anybody is asked."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from typing import Literal

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.sources.pubmed.eutils import LAST_RESULT
from deepcritical_mcp.sources.pubmed.publication_types import near_publication_types, publication_type
from deepcritical_mcp.text import clean_line

LONGEST_QUERY = 4_000
MOST_RESULTS = 100
MOST_VARIANTS = 7
SLICING = (
    f"PubMed shows only the first {LAST_RESULT:,} results of a search. Slice it: repeat the search with min_date and "
    "max_date for one period after the other, or narrow it by publication_types or further terms."
)
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")


@dataclass(frozen=True)
class LiteratureRequest:
    """The arguments of `pubmed_search` as they were given; `question_of` checks them.

    Attributes:
        query: plain words or PubMed's own syntax; reaches PubMed untouched.
        variants: other wordings of the same question, searched too and fused.
        min_date, max_date: "YYYY[-MM[-DD]]", both included; "" = open.
        publication_types: PubMed's names; a record needs one of them.
        only_new: leave out what the session has already, and go on to what it has not.
    """

    query: str
    variants: tuple[str, ...] = ()
    max_results: int = 10
    offset: int = 0
    sort: Literal["relevance", "date"] = "relevance"
    min_date: str = ""
    max_date: str = ""
    publication_types: tuple[str, ...] = ()
    has_abstract: bool = False
    include_retracted: bool = True
    only_new: bool = False


@dataclass(frozen=True)
class Question:
    """A request in PubMed's terms.

    Attributes:
        wordings: the query, then its variants, each once.
        filters: what every record must fulfil, in PubMed's syntax.
        min_date, max_date: "YYYY[/MM[/DD]]".
    """

    wordings: tuple[str, ...]
    filters: tuple[str, ...]
    min_date: str
    max_date: str

    def term(self, wording: str) -> str:
        """What PubMed is asked for `wording`: the wording itself where there are no filters."""
        return " AND ".join((f"({wording})", *self.filters)) if self.filters else wording


def question_of(request: LiteratureRequest) -> Question:
    """The checked request.

    Raises:
        InvalidInputError: an argument cannot be right; the message says what would be.
    """
    query = _wording(request.query)
    if not query:
        raise InvalidInputError("query is blank: say what to search for.")
    if len(request.variants) > MOST_VARIANTS:
        raise InvalidInputError(f"variants: at most {MOST_VARIANTS}, got {len(request.variants)}.")
    _check_page(request)
    earliest, latest = _day("min_date", request.min_date, last=False), _day("max_date", request.max_date, last=True)
    if earliest and latest and earliest > latest:
        raise InvalidInputError(
            f"min_date {request.min_date.strip()} is after max_date {request.max_date.strip()}: swap them."
        )
    filters = [_types_filter(request.publication_types), "hasabstract" if request.has_abstract else ""]
    wordings = {query.casefold(): query}
    for variant in filter(None, map(_wording, request.variants)):
        wordings.setdefault(variant.casefold(), variant)
    return Question(
        wordings=tuple(wordings.values()),
        filters=tuple(filter(None, filters)),
        min_date=request.min_date.strip().replace("-", "/"),
        max_date=request.max_date.strip().replace("-", "/"),
    )


def _wording(text: str) -> str:
    wording = clean_line(text)
    if len(wording) > LONGEST_QUERY:
        raise InvalidInputError(
            f"A query has at most {LONGEST_QUERY:,} characters, this one {len(wording):,}: keep the essential terms."
        )
    return wording


def _check_page(request: LiteratureRequest) -> None:
    if not 1 <= request.max_results <= MOST_RESULTS:
        raise InvalidInputError(f"max_results: 1 to {MOST_RESULTS}, got {request.max_results}.")
    if request.offset < 0:
        raise InvalidInputError(f"offset: 0 or more, got {request.offset}.")
    if request.offset + request.max_results > LAST_RESULT:
        left = LAST_RESULT - request.offset
        nearly = f" At this offset max_results may be at most {left}." if left > 0 else ""
        last = request.offset + request.max_results
        raise InvalidInputError(f"Results {request.offset + 1:,} to {last:,} cannot be had. {SLICING}{nearly}")


def _day(name: str, text: str, *, last: bool) -> tuple[int, int, int] | None:
    """The first or the last day that a partial date means, None for ""."""
    text = text.strip()
    if not text:
        return None
    parts = _DATE.fullmatch(text)
    if not parts:
        raise InvalidInputError(f'{name} "{clean_line(text)[:40]}" is no date: write YYYY, YYYY-MM or YYYY-MM-DD.')
    year, month = int(parts[1]), int(parts[2] or (12 if last else 1))
    if year < 1 or not 1 <= month <= 12:
        raise InvalidInputError(f'{name} "{text}" does not exist: write YYYY, YYYY-MM or YYYY-MM-DD.')
    days = calendar.monthrange(year, month)[1]
    day = int(parts[3] or (days if last else 1))
    if not 1 <= day <= days:
        raise InvalidInputError(f'{name} "{text}" does not exist: that month has {days} days.')
    return year, month, day


def _types_filter(names: tuple[str, ...]) -> str:
    given = [clean_line(name) for name in names if clean_line(name)]
    unknown = [name for name in given if not publication_type(name)]
    if unknown:
        raise InvalidInputError(" ".join(map(_unknown_type, unknown)))
    types = dict.fromkeys(map(publication_type, given))
    terms = " OR ".join(f'"{name}"[Publication Type]' for name in types)
    return f"({terms})" if len(types) > 1 else terms


def _unknown_type(name: str) -> str:
    near = near_publication_types(name)
    hint = f"Did you mean {' or '.join(near)}?" if near else 'E.g. "Review", "Randomized Controlled Trial".'
    return f'publication_types: PubMed has no type "{name[:60]}". {hint}'
