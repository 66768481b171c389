"""Edits of a client's file of settings: JSON, or JSON with comments and trailing commas ("JSONC", as VS Code has it).

Comments are replaced by spaces, so that the standard library reads the rest and every position in it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_COMMENT = r"//[^\n]*|/\*(?:.*?\*/|.*)"  # to the end if it is not closed, so that it is read once
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|{_COMMENT}", re.DOTALL)
_STRING_OR_COMMA = re.compile(rf"{_STRING}|[{{\[]\s*,|,(?=\s*[}}\]])", re.DOTALL)
_OWN_COMMA = re.compile(r"\s*,")


class JsonError(ValueError):
    """The text is not valid JSON or lacks the structure that an edit needs; the message says where."""


def parse(text: str, *, comments: bool = False) -> object:
    """The value of a document; {} if it is empty. JsonError if it is not JSON (with `comments`: not JSONC)."""
    bare = text.lstrip("\ufeff")
    if comments:
        bare = _without_trailing_commas(_without_comments(bare))
    try:
        return json.loads(bare) if bare.strip() else {}
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error


def edited(text: str, place: tuple[str, str], value: object, *, comments: bool = False) -> str:
    """`text` with the value of a name in an object of the document, e.g. ("mcpServers", "ours"), or without it if the
    value is None. Everything else keeps its value, its place, and its comments; and its form too, except in a file of
    one line, and where a comma would be in the way.

    JsonError if the text is not JSON (or JSONC), has something else in place of the object, or has comments where the
    value belongs.
    """
    outer, name = place
    document, servers = _objects(parse(text, comments=comments), outer)
    if value is None and name not in servers:
        return text
    servers = {**servers, name: value} if value is not None else {key: servers[key] for key in servers if key != name}
    wanted = {**document, outer: servers}
    indented = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    unit = indented[1] if indented else "  "
    newline = "\r\n" if "\r\n" in text else "\n"
    has_comments = comments and _without_comments(text) != text
    is_one_line = "\n" not in text.strip("\ufeff \t\r\n") and bool(document)
    for new in _in_place(text, place, value, newline, unit) if has_comments or not is_one_line else ():
        with suppress(JsonError):
            if parse(new, comments=has_comments) == wanted:
                return new
    if has_comments:
        raise JsonError("its comments stand where the server belongs")
    new = _dumped(wanted, None if is_one_line else unit, newline)
    return "\ufeff" * text.startswith("\ufeff") + new + text[len(text.rstrip()) :]


def _objects(document: object, outer: str) -> tuple[dict[str, object], dict[str, object]]:
    """The document, and the object in it under that name."""
    if isinstance(document, dict):
        whole = cast("dict[str, object]", document)
        inner = whole.get(outer, {})
        if isinstance(inner, dict):
            return whole, cast("dict[str, object]", inner)
    raise JsonError("line 1, column 1: expected an object {…}")


def _in_place(text: str, place: tuple[str, str], value: object, newline: str, unit: str) -> Iterator[str]:
    """The edits that may be meant; which of them has the right value is for the caller to see."""
    outer, name = place
    bare = _without_comments(text)
    plain = _without_trailing_commas(bare)
    dumped = _dumped(value, unit, newline + 2 * unit)
    for own in re.finditer(rf'"{name}"\s*:\s*', bare):
        end = json.JSONDecoder().raw_decode(plain, own.end())[1]
        yield text[: own.end()] + dumped + text[end:]
        comma = _OWN_COMMA.match(bare, end)
        rest = text[end : comma.end() - 1] + text[comma.end() :] if comma else text[end:]
        yield text[: own.start()].rstrip() + rest
        yield text[: own.start()] + rest  # on a line of its own, behind a comment
    member = f'{newline}{2 * unit}"{name}": {dumped},'
    for found in re.finditer(rf'"{outer}"\s*:\s*{{', bare):
        yield text[: found.end()] + member + text[found.end() :]
    start = bare.find("{") + 1
    yield f'{text[:start]}{newline}{unit}"{outer}": {{{member}{newline}{unit}}},{text[start:]}'


def _dumped(value: object, indent: str | None, newline: str) -> str:
    """JSON that can be encoded: half a surrogate pair, as in a text that a client has cut off, stays an escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", newline)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _without_comments(text: str) -> str:
    return _STRING_OR_COMMENT.sub(_without_comment, text)


def _without_trailing_commas(bare: str) -> str:
    return _STRING_OR_COMMA.sub(lambda found: " " if found[0] == "," else found[0], bare)


def _without_comment(found: re.Match[str]) -> str:
    text = found[0]
    is_comment = text.startswith("//") or (text.endswith("*/") and len(text) > 3)
    return re.sub(r"[^\n]", " ", text) if is_comment else text
