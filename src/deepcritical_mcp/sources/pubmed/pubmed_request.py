"""Requests to PubMed; each filter declares the search term that it adds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import SearchFilter, language_names
from deepcritical_mcp.sources.base import Hit, SearchRequest
from deepcritical_mcp.sources.date_limits import checked_limits, dates_in_words
from deepcritical_mcp.sources.pubmed.publication_types import near_publication_types, publication_type
from deepcritical_mcp.sources.pubmed.search_filters import AGE_GROUPS, HUMANS, STUDY_FILTERS, AgeGroup, StudyFilter
from deepcritical_mcp.text import clean_line, counted

Sort = Literal["relevance", "date"]


MAX_TERM = 200
"""Characters of an author's, journal's or language's name."""


@dataclass(frozen=True)
class Term:
    """The term that a filter adds to every variant; `of` gets the field's value, and "" means no term."""

    of: Callable[[Any], str]


def _tagged(text: str, tag: str) -> str:
    """A term in one field; "" for a blank one."""
    words = clean_line(text.replace('"', " ")).rstrip(".")
    if len(words) > MAX_TERM:
        raise InvalidInputError(f"{tag.lower()}: at most {MAX_TERM} characters.")
    return f'"{words}"[{tag}]' if words else ""


def _languages_term(text: str) -> str:
    given = re.split(r"[,;|/]| (?:and|or|AND|OR) ", text if _tagged(text, "Language") else "")
    terms = [_tagged(name, "Language") for name in dict.fromkeys(language_names(",".join(given)))]
    return f"({' OR '.join(terms)})" if len(terms) > 1 else "".join(terms)


def _created_since(day: str) -> str:
    first = day.replace("-", "/")
    return f'("{first}"[crdt] : "3000"[crdt])' if day else ""


def _types_term(names: Sequence[str]) -> str:
    given = [clean_line(name) for name in names if clean_line(name)]
    unknown = [name for name in given if not publication_type(name)]
    if unknown:
        raise InvalidInputError(" ".join(map(_unknown_type, unknown)))
    terms = [f'"{name}"[Publication Type]' for name in dict.fromkeys(map(publication_type, given))]
    return f"({' OR '.join(terms)})" if len(terms) > 1 else "".join(terms)


def _unknown_type(name: str) -> str:
    near = near_publication_types(name)
    hint = f"Did you mean {' or '.join(near)}?" if near else 'E.g. "Review", "Randomized Controlled Trial".'
    return f'publication_types: PubMed has no type "{name[:60]}". {hint}'


def _filter_term(filters: Mapping[Any, SearchFilter], key: str) -> str:
    """The term of one of `filters`; "" for the word that means none of them."""
    return filters[key].pubmed if key in filters else ""


class PubMedRequest(SearchRequest):
    """The arguments of `pubmed_search`.

    `query` and `variants` are plain words or PubMed's own syntax and reach PubMed unchanged. `min_date` and `max_date`
    are "YYYY[-MM[-DD]]", both inclusive, "" = open. A record needs one of `publication_types` (PubMed's names).
    `author` is written as in "Smith J", `journal` as its title or abbreviation, `language` in English or as a code.
    `since` is the first day ("YYYY-MM-DD") on which PubMed may have created a record, "" = any.
    """

    LAST_RESULT: ClassVar[int] = 9_998
    NARROWING: ClassVar[str] = (
        "PubMed returns only the first 9,998 results of a search. Split it: repeat the search with min_date and "
        "max_date for one period after another, or narrow it by publication_types or further terms."
    )

    sort: Sort = "relevance"
    min_date: str = ""
    max_date: str = ""
    publication_types: Annotated[tuple[str, ...], Term(_types_term)] = ()
    has_abstract: Annotated[bool, Term(lambda wanted: "hasabstract" if wanted else "")] = False
    study_filter: Annotated[StudyFilter, Term(lambda key: _filter_term(STUDY_FILTERS, key))] = "none"
    age_group: Annotated[AgeGroup, Term(lambda key: _filter_term(AGE_GROUPS, key))] = "any"
    humans_only: Annotated[bool, Term(lambda wanted: HUMANS.pubmed if wanted else "")] = False
    author: Annotated[str, Term(lambda name: _tagged(name, "Author"))] = ""
    journal: Annotated[str, Term(lambda name: _tagged(name, "Journal"))] = ""
    language: Annotated[str, Term(_languages_term)] = ""
    since: Annotated[str, Term(_created_since)] = ""
    include_retracted: bool = True

    @property
    def order(self) -> str:
        return "newest first" if self.sort == "date" else "best match"

    @model_validator(mode="after")
    def _check_filters(self) -> Self:
        checked_limits(self.min_date, self.max_date)
        self.term("")
        return self

    def term(self, variant: str) -> str:
        """The search term for `variant` with all filters; the variant itself if there are none."""
        terms = [
            term.of(getattr(self, name))
            for name, field in type(self).model_fields.items()
            for term in field.metadata
            if isinstance(term, Term)
        ]
        filters = list(filter(None, terms))
        return " AND ".join((f"({variant})", *filters)) if filters else variant

    def limits(self) -> Iterator[str]:
        yield from dates_in_words(self.min_date, self.max_date)
        if self.publication_types:
            yield f"publication type {' or '.join(map(publication_type, self.publication_types))}"
        if self.study_filter != "none":
            yield f"study filter {STUDY_FILTERS[self.study_filter].name}"
        if self.age_group != "any":
            yield f"age group {AGE_GROUPS[self.age_group].name}"
        yield from (words for words, is_on in self._switches() if is_on)
        names = {"author": self.author, "journal": self.journal, "language": ", ".join(language_names(self.language))}
        yield from (f"{name} {clean_line(value)}" for name, value in names.items() if clean_line(value))
        if self.since:
            yield f"added to PubMed since {self.since}"
        yield from super().limits()

    def _switches(self) -> Iterator[tuple[str, bool]]:
        yield "only with an abstract", self.has_abstract
        yield "only humans", self.humans_only
        yield "without retracted papers", not self.include_retracted
        yield "newest first", self.sort == "date"

    def leave_out(self, found: Sequence[Hit]) -> tuple[list[Hit], tuple[str, ...]]:
        """`found` without retracted papers, unless requested."""
        retracted = [hit.publication.pmid for hit in found if hit.publication.status == "retracted"]
        if self.include_retracted or not retracted:
            return list(found), ()
        papers = counted(len(retracted), "retracted paper was", "retracted papers were")
        kept = [hit for hit in found if hit.publication.status != "retracted"]
        return kept, (f"{papers} omitted from this page: PMID {', '.join(retracted)}.",)
