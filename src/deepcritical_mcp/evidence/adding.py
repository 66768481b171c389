"""Adding a batch: each publication is merged or added, in the order given. Blocks; runs in worker threads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue, Match, Placement
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.clustering import Cluster, Member, combined
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import (
    Identity,
    base_id,
    conflict,
    identity_of,
    opposed,
    title_similarity,
)
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.rows import KeptItem, Vector, now
from deepcritical_mcp.models import Publication, merged, united

SAME_TITLE = 0.9
"""Lowest token sort ratio of titles at which two publications close in meaning are versions of one another."""
MAX_NEIGHBORS = 10
"""How many stored passages near a new one are examined."""


@dataclass(frozen=True)
class NewPublication:
    """A publication to add, with the vectors of its passages; () if it is already known, or without a model."""

    publication: Publication
    vectors: Sequence[Vector] = ()


@dataclass(frozen=True)
class Decision:
    """The outcome for a new publication: added as `publication`, merged into it (see `match`), or left out (`full`).

    `folds` are the ids of nearly identical publications, with their cosines; `separates` tells that publications that
    were merged before are kept apart because of this one.
    """

    publication: Publication
    match: Match | None = None
    folds: tuple[tuple[str, float], ...] = ()
    full: bool = False
    separates: bool = False


class Batch:
    """One batch to add to a session; without a space, nothing is stored beyond the catalogue.

    Attributes:
        changed: the ids of stored publications whose texts changed, so that they must be embedded again.
    """

    def __init__(
        self,
        space: Space | None,
        catalogue: Catalogue,
        *,
        calibration: Calibration | None,
        max_evidence: float = math.inf,
        dedup_threshold: float | None = None,
    ) -> None:
        self.changed: set[str] = set()
        self._space = space
        self._catalogue = catalogue
        self._same_meaning = calibration.same_meaning if calibration else math.inf
        self._folds_at = calibration.folds_at if calibration else math.inf
        self._max_evidence = max_evidence
        self._dedup_threshold = dedup_threshold
        self._now = now()
        self._new: dict[str, Sequence[Vector]] = {}
        self._rewritten: dict[str, None] = {}
        self._removed: dict[str, int] = {}

    def add(self, publications: Sequence[NewPublication]) -> list[Decision]:
        """Decide what to do with each publication, then write what is new or has changed."""
        neighbors = self._neighbors(publications)
        decisions = [self._decide(new, near) for new, near in zip(publications, neighbors, strict=True)]
        if self._space is not None:
            if self._new:
                self._space.write([(self._catalogue[id], vectors) for id, vectors in self._new.items()])
            for id in self._rewritten:
                self._space.rewrite(self._catalogue[id])
            for id, parts in self._removed.items():
                first = self._catalogue[id].parts if id in self._catalogue else 0
                self._space.remove_parts(id, range(first, parts))
        return decisions

    def _neighbors(self, publications: Sequence[NewPublication]) -> list[dict[str, float]]:
        embedded = [index for index, new in enumerate(publications) if new.vectors]
        near: list[dict[str, float]] = [{} for _ in publications]
        limit = min(MAX_NEIGHBORS, self._catalogue.passages)
        if embedded and limit and self._space is not None:
            found = self._space.nearest([publications[index].vectors[0] for index in embedded], limit)
            for index, rows in zip(embedded, found, strict=True):
                for row in rows:
                    if row.id in self._catalogue:
                        near[index][row.id] = max(row.cosine, near[index].get(row.id, -1.0))
        return near

    def _decide(self, new: NewPublication, near: Mapping[str, float]) -> Decision:
        place = self._catalogue.place(new.publication)
        if place.match is not None and not place.clusters:
            return self._absorb(new.publication, place.match)
        if place.match is not None:
            return Decision(self._apply(new, place), place.match, separates=place.separates)
        staged = {id: vectors for id, vectors in self._new.items() if new.vectors and vectors}
        cosines = {id: float(np.dot(_array(new.vectors[0]), _array(some[0]))) for id, some in staged.items()}
        # A neighbor may have been given another id within this batch.
        similarities = _Similarities((self._catalogue.resolve(id), one) for id, one in {**near, **cosines}.items())
        if match := self._by_meaning(new, similarities):
            return self._absorb(new.publication, match)
        if len(self._catalogue) >= self._max_evidence:
            return Decision(new.publication, full=True)
        folds = tuple((id, similarities[id]) for id in self._folds(new, similarities))
        publication = self._apply(new, place, tuple(id for id, _ in folds))
        return Decision(publication, folds=folds, separates=place.separates)

    def _by_meaning(self, new: NewPublication, similarities: _Similarities) -> Match | None:
        """Applies `dedup_threshold`; publications that contradict each other are kept apart even then."""
        if self._dedup_threshold is None:
            return None
        identity = identity_of(new.publication)
        for id in similarities.at_least(self._dedup_threshold):
            is_other = any(conflict(identity, member.identity) for member in self._catalogue.members(id))
            if not is_other and not opposed(new.publication, self._catalogue[id].publication):
                return Match(id, similarities[id], f"nearly the same meaning (cosine {similarities[id]:.2f})")
        return None

    def _absorb(self, new: Publication, match: Match) -> Decision:
        """Merge what only means the same: it becomes part of the publication's first member."""
        entry = self._catalogue[match.id]
        first, *others = entry.members
        cluster = tuple(map(Member.of, (merged(first, new), *others)))
        publication = combined(cluster).model_copy(update={"id": match.id})
        given = tuple(member.publication for member in cluster) if len(cluster) > 1 else ()
        self._put(entry, replace(entry, publication=publication, given=given))
        return Decision(publication, match)

    def _apply(self, new: NewPublication, place: Placement, folds: tuple[str, ...] = ()) -> Publication:
        """Store the clusters of a placement in place of what it affects; gives the new one's publication."""
        free = {id: (self._catalogue[id], self._catalogue.members(id)) for id in place.affected}
        found_by = united((), (query for item, _ in free.values() for query in item.publication.found_by))
        facts, result = Member.of(new.publication).facts, new.publication
        for cluster in place.clusters:
            has = [member.facts for member in cluster]
            queries = {query for member in cluster for query in member.publication.found_by}
            publication = combined(cluster).model_copy(
                update={"found_by": tuple(one for one in united(found_by, new.publication.found_by) if one in queries)}
            )
            base = base_id(publication.id)
            sharing = [id for id, (_, members) in free.items() if any(member.facts in has for member in members)]
            before = next((id for id in sharing if base_id(id) == base), next(iter(sharing), ""))
            publication = publication.model_copy(update={"id": self._id(base, cluster, before, place.affected)})
            given = tuple(member.publication for member in cluster) if len(cluster) > 1 else ()
            if before:
                entry = free.pop(before)[0]
                self._put(entry, replace(entry, publication=publication, given=given))
            else:
                vectors = new.vectors if has == [facts] else ()
                order, parts = self._catalogue.next_order(), max(len(vectors), 1)
                item = KeptItem(publication, order, parts, bool(vectors), self._now)
                self._put(None, replace(item, given=given, similar=folds if facts in has else ()), vectors)
            result = publication if facts in has else result
        for item, _ in free.values():
            self._remove(item)
        return result

    def _put(self, before: KeptItem | None, item: KeptItem, vectors: Sequence[Vector] = ()) -> None:
        """Store an item, in place of an earlier one under its own or another id."""
        id = item.publication.id
        if before is None:
            if not vectors:
                self.changed.add(id)
            self._new[id] = vectors
        elif item == before:
            return
        else:
            earlier = before.publication.id
            if earlier in self.changed or passages(item.publication) != passages(before.publication):
                self.changed.add(id)
            if earlier != id:
                self._new[id] = vectors = self._vectors_of(before)
                item = replace(item, parts=max(len(vectors), 1), embedded=bool(vectors))
            elif id not in self._new:
                self._rewritten[id] = None
        self._catalogue.put(replace(item, written=self._now))
        if before is not None and before.publication.id != id:
            self._remove(before)

    def _vectors_of(self, item: KeptItem) -> Sequence[Vector]:
        id = item.publication.id
        if id in self._new or not item.embedded or self._space is None:
            return self._new.get(id, ())
        return [*self._space.vectors({id: item.parts}).get(id, ())]

    def _remove(self, item: KeptItem) -> None:
        id = item.publication.id
        if id not in self._new:
            self._removed[id] = item.parts
        self._new.pop(id, None)
        self._rewritten.pop(id, None)
        self.changed.discard(id)
        self._catalogue.remove(id)

    def _id(self, base: str, cluster: Cluster, before: str, affected: Sequence[str]) -> str:
        """The publication's own id. If it is another one's already, a digest is appended (one DOI for a conference
        book, the same note on two papers); an id once given never moves to another publication."""
        if before and base_id(before) == base:
            return before
        gone = [id for id in affected if base_id(id) != base]
        return f"{base}#{cluster[0].digest}" if self._catalogue.has_id(base, gone) else base

    def _folds(self, new: NewPublication, similarities: _Similarities) -> list[str]:
        """Nearly identical publications, and other versions of this one (a preprint and its article)."""
        identity = identity_of(new.publication)
        return [
            id
            for id in similarities.at_least(self._same_meaning)
            if (similarities[id] >= self._folds_at or _is_version(identity, self._catalogue.members(id)[0].identity))
            and self._catalogue[id].parts == len(new.vectors)
            and not opposed(new.publication, self._catalogue[id].publication)
        ]


def without_duplicates(
    publications: Sequence[Publication],
    vectors: Sequence[Sequence[Vector]],
    threshold: float,
    calibration: Calibration | None,
) -> list[Publication]:
    """See `EvidenceStore.deduplicate`; `vectors` has the vectors of each publication's passages, () without a model."""
    catalogue = Catalogue()
    batch = Batch(None, catalogue, calibration=calibration, dedup_threshold=threshold)
    batch.add([NewPublication(one, some) for one, some in zip(publications, vectors, strict=True)])
    return [catalogue[id].publication for id in catalogue.ids()]


class _Similarities(dict[str, float]):
    """Cosines of a new publication to the nearest stored ones, by id."""

    def at_least(self, threshold: float) -> list[str]:
        """The ids whose cosine is at least `threshold`, closest first."""
        return sorted((id for id in self if self[id] >= threshold), key=lambda id: -self[id])


def _is_version(one: Identity, other: Identity) -> bool:
    return conflict(one, other) and title_similarity(one, other) >= SAME_TITLE


def _array(vector: Vector) -> NDArray[np.float32]:
    return np.asarray(vector, np.float32)
