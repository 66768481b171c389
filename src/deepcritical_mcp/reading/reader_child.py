"""The process that reads documents; see `reading.reader_process`.

A request is its length in 8 bytes, a line of JSON, and the document. An answer is a byte that says whether this process
goes on, its length, and JSON: `{"read": …}`, or `{"error": …}` with the attributes of an `UnreadableDocumentError`. Of
a library that is its form, and lines with some of its entries each follow.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import pkgutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import PydanticSerializationError, to_json

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import PageReading, Reading, bounded
from deepcritical_mcp.text import batches

if TYPE_CHECKING:
    from deepcritical_mcp.reading.library_entries import LibraryReading

MEMORY = 768 * 1024**2
"""Bytes that this process may take."""
MEMORY_AT_REST = 192 * 1024**2
"""Bytes beyond which it ends with its present document."""
SECONDS = 40
"""Nothing is read for longer, even if no parent is left to end this process."""
IDLE_SECONDS = 60
LENGTH = 8
JATS = "application/jats+xml"
LIBRARY_FILE = "application/x-references"
ENTRIES_A_LINE = 50
"""Of a library; an answer with these has several lines."""
MAX_ARTICLES = 100
"""Articles in one answer; more than any request asks for."""
TOO_MUCH_MEMORY = 77
"""The exit code of a process that took more than `MEMORY`."""
_WATCHED_EVERY = 0.05
_READERS = {
    JATS: "deepcritical_mcp.reading.jats:read_jats",
    LIBRARY_FILE: "deepcritical_mcp.reading.library_entries:read_library",
    "application/x-office": "deepcritical_mcp.reading.office:read_office",
    "application/pdf": "deepcritical_mcp.reading.pdf:read_pdf",
    "text/markdown": "deepcritical_mcp.reading.user_text:read_own_file",
    "text/plain": "deepcritical_mcp.reading.web_page:read_plain_text",
}
_REASONS: Mapping[type[Exception], str] = {
    RecursionError: "its parts are nested too deeply",
    MemoryError: "it would take too much memory",
}
_FAILURES = (PydanticSerializationError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, *_REASONS)
_PAGE = "deepcritical_mcp.reading.web_page:read_page"


def _read(content: bytes, media_type: str, **how: str) -> PageReading | LibraryReading | Sequence[Reading]:
    # By name, so that a page does not wait for PDFium to be loaded.
    found = pkgutil.resolve_name(_READERS.get(media_type, _PAGE))(content, **how)
    if isinstance(found, PageReading):
        return replace(found, reading=bounded(found.reading))
    if media_type == LIBRARY_FILE:
        return cast("LibraryReading", found)
    return [bounded(one) for one in cast("Sequence[Reading]", found[:MAX_ARTICLES])]


def _answer(request: bytes) -> bytes:
    header, _, content = request.partition(b"\n")
    try:
        how = json.loads(header)
        found = _read(content, **how)
        if how["media_type"] == LIBRARY_FILE:
            form, entries = cast("LibraryReading", found)
            return b"\n".join([to_json({"read": form}), *map(to_json, batches(entries, ENTRIES_A_LINE))])
        return to_json({"read": found})
    except UnreadableDocumentError as error:
        flags = {name: getattr(error, name) for name in ("is_protected", "is_too_slow")}
        return to_json({"error": error.message, **flags})
    except _FAILURES as error:
        why = _REASONS.get(type(error), "it is damaged or too complex")
        return to_json({"error": f"This document cannot be read: {why}."})


def _limit() -> None:
    """Let the system refuse memory far beyond the limit that `_watch` enforces, and write no core file."""
    with suppress(ImportError, ValueError, OSError):  # there is no such module on Windows
        resource: Any = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY))


def _most_memory() -> int:
    """Bytes that this process has taken at most; 0 where the system does not say so (Windows), so that a document has
    a process of its own there, which only its time and its size limit."""
    with suppress(OSError, ValueError, IndexError):  # getrusage counts what the parent had, on Linux
        return int(Path("/proc/self/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) * 1024
    with suppress(ImportError):
        resource: Any = importlib.import_module("resource")
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return 0


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        if _most_memory() > MEMORY:
            os._exit(TOO_MUCH_MEMORY)
        time.sleep(_WATCHED_EVERY)
    os._exit(0)  # nobody waits for an answer


def _main() -> None:
    _limit()
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not an answer
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    goes_on = True
    while goes_on and (length := requests.read(LENGTH)):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        answer = _answer(requests.read(int.from_bytes(length, "big")))
        faulthandler.dump_traceback_later(IDLE_SECONDS, exit=True)  # if there is nothing more to read
        goes_on = 0 < _most_memory() <= MEMORY_AT_REST
        answers.write(bytes([goes_on]) + len(answer).to_bytes(LENGTH, "big") + answer)
        answers.flush()
        del answer


if __name__ == "__main__":
    _main()
