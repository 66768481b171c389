"""Duplicates within a list, without a session. Blocks; runs in worker threads."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import (
    IdentityIndex,
    Match,
    conflict,
    identity_of,
    opposed,
)
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.models import Publication, merged


def without_duplicates(
    evidence: Sequence[Publication],
    vectors: Sequence[Sequence[Vector]],
    threshold: float,
    calibration: Calibration | None,
) -> list[Publication]:
    """See `EvidenceStore.deduplicate`; `vectors` are those of each piece's passages, none without a model."""
    kept = _Kept(calibration)
    for piece, some in zip(evidence, vectors, strict=True):
        kept.add(piece, np.asarray(some[0], np.float32) if some else None, threshold)
    return list(kept.pieces.values())


class _Kept:
    def __init__(self, calibration: Calibration | None) -> None:
        self._same_meaning = calibration.same_meaning if calibration else math.inf
        self.pieces: dict[str, Publication] = {}
        self._identities = IdentityIndex(calibration)
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def add(self, piece: Publication, vector: NDArray[np.float32] | None, threshold: float) -> None:
        cosines = {} if vector is None else {key: float(vector @ other) for key, other in self._vectors.items()}
        close = sorted((key for key in cosines if cosines[key] >= self._same_meaning), key=lambda key: -cosines[key])
        identity = identity_of(piece)
        match = self._identities.match(identity, lambda key: cosines.get(key, 0.0), close)
        if match is None:
            match = self._by_meaning(piece, cosines, threshold)
        if match is not None:
            self.pieces[match.id] = merged(self.pieces[match.id], piece)
            self._identities.add(match.id, identity_of(self.pieces[match.id]))
            return
        key = str(len(self.pieces))
        self.pieces[key] = piece
        self._identities.add(key, identity)
        if vector is not None:
            self._vectors[key] = vector

    def _by_meaning(self, piece: Publication, cosines: dict[str, float], threshold: float) -> Match | None:
        identity = identity_of(piece)
        for key in sorted(cosines, key=lambda key: -cosines[key]):
            if cosines[key] < threshold:
                return None
            if not conflict(identity, self._identities[key]) and not opposed(piece, self.pieces[key]):
                return Match(key, cosines[key], "nearly the same meaning")
        return None
