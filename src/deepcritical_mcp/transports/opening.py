"""Answers a client's first requests on stdio, `initialize` and `tools/list`, before the SDK is imported.

The answers are in `opening.json`, recorded from this server by `scripts/opening.py`; a test compares the two. The SDK
reads `initialize` as well, and is then in the same state as if it had answered; its answer is not sent again.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeGuard

from deepcritical_mcp._version import __version__
from deepcritical_mcp.transports import exit_now

ANSWERS = Path(__file__).with_suffix(".json")
SDK_VERSION = "2.3"
"""The SDK whose answers were recorded; with another one, the SDK answers everything itself."""
PROTOCOL_VERSIONS = frozenset(("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"))
PATIENCE = 0.25
"""Seconds to wait for a message; then the SDK is imported."""
_CAPABILITIES = frozenset(("elicitation", "experimental", "extensions", "roots", "sampling"))
_CLIENT_INFO = frozenset(("name", "version", "title", "description", "websiteUrl"))
_STDIN, _STDOUT = 0, 1

logger = logging.getLogger(__name__)


@dataclass
class Opening:
    """The lines that the SDK has yet to read, and those that it need not send: answers by the ids of their requests."""

    lines: list[str] = field(default_factory=list[str])
    answers: dict[int | str, str] = field(default_factory=dict[int | str, str])


def answer_opening() -> Opening | None:
    """Answer `initialize` and the first `tools/list` that follows, as long as the client sends nothing else.

    For a server on stdio that offers all tools. None if nothing can be answered here.
    """
    if sys.platform == "win32" or sys.stdin is None or sys.stdout is None:  # no `select` for pipes; nothing to answer
        return None
    if not version("mcp").startswith(f"{SDK_VERSION}."):
        return None
    results: dict[str, dict[str, Any]] = json.loads(ANSWERS.read_bytes())
    opening, method = Opening(), "initialize"
    while method not in ("", "tools/list"):
        method = _answer_next(opening, results)
    return opening


def _answer_next(opening: Opening, results: dict[str, dict[str, Any]]) -> str:
    """Answer the next message; its method, or "" if it is not one for this module, or none came."""
    line = _next_line().decode(errors="replace")  # as the SDK decodes it
    if not line:
        return ""
    opening.lines.append(line)
    message = _message(line)
    method, params, number = message.get("method"), message.get("params", {}), message.get("id")
    if method == "notifications/initialized" and opening.answers and number is None:
        return method
    if message.keys() - {"jsonrpc", "id", "method", "params"} or not _is_id(number) or number in opening.answers:
        return ""
    if method == "initialize" and not opening.answers and _is_plain(params):
        result = results[method]
        result["protocolVersion"], result["serverInfo"]["version"] = params["protocolVersion"], __version__
        for each in (signal.SIGTERM, signal.SIGINT):  # until the server itself receives them
            signal.signal(each, _leave)
    elif method == "tools/list" and opening.answers and params == {}:
        result = results[method]
        opening.lines.pop()  # for the SDK it would change nothing
    else:
        return ""
    answer = {"jsonrpc": "2.0", "id": number, "result": result}
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    if method == "initialize":
        opening.answers[number] = text
    _write(f"{text}\n".encode())
    return method


def _is_id(value: object) -> TypeGuard[int | str]:
    return (type(value) is int and abs(value) < 2**53) or (isinstance(value, str) and value.isascii())


def _next_line() -> bytes:
    """The client's next line; b"" if none comes. Read byte by byte: what follows is the SDK's to read."""
    line = bytearray()
    while not line.endswith(b"\n"):
        if not select.select([_STDIN], [], [], None if line else PATIENCE)[0]:
            break
        byte = os.read(_STDIN, 1)
        if not byte:
            break
        line += byte
    return bytes(line)


def _write(answer: bytes) -> None:
    while answer:
        select.select([], [_STDOUT], [])  # for a client that made the pipe non-blocking
        answer = answer[os.write(_STDOUT, answer) :]


def _message(line: str) -> dict[str, Any]:
    """The JSON-RPC message in a line; empty if it is none."""
    try:
        message: object = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}
    return message if _is_object(message) and message.get("jsonrpc") == "2.0" else {}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_plain(params: object) -> TypeGuard[dict[str, Any]]:
    """Whether the SDK certainly accepts these parameters of `initialize`, and with this version of the protocol."""
    if not _is_object(params) or params.keys() != {"protocolVersion", "capabilities", "clientInfo"}:
        return False
    asked, capabilities, client = params["protocolVersion"], params["capabilities"], params["clientInfo"]
    return (
        isinstance(asked, str)
        and asked in PROTOCOL_VERSIONS
        and _is_object(capabilities)
        and capabilities.keys() <= _CAPABILITIES
        and all(_is_plain_capability(name, one) for name, one in capabilities.items())
        and _is_object(client)
        and {"name", "version"} <= client.keys() <= _CLIENT_INFO
        and all(isinstance(one, str) for one in client.values())
    )


def _is_plain_capability(name: str, capability: object) -> bool:
    if not _is_object(capability):
        return False
    if name == "roots":
        return capability.keys() <= {"listChanged"} and all(isinstance(one, bool) for one in capability.values())
    return all(_is_object(one) for one in capability.values())


def _leave(number: int, frame: object) -> None:
    logger.info("received %s, shutting down", signal.Signals(number).name)
    exit_now(0)
