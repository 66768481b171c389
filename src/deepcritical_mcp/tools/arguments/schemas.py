"""The arguments of a call as models write them: what can mean one thing only is read as that, with a note.

What could mean two things is refused with an error that names the right arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from deepcritical_mcp import dates
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.arguments.params import (
    MAX_EXTRA_FIELDS,
    alias,
    argument_named,
    check_size,
    check_sizes,
    instead,
    is_ignorable,
    is_of_kind,
    plain_name,
    switch,
)
from deepcritical_mcp.tools.arguments.values import (
    ONE_STATUS,
    coerced,
    is_nothing,
    pubmed_terms,
    syntax_notes,
    understood,
)

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_NAME_LENGTH = 80
MAX_PROBLEMS_LISTED = 5
NO_ID = (
    "session_id is required: nothing was deleted. Pass the id of the session to delete, with all it "
    "holds, as results show it (list_evidence shows the current one). For a fresh start nothing has "
    'to be deleted: pass session_id="new" to a search or to add_evidence.'
)


def invalid_arguments(error: ValidationError, schema: Mapping[str, Any] | None = None) -> InvalidInputError:
    """An error with one sentence per invalid field: what was expected and what was given.

    `schema` supplies the names of nested fields, for suggestions.
    """
    rows: dict[str, str] = {}
    fields: Mapping[Any, Any] = (schema or {}).get("properties", {})
    for row in error.errors(include_url=False):
        parts = (f"[{part}]" if isinstance(part, int) else f".{part[:MAX_NAME_LENGTH]}" for part in row["loc"])
        field = "".join(parts).removeprefix(".")
        if row["type"] == "extra_forbidden":
            items = fields.get(row["loc"][0], {}).get("items", {})
            near = instead(str(row["loc"][-1]), "", items.get("properties", {}))
            rows[field] = f"{field} is not a known field{near}"
        else:
            words = fields.get(field, {}).get("enum", ())
            choice = f": one of {', '.join(words)}" if row["type"] == "missing" and words else ""
            is_of_deleting = row["type"] == "missing" and field == "session_id"  # only one tool requires it
            rows[field] = NO_ID if is_of_deleting else f"{field}{_problem(row)}{choice}."
    return InvalidInputError(first_few(list(rows.values())))


def first_few(sentences: Sequence[str]) -> str:
    """The first sentences, and how many more there are."""
    left = len(sentences) - MAX_PROBLEMS_LISTED
    return " ".join([*sentences[:MAX_PROBLEMS_LISTED], *([f"And {left} more."] if left > 0 else [])])


def _problem(row: ErrorDetails) -> str:
    """What is wrong with a field, and what was given."""
    value, message = cast("object", row["input"]), row["msg"].rstrip(".").removeprefix("Value error, ")
    expected = message.removeprefix("Input should be ")
    if row["type"] == "missing":
        return " is required"
    if expected == message:
        return f": {message}"
    kinds: dict[type, str] = {list: "a list", dict: "an object"}
    given = json.dumps(value, ensure_ascii=False, default=str)
    got = kinds.get(type(value)) or (given if len(given) <= MAX_SHOWN else f"{len(given):,} characters")
    return f": expected {expected}, got {got}"


MAX_SHOWN = 80
_SWITCH_WORDS: dict[str, bool] = dict.fromkeys("true 1 yes on only".split(), True)
_SWITCH_WORDS.update(dict.fromkeys("false 0 no off".split(), False))
_ENDS = ("min_date", "max_date")


def read_arguments(
    tool: str, arguments: Mapping[str, Any], schema: Mapping[str, Any], *, literal: bool = False
) -> tuple[dict[str, object], list[str]]:
    """The arguments of `tool` by our names, and notes on what was read otherwise than written.

    With `literal`, for a tool that deletes, names and values must be exact.

    Raises:
        InvalidInputError: an argument is unknown or could mean several things; the message says what to pass instead.
    """
    reading, known = _Reading(tool, schema), schema["properties"]
    if literal or len(arguments.keys() - known.keys()) > MAX_EXTRA_FIELDS:
        given = {name: value for name, value in arguments.items() if value is not None}
        if unknown := [name for name in given if name not in known]:
            raise reading.refusal(unknown)
        values = {name: coerced(value, known[name]) for name, value in given.items()}
        for name, value in values.items():
            check_size(value, known[name], name)
        return values, []
    flat = reading.flat(arguments)
    if unknown := [name for name, value in flat.items() if not reading.takes(name, value)]:
        raise reading.refusal(unknown)
    return reading.values, reading.notes()


class _Reading:
    """The arguments of one call while they are read; `values` are those understood so far, by our names."""

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        self._tool, self._required = tool, schema.get("required", ())
        self._known: Mapping[str, Any] = schema["properties"]
        self.values, self._given_as = dict[str, object](), dict[str, str]()
        self._read, self._remarks = list[str](), list[str]()

    def notes(self) -> list[str]:
        """What was read otherwise than written, and what PubMed will not read as it was probably meant."""
        query, syntax = self.values.get("query"), list[str]()
        if self._tool == "pubmed_search" and isinstance(query, str):
            self.values["query"] = terms = pubmed_terms(query)
            syntax = [*syntax_notes(terms)]
            if terms != query:
                self._read.append(f"{_written('query', query)} as {_written('query', terms)}")
        return [*([f"Read {'; '.join(self._read)}."] if self._read else []), *self._remarks, *syntax]

    def flat(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """`arguments`, with those that are inside an object such as "params" next to the others."""
        flat: dict[str, object] = {}
        for name, value in arguments.items():
            is_wrapper = name not in self._known and is_of_kind(name, "wrapper")
            inner = coerced(value, {"type": "object", "properties": {}}) if is_wrapper or name == "query" else None
            is_call = isinstance(inner, dict) and (is_wrapper or "query" in inner)
            if is_call:
                check_sizes(cast("dict[str, object]", inner), {"properties": self._known})
            self._remarks += [f"Read what {name} contains as arguments."] if is_call else []
            flat |= cast("dict[str, object]", inner) if is_call else {name: value}
        return flat

    def takes(self, name: str, value: object) -> bool:
        """Read one argument; False if it is not known."""
        known, key = self._known, plain_name(name)
        texts = _items_of(value)
        joined = " ".join(map(str, texts))
        if "variants" in known and texts[1:] and (name == "query" or is_of_kind(name, "queries")):
            either = f"{_written('query', texts[0])}, {_written('variants', texts[1:])} (searched one by one)"
            raise InvalidInputError(f"query is one text: pass {either}, or {_written('query', joined)}.")
        if name in known:
            if name in _ENDS and isinstance(value, str) and (ends := dates.period(value)):
                return all(self._set(own, end, name, value) for own, end in zip(_ENDS, ends, strict=True))
            return self._set(name, value, name, value)
        own = argument_named(name, known.keys())
        if own == "ids" and self._field(name) not in ("", "id"):  # "references" are to be added
            own = ""
        if is_nothing(value, known.get(own)):
            return True
        is_on = _SWITCH_WORDS.get(str(value).strip().lower())
        if (target := switch(name, known)) and is_on is not None:
            wanted, on = target
            if wanted == "status" and not is_on:
                raise InvalidInputError(f"{_written(name, value)}: {ONE_STATUS}")
            return self._set(wanted, on if is_on else on is False or known[wanted].get("default"), name, value)
        if key in ("start", "from") and "offset" in known and str(value).isdecimal() and len(str(value)) < len("1995"):
            return self._set("offset", value, name, value)
        if own and not is_of_kind(name, "page"):
            return self._set(own, joined or value if own in ("query", "topic") else value, name, value)
        if is_ignorable(name, value) and not self._field(name):
            self._remarks.append(f"Ignored {name[:MAX_NAME_LENGTH]}: {self._tool} has no such argument.")
            return True
        return False

    def _set(self, name: str, value: object, given: str, shown: object) -> bool:
        """Take `value` for `name`, which was written as `given`=`shown`."""
        if is_nothing(value, self._known[name]) and name not in self._required:
            return True
        read = understood(name, value, self._known[name])
        check_size(read, self._known[name], name)
        earlier = self.values.get(name, read)
        if earlier != read and name == "text":
            raise InvalidInputError('Pass one text: the draft, and its reference list at the end, headed "References".')
        if earlier != read:
            first, second = _written(self._given_as[name], earlier), _written(given, shown)
            raise InvalidInputError(f"{first} and {second} do not agree: pass only {name}.")
        self.values[name], self._given_as[name] = read, given
        if given != name or (read != [shown] and clean_line(str(read)).lower() != clean_line(str(shown)).lower()):
            first, second = _written(given, shown), _written(name, read) if read != "" else f"no {name}"
            if "…" in first and first.removeprefix(given) == second.removeprefix(name):
                first, second = given, name if given != name else "this tool names its values"
            self._read.append(f"{first} as {second}")
        if name in _ENDS and re.search("before|after", f"{given} {shown}".lower()):
            self._remarks.append(f"{_written(name, read)} includes that date.")
        return True

    def refusal(self, unknown: Sequence[str]) -> InvalidInputError:
        """The error about unknown arguments: which ones, and what to pass instead of each."""
        fields = {name: field for name in unknown if (field := self._field(name))}
        others = [name for name in unknown if name not in fields]
        hints = [f'Unknown argument "{name[:MAX_NAME_LENGTH]}"{self._instead(name)}' for name in others]
        if fields:
            item = ", ".join(f'"{field}": …' for field in dict.fromkeys(fields.values()))
            named = ", ".join(name[:MAX_NAME_LENGTH] for name in fields)
            hints.insert(0, f"Pass {named} as fields of an item: items=[{{{item}}}].")
        told = first_few(hints)
        return InvalidInputError(f"{told} {self._tool} accepts {', '.join(self._known)}.")

    def _instead(self, name: str) -> str:
        if "status" in self._known and "retract" in name.lower():
            return f": {ONE_STATUS}"
        if "sort" in self._known and "new" in name.lower():
            return ': pass only_new=true (omits what the session has), or sort="date" (newest first).'
        if is_of_kind(name, "page"):
            is_paged = "offset" in self._known
            return f": {'leave it out, then pass next_offset as offset' if is_paged else 'there is only one page'}."
        if "min_date" in self._known and is_of_kind(name, "period"):
            return ': pass min_date and max_date, e.g. min_date="2015", max_date="2020".'
        if self._tool == "pubmed_search" and alias(name, ["pmid"]):
            return ': pass query="31978945[pmid] OR 32015507[pmid]".'
        return instead(name, self._tool, self._known.keys())

    def _field(self, name: str) -> str:
        """The field of an item that an argument names; "" if it names none, or there are no items."""
        fields = self._known.get("items", {}).get("items", {}).get("properties", {})
        return argument_named(name.removesuffix("s"), fields) or argument_named(name, fields)


def _items_of(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _written(name: str, value: object) -> str:
    """An argument as it is repeated in a note: of a long one, the beginning and the end."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return clean_line(f"{name[:MAX_NAME_LENGTH]}={text if len(text) <= MAX_SHOWN else f'{text[:50]}…{text[-29:]}'}")
