"""Arguments as a model writes them: read with patience, refused in sentences that it can act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from deepcritical_mcp.errors import InvalidInputError

# What models write by habit from other tools -> our names, where a tool has them.
_HABITS = {
    "limit": "max_results",
    "n": "max_results",
    "k": "max_results",
    "top_k": "max_results",
    "topk": "max_results",
    "num_results": "max_results",
    "maxresults": "max_results",
    "n_results": "max_results",
    "retmax": "max_results",
    "page_size": "max_results",
    "size": "max_results",
    "q": "query",
    "question": "query",
    "term": "query",
    "text": "query",
    "search": "query",
    "topic": "query",
    "queries": "variants",
    "from_date": "min_date",
    "start_date": "min_date",
    "mindate": "min_date",
    "since": "min_date",
    "to_date": "max_date",
    "end_date": "max_date",
    "maxdate": "max_date",
    "until": "max_date",
    "start": "offset",
    "page": "offset",
    "retstart": "offset",
    "session": "session_id",
    "sessionid": "session_id",
    "article_types": "publication_types",
    "domains": "include_domains",
    "depth": "search_depth",
    "time_range": "recency",
    "freshness": "recency",
    "threshold": "min_score",
    "documents": "items",
    "evidence": "items",
    "id": "ids",
}


def known_arguments(tool: str, arguments: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """`arguments` without nulls (a null means "not given").

    Raises:
        InvalidInputError: for names that the tool does not have, each with the nearest one that it has.
    """
    names = list(names)
    unknown = [name for name in arguments if name not in names]
    if unknown:
        hints = " ".join(_hint(name, names) for name in unknown)
        raise InvalidInputError(f"{hints} {tool} takes {', '.join(names)}.")
    return {name: value for name, value in arguments.items() if value is not None}


def nearest(name: str, names: Iterable[str]) -> str:
    """The name that `name` was probably meant to be; "" when none is near."""
    names = list(names)
    habit = _HABITS.get(name.replace("-", "_").lower(), "")
    if habit in names:
        return habit
    folded = {candidate.replace("_", ""): candidate for candidate in names}
    close = get_close_matches(name.replace("_", "").replace("-", "").lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def _hint(name: str, names: list[str]) -> str:
    near = nearest(name, names)
    return f'Unknown argument "{name[:80]}"' + (f': did you mean "{near}"?' if near else ".")


def invalid_arguments(error: ValidationError) -> InvalidInputError:
    """One sentence for each wrong field: what was expected and what came."""
    rows: dict[str, str] = {}
    for row in error.errors(include_url=False, include_context=False):
        field = ".".join(str(part) for part in row["loc"])
        rows[field] = f"{field}{_problem(row['type'], row['msg'].rstrip('.'), row['input'])}."
    shown = list(rows.values())
    more = [f"And {len(shown) - 5} more."] if len(shown) > 5 else []
    return InvalidInputError(" ".join(shown[:5] + more))


def _problem(kind: str, message: str, value: object) -> str:
    if kind == "missing":
        return " is required"
    if kind == "extra_forbidden":
        return " is not a known field"
    expected = message.removeprefix("Input should be ")
    if expected == message:
        return ": " + message.removeprefix("Value error, ")
    return f": expected {expected}{_got(value)}"


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
    return ", got an object" if isinstance(value, dict) else ""
