"""How a call's time is shared."""

from __future__ import annotations

import math

import anyio
import pytest
from anyio.lowlevel import checkpoint

from deepcritical_mcp.deadline import Share, even_share, seconds_before, seconds_for, seconds_left


async def test_without_a_deadline_the_callers_own_limit_counts():
    assert math.isinf(seconds_left())
    assert math.isinf(seconds_before(Share(0.5)))
    assert seconds_left(45) == 45
    assert seconds_before(Share(0.2, 5), cap=45) == 40
    assert seconds_for(Share(0.3, 10), cap=20) == pytest.approx(6)


async def test_the_innermost_deadline_counts():
    now = anyio.current_time()
    with anyio.CancelScope(deadline=now + 100), anyio.CancelScope(deadline=now + 10):
        await checkpoint()
        assert 9 < seconds_left() <= 10
        assert 7 < seconds_before(Share(0.2), cap=45) <= 8
        assert seconds_for(Share(1.0, 2), cap=45) == 2


async def test_turns_are_even_and_never_negative():
    now = anyio.current_time()
    assert 2 < even_share(now + 9, following=2) <= 3
    assert even_share(now - 1, following=0) == 0
