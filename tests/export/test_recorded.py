"""Every real PubMed record at hand, exported and read back."""

import json
from typing import Any

import pytest

from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.models import Publication
from tests.export.recorded import needs_records, recorded_publications
from tests.export.test_export import bibtex_entries, csl_items, needs_pandoc, pybtex, rispy
from tests.publications import export

pytestmark = needs_records


@pytest.fixture(scope="module")
def recorded() -> list[Publication]:
    publications = recorded_publications()
    assert len(publications) > 100
    return publications


@pytest.mark.long
def test_every_library_reads_every_record(recorded: list[Publication]) -> None:
    bibtex = export(recorded, "bibtex")

    assert len(pybtex.parse_string(bibtex, "bibtex").entries) == len(recorded)
    assert len(bibtex_entries(bibtex)) == len(recorded)
    assert len(rispy.loads(export(recorded, "ris"))) == len(recorded)
    assert read_jsonl(export(recorded, "jsonl")) == recorded


@needs_pandoc
@pytest.mark.parametrize(("format", "dialect"), [("csl-json", "csljson"), ("bibtex", "biblatex")])
def test_pandoc_reads_every_record_as_it_is(recorded: list[Publication], format: Any, dialect: str) -> None:
    ours = unset(json.loads(export(recorded, "csl-json")))
    theirs = unset(csl_items(export(recorded, format), dialect))

    same = ("id", "container-title", "volume", "issue", "page", "DOI", "PMID", "PMCID", "URL", "issued")
    for one, other in zip(ours, theirs, strict=True):
        # pandoc does not read a season in CSL-JSON, and reads one of BibTeX as the months 21 to 24.
        seasons = {"Spring": 21, "Summer": 22, "Fall": 23, "Winter": 24}
        season = seasons.get(one["issued"].pop("season", "")) if "issued" in one else None
        if season and dialect == "biblatex":
            one["issued"]["date-parts"][0].append(season)
        assert {name: other.get(name) for name in same} == {name: one.get(name) for name in same}
        assert [plain_name(name) for name in other.get("author", [])] == [
            plain_name(name) for name in one.get("author", [])
        ]


def unset(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`items` without the apostrophes and fixed spaces that pandoc sets."""
    text = json.dumps(items, ensure_ascii=False)
    return json.loads(text.replace("’", "'").replace("‘", "'").replace("\N{NO-BREAK SPACE}", " "))


def plain_name(name: dict[str, str]) -> str:
    """A name as one line, whatever its particles were called."""
    parts = ("literal", "dropping-particle", "non-dropping-particle", "family", "given", "suffix")
    return " ".join(name[part] for part in parts if part in name)
