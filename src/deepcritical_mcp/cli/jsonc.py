"""Edits of a JSON file that keep everything else in it: comments, order, indentation and line endings.

Reads JSON and, if allowed, JSON with comments and trailing commas ("JSONC", as used by VS Code).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<mark>[{}\[\],:])
      | (?P<literal>[^\s{}\[\],:"/]+)""",
    re.VERBOSE | re.DOTALL,
)
_MAX_DEPTH = 200


class JsonError(ValueError):
    """The text is not valid JSON or lacks the structure that an edit needs; the message says where."""


@dataclass(frozen=True)
class JsonNode:
    """A value and its position `text[start:end]`."""

    value: object
    start: int
    end: int
    members: tuple[Member, ...] = ()

    def member(self, name: str) -> Member | None:
        """The member of that name; the last one if there are several, as JSON parsers do."""
        return next((one for one in reversed(self.members) if one.name == name), None)


@dataclass(frozen=True)
class Member:
    """A `"name": value` of an object; `comma` is the position of the comma after it, -1 if there is none."""

    name: str
    start: int
    element: JsonNode
    comma: int = -1


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass
class _Reader:
    text: str
    comments: bool
    tokens: list[_Token] = field(default_factory=list["_Token"])
    place: int = 0

    def peek(self) -> _Token:
        if self.place < len(self.tokens):
            return self.tokens[self.place]
        return _Token("end", "", len(self.text))

    def take(self, expected: str = "") -> _Token:
        token = self.peek()
        if token.kind == "end" or (expected and token.text != expected):
            raise JsonError(f"{_where(self.text, token.start)}: expected {expected or 'a value'}")
        self.place += 1
        return token


def parse(text: str, *, comments: bool = False) -> JsonNode:
    """The document in `text`, with the positions of its values.

    Raises:
        JsonError: `text` is not JSON (with `comments`: not JSONC).
    """
    reader = _Reader(text, comments)
    for token in _tokens(text):
        if token.kind == "comment" and not comments:
            raise JsonError(f"{_where(text, token.start)}: comments are not allowed in this file")
        if token.kind not in ("space", "comment"):
            reader.tokens.append(token)
    element = _element(reader, 0)
    if reader.peek().kind != "end":
        raise JsonError(f"{_where(text, reader.peek().start)}: unexpected text after the end")
    return element


def with_member(text: str, path: Sequence[str], value: object, *, comments: bool = False) -> str:
    """`text` with the member at `path` set to `value`; missing objects on the path are created.

    Raises:
        JsonError: `text` is not JSON, or something on the path is not an object.
    """
    if not text.strip("\ufeff \t\r\n"):
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        return mark + _dump(_nested(path, value), "  ", "", _newline(text)) + _newline(text)
    parent, rest = _deepest(text, parse(text, comments=comments), path)
    found = parent.member(rest[0])
    if found is not None:
        new = _dump(value, _unit(text), _indent(text, found.start), _newline(text))
        return text[: found.element.start] + new + text[found.element.end :]
    return _inserted(text, parent, rest[0], _nested(rest[1:], value))


def without_member(text: str, path: Sequence[str], *, comments: bool = False) -> str:
    """`text` without the member at `path`; unchanged if there is none.

    Raises:
        JsonError: `text` is not JSON, or something on the path is not an object.
    """
    if not text.strip("\ufeff \t\r\n"):
        return text
    parent, rest = _deepest(text, parse(text, comments=comments), path)
    found = parent.member(rest[0])
    if found is None or len(rest) > 1:
        return text
    index = parent.members.index(found)
    before = text[: found.start].rstrip(" \t\r\n")
    after = text[found.element.end :]
    if found.comma >= 0:
        after = text[found.element.end : found.comma] + text[found.comma + 1 :]
    elif index > 0:
        comma = parent.members[index - 1].comma
        before = before[:comma] + before[comma + 1 :]
    if before.endswith("{") and after.lstrip().startswith("}"):
        after = after.lstrip()
    return before + after


def without_values(text: str, keep: tuple[int, int] = (0, 0)) -> str:
    """`text` to be shown: strings that are values, and comments, are hidden, since they may hold keys.

    What stands in `text[keep[0]:keep[1]]` is shown, but for the values of an "env" object in it.
    """
    shown: list[str] = []
    tokens = list(_tokens(text))
    in_env = False
    for index, token in enumerate(tokens):
        following = next((one.text for one in tokens[index + 1 :] if one.kind not in ("space", "comment")), "")
        is_name = token.kind == "string" and following == ":"
        if is_name and token.text == '"env"':
            in_env = True
        elif token.text == "}":
            in_env = False
        is_kept = keep[0] <= token.start and token.end <= keep[1] and not in_env
        if token.kind == "string" and not is_name and not is_kept:
            shown.append('"…"')
        elif token.kind == "comment" and not is_kept:
            shown.append("//…" if token.text.startswith("//") else "/*…*/")
        else:
            shown.append(token.text)
    return "".join(shown)


