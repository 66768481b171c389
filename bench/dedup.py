"""How well duplicates are recognized, on labeled references, in several insertion orders.

    python bench/dedup.py asysd.csv [--orders 5]

The file has one reference per line (author, title, year, journal, abstract, doi, number, pages, volume, ...), labeled
in `source` as "unique" (one for each article) or "duplicate". It does not say of which article: each duplicate is
assigned to the unique reference it resembles most in title, abstract, journal, year, volume, pages and DOI together.
References are added to a real session one by one; an article is lost if none of its references was kept, and a
duplicate is left if a second one was. Plain cosine keeps references with a cosine below 0.90 to all those kept before.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import platform
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz, process

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.titles import tokens
from deepcritical_mcp.models import NO_ABSTRACT, Publication, split_name

PLAIN_THRESHOLD = 0.90
CANDIDATES = 10

Row = Mapping[str, str]


@dataclass(frozen=True)
class Reference:
    publication: Publication
    article: int


def read(path: Path) -> list[Reference]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    articles = [row for row in rows if row["source"] == "unique"]
    titles = [_plain(row["title"]) for row in articles]
    numbers = {row["record_id"]: number for number, row in enumerate(articles)}
    return [
        Reference(
            _publication(row),
            numbers.get(row["record_id"], -1) if row["source"] == "unique" else _article(row, articles, titles),
        )
        for row in rows
    ]


def _publication(row: Row) -> Publication:
    title = row["title"].strip()
    doi = re.sub(r"^doi\s+", "", row["doi"].strip(), flags=re.IGNORECASE)
    year = re.search(r"\b(19|20)\d\d\b", row["year"])
    return Publication.of(
        "abstract",
        row["abstract"].strip() or NO_ABSTRACT,
        provider="bench",
        source="pubmed",
        title=title,
        date=year[0] if year else "Unknown",
        authors=[split_name(name.strip()) for name in re.split(r"(?<=\.)(?=[A-Z])", row["author"]) if name.strip()],
        doi=doi,
        journal=row["journal"],
    )


def _plain(title: str) -> str:
    return " ".join(tokens(title))


def _article(row: Row, articles: Sequence[Row], titles: Sequence[str]) -> int:
    near = process.extract(_plain(row["title"]), titles, scorer=fuzz.ratio, limit=CANDIDATES)
    return max((number for _, _, number in near), key=lambda number: _resemblance(row, articles[number]))


def _resemblance(one: Row, other: Row) -> float:
    def alike(column: str, length: int = 1_000) -> float:
        first, second = one[column].casefold().strip()[:length], other[column].casefold().strip()[:length]
        return fuzz.ratio(first, second) / 100 if first and second else 0.5

    def pages(row: Row) -> str:
        return re.split(r"\D", row["pages"].strip())[0] or row["pages"].strip()

    same_pages = float(pages(one) == pages(other)) if pages(one) and pages(other) else 0.5
    same_doi = float(_doi(one) == _doi(other)) if _doi(one) and _doi(other) else 0.5
    return (
        3 * fuzz.ratio(_plain(one["title"]), _plain(other["title"])) / 100
        + 2 * alike("abstract")
        + alike("year")
        + alike("journal")
        + alike("volume")
        + alike("author", 60)
        + same_pages
        + same_doi
    )


def _doi(row: Row) -> str:
    found = re.search(r"10\.\d{4,}/.*", row["doi"])
    return found[0].casefold().strip() if found else ""


def loss(kept: Sequence[int], articles: int) -> tuple[int, int]:
    """Articles lost and duplicates left, when references of these articles were kept."""
    return articles - len(set(kept)), len(kept) - len(set(kept))


async def ours(references: Sequence[Reference], embedder: EmbeddingService) -> list[int]:
    settings = Settings(max_evidence=1_000_000)
    registry = SessionRegistry(settings, embedder, open_backend(settings))
    store = await registry.open()
    outcomes = await store.add_evidence([reference.publication for reference in references])
    await registry.aclose()
    told = zip(references, outcomes, strict=True)
    return [reference.article for reference, outcome in told if outcome.status == "added"]


async def plain(references: Sequence[Reference], embedder: EmbeddingService) -> list[int]:
    vectors = await embedder.vectors([passages(reference.publication)[0].content for reference in references])
    kept: list[int] = []
    for place, vector in enumerate(vectors):
        if not kept or float(np.max(vectors[kept] @ vector)) < PLAIN_THRESHOLD:
            kept.append(place)
    return [references[place].article for place in kept]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--orders", type=int, default=5, help="random orders besides the file's own and its reverse")
    arguments = parser.parse_args()
    packages = ("deepcritical-mcp", "chromadb", "onnxruntime", "rapidfuzz")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in packages))
    references = read(arguments.file)
    articles = len({reference.article for reference in references})
    duplicates = len(references) - articles
    print(f"{len(references):,} references of {articles:,} articles\n")
    print(f"{'order':12}{'':14}{'articles lost':>18}{'duplicates left':>20}")
    orders = {"original": references, "reversed": references[::-1]}
    for seed in range(arguments.orders):
        orders[f"random {seed + 1}"] = random.Random(seed).sample(references, len(references))
    embedder = EmbeddingService()
    for order, row in orders.items():
        for system, way in (("deepcritical", ours), ("cosine 0.90", plain)):
            lost, left = loss(await way(row, embedder), articles)
            print(
                f"{order:12}{system:14}{lost:8} ({lost / articles:6.2%}){left:10} ({left / duplicates:6.2%})",
                flush=True,
            )


if __name__ == "__main__":
    asyncio.run(main())
