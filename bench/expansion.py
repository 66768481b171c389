"""The effect of query expansion on retrieval: the direct query alone, and with variants fused 3:1.

    python bench/expansion.py FOLDER [FOLDER ...] [--counts 3 5 8] [--queries 300] [--weight 3]

A FOLDER holds corpus.jsonl (id, title, text), queries.jsonl (id, text) and qrels.tsv; where it has long_answers.jsonl,
the "mesh" of a document there is used as its MeSH terms. The corpus goes into a session of the repository's own store
and is searched with its hybrid search; each query's ranking is fused by reciprocal rank, the direct one weighing
`--weight` against 1 for each variant; `--weight 0` leaves the merging to `semantic_search`, as clients get it.
Reported: nDCG@10 and Recall@100 in points, and the difference to the direct query.

  evidence  with the session's evidence (it is the corpus, so this is feedback from the first hits)
  mesh      with NCBI's concepts, from answers in the MeSH database's wire form (bench/mesh/answers.json, written by
            hand); reported for the queries with a known concept
  all       evidence and mesh together
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Evidence, Expansion, Publication
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.search.expansion.expander import QueryExpander
from deepcritical_mcp.search.search_steps import fuse
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.sources.pubmed.source import PubMedVocabulary

DEPTH = 100
ANSWERS = Path(__file__).parent / "mesh" / "answers.json"


class MeshAnswers:
    """E-utilities from a file: no spelling, term mapping by the longest known words, MeSH records."""

    def __init__(self) -> None:
        data = json.loads(ANSWERS.read_text())
        self._records: dict[str, dict[str, list[str]]] = {
            uid: row for uid, row in data["result"].items() if uid != "uids"
        }
        self._mappings: dict[str, str] = data["mappings"]
        names = sorted(self._mappings, key=len, reverse=True)
        self._known = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)")

    def concepts(self, folder: Path) -> PubMedVocabulary:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        client = ApiClient(http, provider="pubmed", title="PubMed")
        eutils = EUtilities(client, base_url="http://ncbi.bench")
        return PubMedVocabulary(eutils, cache_dir=folder)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        params = dict(request.url.params) | dict(httpx.QueryParams(request.content.decode()))
        if request.url.path.endswith("espell.fcgi"):
            return httpx.Response(200, text="<eSpellResult><CorrectedQuery/><ERROR/></eSpellResult>")
        if request.url.path.endswith("esummary.fcgi"):
            found = {uid: self._records[uid] for uid in params["id"].split(",") if uid in self._records}
            return httpx.Response(200, json={"result": {"uids": list(found), **found}})
        ids: list[str] = []
        translations: list[dict[str, str]] = []
        if params["db"] == "mesh":
            wanted = set(re.findall(r'"([^"]+)"\[MeSH Terms\]', params["term"]))
            ids = [uid for uid, row in self._records.items() if row["ds_meshterms"][0].lower() in wanted]
        else:
            for name in dict.fromkeys(self._known.findall(params["term"].lower())):
                translations.append(
                    {"from": name, "to": f'"{self._mappings[name]}"[MeSH Terms] OR "{name}"[All Fields]'}
                )
        result = {"count": str(len(ids)), "idlist": ids, "translationset": translations, "querytranslation": ""}
        return httpx.Response(200, json={"esearchresult": result})


@dataclass
class Collection:
    """A corpus in a session, its queries and judgments; rankings are kept, since queries repeat."""

    store: EvidenceStore
    names: Mapping[str, str]
    queries: Mapping[str, str]
    relevant: Mapping[str, frozenset[str]]
    rankings: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    async def ranking(self, query: str) -> list[str]:
        if query not in self.rankings:
            self.rankings[query] = self._named(await self.store.search_similar(query, max_results=DEPTH))
        return self.rankings[query]

    async def merged(self, queries: Sequence[str], weight: float) -> list[str]:
        """The ranking of all queries together; with weight 0 as the store merges variants itself."""
        if weight:
            rankings = [await self.ranking(query) for query in queries]
            return fuse(rankings, [weight] + [1.0] * (len(rankings) - 1))
        return self._named((await self.store.search(queries[0], variants=queries[1:], max_results=DEPTH)).evidence)

    def _named(self, found: Sequence[Evidence]) -> list[str]:
        ids = [id for item in found for id in (item.id, *item.similar)]
        return [self.names[id] for id in ids if id in self.names]


async def load(folder: Path, sessions: SessionRegistry, max_queries: int) -> Collection:
    """The folder's corpus in a new session."""
    mesh = {row["id"]: row["mesh"] for row in lines(folder / "long_answers.jsonl")}
    store = await sessions.open()
    documents = list(lines(folder / "corpus.jsonl"))
    names: dict[str, str] = {}
    for start in range(0, len(documents), DEPTH):
        part = documents[start : start + DEPTH]
        outcomes = await store.add_evidence([publication(row, mesh.get(row["id"], ())) for row in part])
        names |= {outcome.evidence.id: row["id"] for outcome, row in zip(outcomes, part, strict=True)}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, score = line.split("\t")
        if int(score) > 0:
            relevant.setdefault(query, set()).add(document)
    queries = {row["id"]: row["text"] for row in list(lines(folder / "queries.jsonl"))[:max_queries]}
    return Collection(store, names, queries, {query: frozenset(ids) for query, ids in relevant.items()})