def _tokens(text: str) -> Iterator[_Token]:
    place = 1 if text.startswith("\ufeff") else 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise JsonError(f"{_where(text, place)}: unexpected {text[place]!r}")
        yield _Token(str(match.lastgroup), match.group(), place)
        place = match.end()


def _element(reader: _Reader, depth: int) -> JsonNode:
    if depth > _MAX_DEPTH:
        raise JsonError("nested too deeply")
    token = reader.take()
    if token.text == "{":
        return _object(reader, token, depth)
    if token.text == "[":
        return _array(reader, token, depth)
    if token.kind not in ("string", "literal"):
        raise JsonError(f"{_where(reader.text, token.start)}: expected a value")
    try:
        return JsonNode(json.loads(token.text), token.start, token.end)
    except ValueError:
        raise JsonError(f"{_where(reader.text, token.start)}: {token.text[:20]} is not a JSON value") from None


def _object(reader: _Reader, opening: _Token, depth: int) -> JsonNode:
    members: list[Member] = []
    while reader.peek().text != "}":
        name = reader.take()
        if name.kind != "string" or (members and members[-1].comma < 0):
            raise JsonError(f"{_where(reader.text, name.start)}: expected , or }}")
        reader.take(":")
        element = _element(reader, depth + 1)
        members.append(Member(str(json.loads(name.text)), name.start, element, _comma(reader, "}")))
    value = {one.name: one.element.value for one in members}
    return JsonNode(value, opening.start, reader.take("}").end, tuple(members))


def _array(reader: _Reader, opening: _Token, depth: int) -> JsonNode:
    values: list[object] = []
    comma = 0
    while reader.peek().text != "]":
        if comma < 0:
            raise JsonError(f"{_where(reader.text, reader.peek().start)}: expected , or ]")
        values.append(_element(reader, depth + 1).value)
        comma = _comma(reader, "]")
    return JsonNode(values, opening.start, reader.take("]").end)


def _comma(reader: _Reader, closing: str) -> int:
    """The position of the next token if it is a comma, else -1."""
    if reader.peek().text != ",":
        return -1
    comma = reader.take()
    if reader.peek().text == closing and not reader.comments:
        raise JsonError(f"{_where(reader.text, comma.start)}: trailing comma")
    return comma.start


def _where(text: str, place: int) -> str:
    line = text.count("\n", 0, place) + 1
    return f"line {line}, column {place - (text.rfind(chr(10), 0, place) + 1) + 1}"


def _deepest(text: str, root: JsonNode, path: Sequence[str]) -> tuple[JsonNode, Sequence[str]]:
    """The innermost object on `path` that exists, and the rest of the path (at least one name)."""
    element, rest = root, list(path)
    while True:
        if not isinstance(element.value, Mapping):
            raise JsonError(f"{_where(text, element.start)}: expected an object {{…}}")
        found = element.member(rest[0])
        if found is None or len(rest) == 1:
            return element, rest
        element, rest = found.element, rest[1:]


def _nested(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _inserted(text: str, parent: JsonNode, name: str, value: object) -> str:
    newline = _newline(text)
    outer = _indent(text, parent.start)
    if not parent.members:
        inner = outer + _unit(text)
        inside = text[parent.start + 1 : parent.end - 1].rstrip()
        new = f"{inside}{newline}{inner}{json.dumps(name)}: {_dump(value, _unit(text), inner, newline)}{newline}{outer}"
        return text[: parent.start + 1] + new + text[parent.end - 1 :]
    last = parent.members[-1]
    is_on_one_line = "\n" not in text[parent.start : parent.end]
    inner = _indent(text, last.start)
    separator = " " if is_on_one_line else newline + inner
    written = json.dumps(value, ensure_ascii=False) if is_on_one_line else _dump(value, _unit(text), inner, newline)
    new = f"{separator}{json.dumps(name)}: {written}"
    end = len(text[: parent.end - 1].rstrip())
    if last.comma >= 0:
        return f"{text[:end]}{new},{text[end:]}"
    return f"{text[: last.element.end]},{text[last.element.end : end]}{new}{text[end:]}"


def _dump(value: object, unit: str, indent: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (newline + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, place: int) -> str:
    """The white space at the start of the line of `place`."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One level of indentation, as used in the file."""
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match.group(1) if match else "  "
