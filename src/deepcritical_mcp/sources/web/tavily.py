"""Tavily's reader of pages that do not serve programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.net.guard import Guard, guard_of, is_refusal
from deepcritical_mcp.net.json_fields import (
    first_records,
    without_markup,
)
from deepcritical_mcp.reading.page_metadata import shown
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.keyed import TavilyTool
from deepcritical_mcp.sources.web.provider import without_markdown
from deepcritical_mcp.text import clean_text

_MOST_CHARACTERS = 2_000_000


class TavilyExtract(FullTextSource):
    """Asks Tavily for the text of a page; costs a credit for five pages."""

    name, title, has_browser = "tavily", "Tavily", True

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
        from deepcritical_mcp.reading.user_text import read_own_text

        text = clean_text(self._tool.masked(text)[:_MOST_CHARACTERS])
        reading, title = read_own_text(without_markup(without_markdown(text, keeps_headings=True)))
        status, detail = shown(reading.content, "", reading.content, is_closed=False, is_article=False)
        fields = {"title": title, "url": url} if title else {"url": url}
        return Copy(status, detail, replace(reading, fields=fields) if reading.content else None, url)
