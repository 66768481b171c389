"""Invented evidence for the board, and what a tool result with it looks like."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from deepcritical_mcp.board import board_meta
from deepcritical_mcp.evidence.embedding.projection import Point, project
from deepcritical_mcp.models import Evidence, Publication, SearchResult, StatusNotice
from deepcritical_mcp.tools.answers.structured import structured
from tests.publications import published

SESSION = "rs_00112233445566778899aabbccddeeff"
TOPICS = (
    (
        "Metformin and healthy ageing",
        ("Metformin delays frailty in {n} older adults", "Metformin use and mortality: a cohort of {n}"),
    ),
    (
        "Sleep and memory",
        ("Slow-wave sleep consolidates memory in {n} volunteers", "Naps and recall: a trial with {n} students"),
    ),
    (
        "Vitamin D and falls",
        ("Vitamin D does not prevent falls: {n} participants", "High-dose vitamin D and fractures in {n} women"),
    ),
)
ABSTRACT = (
    "BACKGROUND: It is not known whether this holds outside of the clinic. METHODS: We followed {n} people for five "
    "years and compared them with matched controls. RESULTS: The hazard ratio was 0.87 (95% CI 0.79 to 0.96), with "
    "little difference between centres; the effect was larger in those over 75. Two sensitivity analyses agreed. "
    "CONCLUSIONS: The finding supports, but does not prove, a causal role, and a randomised trial is under way."
)


def publication(number: int = 0, **changes: Any) -> Publication:
    """The n-th publication of an invented session; two in eight from the web, one a note."""
    _, titles = TOPICS[number % 3]
    source = {5: "web", 6: "web", 7: "user"}.get(number % 8, "pubmed")
    title = titles[number // 3 % 2].format(n=120 + 37 * number)
    numbers = {
        "pmid": str(31_000_000 + number),
        "doi": f"10.5555/demo.{number}",
        "journal": "Journal of Invented Trials",
    }
    fields: dict[str, Any] = {
        "source": source,
        "title": title,
        "date": f"{2001 + number * 7 % 24}-{number % 12 + 1:02d}",
        "authors": ("Berg Jan", "Okafor Chi", "García López José", "Sleep Study Group")[: number % 4 + 1],
        "url": "" if source == "user" else f"https://example.org/{source}/{number}",
    }
    if source == "pubmed":
        fields |= numbers
    content = changes.pop("content", ABSTRACT.format(n=120 + 37 * number))
    return published(content, provider=source, found_by=("healthy ageing",), **{**fields, **changes})


def piece(number: int = 0, **changes: Any) -> Evidence:
    """The n-th publication as a search shows it."""
    relevance = changes.pop("relevance", round(0.9 - number % 20 * 0.03, 2))
    similar = changes.pop("similar", ())
    return Evidence.of(publication(number, **changes), relevance=relevance, similar=similar)


def publications(count: int) -> list[Publication]:
    """`count` publications; the second is retracted, the third under a concern, the fourth corrected."""
    notice = StatusNotice(kind="retraction", pmid="39000001", reference="J Invented Trials. 2020;1(2):3")
    changes: Mapping[int, dict[str, Any]] = {
        1: {"status": "retracted", "status_notices": (notice,)},
        2: {"status": "concern", "status_notices": (StatusNotice(kind="concern", pmid="39000002"),)},
        3: {"status": "corrected", "status_notices": (StatusNotice(kind="erratum", reference="J Invented Trials"),)},
    }
    return [publication(number, **changes.get(number, {})) for number in range(count)]


def pieces(count: int) -> list[Evidence]:
    """The same as a search shows them; the first names the fourth as nearly the same."""
    similar: Mapping[int, tuple[str, ...]] = {0: (f"pubmed:{31_000_003}",)}
    relevances = (round(0.9 - number % 20 * 0.03, 2) for number in range(count))
    return [
        Evidence.of(one, relevance=relevance, similar=similar.get(number, ()))
        for number, (one, relevance) in enumerate(zip(publications(count), relevances, strict=True))
    ]


def places(evidence: Sequence[Evidence | Publication], topics: int = 3) -> dict[str, Point]:
    """A place for each piece, close to those of the same topic."""
    dice = random.Random(7)
    vectors = [
        [float(axis == number % topics) + dice.gauss(0, 0.15) for axis in range(12)] for number in range(len(evidence))
    ]
    return {one.id: point for one, point in zip(evidence, project(vectors), strict=True)}


def result(
    evidence: Sequence[Evidence], *, others: Sequence[Evidence] = (), query: str = "healthy ageing", **fields: Any
) -> dict[str, Any]:
    """A search's CallToolResult on the wire; `others` are in the session and only on the map."""
    found = SearchResult(session_id=SESSION, query=query, evidence=tuple(evidence), **fields)
    everything = [*evidence, *others]
    return {
        "content": [{"type": "text", "text": "readable"}],
        "structuredContent": structured(found),
        "_meta": board_meta(SESSION, everything, places(everything), total=len(everything), shown=evidence),
    }
