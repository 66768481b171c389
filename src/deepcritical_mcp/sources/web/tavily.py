"""Tavily: searches, and reads pages that do not serve programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

from deepcritical_mcp.errors import ProviderError, ProviderResponseError
from deepcritical_mcp.net.guard import Guard, guard_of, is_refusal
from deepcritical_mcp.net.json_fields import (
    first_records,
    text_of,
    without_markup,
)
from deepcritical_mcp.reading import Reading, Section, assembled
from deepcritical_mcp.reading.page_metadata import shown
from deepcritical_mcp.sources.base import Hit, Net, as_sent
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.provider import KeyedTool, WebPage, without_markdown
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.text import clean_line, clean_text

if TYPE_CHECKING:
    from deepcritical_mcp.config import Settings

# Limits of Tavily's search endpoint.
_MAX_RESULTS = 20
_MAX_INCLUDED = 300
_MAX_EXCLUDED = 150


class TavilyTool(KeyedTool):
    """Searches the web with Tavily; `search_depth` is passed on."""

    name = "tavily"
    title = "Tavily"
    max_characters = 400
    site_operators = False
    key_header = ("Authorization", "Bearer {}")
    date_fields = ("published_date",)

    @classmethod
    def spacing(cls, settings: WebSettings) -> float:
        return 60 / settings.tavily_per_minute

    async def probe(self) -> object:
        # The usage endpoint is free; a search would cost a credit.
        return await self.get("usage", dict)

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        asked = {"query": query, **_parameters(wanted, options)}
        limit = (f"Tavily returns at most {_MAX_RESULTS} results.",) if wanted > _MAX_RESULTS else ()
        return WebPage(await self.get("search", self._read, body=asked), warnings=limit, sent=as_sent(asked))

    def _read(self, payload: Mapping[str, object]) -> list[Hit]:
        if "results" not in payload:
            raise ProviderResponseError(self.name, "Tavily sent an answer without results.")
        return self.hits(payload["results"])

    def content(self, row: Mapping[str, object]) -> str:
        return without_markup(without_markdown(text_of(row.get("content"))))


def _parameters(max_results: int, options: WebOptions) -> dict[str, object]:
    """Our options as Tavily's parameters; domains that do not fit are filtered afterward."""
    hosts = [_host(rule) for rule in options.include_domains]
    parameters = {
        "search_depth": options.search_depth,
        "topic": options.topic,
        "max_results": min(max_results, _MAX_RESULTS),
        "time_range": "" if options.recency == "any" else options.recency,
        "include_domains": list(dict.fromkeys(hosts)) if len(hosts) <= _MAX_INCLUDED else [],
        "exclude_domains": [_host(rule) for rule in options.exclude_domains if "/" not in rule][:_MAX_EXCLUDED],
    }
    return {name: value for name, value in parameters.items() if value}


def _host(rule: str) -> str:
    host = rule.partition("/")[0]
    return host if "." in host else f"*.{host}"


_MOST_CHARACTERS = 2_000_000
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_BULLET = re.compile(r"[-*+][ \t]+")


class TavilyExtract(FullTextSource):
    """Asks Tavily for the text of a page; costs a credit for five pages."""

    name = "tavily"
    title = "Tavily"
    has_browser = True

    def __init__(self, tool: TavilyTool, guard: Guard) -> None:
        self._tool = tool
        self._guard = guard
        self.off = f"no API key ({tool.key_variable})" if tool.key_variable else ""

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(TavilyTool.create(settings.of(WebSettings), net), guard_of(cls.name, fetch_private=False))

    def accepts(self, wanted: Wanted) -> bool:
        return bool(wanted.urls)

    async def read(self, wanted: Wanted) -> Copy:
        url = wanted.urls[0]
        try:
            await self._guard.check(url)
        except ProviderError as error:
            if is_refusal(error):
                return Copy("not_allowed", error.message, url=url)
            raise
        body = {"urls": [url], "extract_depth": "basic", "format": "markdown"}
        return await self._tool.get("extract", lambda payload: self._copy(payload, url), body=body)

    def _copy(self, payload: Mapping[str, object], url: str) -> Copy:
        rows = first_records(payload.get("results"))
        text = next((value for row in rows if isinstance(value := row.get("raw_content"), str) and value.strip()), "")
        if not text:
            return Copy("no_text", "Tavily could not read this page either.", url=url)
        text = clean_text(self._tool.masked(text)[:_MOST_CHARACTERS])
        title, sections = _sections(text)
        content, parts = assembled(sections)
        status, detail = shown(content, "", content, is_closed=False, is_article=False)
        fields = {"title": title, "url": url} if title else {"url": url}
        return Copy(status, detail, Reading(content, parts, fields) if content else None, url)


def _sections(markdown: str) -> tuple[str, Sequence[Section]]:
    """The title, if the text begins with one, and the sections below the headings of a Markdown text."""
    found: list[tuple[tuple[str, ...], list[str]]] = [((), [])]
    title, levels = "", list[tuple[int, str]]()
    for block in re.split(r"\n[ \t]*\n", markdown):
        lines = block.strip().split("\n")
        for line in lines if not lines[0].startswith("|") else [block.strip()]:
            heading = _HEADING.fullmatch(line.strip())
            if heading is None:
                _add(found[-1][1], line, is_new=line is lines[0])
                continue
            name = clean_line(without_markdown(heading[2]).strip("#* "))
            if len(heading[1]) == 1 and not title and len(found) == 1 and not found[0][1]:
                title = name
                continue
            levels = [*(one for one in levels if one[0] < len(heading[1])), (len(heading[1]), name)]
            found.append((tuple(one[1] for one in levels), []))
    return title, _numbered(found)


def _add(paragraphs: list[str], line: str, *, is_new: bool) -> None:
    """A line of a block: an item of a list and a table are paragraphs of their own, others go on in the last one."""
    if line.startswith("|"):
        paragraphs.append(line)
        return
    bullet = _BULLET.match(line.strip())
    text = clean_line(without_markup(without_markdown(line.strip()[bullet.end() if bullet else 0 :])))
    if text and (is_new or bullet or not paragraphs):
        paragraphs.append(text)
    elif text:
        paragraphs[-1] = f"{paragraphs[-1]} {text}"


def _numbered(found: Sequence[tuple[tuple[str, ...], list[str]]]) -> list[Section]:
    sections = [Section("s0", found[0][1])] if found[0][1] else []
    anchors, counts = dict[tuple[str, ...], str](), dict[str, int]()
    for path, paragraphs in found[1:]:
        parent = anchors.get(path[:-1], "")
        counts[parent] = counts.get(parent, 0) + 1
        anchor = f"{parent}.{counts[parent]}" if parent else f"s{counts[parent]}"
        anchors[path] = anchor
        sections.append(Section(anchor, paragraphs, path=path, parent=parent))
    return sections
