"""A two-dimensional map of vectors: similar meanings mostly lie together, as far as a plane can show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Point = tuple[float, float]
"""A place on the map, 0..1 from left to right and from bottom to top."""
MIDDLE: Point = (0.5, 0.5)


def project(vectors: Sequence[Sequence[float]]) -> list[Point]:
    """The first two principal components of `vectors` (all of one length), one point each, in their order.

    Both axes have the same scale, so that distances can be compared, and the result is deterministic: each axis points
    to where its largest part is positive. A single vector, or several equal ones, are placed in the middle.
    """
    if not vectors:
        return []
    matrix = np.nan_to_num(np.asarray(vectors, dtype=np.float64), posinf=0.0, neginf=0.0)
    centered = matrix - matrix.mean(axis=0)
    if len(vectors) < 2 or not np.any(np.abs(centered) > 1e-9):
        return [MIDDLE] * len(vectors)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :2]
    axes = axes * np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0))
    flat = np.zeros((len(vectors), 2))
    flat[:, : axes.shape[1]] = centered @ axes
    lowest, highest = flat.min(axis=0), flat.max(axis=0)
    scaled = (flat - (lowest + highest) / 2) / (highest - lowest).max() + 0.5
    return [(round(float(x), 4), round(float(y), 4)) for x, y in np.clip(scaled, 0, 1)]
