"""Notes with numbers that are no list of references, and entries with several works."""

from __future__ import annotations

import pytest

from deepcritical_mcp.checking.draft.draft_parts import Draft
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


THREE = "Lind D. A Study of Iron, Copper, and Zinc in Old Wounds. Heal. 2015;3:11-9."
QUOTED = "Oka, Mio. “Iron in the Blood of Divers.” Sea 3 (2016): 4–9."
FORMS = ["Zinc helps[^a].\n\n[^a]: {}\n", "Zinc helps [1].\n\n## References\n\n1. {}\n", "Zinc helps.^[{}]"]


def written_in(draft: Draft) -> list[str]:
    return [one.text for one in draft.references]


BETWEEN = [
    "; ",
    ". ",
    ", and ",
    ", ",
    ".\n   ",
    " and ",
    " / ",
    "; for a contrary view, see ",
    "; vgl. auch ",
    ". But see ",
]


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("first", [ONE, THREE])
@pytest.mark.parametrize("second", [TWO, QUOTED])
@pytest.mark.parametrize("form", FORMS)
def test_what_stands_between_two_works_does_not_matter(form: str, first: str, second: str, between: str) -> None:
    draft = read_draft(form.format(f"{first[:-1]}{between}{second}"))
    assert [one.rstrip(".") for one in written_in(draft)] == [first[:-1], second.rstrip(".")]
    assert draft.sentences[0].references == (1, 2)


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


@pytest.mark.parametrize(
    ("entry", "texts"),
    [
        (f"{ONE} PMID: 30000001, 30000002.", [f"{ONE} PMID: 30000001", "PMID 30000002"]),
        ("PMID 30000001 and PMID 30000002.", ["PMID 30000001", "PMID 30000002"]),
        ("PMID 3000; PMID 30000002.", ["PMID 3000", "PMID 30000002"]),
        ("See PMID 30000001 or 30000002.", ["See PMID 30000001", "PMID 30000002"]),
        (
            "Berg & Ruiz 2011 (PMID 30000001; PMID: 30000002; PMIDs 30000003, 30000004)",
            ["Berg & Ruiz 2011 (PMID 30000001)", "PMID 30000002", "PMID 30000003", "PMID 30000004"],
        ),
        (
            "Berg & Ruiz 2011, PMID 30000001; Weiss & Okafor 2014, PMID 30000002",
            ["Berg & Ruiz 2011, PMID 30000001", "Weiss & Okafor 2014, PMID 30000002"],
        ),
        (f"{ONE} doi:10.1000/zinc; doi:10.1000/copper", [f"{ONE} doi:10.1000/zinc", "doi:10.1000/copper"]),
        (
            "Berg JA. J Zinc. 2011;12:45; Weiss K. Tendon. 2014;7:e101.",
            ["Berg JA. J Zinc. 2011;12:45", "Weiss K. Tendon. 2014;7:e101."],
        ),
        (f"{ONE[:-1]}; see also doi:10.1000/copper", [ONE[:-1], "doi:10.1000/copper"]),
    ],
)
@pytest.mark.parametrize("form", FORMS[:2])
def test_every_number_of_an_entry_is_asked_for(form: str, entry: str, texts: list[str]) -> None:
    assert written_in(read_draft(form.format(entry))) == texts


def test_a_number_within_an_entry_is_asked_for_and_known_to_be() -> None:
    entry = "Berg J (PMID 30000001; see PMID 30000002). Zinc now. J. 2011."
    draft = read_draft(f"Zinc [1].\n\n## References\n\n1. {entry}\n")
    assert written_in(draft) == [entry, "PMID 30000002"]
    assert draft.references[0].apart == ("pmid:30000002",)


@pytest.mark.parametrize("last", [", and ", " or ", "; ", " & ", ", "])
def test_all_numbers_in_brackets_are_asked_for(last: str) -> None:
    draft = read_draft(f"It was seen (PMIDs 30000001 (Berg 2011), 30000002{last}30000003).")
    assert written_in(draft) == [f"PMID 3000000{number}" for number in (1, 2, 3)]


