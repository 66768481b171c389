"""References without a title."""

from __future__ import annotations

from deepcritical_mcp.search.references.untitled import start_of_journal


def test_a_run_of_capitals_before_et_al_is_read_at_once() -> None:
    """Each way of cutting "AAAA…" into names was tried, of which there are more than can be counted."""
    assert start_of_journal("A" * 190 + " et al. Nature 2020;1:2.") >= -1
    assert start_of_journal("Smith J, van der Berg A.-B., Xu et al., Nature 2020, 1, 2.") > 0
