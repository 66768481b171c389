"""The limiter, in one process and over several."""

from __future__ import annotations

import shutil
import socket
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import anyio
import anyio.to_thread
import pytest
from filelock import FileLock
from pyrate_limiter import GCRA, Rate
from pyrate_limiter.abstracts.algorithm import Decision
from pyrate_limiter.abstracts.store import StateStore
from pyrate_limiter.buckets.state_bucket import InMemoryStateStore
from structlog.testing import capture_logs

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.net.pacing_stores import FileStateStore, SharedRedisStateStore
from deepcritical_mcp.net.shared_pacing import Place, SpacedRequests, ncbi_limiter
from tests.net.stand_in import Answer, Asked
from tests.sources.ncbi import KEY, ncbi

ROOT = Path(__file__).parents[2]
RATES = [Rate(1, 60_000, burst=1)]


def states_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.state")]


def is_free(store: StateStore) -> bool:
    """Take the moment now, if nobody has taken one within a minute."""
    decision = store.check(GCRA(), RATES, time.time_ns() // 1_000_000, 1)
    assert isinstance(decision, Decision)
    return decision.allowed


@pytest.mark.parametrize(("key", "most"), [("", 3), (KEY, 10)], ids=["without a key", "with a key"])
async def test_three_processes_with_eight_calls_each_never_ask_too_often(key: str, most: int, tmp_path: Path):
    moments: list[float] = []
    async with ncbi() as played:

        def counted(asked: Asked) -> Answer:
            moments.append(time.monotonic())
            return played.answer(asked)

        played.server.answer = counted
        worker = ["-m", "tests.net.pacing_worker", played.url, str(tmp_path), key]
        with running(*([sys.executable, *worker, name] for name in "abc")) as workers:
            for process in workers:
                assert await anyio.to_thread.run_sync(process.wait) == 0
    assert len(moments) == 24
    assert max(sum(start <= moment < start + 1 for moment in moments) for start in moments) <= most


async def test_calls_go_in_the_order_of_asking(tmp_path: Path):
    limiter = SpacedRequests(0.02, [Place("file", lambda: FileStateStore(tmp_path / "line"))])
    went: list[int] = []

    async def call(number: int) -> None:
        await limiter.acquire()
        went.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(call, number)
    assert went == [0, 1, 2, 3, 4, 5]


async def test_a_cancelled_call_leaves_the_line_to_the_others():
    store = InMemoryStateStore()
    limiter = SpacedRequests(3_600, [Place("memory", lambda: store)])
    await limiter.acquire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.acquire)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    store.reset()
    with anyio.fail_after(10):
        await limiter.acquire()


def test_two_processes_on_one_file_see_each_other(tmp_path: Path):
    one, other = FileStateStore(tmp_path / "line"), FileStateStore(tmp_path / "line")
    assert is_free(one)
    assert not is_free(one)
    assert not is_free(other)
    other.reset()
    assert is_free(one)


@pytest.mark.parametrize("written", ["", "junk", "1 2 3", "9" * 20], ids=["nothing", "junk", "more", "the far future"])
def test_what_cannot_be_is_taken_for_a_free_line(written: str, tmp_path: Path):
    (tmp_path / "line.state").write_text(written)
    assert is_free(FileStateStore(tmp_path / "line"))


def test_a_process_that_dies_with_the_lock_holds_up_nobody(tmp_path: Path):
    hold = (
        "import sys, filelock as f; lock = f.FileLock(sys.argv[1]); lock.acquire(); print('held', flush=True); input()"
    )
    with running([sys.executable, "-u", "-c", hold, str(tmp_path / "line.lock")]) as (holder,):
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(TimeoutError):
            is_free(FileStateStore(tmp_path / "line", lock_timeout=0.01))
    assert is_free(FileStateStore(tmp_path / "line"))


async def test_a_place_that_cannot_be_used_is_replaced_with_a_warning(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    settings = Settings(cache_dir=tmp_path / "file")
    limiter = ncbi_limiter(settings)
    with capture_logs() as logs:
        await limiter.acquire()
        await limiter.acquire()
    assert [(line["log_level"], line["place"]) for line in logs] == [("warning", "file")]


async def test_a_lock_that_is_never_let_go_is_replaced_too(tmp_path: Path):
    places = [
        Place("file", lambda: FileStateStore(tmp_path / "line", lock_timeout=0.01)),
        Place("memory", InMemoryStateStore),
    ]
    with FileLock(tmp_path / "line.lock"), capture_logs() as logs:
        await SpacedRequests(0.01, places).acquire()
    assert [line["place"] for line in logs] == ["file"]


async def test_each_key_and_each_address_has_a_line_of_its_own(tmp_path: Path):
    urls = ["http://127.0.0.1:1/entrez/eutils", "http://127.0.0.1:2/entrez/eutils"]
    for url in urls:
        for key in ("", KEY):
            settings = Settings.model_validate({"ncbi_base_url": url, "cache_dir": tmp_path, "NCBI_API_KEY": key})
            await ncbi_limiter(settings).acquire()
    names = states_in(tmp_path)
    assert len(names) == 4
    assert not any(KEY in name or "127.0.0.1" in name for name in names)


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
async def test_a_redis_spaces_the_requests_of_several_machines(tmp_path: Path):
    pytest.importorskip("redis")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"redis://127.0.0.1:{port}/0"
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    with running(command) as (server,):
        assert server.stdout is not None
        for line in server.stdout:
            if b"Ready to accept connections" in line:
                break
        one, other = SharedRedisStateStore(url, "line"), SharedRedisStateStore(url, "line")
        assert is_free(one)
        assert not is_free(other)
        limiter = ncbi_limiter(Settings(cache_dir=tmp_path, redis_url=url))
        with capture_logs() as logs:
            await limiter.acquire()
        assert logs == []
    with capture_logs() as logs:
        await limiter.acquire()
    assert [line["place"] for line in logs] == ["redis"]
    with pytest.raises(ConnectionError):
        is_free(one)


def test_an_address_that_is_no_redis_is_named():
    pytest.importorskip("redis")
    with pytest.raises(ConfigurationError, match="DEEPCRITICAL_REDIS_URL"):
        SharedRedisStateStore("http://127.0.0.1:1", "line")


@contextmanager
def running(*commands: Sequence[str]) -> Generator[list[Popen[bytes]]]:
    """Processes that end when the block is left."""
    started = [Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) for command in commands]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()
