"""Tool arguments as models write them: obvious mistakes are corrected, others are refused with a helpful message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.text import counted

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# Our names -> the names that models know from other tools. If a tool has two matching ones, the first one wins.
_ALIASES = {
    "max_results": "limit n k top_k num_results n_results retmax page_size size count number",
    "count": "limit n k top_k num_results n_results max_results number",
    "query": "q question term text search topic keywords",
    "topic": "q question term text search query keywords subject",
    "content": "text body abstract note quote passage",
    "variants": "queries synonyms",
    "description": "context background",
    "min_date": "from_date start_date date_from since",
    "max_date": "to_date end_date date_to until",
    "date": "year published publication_date",
    "offset": "start page retstart skip",
    "session_id": "session",
    "publication_types": "article_types study_types",
    "include_domains": "domains sites",
    "search_depth": "depth",
    "recency": "time_range freshness",
    "min_score": "threshold score min_relevance",
    "min_relevance": "threshold score min_score",
    "items": "documents evidence notes",
    "ids": "id evidence_ids pmid pmids",
    "url": "link uri",
}
_MAX_PROBLEMS_LISTED = 5
_MAX_NAME_LENGTH = 80


def known_arguments(tool: str, arguments: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """`arguments` without nulls, which mean "not given".

    Raises:
        InvalidInputError: some names are unknown; the message suggests the nearest known name for each.
    """
    names = list(names)
    unknown = [name for name in arguments if name not in names]
    if unknown:
        hints = _first_few(
            [f'Unknown argument "{name[:_MAX_NAME_LENGTH]}"{_suggestion(name, names)}' for name in unknown]
        )
        raise InvalidInputError(f"{hints} {tool} accepts {', '.join(names)}.")
    return {name: value for name, value in arguments.items() if value is not None}


def nearest(name: str, names: Iterable[str]) -> str:
    """The known name that `name` probably stands for; "" if none is close."""
    own = {_plain(candidate): candidate for candidate in names}
    ours = [known for known in reversed(_ALIASES) if known in own.values()]
    aliases = {_plain(word): known for known in ours for word in _ALIASES[known].split()}
    plain = _plain(name)
    if plain in aliases:
        return aliases[plain]
    for known, cutoff in ((own, 0.6), (aliases, 0.8)):
        if close := get_close_matches(plain, known, n=1, cutoff=cutoff):
            return known[close[0]]
    return ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _suggestion(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f': did you mean "{near}"?' if near else "."


def coerced(value: object, schema: Mapping[str, Any]) -> object:
    """`value` converted to what `schema` requires, where the intention is unambiguous.

    Converts an integer to its digits, a single item to a list, a JSON string to its value and the case of an enum word,
    and drops nulls inside objects. Anything else is returned unchanged, for validation to refuse.
    """
    kind = schema.get("type")
    if kind == "string":
        return _as_text(value, schema.get("enum", ()))
    if kind == "array" and (items := _as_list(value, schema["items"])) is not None:
        return [coerced(item, schema["items"]) for item in items]
    if kind == "object" and (fields := _as_object(value)) is not None:
        kinds = schema["properties"]
        return {name: coerced(field, kinds.get(name, {})) for name, field in fields.items() if field is not None}
    return value


def _as_text(value: object, words: Sequence[str]) -> object:
    if isinstance(value, str):
        return next((word for word in words if word == value.strip().lower()), value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_list(value: object, item: Mapping[str, Any]) -> list[object] | None:
    parsed = _parsed(value, "[")
    if isinstance(parsed, list):
        return cast(list[object], parsed)
    if value == "":
        return []
    fits = isinstance(value, str | int) if item.get("type") == "string" else _as_object(value) is not None
    return [value] if fits and not isinstance(value, bool) else None


def _as_object(value: object) -> dict[str, object] | None:
    parsed = _parsed(value, "{")
    return cast(dict[str, object], parsed) if isinstance(parsed, dict) else None


def _parsed(value: object, opening: str) -> object:
    """`value`, parsed if it is JSON that starts with `opening`."""
    try:
        return json.loads(value) if isinstance(value, str) and value.lstrip().startswith(opening) else value
    except (ValueError, RecursionError):
        return value


def invalid_arguments(error: ValidationError, schema: Mapping[str, Any] | None = None) -> InvalidInputError:
    """An error with one sentence per invalid field: what was expected and what was given.

    `schema` supplies the names of nested fields, for suggestions.
    """
    rows: dict[str, str] = {}
    for row in error.errors(include_url=False):
        field = ".".join(str(part)[:_MAX_NAME_LENGTH] for part in row["loc"])
        if row["type"] == "extra_forbidden":
            near = _suggestion(str(row["loc"][-1]), _sibling_names(row["loc"], schema or {}))
            rows[field] = f"{field} is not a known field{near}"
        else:
            rows[field] = f"{field}{_problem(row)}."
    return InvalidInputError(_first_few(list(rows.values())))


def _first_few(sentences: Sequence[str]) -> str:
    more = [f"And {len(sentences) - _MAX_PROBLEMS_LISTED} more."] if len(sentences) > _MAX_PROBLEMS_LISTED else []
    return " ".join([*sentences[:_MAX_PROBLEMS_LISTED], *more])


def _sibling_names(place: Sequence[str | int], schema: Mapping[str, Any]) -> Iterable[str]:
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
        case "model_type" | "model_attributes_type" | "dict_type":
            return f": expected an object{_got(value)}"
        case _:
            message = row["msg"].rstrip(".")
            expected = message.removeprefix("Input should be ")
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
