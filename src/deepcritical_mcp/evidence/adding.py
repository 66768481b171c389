"""Adding a batch: each publication is merged or added, in the order given, and what became of each.

`Catalogue.place` finds what a new publication is linked to, and groups all of it: a `Placement`. `Batch` stores each
group as one item (`KeptItem`: its members, and the publication that they describe together), and makes a `Decision`.
What is nearly the same in meaning may be merged into an item, too. Once all of the call is stored, the decision becomes
an `AddOutcome`.

For example, A has PMID 1 and B has DOI x, with one title but other texts: two items, pubmed:1 and doi:x. C has both
numbers: one group of three, which continues pubmed:1; doi:x is removed, and its id leads to pubmed:1. If D then has
PMID 2 and DOI x, B could belong to either: it is an item of its own again, and D's outcome `separates`.

Blocks; runs in worker threads."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal, NamedTuple

import numpy as np

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.clustering import Cluster, Member, Placement, clusters_of, combined, member_of
from deepcritical_mcp.evidence.comparisons import opposed
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import Identity, base_id, conflict, tells_apart, title_similarity
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, Vector
from deepcritical_mcp.evidence.text_index import Layout, has_other_texts
from deepcritical_mcp.models import Evidence, Publication, merged, united


@dataclass(frozen=True)
class AddOutcome:
    """What became of one publication.

    Attributes:
        status: "added", or "duplicate" of a stored publication.
        publication: as stored now, under its id in this session.
        evidence: the same as clients see it.
        similarity: of the duplicate to the stored publication, 1.0 for the same identity; 0.0 if added.
        reason: why it is a duplicate, e.g. "same PMID"; "" if added.
        folds: ids of nearly identical publications, with their cosines.
        separates: whether publications that were merged before are kept apart because of this one.
    """

    status: Literal["added", "duplicate"]
    publication: Publication
    evidence: Evidence
    similarity: float = 0.0
    reason: str = ""
    folds: tuple[tuple[str, float], ...] = ()
    separates: bool = False


class Decision(NamedTuple):
    """What becomes of a new publication, stored as `publication`: it is merged into what `place` names, or added if
    that names nothing."""

    publication: Publication
    place: Placement
    folds: tuple[tuple[str, float], ...] = ()
    separates: bool = False

    def outcome(self, catalogue: Catalogue) -> AddOutcome:
        """The final outcome: later ones of the same call may have changed the id."""
        publication = catalogue.item_or_successor(self.publication.id).publication
        links, folds = catalogue.links(publication.id), dict(self.folds)
        return AddOutcome(
            "duplicate" if self.place.id else "added",
            publication,
            catalogue.shown(publication),
            self.place.similarity,
            self.place.reason,
            tuple((own, folds[id]) for id in folds if (own := catalogue.resolve(id)) in links),
            self.separates,
        )


SAME_TITLE = 0.9
"""Lowest token sort ratio of titles at which two publications close in meaning are versions of one another."""
MAX_NEIGHBORS = 10
"""How many stored passages near a new one are examined."""
ROUNDING = 1e-3
"""An upper bound for the rounding error of a cosine in single precision."""
CROWDED = 5
"""The factor by which more are examined where passages of long texts are among them."""


NewPublication = tuple[Publication, Sequence[Vector]]
"""A publication to add, with the vectors of its first passages; () if it is already known, or without a model."""


@dataclass(eq=False)
class Batch:
    """One batch to add to a session.

    Attributes:
        changed: the ids of stored publications whose texts have changed, so that all their passages must be embedded.
            Others that lack vectors have those of their first passages.
        unlinked: the ids of publications whose links to nearly identical ones must be determined again.
    """

    _catalogue: Catalogue
    _calibration: Calibration | None
    _max_evidence: float = math.inf
    _dedup_threshold: float | None = None
    changed: set[str] = field(default_factory=set[str])
    unlinked: set[str] = field(default_factory=set[str])
    _vectors: dict[str, Sequence[Vector]] = field(default_factory=dict[str, Sequence[Vector]])
    """All vectors of what is stored anew, or under another id."""
    _written: dict[str, None] = field(default_factory=dict[str, None])
    _removed: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, publications: Sequence[NewPublication]) -> list[Decision | None]:
        """Decide what to do with each publication, then write what is new or has changed. None: there is no room."""
        neighbors = self._neighbors(publications)
        decisions = [self._decide(*new, near) for new, near in zip(publications, neighbors, strict=True)]
        self._catalogue.space.write([self._catalogue.item_or_successor(id) for id in self._written], self._vectors)
        if gone := [id for id in self._removed if id not in self._catalogue]:
            self._catalogue.space.remove(gone)
        self._vectors.clear()
        self.link(sorted(self.unlinked - self.changed))
        return decisions

    def regroup(
        self, ids: Sequence[str], change: Callable[[Sequence[Publication]], Sequence[Publication]] = list
    ) -> list[Publication]:
        """Group the members of several publications anew, after `change`. Gives what became of them."""
        changed = change([member.publication for id in ids for member in self._catalogue.members(id)])
        clusters = tuple(clusters_of(map(member_of, changed)))
        self._apply(changed[0], (), Placement(ids[0], 1.0, "", tuple(ids), clusters))
        kept = dict.fromkeys(id for one in changed if (id := self._catalogue.place(one).id))
        self._catalogue.space.write([self._catalogue.item_or_successor(id) for id in self._written], self._vectors)
        if gone := [id for id in self._removed if id not in self._catalogue]:
            self._catalogue.space.remove(gone)
        self._vectors.clear()
        return [self._catalogue.item(id).publication for id in kept]

    def store_vectors(self, rows: Sequence[tuple[Publication, int, Sequence[Vector]]]) -> None:
        """Store vectors of publications, those of their passages from a number on, and link what had none. Those of
        texts that have changed meanwhile, or that are stored already, are dropped."""
        new: dict[str, Sequence[Vector]] = {}
        items: list[KeptItem] = []
        for publication, start, vectors in (row for row in rows if row[0].id in self._catalogue):
            item = self._catalogue.item(publication.id)
            if item.vectors == start and not has_other_texts(item.publication, publication):
                items.append(replace(item, vectors=start + len(vectors)))
                new[item.id] = vectors
        self._catalogue.space.write(items, new)
        for item in items:
            self._catalogue.put(item)
        self.link(publication.id for publication, start, _ in rows if not start)

    def link(self, ids: Iterable[str]) -> None:
        """Link stored publications, whose vectors are new, to what is nearly identical."""
        kept = [self._catalogue.item(id) for id in ids if id in self._catalogue]
        some = [(item.publication, self._vectors_of(item)) for item in kept if item.vectors]
        for (publication, _), near in zip(some, self._neighbors(some), strict=True):
            id = publication.id
            folds = self._folds(publication, {other: one for other, one in near.items() if other != id})
            if not {*folds} <= {*self._catalogue.links(id)}:
                item = self._catalogue.item_or_successor(id)
                self._catalogue.put(replace(item, similar=united(item.similar, folds)))
                self._catalogue.space.write([self._catalogue.item_or_successor(id)], {})

    def _neighbors(self, publications: Sequence[NewPublication]) -> list[dict[str, float]]:
        embedded = [at for at, (one, vectors) in enumerate(publications) if vectors and _is_compared(one)]
        near: list[dict[str, float]] = [{} for _ in publications]
        limit = min(MAX_NEIGHBORS * (CROWDED if self._catalogue.has_long_texts else 1), self._catalogue.passages)
        if embedded and limit and self._calibration:
            same = self._calibration.same_meaning
            least = same if self._dedup_threshold is None else min(same, self._dedup_threshold)
            near_to = [publications[at][1][0] for at in embedded]
            found = self._catalogue.space.table.nearest(near_to, limit, least=least - ROUNDING)
            for at, rows in zip(embedded, found, strict=True):
                for row in rows:
                    is_first = row.part == 0 and self._catalogue.vectors(row.id) > 0
                    if is_first and self._catalogue.layout(row.id).short:
                        near[at][row.id] = row.cosine
        return near

    def _decide(self, new: Publication, vectors: Sequence[Vector], near: Mapping[str, float]) -> Decision | None:
        place = self._catalogue.place(new)
        if place.id and not place.clusters:
            return self._merge_into(new, place)
        # Whether it shows that publications were merged before that are several.
        separates = len(place.clusters) > len(place.affected) + int(not place.id)
        if place.id:
            return Decision(self._apply(new, vectors, place), place, separates=separates)
        others = self._vectors if vectors and _is_compared(new) else {}
        staged = {id: some for id, some in others.items() if some and self._catalogue.layout(id).short}
        cosines = {id: float(np.dot(np.asarray(vectors[0]), np.asarray(some[0]))) for id, some in staged.items()}
        # A neighbor may have been given another id within this batch, or another text, which `link` compares.
        found = [(self._catalogue.resolve(id), one) for id, one in {**near, **cosines}.items()]
        similarities = {id: one for id, one in found if id not in self.unlinked}
        least, identity = self._dedup_threshold if self._calibration else None, member_of(new).identity
        for id in _at_least(least, similarities) if least is not None else ():
            is_other = any(tells_apart(identity, member.identity) for member in self._catalogue.members(id))
            if not is_other and not opposed(new, self._catalogue.item(id).publication):
                told = f"nearly the same meaning (cosine {similarities[id]:.2f})"
                return self._merge_into(new, Placement(id, similarities[id], told))
        if len(self._catalogue) >= self._max_evidence:
            return None
        folds = tuple((id, similarities[id]) for id in self._folds(new, similarities))
        publication = self._apply(new, vectors, place, tuple(id for id, _ in folds))
        return Decision(publication, place, folds, separates)

    def _merge_into(self, new: Publication, place: Placement) -> Decision:
        """Merge a text that only means the same: it becomes part of the publication's first member."""
        entry = self._catalogue.item(place.id)
        first, *others = entry.members
        cluster = tuple(map(member_of, (merged(first, new), *others)))
        publication = combined(cluster).but(id=place.id)
        given = tuple(member.publication for member in cluster) if len(cluster) > 1 else ()
        self._put_changed(entry, replace(entry, publication=publication, given=given))
        return Decision(publication, place)

    def _apply(
        self, new: Publication, vectors: Sequence[Vector], place: Placement, folds: tuple[str, ...] = ()
    ) -> Publication:
        """Store the clusters of a placement in place of what it affects; gives the new one's publication."""
        entries = {id: self._catalogue.item(id) for id in place.affected}
        found_by = united((), (query for item in entries.values() for query in item.publication.found_by))
        facts, result = member_of(new).facts, new
        keeps = self._continued(place)
        # An item that gives up an id is written before one that may receive it.
        for id in entries.keys() - keeps.values():
            self._unlink(id)
            self._remove(id)
        for number in sorted(range(len(place.clusters)), key=lambda number: number not in keeps):
            cluster, before = place.clusters[number], keeps.get(number, "")
            has = [member.facts for member in cluster]
            queries = {query for member in cluster for query in member.publication.found_by}
            publication = combined(cluster).but(
                found_by=tuple(one for one in united(found_by, new.found_by) if one in queries)
            )
            id = self._id(base_id(publication.id), cluster, before, place.affected)
            publication = publication.but(id=id)
            given = tuple(self._given(member, cluster, facts) for member in cluster) if len(cluster) > 1 else ()
            if before:
                entry = entries[before]
                self._put_changed(entry, replace(entry, publication=publication, given=given))
            else:
                some = vectors if has == [facts] else ()
                similar = folds if facts in has else ()
                self._put_new(KeptItem(publication, self._catalogue.next_order, len(some), similar, given), some)
            result = publication if facts in has else result
        return result

    def _given(self, member: Member, cluster: Cluster, new: tuple[object, ...]) -> Publication:
        """A member as it is stored. The one with the facts `new` gets a digest after its id if that id already belongs
        to another publication, one that shares no member with this cluster."""
        if member.facts == new and (owner := self._catalogue.resolve(member.publication.id)):
            facts = [one.facts for one in cluster]
            if not any(one.facts in facts for one in self._catalogue.members(owner)):
                return member.publication.but(id=f"{member.publication.id}#{member.digest}")
        return member.publication

    def _continued(self, place: Placement) -> dict[int, str]:
        """Which stored publication each cluster continues, by the cluster's position: one that shares members with it,
        preferably the member from which the publication got its id."""
        fits: list[tuple[bool, bool, bool, int, str]] = []
        for number, cluster in enumerate(place.clusters):
            base = base_id(combined(cluster).id)
            for id in place.affected:
                members = self._catalogue.members(id)
                shared = [one for one in members if any(one.facts == other.facts for other in cluster)]
                if shared:
                    named_it = any(id.endswith(one.digest) for one in shared)
                    fits.append((base_id(id) != base, not named_it, members[0] not in shared, number, id))
        keeps: dict[int, str] = {}
        for *_, number, id in sorted(fits):
            if number not in keeps and id not in keeps.values():
                keeps[number] = id
        return keeps

    def _put_new(self, item: KeptItem, vectors: Sequence[Vector]) -> None:
        self._unlink(item.id)
        self._vectors[item.id] = vectors
        if not vectors:
            self.changed.add(item.id)
        self._store(item)

    def _put_changed(self, before: KeptItem, item: KeptItem) -> None:
        """Store an item in place of an earlier one, which may have another id."""
        if item == before:
            return
        if before.id != item.id or has_other_texts(before.publication, item.publication):
            item = self._with_valid_vectors(before, item)
        self._store(item)
        if before.id != item.id:
            self._remove(before.id)

    def _with_valid_vectors(self, before: KeptItem, item: KeptItem) -> KeptItem:
        """`item`, which has another id or other texts than `before`, with the vectors of `before` that are still valid,
        and without links."""
        self._unlink(before.id)
        self.unlinked.add(item.id)
        valid = before.vectors  # of these, those of unchanged passages, counted from the first
        if has_other_texts(before.publication, item.publication):
            old, new = self._catalogue.layout(before.id).passages, Layout.of(item.publication).passages
            unchanged = takewhile(lambda pair: pair[0].content == pair[1].content, zip(old, new, strict=False))
            valid = min(valid, sum(1 for _ in unchanged))
        if before.id != item.id or item.id in self._vectors:
            self._vectors[item.id] = self._vectors_of(before)[:valid]
        if not valid or before.id in self.changed:
            self.changed.add(item.id)
        return replace(item, similar=(), vectors=valid)

    def _store(self, item: KeptItem) -> None:
        self._written[item.id] = None
        self._catalogue.put(item)

    def _vectors_of(self, item: KeptItem) -> Sequence[Vector]:
        if item.id in self._vectors or not item.vectors:
            return self._vectors.get(item.id, ())
        return [*self._catalogue.space.vectors({item.id: item.vectors}).get(item.id, ())]

    def _remove(self, id: str) -> None:
        self._removed[id] = None
        self._vectors.pop(id, None)
        self._written.pop(id, None)
        self.changed.discard(id)
        self._catalogue.remove(id)

    def _unlink(self, id: str) -> None:
        """Nothing is nearly identical to what publication `id` said."""
        for other in self._catalogue.unlinked(self._catalogue.names(id)):
            self._store(other)

    def _id(self, base: str, cluster: Cluster, before: str, affected: Sequence[str]) -> str:
        """The publication's own id. If it is another one's already, a digest is appended (one DOI for a conference
        book, the same note on two papers); an id once given never moves to another publication."""
        if before and base_id(before) == base:
            return before
        gone = {id for id in affected if base_id(id) != base}
        if gone.issuperset(self._catalogue.having(base)) and (base in gone or base not in self._catalogue):
            return base
        digest = cluster[0].digest
        while f"{base}#{digest}" in self._catalogue:
            digest = hashlib.sha256(digest.encode()).hexdigest()[: len(digest)]
        return f"{base}#{digest}"

    def _folds(self, new: Publication, similarities: Mapping[str, float]) -> list[str]:
        """Nearly identical publications, and other versions of this one (a preprint and its article)."""
        known = self._calibration
        if known is None or not (close := _at_least(known.same_meaning, similarities)):
            return []
        identity, count = member_of(new).identity, Layout.of(new).total
        return [
            id
            for id in close
            if (similarities[id] >= known.folds_at or _is_version(identity, self._catalogue.members(id)[0].identity))
            and self._catalogue.layout(id).total == count
            and not opposed(new, self._catalogue.item(id).publication)
        ]


def _at_least(threshold: float, similarities: Mapping[str, float]) -> list[str]:
    """The ids whose cosine is at least `threshold`, closest first."""
    return sorted((id for id, one in similarities.items() if one >= threshold), key=lambda id: -similarities[id])


def _is_version(one: Identity, other: Identity) -> bool:
    return conflict(one, other) and title_similarity(one, other) >= SAME_TITLE


def _is_compared(publication: Publication) -> bool:
    """Whether its first vector represents the whole publication; that of a passage of a long text does not."""
    return any(not text.parts for text in publication.texts)
