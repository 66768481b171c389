"""Identical requests at the same time are sent once, also if they fail."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from deepcritical_mcp.errors import ProviderError, ProviderUnavailableError, RateLimitError
from deepcritical_mcp.net.client import InFlight

CALLERS = 10


async def test_a_refusal_for_longer_than_anybody_waits_is_sent_once() -> None:
    in_flight, sent, errors = InFlight(), 0, list[ProviderError]()

    async def refused(begin: Callable[[], None]) -> str:
        nonlocal sent
        begin()
        sent += 1
        await anyio.sleep(0.01)
        raise RateLimitError("toy", "Too many.", retry_after=60)

    async def call() -> None:
        with anyio.fail_after(20):
            try:
                await in_flight.ask("key", refused)
            except ProviderError as error:
                errors.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(CALLERS):
            tasks.start_soon(call)
    assert (sent, len(errors)) == (1, CALLERS)


async def test_nobody_waits_for_a_caller_that_failed_before_it_sent() -> None:
    in_flight, failed = InFlight(), 0

    async def fails(begin: Callable[[], None]) -> str:
        await anyio.sleep(0.01)
        raise ProviderUnavailableError("toy", "No.")

    async def call() -> None:
        nonlocal failed
        try:
            await in_flight.ask("key", fails)
        except ProviderError:
            failed += 1

    with anyio.fail_after(0.4):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
    assert failed == 3
