"""What a session, its exports and the two-tool profile make of preprints and trials."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.client import Client

from deepcritical_mcp.models import AuthorName, Publication, StatusNotice
from deepcritical_mcp.tools import Profile
from tests.fakes import FakeSearch, fake_server
from tests.wire import wire

PREPRINT = Publication.of(
    "abstract",
    "Zinc halves the time to wound closure in 40 mice. Copper did not.",
    provider="europepmc",
    source="preprint",
    title="Zinc halves the time to wound closure in mice",
    doi="10.1101/2024.01.02.300001",
    publisher="bioRxiv",
    date="2024-01-02",
    authors=(AuthorName("Ruiz", "Ana"),),
    publication_types=("Preprint",),
    url="https://doi.org/10.1101/2024.01.02.300001",
    status_checked="2026-11-22",
    status_notices=(StatusNotice(kind="published", pmid="11"),),
)
UNPUBLISHED = Publication.of(
    "abstract",
    "Honey dressings were compared with gauze in 12 rabbits.",
    provider="europepmc",
    source="preprint",
    title="Honey dressings for burns in rabbits",
    doi="10.64898/2026.01.02.26300001",
    publisher="medRxiv",
    date="2026-01-02",
    url="https://doi.org/10.64898/2026.01.02.26300001",
)
TRIAL = Publication.of(
    "registration",
    "Status: Recruiting\nPhase: Phase 3\n\nZinc tablets against placebo in adults with diabetic foot ulcers.",
    provider="trials",
    source="trial",
    title="Zinc for diabetic foot ulcers",
    nct="NCT09000001",
    date="2025-03",
    url="https://clinicaltrials.gov/study/NCT09000001",
)
PAPER = Publication.of(
    "abstract",
    "Vitamin C and scurvy in sailors.",
    provider="pubmed",
    source="pubmed",
    title="Oranges prevent scurvy",
    pmid="12",
)
ALL = (PREPRINT, UNPUBLISHED, TRIAL, PAPER)


@asynccontextmanager
async def session(publications: Sequence[Publication] = ALL, profile: Profile = "research") -> AsyncGenerator[Client]:
    """A client of a server whose search finds these publications."""
    async with Client(fake_server(literature=FakeSearch(tuple(publications)), profile=profile)) as client:
        yield client


async def call(client: Client, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return "".join(getattr(block, "text", "") for block in result.content), wire(result)


async def test_a_list_says_what_they_are_and_what_became_of_a_preprint() -> None:
    async with session() as client:
        await call(client, "pubmed_search", query="zinc")
        text, page = await call(client, "list_evidence")
    assert "# 4 items of evidence (Preprint: 2, Trial: 1, PubMed: 1)" in text
    assert "wound closure in mice (2024-01-02), preprint, published as PMID 11\n" in text
    assert "burns in rabbits (2026-01-02), preprint" in text
    assert "Zinc for diabetic foot ulcers (2025-03), trial" in text
    assert "Oranges prevent scurvy (Unknown)" in text
    assert page["sources"] == {"preprint": 2, "trial": 1, "pubmed": 1}


async def test_the_two_tool_profile_marks_preprints_and_names_their_article() -> None:
    async with session(profile="search-fetch") as client:
        _, found = await call(client, "search", query="zinc")
        ids = {one["title"]: one["id"] for one in found["results"]}
        urls = {one["title"]: one["url"] for one in found["results"]}
        _, preprint = await call(client, "fetch", id=ids[f"PREPRINT: {PREPRINT.title}"])
        _, trial = await call(client, "fetch", id=ids[TRIAL.title])
    assert urls[TRIAL.title] == "https://clinicaltrials.gov/study/NCT09000001"
    assert preprint["metadata"]["notices"] == ["Published as: PMID 11"]
    assert preprint["metadata"]["source"] == "preprint"
    assert (trial["metadata"]["nct"], trial["metadata"].get("notices", [])) == ("NCT09000001", [])
    assert "Phase 3" in trial["text"]
