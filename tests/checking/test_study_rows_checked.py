"""What the check says of rows of tables that name a study by its number: the number is looked up."""

from __future__ import annotations

import pytest

from deepcritical_mcp.checking.draft import read_draft
from tests.checking.reference_cases import checked, checked_draft

# PMID 30000001 is Müller 2019, 30000003 Smith 2015.


def table(header: str, row: str) -> str:
    rule = "---|" * (header.count("|") + 1)
    return f"We included these.\n\n| {header} |\n|{rule}\n| {row} |\n\nThey are old.\n"


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Study | Year | PMID | n", "Müller et al. | 2019 | 30000001 | 1998"),
        ("PMID | Author | Year | Journal", "30000003 | John A. Smith | 2015 | PLoS One"),
        ("Author | Year | Link", "Müller JK | 2019 | https://pubmed.ncbi.nlm.nih.gov/30000001/"),
        ("Reference | DOI", "Müller et al. (2019) [12] | 10.1016/j.jnwc.2018.12.004"),
        ("Title | PMID | Year", "Zinc supplementation and wound healing in older adults | 30000001 | 2019"),
        ("Study | PMID", "Müller<br>2019 | 30000001"),
    ],
)
async def test_the_number_of_a_row_is_looked_up(header: str, row: str) -> None:
    (outcome,) = await checked_draft(table(header, row))
    assert outcome.verdict == "verified"


async def test_a_row_with_several_numbers_says_nothing_of_one_of_them() -> None:
    outcomes = await checked_draft(table("Study | Year | PMID", "Müller | 2011 | 30000001; 30000003"))
    assert [one.verdict for one in outcomes] == ["verified", "verified"]


def test_rows_that_tabs_part_are_read_as_those_of_markdown() -> None:
    draft = read_draft("Study\tYear\tPMID\nMüller et al.\t2019\t30000001\nHolmberg\t2004\t30000003\n")
    assert [one.text for one in draft.references] == ["Müller et al. 2019 PMID 30000001", "PMID 30000003"]
    assert [one.claim for one in draft.sentences] == ["Müller et al.; 2019", "Holmberg; 2004"]


def test_lines_with_tabs_below_no_header_of_a_table_are_no_table() -> None:
    entries = "1.\tMüller JK. Zinc in wounds. Lancet 2019;1:2.\n2.\tSmith J. Iron in anemia. JAMA 2015;3:4.\n"
    assert [one.label for one in read_draft(f"References\n\n{entries}").references] == ["1", "2"]


async def test_what_has_neither_title_nor_number_is_said_to_say_too_little() -> None:
    outcome = await checked("Ders., a. a. O.")
    assert outcome.reason == "It says too little to be looked for: neither a title nor a number."


def test_the_rows_of_a_table_of_references_need_no_citations() -> None:
    row = "Müller JK | 2019 | Zinc supplementation and wound healing in older adults | 30000001"
    draft = read_draft(f"Zinc heals [1].\n\n| Author | Year | Title | PMID |\n|---|---|---|---|\n| {row} |\n")
    assert not any("never cited" in one for one in draft.remarks)


async def test_numbers_within_the_words_of_a_cell_stay_in_the_text() -> None:
    outcomes = await checked_draft(table("Study | Outcome", "Lind 2009 | fewer than in PMID 30000001"))
    assert [one.reference.is_inline for one in outcomes] == [True]
