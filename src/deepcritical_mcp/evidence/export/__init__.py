"""Evidence in the forms that reference managers, word processors and other programs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from deepcritical_mcp.evidence.export import bibtex, csl, jsonl, markdown, ris
from deepcritical_mcp.evidence.export.jsonl import read_jsonl
from deepcritical_mcp.evidence.export.reference import Reference, references
from deepcritical_mcp.models import Evidence

__all__ = ["EXPORT_FILES", "ExportFile", "ExportFormat", "export", "export_entries", "read_jsonl"]

ExportFormat = Literal["bibtex", "ris", "csl-json", "markdown", "jsonl"]


@dataclass(frozen=True)
class ExportFile:
    """How a format's files are called and typed."""

    extension: str
    media_type: str


EXPORT_FILES: Mapping[ExportFormat, ExportFile] = {
    "bibtex": ExportFile("bib", "application/x-bibtex"),
    "ris": ExportFile("ris", "application/x-research-info-systems"),
    "csl-json": ExportFile("json", "application/vnd.citationstyles.csl+json"),
    "markdown": ExportFile("md", "text/markdown"),
    "jsonl": ExportFile("jsonl", "application/jsonl"),
}


def export(evidence: Sequence[Evidence], format: ExportFormat) -> str:
    """`evidence`, in its order, as one text file of `format`, with "\\n" between lines and at the end.

    A retracted publication is marked as such in its title and in a note. Citation keys (BibTeX, CSL-JSON) depend only
    on the evidence and on what precedes it, so that they stay when a session grows. `jsonl` is the one format that
    `read_jsonl` takes back whole.
    """
    if format == "jsonl":
        return jsonl.write(evidence)
    return _WRITERS[format](references(evidence))


def export_entries(evidence: Sequence[Evidence], format: Literal["bibtex", "ris"]) -> dict[str, str]:
    """Each piece's own entry by its id; entries put one after the other are a file again."""
    entry = {"bibtex": bibtex.entry, "ris": ris.entry}[format]
    return {reference.evidence.id: entry(reference) for reference in references(evidence)}


_WRITERS: Mapping[ExportFormat, Callable[[Sequence[Reference]], str]] = {
    "bibtex": bibtex.write,
    "ris": ris.write,
    "csl-json": csl.write,
    "markdown": markdown.write,
}
