"""Providers and a session that do what they are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Self

import anyio
import httpx
from anyio.lowlevel import checkpoint

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.store import AddOutcome
from deepcritical_mcp.models import Citation, Evidence, RelatedEvidence
from deepcritical_mcp.sources.web.provider import WebAnswer, WebOptions, WebTool

Behaviour = Callable[[str], Awaitable[WebAnswer]]


def page(name: str, *, score: float = 0.9, content: str = "", url: str = "", provider: str = "fake") -> Evidence:
    """A result whose address and title follow from its name."""
    citation = Citation(source="web", title=f"Title of {name}", url=url or f"https://example.org/{name}")
    return Evidence.of(citation, content or f"Text of {name}.", provider=provider, relevance=score, found_by=(name,))


class FakeProvider(WebTool):
    """Gives or raises what it was given: one answer for all, or one each in turn (the last one again and again)."""

    def __init__(self, name: str, *answers: Sequence[Evidence] | DeepCriticalError | Behaviour, key: str = "") -> None:
        self.name = name
        self.title = name.capitalize()
        self.key_variable = key
        self.answers = list(answers)
        self.asked: list[tuple[str, int, WebOptions]] = []
        self.at_once = self.most_at_once = 0

    @classmethod
    def create(cls, settings: Settings, http: httpx.AsyncClient) -> Self:
        raise NotImplementedError

    async def ask(self, query: str, max_results: int, options: WebOptions) -> WebAnswer:
        self.asked.append((query, max_results, options))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await checkpoint()
            if isinstance(answer, DeepCriticalError):
                raise answer
            if callable(answer):
                return await answer(query)
            return WebAnswer(tuple(answer)[:max_results], total_found=len(answer))
        finally:
            self.at_once -= 1


async def never(query: str) -> WebAnswer:
    """A provider that does not answer."""
    await anyio.sleep_forever()
    raise AssertionError


@dataclass
class FakeSession:
    """Keeps evidence by id, as `EvidenceStore` does, without a model."""

    session_id: str = "rs_test"
    warnings: tuple[str, ...] = ()
    kept: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    error: DeepCriticalError | None = None
    folds: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict[str, tuple[tuple[str, float], ...]])

    async def known(self, evidence: Sequence[Evidence]) -> list[str]:
        return [item.id if item.id in self.kept else "" for item in evidence]

    async def add_evidence(self, evidence: Sequence[Evidence]) -> tuple[AddOutcome, ...]:
        if self.error:
            raise self.error
        return tuple(self._add(index, item) for index, item in enumerate(evidence))

    def _add(self, index: int, item: Evidence) -> AddOutcome:
        before = self.kept.get(item.id)
        if before is None:
            self.kept[item.id] = item.model_copy(update={"relevance": 0.0})
            return AddOutcome(index, "added", self.kept[item.id], folds=self.folds.get(item.id, ()))
        found_by = tuple(dict.fromkeys((*before.found_by, *item.found_by)))
        self.kept[item.id] = before.model_copy(update={"found_by": found_by})
        return AddOutcome(index, "duplicate", self.kept[item.id], similarity=1.0, reason="same URL")

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        others = [item for id, item in self.kept.items() if id not in exclude]
        return tuple(
            RelatedEvidence(
                id=item.id, title=item.citation.title, url=item.citation.url, snippet=item.content, relevance=0.5
            )
            for item in others[:limit]
        )
