"""How a call's time is shared."""

from __future__ import annotations

import math

import pytest

from deepcritical_mcp.deadline import Share, seconds_before, seconds_for, seconds_left


async def test_without_a_deadline_the_callers_own_limit_counts():
    assert math.isinf(seconds_left())
    assert math.isinf(seconds_before(Share(0.5)))
    assert seconds_left(45) == 45
    assert seconds_before(Share(0.2, 5), cap=45) == 40
    assert seconds_for(Share(0.3, 10), cap=20) == pytest.approx(6)
