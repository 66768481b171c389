"""Tavily's /extract: reads a page that does not serve programs, or that needs JavaScript.

It is not asked for what robots.txt forbids, nor for addresses that are not public, so that no intranet address leaves
this machine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import httpx

from deepcritical_mcp.config import variable_name
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.logs import hide_keys_in_urls
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.guard import Guard, guard_of, is_refusal
from deepcritical_mcp.net.json_fields import first_records, json_answer, without_markup
from deepcritical_mcp.net.pacing import Pacing
from deepcritical_mcp.reading import Reading, Section, assembled
from deepcritical_mcp.reading.access import shown
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.web.payload import without_markdown
from deepcritical_mcp.sources.web.web_settings import WebSettings
from deepcritical_mcp.text import clean_line, clean_text

if TYPE_CHECKING:
    from deepcritical_mcp.config import Settings

_MOST_CHARACTERS = 2_000_000
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_BULLET = re.compile(r"[-*+][ \t]+")


class TavilyExtract(FullTextSource):
    """Asks Tavily for the text of a page; costs a credit for five pages."""

    name = "tavily"
    title = "Tavily"
    has_browser = True

    def __init__(self, client: ApiClient, guard: Guard, *, base_url: str, key: str) -> None:
        self._client = client
        self._guard = guard
        self._base_url = base_url
        self._key = key
        self.off = "" if key else f"no API key ({variable_name('tavily_api_key')})"
        hide_keys_in_urls(key)

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        own = settings.of(WebSettings)
        limiter = Pacing(max(own.web_delay, 60 / own.tavily_per_minute))
        client = ApiClient(
            net.http, provider=cls.name, title=cls.title, retry=net.retry, limiter=limiter, follow_redirects=False
        )
        guard = guard_of(cls.name, fetch_private=False)
        return cls(client, guard, base_url=own.tavily_base_url, key=own.tavily_api_key.get_secret_value())

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
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json"}
        return await self._client.request(
            "POST", f"{self._base_url}/extract", lambda answer: self._copy(answer, url), json=body, headers=headers
        )

    def _copy(self, response: httpx.Response, url: str) -> Copy:
        payload = json_answer(self.name, self.title, response)
        rows = first_records(payload.get("results"))
        text = next((value for row in rows if isinstance(value := row.get("raw_content"), str) and value.strip()), "")
        if not text:
            return Copy("no_text", "Tavily could not read this page either.", url=url)
        text = clean_text(text.replace(self._key, "***")[:_MOST_CHARACTERS])
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
