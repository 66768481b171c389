from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.evidence.embedding.projection import MIDDLE, Point, project

NUMBERS = st.floats(-1, 1, width=32)


def random_vectors(count: int, length: int = 8) -> list[list[float]]:
    return np.random.default_rng(7).normal(size=(count, length)).tolist()


def test_nothing_has_no_map() -> None:
    assert project([]) == []


def test_one_vector_or_equal_ones_lie_in_the_middle() -> None:
    assert project([[0.1, 0.2, 0.3]]) == [MIDDLE]
    assert project([[0.1, 0.2, 0.3]] * 3) == [MIDDLE] * 3


def test_two_vectors_lie_at_the_two_ends() -> None:
    assert sorted(project([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])) == [Point(0.0, 0.5), Point(1.0, 0.5)]


def test_what_is_alike_lies_close_together() -> None:
    noise = np.random.default_rng(7).normal(scale=0.05, size=(20, 16))
    noise[:10, 0] += 1
    noise[10:, 1] += 1
    points = project(noise.tolist())

    assert max(math.dist(points[0], one) for one in points[:10]) < min(math.dist(points[0], one) for one in points[10:])


@pytest.mark.parametrize("count", [3, 8, 9, 60])
def test_the_map_shows_the_two_components_of_greatest_variance(count: int) -> None:
    vectors = random_vectors(count)
    centered = np.asarray(vectors) - np.mean(vectors, axis=0)
    expected = centered @ np.linalg.svd(centered)[2][:2].T
    expected /= np.ptp(expected, axis=0).max()

    points = np.asarray(project(vectors))
    for axis in (0, 1):
        ours, theirs = points[:, axis] - points[:, axis].mean(), expected[:, axis]
        assert np.allclose(ours, theirs, atol=1e-3) or np.allclose(ours, -theirs, atol=1e-3)


def test_the_same_vectors_give_the_same_map() -> None:
    assert project(random_vectors(30)) == project(random_vectors(30))


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), max_size=12)))
def test_every_point_lies_on_the_map(vectors: list[list[float]]) -> None:
    points = project(vectors)

    assert len(points) == len(vectors)
    assert all(0 <= part <= 1 for point in points for part in point)


def test_numbers_that_are_none_do_not_break_the_map() -> None:
    assert len(project([[math.nan, 1.0], [math.inf, 0.0], [0.0, 0.5]])) == 3
