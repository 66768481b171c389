"""Messages about invalid arguments, written for a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.text import counted
from deepcritical_mcp.tools.names import nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_NAME_LENGTH = 80
MAX_PROBLEMS_LISTED = 5
NO_ID = (
    "session_id is required: nothing was deleted. Pass the id of the session to delete, with all it holds, as results "
    "show it (list_evidence shows the current one). For a fresh start nothing has to be deleted: pass "
    'session_id="new" to a search or to add_evidence.'
)
_EXPECTED = {"bool": "true or false", "int": "a whole number", "float": "a number", "model": "an object"}
_EXPECTED_TYPES = {"string_type": "text", "list_type": "a list", "dict_type": "an object"}


def invalid_arguments(error: ValidationError, schema: Mapping[str, Any] | None = None) -> InvalidInputError:
    """An error with one sentence per invalid field: what was expected and what was given.

    `schema` supplies the names of nested fields, for suggestions.
    """
    rows: dict[str, str] = {}
    for row in error.errors(include_url=False):
        parts = (f"[{part}]" if isinstance(part, int) else f".{part[:MAX_NAME_LENGTH]}" for part in row["loc"])
        field = "".join(parts).removeprefix(".")
        if row["type"] == "extra_forbidden":
            near = suggestion(str(row["loc"][-1]), _sibling_names(row["loc"], schema or {}))
            rows[field] = f"{field} is not a known field{near}"
        else:
            words = (schema or {}).get("properties", {}).get(field, {}).get("enum", ())
            choice = f": one of {', '.join(words)}" if row["type"] == "missing" and words else ""
            rows[field] = f"{field}{_problem(row)}{choice}."
            if row["type"] == "missing" and field == "session_id":  # only the tool that deletes requires it
                rows[field] = NO_ID
    return InvalidInputError(first_few(list(rows.values())))


def first_few(sentences: Sequence[str], *, of: int = 0) -> str:
    """The first sentences, and how many more there are."""
    left = max(of, len(sentences)) - MAX_PROBLEMS_LISTED
    return " ".join([*sentences[:MAX_PROBLEMS_LISTED], *([f"And {left} more."] if left > 0 else [])])


def _sibling_names(place: Sequence[str | int], schema: Mapping[str, Any]) -> Collection[str]:
    """The names of the known fields next to the unknown one at path `place`."""
    for part in place[:-1]:
        schema = schema.get("items", {}) if isinstance(part, int) else schema.get("properties", {}).get(part, {})
    return schema.get("properties", {})


def _problem(row: ErrorDetails) -> str:
    kind, value, bounds = row["type"], row["input"], row.get("ctx", {})
    unit = "character" if isinstance(value, str) else "item"
    match kind:
        case "missing":
            return " is required"
        case "too_long" | "string_too_long":
            return f": at most {counted(bounds['max_length'], unit)}, got {len(value):,}"
        case "too_short":
            return f": at least {counted(bounds['min_length'], unit)}, got {len(value) or 'none'}"
        case _:
            message = row["msg"].rstrip(".")
            known = _EXPECTED_TYPES.get(kind) or _EXPECTED.get(kind.partition("_")[0])
            expected = known or message.removeprefix("Input should be ")
            if expected == message:
                return ": " + message.removeprefix("Value error, ")
            return f": expected {expected}{_got(value)}"


def _got(value: object) -> str:
    if isinstance(value, str):
        short = f'"{value[:40]}{"…" if len(value) > 40 else ""}"'
        return f", got {short if len(value) < 2_000 else f'{len(value):,} characters'}"
    if isinstance(value, bool | int | float):
        return f", got {value}"
    kinds: dict[type, str] = {list: ", got a list", dict: ", got an object", type(None): ", got null"}
    return kinds.get(type(value), "")


def suggestion(name: str, names: Collection[str]) -> str:
    """The end of a sentence about the unknown `name`: the nearest of `names`, if one is near."""
    near = nearest(name, names)
    return f': did you mean "{near}"?' if near else "."
