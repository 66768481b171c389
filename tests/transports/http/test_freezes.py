"""What a source sends never holds up other callers: real processes on loopback."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

from tests.net.stand_in import Quiet, in_a_thread
from tests.transports.http.test_shutdown import call, greeted_client_of
from tests.transports.processes import serving_process

FROZEN = 6.0
"""Seconds, between what `/health` takes on a busy machine and the 15 to 120 of each case before there were limits."""


def rows(count: int, **fields: str) -> Callable[[], bytes]:
    made = (
        {"title": "Title", "url": f"https://example.org/{one}", "content": "Text", **fields} for one in range(count)
    )
    return lambda: json.dumps({"results": list(made)}).encode()


def record(title: str = "Title", abstract: str = "Text.", after: str = "") -> Callable[[], bytes]:
    return lambda: (
        f"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>{title}</ArticleTitle>"
        f"<Abstract><AbstractText>{abstract}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>"
        f"{after}</PubmedArticleSet>"
    ).encode()


class Source(Quiet):
    """Sends `body`, and one PMID to esearch."""

    body: ClassVar[bytes] = b""

    def do_GET(self) -> None:
        found = b'{"esearchresult": {"count": "1", "idlist": ["1"]}}'
        self.send_response(200)
        self.end_headers()
        self.wfile.write(found if "esearch" in self.path else self.body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()


REFUSED = "No web search provider could answer"
MARKS = "e\u0301\u0323" * 40_000


CASES = {
    "too many rows": ("web_search", rows(80_000), REFUSED),
    "rows": ("web_search", rows(8_000), "sent more than 200 results at once"),
    "too long": ("web_search", rows(1, title="a " * 3_000_000), REFUSED),
    "title": ("web_search", rows(1, title="a " * 900_000), ""),
    "bold": ("web_search", rows(1, content="**a " * 100_000), "characters left out"),
    "marks": ("web_search", rows(4, content=MARKS), "characters left out"),
    "marks of PubMed": ("pubmed_search", record(abstract=MARKS), "characters left out"),
    "title of PubMed": ("pubmed_search", record(title="a " * 3_000_000), ""),
    "abstract of PubMed": ("pubmed_search", record(abstract="Words. " * 1_000_000), "characters left out"),
    "unclosed": ("pubmed_search", record(after="<PubmedArticle>" * 200_000), ""),
}


@pytest.mark.long
@pytest.mark.parametrize(("tool", "body", "said"), CASES.values(), ids=CASES)
def test_health_is_answered_while_a_hostile_answer_is_read(
    tmp_path: Path, tool: str, body: Callable[[], bytes], said: str
) -> None:
    with in_a_thread(type("Sends", (Source,), {"body": body()})) as address:
        settings = {
            "DEEPCRITICAL_TAVILY_BASE_URL": address,
            "TAVILY_API_KEY": "key",
            "DEEPCRITICAL_LIMIT_LOCAL": "false",
        }
        settings |= {"DEEPCRITICAL_NCBI_BASE_URL": address, "DEEPCRITICAL_DUCKDUCKGO_URL": address}
        with serving_process(tmp_path, **settings) as (_, url), greeted_client_of(url) as http:
            http.get("/ready", timeout=60)
            worst, done = 0.0, threading.Event()

            def ask() -> None:
                nonlocal worst
                while not done.wait(0.05):
                    began = time.monotonic()
                    httpx.get(f"{url}/health", timeout=180)
                    worst = max(worst, time.monotonic() - began)

            asking = threading.Thread(target=ask)
            asking.start()
            try:
                asked = call({"name": tool, "arguments": {"query": "zinc"}})
                answer = http.post("/mcp", json=asked, timeout=180).text
            finally:
                done.set()
                asking.join()
    result = json.loads(answer.partition("data: ")[2].partition("\n")[0] or answer)["result"]
    assert bool(result.get("isError")) == (said == REFUSED), result
    assert worst < FROZEN
    assert said in json.dumps(result["structuredContent"], ensure_ascii=False)
    assert said in result["content"][0]["text"]
