"""Two processes on one folder of sessions: each session belongs to the one that has it open."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionBusyError
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from tests.publications import published

NOTE = published("Sleep keeps memories.", provider="user", source="user", title="A note")


async def test_a_session_that_is_open_elsewhere_is_said_to_be_and_can_be_taken_up_when_it_is_closed(
    tmp_path: Path,
) -> None:
    settings = Settings(data_dir=tmp_path)
    embedder = EmbeddingService(settings)
    mine, theirs = (SessionRegistry(settings, embedder, open_backend(settings)) for _ in range(2))
    store = await mine.open()
    await store.add_evidence([NOTE])
    with pytest.raises(SessionBusyError, match="open in another process"):
        await theirs.get(store.session_id)
    await mine.aclose()
    taken_up = await theirs.get(store.session_id)
    assert await taken_up.count() == 1
    await theirs.aclose()
    embedder.close()


def test_a_home_in_a_folder_s_name_is_the_user_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert Settings(data_dir=Path("~/evidence")).data_dir == tmp_path / "evidence"
