"""The names of the groups on the map."""

from __future__ import annotations

from deepcritical_mcp.board.map_groups import named_groups
from tests.board.samples import pieces

CORNERS = ((0.1, 0.1), (0.9, 0.1), (0.5, 0.9))


def corners(count: int) -> dict[str, tuple[float, float]]:
    """A place for each piece: those of one topic in one corner."""
    return {
        one.id: (CORNERS[number % 3][0] + number / 1000, CORNERS[number % 3][1])
        for number, one in enumerate(pieces(count))
    }


def test_each_group_is_named_by_a_term_that_the_others_lack() -> None:
    groups = named_groups(pieces(18), corners(18))

    names = sorted(group.name for group in groups)
    assert len(names) == 3
    assert "emory" in names[0]
    assert names[1].startswith("Metformin")
    assert names[2].startswith("Vitamin D")


def test_a_few_items_or_equal_ones_have_no_groups() -> None:
    assert named_groups(pieces(5), corners(5)) == []
    assert named_groups([], {}) == []
    alike = [one.model_copy(update={"id": f"pubmed:{number}"}) for number, one in enumerate([pieces(1)[0]] * 12)]
    assert named_groups(alike, {one.id: (0.5, 0.5) for one in alike}) == []
