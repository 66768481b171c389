"""The groups of a map of evidence, named by the terms that tell each of them from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import dist, sqrt
from typing import NamedTuple

from deepcritical_mcp.models import NO_ABSTRACT, Evidence
from deepcritical_mcp.search.expansion.evidence_terms import distinctive_terms
from deepcritical_mcp.text import clean_line

# Our own choices: fewer items show no groups, and more names than that do not fit on the map.
_FEWEST_ITEMS, _FEWEST_IN_GROUP, _MOST_GROUPS = 8, 3, 6
# A name fits a group if so many of its items have the term.
_LEAST_SHARE = 1 / 3
# A second term is added where there is room.
_MAX_TERM, _MAX_NAME = 40, 28
_MAX_ROUNDS, _MOST_TERMS = 25, 12

Spot = tuple[float, float]


class MapGroup(NamedTuple):
    """A group on the map: its middle, as `Places` has it, and its name."""

    x: float
    y: float
    name: str


def named_groups(evidence: Sequence[Evidence], places: Mapping[str, Spot]) -> list[MapGroup]:
    """The groups of the items with a place, the largest first; a group without a telling term has no name and is left
    out. The same for the same items in the same order."""
    placed = [_short(item) for item in evidence if item.id in places]
    if len(placed) < _FEWEST_ITEMS:
        return []
    found: list[MapGroup] = []
    taken: set[str] = set()
    for middle, members in _grouped([places[item.id] for item in placed]):
        if len(members) < _FEWEST_IN_GROUP:
            continue
        if name := _name([placed[at] for at in members], placed, taken):
            found.append(MapGroup(round(middle[0], 4), round(middle[1], 4), name))
    return found


def _short(item: Evidence) -> Evidence:
    """The title and the first index terms, which are enough for a name, and quick to read."""
    terms = {"mesh_terms": item.citation.mesh_terms[:_MOST_TERMS], "keywords": item.citation.keywords[:_MOST_TERMS]}
    return item.model_copy(update={"content": NO_ABSTRACT, "citation": item.citation.model_copy(update=terms)})


def _name(group: Sequence[Evidence], everything: Sequence[Evidence], taken: set[str]) -> str:
    """One or two terms that much of the group and little else has; "" if there are none."""
    least = max(2, len(group) * _LEAST_SHARE)
    terms = distinctive_terms("", group, everything, {}) if len(group) < len(everything) else ()
    name = ""
    for term in (clean_line(one.term) for one in terms if len(one.evidence_ids) >= least):
        longer = f"{name}, {term}" if name else term[:1].upper() + term[1:]
        if len(longer) > (_MAX_NAME if name else _MAX_TERM) or term.casefold() in taken:
            continue
        taken.add(term.casefold())
        if name:
            return longer
        name = longer
    return name


def _grouped(spots: Sequence[Spot]) -> list[tuple[Spot, list[int]]]:
    """k-means (Lloyd) from starts that are far from each other, beginning with the spot nearest to the middle of all:
    the middle and the members of each group, the largest first."""
    count = max(2, min(_MOST_GROUPS, round(sqrt(len(spots) / 2))))
    middles = [min(spots, key=lambda spot: (dist(spot, _middle(spots)), spot))]
    while len(middles) < count:
        middles.append(max(spots, key=lambda spot: (min(dist(spot, one) for one in middles), spot)))
    members: list[list[int]] = []
    for _ in range(_MAX_ROUNDS):
        members = [[] for _ in middles]
        for at, spot in enumerate(spots):
            members[min(range(len(middles)), key=lambda one: (dist(spot, middles[one]), one))].append(at)
        moved = [_middle([spots[at] for at in group]) if group else middles[one] for one, group in enumerate(members)]
        if moved == middles:
            break
        middles = moved
    return sorted(zip(middles, members, strict=True), key=lambda group: (-len(group[1]), group[0]))


def _middle(spots: Sequence[Spot]) -> Spot:
    return sum(x for x, _ in spots) / len(spots), sum(y for _, y in spots) / len(spots)
