"""What is remembered of texts is bounded by their length, not by their number."""

from __future__ import annotations

import pytest

from deepcritical_mcp.memory import remembering


def test_the_texts_given_last_are_remembered_as_long_as_they_are_not_too_long_together() -> None:
    asked: list[str] = []

    @remembering(10)
    def length(text: str, more: int = 0) -> int:
        asked.append(text)
        return len(text) + more

    for text in ("one", "two", "one", "three", "one", "two"):
        assert length(text) == len(text)
    assert asked == ["one", "two", "three", "two"]
    assert [length("one", 1), length("one", more=1), length("one")] == [4, 4, 3]
    assert [length("eleven char"), length("eleven char")] == [11, 11]
    assert asked[-2:] == ["eleven char"] * 2


def test_what_failed_is_tried_again() -> None:
    tried: list[str] = []

    @remembering(10)
    def fails(text: str) -> None:
        tried.append(text)
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="one"):
            fails("one")
    assert tried == ["one", "one"]
