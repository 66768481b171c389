"""Reading what web search providers send: fields of any type, texts with markup, dates, rows that may be invalid."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from typing import cast

from deepcritical_mcp.dates import current_date, readings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.net.json_fields import MAX_ROWS, mapping_of
from deepcritical_mcp.sources.base import Hit
from deepcritical_mcp.text import clean_line, clean_text
from deepcritical_mcp.urls import clean_url, host_of, is_web_address

_SITE_SUFFIX = re.compile(r"\s[-–—|]\s(PubMed( Central)?|PMC|NIH|NCBI|Europe PMC|PMC - NIH|PMC - PubMed Central)$")


def read_hits(provider: str, title: str, rows: object, read: Callable[[Mapping[str, object]], Hit | None]) -> list[Hit]:
    """The usable hits among the rows of an answer; a row without a web address does not count.

    Raises:
        ProviderResponseError: no row is usable, or `rows` is not a list.
    """
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise ProviderResponseError(provider, f"{title} sent results that are not a list.")
    mappings = map(mapping_of, cast(list[object], rows)[:MAX_ROWS])
    hits = [hit for mapping in mappings if mapping and (hit := read(mapping))]
    if rows and not hits:
        raise ProviderResponseError(provider, f"{title} sent results without addresses.")
    return hits


def hit_of(
    provider: str,
    *,
    title: str,
    url: str,
    content: str,
    score: float | None = None,
    date: str = UNKNOWN_DATE,
    secret: str = "",
) -> Hit | None:
    """A hit from a provider's plain texts, `ranked` if it has no score; None if `url` is not a web address.

    A missing title is replaced by the host, missing content by the title. `secret` is masked in case the provider
    repeats the API key it was sent.
    """
    if secret:
        title, url, content = (text.replace(secret, "***") for text in (title, url, content))
    if not is_web_address(url):
        return None
    url = clean_url(url)
    title, ids = clean_line(title) or clean_line(host_of(url)), record_ids(url)
    own_title = _SITE_SUFFIX.sub("", title) if any(ids) else title
    fields = {"title": own_title, "url": url, "date": date}
    fields["accessed"] = current_date().isoformat()
    page = Publication.of("page", clean_text(content) or title, provider=provider, source="web", **fields).as_claim()
    if score is None or math.isnan(score):
        return Hit(publication=page, ranked=True)
    return Hit(publication=page, score=min(1.0, max(0.0, score)))


_MARKDOWN = (
    (re.compile(r"!?\[([^\[\]]*+)\]\(\s*+<?[^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*(?:\s++\"[^\"]*+\")?\s*+\)"), r"\1"),
    (re.compile(r"(\*{2,3})(?=[^\s*])(?=((?:[^*\n]|\*(?!\*))+))\2(?<=\S)\1"), r"\2"),
    (re.compile(r"(^|(?<=[\s.]))#{1,6}\s+", re.MULTILINE), ""),
    (re.compile(r"(?<!`)`([^`\n]+)`(?!`)"), r"\1"),
)


def without_markdown(text: str) -> str:
    """`text` without Markdown's headings, bold, code marks and link targets."""
    for pattern, replacement in _MARKDOWN:
        text = pattern.sub(replacement, text)
    return text


def publication_date(text: str, today: datetime.date) -> str:
    """ "YYYY-MM-DD", "YYYY-MM" or "YYYY", as precise as `text` is; "Unknown" for what is not a date.

    Reads ISO 8601, RFC 2822, "March 4, 2021", "4 Mar 2021", "Mar 2021", "03/04/2021" (month first) and "3 days ago",
    which is counted from `today`: weeks and months give a month, years a year.
    """
    found = readings(text, today)
    if not found or found[0][:4] > str(today.year + 1):
        return UNKNOWN_DATE
    unit = re.search("(week|month)|year", text.lower())
    return found[0][: (7 if unit[1] else 4) if unit else None]
