"""Recorded articles, from the folder in DEEPCRITICAL_SOURCES_DIR, compared with an independent reading of them.

Paragraphs and captions are compared without white space, punctuation and case, after NFKC.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deepcritical_mcp.models import PARAGRAPH_BREAK, Publication, own_spans
from deepcritical_mcp.reading.jats import Reading, read_jats
from deepcritical_mcp.text import normalized

FOLDER = Path(os.environ.get("DEEPCRITICAL_SOURCES_DIR", ""))
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("DEEPCRITICAL_SOURCES_DIR" not in os.environ, reason="DEEPCRITICAL_SOURCES_DIR is not set"),
]

Row = dict[str, Any]


@cache
def recorded() -> Sequence[tuple[Row, Reading]]:
    """Each article's independent reading, and ours."""
    lines = [line for path in sorted(FOLDER.glob("jats*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    rows: list[Row] = [json.loads(line) for line in lines]
    return [(row, read_jats((FOLDER / row["file"]).read_bytes())[int(row.get("index", 0))]) for row in rows]


def with_body() -> list[tuple[Row, Reading]]:
    return [(row, reading) for row, reading in recorded() if row["has_body"]]


def plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalized("NFKC", text)).casefold()


def _path(titles: Sequence[str]) -> tuple[str, ...]:
    return tuple(plain(title) for title in titles if title)


def in_order(wanted: Iterable[object], found: Iterable[object]) -> bool:
    rest = iter(found)
    return all(any(one == other for other in rest) for one in wanted)


def kinds(reading: Reading, kind: str) -> int:
    return sum(part.kind == kind for part in reading.parts)


TEXTS: dict[str, tuple[float, Callable[[Row], Iterable[str]]]] = {
    "paragraphs": (
        0.005,
        lambda row: (one for part in (*row["sections"], *row["back_sections"]) for one in part["paragraphs"]),
    ),
    "abstracts": (
        0.005,
        lambda row: ("".join(part["paragraphs"]) for one in row["abstracts"] for part in one["sections"]),
    ),
    "captions": (0, lambda row: (*row["table_captions"], *row["figure_captions"])),
}
"""What the independent reading has, and which share of it may be missing."""


@pytest.mark.parametrize("kind", TEXTS)
def test_all_texts_are_there(kind: str) -> None:
    allowed, texts_of = TEXTS[kind]
    missing, count = list[str](), 0
    for row, reading in with_body():
        text = plain(reading.abstract + reading.content)
        for one in texts_of(row):
            count += 1
            missing += [f"{row['file']}: {one[:80]}"] if plain(one) not in text else []
    assert count
    assert len(missing) <= allowed * count, missing[:10]


def test_the_paths_of_sections_stand_in_order() -> None:
    """Except those of taxonomic treatments, which we put under the name of their taxon."""
    wrong = [
        row["file"]
        for row, reading in with_body()
        if b"taxon-treatment>" not in (FOLDER / row["file"]).read_bytes()
        and not in_order(
            [_path(one["path"]) for one in row["sections"] if any(one["path"])],
            [_path(part.path) for part in reading.parts],
        )
    ]
    assert len(wrong) <= 0.01 * len(with_body()), wrong


@pytest.mark.parametrize(("kind", "key"), [("table", "tables"), ("figure", "figures")])
def test_all_tables_and_figures_are_parts(kind: str, key: str) -> None:
    assert [row["file"] for row, reading in with_body() if kinds(reading, kind) != row[key]] == []


def test_each_reference_is_a_paragraph() -> None:
    wrong: list[str] = []
    for row, reading in with_body():
        spans = own_spans(reading.parts, len(reading.content))
        lists = [reading.content[start:end].strip() for part, start, end in spans if part.kind == "references"]
        if sum(len(one.split(PARAGRAPH_BREAK)) for one in lists if one) != row["references"]:
            wrong.append(row["file"])
    assert wrong == []


def test_sub_articles_stand_apart() -> None:
    """The independent reading counts only those of the article itself, and not those inside them."""
    wrong = [
        row["file"]
        for row, reading in with_body()
        if sum(part.kind == "sub_article" and not part.parent for part in reading.parts) < len(row["sub_articles"])
    ]
    assert wrong == []


def test_licences_and_identifiers_are_the_same() -> None:
    wrong = [
        f"{row['file']}: {key}"
        for row, reading in recorded()
        for key in ("pmid", "pmcid", "doi")
        if str(reading.fields.get(key, "")) != row[key].lower().replace("pmc", "PMC")
    ]
    assert wrong == []
    others = [row["file"] for row, reading in recorded() if plain(reading.licence) != plain(row["license"])]
    assert len(others) <= 1, others


def test_every_reading_makes_a_publication() -> None:
    for _, reading in recorded():
        publication = Publication.of("full_text", reading.content or "-", provider="pmc", **reading.fields)
        assert publication.title != "[No title]"
