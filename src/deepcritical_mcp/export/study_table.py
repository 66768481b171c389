"""Tables of studies and of chosen fields, a row for each record, with what can be read in it without guessing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepcritical_mcp.export.flow_numbers import has_whole_text
from deepcritical_mcp.export.reference import LISTED_FIELDS, Reference, listed_value, references
from deepcritical_mcp.export.study_facts import (
    people_included,
    population,
    studies_included,
    study_countries,
    study_designs,
    trial_numbers,
)
from deepcritical_mcp.export.tables import cell, csv_table, markdown_table
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.text import clean_line, clipped

_LINE = re.compile(r"^(Status|Phase|Design|Enrollment|Countries|Sponsor): (.{1,2000})$", re.MULTILINE)
_COUNT = re.compile(r"([0-9]{1,9})(?: \(estimated\))?", re.IGNORECASE)
_NOT_YET_WHOLE = ("not yet recruiting", "recruiting", "enrolling by invitation")
"""Statuses of trials whose number of people can only be planned, whether or not the registry says so."""
_SITES = re.compile(r" \([0-9,]+ sites?\)")


def registered_facts(record: Publication) -> Mapping[str, str]:
    """The lines by their labels, without the full stop; empty for anything but a registration.

    "Enrollment" says where it is known whether the number is "(actual)" or "(planned)", ClinicalTrials.gov's
    "estimated". Of "Design", "Design" has what precedes masking and purpose, and "Allocation" "randomized" or
    "non-randomized".
    """
    text = record.text
    if text.kind != "registration" or text.is_users:
        return {}
    facts = {label: said.removesuffix(".") for label, said in _LINE.findall(text.content)}
    parts = [part for part in facts.get("Design", "").split("; ") if part and ":" not in part]
    allocation = [part for part in parts if part.casefold() in ("randomized", "non-randomized", "non randomized")]
    countries, said = _SITES.sub("", facts.get("Countries", "")), facts.get("Enrollment", "")
    count, is_open = _COUNT.fullmatch(said), facts.get("Status", "").casefold() in _NOT_YET_WHOLE
    facts["Enrollment"] = f"{count[1]} (planned)" if count and (count[0] != count[1] or is_open) else said
    return facts | {"Design": "; ".join(parts), "Allocation": "".join(allocation[:1]), "Countries": countries}


_MAX_NAME = 40
_MAX_GRANTS = 5
_MAX_INTERESTS = 300


@dataclass(frozen=True)
class _Study:
    record: Publication

    @cached_property
    def facts(self) -> Mapping[str, str]:
        return registered_facts(self.record)

    @cached_property
    def designs(self) -> tuple[str, ...]:
        return () if self.facts else study_designs(self.record)

    @property
    def abstract(self) -> str:
        return self.record.text.content if self.record.text.kind == "abstract" else ""

    @property
    def name(self) -> str:
        """ "Berg et al. 2020", as tables of studies name one; without authors by its title."""
        authors = [one.family for one in self.record.authors[:2]]
        others = len(self.record.authors) > 2
        who = f"{authors[0]} et al." if others else " and ".join(authors) or clipped(self.record.title, _MAX_NAME)
        return f"{who} {self.year}".strip()

    @property
    def year(self) -> str:
        return "" if self.record.date == UNKNOWN_DATE else self.record.date[:4]

    @property
    def funding(self) -> str:
        grants = self.record.grants
        more = f"; and {len(grants) - _MAX_GRANTS} more" if len(grants) > _MAX_GRANTS else ""
        return self.facts.get("Sponsor", "") or "; ".join(grants[:_MAX_GRANTS]) + more


_READ: Mapping[str, Callable[[_Study], str]] = {
    "id": lambda one: one.record.id,
    "study": lambda one: one.name,
    "year": lambda one: one.year,
    "title": lambda one: one.record.title,
    "doi": lambda one: one.record.doi,
    "form": lambda one: one.record.form,
    "design": lambda one: one.facts.get("Design", "") or "; ".join(one.designs),
    "n": lambda one: one.facts.get("Enrollment", "") or people_included(one.abstract, one.designs),
    "studies_included": lambda one: studies_included(one.abstract, one.designs),
    "population": lambda one: "; ".join(population(one.record)),
    "country": lambda one: one.facts.get("Countries", "") or "; ".join(study_countries(one.record)),
    "phase": lambda one: one.facts.get("Phase", ""),
    "allocation": lambda one: one.facts.get("Allocation", ""),
    "trial_status": lambda one: one.facts.get("Status", ""),
    "registration": lambda one: "; ".join(trial_numbers(one.record)),
    "funding": lambda one: one.funding,
    "conflict_of_interest": lambda one: clipped(clean_line(one.record.conflict_of_interest), _MAX_INTERESTS),
    "full_text": lambda one: "yes" if has_whole_text(one.record) else "no",
    "status": lambda one: one.record.status,
    "status_checked": lambda one: one.record.status_checked,
    "decision": lambda one: one.record.screening,
    "reason": lambda one: one.record.screening_reason,
    "decisions": lambda one: "; ".join(one.record.history),
    "tags": lambda one: "; ".join(one.record.tags),
}
TABLE_FIELDS = tuple(_READ)
"""The columns, in this order unless others are asked for."""


TABLE_COLUMNS = tuple(dict.fromkeys((*TABLE_FIELDS, *LISTED_FIELDS)))
"""What a column may be; a name that both have means the study table's."""


def study_table(publications: Iterable[Publication], output: str, *, fields: Sequence[str] = ()) -> str:
    """A row for each of `publications` but the user's notes, as "csv" or "markdown", with the columns `fields`. The
    caller has applied `with_notes`.

    A cell is empty where the record does not say. Nothing is judged, and no number is a guess: `n` is empty if the
    abstract has several that could be meant. Designs are those that publication types, title, MeSH headings and
    abstract name; countries those of a registry, MeSH or the title.
    """
    columns = tuple(dict.fromkeys(fields)) or TABLE_FIELDS
    rows = (_row(one, columns) for one in references(one for one in publications if not one.is_note))
    if output == "csv":
        return csv_table(columns, rows)
    return markdown_table([one.replace("_", " ") for one in columns], ([cell(text) for text in row] for row in rows))


def _row(reference: Reference, fields: Sequence[str]) -> list[str]:
    """The title with the mark of a retracted publication, whichever table it is from."""
    study = _Study(reference.publication)
    is_listed = {name: name not in TABLE_FIELDS or name == "title" for name in fields}
    values = {name: listed_value(reference, name) if is_listed[name] else _READ[name](study) for name in fields}
    return [values[name] for name in fields]
