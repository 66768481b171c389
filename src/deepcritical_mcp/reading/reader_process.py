"""Reads pages and PDFs in a process of their own.

What comes from the web may be made to crash or stall whoever reads it, and PDFium and libxml2 are C libraries: a crash
would take every session with it, and a thread that hangs cannot be stopped. So each document is read by a child
process that has no keys in its environment, at most so much memory and processor time, and is killed when its time is
over. It costs about a third of a second, next to a fetch over the network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, cast

import anyio
from anyio.lowlevel import RunVar

from deepcritical_mcp.deadline import TO_KEEP_RESULTS, seconds_before
from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.models import AuthorName, Part
from deepcritical_mcp.reading import PageReading, Reading

SECONDS = 25.0


_readers: RunVar[anyio.CapacityLimiter] = RunVar("readers")


def _turns() -> anyio.CapacityLimiter:
    """How many documents are read at once: a process each would slow down all of them."""
    limiter = _readers.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(max(2, os.cpu_count() or 2))
        _readers.set(limiter)
    return limiter


async def read_document(
    content: bytes, *, media_type: str, url: str, charset: str = "", seconds: float = SECONDS
) -> PageReading:
    """A page, text file or PDF, read in a child process.

    Raises:
        UnreadableDocumentError: it is damaged or protected, or took longer than `seconds` or too much memory;
            retryable if the reason is not the document.
    """
    header = json.dumps({"media_type": media_type, "url": url, "charset": charset}).encode()
    # Only what the interpreter needs: no keys.
    environment = None if sys.platform == "win32" else {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-m", "deepcritical_mcp.reading.reader_child"]
    async with _turns():
        left = min(seconds, seconds_before(TO_KEEP_RESULTS))
        try:
            with anyio.fail_after(left):
                done = await anyio.run_process(
                    command, input=header + b"\n" + content, stderr=subprocess.DEVNULL, check=False, env=environment
                )
            answer = done.stdout
        except TimeoutError as error:
            raise UnreadableDocumentError(
                "This document takes too long to read.", is_too_slow=True, retryable=left < seconds
            ) from error
        except OSError as error:
            raise UnreadableDocumentError("No further process can be started to read it.", retryable=True) from error
        except (anyio.BrokenResourceError, ExceptionGroup):  # the child ended before it had read everything
            answer = b""
    try:
        found = cast("dict[str, Any]", json.loads(answer))
        if "error" not in found:
            return _from_wire(found)
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableDocumentError("This document cannot be read: it is damaged or too complex.") from error
    raise UnreadableDocumentError(
        str(found["error"]), is_protected=bool(found.get("is_protected")), is_too_slow=bool(found.get("is_too_slow"))
    )


def _from_wire(found: Mapping[str, Any]) -> PageReading:
    fields = dict(found["fields"])
    if "authors" in fields:
        fields["authors"] = tuple(AuthorName(*name) for name in fields["authors"])
    parts = tuple(Part.model_validate(part) for part in found["parts"])
    reading = Reading(
        found["content"], parts, fields, found["abstract"], found["licence"], remarks=tuple(found["remarks"])
    )
    return PageReading(reading, found["status"], found["detail"], tuple(found["copies"]))
