"""Answers of the web providers, written for the tests in each one's wire format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from tests.net.stand_in import Answer, as_json


@dataclass(frozen=True)
class Page:
    """A result, whoever sends it."""

    title: str
    url: str
    text: str
    score: float = 0.9
    date: str = ""


PAGES = (
    Page(
        "Metformin and cancer: a guideline", "https://www.agency.example/metformin", "Metformin lowers glucose.", 0.91
    ),
    Page("Does metformin prevent tumours?", "https://journal.example.org/a/1?utm_source=x", "No trial shows it.", 0.72),
    Page("Metformin - an overview", "https://wiki.example.net/Metformin_(drug)", "A biguanide.", 0.4),
)


def tavily(pages: Sequence[Page] = PAGES) -> Answer:
    rows = [
        {"title": page.title, "url": page.url, "content": page.text, "score": page.score, "raw_content": None}
        | ({"published_date": page.date} if page.date else {})
        for page in pages
    ]
    return as_json(
        {
            "query": "q",
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": rows,
            "response_time": 1.1,
            "request_id": "0",
        }
    )


def brave(pages: Sequence[Page] = PAGES, *, more: bool = False) -> Answer:
    rows = [
        {"type": "search_result", "title": page.title, "url": page.url, "description": page.text, "language": "en"}
        | ({"page_age": page.date} if page.date else {})
        for page in pages
    ]
    web = {"web": {"type": "search", "results": rows, "family_friendly": True}} if rows else {}
    query = {"original": "q", "more_results_available": more, "spellcheck_off": True}
    return as_json({"type": "search", "query": query, "mixed": {"type": "mixed", "main": []}, **web})


def brave_news(pages: Sequence[Page] = PAGES) -> Answer:
    rows = [
        {"type": "news_result", "title": page.title, "url": page.url, "description": page.text, "age": page.date}
        for page in pages
    ]
    return as_json({"type": "news", "query": {"original": "q"}, "results": rows})


def brave_refusal(status: int, code: str, detail: str, **headers: str) -> Answer:
    error: dict[str, object] = {"id": "1", "status": status, "code": code, "detail": detail, "meta": None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return as_json({"type": "ErrorResponse", "error": error, "time": 1}, status=status, headers=named)


def serpapi(pages: Sequence[Page] = PAGES, *, rows: str = "organic_results") -> Answer:
    found = [
        {"position": number, "title": page.title, "link": page.url, "displayed_link": page.url, "snippet": page.text}
        | ({"date": page.date} if page.date else {})
        for number, page in enumerate(pages, start=1)
    ]
    return as_json(
        {
            "search_metadata": {"id": "1", "status": "Success", "total_time_taken": 0.5},
            "search_parameters": {"engine": "google", "q": "q"},
            "search_information": {"organic_results_state": "Results for exact spelling", "total_results": 4210},
            rows: found,
        }
    )


def serpapi_empty() -> Answer:
    return as_json(
        {
            "search_metadata": {"id": "1", "status": "Success"},
            "search_parameters": {"engine": "google", "q": "q"},
            "search_information": {"organic_results_state": "Fully empty"},
            "error": "Google hasn't returned any results for this query.",
        }
    )


def serpapi_refusal(status: int, message: str, *, search_status: str = "") -> Answer:
    metadata = {"search_metadata": {"id": "1", "status": search_status}} if search_status else {}
    return as_json({"error": message, **metadata}, status=status)


def html(body: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    text = f"<!DOCTYPE html>\n<html><head><title>q</title></head><body>{body}</body></html>"
    return Answer(status, text.encode(), "text/html; charset=UTF-8", headers or {})


def duckduckgo(pages: Sequence[Page] = PAGES) -> Answer:
    rows = "".join(_duckduckgo_row(page) for page in pages)
    return html(
        f'<div class="serp__results"><div id="links" class="results">{_duckduckgo_advertisement()}{rows}</div></div>'
    )


def _duckduckgo_row(page: Page) -> str:
    link = escape(f"//duckduckgo.com/l/?uddg={quote(page.url, safe='')}&rut=0f1e2d")
    date = f"<span>&nbsp; {page.date}T00:00:00.0000000</span>" if page.date else ""
    return f"""
      <div class="result results_links results_links_deep web-result">
        <div class="links_main links_deep result__body">
          <h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">{page.title}</a></h2>
          <div class="result__extras"><div class="result__extras__url">
            <a class="result__url" href="{link}">shown.example</a>{date}
          </div></div>
          <a class="result__snippet" href="{link}">{page.text}</a>
          <div class="clear"></div>
        </div>
      </div>"""


def _duckduckgo_advertisement() -> str:
    link = "https://duckduckgo.com/y.js?ad_domain=shop.example&amp;ad_provider=x"
    return f"""
      <div class="result results_links results_links_deep result--ad">
        <div class="links_main links_deep result__body">
          <h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">Buy now</a></h2>
          <a class="result__snippet" href="{link}">Cheap.</a>
        </div>
      </div>"""


def duckduckgo_empty() -> Answer:
    return html(
        '<div id="links" class="results"><div class="result results_links result--no-result">'
        '<span class="no-results">No results.</span></div></div>'
    )
