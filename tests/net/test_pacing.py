"""Request starts are spaced, in one process and over several."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Literal

import anyio
import anyio.from_thread
import anyio.to_thread
import httpx
import pytest
from filelock import FileLock

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError, ProviderUnavailableError
from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.net.fair_queue import turn_of
from deepcritical_mcp.net.pacing import FilePlace, MemoryPlace, Pacing, Place, RedisPlace, Step, shared_pacing
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.pubmed.source import PubMed
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.brave import BraveTool
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.sources.web.tavily import TavilyTool
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources import wire
from tests.sources.ncbi import KEY, ncbi

ROOT = Path(__file__).parents[2]
A_MINUTE = 60_000_000


@pytest.fixture(autouse=True)
def temporary_files_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


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


@pytest.mark.parametrize(
    ("key", "most", "usable"),
    [("", 3, True), (KEY, 10, True), (KEY, 10, False)],
    ids=["without a key", "with a key", "without a usable cache folder"],
)
async def test_three_processes_with_eight_calls_each_never_ask_too_often(
    key: str, most: int, usable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
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


async def test_the_next_request_of_a_call_goes_before_the_first_ones_of_others():
    limiter = Pacing(0.02)
    went: list[str] = []
    before = 0

    async def send(step: Literal["first", "next"]) -> None:
        await limiter.acquire(step)
        went.append(step)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(send, "first")
        await anyio.wait_all_tasks_blocked()
        before = len(went)
        tasks.start_soon(send, "next")
    assert went.index("next") - before <= 2
    assert went.count("first") == 20


async def test_a_call_of_two_requests_waits_twice_as_long_as_its_place_in_the_line():
    limiter = Pacing(10, steps=2)
    await limiter.acquire()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(limiter.acquire)
        await anyio.wait_all_tasks_blocked()
        assert limiter.expected_wait() == 60
        assert limiter.expected_wait("next") == 0
        tasks.cancel_scope.cancel()
    assert limiter.expected_wait() == 0


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


async def test_a_call_cancelled_while_it_takes_its_moment_gives_it_back():
    place, taking = SlowPlace(), anyio.Event()
    limiter = Pacing(3_600, [place])
    place.changing = lambda: anyio.from_thread.run_sync(taking.set)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.acquire)
        await taking.wait()
        tasks.cancel_scope.cancel()
        place.go_on.set()
    with anyio.fail_after(10):
        await limiter.acquire()


class SlowPlace(MemoryPlace):
    """The first change waits for `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.changing: Callable[[], None] = lambda: None

    def change(self, step: Step) -> None:
        if not self.go_on.is_set():
            self.changing()
            self.go_on.wait(10)
        super().change(step)


async def test_a_request_that_leaves_late_moves_the_next_one():
    place = MemoryPlace()
    limiter = Pacing(3_600, [place])
    await limiter.acquire()
    planned = next_moment(place)
    begun = time.monotonic()
    while time.monotonic() - begun < 0.02:
        pass
    await limiter.sent()
    assert next_moment(place) - planned >= 20_000


async def test_a_moment_that_has_passed_is_replaced_before_sending(monkeypatch: pytest.MonkeyPatch):
    place = MemoryPlace()
    limiter = Pacing(3_600, [place])
    await limiter.acquire()
    await limiter.confirm()  # in time: keeps the moment
    place.change(lambda now, free: 0)
    a_second_later = time.monotonic() + 1
    monkeypatch.setattr(time, "monotonic", lambda: a_second_later)
    await limiter.confirm()
    assert next_moment(place) > time.monotonic_ns() // 1_000


async def test_a_moment_lost_while_connecting_is_replaced_by_this_one_if_nobody_took_one(
    monkeypatch: pytest.MonkeyPatch,
):
    place = MemoryPlace()
    limiter = Pacing(3_600, [place])
    await limiter.acquire()
    planned = next_moment(place)
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + 1)
    with anyio.fail_after(10):
        await limiter.confirm()
    assert next_moment(place) > planned
    place.change(lambda now, free: free + 1)  # another process took a moment
    monkeypatch.setattr(time, "monotonic", lambda: now() + 2)
    confirmed = False

    async def confirm() -> None:
        nonlocal confirmed
        await limiter.confirm()
        confirmed = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(confirm)
        await anyio.sleep(0.05)
        tasks.cancel_scope.cancel()
    assert not confirmed


async def test_a_request_that_lost_its_moment_goes_before_those_that_still_have_to_connect():
    limiter = Pacing(0.02)
    went: list[str] = []
    before = 0

    async def send(name: str, take: Callable[[], Awaitable[None]]) -> None:
        await take()
        went.append(name)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(send, "first", limiter.acquire)
        await anyio.wait_all_tasks_blocked()
        before = len(went)
        for _ in range(3):
            tasks.start_soon(send, "connected", limiter.confirm)
    assert [n for n, name in enumerate(went) if name == "connected"][-1] - before <= 3
    assert went.count("first") == 20


async def test_others_have_the_moment_of_a_request_that_opens_a_connection():
    place = MemoryPlace()
    limiter = Pacing(3_600, [place])
    await limiter.acquire()
    await limiter.connect()
    assert is_free(place)
    place.change(lambda now, free: 0)
    await limiter.confirm()
    assert not is_free(place)


async def test_as_many_requests_open_connections_as_start_until_the_first_one_is_free_again():
    limiter, connecting = Pacing(0.25), 0

    async def send(done: anyio.Event) -> None:
        nonlocal connecting
        await limiter.acquire()
        await limiter.connect()
        connecting += 1
        await done.wait()
        limiter.release()
        limiter.release()  # in vain: it has been let go

    events = [anyio.Event() for _ in range(4)]
    async with anyio.create_task_group() as tasks:
        for event in events:
            tasks.start_soon(send, event)
        while connecting < 2:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        await anyio.sleep(0.05)
        assert connecting == 2
        events[0].set()
        while connecting < 3:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        for event in events:
            event.set()
    assert connecting == 4


async def test_connections_that_fail_hold_up_nobody():
    with socket.create_server(("127.0.0.1", 0)) as refusing:
        address = f"http://127.0.0.1:{refusing.getsockname()[1]}"
    async with httpx.AsyncClient(trust_env=False) as http:
        retry = RetryPolicy(attempts=1)
        client = ApiClient(http, provider="p", title="P", retry=retry, limiter=Pacing(0.6))
        for _ in range(3):
            with anyio.fail_after(10), pytest.raises(ProviderUnavailableError):
                await client.request("GET", address, lambda response: response)


@pytest.mark.parametrize(("free", "following"), [(990_000, 1_190_000), (900_000, 1_200_000), (0, 1_200_000)])
async def test_a_request_that_starts_a_little_late_does_not_delay_those_that_follow(free: int, following: int):
    place = StoppedPlace(free)
    await Pacing(0.2, [place]).acquire()
    assert place.state == following


class StoppedPlace:
    """A place where it is always one second past midnight."""

    name = "stopped"

    def __init__(self, state: int) -> None:
        self.state = state

    def change(self, step: Step) -> None:
        self.state = step(1_000_000, self.state)


async def test_a_redirect_takes_a_moment_of_its_own():
    place = MemoryPlace()
    limiter = Pacing(3_600, [place])
    await limiter.acquire()
    await limiter.sent()
    place.change(lambda now, free: 0)
    await limiter.confirm()
    assert next_moment(place) > 0


def next_moment(place: Place) -> int:
    seen: list[int] = []

    def read(_: int, free: int) -> int:
        seen.append(free)
        return free

    place.change(read)
    return seen[0]


async def test_forty_cancelled_calls_take_no_moment_from_the_next_one():
    limiter = Pacing(0.5)
    await limiter.acquire()
    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(limiter.acquire)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    with anyio.fail_after(10):  # moments for all of them would take 20 seconds
        await limiter.acquire()


async def test_without_spacing_no_call_waits():
    limiter = Pacing(0)
    with anyio.fail_after(10):
        for _ in range(1_000):
            await limiter.acquire()


@pytest.mark.parametrize(
    ("tool", "answer", "delay", "rate"),
    [
        (BraveTool, wire.brave, 0.1, {"brave_per_second": 1_000}),
        (BraveTool, wire.brave, 0.001, {"brave_per_second": 10}),
        (TavilyTool, wire.tavily, 0.001, {"tavily_per_minute": 600}),
    ],
    ids=["the delay", "a rate per second", "a rate per minute"],
)
async def test_the_slower_of_delay_and_rate_spaces_a_web_provider(
    tool: type[WebTool], answer: Callable[[], Answer], delay: float, rate: dict[str, float], tmp_path: Path
):
    async with stand_in(answer()) as provider, httpx.AsyncClient() as http:
        urls = {"brave_base_url": provider.url, "tavily_base_url": provider.url}
        keys = {"BRAVE_API_KEY": "key-of-the-test", "TAVILY_API_KEY": "key-of-the-test"}
        settings = Settings.model_validate({**urls, **keys, **rate, "web_delay": delay})
        made = tool.create(settings.of(WebSettings), Net(http))
        begun = time.monotonic()
        for _ in range(6):
            await made.ask("metformin", 1, WebOptions())
    assert len(provider.asked) == 6
    assert time.monotonic() - begun >= 0.49


def test_memory_keeps_its_pace_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch):
    place = MemoryPlace()
    assert is_free(place)
    a_minute_later = time.monotonic_ns() + 61 * 10**9
    monkeypatch.setattr(time, "monotonic_ns", lambda: a_minute_later)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert is_free(place)


def test_two_processes_on_one_file_see_each_other(tmp_path: Path):
    one, other = FilePlace(tmp_path / "line"), FilePlace(tmp_path / "line")
    assert is_free(one)
    assert not is_free(one)
    assert not is_free(other)


@pytest.mark.parametrize("written", ["", "junk", "1 2 3", "9" * 20], ids=["nothing", "junk", "more", "the far future"])
async def test_an_impossible_state_counts_as_a_free_line(written: str, tmp_path: Path):
    (tmp_path / "line.state").write_text(written)
    with anyio.fail_after(10):
        await Pacing(0.01, [FilePlace(tmp_path / "line")]).acquire()
    assert (tmp_path / "line.state").read_text() != written


@pytest.mark.parametrize("hours", [25, -1])
async def test_a_clock_that_jumps_neither_stops_the_requests_nor_lets_two_go_together(
    hours: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spacing, right, state = 0.05, time.time_ns, tmp_path / "line.state"
    processes = [Pacing(spacing, [FilePlace(tmp_path / "line")]) for _ in range(2)]
    with anyio.fail_after(10):
        for jump in (0, hours * 3_600 * 10**9, 0):
            monkeypatch.setattr(time, "time_ns", lambda jump=jump: right() + jump)
            next_free: list[int] = []
            for process in processes:
                await process.acquire()
                next_free.append(int(state.read_text()))
            assert next_free[1] - next_free[0] >= spacing * 1e6
            assert abs(next_free[1] * 1_000 - time.time_ns()) < A_MINUTE * 1_000


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


def test_a_lock_that_came_free_while_the_machine_stood_still_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    holder = FileLock(tmp_path / "line.lock", thread_local=False)
    holder.acquire()
    clock = itertools.count(time.perf_counter(), 60)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))

    def stand_still(seconds: float) -> None:
        holder.release()

    monkeypatch.setattr(time, "sleep", stand_still)
    assert is_free(FilePlace(tmp_path / "line", lock_timeout=0.01))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The places that could not be used, as logged."""
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    return [str(record.args[0]) for record in warned if isinstance(record.args, tuple)]


async def ask_pubmed(url: str, folder: Path, key: str = "") -> None:
    """One request by a process that has these settings."""
    settings = Settings.model_validate({"ncbi_base_url": url, "cache_dir": folder, "NCBI_API_KEY": key})
    async with httpx.AsyncClient() as http:
        await PubMed.create(settings, Net(http)).ask("zinc", PubMedRequest(query="zinc"), offset=0, limit=1)


async def test_a_place_that_cannot_be_used_is_replaced_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").write_text("in the way")
    limiter = shared_pacing(0.01, name="x", identity="y", folder=tmp_path / "file")
    await limiter.acquire()
    await limiter.acquire()
    assert warnings(caplog) == ["file"]


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
    limiter = Pacing(0.01, [FilePlace(tmp_path / "line")])
    with anyio.fail_after(10):
        await limiter.acquire()
    assert warnings(caplog) == ["file"]


async def test_processes_without_a_usable_cache_folder_still_see_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("in the way")
    for _ in range(2):  # as two processes would
        limiter = shared_pacing(3_600, name="x", identity="y", folder=tmp_path / "file")
        with anyio.move_on_after(1):
            await limiter.acquire()
    states = list((tmp_path / "temporary").glob("*/*.state"))
    assert len(states) == 1
    assert states[0].parent.stat().st_mode & 0o777 == 0o700
    assert not is_free(FilePlace(states[0]))
    assert warnings(caplog) == ["file", "file"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX owners")
async def test_a_temporary_folder_of_another_user_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "temporary" / f"deepcritical-mcp-{os.getuid()}").symlink_to(tmp_path)
    with anyio.fail_after(10):
        await shared_pacing(0.01, name="x", identity="y", folder=tmp_path / "file").acquire()
    assert warnings(caplog) == ["file", "temporary file"]


async def test_a_process_that_cannot_see_the_others_asks_more_slowly_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "line.state").mkdir()
    limiter = Pacing(0.05, [FilePlace(tmp_path / "line")])
    begun = time.monotonic()
    for _ in range(3):
        await limiter.acquire()
    assert time.monotonic() - begun >= 2 * 4 * 0.05
    assert "using memory instead, 4 times slower" in caplog.text


async def test_a_file_system_without_locks_is_replaced_by_the_next_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    class WithoutLocks(FilePlace):
        def change(self, step: Step) -> None:
            raise NotImplementedError

    await Pacing(0.01, [WithoutLocks(tmp_path)]).acquire()
    assert warnings(caplog) == ["file"]


async def test_a_lock_that_is_never_released_is_replaced_too(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    places = [FilePlace(tmp_path / "line", lock_timeout=0.01)]
    with FileLock(tmp_path / "line.lock"):
        await Pacing(0.01, places).acquire()
    assert warnings(caplog) == ["file"]


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


async def test_each_key_and_each_address_has_a_line_of_its_own(tmp_path: Path):
    async with ncbi() as one, ncbi() as other:
        for played in (one, other):
            for key in ("", KEY):
                await ask_pubmed(played.url, tmp_path, key)
    names = states_in(tmp_path)
    assert len(names) == 4
    assert not any(KEY in name or "127.0.0.1" in name for name in names)


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
async def test_a_redis_spaces_the_requests_of_several_machines(tmp_path: Path, caplog: pytest.LogCaptureFixture):
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
        one, other = RedisPlace(url, "line"), RedisPlace(url, "line")
        assert is_free(one)
        assert not is_free(other)
        limiter = shared_pacing(0.01, name="x", identity="y", folder=tmp_path, redis_url=url)
        await limiter.acquire()
        assert warnings(caplog) == []
        assert states_in(tmp_path) == []
    await limiter.acquire()
    assert warnings(caplog) == ["redis"]
    assert len(states_in(tmp_path)) == 1
    with pytest.raises(ConnectionError):
        is_free(one)


def test_an_address_that_is_not_a_redis_is_named():
    pytest.importorskip("redis")
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