def test_the_numbers_of_a_column_headed_pmid_are_asked_for() -> None:
    draft = read_draft(
        "| Study | n | PMID |\n|---|---|---|\n| Berg 2011 | 12 | 30000001 |\n| Old | 9 | 30000002; 30000003 |\n"
        "| Lind 2015 | 3 | PMID 30000004 |\n"
    )
    asked = {"Berg 2011 | PMID 30000001", "Old | PMID 30000002", "Old | PMID 30000003", "Lind 2015 | PMID 30000004"}
    assert {*written_in(draft)} == asked
    assert not any("3000000" in one.claim for one in draft.sentences)
    assert draft.remarks == ()


def test_all_numbers_of_a_row_with_a_reference_are_asked_for() -> None:
    row = "| Berg JA | 2011 | Zinc in the repair of wounds | 30000001, 30000002 |"
    draft = read_draft(f"| Authors | Year | Title | PMID |\n|---|---|---|---|\n{row}\n")
    assert written_in(draft) == ["Berg JA (2011). Zinc in the repair of wounds. PMID 30000001", "PMID 30000002"]


def test_footnotes_of_latex_are_references_beside_a_bibliography() -> None:
    draft = read_draft(
        f"Zinc\\footnote{{{ONE}}} and copper\\cite{{k}} help.\\footnote{{As \\emph{{everybody}} knows.}}\n"
        f"\\begin{{thebibliography}}{{9}}\n\\bibitem{{k}} {TWO}\n\\end{{thebibliography}}\n"
    )
    assert written_in(draft) == [TWO, ONE]
    assert draft.sentences[0].references == (2, 1)


def test_each_paragraph_of_a_note_is_a_work_without_the_word_that_counts_it() -> None:
    draft = read_draft(f"Zinc helps.[^n]\n\n[^n]: First, {ONE}\n\n    Second, {TWO}\n\nIt is cheap.\n")
    assert [one.rstrip(".") for one in written_in(draft)] == [ONE[:-1], TWO[:-1]]


@pytest.mark.parametrize("note", ["Berg/Ruiz (2011), S. 47.", "See Berg and Ruiz 2011, p. 47.", "Vgl. Berg (2011)"])
def test_a_note_that_only_names_an_entry_cites_it(note: str) -> None:
    draft = read_draft(f"Zinc helps.[^1]\n\n[^1]: {note}\n\n# Literatur\n\n{ONE}\n\n{TWO}\n")
    assert written_in(draft) == [ONE, TWO]
    assert draft.sentences[0].references == (1,)


def test_a_note_that_says_more_than_names_is_a_reference() -> None:
    note = "Berg (2011), Copper in the repair of broken bones. Bone 3:4-9."
    draft = read_draft(f"Zinc helps.[^1]\n\n[^1]: {note}\n\n# Literatur\n\n{ONE}\n\n{TWO}\n")
    assert note in written_in(draft)


def test_entries_that_are_numbered_by_their_place_keep_it_if_one_holds_two_works() -> None:
    draft = read_draft(f"Zinc helps [1]. So does iron [2].\n\n# References\n\n{ONE[:-1]}; {TWO}\n\n{THREE}\n")
    assert [one.references for one in draft.sentences] == [(1, 2), (3,)]


FULL_NOTE = "Jan Berg and Mio Ruiz, “Zinc in the Repair of Surgical Wounds,” *J Wound Res* 12, no. 3 (2011): 45–49."


