"""Reads documents from outside (web pages, text files, PDFs, JATS) in processes of their own.

A document from outside may be made to crash or stall its reader, and PDFium and libxml2 are C libraries: a crash would
take every session with it, and a thread that hangs cannot be stopped. So a child process reads it, which has no keys in
its environment and limited time and memory, and gives back what `reading.assembled` lets through. It reads further
documents until it has grown, has failed, or has had nothing to do for a while; it ends with its parent.

There are two at most. Every document goes to the first, callers in turn, and has it for `QUICK` seconds, many times
what documents take; one that takes longer is read again by the second. So slow documents delay only one another.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import Empty, LifoQueue
from typing import Any, Literal, TypeVar, cast

import anyio
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from pydantic import TypeAdapter
from pydantic_core import from_json

from deepcritical_mcp.deadline import TO_KEEP_RESULTS, seconds_before
from deepcritical_mcp.errors import (
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    UnreadableDocumentError,
)
from deepcritical_mcp.models import AuthorName, StatusNotice
from deepcritical_mcp.net.pacing import TurnLine
from deepcritical_mcp.reading import PageReading, Reading
from deepcritical_mcp.reading.library_entries import LibraryForm, LibraryReading, WrittenEntry
from deepcritical_mcp.reading.reader_child import JATS, LENGTH, LIBRARY_FILE, TOO_MUCH_MEMORY

SECONDS = 25.0
QUICK = 5.0
MAX_ANSWER = 64 * 1024**2
"""Bytes; more than the longest set of articles that is asked for."""
_COMMAND = (sys.executable, "-W", "ignore", "-m", "deepcritical_mcp.reading.reader_child")
_UNREADABLE = "This document cannot be read: it is damaged or too complex."
_TOO_LARGE = "This document cannot be read: it would take too much memory."
_PAGE, _ARTICLES, _ENTRIES = TypeAdapter(PageReading), TypeAdapter(list[Reading]), TypeAdapter(list[WrittenEntry])
_FORM: TypeAdapter[LibraryForm | Literal[""]] = TypeAdapter(LibraryForm | Literal[""])
T = TypeVar("T")
_lines: RunVar[tuple[TurnLine, TurnLine]] = RunVar("reading_lines")


class _Child:
    """A process that reads one document after the other."""

    def __init__(self) -> None:
        # Only what the interpreter needs: no keys.
        environment = None if sys.platform == "win32" else {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.is_new = True

    def ask(self, header: bytes, content: bytes) -> tuple[bytes, bool]:
        """Its answer, and whether it can be asked again; if not, it is ended.

        Raises:
            UnreadableDocumentError: it ended, or was ended, without an answer.
        """
        requests, answers = cast("Any", self.process.stdin), cast("Any", self.process.stdout)
        start = answer = b""
        with suppress(OSError):  # it ended before it had read everything
            requests.write((len(header) + len(content)).to_bytes(LENGTH, "big") + header)
            requests.write(content)
            requests.flush()
            start = answers.read(1 + LENGTH)
            length = int.from_bytes(start[1:], "big")
            answer = answers.read(length) if length <= MAX_ANSWER else b""
        if answer and start[0]:
            return answer, True
        if not answer:
            with suppress(subprocess.TimeoutExpired):  # its pipes close before it has ended
                self.process.wait(1)
        code = self.end()
        if not answer:
            raise UnreadableDocumentError(_TOO_LARGE if code == TOO_MUCH_MEMORY else _UNREADABLE)
        return answer, False

    def end(self) -> int:
        """End it; gives its exit code."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what could not be written
                cast("Any", pipe).close()
        return self.process.wait()


_idle: LifoQueue[_Child] = LifoQueue()


def _take() -> _Child:
    with suppress(Empty):
        while True:
            child = _idle.get_nowait()
            child.is_new = False
            if child.process.poll() is None:
                return child
            child.end()
    return _Child()


@atexit.register
def end_readers() -> None:
    """End the idle processes; new ones start when there is something to read."""
    with suppress(Empty):
        while True:
            _idle.get_nowait().end()


