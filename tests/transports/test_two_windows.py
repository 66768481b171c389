"""Two windows of a client on one session: each sees what the other writes, and one that is killed loses nothing."""

import contextlib
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import sessions_in
from tests.transports.test_stdio import ask, greet, server

ROUNDS = int(os.environ.get("DEEPCRITICAL_TEST_ROUNDS", "4"))
AT_ONCE = 12
"""Notes that a window has written before it is killed."""


class Window(threading.Thread):
    """Adds notes to a session, one call after the other, until its process ends or it is told to stop."""

    def __init__(self, process: subprocess.Popen[str], session_id: str, name: str) -> None:
        super().__init__()
        self.process, self.session_id, self.word = process, session_id, name
        self.acknowledged: list[str] = []
        self.refused: list[Any] = []
        self.enough, self.is_over = threading.Event(), False

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # it was killed
            while not self.is_over:
                text = f"Note {len(self.acknowledged)} of {self.word}: zinc heals warts."
                answer = self.call("add_evidence", items=[{"content": text}])
                if answer.get("isError"):
                    self.refused.append(answer)
                    break
                self.acknowledged.append(text)
                if len(self.acknowledged) == AT_ONCE:
                    self.enough.set()
        self.enough.set()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": {**arguments, "session_id": self.session_id}}
        return ask(self.process, {"id": 7, "method": "tools/call", "params": params})["result"]


async def contents(folder: Path, session_id: str) -> set[str]:
    async with sessions_in(folder) as sessions:
        store = await sessions.get(session_id)
        assert not any("damaged" in warning for warning in store.warnings())
        return {item.content for item in await store.page(0, 100_000)}


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="a killed process frees its locks later there")
async def test_of_two_windows_that_write_one_session_one_can_be_killed_again_and_again(tmp_path: Path) -> None:
    environment = {"DEEPCRITICAL_DATA_DIR": str(tmp_path / "data"), "DEEPCRITICAL_DEADLINE": "300"}
    chance = random.Random(1)
    acknowledged: list[str] = []
    (tmp_path / "other").mkdir()
    with server(tmp_path, **environment) as survivor:
        greet(survivor)
        first = Window(survivor, "new", "the first")
        opened = first.call("add_evidence", items=[{"content": "The first note."}])["structuredContent"]
        first.session_id = opened["session_id"]
        first.start()
        for number in range(ROUNDS):
            with server(tmp_path / "other", **environment) as killed:
                greet(killed)
                second = Window(killed, first.session_id, f"round {number}")
                second.start()
                assert second.enough.wait(120)
                threading.Event().wait(chance.random() / 20)  # anywhere within a call
                killed.kill()
                second.join()
            assert second.refused == []
            acknowledged += second.acknowledged
        first.is_over = True
        first.join()
        assert first.refused == []
        listed = first.call("list_evidence")
        assert listed["structuredContent"]["total"] >= 1 + len(acknowledged) + len(first.acknowledged)
        found = await contents(tmp_path / "data", first.session_id)
        assert {*acknowledged, *first.acknowledged} <= found
        assert len(found) <= 1 + len(acknowledged) + len(first.acknowledged) + ROUNDS
    assert len(acknowledged) >= ROUNDS * AT_ONCE
