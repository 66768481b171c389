"""How large a value may be, from its schema: measured before anything else looks at it.

Measuring stops as soon as something is too large, and costs no more than a glance at what is small enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.text import clean_line, counted

Schema = Mapping[str, Any]

MAX_CALL_LENGTH = 1_000_000
"""Characters of one call's arguments together."""
MAX_WORD = 200
"""Characters of an argument's name, and of what is written for a number, a switch or a word from a list."""
MAX_UNNAMED = 10_000
"""Characters of an argument that the tool does not have, if none of its own may be longer."""
MAX_ITEMS = 10_000
MAX_LIST_TEXT = 100_000
"""Characters of a text in place of a list of texts."""
ITEM_LENGTH = 20
"""Characters that an item of a list, or a field, counts in addition."""
MAX_DEPTH = 10
"""Lists and objects within each other."""
MAX_EXTRA_FIELDS, MAX_ARGUMENTS = 20, 1_000
"""Unknown names of one call or object that are looked up, since more are no mistake; and of a call that are read."""


def at_most(characters: int, *, else_told: str = "") -> Any:
    """The field of a text with that limit, which is checked here only: pydantic would also refuse half a character."""
    return Field(json_schema_extra={"maxLength": characters, **({"ifTooLong": else_told} if else_told else {})})


def check_sizes(arguments: Mapping[str, object], schema: Schema) -> None:
    """Check the names and values of a call by the tool's schema.

    Raises:
        InvalidInputError: one of them is too long, holds too many items, or is nested too deeply; or all together are
            too long. The message repeats no value.
    """
    known: Mapping[str, Schema] = schema["properties"]
    unknown = {"maxLength": max(MAX_UNNAMED, *map(_most, known.values()))}
    _check_names("", arguments, MAX_ARGUMENTS)
    for name, value in arguments.items():
        _check_length(name, value, known.get(name, unknown))
    _check_length("", arguments, {"type": "object"})
    for name in arguments.keys() & known.keys():
        check_size(arguments[name], known[name], name)


def check_size(value: object, schema: Schema, name: str = "") -> None:
    """Check one value and what it holds; InvalidInputError as for `check_sizes`."""
    kind = schema.get("type")
    if kind == "array" and isinstance(value, list):
        items = cast("Sequence[object]", value)
        if len(items) > (most := schema.get("maxItems", MAX_ITEMS)):
            raise InvalidInputError(f"{_shown(name)}: at most {counted(most, 'item')}, got {len(items):,}.")
        most = _most(schema["items"])
        for place, item in enumerate(items):
            if not (isinstance(item, str) and len(item) <= most):
                check_size(item, schema["items"], f"{name}[{place}]")
        return
    if kind == "object" and isinstance(value, Mapping):
        fields, known = cast("Mapping[str, object]", value), schema["properties"]
        _check_names(name, fields, len(known) + MAX_EXTRA_FIELDS)
        for field, one in fields.items():
            check_size(one, known.get(field, {"maxLength": MAX_UNNAMED}), f"{name}.{field}")
        return
    _check_length(name, value, schema)


def size_of(value: object, most: int, depth: int = MAX_DEPTH) -> int:
    """The characters of a value and of all it holds, each item as some more; above `most` any larger number."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        return 1 + value.bit_length() // 3
    if not isinstance(value, Mapping | list):
        return 1
    if not depth:
        return most + 1
    parts = cast("Sequence[object]", value)
    size = len(parts) * ITEM_LENGTH
    if size <= most and isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        size, parts = size + sum(map(len, fields)), [*fields.values()]
    for part in parts:
        if size > most:
            break
        size += size_of(part, most - size, depth - 1)
    return size


def _most(schema: Schema) -> int:
    """The most characters that a value may have, also where it is written as a text."""
    match schema.get("type"):
        case "array":
            return min(schema.get("maxItems", MAX_ITEMS) * (_most(schema["items"]) + ITEM_LENGTH), MAX_CALL_LENGTH)
        case "object":
            return MAX_CALL_LENGTH
        case _:
            is_text = schema.get("type") == "string" and "enum" not in schema
            return schema.get("maxLength", MAX_UNNAMED if is_text else MAX_WORD)


def _check_names(name: str, fields: Mapping[str, object], most: int) -> None:
    if len(fields) > most:
        raise InvalidInputError(f"{_shown(name)}: at most {counted(most, 'field')}, got {len(fields):,}.")
    if (longest := max(map(len, fields), default=0)) > MAX_WORD:
        raise InvalidInputError(f"{_shown(name)}: a name has {longest:,} characters; the limit is {MAX_WORD}.")


def _check_length(name: str, value: object, schema: Schema) -> None:
    """Check the length of a text, or of all that a list or an object holds."""
    most = _most(schema)
    if isinstance(value, str) and schema.get("type") == "array" and schema["items"].get("type") != "object":
        most = min(most, MAX_LIST_TEXT)
    if (length := size_of(value, most)) > most:
        got = f"got {length:,}" if isinstance(value, str) else f"in at most {MAX_DEPTH} levels"
        told = f"{_shown(name)}: at most {most:,} characters, {got}; nothing was done."
        raise InvalidInputError(" ".join(filter(None, (told, schema.get("ifTooLong")))))


def _shown(name: str) -> str:
    return clean_line(name) or "The call"
