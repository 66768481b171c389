"""A table of studies, a row for each record, with what can be read in it without guessing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.cell_tables import cell, csv_table, markdown_table
from deepcritical_mcp.export.flow_numbers import has_whole_text
from deepcritical_mcp.export.registered_facts import registered_facts
from deepcritical_mcp.export.study_design import study_designs
from deepcritical_mcp.export.study_setting import population, study_countries, trial_numbers
from deepcritical_mcp.export.study_size import people_included, studies_included
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.text import clean_line, clipped

TABLE_OUTPUTS = ("csv", "markdown")
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


def study_values(publication: Publication, columns: Sequence[str]) -> list[str]:
    """The cells of a publication in these columns, which are among `TABLE_FIELDS`."""
    study = _Study(publication)
    return [_READ[name](study) for name in columns]


def study_table(publications: Iterable[Publication], output: str, *, fields: Sequence[str] = ()) -> str:
    """A row for each of `publications` but the user's notes, as "csv" or "markdown", with the columns `fields`.

    A cell is empty where the record does not say. Nothing is judged, and no number is a guess: `n` is empty if the
    abstract has several that could be meant. Designs are those that publication types, title, MeSH headings and
    abstract name; countries those of a registry, MeSH or the title.

    Raises:
        InvalidInputError: there is no such output or column; the message lists those that there are.
    """
    for name, known in ((output, TABLE_OUTPUTS), *((one, TABLE_FIELDS) for one in fields)):
        if name not in known:
            raise InvalidInputError(f'A study table has no "{clean_line(name)[:40]}". There are {", ".join(known)}.')
    columns = tuple(dict.fromkeys(fields)) or TABLE_FIELDS
    rows = (study_values(one, columns) for one in publications if not one.is_note)
    if output == "csv":
        return csv_table(columns, rows)
    return markdown_table([one.replace("_", " ") for one in columns], ([cell(text) for text in row] for row in rows))