@pytest.mark.parametrize(
    "note",
    [
        "Berg and Ruiz 2011, p. 47.",
        "Berg and Ruiz (2011), p. 47.",
        "Jan Berg and Mio Ruiz, Zinc in wounds, 2011, 47.",
        "Berg and Ruiz, “Zinc in the Repair,” 47.",
        "Berg and Ruiz, *Zinc in the Repair*, 47–48.",
        "See also Berg et al., “Surgical Wounds,” 47.",
    ],
)
@pytest.mark.parametrize("first", [ONE, FULL_NOTE])
def test_a_later_note_that_only_names_an_earlier_one_cites_its_work(first: str, note: str) -> None:
    draft = read_draft(f"Zinc helps.[^1] It is cheap.[^2]\n\n[^1]: {first}\n[^2]: {note}\n")
    assert written_in(draft) == [first]
    assert [one.references for one in draft.sentences] == [(1,), (1,)]


@pytest.mark.parametrize(
    "note",
    [
        "Vgl. Berg 2011, S. 47; Weiss 2014, S. 102.",
        "See Berg and Ruiz (2011), p. 47, and Weiss and Okafor (2014), p. 102.",
        "Berg and Ruiz, “Repair of Surgical Wounds,” 47; Weiss and Okafor, “Copper and the Strength,” 102.",
    ],
)
@pytest.mark.parametrize(
    "place", ["[^1]: {one}\n[^2]: {two}\n[^9]: {note}", "[^9]: {note}\n\n# References\n\n{one}\n\n{two}"]
)
def test_a_note_that_names_two_known_works_cites_both(place: str, note: str) -> None:
    notes = place.format(one=ONE, two=TWO, note=note)
    marks = "Zinc.[^1] Copper.[^2] " if "[^1]" in place else ""
    draft = read_draft(f"{marks}Both metals help.[^9]\n\n{notes}\n")
    assert written_in(draft) == [ONE, TWO]
    assert draft.sentences[-1].references == (1, 2)
    assert draft.remarks == ()


def test_endnotes_in_a_list_may_name_what_stands_before() -> None:
    notes = f"1. {FULL_NOTE}\n2. Ibid., 47.\n3. {TWO}\n4. Berg and Ruiz, “Surgical Wounds,” 48; Weiss, “Copper,” 102.\n"
    draft = read_draft(f"Zinc helps.[1] It is cheap.[2] Copper helps.[3] Both do.[4]\n\n## Notes\n\n{notes}")
    assert written_in(draft) == [FULL_NOTE, TWO]
    assert [one.references for one in draft.sentences] == [(1,), (1,), (2,), (1, 2)]


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


def test_chapters_of_one_book_are_no_short_notes() -> None:
    chapters = ["Berg J. Zinc. Bern: Huber; 2011. p. 3-9.", "Ruiz K. Iron. Bern: Huber; 2011. p. 10-19."]
    draft = read_draft(f"Zinc [1], iron [2].\n\n# References\n\n1. {chapters[0]}\n2. {chapters[1]}\n")
    assert written_in(draft) == chapters


def test_what_a_note_points_at_in_a_few_words_is_known_if_it_is_listed() -> None:
    note = f"{TWO} Cf. Berg et al. 2011, 47."
    draft = read_draft(f"Zinc helps.[^1] Copper too.[^2]\n\n[^1]: {ONE}\n[^2]: {note}\n")
    assert written_in(draft) == [ONE, note]
    assert draft.references[1].apart == ("Berg et al. 2011",)
    assert draft.sentences[1].references == (1, 2)


WHOLE = "Jan J. K. Berg et al., “Zinc in the Repair of Surgical Wounds,” *Journal of Wounds* 12, no. 3 (2011): 45–49."
OTHER = "Karl Weiss and Lena Okafor, “Copper and the Strength of Young Tendons,” *Tendon* 7 (2014): 101–8."


