"""Exports that a session keeps are listed as resources."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepcritical_mcp.session_export import ExportRequest, WholeExport, saved_exports
from deepcritical_mcp.session_export.saved_exports import keep_export
from deepcritical_mcp.tools.export_evidence import export_resources
from tests.fakes import sessions_in


def written(output: str = "csv") -> WholeExport:
    return WholeExport(ExportRequest("table", output=output), ["Zinc\n"], 1)


async def test_kept_exports_are_listed_with_type_and_size_the_latest_first(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as sessions:
        store = await sessions.open(title="zinc")
        for name, output in (("zinc.csv", "csv"), ("zinc ris.ris", "ris")):
            await keep_export(store, name, written(output))
        latest, first = await export_resources(store)
    assert (latest.mime_type, first.mime_type) == ("application/x-research-info-systems", "text/csv")
    assert (str(latest.uri), latest.size) == (f"export://{store.session_id}/zinc%20ris.ris", len("Zinc\n"))


async def test_the_ninth_export_drops_the_first_and_names_it(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as sessions:
        store = await sessions.open(title="zinc")
        dropped = [(await keep_export(store, f"zinc {n}.csv", written()))[1] for n in range(9)]
        again = (await keep_export(store, "zinc 8.csv", written()))[1]
        names = [one.name for one in await export_resources(store)]
    assert dropped == [()] * 8 + [("zinc 0.csv",)]
    assert again == ()
    assert names == [f"zinc {n}.csv" for n in range(8, 0, -1)]


async def test_large_exports_are_dropped_before_there_are_eight(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with sessions_in(tmp_path) as sessions:
        store = await sessions.open(title="zinc")
        first, _ = await keep_export(store, "zinc 0.csv", written())
        monkeypatch.setattr(saved_exports, "MAX_KEPT_COMPRESSED", 2 * first.packed)
        dropped = [(await keep_export(store, f"zinc {n}.csv", written()))[1] for n in (1, 2)]
        texts = [await saved_exports.kept_export(store, f"zinc {n}.csv") for n in range(3)]
    assert dropped == [(), ("zinc 0.csv",)]
    assert texts == [None, "Zinc\n", "Zinc\n"]
