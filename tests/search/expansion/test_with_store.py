from __future__ import annotations

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.search.expansion.expander import QueryExpander
from tests.search.expansion.session_fakes import NEUROPROTECTION


async def test_a_real_session_on_metformin_and_alzheimer_talks_of_ampk_activation_and_neuroprotection():
    settings = Settings()
    embedder = EmbeddingService(settings)
    sessions = SessionRegistry(settings, embedder, open_backend(settings))
    try:
        store = await sessions.open()
        await store.add_evidence(NEUROPROTECTION)
        expansion = await QueryExpander(settings, None).expand("metformin alzheimer", store=store)
    finally:
        await sessions.aclose()
        embedder.close()
    assert expansion.session_id == store.session_id
    talked_of = {one.term.casefold() for one in expansion.concepts if one.kind == "evidence"}
    assert {"ampk activation", "neuroprotection"} <= talked_of
    assert "cholesterol" not in talked_of
