"""Publications in the forms that reference managers, word processors and other programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from deepcritical_mcp.export import bibtex, csl, jsonl, markdown, ris
from deepcritical_mcp.export.jsonl import read_jsonl
from deepcritical_mcp.export.reference import Reference, references
from deepcritical_mcp.models import Publication

__all__ = ["EXPORT_FILES", "ExportFile", "ExportFormat", "export", "export_entries", "export_part", "read_jsonl"]

ExportFormat = Literal["bibtex", "ris", "csl-json", "markdown", "jsonl"]


@dataclass(frozen=True)
class ExportFile:
    """A format's file: how it is called and typed, and how its records are put together."""

    extension: str
    media_type: str
    entry: Callable[[Reference], str]
    head: str = ""
    separator: str = ""
    tail: str = ""


EXPORT_FILES: Mapping[ExportFormat, ExportFile] = {
    "bibtex": ExportFile("bib", "application/x-bibtex", bibtex.entry, separator="\n"),
    "ris": ExportFile("ris", "application/x-research-info-systems", ris.entry, separator="\n"),
    "csl-json": ExportFile(
        "json", "application/vnd.citationstyles.csl+json", csl.entry, head="[\n", separator=",\n", tail="\n]\n"
    ),
    "markdown": ExportFile("md", "text/markdown", markdown.entry, separator="\n"),
    "jsonl": ExportFile("jsonl", "application/jsonl", jsonl.entry),
}


def export(publications: Sequence[Publication], format: ExportFormat) -> str:
    """`publications`, in their order, as one text file of `format`, with "\\n" between lines and at the end.

    A retracted publication is marked as such in its title and in a note. Citation keys (BibTeX, CSL-JSON) depend only
    on the publication and on what precedes it, so that they stay when a session grows. `jsonl` is the one format that
    `read_jsonl` takes back whole.
    """
    return _file(format, map(EXPORT_FILES[format].entry, references(publications)))


def export_part(
    publications: Sequence[Publication], format: ExportFormat, *, start: int, limit: int
) -> tuple[str, int]:
    """As many whole records from `start` on as stay within `limit` characters, at least one, and how many they are.

    Each part is a file of its own; keys and numbers are those of the whole export, so that parts can be put together.
    """
    file, entries, length = EXPORT_FILES[format], list[str](), 0
    for reference in references(publications, start):
        text = file.entry(reference)
        length += len(text) + len(file.separator)
        if entries and length + len(file.head) + len(file.tail) > limit:
            break
        entries.append(text)
    return _file(format, iter(entries)), len(entries)


def export_entries(publications: Sequence[Publication], format: Literal["bibtex", "ris"]) -> dict[str, str]:
    """Each piece's own record by its id; records with an empty line between them are a file again."""
    return {reference.publication.id: EXPORT_FILES[format].entry(reference) for reference in references(publications)}


def _file(format: ExportFormat, entries: Iterator[str]) -> str:
    file = EXPORT_FILES[format]
    return f"{file.head}{file.separator.join(entries)}{file.tail}"
