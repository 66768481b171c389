"""Requests to PubMed: publication types, published search filters, and the term that each filter adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import ClassVar, Literal, Self, get_args

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import Publication, SearchFilter, language_names
from deepcritical_mcp.sources.base import DatedRequest, Remaining, any_of
from deepcritical_mcp.text import clean_line, counted, data_lines

_ROW = re.compile(r"(?P<type>[^:?]+)(?:: (?P<common>[^?]+))?(?: \? (?P<vague>.+))?")
_ROWS = [*filter(None, map(_ROW.fullmatch, data_lines(__file__, "publication_types.txt")))]
PUBLICATION_TYPES = tuple(row["type"].strip() for row in _ROWS)
_COMMON_NAMES, _VAGUE_NAMES = (
    {name.strip(): row["type"].strip() for row in _ROWS for name in (row[kind] or "").split("; ") if name}
    for kind in ("common", "vague")
)
_NEAR = 0.65
_PHASE = re.compile(r"phase ([1-4])\b")
_ROMAN = ("i", "ii", "iii", "iv")


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))


_BY_NAME = {_plain(name): name for name in PUBLICATION_TYPES}


def publication_type(name: str) -> str:
    """PubMed's spelling of a publication type, "" if there is no such type; case and punctuation do not matter."""
    return _BY_NAME.get(_plain(name), "")


def understood_publication_types(text: str) -> list[str]:
    """PubMed's names for types in plural, in British spelling, under a common name or several in one text; what is
    not known stays as it is."""
    parts = re.split(r"[,;|/]| (?:and|or|AND|OR|&) ", " ".join(text[:400].replace("\n", ";").split()))
    whole, several = _understood(text), [*map(_understood, filter(str.strip, parts))]
    return [whole] if whole else several if len(several) > 1 and all(several) else [text]


def _understood(name: str) -> str:
    return next(filter(None, map((_COMMON_NAMES | _BY_NAME).get, _numbers_of(name))), "")


def _numbers_of(name: str) -> list[str]:
    """A name as it is, in the singular and in the plural."""
    plain = _numbered(name[:200])
    ends = (("", ""), ("s", ""), ("ies", "y"), ("yses", "ysis"), ("", "s"))
    return [plain.removesuffix(end) + singular for end, singular in ends if plain.endswith(end)]


def _numbered(name: str) -> str:
    american = _plain(name).replace("randomis", "randomiz").replace("centre", "center")
    return _PHASE.sub(lambda match: f"phase {_ROMAN[int(match[1]) - 1]}", american)


def near_publication_types(name: str, *, limit: int = 3) -> list[str]:
    """The types that `name` most likely stands for, best first."""
    wanted = _numbered(name)
    if vague := next(filter(None, map(_VAGUE_NAMES.get, _numbers_of(name))), ""):
        return [vague]
    words, close = set(wanted.split()), get_close_matches(wanted, _BY_NAME, n=len(_BY_NAME), cutoff=0.0)
    within = [key for key in close if words and (words <= set(key.split()) or set(key.split()) <= words)]
    near = [*within, *get_close_matches(wanted, close, n=limit, cutoff=_NEAR)]
    return [one for one in dict.fromkeys([_understood(name), *(_BY_NAME[key] for key in near)]) if one][:limit]


# fmt: off
StudyFilter = Literal[
    "none", "therapy", "therapy_broad", "diagnosis", "diagnosis_broad", "prognosis", "prognosis_broad", "etiology",
    "etiology_broad", "prediction", "prediction_broad", "rct", "systematic_review",
]
AgeGroup = Literal[
    "any", "newborn", "infant", "preschool", "child", "adolescent", "under_18", "adult", "middle_aged", "aged",
    "over_80",
]
# fmt: on


_FILTERS = {
    key: SearchFilter(name=name, pubmed=pubmed, source=source)
    for key, name, pubmed, source in (row.split(" | ") for row in data_lines(__file__, "search_filters.txt"))
}
STUDY_FILTERS = {key: _FILTERS[key] for key in get_args(StudyFilter) if key in _FILTERS}
AGE_GROUPS = {key: _FILTERS[key] for key in get_args(AgeGroup) if key in _FILTERS}
HUMANS = _FILTERS["humans"]
Sort = Literal["relevance", "date"]


