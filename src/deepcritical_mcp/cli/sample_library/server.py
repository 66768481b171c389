"""The loopback server: one address for E-utilities, one for DuckDuckGo."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from deepcritical_mcp.cli.sample_library import duckduckgo, eutils

EUTILS_PATH = "/entrez/eutils"
DUCKDUCKGO_PATH = "/html/"
_LONGEST_BODY = 1_000_000


@dataclass(frozen=True)
class SampleLibrary:
    """Where the library answers."""

    ncbi_base_url: str
    duckduckgo_url: str


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self._answer(self.rfile.read(min(length, _LONGEST_BODY)).decode("utf-8", "replace"))

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal for the demo."""

    def _answer(self, body: str) -> None:
        parts = urlsplit(self.path)
        params = dict(parse_qsl(parts.query) + parse_qsl(body))
        answer = None
        if parts.path == DUCKDUCKGO_PATH:
            answer = duckduckgo.results_page(params.get("q", ""))
        elif parts.path.startswith(f"{EUTILS_PATH}/"):
            utility = parts.path.removeprefix(f"{EUTILS_PATH}/").removesuffix(".fcgi")
            answer = eutils.answer(utility, params)
        status, (kind, text) = (200, answer) if answer else (404, ("text/plain", "not in the sample library"))
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serve_sample_library() -> Generator[SampleLibrary]:
    """Serve the library on a free port of 127.0.0.1 until the block ends.

    Raises:
        OSError: this machine gives no port.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield SampleLibrary(f"{address}{EUTILS_PATH}", f"{address}{DUCKDUCKGO_PATH}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
