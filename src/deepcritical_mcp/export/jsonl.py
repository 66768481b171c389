"""JSON Lines: one piece of evidence a line, with all that is known of it, to be read back."""

from __future__ import annotations

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.models import Evidence


def entry(reference: Reference) -> str:
    """One line."""
    return f"{reference.evidence.model_dump_json()}\n"


def read_jsonl(text: str) -> list[Evidence]:
    """The evidence of a file that `export(..., "jsonl")` wrote; empty lines are passed over.

    Raises:
        InvalidInputError: a line is no evidence; the message names the line and what is wrong with it.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    return [_piece(line, number) for number, line in enumerate(lines, start=1) if line.strip()]


def _piece(line: str, number: int) -> Evidence:
    try:
        return Evidence.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise InvalidInputError(
            f"Line {number} is not a piece of evidence ({reason}). Export the session again as jsonl."
        ) from None
