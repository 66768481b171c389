"""Documents of a session: texts that belong to it and are no evidence."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionNotFoundError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.stored_items import KeptSession
from deepcritical_mcp.models import Publication

Registries = Callable[[Settings], SessionRegistry]

ZINC = Publication.of("abstract", "Zinc helps the skin.", provider="pubmed", source="pubmed", title="Zinc", pmid="1")


async def test_a_document_survives_rest_with_and_without_evidence(place: Settings, registries: Registries):
    session = await registries(place).open()
    await session.keep_document("report", "of no evidence")
    await session.rest()
    assert await session.document("report") == "of no evidence"
    await session.add_evidence([ZINC])
    await session.rest()
    assert (await session.document("report"), await session.count()) == ("of no evidence", 1)


def test_a_new_session_may_be_read_while_something_is_first_kept_in_it():
    for _ in range(20):
        empty = SessionFile.create(None, KeptSession(model="model"))
        space = Space("new", empty, lambda info: SessionFile.create(None, info))
        with ThreadPoolExecutor(4) as threads:
            read = [threads.submit(space.documents, ["log-1"]) for _ in range(100)]
            space.keep_documents({"log-1": "a search"})
        assert all(one.result() in ({}, {"log-1": "a search"}) for one in read)
        space.close()


async def test_a_document_goes_with_its_session(place: Settings, registries: Registries):
    registry = registries(place)
    session = await registry.open()
    await session.keep_document("report", "short")
    await registry.drop(session.session_id)
    with pytest.raises(SessionNotFoundError):
        await session.document("report")
    with pytest.raises(SessionNotFoundError):
        await session.keep_document("report", "again")
    if registry.undo_seconds:
        restored = await registry.restore(session.session_id)
        assert await restored.document("report") == "short"
