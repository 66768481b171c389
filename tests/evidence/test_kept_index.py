"""What is derived from a session and kept with it: it only saves time, whatever becomes of it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence import catalogue
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, ScreeningMark
from tests.evidence.stand_ins import HashingModel, long_sections, paper, piece, registry_of

T = TypeVar("T")
QUERIES = ("zinc weighed in step 3", "sleep of nurses 7", "what I thought of it", "trial", "copper weighed in step 2")
LATER = piece("Copper was added to the soil of nine farms.", "Copper on farms", pmid="990")


def publications() -> list[Publication]:
    short = [
        piece(
            f"In trial {number} the sleep of {number} nurses was measured.",
            f"Sleep of nurses {number}",
            pmid=f"{number}",
        )
        for number in range(1, 25)
    ]
    return [
        *short,
        piece("The same record elsewhere.", "Sleep of nurses 3", pmid="3", doi="10.1/3", journal="Sleep"),
        piece("What I thought of it: small.", source="user", pmid="5"),
        paper(long_sections("zinc", 6), "Zinc in twelve steps", pmid="101", abstract="Zinc was weighed."),
        paper(long_sections("iron", 4), "Iron in eight steps", pmid="102"),
        piece("A page on zinc.", "Zinc for all", source="web", url="https://example.org/zinc"),
    ]


class Index:
    """What the file of a closed session has of it, by item."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> dict[str, bytes]:
        return self._with(lambda file: {row.key: row.value for row in file.changed("derived")})

    def write(self, rows: dict[str, bytes]) -> None:
        self._with(lambda file: file.put("derived", rows.items()))

    def delete(self) -> None:
        self._with(lambda file: file.delete("derived", file.keys("derived")))

    def _with(self, work: Callable[[SessionFile], T]) -> T:
        file = SessionFile.open(self._file)
        found = work(file)
        file.close()
        return found


async def filled(folder: Path) -> tuple[str, Index]:
    """A session that was closed, and its index."""
    async with registry_of(folder) as registry:
        store = await registry.open()
        await store.add_evidence(publications())
        await store.decide([ScreeningMark(id="pubmed:7", verdict="excluded", reason="small")])
        await store.remove(["pubmed:9"])
        await store.search("until all is embedded")
    return store.session_id, index_in(folder, store.session_id)


def index_in(folder: Path, session_id: str) -> Index:
    return Index(folder / "sessions" / f"{session_id}.sqlite3")


async def answers(store: EvidenceStore) -> list[Any]:
    found = [await store.search(query, variants=["zinc"], max_results=8) for query in QUERIES]
    related = await store.related("zinc", exclude=["pubmed:101"])
    known = await store.known(publications())
    best = await store.best_passages("pubmed:101~2", "step 3 of the results")
    resolved = await store.get(["doi:10.1/3", "pubmed:5", "pubmed:404"])
    return [found, related, known, best, resolved, await store.page(0, 100), await store.ids(), store.warnings()]


async def answers_in(folder: Path, session_id: str) -> list[Any]:
    async with registry_of(folder) as registry:
        return await answers(await registry.get(session_id))


def makes_anew(folder: Path, session_id: str) -> bool:
    """Whether anything has to be derived again when the session is opened."""
    backend = open_backend(Settings(data_dir=folder))
    space = backend.open(session_id, HashingModel().name)
    known = len([*space.rows.changed("derived")])
    anew = known < len(Catalogue.of(space))
    backend.release(space)
    backend.close()
    return anew


@pytest.fixture(autouse=True)
def every_session_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "KEPT_FROM", 1)


async def test_a_session_answers_the_same_with_its_index_and_without(tmp_path: Path) -> None:
    session_id, index = await filled(tmp_path)
    assert not makes_anew(tmp_path, session_id)
    indexed = await answers_in(tmp_path, session_id)
    index.delete()
    assert makes_anew(tmp_path, session_id)
    assert await answers_in(tmp_path, session_id) == indexed
    assert not makes_anew(tmp_path, session_id), "it was kept again"


async def test_what_was_written_since_also_by_another_process_is_derived_again(tmp_path: Path) -> None:
    session_id, index = await filled(tmp_path)
    earlier = index.read()
    async with registry_of(tmp_path) as behind:  # which ends without having read what the other writes
        assert await (await behind.get(session_id)).count()
        async with registry_of(tmp_path) as registry:
            store = await registry.get(session_id)
            await store.add_evidence([LATER, piece("Another abstract.", "Sleep of nurses 4", pmid="4", doi="10.1/4")])
            await store.remove(["pubmed:11"])
            await store.search("until all is embedded")
    assert "pubmed:990" in index.read()
    assert "pubmed:11" not in index.read()
    assert index.read()["pubmed:4"] != earlier["pubmed:4"]
    indexed = await answers_in(tmp_path, session_id)
    index.delete()
    assert await answers_in(tmp_path, session_id) == indexed


async def test_what_another_version_derived_is_derived_again(tmp_path: Path) -> None:
    session_id, index = await filled(tmp_path)
    expected = await answers_in(tmp_path, session_id)
    index.write(dict.fromkeys(index.read(), b'[[0, "0.0"]]'))
    assert await answers_in(tmp_path, session_id) == expected
    assert all(b'"0.0"' not in row for row in index.read().values())


DRIVER = """
import shutil, sys
from pathlib import Path
from deepcritical_mcp.evidence import catalogue
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from tests.evidence.stand_ins import Steps, killed_at_each_step, registry_of
from tests.evidence.test_kept_index import LATER

template, folder, session_id = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
CHANGES = {"os.remove", "os.rename", "os.utime", "os.chmod"}
catalogue.KEPT_FROM = 1

async def change(point):
    data_dir, step = folder / f"step-{point}", Steps(point).step
    shutil.copytree(template, data_dir)

    def in_steps(work):
        def call(*arguments, **named):
            step()
            found = work(*arguments, **named)
            step()
            return found
        return call

    for name in ("put", "delete", "record"):
        setattr(SessionFile, name, in_steps(getattr(SessionFile, name)))
    async with registry_of(data_dir) as registry:
        store = await registry.get(session_id)
        sys.addaudithook(lambda event, args: step() if event in CHANGES else None)
        await store.add_evidence([LATER])
        (data_dir / "added").touch()
        await store.remove(["pubmed:12"])
        (data_dir / "removed").touch()
    (data_dir / "closed").touch()

killed_at_each_step(change)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
async def test_a_process_killed_at_any_step_leaves_a_session_that_answers_as_without_an_index(tmp_path: Path) -> None:
    session_id, _ = await filled(tmp_path / "template")
    (tmp_path / "killed").mkdir()
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "template"), str(tmp_path / "killed"), session_id]
    await anyio.to_thread.run_sync(lambda: subprocess.run(command, check=True, cwd=Path(__file__).parents[2]))
    folders = sorted((tmp_path / "killed").iterdir())
    assert len(folders) > 10
    assert any((folder / "closed").exists() for folder in folders)
    for folder in folders:
        bare = tmp_path / "bare"
        shutil.copytree(folder, bare)
        index_in(bare, session_id).delete()
        found = await answers_in(folder, session_id)
        assert found == await answers_in(bare, session_id), folder.name
        assert (LATER.id in found[-2]) >= (folder / "added").exists()
        assert ("pubmed:12" not in found[-2]) >= (folder / "removed").exists()
        shutil.rmtree(bare)
