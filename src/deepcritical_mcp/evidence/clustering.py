"""Which descriptions are of one publication, decided for all that are linked together, so that the order in which they
arrived does not matter. A publication is a set of descriptions, its members."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, product
from typing import Generic, NamedTuple, TypeVar

from deepcritical_mcp.evidence.identity import LEVELS, Identity, base_id, contradict, identity_of, reason
from deepcritical_mcp.evidence.storage.stored_items import dumped
from deepcritical_mcp.memory import remembering
from deepcritical_mcp.models import UNKNOWN_DATE, Publication, authority, merged, publication_id
from deepcritical_mcp.models.screening import WITHOUT_DECISION

K = TypeVar("K", bound=Hashable)


class ReverseIndex(Generic[K]):
    """Which ids have which keys, in both directions."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[K, ...]] = {}
        self._ids: dict[K, dict[str, None]] = {}

    def put(self, id: str, keys: Iterable[K]) -> None:
        """Set the keys of `id`; () removes it."""
        for key in self._keys.pop(id, ()):
            del self._ids[key][id]
            if not self._ids[key]:
                del self._ids[key]
        if new := tuple(dict.fromkeys(keys)):
            self._keys[id] = new
        for key in new:
            self._ids.setdefault(key, {})[id] = None

    def keys(self, id: str) -> tuple[K, ...]:
        """The keys of `id`."""
        return self._keys.get(id, ())

    def having(self, *keys: K) -> list[str]:
        """The ids that have any of these keys."""
        return list(dict.fromkeys(id for key in keys for id in list(self._ids.get(key, ()))))


class Placement(NamedTuple):
    """Where a new publication belongs.

    Attributes:
        id: the stored publication that it is; "" if none.
        similarity: to that one, 1.0 for the same identity.
        reason: why it is that one.
        affected: the ids of the stored publications that it is linked to.
        clusters: how all of these are grouped once the new one is in; () if that changes no group, and the new one is
            only merged into `id`, which has many members.
    """

    id: str = ""
    similarity: float = 0.0
    reason: str = ""
    affected: tuple[str, ...] = ()
    clusters: tuple[Cluster, ...] = ()


_UNSET = dict.fromkeys(("found_by", "similar", "declared", "status_notices"), ())
_VARYING = {"id": "", "accessed": UNKNOWN_DATE, **_UNSET, **WITHOUT_DECISION}
_FACTS = tuple(
    name for name in Publication.model_fields if name not in {*_VARYING, "claims", "status", "status_checked"}
)


@dataclass(frozen=True)
class Member:
    """A description of a publication, as it was added."""

    publication: Publication

    @cached_property
    def identity(self) -> Identity:
        """What identifies it; made when it is first needed, since that takes half a millisecond."""
        return identity_of(self.publication)

    @cached_property
    def facts(self) -> tuple[object, ...]:
        """What it says, without what changes when the same record is found again, what became known about its claims,
        and what the user decided."""
        return (*(getattr(self.publication, name) for name in _FACTS), self.publication.given_claims)

    @cached_property
    def digest(self) -> str:
        """Tells it apart from others with the same id."""
        facts = self.publication.with_status("unchecked", "", **_VARYING, claims=self.publication.given_claims)
        return hashlib.sha256(dumped(facts).encode()).hexdigest()[:12]

    @cached_property
    def rank(self) -> tuple[object, ...]:
        """The best description sorts first; of equally good ones, the order is arbitrary but always the same."""
        title, one = self.identity.shown_title, self.publication
        checked = one.status_checked or "0"
        newest = tuple(-int(part) for part in checked.split("-"))
        is_cut = not title or title.endswith(("…", "..."))
        return -authority(one), newest, is_cut, -len(self.identity.numbers), -len(one.authors), self.digest


def _length(publication: Publication) -> int:
    return 2_000 + sum(len(text.content) for text in publication.texts)


member_of = remembering(1_000_000, _length)(Member)
"""The member that a publication is; those of late are remembered, since what is added is looked at in several steps."""

Cluster = tuple[Member, ...]
"""The members of one publication, the best first."""
Pair = frozenset[int]
"""The places of two clusters."""
LookupKey = tuple[str, str]
"""See `Identity.keys`."""


def combined(cluster: Cluster) -> Publication:
    """The publication that the members describe, under the best id that they give."""
    if len(cluster) == 1:
        return cluster[0].publication
    publication = reduce(merged, (member.publication for member in cluster))
    id = publication_id(publication)
    # A hash of all that they say together would be nobody's, and gone with the next member.
    is_ones = not id.startswith("text:") or any(base_id(member.publication.id) == id for member in cluster)
    return publication.but(id=id if is_ones else base_id(cluster[0].publication.id))


def clusters_of(members: Iterable[Member]) -> list[Cluster]:
    """The members of each publication, in a fixed order."""
    given = list(members)
    if len(given) == 1:  # without its rank, which costs most of adding it
        return [tuple(given)]
    clusters: list[Cluster] = [(member,) for member in sorted(given, key=lambda member: member.rank)]
    for level in LEVELS:
        if len(clusters) > 1:
            clusters = _joined(clusters, level)
    return clusters


def best_match(new: Identity, others: Sequence[Member]) -> tuple[Member, str] | None:
    """The one of `others` that is the same as `new` for the most reliable reason, and that reason; None if there is
    none."""
    for level in LEVELS:
        for other in others:
            if found := reason(level, new, other.identity):
                return other, found
    return None


def _joined(clusters: Sequence[Cluster], level: str) -> list[Cluster]:
    """Join what is the same on `level`. What could belong to either of two contradicting clusters joins neither, and in
    a chain of contradicting clusters none is joined."""
    identities = [[member.identity for member in cluster] for cluster in clusters]

    def holds(test: Callable[[str, Identity, Identity], object], pair: Pair) -> bool:
        """Whether `test` holds of a member of one cluster and a member of the other."""
        one, other = (identities[place] for place in pair)
        return any(test(level, *both) for both in product(one, other))

    pairs = [frozenset(pair) for pair in combinations(range(len(clusters)), 2)]
    contradicting = {pair for pair in pairs if holds(contradict, pair)}
    same = [pair for pair in pairs if pair not in contradicting and holds(reason, pair)]
    # Of two pairs with a cluster in common, the symmetric difference is the pair of the others.
    certain = [pair for pair in same if not any(pair ^ other in contradicting for other in same)]
    found: list[Cluster] = []
    for group in _connected(len(clusters), certain):
        is_one = contradicting.isdisjoint(map(frozenset, combinations(group, 2)))
        for places in [group] if is_one else [[place] for place in group]:
            members = (member for place in places for member in clusters[place])
            found.append(tuple(sorted(members, key=lambda member: member.rank)))
    return found


def _connected(count: int, pairs: Iterable[Pair]) -> list[list[int]]:
    """The places below `count` in groups: those that pairs connect, directly or through others, are one group."""
    firsts = list(range(count))  # the first place of each one's group
    for one, other in pairs:
        first, second = sorted((firsts[one], firsts[other]))
        firsts = [first if place == second else place for place in firsts]
    return [[place for place, first in enumerate(firsts) if first == own] for own in dict.fromkeys(firsts)]
