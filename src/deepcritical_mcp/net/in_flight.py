"""Identical questions that are open at the same time, asked once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar, cast

import anyio

from deepcritical_mcp.errors import ProviderError

T = TypeVar("T")


@dataclass
class _Asked:
    over: anyio.Event = field(default_factory=anyio.Event)
    answer: tuple[object] | None = None
    error: ProviderError | None = None


class InFlight:
    """Lets whoever asks what is being asked already wait for that answer, or share its ProviderError."""

    def __init__(self) -> None:
        self._asked: dict[Hashable, _Asked] = {}

    async def ask(self, key: Hashable, operation: Callable[[], Awaitable[T]]) -> T:
        """What `operation` gives, from the one caller that runs it; when that one is cancelled, the next one does."""
        while (asked := self._asked.get(key)) is not None:
            await asked.over.wait()
            if asked.error is not None:
                raise asked.error
            if asked.answer is not None:
                return cast("T", asked.answer[0])
        asked = self._asked[key] = _Asked()
        try:
            answer = await operation()
            asked.answer = (answer,)
            return answer
        except ProviderError as error:
            asked.error = error
            raise
        finally:
            del self._asked[key]
            asked.over.set()
