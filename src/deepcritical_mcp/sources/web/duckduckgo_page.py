"""Reading DuckDuckGo's pages: results in the HTML and the Lite layout, the robot challenge, "no results"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urljoin

from deepcritical_mcp.sources.web.payload import hit_of
from deepcritical_mcp.sources.web.provider import WebHit
from deepcritical_mcp.urls import host_of

_LONGEST_PAGE = 4_000_000
_CHALLENGE = ("anomaly-modal", "anomaly.js", "challenge-form", "bots use duckduckgo", "error-lite@duckduckgo.com")
_NOTHING_FOUND = re.compile(
    r"class=[\"'][^\"'>]*\bno-results?\b|>\s*no\s+(?:more\s+)?results\b|id=[\"']?links\b", re.IGNORECASE
)
_DATE = re.compile(r"\b(\d{4}-\d\d-\d\d)T\d")


_Row = tuple[str, str, str, str]
"""Title, link, snippet and date of a result."""


@dataclass(frozen=True)
class ResultsPage:
    """What a page holds. `says_nothing_found`: it is a page of results without any."""

    hits: Sequence[WebHit]
    is_challenge: bool = False
    says_nothing_found: bool = False
    broken_off: bool = False


def read_page(text: str) -> ResultsPage:
    """The results on a page, without advertisements; their redirect links are resolved."""
    text = text[:_LONGEST_PAGE]
    lower = text.lower()
    hits = list(_hits(text))
    return ResultsPage(
        hits,
        # A result's own words must not look like a challenge.
        is_challenge=not hits and any(mark in lower for mark in _CHALLENGE),
        says_nothing_found=bool(_NOTHING_FOUND.search(text)),
        broken_off="<html" in lower and "</html>" not in lower,
    )


def _hits(text: str) -> Iterator[WebHit]:
    for title, href, snippet, date in _rows(text):
        hit = hit_of(title=title, url=urljoin("https://duckduckgo.com/", href), content=snippet, date=date)
        # What still leads to DuckDuckGo is an advertisement or its own page.
        if hit.url and not host_of(hit.url).endswith("duckduckgo.com"):
            yield hit


def _rows(text: str) -> Iterator[_Row]:
    tree = _tree(text)
    if tree is not None:
        yield from _html_rows(tree)
        yield from _lite_rows(tree)


def _html_rows(tree: Any) -> Iterator[_Row]:
    # The heading's link is a result's, whether or not it has the class that it has today.
    for link in tree.xpath("//a[contains(@class, 'result__a')] | //div[contains(@class, 'body')]//h2//a"):
        result = next(iter(link.xpath("ancestor::div[contains(@class, 'result__body')]")), link.getparent())
        if not result.xpath("ancestor-or-self::div[contains(@class, 'result--ad')]"):
            snippet = result.xpath(".//*[contains(@class, 'result__snippet')]")
            yield _words(link), link.get("href", ""), _words(*snippet[:1]), _date(result)


def _lite_rows(tree: Any) -> Iterator[_Row]:
    for link in tree.xpath("//a[contains(@class, 'result-link')]"):
        rows = link.xpath("ancestor::tr[1]/following-sibling::tr[position() < 3]")
        sponsored = link.xpath("ancestor::tr[contains(@class, 'sponsored')]")
        if not sponsored:
            snippet = [cell for row in rows[:1] for cell in row.xpath(".//td[contains(@class, 'result-snippet')]")]
            yield _words(link), link.get("href", ""), _words(*snippet), _date(*rows)


def _tree(text: str) -> Any:
    html: Any = import_module("lxml.html")  # it has no types
    try:
        return html.document_fromstring(text.encode("utf-8", "replace"), parser=html.HTMLParser(encoding="utf-8"))
    except (html.etree.LxmlError, ValueError):
        return None


def _words(*elements: Any) -> str:
    return " ".join(" ".join(element.text_content().split()) for element in elements)


def _date(*elements: Any) -> str:
    found = _DATE.search(_words(*elements))
    return found[1] if found else "Unknown"