MAX_TERM = 200
"""Characters of an author's, journal's or language's name."""


def _tagged(text: str, tag: str) -> str:
    """A term in one field; "" for a blank one."""
    words = clean_line(text.replace('"', " ")).rstrip(".")
    if len(words) > MAX_TERM:
        raise InvalidInputError(f"{tag.lower()}: at most {MAX_TERM} characters.")
    return f'"{words}"[{tag}]' if words else ""


class PubMedRequest(DatedRequest):
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
    publication_types: tuple[str, ...] = ()
    has_abstract: bool = False
    study_filter: StudyFilter = "none"
    age_group: AgeGroup = "any"
    humans_only: bool = False
    author: str = ""
    journal: str = ""
    language: str = ""
    include_retracted: bool = True

    @property
    def order(self) -> str:
        return "newest first" if self.sort == "date" else "best match"

    @model_validator(mode="after")
    def _check_filters(self) -> Self:
        self.term("")
        return self

    def term(self, variant: str) -> str:
        """The search term for `variant` with all filters; the variant itself if there are none."""
        types = [clean_line(name) for name in self.publication_types if clean_line(name)]
        problems: list[str] = []
        for name in (name for name in types if not publication_type(name)):
            near = near_publication_types(name)
            hint = f"Did you mean {' or '.join(near)}?" if near else 'E.g. "Review", "Randomized Controlled Trial".'
            problems.append(f'publication_types: PubMed has no type "{name[:60]}". {hint}')
        if problems:
            raise InvalidInputError(" ".join(problems))
        chosen = STUDY_FILTERS.get(self.study_filter), AGE_GROUPS.get(self.age_group), self.humans_only and HUMANS
        terms = (
            f'("{self.since.replace("-", "/")}"[crdt] : "3000"[crdt])' if self.since else "",
            any_of(f'"{name}"[Publication Type]' for name in dict.fromkeys(map(publication_type, types))),
            "hasabstract" if self.has_abstract else "",
            *(one.pubmed for one in chosen if one),
            _tagged(self.author, "Author"),
            _tagged(self.journal, "Journal"),
        )
        languages = re.split(r"[,;|/]| (?:and|or|AND|OR) ", self.language) if _tagged(self.language, "Language") else []
        named = dict.fromkeys(language_names(",".join(languages)))
        filters = list(filter(None, (*terms, any_of(_tagged(name, "Language") for name in named))))
        return " AND ".join((f"({variant})", *filters)) if filters else variant

    def filters(self) -> Iterable[str]:
        types, age, study = self.publication_types, self.age_group, self.study_filter
        yield self.dates_in_words("published")
        yield f"publication type {' or '.join(map(publication_type, types))}" if types else ""
        yield f"study filter {STUDY_FILTERS[study].name}" if study != "none" else ""
        yield f"age group {AGE_GROUPS[age].name}" if age != "any" else ""
        yield "only with an abstract" if self.has_abstract else ""
        yield "only humans" if self.humans_only else ""
        yield "" if self.include_retracted else "without retracted papers"
        yield "newest first" if self.sort == "date" else ""
        names = {"author": self.author, "journal": self.journal, "language": ", ".join(language_names(self.language))}
        yield from (f"{name} {clean_line(value)}" for name, value in names.items() if clean_line(value))
        yield f"added to PubMed since {self.since}" if self.since else ""

    def leave_out(self, found: Sequence[Publication], scores: Mapping[str, float]) -> Remaining:
        """`found` without retracted papers, unless requested."""
        retracted = [one.pmid for one in found if one.status == "retracted" and not self.include_retracted]
        if not retracted:
            return list(found), ()
        papers = counted(len(retracted), "retracted paper was", "retracted papers were")
        told = f"{papers} omitted from this page: PMID {', '.join(retracted)}."
        return [one for one in found if one.status != "retracted"], (told,)
