"""What a caller wants exported of a session, and whether the format can do it."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export import ExportFormat
from deepcritical_mcp.export.reference import LISTED_FIELDS, RECORD_FIELDS
from deepcritical_mcp.text import clean_line

AnyFormat = Literal[ExportFormat, "bibliography", "search-log", "table", "news"]
RECORD_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
_OF_SESSION = ("search-log", "news")
"""Formats about the whole session, of which nothing can be chosen."""


_TYPES = {
    "text": (".txt", "text/plain"),
    "markdown": (".md", "text/markdown"),
    "html": (".html", "text/html"),
    "csv": (".csv", "text/csv"),
    "json": (".json", "application/json"),
    "bibtex": (".bib", "application/x-bibtex"),
    "ris": (".ris", "application/x-research-info-systems"),
    "csl-json": (".json", "application/json"),
    "jsonl": (".jsonl", "application/x-ndjson"),
}
"""The ending of a file in one form, and its type."""
_MEDIA_TYPES = dict(_TYPES.values())
OUTPUTS: Mapping[AnyFormat, tuple[str, ...]] = {
    **{name: (name,) for name in RECORD_FORMATS},
    "bibliography": ("text", "markdown", "html"),
    "search-log": ("markdown", "csv", "json"),
    "table": ("csv", "markdown"),
    "news": ("markdown",),
}
"""The forms of each format, the default one first."""


@dataclass(frozen=True)
class ExportRequest:
    """A checked request.

    Attributes:
        ids: of what to export, in the session's spelling; () for all.
        style: of a bibliography, "" for the default one.
        output: one of `OUTPUTS`.
        fields: those that each record has; () for all.
        abstracts: whether abstracts and the texts of pasted documents are written.
        marked: see `matches_mark`; "" for all.
        own_styles: the folder of styles of a caller who may name files on this machine, too; None for others.
    """

    format: AnyFormat
    ids: tuple[str, ...] = ()
    style: str = ""
    output: str = ""
    fields: tuple[str, ...] = ()
    abstracts: bool = False
    marked: str = ""
    own_styles: Path | None = None

    @property
    def ends_with_report(self) -> bool:
        """Whether the report of the last check of a draft follows: Markdown of all that the session has."""
        return self.format == "markdown" and not (self.ids or self.fields or self.marked)

    @property
    def file_type(self) -> tuple[str, str]:
        """The ending of a file with this export, and its type."""
        return _TYPES[self.output]


def checked_request(request: ExportRequest) -> ExportRequest:
    """`request`, as the caller wrote it, with its defaults.

    Raises:
        InvalidInputError: the format cannot do it; the message says what fits.
    """
    format, outputs = request.format, OUTPUTS[request.format]
    request = replace(request, output=request.output.strip().lower())
    if request.output and request.output not in outputs:
        written = f'format={format} has no output "{clean_line(request.output)[:40]}"'
        helps = f"pass one of {', '.join(outputs)}" if len(outputs) > 1 else "leave output out"
        raise InvalidInputError(f"{written}: {helps}.")
    if request.style and format != "bibliography":
        raise InvalidInputError(f'style is for format="bibliography"; format={format} has none.')
    if request.abstracts and format not in RECORD_FORMATS:
        instead = ' fields=["title", "abstract"] puts them into a table.' if format == "table" else ""
        raise InvalidInputError(f"format={format} has no abstracts; {', '.join(RECORD_FORMATS)} have them.{instead}")
    if format in _OF_SESSION and (request.ids or request.marked):
        raise InvalidInputError(f"format={format} is about the whole session: leave ids and marked out.")
    fields = tuple(one.strip().lower() for one in request.fields)
    known = _known_fields(format)
    if fields and not known:
        why = ", which is always complete" if format == "jsonl" else ""
        raise InvalidInputError(
            f"fields cannot be chosen for format={format}{why}. They can for bibtex, ris, csl-json, markdown and table."
        )
    if fields and request.abstracts:
        fields += ("abstract",)
    if unknown := [one for one in fields if one not in known]:
        raise InvalidInputError(f'There is no field "{clean_line(unknown[0])[:40]}". There are {", ".join(known)}.')
    return replace(request, output=request.output or outputs[0], fields=tuple(dict.fromkeys(fields)))


def media_type_of(name: str) -> str:
    """The type of a file that an export was saved in, by its name."""
    return _MEDIA_TYPES.get(f".{name.rpartition('.')[2]}", "text/plain")


def _known_fields(format: AnyFormat) -> tuple[str, ...]:
    if format == "table":
        return pkgutil.resolve_name("deepcritical_mcp.export.study_table:TABLE_COLUMNS")
    return {"markdown": LISTED_FIELDS, "jsonl": ()}.get(format, RECORD_FIELDS if format in RECORD_FORMATS else ())