async def read_document(
    content: bytes, *, media_type: str, url: str, charset: str = "", seconds: float = SECONDS
) -> PageReading:
    """A page, text file or PDF, read in a child process.

    Raises:
        UnreadableDocumentError: it is damaged or protected, or took longer than `seconds` or too much memory;
            retryable if the reason is not the document.
    """
    header = {"media_type": media_type, "url": url, "charset": charset}
    page = await _read(content, header, partial(_parsed, adapter=_PAGE), seconds)
    return replace(page, reading=_typed(page.reading))


async def read_library_file(content: bytes) -> LibraryReading:
    """The entries of a file of a reference manager or database, read in a child process; raises as `read_document`."""
    return await _read(content, {"media_type": LIBRARY_FILE}, _parsed_library, SECONDS)


async def read_articles(content: bytes, provider: str, title: str) -> Sequence[Reading]:
    """The articles in a provider's answer in JATS, read in a child process as by `read_jats`; a ProviderError if it
    cannot be read."""
    try:
        parsed = partial(_parsed, adapter=_ARTICLES)
        return [_typed(one) for one in await _read(content, {"media_type": JATS}, parsed, SECONDS)]
    except UnreadableDocumentError as error:
        unread = f"{title} sent a full text that cannot be read. {error.message}"
        raise outage_of(error, provider) or ProviderResponseError(provider, unread) from error


def outage_of(error: UnreadableDocumentError, provider: str) -> ProviderError | None:
    """The outage that kept a document from being read; None if the reason is the document."""
    if error.is_too_slow:
        return ProviderTimeoutError(provider, error.message)
    return ProviderUnavailableError(provider, error.message) if error.retryable else None


async def _read(content: bytes, header: Mapping[str, str], parsed: Callable[[bytes], T], seconds: float) -> T:
    lines = _lines.get(None) or (TurnLine(), TurnLine())
    _lines.set(lines)
    line, too_slow = json.dumps(header).encode() + b"\n", "This document takes too long to read."
    for turns, most in zip(lines, (min(QUICK, seconds), seconds), strict=True):
        async with turns.turn():
            left = min(most, seconds_before(TO_KEEP_RESULTS))
            with anyio.move_on_after(left):
                return await _read_once(line, content, parsed)
            if left < most:
                raise UnreadableDocumentError(too_slow, is_too_slow=True, retryable=True)
            if most == seconds:
                break
    raise UnreadableDocumentError(too_slow, is_too_slow=True)


async def _read_once(line: bytes, content: bytes, parsed: Callable[[bytes], T]) -> T:
    try:
        child = await run_sync(_take)
    except OSError as error:
        raise UnreadableDocumentError("No further process can be started to read it.", retryable=True) from error
    try:
        answer, goes_on = await run_sync(child.ask, line, content, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        threading.Thread(target=child.end, daemon=True).start()
        raise
    except UnreadableDocumentError:
        if child.is_new:
            raise
        return await _read_once(line, content, parsed)  # perhaps it was ended while it had nothing to do
    if goes_on:
        _idle.put(child)
    return await run_sync(parsed, answer)


def _parsed(answer: bytes, adapter: TypeAdapter[T]) -> T:
    try:
        found = cast("dict[str, Any]", from_json(answer))
        if "error" in found:
            raise UnreadableDocumentError(found.pop("error"), **found)
        return adapter.validate_python(found["read"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableDocumentError(_UNREADABLE) from error


def _parsed_library(answer: bytes) -> LibraryReading:
    """The entries of a library, whose answer has lines of some of them each: parsed as a whole, those of a large file
    would hold up everybody else."""
    form, *lines = answer.split(b"\n")
    entries = list[WrittenEntry]()
    try:
        for line in lines:
            entries += _ENTRIES.validate_json(line)
    except ValueError as error:
        raise UnreadableDocumentError(_UNREADABLE) from error
    return LibraryReading(_parsed(form, _FORM), entries)


def _typed(reading: Reading) -> Reading:
    """A reading with its fields restored from JSON."""
    kinds = {"authors": AuthorName._make, "status_notices": StatusNotice.model_validate}
    fields = {
        name: tuple(map(kinds.get(name, str), cast("list[Any]", value))) if isinstance(value, list) else value
        for name, value in reading.fields.items()
    }
    return replace(reading, fields=fields)
