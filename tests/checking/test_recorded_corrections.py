"""Corrupted references of the shared data, corrected: nothing differs any more, and little else has changed."""

import json
import os
from pathlib import Path

import pytest
from rapidfuzz.distance import Indel

from deepcritical_mcp.checking.correction import corrected
from deepcritical_mcp.models import Publication, ReferenceProblem
from deepcritical_mcp.search.references import compare, read_reference
from deepcritical_mcp.sources.pubmed.records import read_records

FOLDER = Path(os.environ.get("DEEPCRITICAL_CITATIONS_DIR", ""))
pytestmark = pytest.mark.skipif("DEEPCRITICAL_CITATIONS_DIR" not in os.environ, reason="citations not available")
LITTLE = 12
"""Characters that differ at most after a year was corrected, with its month."""


def problems_of(written: str, publication: Publication) -> list[ReferenceProblem]:
    reference = read_reference(written)
    found = [
        ReferenceProblem(field=one.field, written=one.written, true=one.true)
        for one in compare(reference, publication).differences
    ]
    for field in ("pmid", "doi"):
        stands, true = getattr(reference.ids, field), getattr(publication, field)
        if stands and true and stands.lower() != true.lower():
            found.append(ReferenceProblem(field=field, written=stands, true=true))
    return found


@pytest.mark.long
def test_corrupted_references_agree_with_their_records_when_they_are_corrected() -> None:
    library = {one.pmid: one for one in read_records((FOLDER / "records.xml").read_bytes()).publications}
    rows = [json.loads(line) for line in (FOLDER / "citations.jsonl").read_text("utf-8").splitlines()]
    cases = 0
    for row in rows:
        record = library.get(row["truth"].get("pmid", ""))
        if not record or not (problems := problems_of(row["text"], record)):
            continue
        cases += 1
        line = corrected(row["text"], record, problems)
        assert problems_of(line, record) == [], row["id"]
        is_line = read_reference(row["text"]).entry is None
        if is_line and {one.field for one in problems} == {"year"}:
            assert Indel.distance(row["text"].strip(), line) <= LITTLE, row["id"]
    assert cases > 0