@pytest.mark.parametrize("between", ["; ", ". See also ", ", and ", "; but cf. "])
@pytest.mark.parametrize("repeated", ["Ibid., 47", "Ibid. p. 47", "See ibid., 46–47", "*Ibid.*, at 47", "Ebd., S. 47"])
def test_a_work_behind_ibid_is_checked(repeated: str, between: str) -> None:
    for other in (OTHER, TWO, "Weiss et al., Tendon 2014.", "PMID 30000001"):
        draft = read_draft(
            f"Zinc heals wounds[^a]. Copper heals tendons[^b].\n\n[^a]: {WHOLE}\n[^b]: {repeated}{between}{other}\n"
        )
        assert written_in(draft) == [WHOLE, other]
        assert [one.references for one in draft.sentences] == [(1,), (1, 2)]


@pytest.mark.parametrize("comment", [". The trial of 2013 was stopped early.", ", 12. Weiss (2014) found less.", ""])
def test_a_comment_behind_ibid_is_no_work(comment: str) -> None:
    draft = read_draft(f"Zinc [1]. Copper [2].\n\n# References\n\n1. {ONE}\n2. Ibid., 47{comment}\n")
    assert written_in(draft) == [ONE]


@pytest.mark.parametrize(
    "short",
    ["Berg et al., “Zinc,” 47; ", "Berg et al., “Zinc,” 47. See also ", "Op. cit., 47; ", "Berg, op. cit., 47; "],
)
def test_a_short_note_before_a_whole_work_is_cut_off(short: str) -> None:
    draft = read_draft(f"Zinc heals wounds[^a]. Copper heals tendons[^b].\n\n[^a]: {WHOLE}\n[^b]: {short}{OTHER}\n")
    assert written_in(draft) == [WHOLE, OTHER]


@pytest.mark.parametrize(
    "note",
    [
        "Cf. Oka, “Iron in Divers.”",
        "Oka, “Iron in Divers,” 34.",
        "Oka, Iron in Divers, 34; Lind, Tin, 12.",
        "Oka, op. cit., 34.",
        "Oka (n. 1), 34.",
        "Berg et al., “Zinc,” 47; Oka, “Iron in Divers,” 34.",
        "Ibid., 47; Oka, “Iron in Divers,” 34.",
        "Compare Berg et al., “Zinc,” 47, with Oka, “Iron,” 34.",
        "Berg and Oka, “Zinc in the Repair,” 47.",
    ],
)
def test_a_note_that_names_a_work_which_nobody_knows_is_named(note: str) -> None:
    sole = WHOLE.replace(" et al.", "")
    draft = read_draft(f"Zinc heals wounds[^a]. Iron is grey[^b].\n\n[^a]: {sole}\n[^b]: {note}\n")
    assert written_in(draft) == [sole]
    assert draft.quotations == ()
    (remark,) = (one for one in draft.remarks if "Oka" in one)
    assert "not checked" in remark
    assert not any("not in the list" in one for one in draft.remarks)


@pytest.mark.parametrize(
    "note",
    [
        "Berg et al. 2011, 47.",
        "Berg et al. 2011, e47.",
        "Berg u. a., Zinc in the Repair (wie Anm. 1), S. 47.",
        "Berg (n. 1), 47.",
        "Berg et al., op. cit., 47.",
        "Ders., a. a. O., S. 47.",
    ],
)
def test_a_note_that_points_at_an_earlier_one_is_no_work(note: str) -> None:
    draft = read_draft(f"Zinc heals wounds[^a]. Iron is grey[^b].\n\n[^a]: {WHOLE}\n[^b]: {note}\n")
    assert written_in(draft) == [WHOLE]
    assert [one.references for one in draft.sentences] == [(1,), (1,)]
    assert draft.remarks == ()


def test_a_list_of_notes_may_consist_of_short_ones() -> None:
    notes = (
        f"1. {ONE}\n2. Vgl. Ebd., S. 47.\n3. Berg, Zinc in the repair (wie Anm. 1), S. 46.\n4. Ders., a. a. O., S. 48."
    )
    assert written_in(read_draft(f"Zinc.¹ Mehr.² So.³ So.⁴\n\n## Anmerkungen\n\n{notes}")) == [ONE]
