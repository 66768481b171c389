"""Identical requests at the same time, sent once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar, cast

import anyio

from deepcritical_mcp.errors import ProviderError

T = TypeVar("T")


@dataclass
class _Pending:
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: tuple[object] | None = None
    error: ProviderError | None = None


class InFlight:
    """Lets a caller whose request is already under way share its answer or its ProviderError."""

    def __init__(self) -> None:
        self._pending: dict[Hashable, _Pending] = {}

    async def ask(self, key: Hashable, operation: Callable[[], Awaitable[T]]) -> T:
        """What `operation` returns for `key`; the first caller runs it, or the next one if that one is cancelled.

        Raises:
            ProviderError: raised by `operation`, to every caller that waited for it.
        """
        while (pending := self._pending.get(key)) is not None:
            await pending.done.wait()
            if pending.error is not None:
                raise pending.error
            if pending.answer is not None:
                return cast("T", pending.answer[0])
        pending = self._pending[key] = _Pending()
        try:
            answer = await operation()
            pending.answer = (answer,)
            return answer
        except ProviderError as error:
            pending.error = error
            raise
        finally:
            del self._pending[key]
            pending.done.set()
