"""JSON Lines: one publication a line, with all that is known of it and nothing else, to be read back."""

from __future__ import annotations

from contextlib import suppress

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.models import Publication
from deepcritical_mcp.models.version_0_1 import upgraded


def entry(reference: Reference) -> str:
    """One line."""
    return f"{reference.publication.model_dump_json(exclude_defaults=True)}\n"


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
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise InvalidInputError(
            f"Line {number} is not a publication ({reason}). Export the session again as jsonl."
        ) from None
