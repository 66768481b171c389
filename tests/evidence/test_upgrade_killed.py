"""The upgrade of a session of version 0.1, killed at any step: nothing is lost, and the next process finishes it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from tests.evidence.test_upgrade import NOTES, PAPERS, assert_whole, chroma, write

Registries = Callable[[Settings], SessionRegistry]

DRIVER = """
import os, shutil, signal, sys, time, anyio
from pathlib import Path
import chromadb.api.rust, deepcritical_mcp.evidence.storage.in_folder  # once, not in each child
from chromadb import Collection
from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend, upgrade
from tests.evidence.stand_ins import HashingModel

template, folder, session_id, model = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.utime"}
OPENS = {"open", "os.mkdir", "os.chmod", "sqlite3.connect"}
MOMENTS = 8
upgrade.PAGE = 2  # so that it takes many steps

async def open_session(data_dir, point, seconds):
    seen = 0

    def step():
        nonlocal seen
        seen += 1
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def in_steps(work):
        def call(*arguments, **named):
            step()
            work(*arguments, **named)
            step()
        return call

    for name in ("update", "upsert", "delete", "modify"):
        setattr(Collection, name, in_steps(getattr(Collection, name)))
    files = lambda event, args: event in CHANGES or event in OPENS and str(data_dir) in str(args)
    sys.addaudithook(lambda event, args: step() if files(event, args) else None)
    settings = Settings(data_dir=data_dir)
    registry = SessionRegistry(settings, HashingModel(model), open_backend(settings))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    await registry.get(session_id, owner="ada")

def run(name, point, seconds=0.0):
    shutil.copytree(template, folder / name)
    child = os.fork()
    if not child:
        anyio.run(open_session, folder / name, point, seconds)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status):
        sys.exit(1)
    return os.WIFSIGNALED(status)

point = 1
while run(f"step-{point}", point):
    point += 1
began = time.monotonic()
run("whole", 0)
whole = time.monotonic() - began
for moment in range(1, MOMENTS):
    run(f"moment-{moment}", 0, whole * moment / MOMENTS)  # SIGALRM ends it wherever it is, also inside Chroma
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
async def test_an_upgrade_killed_at_any_step_has_lost_nothing_and_is_finished_by_the_next_process(
    registries: Registries, embedder: EmbeddingService, tmp_path: Path
) -> None:
    """Before each of its file operations, before and after each write to Chroma, and at moments in between."""
    session_id = await write(Settings(data_dir=tmp_path / "template"), embedder)
    (tmp_path / "killed").mkdir()
    places = (str(tmp_path / "template"), str(tmp_path / "killed"))
    command = [sys.executable, "-c", DRIVER, *places, session_id, embedder.name]
    await anyio.to_thread.run_sync(lambda: subprocess.run(command, check=True, cwd=Path(__file__).parents[2]))

    folders = sorted((tmp_path / "killed").iterdir())
    assert len([folder for folder in folders if folder.name.startswith("step-")]) > 25
    halves = 0
    for folder in folders:
        settings = Settings(data_dir=folder)
        halves += old_form_is_there(settings, session_id)
        registry = registries(settings)
        await assert_whole(await registry.get(session_id, owner="ada"))
        await registry.aclose()
    assert 10 < halves < len(folders)


def old_form_is_there(settings: Settings, session_id: str) -> bool:
    """Whether what version 0.1 wrote is still there, all of it; if not, all of it must be there in the new form."""
    old, new = set[str](), set[str]()
    with chroma(settings, session_id) as client:
        for collection in client.list_collections():
            kept = collection.get(include=["metadatas"])
            for id, row in zip(kept["ids"], kept["metadatas"], strict=True):
                old |= {id} if row.get("evidence") else set()
                new |= {id} if "publication" in row else set()
    if not old >= set(PAPERS):
        assert len(new) == len(PAPERS) + len(NOTES)
    return old >= set(PAPERS)
