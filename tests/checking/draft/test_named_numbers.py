"""Names and years beside numbers, laid against the entries of these numbers."""

from __future__ import annotations

import pytest

from deepcritical_mcp.checking.draft import read_draft

LIST = """## References

1. Berg JA, Ruiz K, et al. Zinc in wounds of the elderly. J Trace Res. 2019;4:11-8.
2. Weiss K, Okafor L. Copper and the strength of young tendons. Tendon. 2014;7:101-8.
3. PMID 30000001
"""
ROWS = "| Author | Year | Ref |\n|---|---|---|\n| {} | {} | [{}] |\n"


def remarks(text: str) -> list[str]:
    return [one for one in read_draft(f"{text}\n\n{LIST}").remarks if "before these numbers" in one]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Zinc was studied by Lind et al. [1].", "Lind et al. [1]"),
        ("Weiss et al. (2019) [1] studied zinc.", "Weiss et al. (2019) [1]"),
        ("Zinc was studied by Berg et al. (2011) [1].", "Berg et al. (2011) [1]"),
        (ROWS.format("Berg et al.", 2011, 1), "Berg et al. 2011 [1]"),
    ],
)
def test_a_name_or_year_that_the_entry_of_the_number_does_not_have_is_named(text: str, named: str) -> None:
    assert remarks(text) == [f"The name or year before these numbers is not in their entries, compare them: “{named}”."]


@pytest.mark.parametrize(
    "text",
    [
        "Zinc was studied by Berg et al. [1].",
        "Ruiz et al. (2018) [1,2] studied zinc.",
        "Zinc was studied by Weiss and Okafor [2], and until May 2011 [1].",
        "Lind et al. [3] studied zinc.",
        "Nobody was ill in Norway 2011 [1].",
        "The test of Mann and Whitney [1] was used.",
        ROWS.format("Weiss", 2014, 2),
    ],
)
def test_names_and_years_of_the_entry_and_what_cannot_be_compared_need_no_remark(text: str) -> None:
    assert not remarks(text)
