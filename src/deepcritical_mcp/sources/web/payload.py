"""Reading what web search providers send: fields of any type, texts with markup, dates, rows that may be invalid."""

from __future__ import annotations

import datetime
import email.utils
import html
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.models import UNKNOWN_DATE as UNKNOWN
from deepcritical_mcp.text import clean_line, clean_text
from deepcritical_mcp.urls import clean_url, host_of, is_web_address

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class WebHit:
    """One result, cleaned: a web address, texts without markup, a score in 0..1 if the provider returns one."""

    title: str
    url: str
    content: str
    score: float | None = None
    date: str = UNKNOWN


def json_object(provider: str, title: str, response: httpx.Response) -> Mapping[str, object]:
    """The JSON object in a response.

    Raises:
        ProviderResponseError: it is something else, or cut off.
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
        ProviderResponseError: no row is usable, or `rows` is not a list.
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
    *, title: str, url: str, content: str, score: float | None = None, date: str = UNKNOWN, secret: str = ""
) -> WebHit:
    """A hit from a provider's plain texts; its `url` is "" if it is not a web address.

    A missing title is replaced by the host, missing content by the title. `secret` is masked in case the provider
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
    """`text` without HTML tags, with entities decoded (doubly encoded ones too); "p<0.05" is unchanged."""
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
    """A text field of a payload, of any type: lists are joined, "" for what is not text."""
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


_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_FORMATS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?!\d)",
        r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})",
        r".*?(?P<day>\d{1,2})(?:st|nd|rd|th)?\.? +(?P<month>[a-z]{3,9})\.?,? +(?P<year>\d{4})\b",
        r"(?P<month>[a-z]{3,9})\.? +(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?,? +)?(?P<year>\d{4})\b",
        r"(?P<year>\d{4})$",
    )
)
_AGO = re.compile(r"(\d+|an?|one) +(second|sec|minute|min|hour|day|week|month|year)s?\.? +ago", re.IGNORECASE)


def current_date() -> datetime.date:
    """Today, in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def publication_date(text: str, today: datetime.date) -> str:
    """ "YYYY-MM-DD", "YYYY-MM" or "YYYY", as precise as `text` is; "Unknown" for what is not a date.

    Reads ISO 8601, RFC 2822, "March 4, 2021", "4 Mar 2021", "Mar 2021", "03/04/2021" (month first) and "3 days ago",
    which is counted from `today`: weeks and months give a month, years a year.
    """
    text = text.strip()
    if found := next(filter(None, (pattern.match(text) for pattern in _FORMATS)), None):
        return _date(today, **found.groupdict())
    if found := _AGO.match(text):
        return _ago(int(found[1]) if found[1].isdecimal() else 1, found[2].lower(), today)
    if text.lower() in ("today", "yesterday"):
        return (today - datetime.timedelta(days=text.lower() == "yesterday")).isoformat()
    try:
        year, month, day = email.utils.parsedate_to_datetime(text).date().isoformat().split("-")
    except (ValueError, TypeError, OverflowError, IndexError):
        return UNKNOWN
    return _date(today, year, month, day)


def _date(today: datetime.date, year: str, month: str = "", day: str | None = None) -> str:
    if not 1500 <= int(year) <= today.year + 1:
        return UNKNOWN
    if not month:
        return year
    number = int(month) if month.isdecimal() else _MONTHS.get(month[:3].lower(), 0)
    try:
        date = datetime.date(int(year), number, int(day or 1)).isoformat()
    except ValueError:
        return UNKNOWN
    return date if day else date[:7]


def _ago(count: int, unit: str, today: datetime.date) -> str:
    days = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}.get(unit, 0) * count
    if days > 200_000:
        return UNKNOWN
    date = (today - datetime.timedelta(days=days)).isoformat()
    return {"week": date[:7], "month": date[:7], "year": date[:4]}.get(unit, date)
