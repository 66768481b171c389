"""Memory and time against the number of in-memory sessions.

    python bench/memory.py [--sessions 100,300,1000] [--items 50] [--left 10000]

Each row is a process of its own: it opens sessions, adds abstracts of some 1,700 characters to each, and searches every
session once. The vectors are random, since the model's time and memory do not depend on the store. "Chroma" keeps the
same vectors and texts in collections of one in-process Chroma, and is what times are divided by. With `--left`, so many
sessions are opened, given one item and dropped, and memory is read at every tenth.
"""

from __future__ import annotations

import argparse
import gc
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import anyio
import numpy as np
from chromadb.api.client import Client
from chromadb.config import System
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.storage.vector_table import chroma_settings
from deepcritical_mcp.models import Publication

DIMENSION = 384
VOCABULARY = [f"{first}{second}{third}" for first in "bdfgklmnprst" for second in "aeiou" for third in range(500)]
WEIGHTS = list(accumulate(1 / rank for rank in range(1, len(VOCABULARY) + 1)))


class RandomModel:
    """Random unit vectors, in place of the model."""

    name = "random"
    calibration: Calibration | None = None

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.random.default_rng(len(texts)).standard_normal((len(texts), DIMENSION), np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    query_vectors = vectors


def abstract(number: int) -> Publication:
    words = random.Random(number).choices(VOCABULARY, cum_weights=WEIGHTS, k=300)
    title, text = " ".join(words[:12]), " ".join(words)
    return Publication.of("abstract", text, provider="bench", source="pubmed", title=title, pmid=str(number + 1))


def memory() -> float:
    """Resident memory in MB."""
    gc.collect()
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


async def ours(sessions: int, items: int) -> tuple[float, float, float]:
    """Megabytes, and seconds to add and to search."""
    settings = Settings(max_sessions=sessions + 1)
    registry = SessionRegistry(settings, RandomModel(), open_backend(settings))
    stores = [await registry.open() for _ in range(sessions)]
    before, adding, searching = memory(), 0.0, 0.0
    for number, store in enumerate(stores):
        publications = [abstract(number * items + item) for item in range(items)]
        begun = time.perf_counter()
        await (await registry.get(store.session_id)).add_evidence(publications)
        adding += time.perf_counter() - begun
    grown = memory() - before
    for store in stores:
        begun = time.perf_counter()
        await (await registry.get(store.session_id)).search_similar("ba1 be2 do3")
        searching += time.perf_counter() - begun
    print(f"  ours {sessions:5} sessions: {memory():5.0f} MB in all, {grown / sessions:.3f} MB each", flush=True)
    await registry.aclose()
    print(f"  ours after closing all of them: {memory():5.0f} MB")
    return grown, adding, searching


async def chroma(sessions: int, items: int) -> tuple[float, float, float]:
    client, model = Client.from_system(_started()), RandomModel()
    before, adding, searching = memory(), 0.0, 0.0
    for number in range(sessions):
        texts = [abstract(number * items + item).text.content for item in range(items)]
        vectors = await model.vectors(texts)
        begun = time.perf_counter()
        collection = client.create_collection(f"session-{number}", embedding_function=None)
        ids = [str(item) for item in range(items)]
        collection.add(ids=ids, embeddings=vectors, metadatas=[{"text": text} for text in texts])
        adding += time.perf_counter() - begun
        begun = time.perf_counter()
        collection.query(query_embeddings=vectors[:1], n_results=5, include=["metadatas", "distances"])
        searching += time.perf_counter() - begun
    return memory() - before, adding, searching


def _started() -> System:
    system = System(chroma_settings())
    system.start()
    return system


async def leave(count: int) -> None:
    """Open and drop `count` sessions."""
    settings = Settings()
    registry = SessionRegistry(settings, RandomModel(), open_backend(settings))
    for number in range(count + 1):
        store = await registry.open()
        await store.add_evidence([abstract(number)])
        await registry.drop(store.session_id)
        if number % (count // 10) == 0:
            print(f"  {number:6} sessions opened and dropped: {memory():5.0f} MB", flush=True)


async def compare(sessions: int, items: int) -> None:
    _, adding, searching = await ours(sessions, items)
    other = min(sessions, 100)
    megabytes, bare_adding, bare_searching = await chroma(other, items)
    print(
        f"  Chroma {other:3} sessions: {megabytes / other:.3f} MB each; ours / Chroma: "
        f"adding {adding / sessions / (bare_adding / other):.2f}, "
        f"searching {searching / sessions / (bare_searching / other):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", default="100,300,1000")
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--left", type=int, default=0)
    parser.add_argument("--ours", action="store_true", help="without Chroma to compare with")
    options = parser.parse_args()
    sizes = options.sessions.split(",")
    if len(sizes) > 1:
        for size in sizes:
            subprocess.run([sys.executable, __file__, "--sessions", size, "--items", str(options.items)], check=True)
    elif not options.left:
        anyio.run(ours if options.ours else compare, int(sizes[0]), options.items)
    if options.left:
        anyio.run(leave, options.left)


if __name__ == "__main__":
    main()
