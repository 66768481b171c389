"""Publications in the forms that reference managers, word processors and other programs read.

`reference` is what all formats need of a publication, `reference_managers` writes it. `bibliography`
writes lists of references in journals' styles: `citation_style` reads a style, `style_values` says what it gets of a
publication, and how names, dates and pages are written, as `rich_text`. `study_table` has a row for each
study, with what it reads in its record; `search_log` and `flow_numbers` are for PRISMA; `tables` writes
cells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.reference import Reference, references, with_fields
from deepcritical_mcp.export.reference import quotable as quotable
from deepcritical_mcp.export.reference import with_notes as with_notes
from deepcritical_mcp.export.reference import without_full_texts as without_full_texts
from deepcritical_mcp.export.reference_managers import (
    bibtex_entry,
    csl_entry,
    entry_of_fields,
    markdown_entry,
    ris_entry,
)
from deepcritical_mcp.export.tables import JSON_ARRAY, TextPieces
from deepcritical_mcp.models import Publication

ExportFormat = Literal["bibtex", "ris", "csl-json", "markdown", "jsonl"]
"""The formats that write one record after another."""


NOTES_IN: tuple[ExportFormat, ...] = ("markdown", "jsonl")
_WRITERS: Mapping[ExportFormat, Callable[[Reference], str]] = {
    "bibtex": bibtex_entry,
    "ris": ris_entry,
    "csl-json": csl_entry,
    "markdown": markdown_entry,
    "jsonl": lambda one: f"{one.publication.model_dump_json(exclude_defaults=True)}\n",
}
EXPORT_FILES: Mapping[ExportFormat, TextPieces] = {
    **dict.fromkeys(("bibtex", "ris", "markdown"), TextPieces(separator="\n")),
    "csl-json": JSON_ARRAY,
    "jsonl": TextPieces(),
}
"""A file of each format, without its records."""


def listed(publications: Iterable[Publication], format: ExportFormat) -> list[Publication]:
    """Those of `publications` that a file of `format` lists: the user's notes are not references."""
    return [one for one in publications if format in NOTES_IN or not one.is_note]


def written_entries(
    publications: Sequence[Publication],
    format: ExportFormat,
    *,
    start: int = 0,
    abstracts: bool = True,
    fields: Collection[str] = (),
) -> Iterator[str]:
    """The records from `start` on, each as `format` writes it; with `fields`, only these (see `chosen_fields`).

    The caller has applied `listed` and, except for `jsonl`, `with_notes`. Keys and numbers are those of the whole
    export, so that parts can be combined. Citation keys (BibTeX, CSL-JSON) depend only on the publication and on what
    precedes it, so that they stay when a session grows. Of full texts there is no more than may be repeated. `jsonl`
    is always complete.
    """
    write = _WRITERS[format]
    for reference in references(map(without_full_texts, publications), start):
        if fields and format == "markdown":
            yield entry_of_fields(reference, fields)
        else:
            yield write(with_fields(reference, fields) if fields else replace(reference, has_texts=abstracts))


def export_entries(publications: Sequence[Publication], format: Literal["bibtex", "ris"]) -> dict[str, str]:
    """Each publication's record by id; joined with empty lines, they are a valid file."""
    cited = [one for id, one in with_notes(publications).items() if one.id == id]
    return {one.publication.id: _WRITERS[format](one) for one in references(listed(cited, format))}


def read_jsonl(text: str) -> list[Publication]:
    """The publications of a `jsonl` file; empty lines are skipped.

    Raises:
        InvalidInputError: a line is not a publication; the message names the line and the problem.
    """
    publications = list[Publication]()
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        try:
            publications += [Publication.model_validate_json(line)] if line.strip() else []
        except ValidationError as error:
            where = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
            reason = f"{where} is missing or invalid" if where else "it is not a JSON object"
            told = f"Line {number} is not a publication ({reason}). Export the session again as jsonl."
            raise InvalidInputError(told) from None
    return publications
