"""The process that reads one document; see `reading.reader_process`.

On stdin a line of JSON and the document, on stdout a line of JSON.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import PageReading

MEMORY = 2 * 1024**3
PROCESSOR_SECONDS = 30
_READERS = {
    "application/pdf": "deepcritical_mcp.reading.pdf:read_pdf",
    "text/plain": "deepcritical_mcp.reading.web_page:read_plain_text",
}
_PAGE = "deepcritical_mcp.reading.web_page:read_page"


def _read(content: bytes, media_type: str, url: str, charset: str) -> PageReading:
    # By name, so that a page does not wait for PDFium to be loaded.
    read: Callable[..., PageReading] = pkgutil.resolve_name(_READERS.get(media_type, _PAGE))
    return read(content, url=url, charset=charset)


def _limit() -> None:
    with suppress(ImportError, ValueError, OSError):  # there is no such module on Windows
        resource: Any = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _to_wire(page: PageReading) -> Mapping[str, object]:
    reading = page.reading
    return {
        "content": reading.content,
        "parts": [part.model_dump() for part in reading.parts],
        "fields": reading.fields,
        "abstract": reading.abstract,
        "licence": reading.licence,
        "remarks": reading.remarks,
        "status": page.status,
        "detail": page.detail,
        "copies": page.copies,
    }


def _main() -> None:
    _limit()
    header, _, content = sys.stdin.buffer.read().partition(b"\n")
    try:
        answer = _to_wire(_read(content, **json.loads(header)))
    except UnreadableDocumentError as error:
        answer = {"error": error.message, "is_protected": error.is_protected, "is_too_slow": error.is_too_slow}
    except RecursionError:
        answer = {"error": "This document cannot be read: its parts are nested too deeply."}
    except MemoryError:
        answer = {"error": "This document cannot be read: it would take too much memory."}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    _main()
