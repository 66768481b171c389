"""A disk without space: what is kept can be read, what cannot be kept is refused, and nothing waits for ever."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from tests.evidence.stand_ins import piece

Registries = Callable[[Settings], SessionRegistry]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
async def test_after_a_failed_write_nothing_waits_for_the_lock_that_it_left(
    registries: Registries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    registry = registries(Settings(data_dir=tmp_path))
    first = await registry.open()
    await first.add_evidence([piece("Iron does not heal warts.")])
    session_id = first.session_id
    largest = (tmp_path / "sessions" / f"{session_id}.sqlite3").stat().st_size + 300_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures: list[str] = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))  # as a quota does
    try:
        for number in range(8):
            store = await registry.get(session_id)
            try:
                large = [piece(f"Large {number} {item} " + "zinc " * 4_000) for item in range(10)]
                await store.add_evidence(large)
            except EvidenceStoreError as error:
                failures.append(error.message)
            await (await registry.get(session_id)).add_evidence([piece(f"Small {number}.")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(failures) >= 5
    assert all("disk is full" in message for message in failures)
    kept = await (await registry.get(session_id)).page(0, 100)
    assert {f"Small {number}." for number in range(8)} <= {item.content for item in kept}
