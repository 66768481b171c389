"""Real and corrupted references against the records that they cite: sound ones agree, no other paper does."""

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deepcritical_mcp.evidence.titles import tokens
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references import Agreement, read_reference
from deepcritical_mcp.sources.pubmed.records import read_records

FOLDER = Path(os.environ.get("DEEPCRITICAL_CITATIONS_DIR", ""))
pytestmark = pytest.mark.skipif("DEEPCRITICAL_CITATIONS_DIR" not in os.environ, reason="citations not available")
SOUND = {"good", "good_varied", "good_epub_year", "good_real", "retracted", "wrong_year_by_one"}
OTHER_AUTHORS_OR_TITLE = {"mixture", "near_miss_title", "wrong_authors", "wrong_first_author"}
INVENTED = {"fabricated_by_chatgpt", "fabricated_composed"}
HALF = 0.5


@cache
def library() -> dict[str, tuple[Publication, frozenset[str]]]:
    found = read_records((FOLDER / "records.xml").read_bytes()).publications
    return {one.pmid: (one, frozenset(tokens(one.title))) for one in found}


def cited(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def accepted(written: str) -> list[tuple[str, Agreement]]:
    """The records that agree, the best first."""
    reference = read_reference(written)
    words = {word.token for word in reference.words}
    found = [
        (pmid, agreement)
        for pmid, (record, title) in library().items()
        if not reference.says.title or len(title & words) >= HALF * len(title)
        if (agreement := Agreement(reference, record)).is_accepted
    ]
    return sorted(found, key=lambda one: one[1].rank, reverse=True)


@pytest.mark.long
def test_real_references_are_recognized_and_nothing_else() -> None:
    rows = cited("citations_real.jsonl")
    found = {row["id"]: accepted(row["text"]) for row in rows}
    assert [id for row in rows if (id := row["id"]) and any(pmid != row["pmid"] for pmid, _ in found[id])] == []
    missed = [id for id, one in found.items() if not one]
    assert len(missed) <= 0.02 * len(rows), missed
    doubted = [id for id, one in found.items() if one and one[0][1].differences]
    assert len(doubted) <= 0.05 * len(rows), doubted


@pytest.mark.long
def test_corrupted_references_are_never_another_paper() -> None:
    outcomes: dict[str, Counter[str]] = {}
    for row in cited("citations.jsonl"):
        reference, true = read_reference(row["text"]), row["truth"].get("pmid", "")
        if not reference.says_more:
            continue
        found = accepted(row["text"])
        assert not found or found[0][0] == true, row["id"]
        told = "nothing" if not found else "differs" if found[0][1].differences else "agrees"
        outcomes.setdefault(row["kind"], Counter())[told] += 1
    for kind in SOUND & outcomes.keys():
        sound = outcomes[kind]
        assert sound["agrees"] >= 0.97 * sound.total(), (kind, sound)
    for kind in (OTHER_AUTHORS_OR_TITLE | INVENTED) & outcomes.keys():
        assert outcomes[kind].keys() == {"nothing"}, (kind, outcomes[kind])
    for kind in {"wrong_year", "wrong_journal", "wrong_volume_pages"} & outcomes.keys():
        assert outcomes[kind]["agrees"] == 0, (kind, outcomes[kind])
