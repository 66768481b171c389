"""Reads whatever clients send as a message: as it was meant, or else answers its id with an error."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Sequence
from typing import Any, cast

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

# A JSON value of two bytes takes tens of bytes in memory. No tool needs nearly as many values as this.
MAX_VALUES = 250_000
NOT_A_MESSAGE = (
    'This is not a JSON-RPC 2.0 message. Send one object with "jsonrpc": "2.0", "method" and, for a request, "id" '
    '(a whole number or a text) and "params" (an object).'
)
BATCH = "Several messages in a list are not supported: send each by itself."
TOO_DEEP = "The message's JSON is nested too deeply."
NOT_JSON = "This is not JSON."
_STRING = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*"?', re.DOTALL)  # matches an unterminated string too, to stay linear
_SCALAR = rb'(?:"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|null|true|false)'
_MEMBER = rb'"[a-z]*"\s*:\s*' + _SCALAR
_ID_AT_START = re.compile(rb'\s*\{\s*(?:(?!"id")' + _MEMBER + rb'\s*,\s*)*"id"\s*:\s*(' + _SCALAR + rb")\s*[,}]")
_ID_AT_END = re.compile(rb',\s*"id"\s*:\s*(' + _SCALAR + rb')\s*(?:,\s*(?!"id")' + _MEMBER + rb"\s*)*\}\s*\Z")
_END_LENGTH = 4_000


class AnyIdError(JSONRPCError):
    """An error for whoever sent a message, with its id as it was sent."""

    id: Any


class UnusableMessageError(Exception):
    """A message that cannot be handled.

    Attributes:
        answers: what its sender is told, for each id in it; nothing in answer to a response.
    """

    def __init__(self, answers: Sequence[AnyIdError]) -> None:
        super().__init__()
        self.answers = answers


def read_message(raw: bytes) -> tuple[JSONRPCMessage, bytes]:
    """A message, and the same as plain JSON: without a byte order mark and without halves of characters.

    JavaScript and Python clients escape half a character that a model broke off ("\\ud83e").

    Raises:
        UnusableMessageError: it is not a message, or one that the protocol does not have.
    """
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        message = jsonrpc_message_adapter.validate_json(raw, by_name=False)
    except ValidationError:
        return _mended(raw)
    # With an id that is neither a whole number nor a text, a request looks like a notification.
    return _mended(raw) if isinstance(message, JSONRPCNotification) and b'"id"' in raw else (message, raw)


def has_too_many_values(raw: bytes) -> bool:
    """Whether JSON has more values than any tool needs; before it is read."""
    return _separators(raw) > MAX_VALUES and _separators(_STRING.sub(b"", raw)) > MAX_VALUES


def unread(start: bytes, end: bytes, problem: str) -> UnusableMessageError:
    """The error for a message that is too large to be read, from its first and last bytes."""
    return UnusableMessageError([_error(_id_in(start.removeprefix(codecs.BOM_UTF8), end), problem)])


def _mended(raw: bytes) -> tuple[JSONRPCMessage, bytes]:
    try:
        loaded: object = json.loads(raw.decode(errors="replace"))
    except RecursionError as error:
        raise unread(raw, raw, TOO_DEEP) from error
    except ValueError as error:
        raise UnusableMessageError([_error(_id_in(raw), NOT_JSON, PARSE_ERROR)]) from error
    if isinstance(loaded, list):
        parts = [cast("dict[str, object]", one) for one in cast("list[object]", loaded) if isinstance(one, dict)]
        ids = [one["id"] for one in parts if "method" in one and "id" in one]
        raise UnusableMessageError([_error(id, BATCH) for id in ids or [None]])
    sent = cast("dict[str, Any]", loaded) if isinstance(loaded, dict) else {}
    number = sent.get("id")
    if isinstance(number, float) and number.is_integer():
        sent["id"] = int(number)
    is_request = "id" in sent and not (number is None and str(sent.get("method")).startswith("notifications/"))
    try:
        plain = json.dumps(sent, ensure_ascii=False).encode(errors="ignore")
        message = jsonrpc_message_adapter.validate_json(plain, by_name=False)
    except (ValidationError, RecursionError) as error:
        if "method" not in sent and sent.keys() & {"result", "error"}:
            raise UnusableMessageError(()) from error
        is_deep = isinstance(error, RecursionError) or "recursion" in str(error.errors()[0]["msg"])
        raise UnusableMessageError([_error(number, TOO_DEEP if is_deep else NOT_A_MESSAGE)]) from error
    if isinstance(message, JSONRPCNotification) and is_request:
        raise UnusableMessageError([_error(number, NOT_A_MESSAGE)])
    return message, plain


def _error(id: object, message: str, code: int = INVALID_REQUEST) -> AnyIdError:
    known = id if isinstance(id, int | float | str) and not isinstance(id, bool) else None
    if isinstance(known, float) and not math.isfinite(known):
        known = None
    if isinstance(known, str):
        known = known.encode(errors="ignore").decode()
    return AnyIdError(jsonrpc="2.0", id=known, error=ErrorData(code=code, message=message))


def _id_in(start: bytes, end: bytes = b"") -> object:
    found = _ID_AT_START.match(start[:_END_LENGTH]) or _ID_AT_END.search(end[-_END_LENGTH:])
    return json.loads(found[1].decode(errors="replace")) if found else None


def _separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")
