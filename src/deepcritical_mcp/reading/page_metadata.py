"""What a web page says about itself (citation_* tags, Dublin Core, Open Graph, links), and whether it shows a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urljoin

from deepcritical_mcp.data_files import data_lines, data_table
from deepcritical_mcp.dates import readings
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmid, record_ids
from deepcritical_mcp.models import UNKNOWN_DATE, AuthorName, DocumentStatus, split_name
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import clean_url, host_of, is_web_address

_SHORT = 1_500
"""Characters: a text this short next to an abstract is what surrounds the abstract, not an article."""
_BARE = 160
_PHRASES = [row.split(": ") for row in data_lines(__file__, "page_phrases.txt")]
BROWSERS_ONLY = "This page asks for a check that only a browser passes, and does not serve programs."
SCRIPTS_ONLY = "no text inside: this page needs JavaScript to show its text."
CONSENT_ONLY = "no text inside: this page shows only a request for consent."


def shown(
    body: str, abstract: str, everything: str, *, titles: Sequence[str] = (), is_closed: bool, is_article: bool
) -> tuple[DocumentStatus, str]:
    """What a page shows, and a sentence that says why it is not the whole text ("" if it is).

    Args:
        body: its main text, without the abstract.
        everything: all that can be read on it.
        titles: of its sections with text.
        is_closed: whether it says itself that the text is not free to read.
        is_article: whether it is a journal article's page.
    """
    length, asks_to_pay, is_brief = len(body), is_closed or _says("pay", everything), len(everything) < 3_000
    has_sections = any(title.strip(" .:").lower() in NAMES["body"] for title in titles)
    is_beside = (length < _SHORT and not has_sections) or (asks_to_pay and length < 4 * _SHORT)
    is_locked = length < _SHORT and asks_to_pay and (is_article or length < 2 * _BARE)
    asks = " and asks for a subscription or a login" if asks_to_pay else ""
    cases: Sequence[tuple[bool, DocumentStatus, str]] = (
        (bool(abstract) and is_beside, "abstract_only", f"This page shows only an abstract{asks}."),
        (length < _SHORT and is_brief and _says("check", everything), "not_allowed", BROWSERS_ONLY),
        (is_locked or (is_closed and is_article), "not_allowed", "This page asks for a subscription or a login."),
        (length < 2 * _BARE and _says("script", everything), "no_text", SCRIPTS_ONLY),
        (length < 4 * _BARE and is_brief and _says("consent", everything), "no_text", CONSENT_ONLY),
        (length < _BARE // 4, "no_text", "no text inside: this page has no text of its own."),
        (True, "full_text", ""),
    )
    return next((status, detail) for applies, status, detail in cases if applies)


def _says(kind: str, text: str) -> bool:
    lower = text.lower()
    return any(phrase in lower for said, phrase in _PHRASES if said == kind)


NAMES = {kind: names.split() for kind, names in data_table(__file__, "page_fields.txt").items()}
_MOST_AUTHORS = 500
_BYLINES = (
    '//*[@rel="author" or @itemprop="author" or contains(@class, "byline") or contains(@class, "author") or '
    'contains(@class, "contrib")]'
)
_SCRIPTS = '//script[@type="application/ld+json"]/text()'
_CLOSED = re.compile(r'"isAccessibleForFree"\s?:\s?"?false', re.IGNORECASE)
_AUTHOR_OF_SCRIPT = re.compile(r'"(?:author|creator)"\s{0,3}:\s{0,3}([^\]}]{1,500})')
_MOST_BYLINES, _LONGEST_BYLINE = 20, 2_000


class PageMetadata:
    """What a page, which was read at `url`, says about itself."""

    def __init__(self, root: Any, url: str) -> None:
        self._root, self._url = root, url
        self._meta: dict[str, list[str]] = {}
        for element in cast("list[Any]", root.xpath("//meta[@content]"))[:2_000]:
            name = str(element.get("name") or element.get("property") or "").strip().lower()
            content = clean_line(str(element.get("content") or ""))
            if name and content:
                self._meta.setdefault(name, []).append(content)

    def fields(self) -> Mapping[str, object]:
        """Fields of `Publication`; only those that the page names. The identifiers are its own, never those of papers
        that it mentions."""
        canonical, said = self._canonical(), self._first
        ids, html_language = record_ids(canonical), str(self._root.get("lang") or "")
        ends = dict.fromkeys(filter(None, (said("first_page"), said("last_page"))))
        named = (one.lower() for one in self._meta.get("dc.identifier", []))
        named = (one for one in named if one.startswith(("10.", "doi:10.", "doi: 10.")))
        plain = ("journal", "journal_abbreviation", "volume", "issue", "publisher")
        fields: dict[str, object] = {
            "title": said("title") or self._title_element(),
            "authors": tuple(self._authors()),
            "date": self._date(),
            "doi": normalize_doi(said("doi")) or next(map(normalize_doi, named), "") or ids.doi,
            "pmid": normalize_pmid(said("pmid")) or ids.pmid,
            "pmcid": ids.pmcid,
            "nct": ids.nct,
            **{name: said(name) for name in plain},
            "pages": "-".join(ends) if said("first_page") else "",
            "language": (said("language") or html_language).replace("_", "-").partition("-")[0].lower(),
            "url": canonical,
            "byline": self._byline(),
        }
        return {name: value for name, value in fields.items() if value and value != UNKNOWN_DATE}

    def licence(self) -> str:
        """The licence that the page links to, or names in its metadata; "" if none."""
        named = next((value for value in self._meta.get("dc.rights", []) if "creativecommons.org/" in value), "")
        links = self._texts('//*[contains(concat(" ", @rel, " "), " license ")]/@href')
        linked = next((link for link in links if link.startswith(("http://", "https://", "//"))), "")
        return clean_line(named or linked or self._first("licence"))[:300]

    def copies(self) -> tuple[str, ...]:
        """Addresses of the same text that the page names: its full text, its PDF, where it sends browsers on to."""
        named = [one for name in ("citation_full_html_url", "citation_pdf_url") for one in self._meta.get(name, [])]
        named += [*self._refresh(), *self._texts('//link[@rel="alternate" and @type="application/pdf"]/@href')]
        found, here = (urljoin(self._url, one.strip()) for one in named), self._url.partition("#")[0]
        return tuple(dict.fromkeys(one for one in found if is_web_address(one) and one.partition("#")[0] != here))[:4]

    def abstract(self) -> str:
        """The abstract among the metadata; descriptions for search engines do not count."""
        found = self._first("abstract")
        return found if len(found) > 200 and not found.endswith(("...", "…")) else ""

    def is_closed(self) -> bool:
        """Whether the page's own description (schema.org) says that the text is not free to read."""
        return any(_CLOSED.search(text) for text in self._texts(_SCRIPTS))

    def _texts(self, path: str) -> list[str]:
        return cast("list[str]", self._root.xpath(path))

    def _first(self, kind: str) -> str:
        return next((self._meta[name][0] for name in NAMES[kind] if name in self._meta), "")

    def _title_element(self) -> str:
        for path in ("//h1", "//title"):
            texts = [clean_line("".join(one.itertext())) for one in cast("list[Any]", self._root.xpath(path))]
            if len([text for text in texts if text]) == 1 or path == "//title":
                return next((text for text in texts if text), "")[:500]
        return ""

    def _authors(self) -> Iterator[AuthorName]:
        values = self._meta.get(next((name for name in NAMES["authors"] if name in self._meta), ""), [])
        names = [name for value in values for name in value.split(";")]
        plain = (clean_line(name) for name in names[:_MOST_AUTHORS])
        return (split_name(name) for name in plain if name and not is_web_address(name))

    def _byline(self) -> str:
        """What stands where a page names its authors, as it is written; readers of the main text leave it out."""
        shown = cast("list[Any]", self._root.xpath(_BYLINES))[:_MOST_BYLINES]
        named = [clean_line(" ".join(one.itertext())) for one in shown]
        named += [found[1] for script in self._texts(_SCRIPTS) for found in _AUTHOR_OF_SCRIPT.finditer(script)]
        return " ".join(named)[:_LONGEST_BYLINE]

    def _date(self) -> str:
        for name in NAMES["date"]:
            for value in self._meta.get(name, []):
                if len(found := readings(value)) == 1 or (found and name.startswith("citation")):
                    return found[0]
        return UNKNOWN_DATE

    def _canonical(self) -> str:
        """The address that the page gives itself, if it is on the same site; many name their home page."""
        for link in (*self._texts('//link[@rel="canonical"]/@href'), *self._meta.get("og:url", [])):
            own = urljoin(self._url, link.strip())
            path = own.partition("://")[2].partition("/")[2]
            if is_web_address(own) and host_of(own) == host_of(self._url) and path.strip("/"):
                return clean_url(own)
        return clean_url(self._url)

    def _refresh(self) -> Iterator[str]:
        for element in cast("list[Any]", self._root.xpath("//meta[@http-equiv][@content]")):
            target = str(element.get("content")).partition("=")[2]
            if str(element.get("http-equiv")).lower() == "refresh" and target:
                yield target.strip(" '\"")
