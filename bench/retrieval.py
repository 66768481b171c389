"""Retrieval quality: our hybrid search against plain cosine, plain BM25 and their fusion.

    pip install "bm25s>=0.3,<0.4"
    python bench/retrieval.py FOLDER... [--sizes 20,50,200] [--sessions 60]

A folder holds `corpus.jsonl` (id, title, text), `queries.jsonl` (id, text) and `qrels.tsv` (query, document, score;
with a header). Ours runs in a real session: every document is added, every query asked. The others rank the same
texts: exact cosine with the same model; bm25s with its defaults, English stop words and stems; and both fused by
reciprocal rank (k = 60). A small session holds some of one query's relevant documents (at most a quarter of the
session) among others drawn at random, and is asked that query only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import platform
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

import bm25s
import numpy as np
import Stemmer

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.search.search_steps import fuse

DEPTH = 100
SYSTEMS = ("plain cosine", "plain BM25", "plain fusion", "deepcritical")


@dataclass(frozen=True)
class Collection:
    name: str
    documents: Mapping[str, Publication]
    queries: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Scores:
    ndcg_10: float
    recall_10: float
    recall_100: float


def read(folder: Path) -> Collection:
    documents: dict[str, Publication] = {}
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        # The id makes each document a distinct publication.
        documents[row["id"]] = Publication.of(
            "abstract",
            row["text"] or NO_ABSTRACT,
            provider="bench",
            source="pubmed",
            title=row["title"],
            pmid=row["id"],
        )
    relevant: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if int(score) > 0 and document in documents:
            relevant.setdefault(query, {})[document] = int(score)
    rows = map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())
    queries = {row["id"]: row["text"] for row in rows if row["id"] in relevant}
    return Collection(folder.name, documents, queries, relevant)


def score(ranking: Sequence[str], relevant: Mapping[str, int]) -> Scores:
    gains = [relevant.get(document, 0) for document in ranking[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    return Scores(
        _discounted(gains) / _discounted(ideal),
        sum(document in relevant for document in ranking[:10]) / len(relevant),
        sum(document in relevant for document in ranking[:100]) / len(relevant),
    )


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


class Bench:
    def __init__(self) -> None:
        self._embedder = EmbeddingService()
        settings = Settings(max_evidence=1_000_000)
        self._registry = SessionRegistry(settings, self._embedder, open_backend(settings))

    async def rank(self, documents: Sequence[Publication], queries: Sequence[str]) -> dict[str, list[list[str]]]:
        """The ids of each system's best documents, for each query."""
        ours = await self._ours(documents, queries)
        cosine = await self._by_cosine(documents, queries)
        words = _by_words(documents, queries)
        fused = [fuse(both) for both in zip(cosine, words, strict=True)]
        return dict(zip(SYSTEMS, (cosine, words, fused, ours), strict=True))

    async def _ours(self, documents: Sequence[Publication], queries: Sequence[str]) -> list[list[str]]:
        store = await self._registry.open()
        await store.add_evidence(documents)
        rankings: list[list[str]] = []
        for query in queries:
            found = await store.search_similar(query, max_results=DEPTH)
            # Folded documents are named in `similar`.
            rankings.append(list(dict.fromkeys(id for item in found for id in (item.id, *item.similar))))
        await self._registry.drop(store.session_id)
        return rankings

    async def _by_cosine(self, documents: Sequence[Publication], queries: Sequence[str]) -> list[list[str]]:
        vectors = await self._embedder.vectors([passages(document)[0].content for document in documents])
        cosines = await self._embedder.query_vectors(queries) @ vectors.T
        return [[documents[place].id for place in np.argsort(-row, kind="stable")[:DEPTH]] for row in cosines]


def _by_words(documents: Sequence[Publication], queries: Sequence[str]) -> list[list[str]]:
    stemmer = Stemmer.Stemmer("english")
    texts = [f"{document.title} {document.text.content}" for document in documents]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    rankings: list[list[str]] = []
    for query in queries:
        words = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False)
        places, scores = index.retrieve(words, k=min(DEPTH, len(texts)), show_progress=False)
        rankings.append([documents[place].id for place, value in zip(places[0], scores[0], strict=True) if value > 0])
    return rankings


async def whole(bench: Bench, collection: Collection) -> None:
    queries = list(collection.queries)
    rankings = await bench.rank(list(collection.documents.values()), [collection.queries[query] for query in queries])
    rows = {
        system: [
            score(_original(ranking), collection.relevant[query]) for query, ranking in zip(queries, found, strict=True)
        ]
        for system, found in rankings.items()
    }
    _print(f"{collection.name}: {len(collection.documents):,} documents, {len(queries):,} queries", rows)


async def small(bench: Bench, collection: Collection, size: int, sessions: int, chance: random.Random) -> None:
    rows: dict[str, list[Scores]] = {system: [] for system in SYSTEMS}
    queries = list(collection.queries)
    for number in range(sessions):
        query = queries[number % len(queries)]
        everything = collection.relevant[query]
        relevant = chance.sample(sorted(everything), min(len(everything), max(size // 4, 1)))
        others = [id for id in collection.documents if id not in everything]
        ids = relevant + chance.sample(others, min(size - len(relevant), len(others)))
        chance.shuffle(ids)
        rankings = await bench.rank([collection.documents[id] for id in ids], [collection.queries[query]])
        for system, (ranking,) in rankings.items():
            rows[system].append(score(_original(ranking), {id: everything[id] for id in relevant}))
    _print(f"{collection.name}: {sessions} sessions of {size} documents, one query each", rows)


def _original(ranking: Sequence[str]) -> list[str]:
    return [id.removeprefix("pubmed:") for id in ranking]


def _print(title: str, rows: Mapping[str, Sequence[Scores]]) -> None:
    print(f"\n{title}\n{'':14}{'nDCG@10':>9}{'Recall@10':>11}{'Recall@100':>12}")
    for system, scores in rows.items():
        print(
            f"{system:14}{fmean(row.ndcg_10 for row in scores):9.4f}{fmean(row.recall_10 for row in scores):11.4f}"
            f"{fmean(row.recall_100 for row in scores):12.4f}",
            flush=True,
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sizes", default="20,50,200", help="sizes of small sessions; empty for none")
    parser.add_argument("--sessions", type=int, default=60, help="small sessions of each size")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    packages = ("deepcritical-mcp", "chromadb", "onnxruntime", "numpy", "bm25s")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in packages))
    bench = Bench()
    for folder in arguments.folders:
        collection = read(folder)
        await whole(bench, collection)
        for size in [int(size) for size in arguments.sizes.split(",") if size]:
            await small(bench, collection, size, arguments.sessions, random.Random(arguments.seed))


if __name__ == "__main__":
    asyncio.run(main())
