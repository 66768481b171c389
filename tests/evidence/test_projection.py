from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.evidence.embedding.projection import project

NUMBERS = st.floats(-1, 1, width=32)


def test_what_is_alike_lies_close_together() -> None:
    noise = np.random.default_rng(7).normal(scale=0.05, size=(20, 16))
    noise[:10, 0] += 1
    noise[10:, 1] += 1
    points = project(noise.tolist())
    assert max(math.dist(points[0], one) for one in points[:10]) < min(math.dist(points[0], one) for one in points[10:])


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), max_size=12)))
def test_every_point_lies_on_the_map(vectors: list[list[float]]) -> None:
    points = project(vectors)
    assert len(points) == len(vectors)
    assert all(0 <= part <= 1 for point in points for part in point)