def publication(row: Mapping[str, str], mesh: Sequence[str]) -> Publication:
    title = row["title"] or row["text"].split(". ")[0]
    url = f"https://bench.example/{row['id']}"
    return Publication.of(
        "page", row["text"], provider="bench", source="user", title=title, url=url, mesh_terms=tuple(mesh)
    )


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().split("\n") if line] if path.exists() else []


def measured(ranking: Sequence[str], relevant: frozenset[str]) -> tuple[float, float]:
    """nDCG@10 and Recall@100, in points."""
    gain = sum(1 / math.log2(place + 2) for place, id in enumerate(ranking[:10]) if id in relevant)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return 100 * gain / ideal, 100 * len(relevant & set(ranking[:DEPTH])) / len(relevant)


async def compare(
    collection: Collection,
    expand: Callable[[str], Awaitable[Expansion]],
    weight: float,
    *,
    needs_concepts: bool,
    source: str,
) -> str:
    """One line: how many queries it is about, direct, fused, difference, and how many variants come from the source."""
    direct: list[tuple[float, float]] = []
    fused: list[tuple[float, float]] = []
    variants, of_source = 0, 0
    for query, text in collection.queries.items():
        expansion = await expand(text)
        if needs_concepts and not any(concept.mesh_id for concept in expansion.concepts):
            continue
        queries = [text, *(proposed.query for proposed in expansion.queries[1:])]
        variants += len(queries) - 1
        of_source += sum(proposed.source == source for proposed in expansion.queries[1:])
        relevant = collection.relevant[query]
        direct.append(measured(await collection.ranking(text), relevant))
        fused.append(measured(await collection.merged(queries, weight), relevant))
    (ndcg, recall), (ndcg_fused, recall_fused) = (
        [fmean(values) for values in zip(*rows, strict=True)] for rows in (direct, fused)
    )
    return (
        f"{len(direct):4d} queries  nDCG@10 {ndcg:5.2f} -> {ndcg_fused:5.2f} ({ndcg_fused - ndcg:+.2f})   "
        f"Recall@100 {recall:5.2f} -> {recall_fused:5.2f} ({recall_fused - recall:+.2f})   "
        f"{100 * of_source / max(1, variants):.0f} % of the variants from {source}"
    )


async def run(arguments: argparse.Namespace) -> None:
    settings = Settings(deadline=600)
    embedder = EmbeddingService(settings)
    sessions = SessionRegistry(settings, embedder, open_backend(settings))
    with tempfile.TemporaryDirectory() as cache:
        concepts = MeshAnswers().concepts(Path(cache))
        for folder in arguments.folders:
            collection = await load(folder, sessions, arguments.queries)
            merging = f"direct {arguments.weight:g}:1 against a variant" if arguments.weight else "merged by the store"
            print(f"{folder.name}: {len(collection.names):,} documents, {merging}")
            for count in arguments.counts:
                for name, mesh, store in (
                    ("evidence", None, collection.store),
                    ("mesh", concepts, None),
                    ("all", concepts, collection.store),
                ):
                    expander = QueryExpander(settings, mesh)

                    async def expand(
                        topic: str, expander: QueryExpander = expander, store: EvidenceStore | None = store
                    ) -> Expansion:
                        return await expander.expand(topic, count=count, store=store)  # noqa: B023 - awaited at once

                    row = await compare(
                        collection,
                        expand,
                        arguments.weight,
                        needs_concepts=mesh is not None,
                        source="evidence" if name == "all" else name,
                    )
                    print(f"  count {count}, {name:8s} {row}", flush=True)
    await sessions.aclose()
    embedder.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--counts", nargs="+", type=int, default=[3, 5, 8])
    parser.add_argument("--queries", type=int, default=300, help="maximum number of queries per folder")
    parser.add_argument("--weight", type=float, default=3.0, help="of the direct query; 0 = as the store merges")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
