"""Adding a batch: each piece is recognised, completed or kept, in the order given. Blocks; runs in worker threads."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import (
    Identity,
    Match,
    conflict,
    identity_of,
    opposed,
    title_similarity,
)
from deepcritical_mcp.evidence.storage.rows import KeptItem, Record, Vector, now
from deepcritical_mcp.evidence.storage.space import Space
from deepcritical_mcp.models import Publication, merged

SAME_TITLE = 0.9
"""Token sort ratio from which two publications close in meaning are versions of one another."""
NEIGHBOURS = 10
"""Kept passages near a new one that are looked at."""


@dataclass(frozen=True)
class NewPiece:
    """A publication to add with the vectors of its passages; none when it is known already, or without a model."""

    publication: Publication
    vectors: Sequence[Vector] = ()


@dataclass(frozen=True)
class Decision:
    """What became of a new piece: kept as `publication`, or merged into it because of `match`; or there was no room.

    Attributes:
        folds: ids of what says nearly the same, with their cosines.
        changed: whether the kept texts changed, so that they must be embedded again.
    """

    publication: Publication
    match: Match | None = None
    folds: tuple[tuple[str, float], ...] = ()
    changed: bool = False
    full: bool = False


class Batch:
    """One batch on its way into a session."""

    def __init__(
        self,
        space: Space,
        catalogue: Catalogue,
        *,
        calibration: Calibration | None,
        max_evidence: int,
        dedup_threshold: float | None = None,
    ) -> None:
        self._space = space
        self._catalogue = catalogue
        self._same_meaning = calibration.same_meaning if calibration else math.inf
        self._folds_at = calibration.folds_at if calibration else math.inf
        self._max_evidence = max_evidence
        self._dedup_threshold = dedup_threshold
        self._now = now()
        self._staged: dict[str, _Staged] = {}

    def add(self, pieces: Sequence[NewPiece]) -> list[Decision]:
        """Decide about every piece, then write all that is new and all that changed."""
        neighbours = self._neighbours(pieces)
        decisions = [self._decide(piece, near) for piece, near in zip(pieces, neighbours, strict=True)]
        self._write()
        return decisions

    def _neighbours(self, pieces: Sequence[NewPiece]) -> list[dict[str, float]]:
        embedded = [index for index, piece in enumerate(pieces) if piece.vectors]
        near: list[dict[str, float]] = [{} for _ in pieces]
        limit = min(NEIGHBOURS, self._catalogue.passages)
        if embedded and limit:
            found = self._space.nearest([pieces[index].vectors[0] for index in embedded], limit)
            for index, rows in zip(embedded, found, strict=True):
                for row in rows:
                    if row.id in self._catalogue:
                        near[index][row.id] = max(row.cosine, near[index].get(row.id, -1.0))
        return near

    def _decide(self, piece: NewPiece, near: dict[str, float]) -> Decision:
        similarities = _Similarities(piece, near, self._space, self._catalogue)
        for id, staged in self._staged.items():
            if piece.vectors and staged.vectors:
                similarities.known[id] = float(np.dot(_array(piece.vectors[0]), _array(staged.vectors[0])))
        identity = identity_of(piece.publication)
        close = similarities.from_(self._same_meaning)
        match = self._catalogue.match(identity, similarities, close) or self._by_meaning(piece, similarities)
        if match is not None:
            return self._merge(piece, match)
        if len(self._catalogue) >= self._max_evidence:
            return Decision(piece.publication, full=True)
        return self._keep(piece, identity, similarities)

    def _by_meaning(self, piece: NewPiece, similarities: _Similarities) -> Match | None:
        """The setting that drops by meaning; opposites stay two even then."""
        if self._dedup_threshold is None:
            return None
        for id in similarities.from_(self._dedup_threshold):
            if not opposed(piece.publication, self._kept(id)):
                return Match(id, similarities(id), f"nearly the same meaning (cosine {similarities(id):.2f})")
        return None

    def _merge(self, piece: NewPiece, match: Match) -> Decision:
        kept = self._kept(match.id)
        completed = merged(kept, piece.publication)
        changed = passages(completed) != passages(kept)
        if completed != kept:
            entry, staged = self._catalogue[match.id], self._staged.get(match.id)
            item = replace(entry, publication=completed, written=self._now)
            self._stage(_Staged(item, staged.vectors if staged else (), is_new=staged is not None and staged.is_new))
        return Decision(completed, match, changed=changed)

    def _keep(self, piece: NewPiece, identity: Identity, similarities: _Similarities) -> Decision:
        folds = tuple((id, similarities(id)) for id in self._folds(piece, identity, similarities))
        publication = piece.publication.model_copy(update={"id": self._free_id(piece.publication)})
        parts, embedded = max(len(piece.vectors), 1), bool(piece.vectors)
        order, similar = self._catalogue.next_order(), tuple(id for id, _ in folds)
        item = KeptItem(publication, order, parts, embedded, self._now, similar)
        self._stage(_Staged(item, piece.vectors, is_new=True))
        return Decision(publication, folds=folds)

    def _folds(self, piece: NewPiece, identity: Identity, similarities: _Similarities) -> list[str]:
        """What says nearly the same, and what is another version of it (a preprint and its article)."""
        return [
            id
            for id in similarities.from_(self._same_meaning)
            if (similarities(id) >= self._folds_at or _is_version(identity, self._catalogue.identity(id)))
            and self._catalogue[id].parts == len(piece.vectors)
            and not opposed(piece.publication, self._kept(id))
        ]

    def _free_id(self, publication: Publication) -> str:
        """The publication's own id; where another one has it (a conference book's DOI, the same note on two papers),
        that with a digest."""
        if publication.id not in self._catalogue:
            return publication.id
        about = publication.pmid + publication.doi + publication.url
        text = f"{publication.title}\n{publication.text.content}\n{about}"
        while (id := f"{publication.id}#{hashlib.sha256(text.encode()).hexdigest()[:12]}") in self._catalogue:
            text += f"\n{publication.date}\n{publication.authors}"
        return id

    def _kept(self, id: str) -> Publication:
        return self._catalogue[id].publication

    def _stage(self, staged: _Staged) -> None:
        self._staged[staged.item.publication.id] = staged
        self._catalogue.put(staged.item)

    def _write(self) -> None:
        new = [
            Record(row.item.publication, row.item.order, row.item.written, row.item.similar, row.vectors)
            for row in self._staged.values()
            if row.is_new
        ]
        if new:
            self._space.write(new)
        for row in self._staged.values():
            if not row.is_new:
                self._space.rewrite(row.item)


@dataclass(frozen=True)
class _Staged:
    item: KeptItem
    vectors: Sequence[Vector]
    is_new: bool


@dataclass
class _Similarities:
    """Cosines of a new piece to the kept ones, looked up when they are not among the nearest."""

    piece: NewPiece
    known: dict[str, float]
    space: Space
    catalogue: Catalogue
    asked: dict[str, float] = field(default_factory=dict[str, float])

    def __call__(self, id: str) -> float:
        if id in self.known:
            return self.known[id]
        if id not in self.asked:
            self.asked[id] = self._look_up(id)
        return self.asked[id]

    def from_(self, least: float) -> list[str]:
        """The ids at least that close, closest first."""
        found = [(cosine, id) for id, cosine in self.known.items() if cosine >= least]
        return [id for _, id in sorted(found, key=lambda row: -row[0])]

    def _look_up(self, id: str) -> float:
        if not self.piece.vectors or not self.catalogue[id].embedded:
            return 0.0
        vectors = self.space.vectors({id: 1})
        return float(vectors[id][0] @ _array(self.piece.vectors[0])) if id in vectors else 0.0


def _is_version(one: Identity, other: Identity) -> bool:
    return conflict(one, other) and title_similarity(one, other) >= SAME_TITLE


def _array(vector: Vector) -> NDArray[np.float32]:
    return np.asarray(vector, np.float32)
