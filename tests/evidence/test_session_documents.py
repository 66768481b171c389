"""Documents of a session: texts that belong to it and are no evidence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionNotFoundError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.stored_items import KeptSession
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import HashingModel
from tests.evidence.test_sessions import lines_until_killed

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


async def test_processes_see_each_other_s_documents(registries: Registries, lasting_place: Settings):
    settings = lasting_place
    mine = await registries(settings).open()
    await mine.keep_document("log", "")
    yours = await registries(settings).get(mine.session_id)
    assert await yours.document("report") == ""
    await mine.keep_document("report", "mine")
    assert await yours.document("report") == "mine"
    await yours.keep_document("report", "yours")
    assert await mine.document("report") == "yours"
    await mine.add_evidence([ZINC])
    assert (await yours.count(), await mine.document("report")) == (1, "yours")


async def test_a_killed_process_has_kept_what_it_acknowledged(registries: Registries, tmp_path: Path):
    script = """
import os, signal, sys, anyio
from pathlib import Path
from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from tests.evidence.stand_ins import HashingModel

async def main():
    settings = Settings(data_dir=Path(sys.argv[1]))
    session = await SessionRegistry(settings, HashingModel("all-MiniLM"), open_backend(settings)).open()
    for content in ("first", "last"):
        await session.keep_document("report", content)
    print(session.session_id, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""
    (session_id,) = lines_until_killed([sys.executable, "-c", script, str(tmp_path)], 1)
    session = await registries(Settings(data_dir=tmp_path)).get(session_id)
    assert await session.document("report") == "last"


async def test_a_document_survives_a_change_of_the_model(lasting_place: Settings):
    first = SessionRegistry(lasting_place, HashingModel("old", 16), open_backend(lasting_place))
    session = await first.open()
    await session.add_evidence([ZINC])
    await session.keep_document("report", "short")
    await first.aclose()
    second = SessionRegistry(lasting_place, HashingModel("new", 24), open_backend(lasting_place))
    again = await second.get(session.session_id)
    assert [one.id for one in await again.search_similar("zinc")] == ["pubmed:1"]
    assert (await again.document("report"), await again.count()) == ("short", 1)
    await second.aclose()
