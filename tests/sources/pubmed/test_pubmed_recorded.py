"""Every recorded record of PubMed, held against an independent reading of it."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication
from deepcritical_mcp.sources.pubmed.xml import Records, read_records

FOLDER = os.environ.get("DEEPCRITICAL_RECORDED_DIR", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="DEEPCRITICAL_RECORDED_DIR is not set")

Reading = Mapping[str, Any]
SUFFIX = re.compile(r" (Jr|Sr|II|III|IV|2nd|3rd|4th)$")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
KINDS = {"RetractionIn": "retraction", "ExpressionOfConcernIn": "concern", "ErratumIn": "erratum"}


@pytest.fixture(scope="module")
def readings() -> dict[str, list[Reading]]:
    by_file: dict[str, list[Reading]] = defaultdict(list)
    for line in (Path(FOLDER) / "records.jsonl").read_text().splitlines():
        reading: Reading = json.loads(line)
        by_file[reading["source_file"]].append(reading)
    return by_file


def answer(file: str) -> Records:
    return read_records((Path(FOLDER) / file).read_bytes())


def test_every_recorded_record_is_read(readings: dict[str, list[Reading]]):
    assert readings
    for file, expected in readings.items():
        records = answer(file)
        assert records.well_formed, file
        assert not records.unreadable, file
        read = [piece.pmid for piece in records.publications]
        assert read[: len(expected)] == [reading["pmid"] for reading in expected], file


def test_every_field_equals_the_independent_reading(readings: dict[str, list[Reading]]):
    differences = [
        f"{file} {reading['pmid']} {difference}"
        for file, expected in readings.items()
        for piece, reading in zip(answer(file).publications, expected, strict=False)
        for difference in differences_of(piece, reading)
    ]
    assert differences == []


def differences_of(piece: Publication, reading: Reading) -> Iterator[str]:
    title = reading["title"] or NO_TITLE
    corrections = [one for one in reading["corrections"] if one["ref_type"] in KINDS]
    kinds = {KINDS[one["ref_type"]] for one in corrections}
    yield from _difference("title", piece.title, title)
    yield from _difference("content", piece.text.content, reading["abstract_text"] or NO_ABSTRACT)
    # The independent reading leaves suffixes out.
    yield from _difference(
        "authors",
        [SUFFIX.sub("", str(name)) for name in piece.authors],
        [SUFFIX.sub("", name) for name in reading["authors"]],
    )
    yield from _difference("journal", piece.journal, reading["journal"] or "")
    yield from _difference("date", piece.date, _date(reading))
    yield from _difference("doi", piece.doi, reading["doi"] or "")
    yield from _difference("pmcid", piece.pmcid, reading["pmcid"] or "")
    yield from _difference("types", list(piece.publication_types), reading["publication_types"])
    yield from _difference("mesh", list(piece.mesh_terms), [one["descriptor"] for one in reading["mesh"]])
    yield from _difference("status", piece.status, _status(reading["is_retracted"], kinds))
    yield from _difference(
        "notices",
        sorted((one.kind, one.pmid) for one in piece.status_notices),
        sorted((KINDS[one["ref_type"]], one["pmid"] or "") for one in corrections),
    )
    yield from _difference("volume", piece.volume, reading.get("volume") or piece.volume)
    missing = [word for word in reading["keywords"] if _plain(word) not in map(_plain, piece.keywords)]
    yield from _difference("keywords", missing, [])


def _difference(name: str, read: object, expected: object) -> Iterator[str]:
    if _plain(read) != _plain(expected):
        yield f"{name}: {read!r} instead of {expected!r}"


def _plain(value: object) -> object:
    """Superscripts and subscripts as plain characters: the independent reading keeps those."""
    if isinstance(value, str):
        return re.sub("[−–]", "-", unicodedata.normalize("NFKC", value))
    return [_plain(one) for one in cast("list[object]", value)] if isinstance(value, list) else value


def _status(is_retracted: bool, kinds: set[str]) -> str:
    if is_retracted or "retraction" in kinds:
        return "retracted"
    return "concern" if "concern" in kinds else "corrected" if "erratum" in kinds else "ok"


def _date(reading: Reading) -> str:
    """The date as the independent reading's own parts say it."""
    published: Reading = reading["pub_date"] or {}
    if not published.get("year"):
        digits = re.findall(r"\d+", str(reading.get("article_date") or ""))
        return "-".join(digits) or "Unknown"
    said = str(published.get("month") or published.get("season") or published.get("medline_date") or "")
    named = re.search("|".join(MONTHS), said)
    month = MONTHS.index(named[0]) + 1 if named else int(said) if said.isdecimal() else 0
    date = f"{published['year']}-{month:02}" if month else str(published["year"])
    return f"{date}-{int(published['day']):02}" if month and published.get("day") else date
