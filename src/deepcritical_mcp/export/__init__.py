"""Publications in the forms that reference managers, word processors and other programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export import bibtex, csl, markdown, ris
from deepcritical_mcp.export.reference import Reference, references
from deepcritical_mcp.export.reference import with_notes as with_notes
from deepcritical_mcp.models import Publication
from deepcritical_mcp.models.version_0_1 import upgraded

ExportFormat = Literal["bibtex", "ris", "csl-json", "markdown", "jsonl"]


@dataclass(frozen=True)
class ExportFile:
    """A format's file: its extension and media type, and how its records are combined."""

    extension: str
    media_type: str
    entry: Callable[[Reference], str]
    head: str = ""
    separator: str = ""
    tail: str = ""

    def combined(self, entries: Iterable[str]) -> str:
        """A file of these records."""
        return f"{self.head}{self.separator.join(entries)}{self.tail}"


def _jsonl(reference: Reference) -> str:
    return f"{reference.publication.model_dump_json(exclude_defaults=True)}\n"


NOTES_IN: tuple[ExportFormat, ...] = ("markdown", "jsonl")
EXPORT_FILES: Mapping[ExportFormat, ExportFile] = {
    "bibtex": ExportFile("bib", "application/x-bibtex", bibtex.entry, separator="\n"),
    "ris": ExportFile("ris", "application/x-research-info-systems", ris.entry, separator="\n"),
    "csl-json": ExportFile(
        "json", "application/vnd.citationstyles.csl+json", csl.entry, head="[\n", separator=",\n", tail="\n]\n"
    ),
    "markdown": ExportFile("md", "text/markdown", markdown.entry, separator="\n"),
    "jsonl": ExportFile("jsonl", "application/jsonl", _jsonl),
}


def listed(publications: Iterable[Publication], format: ExportFormat) -> list[Publication]:
    """Those of `publications` that a file of `format` lists: notes of the user are no references."""
    return [one for one in publications if format in NOTES_IN or not one.is_note]


def export(publications: Sequence[Publication], format: ExportFormat) -> str:
    """`publications`, in their order, as one text file of `format`, with "\\n" between lines and at the end.

    The user's notes on publications among them are exported with those (see `with_notes`), except in `jsonl`; other
    notes only in `NOTES_IN`, because they are no references. A retracted publication is marked as such in its title and
    in a note. Citation keys (BibTeX, CSL-JSON) depend only on the publication and on what precedes it, so that they
    stay when a session grows. Only `jsonl` can be read back, with `read_jsonl`.
    """
    cited = publications if format == "jsonl" else _without_notes(publications)
    return EXPORT_FILES[format].combined(map(EXPORT_FILES[format].entry, references(listed(cited, format))))


def export_part(
    publications: Sequence[Publication], format: ExportFormat, *, start: int, limit: int
) -> tuple[str, int]:
    """As many whole records from `start` on as fit into `limit` characters, at least one, and their number.

    The caller has applied `with_notes` and `listed`. Each part is a file of its own; keys and numbers are those of the
    whole export, so that parts can be combined.
    """
    file, entries, length = EXPORT_FILES[format], list[str](), 0
    for reference in references(publications, start):
        text = file.entry(reference)
        length += len(text) + len(file.separator)
        if entries and length + len(file.head) + len(file.tail) > limit:
            break
        entries.append(text)
    return file.combined(entries), len(entries)


def export_entries(publications: Sequence[Publication], format: Literal["bibtex", "ris"]) -> dict[str, str]:
    """Each publication's record by id; joined with empty lines, they are a valid file."""
    cited = references(listed(_without_notes(publications), format))
    return {reference.publication.id: EXPORT_FILES[format].entry(reference) for reference in cited}


def _without_notes(publications: Sequence[Publication]) -> list[Publication]:
    cited = with_notes(publications)
    return [cited[one.id] for one in publications if cited[one.id].id == one.id]


def read_jsonl(text: str) -> list[Publication]:
    """The publications of a file that `export(..., "jsonl")` wrote, also with version 0.1; empty lines are skipped.

    Raises:
        InvalidInputError: a line is not a publication; the message names the line and the problem.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    return [one for number, line in enumerate(lines, start=1) if line.strip() for one in _publications(line, number)]


def _publications(line: str, number: int) -> list[Publication]:
    try:
        return [Publication.model_validate_json(line)]
    except ValidationError as error:
        with suppress(ValueError):
            return upgraded(line)
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = f"{where} is missing or invalid" if where else "it is not a JSON object"
        raise InvalidInputError(
            f"Line {number} is not a publication ({reason}). Export the session again as jsonl."
        ) from None
