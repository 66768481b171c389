"""The news of a session as text, which can be read again: each piece of news is told only once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepcritical_mcp.text import inert

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.models import News

_LAST = "last-news"


async def told_news(store: EvidenceStore, news: News) -> str:
    """The news as Markdown, which is also kept in the session, so that `last_news` can read later parts of it."""
    lines = [
        inert(news.summary),
        *(["", *(f"- {inert(one.line)}" for one in news.items)] if news.items else []),
        *(["", *(f"- Not asked: {inert(one)}" for one in news.errors)] if news.errors else []),
    ]
    text = "".join(f"{line}\n" for line in lines)
    await store.keep_document(_LAST, text)
    return text


async def last_news(store: EvidenceStore) -> str:
    """The text of `told_news`, as it was told last; "" if there was none."""
    return await store.document(_LAST)
