"""Adding a batch: each publication is merged or added, in the order given. Blocks; runs in worker threads."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import (
    SAME_DOCUMENT,
    SAME_TEXT,
    Identity,
    Match,
    conflict,
    identity_of,
    opposed,
    title_similarity,
)
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.rows import KeptItem, Vector, now
from deepcritical_mcp.models import Publication, merged

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

    `folds` are the ids of nearly identical publications, with their cosines.
    """

    publication: Publication
    match: Match | None = None
    folds: tuple[tuple[str, float], ...] = ()
    full: bool = False


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

    def add(self, publications: Sequence[NewPublication]) -> list[Decision]:
        """Decide what to do with each publication, then write what is new or has changed."""
        neighbors = self._neighbors(publications)
        decisions = [self._decide(new, near) for new, near in zip(publications, neighbors, strict=True)]
        if self._space is not None:
            if self._new:
                self._space.write([(self._catalogue[id], vectors) for id, vectors in self._new.items()])
            for id in self._rewritten:
                self._space.rewrite(self._catalogue[id])
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
        staged = {id: vectors for id, vectors in self._new.items() if new.vectors and vectors}
        cosines = {id: float(np.dot(_array(new.vectors[0]), _array(some[0]))) for id, some in staged.items()}
        similarities = _Similarities(new.vectors, {**near, **cosines}, self._space, self._catalogue)
        identity = identity_of(new.publication)
        close = similarities.at_least(self._same_meaning)
        match = self._catalogue.match(identity, similarities, close) or self._by_meaning(new, identity, similarities)
        if match is not None:
            return self._merge(new.publication, match)
        if len(self._catalogue) >= self._max_evidence:
            return Decision(new.publication, full=True)
        rivals = self._catalogue.rivals(identity, similarities, close)
        decision = self._keep(new, identity, similarities)
        for id, free in rivals.items():
            self._separate(id, free)
        return decision

    def _by_meaning(self, new: NewPublication, identity: Identity, similarities: _Similarities) -> Match | None:
        """Applies `dedup_threshold`; publications that contradict each other are kept apart even then."""
        if self._dedup_threshold is None:
            return None
        for id in similarities.at_least(self._dedup_threshold):
            is_other = conflict(identity, self._catalogue.identity(id))
            if not is_other and not opposed(new.publication, self._catalogue[id].publication):
                return Match(id, similarities(id), f"nearly the same meaning (cosine {similarities(id):.2f})")
        return None

    def _merge(self, new: Publication, match: Match) -> Decision:
        entry = self._catalogue[match.id]
        given = entry.given
        if (given or match.reason in (SAME_TEXT, SAME_DOCUMENT)) and new not in given:
            given = (*(given or (entry.publication,)), new)
        completed = merged(entry.publication, new)
        if completed != entry.publication or given != entry.given:
            self._rewrite(replace(entry, publication=completed, given=given))
        return Decision(completed, match)

    def _separate(self, id: str, free: Sequence[Publication]) -> None:
        """Take apart again what was merged by title and content, now that `free` could belong to another publication
        as well. Those that could not stay together."""
        entry = self._catalogue[id]
        first, *_ = entry.given
        bound = [one for one in entry.given if one not in free]
        stay = [first] if first in free else bound
        publication = reduce(merged, stay).model_copy(update={"id": id})
        self._rewrite(replace(entry, publication=publication, given=tuple(stay) if len(stay) > 1 else ()))
        others = [one for one in free if one is not first]
        unknown = _Similarities((), {}, None, self._catalogue)
        for one in (reduce(merged, bound), *others) if first in free else others:
            identity = identity_of(one)
            match = self._catalogue.match(identity, unknown) if one in others else None
            decision = self._merge(one, match) if match else self._keep(NewPublication(one), identity, unknown)
            self.changed.add(decision.publication.id)

    def _keep(self, new: NewPublication, identity: Identity, similarities: _Similarities) -> Decision:
        folds = tuple((id, similarities(id)) for id in self._folds(new, identity, similarities))
        publication = new.publication.model_copy(update={"id": self._free_id(new.publication)})
        parts, embedded = max(len(new.vectors), 1), bool(new.vectors)
        order, similar = self._catalogue.next_order(), tuple(id for id, _ in folds)
        self._new[publication.id] = new.vectors
        self._catalogue.put(KeptItem(publication, order, parts, embedded, self._now, similar))
        return Decision(publication, folds=folds)

    def _folds(self, new: NewPublication, identity: Identity, similarities: _Similarities) -> list[str]:
        """Nearly identical publications, and other versions of this one (a preprint and its article)."""
        return [
            id
            for id in similarities.at_least(self._same_meaning)
            if (similarities(id) >= self._folds_at or _is_version(identity, self._catalogue.identity(id)))
            and self._catalogue[id].parts == len(new.vectors)
            and not opposed(new.publication, self._catalogue[id].publication)
        ]

    def _free_id(self, publication: Publication) -> str:
        """The publication's own id, with a digest appended if another publication has it (one DOI for a conference
        book, the same note on two papers)."""
        if publication.id not in self._catalogue:
            return publication.id
        about = publication.pmid + publication.doi + publication.url
        text = f"{publication.title}\n{publication.text.content}\n{about}"
        while (id := f"{publication.id}#{hashlib.sha256(text.encode()).hexdigest()[:12]}") in self._catalogue:
            text += f"\n{publication.date}\n{publication.authors}"
        return id

    def _rewrite(self, item: KeptItem) -> None:
        id = item.publication.id
        if passages(item.publication) != passages(self._catalogue[id].publication):
            self.changed.add(id)
        if id not in self._new:
            self._rewritten[id] = None
        self._catalogue.put(replace(item, written=self._now))


def without_duplicates(
    publications: Sequence[Publication],
    vectors: Sequence[Sequence[Vector]],
    threshold: float,
    calibration: Calibration | None,
) -> list[Publication]:
    """See `EvidenceStore.deduplicate`; `vectors` has the vectors of each publication's passages, () without a model."""
    catalogue = Catalogue(calibration)
    batch = Batch(None, catalogue, calibration=calibration, dedup_threshold=threshold)
    batch.add([NewPublication(one, some) for one, some in zip(publications, vectors, strict=True)])
    return [catalogue[id].publication for id in catalogue.ids()]


@dataclass(frozen=True)
class _Similarities:
    """Cosines of a new publication to the stored ones; looked up if they are not among the nearest."""

    vectors: Sequence[Vector]
    known: dict[str, float]
    space: Space | None
    catalogue: Catalogue

    def __call__(self, id: str) -> float:
        if id not in self.known and self.vectors and self.space is not None and self.catalogue[id].embedded:
            found = self.space.vectors({id: 1})
            if id in found:
                return float(found[id][0] @ _array(self.vectors[0]))
        return self.known.get(id, 0.0)

    def at_least(self, threshold: float) -> list[str]:
        """The ids whose cosine is at least `threshold`, closest first."""
        found = [(cosine, id) for id, cosine in self.known.items() if cosine >= threshold]
        return [id for _, id in sorted(found, key=lambda row: -row[0])]


def _is_version(one: Identity, other: Identity) -> bool:
    return conflict(one, other) and title_similarity(one, other) >= SAME_TITLE


def _array(vector: Vector) -> NDArray[np.float32]:
    return np.asarray(vector, np.float32)
