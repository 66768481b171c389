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
_BODY = frozenset("introduction background methods results discussion conclusion conclusions findings".split())
"""Sections that only a whole article has, even a short one."""
_PHRASES = [row.split(": ") for row in data_lines(__file__, "page_phrases.txt")]
BROWSERS_ONLY = "This page asks for a check that only a browser passes, and does not serve programs."
SCRIPTS_ONLY = "no text inside: this page needs JavaScript to show its text."


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
    asks_to_pay = is_closed or _says("pay", everything)
    has_sections = any(title.strip(" .:").lower() in _BODY for title in titles)
    if abstract and ((len(body) < _SHORT and not has_sections) or (asks_to_pay and len(body) < 4 * _SHORT)):
        asks = " and asks for a subscription or a login" if asks_to_pay else ""
        return "abstract_only", f"This page shows only an abstract{asks}."
    if len(body) < _SHORT and _says("check", everything[:3_000]) and len(everything) < 3_000:
        return "not_allowed", BROWSERS_ONLY
    if (len(body) < _SHORT and asks_to_pay and (is_article or len(body) < 2 * _BARE)) or (is_closed and is_article):
        return "not_allowed", "This page asks for a subscription or a login."
    if len(body) < 2 * _BARE and _says("script", everything):
        return "no_text", SCRIPTS_ONLY
    if len(body) < 4 * _BARE and _says("consent", everything) and len(everything) < 3_000:
        return "no_text", "no text inside: this page shows only a request for consent."
    if len(body) < _BARE // 4:
        return "no_text", "no text inside: this page has no text of its own."
    return "full_text", ""


def _says(kind: str, text: str) -> bool:
    lower = text.lower()
    return any(phrase in lower for said, phrase in _PHRASES if said == kind)


_NAMES = {kind: names.split() for kind, names in data_table(__file__, "page_fields.txt").items()}
_MOST_AUTHORS = 500
_BYLINES = (
    '//*[@rel="author" or @itemprop="author" or contains(@class, "byline") or contains(@class, "author") or '
    'contains(@class, "contrib")]'
)
_AUTHOR_OF_SCRIPT = re.compile(r'"(?:author|creator)"\s{0,3}:\s{0,3}([^\]}]{1,500})')
_MOST_BYLINES, _LONGEST_BYLINE = 20, 2_000


def fields_of(root: Any, url: str) -> Mapping[str, object]:
    """Fields of `Publication`; only those that the page names. The identifiers are its own, never those of papers that
    it mentions."""
    meta = _meta(root)
    canonical = _canonical(root, meta, url)
    ids = record_ids(canonical)
    html_language = str(root.get("lang") or "")
    ends = dict.fromkeys(filter(None, (_first(meta, "first_page"), _first(meta, "last_page"))))
    plain = ("journal", "journal_abbreviation", "volume", "issue", "publisher")
    fields: dict[str, object] = {
        "title": _first(meta, "title") or _title_element(root),
        "authors": tuple(_authors(meta)),
        "date": _date(meta),
        "doi": normalize_doi(_first(meta, "doi")) or _dc_doi(meta) or ids.doi,
        "pmid": normalize_pmid(_first(meta, "pmid")) or ids.pmid,
        "pmcid": ids.pmcid,
        "nct": ids.nct,
        **{name: _first(meta, name) for name in plain},
        "pages": "-".join(ends) if _first(meta, "first_page") else "",
        "language": (_first(meta, "language") or html_language).replace("_", "-").partition("-")[0].lower(),
        "url": canonical,
        "byline": _byline(root),
    }
    return {name: value for name, value in fields.items() if value and value != UNKNOWN_DATE}


def licence_of_page(root: Any) -> str:
    """The licence that the page links to, or names in its metadata; "" if none."""
    meta = _meta(root)
    named = next((value for value in meta.get("dc.rights", []) if "creativecommons.org/" in value), "")
    links = cast("list[str]", root.xpath('//*[contains(concat(" ", @rel, " "), " license ")]/@href'))
    linked = next((link for link in links if link.startswith(("http://", "https://", "//"))), "")
    return clean_line(named or linked or _first(meta, "licence"))[:300]


