"""Passages of full texts: whether they answer, and what 200 papers cost a session.

    PYTHONPATH=. python bench/passages.py FOLDER [--papers 200]

A folder holds `papers.jsonl` (id, title, paragraphs: [{section, text}]) and `queries.jsonl` (id, paper, text, spans:
[[paragraph, start, end]]), such as Evidence Inference. Each paper is kept in a session and asked its questions through
the tools: counted is how often a passage among the first so many characters shown overlaps an answer. The cost is that
of a session with `--papers` papers (the folder's, repeated under other numbers): until all are stored and found by
words, until the background has embedded them, next to bare onnxruntime on a sample of the same passages, the longest
stall of the event loop meanwhile, memory per 1,000 passages, and the time of a search against one embedding and one
`query` of a bare Chroma collection with as many made-up vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
import chromadb.config
import numpy as np
from mcp.client import Client
from tests.fakes import FakeSearch, fake_server

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, Text
from deepcritical_mcp.reading import Section, assembled
from embedding import Bare
from store import Stalls, resident, timed

LENGTHS = (1_500, 3_000, 6_000)
TOGETHER = 25
"""Papers of one session."""
SEARCHES = 40
SAMPLE = 400
"""Passages that the bare model embeds before and after."""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def published(paper: dict[str, Any], pmid: str) -> Publication:
    sections: list[Section] = []
    for title, group in itertools.groupby(paper["paragraphs"], key=lambda row: row["section"]):
        path = tuple(filter(None, title.split(" > ")))
        sections.append(Section(f"s{len(sections) + 1}", [row["text"] for row in group], path=path))
    content, parts = assembled(sections)
    text = Text(kind="full_text", content=content, provider="bench", parts=parts)
    return Publication(id=f"pubmed:{pmid}", texts=(text,), source="pubmed", title=paper["title"], pmid=pmid)


def spans(paper: dict[str, Any], query: dict[str, Any]) -> list[str]:
    """The answers, verbatim."""
    return [paper["paragraphs"][number]["text"][start:end] for number, start, end in query["spans"]]


def characters_before(shown: Sequence[str], content: str, answers: Sequence[str]) -> float:
    """Characters shown before the first one of an answer; infinite if none is shown."""
    places = [(content.find(answer), len(answer)) for answer in answers]
    before = 0
    for passage in shown:
        start = content.find(passage)
        for place, length in places:
            if start < place + length and place < start + len(passage):
                return before + max(0, place - start)
        before += len(passage)
    return float("inf")


async def shown_by(client: Client, tool: str, **arguments: Any) -> list[str]:
    """What a tool quotes, best first, until it has quoted enough; its pages one after the other."""
    shown, offset = list[str](), 0
    while offset >= 0 and sum(map(len, shown)) < max(LENGTHS):
        answer: dict[str, Any] = (
            await client.call_tool(tool, {**arguments, "offset": offset})
        ).structured_content or {}
        found: list[dict[str, Any]] = answer.get("passages") or answer.get("evidence") or []
        shown += [piece.strip() for row in found for piece in (row.get("text") or row["content"]).split("[…]")]
        offset = answer.get("next_offset", -1)
    return shown


async def indexed(client: Client) -> None:
    """Wait until the session has all its vectors."""
    while "being indexed" in str(await client.call_tool("semantic_search", {"query": "results"})):  # noqa: ASYNC110
        await asyncio.sleep(1)


async def answered(papers: Sequence[dict[str, Any]], queries: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """For each way to ask, the characters before the answer to each question: one paper with `get_full_text`, a session
    of `TOGETHER` papers with `semantic_search`, and one of the same papers as the user pastes them."""
    found: dict[str, list[float]] = {"paper": [], "session": [], "pasted": []}
    for start in range(0, len(papers), TOGETHER):
        some = papers[start : start + TOGETHER]
        made = [published(paper, paper["id"]) for paper in some]
        contents = {paper["id"]: one.text.content for paper, one in zip(some, made, strict=True)}
        asked = [(query, contents[query["paper"]]) for query in queries if query["paper"] in contents]
        by_id = {paper["id"]: paper for paper in some}
        for name, rows in found.items():
            async with Client(fake_server(literature=FakeSearch(tuple(made)))) as client:
                if name == "pasted":
                    for paper in some:
                        item = {"title": paper["title"], "content": markdown(paper)}
                        await client.call_tool("add_evidence", {"items": [item]})
                else:
                    await client.call_tool("pubmed_search", {"query": "all"})
                await indexed(client)
                for query, content in asked:
                    how: dict[str, Any] = {"query": query["text"]}
                    if name == "paper":
                        how = {"id": f"pubmed:{query['paper']}", "question": query["text"]}
                    shown = await shown_by(client, "get_full_text" if name == "paper" else "semantic_search", **how)
                    rows.append(characters_before(shown, content, spans(by_id[query["paper"]], query)))
    return found


def markdown(paper: dict[str, Any]) -> str:
    """A paper as a user pastes it."""
    lines, above = [f"# {paper['title']}"], list[str]()
    for title, group in itertools.groupby(paper["paragraphs"], key=lambda row: row["section"]):
        names = [*filter(None, title.split(" > "))]
        known = sum(1 for _ in itertools.takewhile(lambda two: two[0] == two[1], zip(names, above, strict=False)))
        lines += [f"{'#' * (level + 2)} {name}" for level, name in enumerate(names) if level >= known]
        above = names
        lines += [row["text"] for row in group]
    return "\n\n".join(lines)[:100_000]


async def cost(papers: Sequence[dict[str, Any]], questions: Sequence[str], count: int) -> None:
    embedder = EmbeddingService()
    settings = Settings(max_evidence=1_000_000)
    registry = SessionRegistry(settings, embedder, open_backend(settings))
    store = await registry.open()
    made = [published(paper, str(number)) for number, paper in zip(range(1, count + 1), itertools.cycle(papers))]
    texts = [passage.content for one in made for passage in passages(one)]
    total, sample = len(texts), texts[:: max(1, len(texts) // SAMPLE)]
    bare = Bare()
    bare.embed(sample[:8], 8)
    bare_seconds = [bare_pace(bare, sample)]
    await embedder.vectors(["warm"])
    first = Publication.of("note", "Starts Chroma, once per process.", provider="bench", source="user", title="First")
    await (await registry.open()).add_evidence([first])
    gc.collect()
    gc.freeze()  # as the server does
    before, stalls = resident(), Stalls()
    watch = asyncio.create_task(stalls.watch())
    start = time.perf_counter()
    for one in made:
        await store.add_evidence([one])
    stored = time.perf_counter() - start
    await store.search_similar("warm")
    embedded = time.perf_counter() - start
    watch.cancel()
    bare_seconds.append(bare_pace(bare, sample))
    model = statistics.mean(bare_seconds) * total
    gc.collect()
    memory = (resident() - before) / total * 1_000
    print(
        f"{count} papers of {total:,} passages: stored within {stored:.1f} s, embedded within {embedded:.1f} s; "
        f"longest stall {stalls.longest * 1_000:.0f} ms; {memory:.1f} MB per 1,000 passages"
    )
    print(f"bare onnxruntime would take {model:.1f} s: {model / embedded:.2f} of its speed")
    await compare(store, embedder, made, questions)
    await registry.aclose()


def bare_pace(bare: Bare, sample: Sequence[str]) -> float:
    """Seconds a passage, in batches of the size that suits it best."""
    times: list[float] = []
    for batch in (1, 8, 32):
        start = time.perf_counter()
        bare.embed(sample, batch)
        times.append((time.perf_counter() - start) / len(sample))
    return min(times)


async def compare(
    store: EvidenceStore, embedder: EmbeddingService, made: Sequence[Publication], questions: Sequence[str]
) -> None:
    chance = np.random.default_rng(0)
    client = chromadb.EphemeralClient(chromadb.config.Settings(anonymized_telemetry=False))
    bare = client.create_collection("bare", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
    for one in made:
        made_up = chance.normal(size=(len(passages(one)), embedder.dimension)).astype(np.float32)
        bare.add(ids=[f"{one.id} {number}" for number in range(len(made_up))], embeddings=made_up)

    async def plain(question: str) -> None:
        bare.query(query_embeddings=await embedder.query_vectors([question]), n_results=5)

    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for number, question in enumerate(questions[: 2 * SEARCHES]):
        name, work = (("ours", store.search_similar), ("bare", plain))[number % 2]
        times[name].append(await timed(work, question))
    ours, near = (statistics.median(times[name]) * 1_000 for name in ("ours", "bare"))
    print(f"a search: {ours:.1f} ms, bare {near:.1f} ms: {ours / near:.2f}x")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--papers", type=int, default=200)
    parser.add_argument("--half", type=int, choices=(0, 1), help="0 to tune on, 1 to report")
    parser.add_argument("--most", type=int, default=1_000, help="papers that are asked")
    parser.add_argument("--questions", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    papers, queries = (rows(arguments.folder / name) for name in ("papers.jsonl", "queries.jsonl"))
    half = papers[arguments.half :: 2] if arguments.half is not None else papers
    found = await answered(half[: arguments.most], queries) if arguments.questions else {}
    for name, some in found.items():
        shares = " / ".join(f"{sum(before < length for before in some) / len(some):.1%}" for length in LENGTHS)
        print(f"{name}: answered within {' / '.join(map(str, LENGTHS))} characters: {shares} of {len(some)} questions")
    if arguments.papers:
        await cost(papers, [query["text"] for query in queries], arguments.papers)


if __name__ == "__main__":
    asyncio.run(main())
