"""The library's web pages as DuckDuckGo's HTML endpoint lists them."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from deepcritical_mcp.cli.sample_library import matching
from deepcritical_mcp.cli.sample_library.records import MARK, WebPage

HTML = "text/html; charset=UTF-8"
_MOST_RESULTS = 10


def results_page(query: str) -> tuple[str, str]:
    """Content type and body of the answer to `query`."""
    pages = matching.find_pages(query)[:_MOST_RESULTS]
    results = "".join(_result(page) for page in pages) or _nothing(query)
    return HTML, (
        f"<!DOCTYPE html><html><head><title>{escape(query)} at DuckDuckGo</title></head><body>"
        f'<div class="serp__results"><div id="links" class="results">{results}</div></div></body></html>'
    )


def _result(page: WebPage) -> str:
    link = f"//duckduckgo.com/l/?uddg={quote(f'https://{page.address}', safe='')}&amp;rut=sample"
    return (
        '<div class="result results_links results_links_deep web-result">'
        '<div class="links_main links_deep result__body">'
        f'<h2 class="result__title"><a class="result__a" href="{link}">{escape(page.title)} {MARK}</a></h2>'
        f'<a class="result__url" href="{link}">{escape(page.address)}</a>'
        f'<a class="result__snippet" href="{link}">{escape(page.snippet)}</a>'
        '<div class="clear"></div></div></div>'
    )


def _nothing(query: str) -> str:
    return (
        '<div class="result results_links results_links_deep result--no-result">'
        '<div class="links_main links_deep no-results">'
        f'<div class="no-results__message">No results found for <b>{escape(query)}</b>.</div></div></div>'
    )
