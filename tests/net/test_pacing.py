"""Requests start one after another, each a little later than the one before."""

from __future__ import annotations

import anyio
import pytest

from deepcritical_mcp.net.pacing import Spacing, spacing


async def test_starts_are_spaced_in_the_order_of_asking(monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(round(seconds, 1))

    monkeypatch.setattr(anyio, "current_time", lambda: 100.0)
    monkeypatch.setattr(anyio, "sleep", sleep)
    limiter = Spacing(0.5)
    for _ in range(3):
        await limiter.acquire()
    monkeypatch.setattr(anyio, "current_time", lambda: 200.0)
    await limiter.acquire()
    assert waits == [0.0, 0.5, 1.0, 0.0]


async def test_the_slower_of_delay_and_rate_counts(monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(round(seconds, 1))

    monkeypatch.setattr(anyio, "current_time", lambda: 100.0)
    monkeypatch.setattr(anyio, "sleep", sleep)
    for limiter in (spacing(0.5), spacing(0.5, per_second=1), spacing(0.5, per_second=100 / 60)):
        await limiter.acquire()
        await limiter.acquire()
    assert waits == [0.0, 0.5, 0.0, 1.0, 0.0, 0.6]
