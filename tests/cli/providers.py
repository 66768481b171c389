"""Providers on loopback for commands in processes of their own, in their wire formats."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

from tests.net.stand_in import Answer, Quiet, in_a_thread
from tests.sources import wire
from tests.sources.citing_wire import citations, icite, icite_paper
from tests.sources.crossref.crossref_wire import NOT_FOUND, listed
from tests.sources.full_text_wire import preprint, results, study
from tests.sources.ncbi import article, as_json, efetch, elink, esearch, espell

RECORDS = {"11": article("11", "Zinc in wound repair."), "12": article("12", "Zinc and the common cold.")}


class _Handler(Quiet):
    protocol_version = "HTTP/1.1"
    records: ClassVar[Mapping[str, str]]

    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def _answer(self, body: str) -> None:
        parts = urlsplit(self.path)
        answer = _answer(parts.path, dict(parse_qsl(parts.query) + parse_qsl(body)), self.records)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)


def _answer(path: str, params: Mapping[str, str], records: Mapping[str, str]) -> Answer:
    if path == "/html/":
        return wire.duckduckgo()
    if path.startswith("/europepmc/"):
        return citations() if path.endswith("/citations") else results(preprint())
    if path.startswith("/icite/"):
        return icite(*(icite_paper(int(pmid), 2) for pmid in params["pmids"].split(",")))
    if path.startswith("/crossref/"):
        return listed() if path.endswith("/works") else NOT_FOUND
    if path.startswith("/citmatch"):
        return as_json({"version": "1.0", "success": True, "result": {"count": 0, "type": "uids", "uids": []}})
    if path.startswith("/ctgov/"):
        return as_json({"studies": [study()], "totalCount": 1})
    if path.startswith("/brave/"):  # refuses its key, with 422
        error = {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "The provided subscription token is invalid."}
        body = {"type": "ErrorResponse", "error": {**error, "status": 422, "id": "x"}}
        return Answer(422, json.dumps(body).encode())
    if path == "/tavily/usage":
        return as_json({"key": {"usage": 1, "limit": 1000}, "account": {"current_plan": "Researcher"}})
    if path == "/serpapi/account":
        return as_json({"account_id": "1", "plan_searches_left": 99})
    match path.rpartition("/")[2].removesuffix(".fcgi"):
        case "einfo":
            return as_json({"header": {"type": "einfo"}, "einforesult": {"dbinfo": []}})
        case "esearch":
            return esearch(() if params.get("db") == "mesh" else list(records))
        case "efetch":
            return efetch(*(records[pmid] for pmid in params["id"].split(",") if pmid in records))
        case "elink":
            return elink((), params["linkname"])
        case "espell":
            return espell(params.get("term", ""), "")
        case "ecitmatch.cgi":
            rows = [row.split("|")[:6] for row in params["bdata"].split("\r")]
            return Answer(200, "".join(f"{'|'.join(row)}|NOT_FOUND\n" for row in rows).encode(), "text/plain")
        case _:
            return Answer(404)


@contextmanager
def providers_on_loopback(records: Mapping[str, str] = RECORDS) -> Generator[str]:
    """NCBI with these records under /entrez/eutils of one address, its citation matcher under /citmatch, Crossref under
    /crossref, DuckDuckGo under /html/, Europe PMC under /europepmc, iCite under /icite, ClinicalTrials.gov under
    /ctgov, and the accounts of Tavily, Brave and SerpAPI under their names."""
    with in_a_thread(type("Providers", (_Handler,), {"records": records})) as address:
        yield address
