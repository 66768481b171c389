"""What the order of screening saves, and whether its stop rule keeps its promise, on reviews with decisions.

    python bench/screening.py FOLDER [--reviews ADHD ...] [--seeds 10] [--jobs 2] [--vectors FOLDER]
    python bench/screening.py FOLDER --stdio NSAIDS [--label included]

FOLDER holds a file REVIEW.jsonl.gz for each review; a line is a record with pmid, title, abstract, abstract_included
and included. Each run starts with one relevant and one irrelevant record, chosen by its seed, and reads ten records at
a time. WSS@95 is the share of records that need not be read for 95 % of the relevant ones, less 5 %. Beside ours stands
ASReview's default model, ELAS u4, made from its description (asreview 3.0: TF-IDF of one and two words, sublinear,
words of more than 95 % of the records left out; linear SVM, squared hinge, C = 0.11, ratio 9.8) with our solver. The
stop rule is looked at after each ten; a run in which it never holds reads everything. `--vectors` keeps the vectors
between runs.

With --stdio, one review is screened through the server itself: list_evidence sort="likely", add_evidence ids.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from numpy.typing import NDArray

from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.screening.learner import Terms, trained
from deepcritical_mcp.screening.ranking import Records, learn
from deepcritical_mcp.screening.stopping import SIGNIFICANT, StopRule, stop_estimate

Matrix = NDArray[np.float32]
LABELS = ("included", "abstract_included")
BATCH, TARGET = 10, 0.95


class Run(NamedTuple):
    """WSS@95 of our order and of ELAS u4; recall and share of records saved when the stop rule held first, and when the
    hypergeometric criterion did (nan: never)."""

    ours: float
    elas: float
    recall: float
    saved: float
    recall_p: float
    saved_p: float


def read_review(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def vectors_of(records: list[dict[str, Any]], kept: Path) -> Matrix:
    if kept.exists():
        return np.load(kept)

    async def embedded() -> Matrix:
        service = EmbeddingService()
        texts = [f"{(one['title'] or '').rstrip('.')}. {one['abstract'] or ''}".strip() for one in records]
        return np.concatenate([await service.vectors(texts[at : at + 64]) for at in range(0, len(texts), 64)])

    found: Matrix = asyncio.run(embedded())
    kept.parent.mkdir(parents=True, exist_ok=True)
    np.save(kept, found)
    return found


def starts(relevant: NDArray[np.bool_], seed: int) -> list[int]:
    random = np.random.default_rng(seed)
    return [int(random.choice(np.flatnonzero(relevant))), int(random.choice(np.flatnonzero(~relevant)))]


def saved_at(order: list[int], relevant: NDArray[np.bool_]) -> float:
    found = np.cumsum(relevant[order])
    read = int(np.searchsorted(found, math.ceil(TARGET * int(relevant.sum()) - 1e-9))) + 1
    return (len(relevant) - read) / len(relevant) - (1 - TARGET)


def elas_order(records: Records, relevant: NDArray[np.bool_], start: list[int]) -> list[int]:
    """ELAS u4's, until 95 % are found."""
    order = list(start)
    while relevant[order].sum() < TARGET * relevant.sum():
        rows = np.array(sorted(order))
        outputs = records.words.dot(trained(records.words.chosen(rows), relevant[rows]).weights)
        left = np.setdiff1d(np.arange(len(relevant)), rows)
        order += left[np.argsort(-outputs[left], kind="stable")][:BATCH].tolist()
    return order


def run(records: Records, relevant: NDArray[np.bool_], seed: int) -> Run:
    start = starts(relevant, seed)
    decided = {row: bool(relevant[row]) for row in start}
    stops: dict[str, tuple[float, float]] = {}
    rule, total, all_relevant = StopRule(records), len(relevant), relevant.sum()
    while len(decided) < total:
        ranking = learn(records, decided)
        estimate = stop_estimate(rule, ranking, decided)
        now = (sum(decided.values()) / all_relevant, 1 - len(decided) / total)
        for name, holds in (("rule", estimate.rule_met), ("p", estimate.p < SIGNIFICANT)):
            if holds:
                stops.setdefault(name, now)
        if len(stops) == 2 and now[0] >= TARGET:
            break
        decided |= {row: bool(relevant[row]) for row in ranking.order[:BATCH]}
    ours, elas = list(decided), elas_order(records, relevant, start)
    never = (1.0, 0.0)
    return Run(saved_at(ours, relevant), saved_at(elas, relevant), *stops.get("rule", never), *stops.get("p", never))


def measured(folder: Path, name: str, label: str, seeds: int, kept: Path) -> list[Run]:
    rows = read_review(folder, name)
    ids = [str(at) for at in range(len(rows))]
    texts = {id: f"{one['title'] or ''}\n{one['abstract'] or ''}" for id, one in zip(ids, rows, strict=True)}
    vectors = vectors_of(rows, kept / f"{name}.npy")
    records = Records(texts, dict(zip(ids, vectors, strict=True)), Terms())
    relevant = np.array([bool(one[label]) for one in rows])
    return [run(records, relevant, seed) for seed in range(seeds)]


