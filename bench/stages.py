"""Where the CPU time of one call goes: `pubmed_search`, `semantic_search` and `add_evidence` of 100 items, by stage.

    python bench/stages.py [--rounds 5]

A server over HTTP in this process, the stand-in for NCBI in another one; the client's own thread is subtracted. The
functions that open each stage are timed in their threads, without what they call of another stage; what remains of the
process's CPU time is the event loop's, the sockets' and the garbage collector's. The texts of `add_evidence` are new in
each round, as is the query of `semantic_search`, whose session holds what was added; each round uses a new session.
With the milliseconds of one call, which are not comparable between machines, comes each stage's share, which is.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import inspect
import multiprocessing
import os
import pkgutil
import random
import statistics
import tempfile
import threading
import time
import types
from collections import defaultdict
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import anyio
import httpx

from crowd import Server, StandIn, call, connect
from load import HEADERS
from mixed import notes, words

OURS = "deepcritical_mcp."
STAGES: dict[str, tuple[str, ...]] = {
    "HTTP and SDK": (
        "uvicorn.protocols.http.h11_impl:H11Protocol.data_received",
        "uvicorn.protocols.http.h11_impl:RequestResponseCycle.run_asgi",
        "mcp.shared.jsonrpc_dispatcher:JSONRPCDispatcher._handle_request",
        "mcp.server.streamable_http:StreamableHTTPServerTransport._run_sse_writer",
        "sse_starlette.sse:EventSourceResponse._stream_response",
        "sse_starlette.sse:EventSourceResponse._listen_for_disconnect",
    ),
    "our middleware": (
        f"{OURS}transports.http.security:HostAndOriginCheck.__call__",
        f"{OURS}transports.http.application:BodyLimits._read_body",
        f"{OURS}transports.http.calls:CallControl._report",
    ),
    "arguments": (
        f"{OURS}server:read_arguments",
        "mcp.server.mcpserver.utilities.func_metadata:FuncMetadata.validate_arguments",
    ),
    "the tool's own steps": ("mcp.server.mcpserver.utilities.func_metadata:FuncMetadata.call_fn",),
    "requests and their pace": (f"{OURS}net.client:ApiClient.run", f"{OURS}net.pacing:Pacing._change"),
    "parsing": (
        f"{OURS}sources.pubmed.source:_read_complete",
        f"{OURS}sources.pubmed.eutils:read_esearch",
    ),
    "identity, merging": (
        f"{OURS}evidence.store:identified",
        f"{OURS}evidence.adding:Batch.add",
        f"{OURS}evidence.adding:Decision.outcome",
    ),
    "passages": (f"{OURS}evidence.session_access:_texts",),
    "model": (f"{OURS}evidence.embedding.service:OnnxModel.embed",),
    "turns and cache of the model": (
        f"{OURS}evidence.embedding.service:EmbeddingService._vectors",
        f"{OURS}evidence.embedding.service:EmbeddingService._find",
    ),
    "storage": tuple(
        f"{OURS}evidence.storage.{place}.{name}"
        for place, names in (
            ("backend:Space", ("write", "remove", "nearest", "vectors", "read")),
            ("vector_table:CollectionIndex", ("_work",)),
        )
        for name in names
    ),
    "words index": (
        f"{OURS}evidence.text_index:words_of",
        f"{OURS}evidence.text_index:LexicalIndex.add",
        f"{OURS}evidence.text_index:LexicalIndex.score",
    ),
    "ranking": (f"{OURS}evidence.searching:Search.best",),
    "passages shown": (f"{OURS}evidence.store:shortened", f"{OURS}evidence.paper_passages:_indexed"),
    "render": (f"{OURS}server:DeepCriticalServer._success",),
    "serialize": (
        "pydantic.main:BaseModel.model_dump",
        "pydantic.main:BaseModel.model_dump_json",
        "pydantic.type_adapter:TypeAdapter.dump_python",
        "pydantic.type_adapter:TypeAdapter.validate_python",
    ),
}
"""The functions that open a stage; those that call others of their own stage need not name them."""
THREADS = "Chroma's own threads"
REST = "event loop, threads, rest"
WAIT = "waiting (wall time)"


class Clock:
    """CPU seconds by stage, of all threads, each stage without those that it calls."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open = threading.local()

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        stack: list[float] = self._open.__dict__.setdefault("stack", [])
        began = time.thread_time()
        stack.append(0.0)
        try:
            yield
        finally:
            spent = time.thread_time() - began
            self.seconds[name] += spent - stack.pop()
            if stack:
                stack[-1] += spent

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """`work`, which counts for that stage; a coroutine by its steps, since others run between them."""
        if inspect.iscoroutinefunction(work):

            @functools.wraps(work)
            async def steps(*values: Any, **options: Any) -> Any:
                return await self._stepped(name, work(*values, **options))

            return steps

        @functools.wraps(work)
        def whole(*values: Any, **options: Any) -> Any:
            with self.stage(name):
                return work(*values, **options)

        return whole

    @types.coroutine
    def _stepped(self, name: str, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        resume: Callable[[], Any] = functools.partial(work.send, None)
        while True:
            try:
                with self.stage(name):
                    awaited = resume()
            except StopIteration as end:
                return end.value
            try:
                resume = functools.partial(work.send, (yield awaited))
            except BaseException as error:  # what the event loop throws into the task
                resume = functools.partial(work.throw, error)


def watch(clock: Clock) -> None:
    """Time every function of `STAGES`; says which do not exist (any more)."""
    for name, places in STAGES.items():
        for place in places:
            module, _, path = place.partition(":")
            *owners, last = path.split(".")
            try:
                owner = pkgutil.resolve_name(f"{module}:{'.'.join(owners)}" if owners else module)
                work = inspect.getattr_static(owner, last)
            except (AttributeError, ImportError):
                print(f"there is no {place}: its time counts for what calls it")
                continue
            setattr(owner, last, clock.timed(name, work))


class Caller:
    """A client in a thread of its own, which knows what it costs itself."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url, self._clock = url, clock
        self.rows: defaultdict[str, list[dict[str, float]]] = defaultdict(list)

    async def rounds(self, count: int) -> None:
        async with httpx.AsyncClient(base_url=self._url, headers=HEADERS, trust_env=False, timeout=120) as http:
            for number in range(-1, count):  # the first one warms up
                chance, headers = random.Random(number), await connect(http)
                added: dict[str, Any] = {"session_id": "new", "items": notes(chance, 100)}
                for tool, given in (
                    ("add_evidence", added),
                    ("semantic_search", {"query": words(chance, 10)}),
                    ("pubmed_search", {"query": words(chance, 3), "session_id": "new"}),
                ):
                    row = await self._measured(http, headers, tool, given)
                    if number >= 0:
                        self.rows[tool].append(row)

    async def _measured(
        self, http: httpx.AsyncClient, headers: dict[str, str], tool: str, given: dict[str, Any]
    ) -> dict[str, float]:
        await anyio.sleep(0.5)  # until nothing of the call before is left to do
        self._clock.seconds.clear()
        wall, process, own, theirs = time.perf_counter(), time.process_time(), time.thread_time(), of_chromas_threads()
        said = await call(http, headers, tool, given)
        wall = time.perf_counter() - wall
        await anyio.sleep(0.2)
        total = time.process_time() - process - (time.thread_time() - own)
        assert said == "ok", said
        row = {**self._clock.seconds, THREADS: of_chromas_threads() - theirs}
        return {**row, REST: total - sum(row.values()), "total": total, WAIT: wall}


def of_chromas_threads() -> float:
    """CPU seconds of the threads that Chroma's Rust code runs itself; 0.0 where the system does not tell."""
    seconds = 0.0
    for task in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(OSError):  # it has just ended
            if (task / "comm").read_text().startswith(("tokio", "sqlx")):
                seconds += int((task / "schedstat").read_text().split()[0]) / 1e9
    return seconds


def stand_in(pipe: Connection) -> None:
    server = Server(("127.0.0.1", 0), StandIn)
    pipe.send(server.server_address[1])
    server.serve_forever()


def table(rows: dict[str, list[dict[str, float]]]) -> None:
    tools = list(rows)
    middle = {tool: {stage: statistics.median(row.get(stage, 0.0) for row in rows[tool])
                     for stage in (*STAGES, THREADS, REST, "total", WAIT)} for tool in tools}  # fmt: skip
    print(f"\n| CPU ms | {' | '.join(f'{tool} | %' for tool in tools)} |\n|---|{'---|---|' * len(tools)}")
    for stage in (*STAGES, THREADS, REST, "total"):
        cells = (f"{middle[t][stage] * 1000:.1f} | {100 * middle[t][stage] / middle[t]['total']:.0f}" for t in tools)
        print(f"| {stage} | {' | '.join(cells)} |")
    print(f"| {WAIT} | {' | '.join(f'{middle[tool][WAIT] * 1000:.0f} | ' for tool in tools)} |")


async def measure(address: str, rounds: int) -> None:
    from deepcritical_mcp.config import Settings
    from deepcritical_mcp.context import AppContext
    from deepcritical_mcp.server import DeepCriticalServer
    from deepcritical_mcp.transports.http.application import HttpApplication
    from deepcritical_mcp.transports.http.calls import CallControl
    from deepcritical_mcp.transports.http.uvicorn_server import HttpServer, listen

    settings = Settings(ncbi_base_url=address, log_level="WARNING", off="icite,crossref")
    calls = CallControl(settings)
    app = AppContext(settings, admission=calls.admit)
    server = DeepCriticalServer(app, middleware=[calls.observe])
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    uvicorn, clock = HttpServer(HttpApplication(server, app, calls, url), settings), Clock()
    await app.services()
    watch(clock)
    caller = Caller(url, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(uvicorn.serve, [listener])
        await anyio.to_thread.run_sync(lambda: httpx.get(f"{url}/ready", timeout=60, trust_env=False))
        await anyio.to_thread.run_sync(lambda: anyio.run(caller.rounds, rounds))
        uvicorn.should_exit = True
    table(caller.rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    ncbi = multiprocessing.get_context("spawn").Process(target=stand_in, args=(theirs,), daemon=True)
    ncbi.start()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "NCBI_API_KEY": "stand-in", "DEEPCRITICAL_CACHE_DIR": folder}
        anyio.run(measure, f"http://127.0.0.1:{ours.recv()}", options.rounds)
    ncbi.terminate()


if __name__ == "__main__":
    main()
