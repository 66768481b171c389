"""`add_evidence` with items as models write them: a number is looked up, wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest

from deepcritical_mcp.models import Publication
from deepcritical_mcp.tools.add_evidence import EvidenceItem
from deepcritical_mcp.tools.arguments.schemas import read_arguments
from tests.search.full_text_fakes import FakeCompleter
from tests.search.lookup_fakes import FakeRecords
from tests.sources.ncbi import article
from tests.tools.test_get_full_text import reader
from tests.wire import wire

FIELDS = EvidenceItem.model_json_schema()["properties"]
SCHEMA: dict[str, Any] = {
    "properties": {"items": {"type": "array", "items": {"type": "object", "properties": FIELDS}}},
    "required": ["items"],
}
PAGE = "https://clinicaltrials.gov/study/NCT00000009"


def read(**arguments: object) -> Any:
    return read_arguments("add_evidence", arguments, SCHEMA)[0]["items"]


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ({"id": "NCT00000009"}, {"nct": "NCT00000009"}),
        ({"id": "PMC7000001"}, {"pmcid": "PMC7000001"}),
        ({"id": "doi:10.1000/zinc"}, {"doi": "10.1000/zinc"}),
        ({"id": 1234567}, {"pmid": "1234567"}),
        ({"nct_id": "NCT00000009"}, {"nct": "NCT00000009"}),
        ({"nctid": "NCT00000009"}, {"nct": "NCT00000009"}),
        ({"trial": "NCT00000009"}, {"nct": "NCT00000009"}),
        ({"trial_id": "NCT00000009"}, {"nct": "NCT00000009"}),
        ({"citation": "Ruiz A. Zinc. 2021."}, {"reference": "Ruiz A. Zinc. 2021."}),
        ({"ref": "Ruiz A. Zinc. 2021."}, {"reference": "Ruiz A. Zinc. 2021."}),
        ({"bibliography": "Ruiz A. Zinc. 2021."}, {"reference": "Ruiz A. Zinc. 2021."}),
        ({"pubmed_id": "7"}, {"pmid": "7"}),
        ({"pmc": "PMC7000001"}, {"pmcid": "PMC7000001"}),
        ({"nct": PAGE}, {"nct": "NCT00000009"}),
        ({"doi": PAGE}, {"nct": "NCT00000009"}),
        ({"doi": "https://www.nature.com/articles/s41586-000-0000-1"}, {"doi": "10.1038/s41586-000-0000-1"}),
        ({"doi": "https://who.example/zinc"}, {"url": "https://who.example/zinc"}),
        ({"pmid": "PMC12"}, {"pmid": "PMC12"}),
        ({"nct": PAGE, "doi": "10.1000/zinc"}, {"nct": "NCT00000009", "doi": "10.1000/zinc"}),
    ],
)
def test_numbers_are_read_by_what_they_are(written: dict[str, object], understood: dict[str, object]) -> None:
    assert read(items=[written]) == [understood]


def test_a_list_of_any_numbers_is_as_many_items() -> None:
    assert read(ids=["NCT00000009", "7", "10.1000/zinc"]) == [
        {"nct": "NCT00000009"},
        {"pmid": "7"},
        {"doi": "10.1000/zinc"},
    ]
    assert read(references=["Ruiz A. Zinc. 2021.", "Berg J. Iron. 2020."]) == [
        {"reference": "Ruiz A. Zinc. 2021."},
        {"reference": "Berg J. Iron. 2020."},
    ]


@pytest.mark.parametrize(
    "written",
    [
        "24451147, 32048627",
        "24451147; 32048627",
        "24451147\n32048627",
        "PMID: 24451147 and PMID 32048627",
        ["24451147", "32048627"],
        ["24451147, 32048627"],
        [24451147, 32048627],
        "[24451147, 32048627]",
        '"24451147","32048627"',
        "'24451147' '32048627'",
        [{"content": "24451147, 32048627"}],
    ],
)
def test_identifiers_in_place_of_items_are_looked_up_with_a_note(written: object) -> None:
    values, notes = read_arguments("add_evidence", {"items": written}, SCHEMA)
    assert values == {"items": [{"pmid": "24451147"}, {"pmid": "32048627"}]}
    assert 'as items=[{"pmid": "24451147"}, {"pmid": "32048627"}]' in notes[0]


def test_identifiers_of_several_kinds_are_looked_up_and_what_has_other_words_is_a_note() -> None:
    assert read(items="NCT00000620; PMC1790863, doi:10.1000/zinc https://who.example/zinc") == [
        {"nct": "NCT00000620"},
        {"pmcid": "PMC1790863"},
        {"doi": "10.1000/zinc"},
        {"url": "https://who.example/zinc"},
    ]
    for note in ("24451147 disagrees with 32048627", "Zinc, iron", "In 2021, 24451147 patients", "12, 15"):
        assert read(items=note) == [{"content": note}]


async def test_texts_that_are_only_numbers_are_looked_up() -> None:
    trial = Publication.of("registration", "A trial.", provider="ct", source="trial", title="T", nct="NCT00000009")
    registry = FakeRecords("trials", {"NCT00000009": trial}, takes="nct")
    records = {"7": article("7", "Zinc in wound repair.", doi="10.1000/zinc")}
    texts = ["NCT00000009", "PMC7000001", "doi:10.1000/zinc", "arXiv:2301.00001v2", "See 10.1000/zinc for the dose"]
    async with reader(records=records, completer=FakeCompleter(), lookups=[registry]) as ours:
        answer = wire(await ours.client.call_tool("add_evidence", {"items": texts}))
        alone = wire(await ours.client.call_tool("add_evidence", {"items": "NCT00000009"}))
    assert [(row["index"], row["id"][:8]) for row in answer["added"]] == [
        (0, "nct:NCT0"),
        (2, "pubmed:7"),
        (4, answer["added"][2]["id"][:8]),
    ]
    assert answer["added"][2]["id"].startswith("text:")
    assert [(row["index"], row["verdict"]) for row in answer["rejected"]] == [(1, "not_found"), (3, "not_found")]
    assert alone["duplicates"][0]["duplicate_of"] == "nct:NCT00000009"
