"""Answers a client's first requests on stdio, `initialize` and `tools/list`, before the SDK is imported.

The answers are in `opening.json`, recorded from this server by `scripts/opening.py`; a test compares the two. The SDK
reads `initialize` as well, and is then in the same state as if it had answered; its answer is not sent again. What it
has yet to read is put in front of stdin.
"""

from __future__ import annotations

import io
import json
import logging
import os
import select
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from deepcritical_mcp._version import __version__
from deepcritical_mcp.transports import exit_now

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from typing_extensions import Buffer

ANSWERS = Path(__file__).with_suffix(".json")
SDK_VERSION = "2.3"
"""The SDK whose answers were recorded; with another one, the SDK answers everything itself."""
PROTOCOL_VERSIONS = frozenset(("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"))
PATIENCE = 0.25
"""Seconds to wait for a message; then the SDK is imported."""
_CAPABILITIES = frozenset(("elicitation", "experimental", "extensions", "roots", "sampling"))
_CLIENT_INFO = frozenset(("name", "version", "title", "description", "websiteUrl"))
MAX_LINE, MAX_BRACKETS = 64_000, 100
"""Longer or deeper messages may be refused, which is for the SDK to say."""
_STDIN, _STDOUT = 0, 1

logger = logging.getLogger(__name__)


class ClientInput(io.RawIOBase):
    """Stdin, preceded by what was read from it and not answered. It has a descriptor of its own, and descriptor 0 leads
    nowhere, as where the SDK opens stdin: nothing else in the process can take the client's messages.
    """

    def __init__(self, unread: bytes) -> None:
        self._unread = unread
        self._descriptor = fcntl.fcntl(_STDIN, fcntl.F_DUPFD_CLOEXEC, 3)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, _STDIN)
        os.close(nowhere)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def readinto(self, buffer: Buffer, /) -> int:
        """Blocks until there is something; 0 at the end."""
        view = memoryview(buffer)
        if not self._unread:
            select.select([self._descriptor], [], [])  # for a client that made the pipe non-blocking
        some = self._unread[: len(view)] or os.read(self._descriptor, len(view))
        self._unread = self._unread[len(view) :]
        view[: len(some)] = some
        return len(some)


def answer_opening() -> dict[int | str, str]:
    """Answer `initialize` and the first `tools/list` that follows, as long as the client sends nothing else.

    For a server on stdio that offers all tools. The SDK's answers to the requests with these ids need not be sent.
    """
    answers: dict[int | str, str] = {}
    if sys.platform == "win32" or sys.stdin is None or sys.stdout is None:  # no `select` for pipes; nothing to answer
        return answers
    if sys.flags.optimize > 1 or not version("mcp").startswith(f"{SDK_VERSION}."):  # then tools have no docstrings
        return answers
    results: dict[str, dict[str, Any]] = json.loads(ANSWERS.read_bytes())
    read, rest, method = b"", b"", "initialize"
    while method not in ("", "tools/list"):
        line, rest = _next_line(rest)
        method = _answer(line, answers, results)
        read += b"" if method == "tools/list" else line  # for the SDK it would change nothing
    if read or rest:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(ClientInput(read + rest)), encoding="utf-8", errors="replace")
    return answers


def _answer(line: bytes, answers: dict[int | str, str], results: dict[str, dict[str, Any]]) -> str:
    """Answer a message; its method, or "" if it is not one for this module."""
    message = _message(line)
    method, params, number = message.get("method"), message.get("params", {}), message.get("id")
    if method == "notifications/initialized" and answers and number is None:
        return method
    if message.keys() - {"jsonrpc", "id", "method", "params"} or not _is_id(number) or number in answers:
        return ""
    if method == "initialize" and not answers and _is_plain(params):
        result = results[method]
        result["protocolVersion"], result["serverInfo"]["version"] = params["protocolVersion"], __version__
        for each in (signal.SIGTERM, signal.SIGINT):  # until the server itself receives them
            signal.signal(each, _leave)
    elif method == "tools/list" and answers and params == {}:
        result = results[method]
    else:
        return ""
    answer = {"jsonrpc": "2.0", "id": number, "result": result}
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    if method == "initialize":
        answers[number] = text
    left = f"{text}\n".encode()
    while left:
        select.select([], [_STDOUT], [])  # for a client that made the pipe non-blocking
        left = left[os.write(_STDOUT, left) :]
    return method


def _next_line(read: bytes) -> tuple[bytes, bytes]:
    """The client's next line, of which `read` may be the start, and what follows. The line is incomplete if its end
    does not come soon enough."""
    while b"\n" not in read and len(read) < MAX_LINE:
        some = os.read(_STDIN, MAX_LINE) if select.select([_STDIN], [], [], PATIENCE)[0] else b""
        if not some:
            return read, b""
        read += some
    line, end, rest = read.partition(b"\n")
    return line + end, rest


def _message(line: bytes) -> dict[str, Any]:
    """The JSON-RPC message in a line; empty if it is none, or may be refused."""
    if not line.endswith(b"\n") or b"\r" in line[:-2] or len(line) > MAX_LINE:  # for the SDK, "\r" is a line's end
        return {}
    if line.count(b"{") + line.count(b"[") > MAX_BRACKETS:
        return {}
    try:
        message: object = json.loads(line.decode(errors="replace"), parse_constant=_refuse)  # as the SDK decodes it
    except (ValueError, RecursionError):
        return {}
    return message if _is_object(message) and message.get("jsonrpc") == "2.0" else {}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _is_id(value: object) -> TypeGuard[int | str]:
    return (type(value) is int and abs(value) < 2**53) or (isinstance(value, str) and value.isascii())


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
        and all(map(_is_object, capabilities.values()))
        and all(_is_object(one) for name in capabilities.keys() - {"roots"} for one in capabilities[name].values())
        and capabilities.get("roots", {}).keys() <= {"listChanged"}
        and all(isinstance(one, bool) for one in capabilities.get("roots", {}).values())
        and _is_object(client)
        and {"name", "version"} <= client.keys() <= _CLIENT_INFO
        and all(isinstance(one, str) for one in client.values())
    )


def _leave(number: int, frame: object) -> None:
    logger.info("received %s, shutting down", signal.Signals(number).name)
    exit_now(0)
