"""What is remembered of texts is bounded by their length, not by their number."""

from __future__ import annotations

import gc
from typing import Any
from unittest.mock import Mock

import pytest

from deepcritical_mcp.memory import remembering
from deepcritical_mcp.models import Publication
from deepcritical_mcp.session_export import ExportRequest, whole_export
from deepcritical_mcp.session_export.whole_export import ChosenRecords
from tests.publications import published


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


@pytest.mark.parametrize(("count", "frozen"), [(1_000, 1), (999, 0)])
async def test_no_collection_looks_at_all_records_while_many_are_written(
    count: int, frozen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[Publication] = [published("Zinc.", source="pubmed", title="Zinc", pmid="7")] * count
    times = list[int]()
    store: Any = Mock()

    async def choose(*asked: object) -> ChosenRecords:
        return ChosenRecords(chosen, (), 0, count)

    async def check(*asked: object, **options: object) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr(whole_export, "chosen_records", choose)
    monkeypatch.setattr(whole_export, "recheck", check)
    monkeypatch.setattr(gc, "freeze", lambda: times.append(1))
    made = await whole_export.exported(store, ExportRequest("bibtex"), witness=store)
    assert (made.count, len(times)) == (count, frozen)
