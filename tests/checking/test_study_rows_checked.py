"""What the check says of rows of tables that name a study by its number."""

from __future__ import annotations

import pytest

from deepcritical_mcp.checking.draft import read_draft
from tests.checking.reference_cases import checked, checked_draft

# PMID 30000001 is Müller 2019, 30000003 Smith 2015, 30000008 by a group (ORTHO-TXA) with Patel 2020.
RIGHT = [
    ("Study | Year | PMID | n", "Müller et al. | 2019 | 30000001 | 1998"),
    ("Study | Year | PMID", "Müller | 2019 | 30000001"),
    ("PMID | Author | Year | Journal", "30000001 | Müller JK | 2019 | J Nutr Wound Care"),
    ("PMID | Author | Year | Journal", "30000003 | John A. Smith | 2015 | PLoS One"),
    ("No. | First author, year | n | PMID", "1 | Müller, 2019 | 3 | 30000001"),
    (
        "Author | Year of publication | Study design | Link",
        "Weiss G | 1998 | RCT | https://pubmed.ncbi.nlm.nih.gov/30000006/",
    ),
    ("Authors | PMID", "Müller; van der Berg | 30000001"),
    ("Study (PMID) | n", "Müller 2019 (30000001) | 3"),
    ("Reference | DOI", "Müller et al. (2019) [12] | 10.1016/j.jnwc.2018.12.004"),
    ("Title | PMID | Year", "Zinc supplementation and wound healing in older adults | 30000001 | 2019"),
    ("Trial | Year | PMID", "ORTHO-TXA | 2020 | 30000008"),
    ("Study | Year | PMID", "Patel et al. | 2020 | 30000008"),
    ("Study | Year | PMID", "Zinc | 2019 | 30000001"),
    ("Trial | Year | PMID", "Heart Protection Study | 2019 | 30000001"),
    ("Study | Recruitment | PMID", "Müller 2019 | 2011 | 30000001"),
    ("Study | Recruitment years | PMID", "Müller 2019 | 2011 | 30000001"),
    ("Study | Year | PMID", "Guideline A | 2019 | 30000001"),
    ("Study, year | n | PMID", "Müller et al., 2019 | 3 | 30000001"),
    ("Study | Study year | Date | PMID", "Müller 2019 | 2011 | 12.03.2024 | 30000001"),
    ("Study (year) | Year of study | PMID", "Müller (2019) | 2011 | 30000001"),
    ("Study | Date of study | PMID", "Müller 2019 | May 2011 | 30000001"),
    ("First author (year) | PMID", "WOUND-ZN (Müller 2019) | 30000001"),
    ("First author (year) | PMID", "WOUND-ZN, Müller et al. 2019 | 30000001"),
    ("Study | PMID", "WOUND-ZN/Müller 2019 | 30000001"),
    ("Study | PMID", "WOUND-ZN (May 2019) | 30000001"),
    ("First author | Year | PMID", "Müller, JK | 2019 | 30000001"),
    ("Study | PMID", "Müller, J.K. 2019 | 30000001"),
    ("Study | PMID", "MÜLLER, Johann 2019 | 30000001"),
    ("Study | PMID", "Müller (n = 120) 2019 | 30000001"),
    ("Study | PMID", "Müller 2019 (1998 adults) | 30000001"),
    ("Study | PMID", "Johann Müller 2019 | 30000001"),
    ("Study | Year | PMID", "Müller | 2019 (online 2018) | 30000001"),
    ("Study | Year | PMID", "Müller | 2019-03-01 | 30000001"),
    ("Author, country, year | PMID", "Müller, Norway, 2019 | 30000001"),
    ("Author/country/year | PMID", "Müller/Norway/2019 | 30000001"),
    ("Study | PMID", "Müller, Oslo, Norway 2019 | 30000001"),
    ("Study | PMID", "Müller J.K. und Mitarb. 2019 | 30000001"),
    ("Author | PMID", "van der Berg A (senior author) | 30000001"),
    ("Author | PMID", "Müller JK, van der Berg A, O'Connor SP (2019) Norway | 30000001"),
    ("Study | PMID", "Müller<br>2019 | 30000001"),
    ("Study | PMID", "MÜLLER, 2019 | 30000001"),
]


def table(header: str, row: str) -> str:
    rule = "---|" * (header.count("|") + 1)
    return f"We included these.\n\n| {header} |\n|{rule}\n| {row} |\n\nThey are old.\n"


@pytest.mark.parametrize(("header", "row"), RIGHT)
async def test_a_row_that_agrees_with_the_record_of_its_number_is_verified(header: str, row: str) -> None:
    assert [one.verdict for one in await checked_draft(table(header, row))] == ["verified"]


async def test_a_row_with_several_numbers_says_nothing_of_one_of_them() -> None:
    outcomes = await checked_draft(table("Study | Year | PMID", "Müller | 2011 | 30000001; 30000003"))
    assert [one.verdict for one in outcomes] == ["verified", "verified"]


@pytest.mark.parametrize(
    ("header", "row", "named"),
    [
        ("Study | PMID", "HIP-FIX | 30000001", "HIP-FIX"),
        ("Study | PMID", "HOLMBERG 2004 | 30000001", "HOLMBERG 2004"),
        ("Study | PMID", "Holmberg | 30000001", "Holmberg"),
        ("Study | PMID", "MÜLLER, 2011 | 30000001", "MÜLLER, 2011"),
        ("Study | PMID", "HIP-FIX, Holmberg 2004 | 30000001", "HIP-FIX, Holmberg 2004"),
        ("Study | PMID", "Holmberg 2004; Lind 2009 | 30000001; 30000003", "Holmberg 2004; Lind 2009"),
        ("Study | Year | PMID", "HIP-FIX | 2019 | 30000001", "HIP-FIX 2019"),
    ],
)
async def test_what_could_not_be_compared_in_a_row_is_named(header: str, row: str, named: str) -> None:
    for outcome in await checked_draft(table(header, row)):
        assert outcome.reason == f"Its row, “{named}”, could not be compared with the record: compare the two."


