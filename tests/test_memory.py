"""What is remembered of texts is bounded by their length, not by their number."""

from __future__ import annotations

import pytest

from deepcritical_mcp.memory import remembering


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
