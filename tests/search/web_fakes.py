"""Web search providers that answer what they are given."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.base import Answer, SourceCheck
from deepcritical_mcp.sources.web.provider import WebPage, WebTool
from deepcritical_mcp.sources.web.request import WebOptions
from tests.publications import published
from tests.uncreated import Uncreated

Behaviour = Callable[[str], Awaitable[Answer]]
Page = tuple[Publication, float]
"""A result with its score."""


def page(name: str, *, score: float = 0.9, content: str = "", url: str = "", **ids: Any) -> Page:
    """A result whose address and title follow from its name."""
    text, url = content or f"Text of {name}.", url or f"https://example.org/{name}"
    return published(text, provider="fake", source="web", title=f"Title of {name}", url=url, **ids), score


def answer_of(pages: Sequence[Page], *, total: int = 0) -> Answer:
    """What a provider answers that finds these."""
    return Answer.whole([one for one, _ in pages], {one.id: score for one, score in pages}, total=total)


class FakeProvider(Uncreated, WebTool):
    """Returns or raises what it was given: one answer for all, or one each in turn (the last one repeatedly)."""

    def __init__(self, name: str, *answers: Sequence[Page] | DeepCriticalError | Behaviour, key: str = "") -> None:
        self.name = name
        self.title = name.capitalize()
        self.key_variable = key
        self.answers = list(answers)
        self.asked: list[tuple[str, int, WebOptions]] = []

    def check(self) -> SourceCheck:
        raise NotImplementedError

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        raise NotImplementedError

    async def ask(self, query: str, max_results: int, options: WebOptions) -> Answer:
        self.asked.append((query, max_results, options))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await checkpoint()
        if isinstance(answer, DeepCriticalError):
            raise answer
        if callable(answer):
            return await answer(query)
        return answer_of(answer[:max_results], total=len(answer))


async def never(query: str) -> Answer:
    """A provider that does not answer."""
    await anyio.sleep_forever()
    raise AssertionError
