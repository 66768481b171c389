"""Reading what web search providers send: fields of any type, texts with markup, rows that may be junk."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.sources.web.provider import WebHit
from deepcritical_mcp.text import clean_line, clean_text
from deepcritical_mcp.urls import clean_url, host_of, is_web_address

if TYPE_CHECKING:
    import httpx


def json_object(provider: str, title: str, response: httpx.Response) -> Mapping[str, object]:
    """The JSON object that a response holds.

    Raises:
        ProviderResponseError: it holds something else, or only a part of it.
    """
    try:
        payload = response.json()
    except (ValueError, RecursionError) as error:
        raise ProviderResponseError(provider, f"{title} sent something that is not JSON, or was cut off.") from error
    if not isinstance(payload, dict):
        raise ProviderResponseError(provider, f"{title} sent JSON that is not an object.")
    return cast(Mapping[str, object], payload)


def read_hits(provider: str, title: str, rows: object, read: Callable[[Mapping[str, object]], WebHit]) -> list[WebHit]:
    """The usable hits among the rows of an answer; a row without a web address does not count.

    Raises:
        ProviderResponseError: there are rows, and not one is usable; or it is not a list.
    """
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise ProviderResponseError(provider, f"{title} sent results that are not a list.")
    mappings = [cast(Mapping[str, object], row) for row in cast(list[object], rows) if isinstance(row, Mapping)]
    hits = [hit for hit in map(read, mappings) if hit.url]
    if rows and not hits:
        raise ProviderResponseError(provider, f"{title} sent results without addresses.")
    return hits


def hit_of(
    *, title: str, url: str, content: str, score: float | None = None, date: str = "Unknown", secret: str = ""
) -> WebHit:
    """A hit from a provider's plain texts; its `url` is "" when it is not a web address.

    Without a title the host stands in for it, without content the title. `secret` is masked in case the provider
    repeats the API key it was sent.
    """
    if secret:
        title, url, content = (text.replace(secret, "***") for text in (title, url, content))
    url = clean_url(url) if is_web_address(url) else ""
    title = clean_line(title) or clean_line(host_of(url))
    score = None if score is None or math.isnan(score) else min(1.0, max(0.0, score))
    return WebHit(title, url, clean_text(content) or title, score, date)


_TAG = re.compile(
    r"</?(?:a|b|br|code|del|div|em|font|h[1-6]|hr|i|ins|li|mark|ol|p|pre|q|s|small|span|strike|strong|sub|sup|table|td|"
    r"th|tr|tt|u|ul|wbr)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_BREAK_TAG = re.compile(r"</?(?:br|div|h[1-6]|hr|li|ol|p|table|td|th|tr|ul)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8}\d?);", re.IGNORECASE)
_MARKDOWN = (
    (re.compile(r"!?\[([^\[\]]*)\]\(\s*<?[^()\s]*(?:\([^()\s]*\)[^()\s]*)*>?(?:\s+\"[^\"]*\")?\s*\)"), r"\1"),
    (re.compile(r"(\*\*\*|\*\*)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(^|(?<=[\s.]))#{1,6}\s+", re.MULTILINE), ""),
    (re.compile(r"(?<!`)`([^`\n]+)`(?!`)"), r"\1"),
)


def without_markup(text: str) -> str:
    """`text` without HTML tags, its entities decoded (twice encoded ones too); "p<0.05" stays as it is."""
    text = _TAG.sub("", _BREAK_TAG.sub(" ", text))
    for _ in range(2):
        if _ENTITY.search(text):
            text = html.unescape(text)
    return text.replace("\xa0", " ")


def without_markdown(text: str) -> str:
    """`text` without Markdown's headings, bold, code marks and link targets."""
    for pattern, replacement in _MARKDOWN:
        text = pattern.sub(replacement, text)
    return text


def text_of(value: object) -> str:
    """A text field of a payload, whatever it holds: lists are joined, "" for what is not text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(text_of, cast(list[object], value))))
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def number_of(value: object) -> float | None:
    """A number field of a payload; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def mapping_of(value: object) -> Mapping[str, object]:
    """An object field of a payload; {} for anything else."""
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[object]:
    """A list field of a payload; [] for anything else."""
    return cast(list[object], value) if isinstance(value, list) else []
