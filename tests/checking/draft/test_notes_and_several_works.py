"""Notes with numbers that are no list of references, and entries with several works."""

from __future__ import annotations

import pytest

from deepcritical_mcp.checking.draft.reading import read_draft

ONE = "Berg JA, Ruiz M. Zinc in the repair of surgical wounds. J Wound Res. 2011;12(3):45-9."
TWO = "Weiss K, Okafor L. Copper and the strength of young tendons. Tendon. 2014;7:101-8."


@pytest.mark.parametrize(
    "notes",
    [
        "Berg et al. (2011; doi:10.1000/zinc) saw wounds close. Ruiz and Weiss (2012, PMID: 30000002) described burns.",
        "# Notes\n- Zinc: [Berg 2011](https://doi.org/10.1000/zinc), burns: [Ruiz](https://doi.org/10.1000/burns)\n"
        "- Cost: €90 ([Weiss 2014](https://doi.org/10.1000/cost))\n- [here](https://doi.org/10.1000/more) it was 7%",
        "# Notes\nThe cost was studied by [Berg and colleagues (2011)](https://doi.org/10.1000/zinc).\n"
        "[Zinc in the repair of surgical wounds](https://doi.org/10.1000/burns) is sound.",
        "Text (see PMID 30000001). Text, see also https://doi.org/10.1000/zinc.",
    ],
)
def test_sentences_that_link_papers_are_no_list(notes: str) -> None:
    references = read_draft(notes).references
    assert references
    assert all(one.is_inline for one in references)


@pytest.mark.parametrize(
    ("entry", "texts"),
    [
        (f"{ONE[:-1]}; {TWO}", [ONE[:-1], TWO]),
        (f"{ONE[:-1]}; see also {TWO}", [ONE[:-1], TWO]),
        (f"(1) {ONE} (2) {TWO}", [ONE, TWO]),
        ("PMID 30000001; PMID 30000002; PMID 30000003.", ["PMID 30000001", "PMID 30000002", "PMID 30000003"]),
        (f"{ONE[:-1]}; erratum 2012;13(1):4.", [f"{ONE[:-1]}; erratum 2012;13(1):4."]),
        (
            "Berg, J.; Ruiz, M.; Weiss, K. Zinc in the repair of surgical wounds. J. Wound Res. 2011, 12, 45.",
            ["Berg, J.; Ruiz, M.; Weiss, K. Zinc in the repair of surgical wounds. J. Wound Res. 2011, 12, 45."],
        ),
    ],
)
@pytest.mark.parametrize("form", ["Zinc helps[^a].\n\n[^a]: {}", "Zinc helps [1].\n\n## References\n\n1. {}"])
def test_the_works_of_an_entry_are_checked_one_by_one(form: str, entry: str, texts: list[str]) -> None:
    draft = read_draft(form.format(entry))
    assert [one.text for one in draft.references] == texts
    assert draft.sentences[0].references == tuple(range(1, len(texts) + 1))


def test_notes_within_sentences_are_references() -> None:
    draft = read_draft(f"Zinc helps.^[{ONE}] So does copper.^[See {TWO}]\n\nIt is cheap.^[As everybody knows.]")
    assert [(one.text, one.label) for one in draft.references] == [(ONE, "^1i"), (f"See {TWO}", "^2i")]


def test_what_is_quoted_in_a_quoted_block_is_the_quotation() -> None:
    draft = read_draft(
        f"> Berg writes that “zinc closed most of the wounds within nine days” [1].\n\n# References\n1. {ONE}"
    )
    assert [one.text for one in draft.quotations] == ["zinc closed most of the wounds within nine days"]
