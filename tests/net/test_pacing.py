"""Request starts are spaced, in one process and over several."""

import logging
import os
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import anyio
import anyio.to_thread
import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.net.pacing import FilePlace, MemoryPlace, Pacing, Place, RedisPlace, shared_pacing, turn_of
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.pubmed.source import PubMed
from tests.net.stand_in import Answer, Asked
from tests.sources.ncbi import KEY, ncbi
from tests.transports.processes import redis

ROOT = Path(__file__).parents[2]
A_MINUTE = 60_000_000


def states_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.state")]


def is_free(place: Place) -> bool:
    """Take this moment, if none was taken within a minute."""
    was_free = False

    def take(now: int, free: int) -> int:
        nonlocal was_free
        was_free = free <= now
        return now + A_MINUTE if was_free else free

    place.change(take)
    return was_free


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "most", "usable"),
    [("", 3, True), (KEY, 10, True), (KEY, 10, False)],
    ids=["without a key", "with a key", "without a usable cache folder"],
)
async def test_three_processes_with_eight_calls_each_never_ask_too_often(
    key: str, most: int, usable: bool, tmp_path: Path
):
    folder = tmp_path / "cache"
    if not usable:
        folder.write_text("in the way")
    moments: list[float] = []
    async with ncbi() as played:

        def counted(asked: Asked) -> Answer:
            moments.append(time.monotonic())
            return played.answer(asked)

        played.server.answer = counted
        worker = ["-m", "tests.net.pacing_worker", played.url, str(folder), key]
        with running(*([sys.executable, *worker, name] for name in "abc")) as workers:
            for process in workers:
                assert await anyio.to_thread.run_sync(process.wait) == 0
    assert len(moments) == 24
    assert max(sum(start <= moment < start + 1 for moment in moments) for start in moments) <= most


async def test_calls_go_in_the_order_of_asking(tmp_path: Path):
    limiter = Pacing(0.02, [FilePlace(tmp_path / "line")])
    went: list[int] = []

    async def call(number: int) -> None:
        await limiter.acquire()
        went.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(call, number)
    assert went == [0, 1, 2, 3, 4, 5]


async def test_a_caller_with_many_calls_delays_another_by_one():
    limiter = Pacing(0.02)
    went: list[str] = []
    before = 0

    async def call(caller: str) -> None:
        turn_of.set(caller)
        await limiter.acquire()
        went.append(caller)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(call, "greedy")
        await anyio.wait_all_tasks_blocked()
        before = len(went)
        tasks.start_soon(call, "modest")
    assert went.index("modest") - before <= 2
    assert went.count("greedy") == 20


async def test_a_cancelled_call_leaves_the_line_to_the_others():
    place = MemoryPlace()
    limiter = Pacing(3_600, [place])
    await limiter.acquire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.acquire)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    place.change(lambda now, free: 0)
    with anyio.fail_after(10):
        await limiter.acquire()


def test_a_process_that_dies_with_the_lock_delays_no_other(tmp_path: Path):
    hold = (
        "import sys, filelock as f; lock = f.FileLock(sys.argv[1]); lock.acquire(); print('held', flush=True); input()"
    )
    with running([sys.executable, "-u", "-c", hold, str(tmp_path / "line.lock")]) as (holder,):
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(TimeoutError):
            is_free(FilePlace(tmp_path / "line", lock_timeout=0.01))
    assert is_free(FilePlace(tmp_path / "line"))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The places that could not be used, as logged."""
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    return [str(record.args[0]) for record in warned if isinstance(record.args, tuple)]


@pytest.mark.parametrize("broken", ["not text", "folder", "pipe"])
async def test_a_state_file_that_cannot_be_read_is_replaced_by_the_next_place(
    broken: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    state = tmp_path / "line.state"
    if broken == "not text":
        state.write_bytes(b"\xff\xfe1")
    elif broken == "folder":
        state.mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(state)
    else:
        pytest.skip("no pipes in files here")
    limiter, begun = Pacing(0.05, [FilePlace(tmp_path / "line")]), time.monotonic()
    with anyio.fail_after(10):
        for _ in range(3):
            await limiter.acquire()
    assert warnings(caplog) == ["file"]
    assert "using memory instead, 4 times slower" in caplog.text  # it cannot see the other processes
    assert time.monotonic() - begun >= 2 * 4 * 0.05


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_the_state_is_the_user_s_alone_whatever_the_umask(tmp_path: Path):
    earlier = os.umask(0)
    try:
        FilePlace(tmp_path / "new" / "deep" / "ncbi").change(lambda now, _: now + 1)
    finally:
        os.umask(earlier)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "new").rglob("*")}
    assert modes == {"deep": "0o700", "ncbi.state": "0o600", "ncbi.lock": "0o600"}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


async def test_a_redis_spaces_the_requests_of_several_machines(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    pytest.importorskip("redis")
    with redis(tmp_path) as url:
        one, other = RedisPlace(url, "line"), RedisPlace(url, "line")
        assert is_free(one)
        assert not is_free(other)
        limiter = shared_pacing(Settings(cache_dir=tmp_path, redis_url=url), 0.01, name="x", identity="y")
        await limiter.acquire()
        assert warnings(caplog) == []
        assert states_in(tmp_path) == []
    await limiter.acquire()
    assert warnings(caplog) == ["redis"]
    assert len(states_in(tmp_path)) == 1
    with pytest.raises(ConnectionError):
        is_free(one)
    with pytest.raises(ConfigurationError, match="DEEPCRITICAL_REDIS_URL"):
        is_free(RedisPlace("http://127.0.0.1:1", "line"))


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


async def test_each_key_and_each_address_has_a_line_of_its_own(tmp_path: Path):
    async with ncbi() as one, ncbi() as other, httpx.AsyncClient() as http:
        for played in (one, other):
            for key in ("", KEY):
                given = {"ncbi_base_url": played.url, "cache_dir": tmp_path, "NCBI_API_KEY": key}
                source = PubMed.create(Settings.model_validate(given), Net(http))
                await source.ask("zinc", PubMedRequest(query="zinc"), offset=0, limit=1)
    names = states_in(tmp_path)
    assert len(names) == 4
    assert not any(KEY in name or "127.0.0.1" in name for name in names)
