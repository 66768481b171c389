"""Requests to ClinicalTrials.gov, in its query language, and its names of countries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import query_problem
from deepcritical_mcp.sources.base import SearchRequest, any_of
from deepcritical_mcp.text import clean_line, data_lines, normalized, without_question_words

_MARK = re.compile("[\u0300-\u036f]")


def _key(name: str) -> str:
    plain = _MARK.sub("", normalized("NFKD", name.casefold()))
    return " ".join(re.findall(r"[^\W_]+", plain)).removeprefix("the ")


_ROWS = (row.partition(":") for row in data_lines(__file__, "countries.txt"))
_OFFICIAL = ((tuple(map(str.strip, official.split("|"))), others) for official, _, others in _ROWS)
_BY_NAME = {_key(one): names for names, others in _OFFICIAL for one in (*names, *others.split(",")) if _key(one)}
"""ClinicalTrials.gov's names of a country, by each of its names."""


def country_names(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """ClinicalTrials.gov's names of the countries in `text` (one, or several with commas, semicolons or "or" between
    them), and a remark on each that is unknown and stays as written."""
    line = clean_line(text.replace('"', " "))
    given = [line] if _key(line) in _BY_NAME else re.split(r"[;,/|]| (?:or|and|OR|AND) ", line)
    names: dict[str, None] = {}
    remarks: list[str] = []
    for one in filter(None, map(clean_line, given)):
        known = _BY_NAME.get(_key(one), ())
        names |= dict.fromkeys(known or (one,))
        if not known:
            near = get_close_matches(_key(one), _BY_NAME, n=1, cutoff=0.75)
            hint = f' Did you mean "{_BY_NAME[near[0]][0]}"?' if near else ""
            remarks.append(f'country "{one[:40]}" is not a name known here and was searched as written.{hint}')
    return tuple(names), tuple(remarks)


# fmt: off
TrialStatus = Literal[
    "not_yet_recruiting", "recruiting", "enrolling_by_invitation", "active_not_recruiting", "completed", "suspended",
    "terminated", "withdrawn", "unknown",
]
# fmt: on
TrialPhase = Literal["early_phase1", "phase1", "phase2", "phase3", "phase4", "na"]
StudyType = Literal["any", "interventional", "observational", "expanded_access"]
_NUMBERS_ONLY = re.compile(r"\(?NCT[0-9]{8}(?:(?:[\s,()]|\bOR\b)+NCT[0-9]{8})*\)?", re.IGNORECASE)
_SPECIAL = '[]{}()"'
MAX_COUNTRY = 200


class TrialRequest(SearchRequest):
    """The arguments of `trial_search`; one of `query`, `condition` and `intervention` is needed.

    They are words or ClinicalTrials.gov's own syntax. A trial needs one of `status`, one of `phase`, and a site in
    `country`. Without a query, `condition` and `intervention` stand for it. `since` is the first day
    ("YYYY-MM-DD") on which a trial may have been posted, "" = any.
    """

    LAST_RESULT: ClassVar[int] = 1_000
    NARROWING: ClassVar[str] = (
        "Only the first 1,000 results of a search of trials can be reached: narrow it by condition, intervention, "
        "status, phase or country."
    )

    condition: str = ""
    intervention: str = ""
    status: tuple[TrialStatus, ...] = ()
    phase: tuple[TrialPhase, ...] = ()
    study_type: StudyType = "any"
    has_results: bool = False
    country: str = ""
    since: str = ""

    @model_validator(mode="before")
    @classmethod
    def _take_fields_for_query(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        if clean_line(str(given.get("query", ""))):
            return given
        if not (named := _described(str(given.get("condition", "")), str(given.get("intervention", "")))):
            raise InvalidInputError("Pass one of query, condition and intervention: all are blank.")
        return {**given, "query": named}

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        for name, text in (("condition", clean_line(self.condition)), ("intervention", clean_line(self.intervention))):
            if text and (problem := query_problem(text)):
                raise InvalidInputError(f"{name}: {problem}.")
        if len(self.country) > MAX_COUNTRY:
            raise InvalidInputError(f"country: at most {MAX_COUNTRY} characters.")
        return self

    def params(self, variant: str) -> dict[str, str]:
        """What is sent to search for `variant` under all filters."""
        is_repetition = variant == _described(self.condition, self.intervention)
        # "Guinea" must not find Papua New Guinea.
        countries = (f'AREA[LocationCountry]COVERAGE[FullMatch]"{one}"' for one in country_names(self.country)[0])
        areas = (
            any_of(f"AREA[Phase]{one.upper()}" for one in dict.fromkeys(self.phase)),
            f"AREA[StudyType]{self.study_type.upper()}" if self.study_type != "any" else "",
            f"AREA[StudyFirstPostDate]RANGE[{self.since},MAX]" if self.since else "",
            any_of(countries),
        )
        sent = {
            "query.term": "" if is_repetition else without_question_words(variant),
            "query.cond": clean_line(self.condition),
            "query.intr": clean_line(self.intervention),
            "filter.overallStatus": ",".join(one.upper() for one in dict.fromkeys(self.status)),
            "filter.advanced": " AND ".join(filter(None, areas)),
            "aggFilters": "results:with" if self.has_results else "",
        }
        return {name: value for name, value in sent.items() if value}

    def filters(self) -> Iterable[str]:
        named = {"condition": self.condition, "intervention": self.intervention, "country": self.country}
        yield from (f"{name} {clean_line(value)}" for name, value in named.items() if clean_line(value))
        for name, values in (("status", self.status), ("phase", self.phase)):
            yield f"{name} {' or '.join(one.replace('_', ' ') for one in values)}" if values else ""
        yield f"study type {self.study_type.replace('_', ' ')}" if self.study_type != "any" else ""
        yield "only with posted results" if self.has_results else ""
        yield f"posted since {self.since}" if self.since else ""

    def remarks(self, variant: str) -> Iterable[str]:
        """Remarks on what is searched differently than it was asked for."""
        yield from country_names(self.country)[1]
        filters = ("status", "phase", "study_type", "has_results", "country")
        given = [name for name in filters if getattr(self, name) != type(self).model_fields[name].default]
        if given and _NUMBERS_ONLY.fullmatch(variant):
            named = ", ".join(given)
            yield f"ClinicalTrials.gov ignores filters where the query has only NCT numbers: {named} had no effect."

    def special(self, variant: str) -> str:
        """The characters of the query, condition and intervention that have a meaning in the query language."""
        return " ".join(one for one in _SPECIAL if one in f"{variant} {self.condition} {self.intervention}")


def _described(condition: str, intervention: str) -> str:
    return clean_line(f"{condition} {intervention}")
