"""The evidence store's speed, its event-loop stalls, and the memory that dropped sessions leave behind.

    python bench/store.py [--sizes 100,1000,10000] [--sessions 1000] [--folder] [--growth 10000] [--reopen 1000,10000]

Compared with bare Chroma and the same model: documents are added a hundred at a time, and a search is one embedding and
one `query` for 5 results. Texts have 200 made-up words each and are embedded beforehand, so that adding is measured
without the model. Every search uses a new query. Stalls are measured while 1,000 items are added, with and without
embedding. Memory is the process's after `--sessions` sessions of 200 items were opened and dropped, compared with the
memory after a tenth of them. With `--growth`, only the cost of growing is measured, with made-up vectors: processor
time per item while a session grows, next to bare Chroma. With `--reopen`, only the processor time until a session of
so many passages, of full texts and of abstracts, that was closed answers again, next to opening its Chroma and reading
the vectors: a list, a search, and a search without the index that is kept beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import platform
import random
import resource
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import chromadb
import chromadb.api.shared_system_client
import chromadb.config
import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.calibration import MINILM
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, Text
from deepcritical_mcp.reading import Section, assembled

SEARCHES = 60
LETTERS = ("b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "tr", "pl", "st"), ("a", "e", "i", "o", "u")
VOCABULARY = 20_000


def words() -> tuple[list[str], list[float]]:
    """Made-up words, and how often each occurs: as in any language, inversely to its rank (Zipf)."""
    chance = random.Random(0)
    made: dict[str, None] = {}
    while len(made) < VOCABULARY:
        syllables = chance.choices(range(1, 5), (1, 4, 4, 2))[0]
        made["".join(chance.choice(LETTERS[0]) + chance.choice(LETTERS[1]) for _ in range(syllables)) + "n"] = None
    return list(made), [1 / (rank + 10) for rank in range(VOCABULARY)]


WORDS, FREQUENCIES = words()


def texts(count: int, seed: int) -> list[Publication]:
    chance = random.Random(seed)
    made: list[Publication] = []
    for number in range(count):
        content = " ".join(chance.choices(WORDS, FREQUENCIES, k=200))
        title = " ".join(chance.choices(WORDS, FREQUENCIES, k=10))
        made.append(
            Publication.of(
                "abstract", content, provider="bench", source="pubmed", title=title, pmid=f"{seed}{number:06}"
            )
        )
    return made


def questions(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, FREQUENCIES, k=8)) for _ in range(count)]


class Bare:
    """Chroma as documented, with our model's vectors."""

    def __init__(self, embedder: EmbeddingService, folder: Path | None) -> None:
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(folder, settings) if folder else chromadb.EphemeralClient(settings)
        self._embedder = embedder

    def add(self, publications: Sequence[Publication], vectors: np.ndarray) -> None:
        self._collection = self._client.create_collection(
            f"bare-{len(publications)}", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        for start in range(0, len(publications), 100):
            some = publications[start : start + 100]
            self._collection.add(
                ids=[item.id for item in some],
                embeddings=vectors[start : start + 100],
                documents=[item.text.content for item in some],
                metadatas=[{"source": item.source, "title": item.title} for item in some],
            )

    async def search(self, question: str) -> None:
        vector = await self._embedder.query_vectors([question])
        self._collection.query(query_embeddings=vector, n_results=5)


async def timed(work: Callable[[str], Awaitable[object]], question: str) -> float:
    start = time.perf_counter()
    await work(question)
    return time.perf_counter() - start


async def speed(embedder: EmbeddingService, size: int, folder: Path | None) -> None:
    evidence = texts(size, seed=1)
    vectors = await embedder.vectors([passages(item)[0].content for item in evidence])
    settings = Settings(max_evidence=1_000_000, data_dir=folder)
    registry = SessionRegistry(settings, embedder, open_backend(settings))
    store = await registry.open()
    start = time.perf_counter()
    await store.add_evidence(evidence)
    ours = time.perf_counter() - start
    bare = Bare(embedder, folder / f"bare-{size}" if folder else None)
    start = time.perf_counter()
    await asyncio.to_thread(bare.add, evidence, vectors)
    plain = time.perf_counter() - start
    searches: dict[str, list[float]] = {"ours": [], "bare": []}
    for number, question in enumerate(questions(2 * SEARCHES, seed=size)):
        name, work = (("ours", store.search_similar), ("bare", bare.search))[number % 2]
        searches[name].append(await timed(work, question))
    found, near = (statistics.median(searches[name]) * 1_000 for name in ("ours", "bare"))
    start = time.perf_counter()
    await store.add_evidence(texts(20, seed=2))
    more = time.perf_counter() - start
    after = await timed(store.search_similar, "what was added last?") * 1_000
    print(
        f"{size:7,}{ours:10.2f}{plain:8.2f}{ours / plain:7.1f}x{found:12.2f}{near:8.2f}{found / near:7.2f}x"
        f"{more * 1_000:14.0f}{after:14.1f}",
        flush=True,
    )
    await registry.aclose()


class Stalls:
    """The longest time that the event loop was blocked."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last - 0.001)
            last = now


async def stall(folder: Path | None, seed: int, *, known: bool) -> tuple[float, float]:
    """Longest stall in milliseconds while adding, and while idle for as long."""
    embedder = EmbeddingService()
    settings = Settings(max_evidence=1_000_000, data_dir=folder)
    registry = SessionRegistry(settings, embedder, open_backend(settings))
    store: EvidenceStore = await registry.open()
    await store.add_evidence(texts(1, seed=seed + 100))
    await store.search_similar("the first one")
    evidence = texts(1_000, seed=seed)
    if known:
        await embedder.vectors([passages(item)[0].content for item in evidence])
    longest: list[float] = []
    start = time.perf_counter()
    for work in (store.add_evidence(evidence), asyncio.sleep(0)):
        stalls = Stalls()
        watch = asyncio.create_task(stalls.watch())
        await work
        if longest:
            await asyncio.sleep(time.perf_counter() - start)
        watch.cancel()
        longest.append(stalls.longest * 1_000)
    await registry.aclose()
    return longest[0], longest[1]


def resident() -> float:
    """Resident megabytes (the peak, on systems without /proc)."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


async def memory(embedder: EmbeddingService, sessions: int) -> None:
    settings = Settings()
    registry = SessionRegistry(settings, embedder, open_backend(settings))
    evidence = texts(200, seed=3)
    await embedder.vectors([passages(item)[0].content for item in evidence])
    start = resident()
    tenth = 0.0
    for number in range(1, sessions + 1):
        store = await registry.open()
        await store.add_evidence(evidence)
        await store.search_similar("patients", max_results=3)
        await registry.drop(store.session_id)
        if number == sessions // 10:
            gc.collect()
            tenth = resident()
    gc.collect()
    end = resident()
    print(
        f"\nmemory: {start:.0f} MB before, {tenth:.0f} MB after {sessions // 10} sessions of 200 items, "
        f"{end:.0f} MB after {sessions}: {end / tenth:.2f}x"
    )
    await registry.aclose()


class MadeUp:
    """Made-up unit vectors, the same for the same text, in place of the model."""

    name = "made up"
    calibration = MINILM

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.stack([np.random.default_rng(zlib.crc32(one.encode())).standard_normal(384) for one in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    query_vectors = vectors


async def growth(folder: Path, size: int) -> None:
    step = max(size // 10, 100)
    for place in (None, folder):
        settings = Settings(max_evidence=1_000_000, data_dir=place)
        registry = SessionRegistry(settings, MadeUp(), open_backend(settings))
        store = await registry.open()
        options = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(place / "bare", options) if place else chromadb.EphemeralClient(options)
        bare = client.create_collection(
            f"grows-{place is None}", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        evidence = texts(size, seed=7)
        print(f"milliseconds of processor time per item, kept in {'a folder' if place else 'memory'}, bare Chroma's:")
        for start in range(0, size, step):
            some = evidence[start : start + step]
            begun = time.process_time()
            for block in range(0, len(some), 100):
                await store.add_evidence(some[block : block + 100])
            ours, begun = time.process_time() - begun, time.process_time()
            for block in range(0, len(some), 100):
                ids, content = zip(*((one.id, one.text.content) for one in some[block : block + 100]), strict=True)
                bare.add(ids=list(ids), embeddings=await MadeUp().vectors(content), documents=list(content))
            plain = time.process_time() - begun
            print(f"{start + len(some):9,}{ours / len(some) * 1e3:8.2f}{plain / len(some) * 1e3:8.2f}", flush=True)
        await registry.aclose()


def full_texts(count: int) -> list[Publication]:
    """Papers of 64 passages, `count` in all."""
    chance = random.Random(11)
    made: list[Publication] = []
    for number in range(-(-count // 64)):
        sections = [
            Section(
                f"s{at}", [" ".join(chance.choices(WORDS, FREQUENCIES, k=45)) for _ in range(8)], path=(f"Part {at}",)
            )
            for at in range(1, 9)
        ]
        content, parts = assembled(sections)
        text = Text(kind="full_text", content=content, provider="bench", parts=parts)
        title = " ".join(chance.choices(WORDS, FREQUENCIES, k=10))
        pmid = f"9{number:06}"
        made.append(Publication(id=f"pubmed:{pmid}", texts=(text,), source="pubmed", title=title, pmid=pmid))
    return made


async def answer(settings: Settings, session_id: str, *, search: bool) -> float:
    """Milliseconds of processor time until a closed session answers."""
    registry = SessionRegistry(settings, MadeUp(), open_backend(settings))
    begun = time.process_time()
    store = await registry.get(session_id)
    await (store.search_similar("what was this about?") if search else store.page(0, 20))
    spent = time.process_time() - begun
    await registry.aclose()
    return spent * 1_000


def without_index(path: Path) -> int:
    """Remove the kept index of a closed session; returns the number of its vectors."""
    file = SessionFile.open(path)
    file.delete("derived", file.keys("derived"))
    count = sum(int.from_bytes(row.value[:4]) for row in file.changed("vectors"))
    file.close()
    return count


def read_vectors(folder: Path, count: int) -> float:
    """Milliseconds of processor time in which Chroma opens a collection of as many vectors and reads them."""
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    filled = chromadb.PersistentClient(folder, settings).create_collection("bench", embedding_function=None)
    for start in range(0, count, 1_000):
        ids = [str(number) for number in range(start, min(start + 1_000, count))]
        filled.add(ids=ids, embeddings=np.random.default_rng(start).standard_normal((len(ids), 384), np.float32))
    chromadb.api.shared_system_client.SharedSystemClient.clear_system_cache()
    begun = time.process_time()
    collection = chromadb.PersistentClient(folder, settings).get_collection("bench", embedding_function=None)
    for start in range(0, collection.count(), 1_000):
        collection.get(include=["embeddings"], limit=1_000, offset=start)
    return (time.process_time() - begun) * 1_000


async def reopening(folder: Path, sizes: Sequence[int]) -> None:
    print("milliseconds of processor time until a closed session answers")
    print(f"{'passages of':>15}{'':9}{'list':>7}{'search':>8}{'without its index':>19}{'bare Chroma':>13}{'ratio':>7}")
    for name, make in (("full texts", full_texts), ("abstracts", partial(texts, seed=7))):
        for size in sizes:
            place = folder / f"{name}-{size}"
            settings = Settings(max_evidence=1_000_000, data_dir=place)
            registry = SessionRegistry(settings, MadeUp(), open_backend(settings))
            store = await registry.open()
            for publication in make(size):
                await store.add_evidence([publication])
            await store.search_similar("until all is embedded")
            await registry.aclose()
            listed = [await answer(settings, store.session_id, search=False) for _ in range(3)]
            found = [await answer(settings, store.session_id, search=True) for _ in range(3)]
            count = without_index(place / "sessions" / f"{store.session_id}.sqlite3")
            anew = await answer(settings, store.session_id, search=True)
            bare = read_vectors(place / "bare", count)
            lists, searches = map(statistics.median, (listed, found))
            print(
                f"{name:>15}{size:9,}{lists:7.0f}{searches:8.0f}{anew:19.0f}{bare:13.0f}{searches / bare:7.2f}",
                flush=True,
            )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--folder", action="store_true", help="keep the sessions in a folder, not in memory")
    parser.add_argument("--growth", type=int, default=0, help="measure the cost of growing to so many items")
    parser.add_argument("--reopen", default="", help="measure opening sessions of so many passages again")
    arguments = parser.parse_args()
    packages = ("deepcritical-mcp", "chromadb", "onnxruntime", "numpy")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in packages))
    if arguments.growth:
        with tempfile.TemporaryDirectory() as scratch:
            await growth(Path(scratch), arguments.growth)
        return
    if arguments.reopen:
        with tempfile.TemporaryDirectory() as scratch:
            await reopening(Path(scratch), list(map(int, arguments.reopen.split(","))))
        return
    embedder = EmbeddingService()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if arguments.folder else None
        print(f"sessions kept in {'a folder' if folder else 'memory'}")
        print(f"{'items':>7}{'add s':>10}{'bare':>8}{'ratio':>8}{'search ms':>12}{'bare':>8}{'ratio':>8}"
              f"{'20 more ms':>14}{'next search':>14}")  # fmt: skip
        for size in map(int, arguments.sizes.split(",")):
            await speed(embedder, size, folder)
        for known in (False, True):
            longest = [await stall(folder, seed, known=known) for seed in (4, 5, 6)]
            stalls = ", ".join(f"{ours:.0f} ({idle:.0f})" for ours, idle in longest)
            what = "already embedded" if known else "embedding included"
            print(f"longest stall while 1,000 are added, {what} (and while idle for as long): {stalls} ms")
        if arguments.sessions and not folder:
            await memory(embedder, arguments.sessions)


if __name__ == "__main__":
    asyncio.run(main())
