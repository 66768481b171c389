"""Notes with references or several works, and those that name a work in a few words and are told as unread."""

import pytest

from deepcritical_mcp.checking.draft import read_draft
from deepcritical_mcp.checking.draft.draft_parts import Draft

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
        "Berg and colleagues showed that zinc heals wounds in mice (PMID: 17326724).",
        "Zinc reduces mortality after burns (doi:10.1000/zinc.2019).",
        "In 442 patients zinc rose from 25% to 70% (Berg et al., 2019, PMID 31388316), as later (PMID 31388317).",
    ],
)
def test_sentences_that_link_papers_or_cite_them_by_numbers_are_no_list(notes: str) -> None:
    draft = read_draft(notes)
    assert draft.references
    assert all(one.is_inline for one in draft.references)
    assert draft.sentences


def test_notes_within_sentences_are_references() -> None:
    draft = read_draft(f"Zinc helps.^[{ONE}] So does copper.^[See {TWO}]\n\nIt is cheap.^[As everybody knows.]")
    assert [(one.text, one.label) for one in draft.references] == [(ONE, "^1i"), (f"See {TWO}", "^2i")]


def test_what_is_quoted_in_a_quoted_block_is_the_quotation() -> None:
    draft = read_draft(
        f"> Berg writes that “zinc closed most of the wounds within nine days” [1].\n\n# References\n1. {ONE}"
    )
    assert [(one.text, one.references) for one in draft.quotations] == [
        ("zinc closed most of the wounds within nine days", (1,))
    ]


def written_in(draft: Draft) -> list[str]:
    return [one.text for one in draft.references]


@pytest.mark.parametrize(
    "entry",
    [
        "Berg, J., & Ruiz, M. (2011). Zinc in wounds; Parkinson and Alzheimer disease: A cohort study of men. J, 12, 4 "
        "doi:10.1000/zinc",
        "Berg J. Zinc in the repair of wounds. In: Weiss K, Okafor L, editors. Handbook of wounds in old age. 2nd ed. "
        "Bern: Huber; 2011. p. 3-9.",
        "Berg J. Zinc in the repair of wounds. J Wound Res. 2011;12(3):45-9. Comment in: Weiss K. Zinc and old age of "
        "skin. J Wound Res. 2012;13(1):4.",
        "Berg J. Zinc in the repair of wounds. J Wound Res. 2011;12(3):45-9. Epub 2011 Jan 3. PMID: 30000001; PMCID: "
        "PMC3000001. doi:10.1000/zinc. https://doi.org/10.1000/zinc.full",
    ],
)
def test_an_entry_with_one_work_stays_whole(entry: str) -> None:
    assert written_in(read_draft(f"Zinc helps [1].\n\n## References\n\n1. {entry}\n")) == [entry]


@pytest.mark.parametrize("last", [", and ", " or ", "; ", " & ", ", "])
def test_all_numbers_in_brackets_are_asked_for(last: str) -> None:
    draft = read_draft(f"It was seen (PMIDs 30000001 (Berg 2011), 30000002{last}30000003).")
    assert written_in(draft) == [f"PMID 3000000{number}" for number in (1, 2, 3)]


def test_a_note_that_says_more_than_names_is_a_reference() -> None:
    note = "Berg (2011), Copper in the repair of broken bones. Bone 3:4-9."
    draft = read_draft(f"Zinc helps.[^1]\n\n[^1]: {note}\n\n# Literatur\n\n{ONE}\n\n{TWO}\n")
    assert note in written_in(draft)


@pytest.mark.parametrize(
    "note",
    [
        "Berg and Ruiz 2015, p. 47.",
        "Lind 2011, p. 47.",
        "Weiss and Okafor, “Iron in Burns,” 2014, 47.",
        "Berg and Ruiz, “Copper in Burns,” 2011, 47.",
        "Ruiz K. Iron. Berg: Huber; 2011. p. 4.",
    ],
)
def test_a_note_that_names_an_unknown_work_is_checked(note: str) -> None:
    draft = read_draft(f"Zinc helps.[^1] It is cheap.[^2]\n\n[^1]: {ONE}\n[^2]: {note}\n")
    assert written_in(draft) == [ONE, note]


@pytest.mark.parametrize("comment", [". The trial of 2013 was stopped early.", ", 12. Weiss (2014) found less.", ""])
def test_a_comment_behind_ibid_is_no_work(comment: str) -> None:
    draft = read_draft(f"Zinc [1]. Copper [2].\n\n# References\n\n1. {ONE}\n2. Ibid., 47{comment}\n")
    assert written_in(draft) == [ONE]


WHOLE = "Anna Berg and Ken Oka, “Zinc in Wounds of the Elderly,” *Journal of Traces* 11 (2001): 4–9."


@pytest.mark.parametrize(
    "note",
    [
        "Miller and Stone, 299.",
        "Miller and Stone, ‘Copper in Ships’, p. 299.",
        "Miller and Stone, supra note 12, at 299.",
        "Miller, J., Stone, K.: Copper in Ships, S. 299.",
        "Miller J, Lancet 351:12.",
        "See note 9 above.",
        "Ibid., 47.",
        "Ebd., S. 12.",
        "Berg, op. cit., p. 3.",
    ],
)
def test_a_note_that_may_name_a_work_is_told_as_unread(note: str) -> None:
    draft = read_draft(f"Zinc heals.[^1] It is cheap.[^2]\n\n[^1]: {WHOLE}\n[^2]: {note}\n")
    assert [one.text for one in draft.unread] == [note]
    assert all(one.reason for one in draft.unread)
    assert [one.label for one in draft.references] == ["^1"]


@pytest.mark.parametrize(
    "note", ["Mean of 12 patients.", "Emphasis added.", "All doses are in mg.", "Berg was ill in 1999."]
)
def test_a_note_that_explains_is_no_reference(note: str) -> None:
    draft = read_draft(f"Zinc heals wounds.[^1] It is cheap, too.[^2]\n\n[^1]: {WHOLE}\n[^2]: {note}\n")
    assert not draft.remarks
    assert not draft.unread


def test_a_row_that_may_be_a_reference_and_is_not_read_is_unread() -> None:
    rows = (("Study", "Year", "Journal"), ("Berg A", "1991", "BMJ"), ("Oka E", "2005", "Lancet"))
    table = "\n".join(
        f"| {' | '.join(one)} |{chr(10) + '|---|---|---|' if at == 0 else ''}" for at, one in enumerate(rows)
    )
    draft = read_draft(f"Zinc heals [1].\n\n{table}\n\n## References\n\n1. {WHOLE}\n")
    assert [one.text.replace("\t", " ").split()[0] for one in draft.unread] == ["Berg", "Oka"]
    assert len(draft.references) == 1
