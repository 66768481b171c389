"""A flat map of vectors: what is alike in meaning lies close together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Point(NamedTuple):
    """A place on the map, 0..1 from left to right and from bottom to top."""

    x: float
    y: float


MIDDLE = Point(0.5, 0.5)


def project(vectors: Sequence[Sequence[float]]) -> list[Point]:
    """The first two principal components of `vectors` (all of one length), one point each, in their order.

    Both axes have one scale, so that distances can be compared. The same vectors always give the same map. One vector
    alone, or several that are equal, lie in the middle.
    """
    if not vectors:
        return []
    matrix = np.nan_to_num(np.asarray(vectors, dtype=np.float64), posinf=0.0, neginf=0.0)
    centred = matrix - matrix.mean(axis=0)
    if len(vectors) < 2 or not np.any(np.abs(centred) > 1e-9):
        return [MIDDLE] * len(vectors)
    flat = centred @ _main_axes(centred)
    lowest, highest = flat.min(axis=0), flat.max(axis=0)
    scaled = (flat - (lowest + highest) / 2) / (highest - lowest).max() + 0.5
    return [Point(round(float(x), 4), round(float(y), 4)) for x, y in np.clip(scaled, 0, 1)]


def _main_axes(
    centred: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The two directions of greatest variance as columns; each points to where its largest part is positive."""
    dimensions = centred.shape[1]
    if len(centred) <= dimensions:
        # Few vectors: the same axes, from the small matrix of their products.
        values, vectors = np.linalg.eigh(centred @ centred.T)
        axes = centred.T @ vectors[:, ::-1][:, :2]
        axes /= np.maximum(np.sqrt(np.maximum(values[::-1][:2], 0.0)), 1e-12)
    else:
        axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
    if axes.shape[1] < 2:
        axes = np.hstack([axes, np.zeros((dimensions, 1))])
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    return axes * np.where(largest < 0, -1.0, 1.0)
