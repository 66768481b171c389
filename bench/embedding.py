"""The embedding service against bare onnxruntime with the same model, in one run on one machine.

    python bench/embedding.py                       # abstracts from DEEPCRITICAL_RECORDED_DIR, else made-up ones
    python bench/embedding.py --original FOLDER     # also against the original weights; needs [sentence-transformers]

Compare ratios: above 1 the service is faster (texts per second) or slower (times). Goals: texts/s >= 0.9, one query
<= 2, cold process to the first query vector <= 2, each cosine to the original >= 0.98.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from deepcritical_mcp.evidence.embedding.calibration import SHIPPED_TOKENS
from deepcritical_mcp.evidence.embedding.service import (
    SHIPPED_FOLDER,
    EmbeddingModel,
    EmbeddingService,
    SentenceTransformerSource,
    ShippedModel,
)

QUERIES = [f"does {drug} protect against {disease}?" for drug in ("metformin", "aspirin", "insulin", "ketamine")
           for disease in ("dementia", "stroke", "sepsis", "depression", "colon cancer")]  # fmt: skip
WORDS = """
    patients with chronic heart failure were randomised to receive treatment or placebo and followed for months the
    expression of inflammatory markers in plasma was measured by immunoassay we found significant reduction of
    mortality compared with controls suggesting that inhibition of the kinase pathway protects neurons