def copies_named(root: Any, url: str) -> tuple[str, ...]:
    """Addresses of the same text that the page names: its full text, its PDF, where it sends browsers on to."""
    meta = _meta(root)
    named = [*meta.get("citation_full_html_url", []), *meta.get("citation_pdf_url", []), *_refresh(root)]
    named += cast("list[str]", root.xpath('//link[@rel="alternate" and @type="application/pdf"]/@href'))
    found = (urljoin(url, one.strip()) for one in named)
    here = url.partition("#")[0]
    return tuple(dict.fromkeys(one for one in found if is_web_address(one) and one.partition("#")[0] != here))[:4]


def abstract_in_head(root: Any) -> str:
    """The abstract among the metadata; descriptions for search engines do not count."""
    found = _first(_meta(root), "abstract")
    return found if len(found) > 200 and not found.endswith(("...", "…")) else ""


def _meta(root: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for element in cast("list[Any]", root.xpath("//meta[@content]"))[:2_000]:
        name = str(element.get("name") or element.get("property") or "").strip().lower()
        content = clean_line(str(element.get("content") or ""))
        if name and content:
            found.setdefault(name, []).append(content)
    return found


def _first(meta: Mapping[str, Sequence[str]], kind: str) -> str:
    return next((meta[name][0] for name in _NAMES[kind] if name in meta), "")


def _title_element(root: Any) -> str:
    for path in ("//h1", "//title"):
        texts = [clean_line("".join(one.itertext())) for one in cast("list[Any]", root.xpath(path))]
        if len([text for text in texts if text]) == 1 or path == "//title":
            return next((text for text in texts if text), "")[:500]
    return ""


def _authors(meta: Mapping[str, Sequence[str]]) -> Iterator[AuthorName]:
    values = meta.get(next((name for name in _NAMES["authors"] if name in meta), ""), [])
    names = [name for value in values for name in value.split(";")]
    for name in names[:_MOST_AUTHORS]:
        if (plain := clean_line(name)) and not is_web_address(plain):
            yield split_name(plain)


def _byline(root: Any) -> str:
    """What stands where a page names its authors, as it is written; readers of the main text leave it out."""
    shown = cast("list[Any]", root.xpath(_BYLINES))[:_MOST_BYLINES]
    scripts = cast("list[str]", root.xpath('//script[@type="application/ld+json"]/text()'))
    named = [clean_line(" ".join(one.itertext())) for one in shown]
    named += [found[1] for script in scripts for found in _AUTHOR_OF_SCRIPT.finditer(script)]
    return " ".join(named)[:_LONGEST_BYLINE]


def _date(meta: Mapping[str, Sequence[str]]) -> str:
    for name in _NAMES["date"]:
        for value in meta.get(name, []):
            if len(found := readings(value)) == 1 or (found and name.startswith("citation")):
                return found[0]
    return UNKNOWN_DATE


def _dc_doi(meta: Mapping[str, Sequence[str]]) -> str:
    values = (value.lower() for value in meta.get("dc.identifier", []))
    return next((normalize_doi(value) for value in values if value.startswith(("10.", "doi:10.", "doi: 10."))), "")


def _canonical(root: Any, meta: Mapping[str, Sequence[str]], url: str) -> str:
    """The address that the page gives itself, if it is on the same site; many name their home page."""
    links = cast("list[str]", root.xpath('//link[@rel="canonical"]/@href'))
    for link in (*links, *meta.get("og:url", [])):
        own = urljoin(url, link.strip())
        path = own.partition("://")[2].partition("/")[2]
        if is_web_address(own) and host_of(own) == host_of(url) and path.strip("/"):
            return clean_url(own)
    return clean_url(url)


def _refresh(root: Any) -> Iterator[str]:
    for element in cast("list[Any]", root.xpath("//meta[@http-equiv][@content]")):
        if str(element.get("http-equiv")).lower() == "refresh":
            _, found, target = str(element.get("content")).partition("=")
            if found:
                yield target.strip(" '\"")