def report(rows: dict[tuple[str, str], list[Run]]) -> Iterator[str]:
    yield "| review | label | ours | ELAS u4 | ratio | stop rule: recall >= 95 % | lowest | saved | p < 0.05 | saved |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for (name, label), runs in rows.items():
        yield f"| {name} | {label} | {line(runs)} |"
    for label in (*LABELS, "both"):
        some = [one for key, runs in rows.items() for one in runs if label in (key[1], "both")]
        yield f"| mean | {label} | {line(some)} |"


def line(runs: list[Run]) -> str:
    ours, elas, recall, saved, recall_p, saved_p = np.array(runs).T
    kept, kept_p = ((one >= TARGET - 1e-9).mean() for one in (recall, recall_p))
    cells = (
        ours.mean(),
        elas.mean(),
        ours.mean() / elas.mean(),
        kept,
        recall.min(),
        saved.mean(),
        kept_p,
        saved_p.mean(),
    )
    return " | ".join(f"{one:.3f}" for one in cells)


def retraining(folder: Path, names: list[str], kept: Path) -> str:
    """The time of one page's learning with 2,000 records, half of them decided, and of the first."""
    rows = [one for name in names for one in read_review(folder, name)][:2000]
    vectors = np.concatenate([vectors_of(read_review(folder, name), kept / f"{name}.npy") for name in names])[:2000]
    texts = {str(at): f"{one['title'] or ''}\n{one['abstract'] or ''}" for at, one in enumerate(rows)}
    began = time.perf_counter()
    records = Records(texts, dict(zip(texts, vectors, strict=True)), Terms())
    first, times = time.perf_counter() - began, list[str]()
    for count in (one for one in (100, 500, 1000) if one * 2 <= len(rows)):
        decided = {row: bool(rows[row]["abstract_included"]) for row in range(0, len(rows), len(rows) // count)}
        began = time.perf_counter()
        stop_estimate(StopRule(records), learn(records, decided), decided)
        times.append(f"{len(decided):,} decided: {time.perf_counter() - began:.2f} s")
    return f"{len(rows):,} records: words counted once in {first:.2f} s; retrained with {'; '.join(times)}"


async def over_stdio(folder: Path, name: str, label: str) -> None:
    """One run through the server."""
    rows = read_review(folder, name)
    relevant = np.array([bool(one[label]) for one in rows])
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "DEEPCRITICAL_DATA_DIR": f"{home}/data"}
        server = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=environment)
        async with Client(stdio_client(server), read_timeout_seconds=300) as client:

            async def call(tool: str, **arguments: Any) -> dict[str, Any]:
                found = await client.call_tool(tool, arguments)
                return found.structured_content or {}

            own: dict[str, int] = {}
            began = time.perf_counter()
            for at in range(0, len(rows), 50):
                items = [
                    {
                        "title": one["title"],
                        "content": one["abstract"] or one["title"],
                        "authors": ["A B"],
                        "date": "2000",
                    }
                    for one in rows[at : at + 50]
                ]
                answer = await call("add_evidence", items=items, session_id="" if at else f"new: {name}")
                own |= {one["id"]: at + one["index"] for one in answer.get("added", ())}
            print(f"{len(own):,} records added in {time.perf_counter() - began:.0f} s")
            places = {row: id for id, row in own.items()}
            relevant_ids = {id for id, row in own.items() if relevant[row]}
            chosen = [places[row] for row in starts(relevant, 0) if row in places]
            order, times, stop = list[str](), list[float](), ""
            while chosen:
                for verdict in ("included", "excluded"):
                    some = [id for id in chosen if (id in relevant_ids) == (verdict == "included")]
                    if some:
                        await call("add_evidence", ids=some, decision=verdict)
                order += chosen
                began = time.perf_counter()
                page = await call("list_evidence", sort="likely", marked="undecided", max_results=BATCH)
                times.append(time.perf_counter() - began)
                chosen = [one["id"] for one in page.get("items", ())]
                found = len(relevant_ids & {*order}) / len(relevant_ids)
                if not stop and page["screening"].get("stop", {}).get("rule_met"):
                    stop = f"stop rule met after {len(order):,} of {len(own):,}: recall {found:.3f}"
            rows_read = [own[id] for id in order]
            print(f"WSS@95 {saved_at(rows_read, relevant):.3f}; {stop or 'the stop rule was never met'}")
            print(f"a page: {np.median(times):.2f} s in the median, {max(times):.2f} s at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reviews", nargs="*")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--vectors", type=Path, default=Path(tempfile.gettempdir()) / "screening-vectors")
    parser.add_argument("--stdio")
    parser.add_argument("--label", default="included", choices=LABELS)
    given = parser.parse_args()
    if given.stdio:
        asyncio.run(over_stdio(given.folder, given.stdio, given.label))
        return
    names = given.reviews or sorted(one.name.removesuffix(".jsonl.gz") for one in given.folder.glob("*.jsonl.gz"))
    for name in names:
        vectors_of(read_review(given.folder, name), given.vectors / f"{name}.npy")
    rows: dict[tuple[str, str], list[Run]] = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        tasks = {
            (name, label): pool.submit(measured, given.folder, name, label, given.seeds, given.vectors)
            for name in names
            for label in LABELS
        }
        for key, task in tasks.items():
            rows[key] = task.result()
            print(f"| {' | '.join(key)} | {line(rows[key])} |", file=sys.stderr, flush=True)
    print("\n".join(report(rows)))
    print(retraining(given.folder, names, given.vectors))


if __name__ == "__main__":
    main()
