"""Duplicates within a list, without a session. Blocks; runs in worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.identity import (
    SAME_MEANING,
    IdentityIndex,
    Match,
    conflict,
    identity_of,
    opposed,
)
from deepcritical_mcp.evidence.merging import complete
from deepcritical_mcp.models import Evidence

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.storage.rows import Vector


def without_duplicates(
    evidence: Sequence[Evidence], vectors: Sequence[Sequence[Vector]], threshold: float
) -> list[Evidence]:
    """See `EvidenceStore.deduplicate`; `vectors` are those of each piece's passages, none without a model."""
    kept = _Kept()
    for piece, some in zip(evidence, vectors, strict=True):
        kept.add(piece, np.asarray(some[0], np.float32) if some else None, threshold)
    return list(kept.pieces.values())


class _Kept:
    def __init__(self) -> None:
        self.pieces: dict[str, Evidence] = {}
        self._identities = IdentityIndex()
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def add(self, piece: Evidence, vector: NDArray[np.float32] | None, threshold: float) -> None:
        cosines = {} if vector is None else {key: float(vector @ other) for key, other in self._vectors.items()}
        close = sorted((key for key in cosines if cosines[key] >= SAME_MEANING), key=lambda key: -cosines[key])
        identity = identity_of(piece)
        match = self._identities.match(identity, lambda key: cosines.get(key, 0.0), close)
        if match is None:
            match = self._by_meaning(piece, cosines, threshold)
        if match is not None:
            self.pieces[match.id] = complete(self.pieces[match.id], piece)
            self._identities.add(match.id, identity_of(self.pieces[match.id]))
            return
        key = str(len(self.pieces))
        self.pieces[key] = piece
        self._identities.add(key, identity)
        if vector is not None:
            self._vectors[key] = vector

    def _by_meaning(self, piece: Evidence, cosines: dict[str, float], threshold: float) -> Match | None:
        identity = identity_of(piece)
        for key in sorted(cosines, key=lambda key: -cosines[key]):
            if cosines[key] < threshold:
                return None
            if not conflict(identity, self._identities[key]) and not opposed(piece, self.pieces[key]):
                return Match(key, cosines[key], "nearly the same meaning")
        return None
