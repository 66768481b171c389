"""The loopback server: one address for E-utilities, one for DuckDuckGo."""

from __future__ import annotations

import os
import tempfile
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from deepcritical_mcp.cli.sample_library import duckduckgo, eutils

EUTILS_PATH = "/entrez/eutils"
DUCKDUCKGO_PATH = "/html/"
_LONGEST_BODY = 1_000_000
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_BLANK = (
    *("NCBI_API_KEY", "NCBI_EMAIL", "TAVILY_API_KEY", "BRAVE_API_KEY", "SERPAPI_API_KEY"),
    *("DEEPCRITICAL_DATA_DIR", "DEEPCRITICAL_CHROMA_URL", "DEEPCRITICAL_REDIS_URL"),
)


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


class SampleLibrary:
    """The library, served on a free port of 127.0.0.1 inside its `with` block. OSError when this machine gives none."""

    def __init__(self) -> None:
        self._server: ThreadingHTTPServer | None = None
        self._folder = ""
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        self._exits.callback(thread.join)
        self._exits.callback(self._server.server_close)
        self._exits.callback(self._server.shutdown)
        self._folder = self._temporary_folder()
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_port if self._server else 0}"

    def environment(self) -> dict[str, str]:
        """This process's environment, turned so that a server in it asks the library and nobody else.

        Keys, proxies and the places of the user's own sessions and answers are left out.
        """
        direct = {name: value for name, value in os.environ.items() if name.lower() not in _PROXIES}
        return {
            **direct,
            **dict.fromkeys(_BLANK, ""),
            "NO_PROXY": "*",
            "DEEPCRITICAL_NCBI_BASE_URL": f"{self.address}{EUTILS_PATH}",
            "DEEPCRITICAL_DUCKDUCKGO_URL": f"{self.address}{DUCKDUCKGO_PATH}",
            # Sample data must not come back later as a cached answer.
            "DEEPCRITICAL_CACHE_DIR": self._folder,
        }

    def _temporary_folder(self) -> str:
        try:
            folder = tempfile.TemporaryDirectory(prefix="deepcritical-", ignore_cleanup_errors=True)
        except OSError:
            return os.path.join(os.devnull, "none")  # cannot be made either: the server does without a cache
        return self._exits.enter_context(folder)
