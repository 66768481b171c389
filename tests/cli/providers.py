"""Providers on loopback for commands in processes of their own, in their wire formats."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from tests.net.stand_in import Answer
from tests.sources import wire
from tests.sources.citing_wire import citations, icite, icite_paper
from tests.sources.full_text_wire import preprint, results, study
from tests.sources.ncbi import article, as_json, efetch, elink, esearch, espell

RECORDS = {"11": article("11", "Zinc in wound repair."), "12": article("12", "Zinc and the common cold.")}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self, body: str) -> None:
        parts = urlsplit(self.path)
        answer = _answer(parts.path, dict(parse_qsl(parts.query) + parse_qsl(body)))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)


def _answer(path: str, params: dict[str, str]) -> Answer:
    if path == "/html/":
        return wire.duckduckgo()
    if path.startswith("/europepmc/"):
        return citations() if path.endswith("/citations") else results(preprint())
    if path.startswith("/icite/"):
        return icite(*(icite_paper(int(pmid), 2) for pmid in params["pmids"].split(",")))
    if path.startswith("/ctgov/"):
        return as_json({"studies": [study()], "totalCount": 1})
    match path.rpartition("/")[2].removesuffix(".fcgi"):
        case "einfo":
            return as_json({"header": {"type": "einfo"}, "einforesult": {"dbinfo": []}})
        case "esearch":
            return esearch(() if params.get("db") == "mesh" else list(RECORDS))
        case "efetch":
            return efetch(*(RECORDS[pmid] for pmid in params["id"].split(",") if pmid in RECORDS))
        case "elink":
            return elink((), params["linkname"])
        case "espell":
            return espell(params.get("term", ""), "")
        case _:
            return Answer(404)


@contextmanager
def providers_on_loopback() -> Generator[str]:
    """NCBI under /entrez/eutils of one address, DuckDuckGo under /html/, Europe PMC under /europepmc, iCite under
    /icite and ClinicalTrials.gov under /ctgov."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
