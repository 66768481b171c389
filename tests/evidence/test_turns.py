"""Several processes change a session by turns: nothing that was acknowledged is lost."""

import contextlib
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
import chromadb
import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import chroma_rows, open_backend
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, Vector
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, ScreeningMark
from tests.evidence.conftest import ChromaServer
from tests.evidence.stand_ins import HashingModel

PAGES = 12


@asynccontextmanager
async def processes(place: Settings | str, count: int = 2) -> AsyncGenerator[list[EvidenceStore]]:
    """One session, as several processes have it."""
    settings = Settings(chroma_url=place) if isinstance(place, str) else place
    registries = [SessionRegistry(settings, HashingModel(dimension=64), open_backend(settings)) for _ in range(count)]
    first = await registries[0].open()
    await first.add_evidence([page(number) for number in range(PAGES)])
    yield [first, *[await one.get(first.session_id) for one in registries[1:]]]
    for registry in registries:
        await registry.aclose()


def page(number: int, more: str = "") -> Publication:
    address = f"https://example.org/{number}"
    content = f"On page {number} zinc heals wounds.{more}"
    return Publication.of("page", content, provider="test", source="web", title=f"Page {number}", url=address)


async def test_what_several_processes_change_at_once_is_all_there(lasting_place: Settings) -> None:
    async with processes(lasting_place, 3) as stores:
        ids = await stores[0].ids()
        for round in range(4):
            tag = f"round {round}"
            verdict = "included" if round % 2 else "excluded"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stores[0].decide, [ScreeningMark(id=id, verdict=verdict) for id in ids])
                tasks.start_soon(stores[1].decide, [ScreeningMark(id=id, tags=(tag,)) for id in ids])
                longer = [page(number, f" In round {round}, copper did not.") for number in range(PAGES)]
                tasks.start_soon(stores[2].add_evidence, longer)
            for store in stores:
                found = (await store.publications(ids)).values()
                assert [(one.screening, one.tags) for one in found] == [(verdict, (tag,))] * PAGES
                assert all(any(f"round {round}," in text.content for text in one.texts) for one in found)


async def test_what_two_processes_remove_at_once_can_all_be_brought_back(lasting_place: Settings) -> None:
    async with processes(lasting_place) as stores:
        ids = await stores[0].ids()
        for one, other in zip(ids[::2], ids[1::2], strict=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stores[0].remove, [one])
                tasks.start_soon(stores[1].remove, [other])
        for id in ids:
            assert [back.id for back in await stores[0].restore([id])] == [id]


async def test_the_turn_of_a_process_that_has_died_is_ended(
    chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma_rows, "ABANDONED_SECONDS", 1.0)
    client = chromadb.HttpClient(port=httpx.URL(chroma_server.url).port or 0)
    async with processes(chroma_server.url) as stores:
        (id, *_) = await stores[0].ids()
        client.create_collection(f"{stores[0].session_id}-turn", embedding_function=None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stores[0].decide, [ScreeningMark(id=id, verdict="included")])
            tasks.start_soon(stores[1].decide, [ScreeningMark(id=id, tags=("late",))])
        for store in stores:
            (found,) = (await store.publications([id])).values()
            assert (found.screening, found.tags) == ("included", ("late",))
        names = [one.name for one in client.list_collections() if stores[0].session_id in one.name]
        assert not [name for name in names if "turn" in name]


async def test_a_session_that_is_deleted_while_others_write_stays_deleted(
    chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(chroma_url=chroma_server.url)
    keep, begun = Space.keep_documents, threading.Event()

    def slow(self: Space, contents: Mapping[str, str]) -> None:
        begun.set()
        time.sleep(0.5)
        keep(self, contents)

    monkeypatch.setattr(Space, "keep_documents", slow)
    async with processes(chroma_server.url) as stores:
        owner = SessionRegistry(settings, HashingModel(dimension=64), open_backend(settings))
        await owner.get(stores[0].session_id)
        ids = await stores[1].ids()

        async def write(work: Callable[[], Awaitable[object]]) -> None:
            with contextlib.suppress(SessionNotFoundError):
                await work()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write, lambda: stores[1].remove(ids[:1]))
            tasks.start_soon(write, lambda: stores[0].keep_document("report", "Zinc."))
            await anyio.to_thread.run_sync(begun.wait)
            await owner.drop(stores[0].session_id)
        with pytest.raises(SessionNotFoundError):
            await stores[1].ids()
        client = chromadb.HttpClient(port=httpx.URL(chroma_server.url).port or 0)
        assert not [one.name for one in client.list_collections() if stores[0].session_id in one.name]
        await owner.aclose()


async def test_a_turn_that_lasts_is_renewed(chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_rows, "ABANDONED_SECONDS", 3)
    monkeypatch.setattr(chroma_rows, "RENEWED_AFTER", 0.2)
    keep = Space.keep_documents

    def slow(self: Space, contents: Mapping[str, str]) -> None:
        for _ in range(5):
            time.sleep(0.8)
            keep(self, contents)

    async with processes(chroma_server.url) as stores:
        ids = await stores[0].ids()
        monkeypatch.setattr(Space, "keep_documents", slow)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stores[0].remove, ids[:6])
            await anyio.sleep(0.2)
            tasks.start_soon(stores[1].decide, [ScreeningMark(id=id, verdict="included") for id in ids])
        assert len(await stores[1].restore(ids[:6])) == 6
        known = (await stores[0].publications(ids)).values()
        assert [one.screening for one in known] == [""] * 6 + ["included"] * 6


async def test_who_was_stopped_during_its_turn_overwrites_nothing(
    chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma_rows, "ABANDONED_SECONDS", 2.0)
    monkeypatch.setattr(chroma_rows, "RENEWED_AFTER", 0.5)
    write, is_stopped = Space.write, threading.Event()

    def stopped(self: Space, items: Sequence[KeptItem], vectors: Mapping[str, Sequence[Vector]]) -> None:
        if not is_stopped.is_set():
            is_stopped.set()
            time.sleep(5.0)  # the other one needs less than an abandoned turn, on a busy machine too
        write(self, items, vectors)

    async with processes(chroma_server.url) as stores:
        (id, *_) = await stores[0].ids()
        monkeypatch.setattr(Space, "write", stopped)
        failures: list[EvidenceStoreError] = []

        async def decide() -> None:
            try:
                await stores[0].decide([ScreeningMark(id=id, verdict="excluded")])
            except EvidenceStoreError as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(decide)
            await anyio.to_thread.run_sync(is_stopped.wait, 30)
            tasks.start_soon(stores[1].decide, [ScreeningMark(id=id, tags=("mine",))])
        assert [error.retryable for error in failures] == [True]
        for store in stores:
            (found,) = (await store.publications([id])).values()
            assert (found.screening, found.tags) == ("", ("mine",))
        await stores[0].decide([ScreeningMark(id=id, verdict="excluded")])
        (found,) = (await stores[1].publications([id])).values()
        assert (found.screening, found.tags) == ("excluded", ("mine",))
