"""Recorded articles, from the folder in DEEPCRITICAL_SOURCES_DIR, compared with an independent reading of them.

Paragraphs and captions are compared without white space, punctuation and case, after NFKC.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deepcritical_mcp.models import PARAGRAPH_BREAK, Publication, own_spans
from deepcritical_mcp.reading.jats import JatsReading, read_jats
from deepcritical_mcp.text import normalized

FOLDER = Path(os.environ.get("DEEPCRITICAL_SOURCES_DIR", ""))
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("DEEPCRITICAL_SOURCES_DIR" not in os.environ, reason="DEEPCRITICAL_SOURCES_DIR is not set"),
]

Row = dict[str, Any]


@cache
def recorded() -> Sequence[tuple[Row, JatsReading]]:
    """Each article's independent reading, and ours."""
    lines = [line for path in sorted(FOLDER.glob("jats*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    rows: list[Row] = [json.loads(line) for line in lines]
    return [(row, _reading_of(row)) for row in rows]


def _reading_of(row: Row) -> JatsReading:
    index: int = row.get("index", 0)
    return read_jats((FOLDER / row["file"]).read_bytes())[index]


def with_body() -> list[tuple[Row, JatsReading]]:
    return [(row, reading) for row, reading in recorded() if row["has_body"]]


def plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalized("NFKC", text)).casefold()


def _path(titles: Sequence[str]) -> tuple[str, ...]:
    return tuple(plain(title) for title in titles if title)


def in_order(wanted: Iterable[object], found: Iterable[object]) -> bool:
    rest = iter(found)
    return all(any(one == other for other in rest) for one in wanted)


def kinds(reading: JatsReading, kind: str) -> int:
    return sum(part.kind == kind for part in reading.parts)


def test_all_paragraphs_are_there() -> None:
    missing, count = list[str](), 0
    for row, reading in with_body():
        text = plain(reading.content)
        for section in (*row["sections"], *row["back_sections"]):
            for paragraph in section["paragraphs"]:
                count += 1
                if plain(paragraph) not in text:
                    missing.append(f"{row['file']}: {paragraph[:80]}")
    assert len(missing) <= 0.005 * count, missing[:10]


def test_abstracts_are_there() -> None:
    missing = [
        row["file"]
        for row, reading in with_body()
        for text in [plain(reading.abstract + reading.content)]
        for abstract in row["abstracts"]
        for section in abstract["sections"]
        if plain("".join(section["paragraphs"])) not in text
    ]
    assert len(missing) <= 1, missing


def test_the_titles_of_sections_stand_in_order() -> None:
    wrong = [
        row["file"]
        for row, reading in with_body()
        if not in_order(
            [plain(one["path"][-1]) for one in row["sections"] if one["path"] and one["path"][-1]],
            [plain(part.path[-1]) for part in reading.parts if part.path],
        )
    ]
    assert len(wrong) <= 0.01 * len(with_body()), wrong


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


def test_all_captions_are_there() -> None:
    missing = [
        f"{row['file']}: {caption[:60]}"
        for row, reading in with_body()
        for text in [plain(reading.content)]
        for caption in (*row["table_captions"], *row["figure_captions"])
        if plain(caption) not in text
    ]
    assert missing == []


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
