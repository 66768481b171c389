"""What is exported of full texts: never all, and little where the licence is not open."""

import pytest

from deepcritical_mcp.board import board_report
from deepcritical_mcp.export import ExportFormat
from deepcritical_mcp.export.reference import is_open
from deepcritical_mcp.models import NO_ABSTRACT, Part, Publication, Text
from tests.publications import export, published

SENTENCE = "Zinc was given to every second patient of the ward. "


def paper(licence: str, abstract: str = "Zinc speeds up repair.") -> Publication:
    """A paper whose full text was read."""
    whole = Text(
        kind="full_text",
        content=SENTENCE * 200,
        provider="pmc",
        parts=(Part(anchor="s1", path=("Results",)),),
        licence=licence,
        url="https://pmc.example/PMC1",
    )
    record = published(abstract, source="pubmed", title="Zinc in wounds", pmid="7")
    texts = (whole, *record.texts) if abstract == NO_ABSTRACT else (*record.texts, whole)
    return record.model_copy(update={"texts": texts})


CREATIVE_COMMONS = "https://creativecommons.org/licenses"
OPEN = (
    "CC BY 4.0", "cc-by", "CC BY-SA", f"{CREATIVE_COMMONS}/by/4.0/", f"{CREATIVE_COMMONS}/by-sa/3.0/us/", "cc0 1.0",
    "https://creativecommons.org/publicdomain/zero/1.0/", "Public domain (US government work)",
    "This is an open access article under the terms of the Creative Commons Attribution License.",
)  # fmt: skip
OTHERS = (
    "", "CC BY-NC 4.0", "cc-by-nc-nd", "CC BY-ND", f"{CREATIVE_COMMONS}/by-nc-sa/4.0/", "TDM", "All rights reserved.",
    "Creative Commons Attribution-NonCommercial-NoDerivatives 4.0",
    "This file is available for text mining. It may also be used consistent with the principles of fair use.",
)  # fmt: skip


def test_open_licences_are_known_in_any_spelling_and_no_others_are_open() -> None:
    assert [one for one in OPEN if not is_open(one)] == [one for one in OTHERS if is_open(one)] == []


@pytest.mark.parametrize("format", ["bibtex", "ris", "csl-json", "markdown", "jsonl"])
@pytest.mark.parametrize("abstract", ["Zinc speeds up repair.", NO_ABSTRACT])
@pytest.mark.parametrize(("licence", "most"), [("CC BY 4.0", 1_500), ("CC BY-NC 4.0", 300), ("", 300)])
def test_no_export_has_a_full_text(format: ExportFormat, abstract: str, licence: str, most: int) -> None:
    for written in (export([paper(licence, abstract)], format), board_report([paper("", abstract)])):
        assert written.count(SENTENCE.strip()) * len(SENTENCE) <= most


@pytest.mark.parametrize("format", ["ris", "csl-json", "markdown"])
def test_the_licence_travels_with_the_reference(format: ExportFormat) -> None:
    written = export([paper("CC BY-NC 4.0")], format).replace("\\", "")
    assert "Full text (pmc): licence CC BY-NC 4.0, https://pmc.example/PMC1." in written
