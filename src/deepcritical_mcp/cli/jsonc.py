"""Edits of a JSON file that keep everything else in it: comments, order, indentation and line endings.

Reads JSON and, if allowed, JSON with comments and trailing commas ("JSONC", as used by VS Code): these are replaced by
spaces, so that the standard library reads the rest and every position in it holds for the original text.

Every function raises JsonError if a text is not JSON (with `comments`: not JSONC), or if something on a path is not an
object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_COMMENT = r"//[^\n]*|/\*(?:.*?\*/|.*)"  # to the end if it is not closed, so that it is read once
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|{_COMMENT}", re.DOTALL)
_STRING_OR_COMMA = re.compile(rf"{_STRING}|[{{\[]\s*,|,(?=\s*[}}\]])", re.DOTALL)
_GAP = re.compile(r"[\s,:]*")
_DECODER = json.JSONDecoder()


class JsonError(ValueError):
    """The text is not valid JSON or lacks the structure that an edit needs; the message says where."""


class _Member(NamedTuple):
    """A `"name": value` is `text[start:end]`, its value `text[value:end]`."""

    start: int
    value: int
    end: int


class _Object(NamedTuple):
    """An object is `text[start:end]`."""

    start: int
    end: int
    members: dict[str, _Member]


class _Document:
    """A document as written (`text`), without comments (`bare`), and without trailing commas too (`plain`)."""

    def __init__(self, text: str, *, comments: bool) -> None:
        self.text = text if text.strip("\ufeff \t\r\n") else text.strip() + "{}\n"
        self.bare = self.plain = re.sub("^\ufeff", " ", self.text)
        if comments:
            self.bare = _STRING_OR_COMMENT.sub(_without_comment, self.bare)
            self.plain = _STRING_OR_COMMA.sub(lambda found: " " if found[0] == "," else found[0], self.bare)
        try:
            self.value: object = json.loads(self.plain)
        except json.JSONDecodeError as error:
            raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
        except RecursionError as error:
            raise JsonError("nested too deeply") from error
        indented = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
        self.unit = indented[1] if indented else "  "
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def innermost(self, path: Sequence[str]) -> tuple[_Object, str, Sequence[str]]:
        """The innermost object on `path` that exists, the next name on the path, and the names after that."""
        parent = self._object(self._skip(0))
        while len(path) > 1 and path[0] in parent.members:
            parent, path = self._object(parent.members[path[0]].value), path[1:]
        return parent, path[0], path[1:]

    def dump(self, value: object, indent: str) -> str:
        """`value` as JSON in the style of this document; lines after the first begin with `indent`."""
        lines = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return (self.newline + indent).join(lines)

    def indent(self, place: int) -> str:
        """The white space at the start of the line of `place`."""
        line = self.text[self.text.rfind("\n", 0, place) + 1 : place]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _object(self, place: int) -> _Object:
        """The object that starts at `place`; of members with the same name the last one, as JSON parsers do."""
        if self.plain[place] != "{":
            error = json.JSONDecodeError("expected an object {…}", self.plain, place)
            raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}")
        members: dict[str, _Member] = {}
        start = self._skip(place + 1)
        while self.plain[start] != "}":
            name, end = _DECODER.raw_decode(self.plain, start)
            value = self._skip(end)
            end = _DECODER.raw_decode(self.plain, value)[1]
            members[name] = _Member(start, value, end)
            start = self._skip(end)
        return _Object(place, start + 1, members)

    def _skip(self, place: int) -> int:
        gap = _GAP.match(self.plain, place)
        return gap.end() if gap else place


def parse(text: str, *, comments: bool = False) -> object:
    """The value of the document in `text`; {} if it is empty."""
    return _Document(text, comments=comments).value


def with_member(text: str, path: Sequence[str], value: object, *, comments: bool = False) -> str:
    """`text` with the member at `path` set to `value`; missing objects on the path are created."""
    document = _Document(text, comments=comments)
    parent, name, rest = document.innermost(path)
    if found := parent.members.get(name):
        new = document.dump(value, document.indent(found.start))
        return document.text[: found.value] + new + document.text[found.end :]
    for one in reversed(rest):
        value = {one: value}
    return _inserted(document, parent, name, value)


def without_member(text: str, path: Sequence[str], *, comments: bool = False) -> str:
    """`text` without the member at `path`; unchanged if there is none."""
    document = _Document(text, comments=comments)
    parent, name, rest = document.innermost(path)
    found = parent.members.get(name)
    if found is None or rest:
        return text
    before, after = text[: found.start].rstrip(), text[found.end :]
    if own_comma := re.compile(r"\s*,").match(document.bare, found.end):
        after = text[found.end : own_comma.end() - 1] + text[own_comma.end() :]
    elif len(parent.members) > 1:
        comma = document.bare.rindex(",", 0, found.start)
        before = before[:comma] + before[comma + 1 :]
    return before + (after.lstrip() if before.endswith("{") and after.lstrip().startswith("}") else after)


def _inserted(document: _Document, parent: _Object, name: str, value: object) -> str:
    """The text with a new last member of `parent`, on the same line if all others are."""
    text, newline = document.text, document.newline
    last = list(parent.members.values())[-1] if parent.members else None
    tail = len(text[: parent.end - 1].rstrip())  # after comments
    if last is None:
        outer = document.indent(parent.start)
        inner = outer + document.unit
        new = f"{newline}{inner}{json.dumps(name)}: {document.dump(value, inner)}{newline}{outer}"
        return text[:tail] + new + text[parent.end - 1 :]
    if "\n" in text[parent.start : parent.end]:
        inner = document.indent(last.start)
        new = f"{newline}{inner}{json.dumps(name)}: {document.dump(value, inner)}"
    else:
        new = f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
    if "," in document.bare[last.end : parent.end]:
        return text[:tail] + new + "," + text[tail:]
    return text[: last.end] + "," + text[last.end : tail] + new + text[tail:]


def _without_comment(found: re.Match[str]) -> str:
    text = found[0]
    is_comment = text.startswith("//") or (text.endswith("*/") and len(text) > 3)
    return re.sub(r"[^\n]", " ", text) if is_comment else text
