"""Edits of a client's file of settings, which is JSON; everything else in it keeps its form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

_OWN_COMMA = re.compile(r"\s*,\s*")


class JsonError(ValueError):
    """The text is not valid JSON or lacks the structure that an edit needs; the message says where."""


def parse(text: str) -> object:
    """The value of a document; {} if it is empty. JsonError if it is not JSON."""
    bare = text.lstrip("\ufeff")
    try:
        return json.loads(bare) if bare.strip() else {}
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error


def edited(text: str, place: tuple[str, str], value: object) -> str:
    """`text` with the value of a name in an object of the document, e.g. ("mcpServers", "ours"), or without it if the
    value is None. Everything else keeps its value and its place; and its form too, except in a file of one line, and
    where a comma would be in the way.

    JsonError if the text is not JSON, or has something else in place of the object.
    """
    outer, name = place
    document = parse(text)
    servers = cast("dict[str, object]", document).get(outer, {}) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(servers, dict):
        raise JsonError("line 1, column 1: expected an object {…}")
    whole, old = cast("dict[str, object]", document), cast("dict[str, object]", servers)
    if value is None and name not in old:
        return text
    new = {**old, name: value} if value is not None else {key: old[key] for key in old if key != name}
    wanted = {**whole, outer: new}
    indented = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    unit, newline = indented[1] if indented else "  ", "\r\n" if "\r\n" in text else "\n"
    is_one_line = "\n" not in text.strip("\ufeff \t\r\n") and bool(whole)
    for candidate in _in_place(text, place, value, newline, unit) if not is_one_line else ():
        with suppress(JsonError):
            if parse(candidate) == wanted:
                return candidate
    dumped = _dumped(wanted, None if is_one_line else unit, newline)
    return "\ufeff" * text.startswith("\ufeff") + dumped + text[len(text.rstrip()) :]


def _in_place(text: str, place: tuple[str, str], value: object, newline: str, unit: str) -> Iterator[str]:
    """The edits that may be meant; which of them has the right value is for the caller to see."""
    outer, name = place
    dumped = _dumped(value, unit, newline + 2 * unit)
    for own in re.finditer(rf'"{name}"\s*:\s*', text):
        end = json.JSONDecoder().raw_decode(text, own.end())[1]
        yield text[: own.end()] + dumped + text[end:]
        if comma := _OWN_COMMA.match(text, end):
            yield text[: own.start()] + text[comma.end() :]
    member = f'{newline}{2 * unit}"{name}": {dumped}'
    for found in re.finditer(rf'"{outer}"\s*:\s*{{', text):
        yield f"{text[: found.end()]}{member},{text[found.end() :]}"
    start = text.find("{") + 1
    yield f'{text[:start]}{newline}{unit}"{outer}": {{{member}{newline}{unit}}},{text[start:]}'


def _dumped(value: object, indent: str | None, newline: str) -> str:
    """JSON that can be encoded: half a surrogate pair, as in a text that a client has cut off, stays an escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", newline)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