async def test_a_row_without_a_year_that_has_the_first_author_needs_no_remark() -> None:
    assert [one.reason for one in await checked_draft(table("Study | PMID", "MÜLLER JK | 30000001"))] == [""]


@pytest.mark.parametrize(
    ("header", "cells", "numbers"),
    [
        ("Study | PMID", "Müller 2019 | 30000001 (main), 30000003 (renal)", ["30000001", "30000003"]),
        ("Study | PMID", "Müller 2019 | 30000001 [5]", ["30000001"]),
        ("Study | PMID", "Müller 2019 | 30000001 – main paper; subgroup: 30000003^a^", ["30000001", "30000003"]),
        ("Study | PMID", "Müller 2019 | 30,000,001", ["30000001"]),
        ("Study | Pub Med ID", "Müller 2019 | 30000001", ["30000001"]),
        ("Study (PMID) | n", "Müller 2019, 30000001 | 3", ["30000001"]),
        ("Study (PMID) | n", "Müller 2019, 12000 adults, 30000001 | 3", ["30000001"]),
        ("Study | PMID", "Müller 2019 | 30000001 (n = 12000, 45.25000%)", ["30000001"]),
        ("Study | Pub. year | PMID", "Müller | 2019 | 30000001", ["30000001"]),
    ],
)
async def test_the_numbers_of_a_cell_are_found_beside_remarks(header: str, cells: str, numbers: list[str]) -> None:
    outcomes = await checked_draft(table(header, cells))
    assert [one.reference.text.rpartition("PMID ")[2] for one in outcomes] == numbers


def test_rows_without_a_number_between_numbered_ones_are_named() -> None:
    rows = "Müller 2019 | 3 | 30000001\nLind 2021 | 4 |\nBerg 2020 | 5 | see text\nTotal | 12 | \nStroke | |"
    draft = read_draft(f"| Study | n | PMID |\n|---|---|---|\n{rows}\n")
    assert "In a table of numbers, but without one, so not looked up: “Lind 2021”, “Berg 2020”." in draft.remarks


def test_a_table_without_bars_at_its_sides_is_no_second_list_of_references() -> None:
    rows = (
        "Müller 2019 | [30000001](https://pubmed.ncbi.nlm.nih.gov/30000001/)\nSmith 2015 | https://pubmed.gov/30000003"
    )
    draft = read_draft(f"# Included studies\n\nStudy | PMID\n--- | ---\n{rows}\n")
    assert [one.text for one in draft.references] == ["Müller 2019 | PMID 30000001", "Smith 2015 | PMID 30000003"]


TABS = "Study\tYear\tCountry\tPMID\nMüller et al.\t2019\t3 countries\t30000001\nHolmberg\t2004\t\t30000003\n"
LATEX = r"""\begin{tabular}{lll}
\toprule
\textbf{Study} & \textbf{Year} & PMID \\ \midrule
M{\"u}ller~et~al. & 2019 & 30000001 \\
\hline
Holmberg \& Lee & 2004 & 30000003 \\
\end{tabular}
"""


LONG = LATEX.replace(r"\midrule", "\n\\endhead").replace("tabular", "longtable")


@pytest.mark.parametrize("rows", [TABS, LATEX, LONG])
@pytest.mark.parametrize("before", ["", "# Included studies\n\n", "These were included [1].\n\n"])
async def test_the_rows_of_tables_of_word_and_latex_are_read(before: str, rows: str) -> None:
    first, second = await checked_draft(before + rows)
    assert (first.verdict, first.reason) == ("verified", "")
    assert second.reason.startswith("Its row, “Holmberg")


async def test_a_table_with_titles_that_tabs_part_is_read_from_its_first_row_to_its_last() -> None:
    rows = (
        "Müller JK\t2019\tZinc supplementation and wound healing in older adults\t30000001",
        "Lind A\t2009\tDepressive symptoms and mortality after hip fracture: a cohort study\t30000001",
    )
    outcomes = await checked_draft("Author\tYear\tTitle\tPMID\n" + "\n".join(rows))
    assert [bool(one.reason) for one in outcomes] == [False, True]


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


@pytest.mark.parametrize(
    "rows",
    [
        "<table><tr><th>Study</th><th>PMID</th></tr>\n<tr><td>Müller</td><td>30000001</td></tr></table>",
        "<tr>\n<th>Study</th>\n<th>PMID</th>\n</tr>\n<tr>\n<td>Müller</td>\n<td>30000001</td>\n</tr>",
        "Study,Year,PMID\nMüller et al.,2019,30000001",
        "+-------+----------+\n| Study | PMID     |\n+=======+==========+\n| Müller | 30000001 |\n+-------+----------+",
        "Study     PMID\n--------- ---------\nMüller    30000001",
    ],
)
def test_a_table_of_another_kind_with_a_column_of_numbers_is_named_as_not_checked(rows: str) -> None:
    remarks = read_draft(
        f"These were included [1].\n\n{rows}\n\n# References\n\n1. Berg J. Zinc. Lancet 2019;1:2."
    ).remarks
    assert any(one.startswith("A table with a column of PMIDs could not be read") for one in remarks)


@pytest.mark.parametrize("text", [TABS, LATEX, table("Study | PMID", "Müller 2019 | 30000001"), "We list study, PMID."])
def test_tables_that_are_read_need_no_such_remark(text: str) -> None:
    assert not any("could not be read" in one for one in read_draft(text).remarks)