"""
COLD_SERVICE = """
import asyncio
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
assert asyncio.run(EmbeddingService().query_vectors(["metformin and dementia"])).shape[1] == 384
"""
COLD_BARE = f"""
import numpy, onnxruntime
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file({str(SHIPPED_FOLDER / "tokenizer.json")!r})
tokenizer.no_padding()
session = onnxruntime.InferenceSession({str(SHIPPED_FOLDER / "model.onnx")!r}, providers=["CPUExecutionProvider"])
ids = numpy.array([tokenizer.encode("metformin and dementia").ids])
assert session.run(None, {{"input_ids": ids, "attention_mask": numpy.ones_like(ids)}})[0].shape == (1, 384)
"""


class Bare:
    """onnxruntime with its defaults (all CPUs), in batches sorted by length and padded."""

    def __init__(self) -> None:
        onnxruntime: Any = importlib.import_module("onnxruntime")
        self._tokenizer = Tokenizer.from_file(str(SHIPPED_FOLDER / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(SHIPPED_TOKENS)
        self._session: Any = onnxruntime.InferenceSession(
            str(SHIPPED_FOLDER / "model.onnx"), providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str], batch: int) -> None:
        tokens = sorted((encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))), key=len)
        for start in range(0, len(tokens), batch):
            part = tokens[start : start + batch]
            ids = np.zeros((len(part), len(part[-1])), np.int64)
            for row, values in enumerate(part):
                ids[row, : len(values)] = values
            self._session.run(None, {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64)})


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--texts", type=int, default=256, help="how many abstracts to embed")
    arguments.add_argument("--rounds", type=int, default=5, help="rounds per measure; the best one counts")
    arguments.add_argument("--original", type=Path, help="folder of the published weights")
    options = arguments.parse_args()
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # for both sides
    names = ("onnxruntime", "tokenizers", "numpy", "anyio")
    print(f"Python {platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in names)}")
    print(f"{platform.platform()}, {os.cpu_count()} processors\n")
    texts, origin = abstracts(options.texts)
    print(f"{len(texts)} {origin}\n")
    print("| measure | service | bare onnxruntime | ratio |\n|---|---|---|---|")
    throughput(texts, options.rounds)
    throughput([text[:90] for text in texts], options.rounds, "titles")
    latency(options.rounds)
    cold(options.rounds)
    stalls(texts)
    if options.original:
        agreement(texts, options.original)


def throughput(texts: Sequence[str], rounds: int, what: str = "abstracts") -> None:
    bare = Bare()
    bare.embed(texts[:8], 1)
    loaded = Loaded()
    rivals: dict[str, Callable[[], object]] = {
        "service": lambda: asyncio.run(EmbeddingService(source=loaded).vectors(texts)),
        "1": lambda: bare.embed(texts, 1),
        "8": lambda: bare.embed(texts, 8),
        "32": lambda: bare.embed(texts, 32),
    }
    times = best(rivals, rounds)
    ours = len(texts) / times.pop("service")
    for batch, seconds in times.items():
        theirs = len(texts) / seconds
        print(f"| {what} per second, bare in batches of {batch} | {ours:.0f} | {theirs:.0f} | {ours / theirs:.2f} |")


def latency(rounds: int) -> None:
    bare = Bare()
    loaded = Loaded()

    async def ask(seconds: list[float]) -> None:
        service = EmbeddingService(source=loaded)  # a new one each round, so that nothing is cached
        await service.query_vectors(["warm"])
        for query in QUERIES:
            start = time.perf_counter()
            await service.query_vectors([query])
            seconds.append(time.perf_counter() - start)

    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        asyncio.run(ask(ours))
        for query in QUERIES:
            start = time.perf_counter()
            bare.embed([query], 1)
            theirs.append(time.perf_counter() - start)
    report("one query, median ms", statistics.median(ours) * 1000, statistics.median(theirs) * 1000)


def cold(rounds: int) -> None:
    rivals = {"service": lambda: spawn(COLD_SERVICE), "bare": lambda: spawn(COLD_BARE)}
    times = best(rivals, rounds)
    report("cold process to the first query vector, ms", times["service"] * 1000, times["bare"] * 1000)


def stalls(texts: Sequence[str]) -> None:
    async def watch() -> tuple[float, float]:
        service = EmbeddingService(source=Loaded())
        work = asyncio.create_task(service.vectors(texts))
        longest = slowest = 0.0
        number = 0
        while not work.done():
            start = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - start - 0.001)
            number += 1
            if number % 20 == 0:
                start = time.perf_counter()
                await service.query_vectors([f"query number {number}"])
                slowest = max(slowest, time.perf_counter() - start)
        return longest, slowest

    longest, slowest = asyncio.run(watch())
    print(
        f"\nWhile {len(texts)} abstracts were embedded: longest stall of the event loop {longest * 1000:.1f} ms, ",
        end="",
    )
    print(f"slowest query vector {slowest * 1000:.1f} ms")


def agreement(texts: Sequence[str], folder: Path) -> None:
    ours = ShippedModel().load().embed(texts, "document")
    theirs = SentenceTransformerSource(str(folder)).load().embed(texts, "document")
    cosine = (ours * theirs).sum(axis=1)
    print(f"Cosine to the original on {len(texts)} texts: mean {cosine.mean():.4f}, lowest {cosine.min():.4f}")


class Loaded:
    """The shipped model, already loaded."""

    def __init__(self) -> None:
        source = ShippedModel()
        self.name, self.dimension, self.workers = source.name, source.dimension, source.workers
        self.calibration = source.calibration
        self._model = source.load()

    def load(self) -> EmbeddingModel:
        return self._model


def best(rivals: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Fewest seconds of each rival; they take turns, so that noise affects all of them."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, run in rivals.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: min(values) for name, values in times.items()}


def spawn(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def report(what: str, ours: float, theirs: float) -> None:
    print(f"| {what} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |")


def abstracts(count: int) -> tuple[list[str], str]:
    """Recorded abstracts if there are any, shuffled, and what they are."""
    folder = os.environ.get("DEEPCRITICAL_RECORDED_DIR", "")
    if not folder:
        chance = random.Random(1)
        return [
            " ".join(chance.choices(WORDS.split(), k=chance.randint(120, 260))) for _ in range(count)
        ], "made-up abstracts"
    lines = (Path(folder) / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    texts = [f"{record['title']} {record['abstract_text']}" for record in records if record["abstract_text"]]
    retrieval = os.environ.get("DEEPCRITICAL_RETRIEVAL_DIR", "")
    for corpus in sorted(Path(retrieval).glob("*/corpus.jsonl")) if retrieval else ():
        rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()[: count // 2]]
        texts += [f"{row.get('title', '')} {row['text']}".strip() for row in rows]
    random.Random(1).shuffle(texts)
    return texts[:count], "recorded abstracts"


if __name__ == "__main__":
    main()
