"""Tool arguments as models write them: obvious slips are corrected, the rest is refused with a helpful message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Sized
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError

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
        hints = _first_few([_hint(name, names) for name in unknown])
        raise InvalidInputError(f"{hints} {tool} accepts {', '.join(names)}.")
    return {name: value for name, value in arguments.items() if value is not None}


def nearest(name: str, names: Iterable[str]) -> str:
    """The known name that `name` probably stands for; "" if none is close."""
    own = {_plain(candidate): candidate for candidate in names}
    ours = [one for one in reversed(_ALIASES) if one in own.values()]
    aliases = {_plain(word): one for one in ours for word in _ALIASES[one].split()}
    plain = _plain(name)
    if plain in aliases:
        return aliases[plain]
    for known, cutoff in ((own, 0.6), (aliases, 0.8)):
        if close := get_close_matches(plain, known, n=1, cutoff=cutoff):
            return known[close[0]]
    return ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _hint(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f'Unknown argument "{name[:_MAX_NAME_LENGTH]}"' + (f': did you mean "{near}"?' if near else ".")


def coerced(value: object, schema: Mapping[str, Any]) -> object:
    """`value` converted to what `schema` requires, where the intention is unambiguous.

    Converts an integer to its digits, a single item to a list, a JSON string to its value and the case of an enum word,
    and drops nulls inside objects. Anything else is returned unchanged, for validation to refuse.
    """
    match schema.get("type"):
        case "string":
            return _as_text(value, schema.get("enum", ()))
        case "array":
            items = _as_list(value, schema["items"])
            return [coerced(item, schema["items"]) for item in items] if items is not None else value
        case "object":
            fields, properties = _as_object(value), schema["properties"]
            if fields is None:
                return value
            return {
                name: coerced(field, properties.get(name, {})) for name, field in fields.items() if field is not None
            }
        case _:
            return value


def _as_text(value: object, words: Sequence[str]) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return next((word for word in words if word == value.strip().lower()), value)
    return value


def _as_list(value: object, item: Mapping[str, Any]) -> list[object] | None:
    if isinstance(value, list):
        return cast(list[object], value)
    if isinstance(value, str) and isinstance(parsed := _parsed(value, "["), list):
        return cast(list[object], parsed)
    if value == "":
        return []
    fits = isinstance(value, str | int) if item.get("type") == "string" else _as_object(value) is not None
    return [value] if fits and not isinstance(value, bool) else None


def _as_object(value: object) -> dict[str, object] | None:
    parsed = _parsed(value, "{") if isinstance(value, str) else value
    return cast(dict[str, object], parsed) if isinstance(parsed, dict) else None


def _parsed(text: str, opening: str) -> object:
    """The value of `text` if it is JSON that starts with `opening`, else None."""
    try:
        return json.loads(text) if text.lstrip().startswith(opening) else None
    except (ValueError, RecursionError):
        return None


def invalid_arguments(error: ValidationError, schema: Mapping[str, Any] | None = None) -> InvalidInputError:
    """An error with one sentence per invalid field: what was expected and what was given.

    `schema` supplies the names of nested fields, for suggestions.
    """
    rows: dict[str, str] = {}
    for row in error.errors(include_url=False):
        field = ".".join(str(part)[:_MAX_NAME_LENGTH] for part in row["loc"])
        if row["type"] == "extra_forbidden":
            near = nearest(str(row["loc"][-1]), _sibling_names(row["loc"], schema or {}))
            rows[field] = f"{field} is not a known field" + (f': did you mean "{near}"?' if near else ".")
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
    if kind == "missing":
        return " is required"
    if kind in ("too_long", "string_too_long"):
        return f": at most {_count(bounds['max_length'], value)}, got {_length(value):,}"
    if kind == "too_short":
        return f": at least {_count(bounds['min_length'], value)}, got {_length(value) or 'none'}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f": expected an object{_got(value)}"
    message = row["msg"].rstrip(".")
    expected = message.removeprefix("Input should be ")
    if expected == message:
        return ": " + message.removeprefix("Value error, ")
    return f": expected {expected}{_got(value)}"


def _count(number: int, value: object) -> str:
    unit = "character" if isinstance(value, str) else "item"
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _length(value: object) -> int:
    return len(cast(Sized, value))


def _got(value: object) -> str:
    if isinstance(value, str):
        return (
            f', got "{value[:40]}{"…" if len(value) > 40 else ""}"'
            if len(value) < 2_000
            else f", got {len(value):,} characters"
        )
    if isinstance(value, bool | int | float):
        return f", got {value}"
    if isinstance(value, list):
        return ", got a list"
    if value is None:
        return ", got null"
    return ", got an object" if isinstance(value, dict) else ""
