"""The map of a real session, with the real store and the real model."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from deepcritical_mcp.board import META_KEY, board_report, session_meta
from deepcritical_mcp.cli.report import places_of
from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Evidence, Publication
from tests.publications import published

SLEEP = ("Slow-wave sleep consolidates memory", "Sleep deprivation impairs recall", "Naps improve memory in students")
BONES = ("Vitamin D and hip fractures", "Calcium does not prevent falls", "Bone density in older women")


def note(title: str) -> Publication:
    return published(f"{title}, as several trials showed.", provider="user", source="user", title=title)


@pytest.fixture
async def model() -> AsyncIterator[EmbeddingService]:
    service = EmbeddingService(Settings())
    yield service
    service.close()


@pytest.fixture
async def sessions(model: EmbeddingService) -> AsyncIterator[SessionRegistry]:
    settings = Settings()
    registry = SessionRegistry(settings, model, open_backend(settings))
    yield registry
    await registry.aclose()


@pytest.fixture
async def store(sessions: SessionRegistry) -> EvidenceStore:
    return await sessions.open()


async def test_the_map_of_a_session_puts_alike_things_together(store: EvidenceStore) -> None:
    evidence = [note(title) for title in (*SLEEP, *BONES)]
    await store.add_evidence(evidence)
    meta = cast("dict[str, Any]", await session_meta(store, [Evidence.of(evidence[3])]))[META_KEY]
    places = {spot["title"]: (spot["x"], spot["y"]) for spot in meta["map"]}

    assert meta["session_id"] == store.session_id
    assert meta["total"] == 6
    assert meta["map"][0]["id"] == evidence[3].id
    assert set(places) == {*SLEEP, *BONES}
    within = max(math.dist(places[SLEEP[0]], places[title]) for title in SLEEP)
    assert within < min(math.dist(places[SLEEP[0]], places[title]) for title in BONES)


async def test_evidence_of_no_session_is_embedded_for_its_report(model: EmbeddingService) -> None:
    evidence = [note(title) for title in (*SLEEP, *BONES)]
    places = await places_of(evidence, model)

    assert set(places) == {piece.id for piece in evidence}
    assert '"map":[{' in board_report(evidence, places=places)


async def test_without_a_model_a_report_has_no_map() -> None:
    class NoModel:
        name = "none"
        calibration = None

        async def vectors(self, texts: object) -> Any:
            raise EmbeddingError("The model cannot be loaded.")

        query_vectors = vectors

    assert await places_of([note("One")], NoModel()) == {}
