"""What the web search providers share: the search over their pages, the API key, and the conversion of results."""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from deepcritical_mcp.dates import current_date, readings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.net.fields import MAX_ROWS
from deepcritical_mcp.sources.base import Answer, SourceCheck, any_of
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.request import SearchDepth, WebOptions
from deepcritical_mcp.text import clean_line, clean_text
from deepcritical_mcp.urls import clean_url, host_of, is_web_address

_SITE_SUFFIX = re.compile(r"\s[-–—|]\s(PubMed( Central)?|PMC|NIH|NCBI|Europe PMC|PMC - NIH|PMC - PubMed Central)$")


def web_page(provider: str, *, title: str, url: str, content: str, date: str = UNKNOWN_DATE) -> Publication | None:
    """A result from a provider's plain texts; None if `url` is not a web address.

    A missing title is replaced by the host, missing content by the title.
    """
    if not is_web_address(url):
        return None
    url = clean_url(url)
    title, ids = clean_line(title) or clean_line(host_of(url)), record_ids(url)
    own_title = _SITE_SUFFIX.sub("", title) if any(ids) else title
    fields = {"title": own_title, "url": url, "date": date, "accessed": current_date().isoformat()}
    return Publication.of("page", clean_text(content) or title, provider=provider, source="web", **fields).as_claim()


_MARKDOWN = (
    (re.compile(r"!?\[([^\[\]]*+)\]\(\s*+<?[^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*(?:\s++\"[^\"]*+\")?\s*+\)"), r"\1"),
    (re.compile(r"(\*{2,3})(?=[^\s*])(?=((?:[^*\n]|\*(?!\*))+))\2(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!`)`([^`\n]+)`(?!`)"), r"\1"),
    (re.compile(r"(^|(?<=[\s.]))#{1,6}\s+", re.MULTILINE), ""),
)


def without_markdown(text: str, *, keeps_headings: bool = False) -> str:
    """`text` without Markdown's headings, bold, code marks and link targets."""
    for pattern, replacement in _MARKDOWN[: -1 if keeps_headings else None]:
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


@dataclass(frozen=True)
class WebPage:
    """One page of a provider's answer, whether `more` follow, and what the provider could not do.

    `scores` are the provider's own, 0..1, by the ids of the records; `total` is its count of results, 0 if unknown;
    `sent` are the parameters of the request, without keys.
    """

    records: Sequence[Publication]
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    total: int = 0
    more: bool = False
    sent: str = ""
    warnings: tuple[str, ...] = ()


class WebTool(ABC):
    """A provider of web results. Every method raises ProviderErrors only.

    Attributes:
        name: wire name, e.g. "brave".
        title: name for people, e.g. "Brave Search".
        key_variable: environment variable of the missing API key; "" if the provider can be used.
        max_characters, max_words: the longest query the provider accepts.
        site_operators: whether requested domains are sent as `site:` operators of the query.
        max_pages: how many pages are read at most.
    """

    name: str
    title: str
    key_variable: str = ""
    max_characters: ClassVar[int]
    max_words: ClassVar[int] = 10_000
    site_operators: ClassVar[bool] = True
    max_pages: ClassVar[Mapping[SearchDepth, int]] = {"basic": 1, "advanced": 1}

    @classmethod
    @abstractmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        """The provider as the settings describe it. Opens no connection yet."""

    @abstractmethod
    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        """Page `number` (0, 1, ...) of the results; `wanted` is how many results all pages should have together."""

    @abstractmethod
    def check(self) -> SourceCheck:
        """The check for `doctor`."""

    async def ask(self, query: str, max_results: int, options: WebOptions) -> Answer:
        """At most `max_results` results, best first.

        Results outside the requested domains are dropped. Only a failure of the first page is an error. Remarks name
        what the provider could not do.
        """
        fitted, warnings = self._fitted(query, options)
        found, scores, allowed = dict[str, Publication](), dict[str, float](), list[Publication]()
        total, sent = 0, ""
        for number in range(self.max_pages[options.search_depth]):
            try:
                page = await self.page(fitted, options, number=number, wanted=max_results)
            except ProviderError as error:
                if number == 0:
                    raise
                warnings.append(f"Further results are missing: {error.message}")
                break
            warnings += page.warnings
            total, sent = max(total, page.total), sent or page.sent
            if len(page.records) >= MAX_ROWS:
                warnings.append(f"{self.title} sent more than {MAX_ROWS} results at once; only these were read.")
            before = len(found)
            for one in page.records:
                found.setdefault(one.id, one)
            scores = {**page.scores, **scores}
            allowed = [one for one in found.values() if options.allows(one.url)]
            if len(allowed) >= max_results or not page.more or len(found) == before:
                break
        answer = Answer.whole(allowed[:max_results], scores, total=max(total, len(allowed)))
        return replace(answer, remarks=tuple(warnings), sent=sent)

    def _fitted(self, query: str, options: WebOptions) -> tuple[str, list[str]]:
        """The query within the provider's limits, with `site:` operators where there is room; what was omitted."""
        operators, warnings = "", list[str]()
        if self.site_operators:
            included = dict.fromkeys(f"site:{rule.partition('/')[0]}" for rule in options.include_domains)
            excluded = (f"-site:{rule}" for rule in options.exclude_domains if "/" not in rule)
            operators = " ".join([any_of(included), *excluded]).strip()
        if len(operators) > self.max_characters // 2 or len(operators.split()) > self.max_words // 2:
            operators = ""
            warnings.append(f"{self.title} accepts fewer domains; its results were filtered afterward.")
        text = clean_line(query)
        most = self.max_characters - len(operators) - 1
        fitted = " ".join(text.split()[: self.max_words - len(operators.split())])
        if len(fitted) > most:
            fitted = fitted[: most + 1].rpartition(" ")[0] or fitted[:most]
        if fitted != text:
            warnings.append(f"{self.title} accepts shorter queries only; it was asked: {fitted}")
        return f"{fitted} {operators}".strip(), warnings
