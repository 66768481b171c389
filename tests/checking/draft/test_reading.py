"""Drafts in the forms that people have them in."""

import json
import textwrap
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.checking.draft import Draft, read_draft

BERG = "Berg AB, Ruiz C. Zinc and wounds in elderly people. J Trace Elem. 2001;344(2):1-9."
LIND = "Lind D. Copper: a review. Lancet. 2003;361:10-2. doi:10.1000/lind.2003"
OKA = "Oka E, et al. Iron in mice. BMJ. 2005;330:55."
NUMBERED = f"1. {BERG}\n2. {LIND}\n3. {OKA}\n"


def texts(draft: Draft) -> list[str]:
    return [" ".join(one.text.split()) for one in draft.references]


def labels(draft: Draft) -> list[str]:
    return [one.label for one in draft.references]


def cited(draft: Draft) -> dict[str, tuple[int, ...]]:
    return {one.claim: one.references for one in draft.sentences}


@pytest.mark.parametrize(
    "heading",
    [
        "References",
        "REFERENCES:",
        "## References",
        "**References**",
        "7. References",
        "References\n==========",
        "References (3)",
        "Références bibliographiques",
        "Список литературы",
        "参考文献",
        r"\section*{References}",
        "<h2>References</h2>",
    ],
)
def test_a_list_is_found_under_its_heading(heading: str) -> None:
    draft = read_draft(f"Zinc heals wounds [1].\n\n{heading}\n\n{NUMBERED}")
    assert (texts(draft), labels(draft)) == ([BERG, LIND, OKA], ["1", "2", "3"])
    assert cited(draft) == {"Zinc heals wounds.": (1,)}


@pytest.mark.parametrize("mark", ["[{}] ", "{}. ", "{}) ", "({}) ", "{}\t", "{}  ", "**{}.** ", "^{}^ ", "{}- "])
def test_entries_are_cut_at_their_numbers_and_wrapped_lines_stay_with_them(mark: str) -> None:
    entries = (BERG.replace("elderly people", "elderly\n2019. people"), LIND.replace("a review", "a\nreview"), OKA)
    listed = "\n".join(mark.format(number) + text for number, text in enumerate(entries, 1))
    draft = read_draft(f"Zinc heals wounds [1].\n\nReferences\n{listed}")
    assert texts(draft) == [BERG.replace("elderly", "elderly 2019."), LIND, OKA]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_a_bare_list_needs_no_heading(between: str) -> None:
    entries = [BERG, LIND, "PMID 15838709", "doi:10.1006/taap.1999.8737", "Zinc in wheat (PMID: 12345678)"]
    assert texts(read_draft(between.join(entries))) == entries


def test_identifiers_of_several_forms_on_one_line_are_entries() -> None:
    ids = ["10.1000/a", "doi:10.1000/b", "https://doi.org/10.1000/c", "15838709", "PMID15838710", "pubmed:15838711"]
    found = texts(read_draft(", ".join(ids)))
    assert [one.removeprefix("PMID ") for one in found] == ids
    assert texts(read_draft("\n".join(ids))) == ids


@pytest.mark.parametrize("rule", ["---", "======", "***", "- - -"])
def test_lines_between_entries_make_no_headings_of_them(rule: str) -> None:
    entries = [BERG, LIND, OKA, BERG.replace("2001", "2002")]
    draft = read_draft(f"Zinc heals wounds.\n\n## References\n\n{rule}\n" + f"\n{rule}\n".join(entries))
    assert (texts(draft), draft.unread) == (entries, ())


@pytest.mark.parametrize("heading", ["# Appendix A", "# Appendix B. Questions", "# Questions"])
def test_any_heading_ends_a_list(heading: str) -> None:
    draft = read_draft(f"Zinc [1].\n\n# References\n\n{NUMBERED}\n{heading}\n\n1. How tall are you?\n2. Do you run?\n")
    assert texts(draft) == [BERG, LIND, OKA]


def test_a_heading_like_that_of_an_earlier_list_begins_a_list() -> None:
    parts = (
        f"# Part {n}\n\nZinc heals wounds in part {n} [1].\n\n## References for Part {n}\n\n1. {t}\n\n"
        for n, t in ((1, BERG), (2, OKA))
    )
    draft = read_draft(f"{''.join(parts)}Appendix A. Questions\n\n1. How tall are you?\n2. Do you run?\n")
    assert {BERG, OKA} <= {*texts(draft)}
    assert [one.references for one in draft.sentences][:2] == [(1,), (2,)]


@pytest.mark.parametrize(
    ("sentence", "references"),
    [
        ("Zinc heals wounds [1, 3].", (1, 3)),
        ("Zinc heals wounds [1–3].", (1, 2, 3)),
        ("Zinc heals wounds [1], [3].", (1, 3)),
        ("Zinc heals wounds [1]–[3].", (1, 2, 3)),
        ("Zinc heals wounds.¹⁻³ Then", (1, 2, 3)),
        ("Zinc heals wounds.^1,2^", (1, 2)),
        ("Zinc heals wounds.<sup>2</sup>", (2,)),
        ("Zinc heals wounds. [3]", (3,)),
        ("Zinc heals wounds (1,3).", (1, 3)),
        ("Zinc heals wounds.1,2 Then", (1, 2)),
    ],
)
def test_numbers_cite_in_many_forms(sentence: str, references: tuple[int, ...]) -> None:
    assert cited(read_draft(f"{sentence}\n\nReferences\n{NUMBERED}")) == {"Zinc heals wounds.": references}


def test_intervals_ions_units_and_years_do_not_cite() -> None:
    text = (
        "We gave 5 mg (n = 2) [95% CI 1.2-3.4] on 3 m² to 10³ cells with [Ca2+] in (2020): (1) early, (2) late, in ¹⁴C."
        " The pseudo-R² of x² was high for kg·m² (I² = 60%, τ² = 0.2)."
    )
    assert read_draft(f"{text}\n\n```\nx[1]\n```\n<!-- [2] -->\n\nReferences\n{NUMBERED}").sentences == ()


@pytest.mark.parametrize(
    ("citation", "index"),
    [
        ("(Müller et al., 2019)", 1),
        ("(see Mueller & Lee 2019, p. 5)", 1),
        ("(World Health Organization, 2021)", 2),
        ("(WHO 2021)", 2),
        ("(van den Berg, 2020b)", 4),
    ],
)
def test_names_and_years_cite(citation: str, index: int) -> None:
    draft = read_draft(
        f"Zinc heals wounds {citation}.\n\nReferences\n\nMüller, K., & Lee, A. (2019). Zinc. J A, 1(2), 3–4.\n\n"
        "World Health Organization. (2021). Zinc report. WHO Press.\n\n"
        "van den Berg, A. (2020a). Copper. J B, 1, 2.\n\nvan den Berg, A. (2020b). Iron. J B, 3, 4."
    )
    assert cited(draft) == {"Zinc heals wounds.": (index,)}


def test_keys_cite_entries_of_latex_pandoc_and_footnotes() -> None:
    latex = read_draft(
        f"Zinc heals \\citep[p.~3]{{berg}}.\n\\begin{{thebibliography}}{{9}}\n\\bibitem{{berg}} {BERG}\n"
    )
    pandoc = read_draft("Zinc heals [@berg2001, p. 5].\n\n@article{berg2001, title={Zinc}, year=2001}")
    notes = read_draft(f"Zinc heals.[^a] Or not.[^b]\n\n[^a]: {BERG[:40]}\n    {BERG[41:]}\n[^b]: We doubt it.")
    assert [cited(one)["Zinc heals."] for one in (latex, pandoc, notes)] == [(1,), (1,), (1,)]
    assert [labels(one) for one in (latex, pandoc, notes)] == [["berg"], ["berg2001"], ["^a"]]
    assert notes.remarks == ()


def test_identifiers_in_the_text_are_references_of_their_own_once_each() -> None:
    draft = read_draft(
        "Zinc heals wounds (Berg et al., 2020; PMID: 12345678). Copper does not (PMIDs 12345678, 2345678). "
        "See [the whole trial](https://doi.org/10.1056/NEJMoa2021436), too."
    )
    assert texts(draft) == [
        "Berg et al., 2020; PMID: 12345678",
        "PMID 2345678",
        "https://doi.org/10.1056/NEJMoa2021436",
    ]
    assert all(one.is_inline for one in draft.references)
    assert cited(draft) == {"Zinc heals wounds.": (1,), "Copper does not.": (1, 2), "See the whole trial, too.": (3,)}


def test_an_identifier_in_the_text_cites_the_entry_that_has_it() -> None:
    draft = read_draft(f"Copper is toxic (https://doi.org/10.1000/LIND.2003).\n\nReferences\n- {BERG}\n- {LIND}\n")
    assert cited(draft) == {"Copper is toxic.": (2,)}


def test_quotations_are_attributed_to_what_is_cited_nearest() -> None:
    draft = read_draft(
        "Berg (2001) writes: “Zinc closes all wounds […] in mice. It is cheap.” Others say "
        '"zinc has no effect on any wound" (Lind, 2003) or call it a “western” thing.\n\n'
        "> Iron is the root of all evil.\n> — Berg (2001)\n\n"
        "References\nBerg, A. (2001). Zinc heals. J A, 1, 2.\nLind, D. (2003). Copper. J B, 3, 4.\n"
    )
    assert {one.text: one.references for one in draft.quotations} == {
        "Zinc closes all wounds […] in mice. It is cheap.": (1,),
        "zinc has no effect on any wound": (2,),
        "Iron is the root of all evil.": (1,),
    }


def test_the_title_of_an_entry_is_no_quotation() -> None:
    draft = read_draft(f"In “Zinc and wounds in elderly people” [1] we read it.\n\nReferences\n{NUMBERED}")
    assert draft.quotations == ()


def test_remarks_name_what_is_cited_without_an_entry_and_entries_that_are_never_cited() -> None:
    draft = read_draft(f"Zinc heals wounds [1, 7].\n\nReferences\n1. {LIND}\n2. {OKA}\n3. {LIND}\n")
    assert draft.remarks == (
        "Cited, but not in the list of references: [7].",
        "In the list of references, but never cited: [2], [3].",
    )


def test_bibtex_is_cut_at_its_entries_whatever_is_between_or_not_closed() -> None:
    draft = read_draft(
        '% mine\n@comment{x}\n@string(jb = "J Biol")\n@article{a, title={A {B} C}, journal=jb}\n@berg2010(n=20, p. 5)\n'
        '@book(b, title="X (Y)")\n@misc{c, title={never closed\n@article{, title={D}}\n'
    )
    assert labels(draft) == ["a", "b", ""]
    (unread,) = draft.unread
    assert unread.text == "@misc{c, title={never closed"
    assert "BibTeX that cannot be read" in unread.reason
    assert draft.references[0].text == "@article{a, title={A {B} C}, journal={J Biol}}"


def test_ris_and_csl_are_cut_into_records() -> None:
    ris = read_draft("TY  - JOUR\nTI  - Zinc\nER  - \n\nTY  - JOUR\nID  - lind\nTI  - Copper\n")
    assert labels(ris) == ["", "lind"]
    for text in ('[{"id": "a", "title": "A"}, {"id": 2, "title": "B"}]', '{"items": [{"id": "a"}, {"id": 2}]}'):
        assert labels(read_draft(text)) == ["a", "2"]
    assert [one.reason for one in read_draft('[{"id": "a" "title": "A"}]').unread] == ["JSON that cannot be read"]


HOSTILE = (
    "[", "](", '"', '" a', "“", "1", "[1,", "\n", " ", "2020 ", "Aa,Bb 2019a,b", "1. a\n", "- a\n", "@a{", "@a{,",
    "@book(", "\\cite{", "<!--", "```\n", "`", "*", "|a", "# a\n", "> a\n", "[^a]: ", "References\n", "https://a",
    "10.1000/", "PMID 12345, ", "¹", "^1", "<sup>", "[@a;", '{"a":', "TY  - JOUR\n", "A. ", "\u0301",
    "van de ", "a\n=\n", "$^", "<li>", "(((", "‟", "(ref.ref.", "[1 - 2, 3 - 4, 5 ",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_draft_is_read(piece: str) -> None:
    read_draft(piece * (20_000 // len(piece)))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from((*HOSTILE, BERG, LIND, NUMBERED)), st.text(max_size=8)), max_size=30).map(
        "".join
    )
)
def test_indexes_go_on(text: str) -> None:
    draft = read_draft(text)
    assert [one.index for one in draft.references] == [*range(1, len(draft.references) + 1)]
    known = {one.index for one in draft.references}
    assert all({*one.references} <= known for one in (*draft.sentences, *draft.quotations))
    assert all(one.start < two.start for one, two in pairwise(draft.sentences))


@pytest.mark.parametrize(
    "heading",
    ["### References for this letter", "# Reading list", "## Selected bibliography on zinc", "**Key papers**"],
)
def test_a_longer_heading_opens_a_list_if_entries_stand_under_it(heading: str) -> None:
    draft = read_draft(f"Zinc heals wounds [1].\n\n{heading}\n\n{NUMBERED}")
    assert texts(draft) == [BERG, LIND, OKA]
    assert texts(read_draft(f"{heading}\n\nWe read much.\n\n# References\n\n{NUMBERED}")) == [BERG, LIND, OKA]


def test_a_row_of_a_table_that_cites_is_a_claim_of_its_cells() -> None:
    table = "| Study | n | Result | Ref. |\n|---|---|---|---|\n| Elderly people | 83 | **healed** 12.5% | [1] |\n"
    draft = read_draft(f"Zinc heals wounds [2].\n\n{table}\n## References\n{NUMBERED}")
    assert cited(draft) == {"Zinc heals wounds.": (2,), "Elderly people; 83; healed 12.5%": (1,)}


def test_whole_references_in_a_column_of_a_table_are_its_list_if_there_is_no_other() -> None:
    text = "Topic\tReference\n{}\t{}\nIron\t{}\n\nZinc (0.01 <p ≤ 0.05) heals wounds [1].\n\nMice (n > 9) live.\n"
    draft = read_draft(text.format("Zinc", BERG, OKA))
    assert ([one.text.partition("\t")[2] for one in draft.references], draft.unread) == ([BERG, OKA], ())
    draft = read_draft(f"{text.format('Berg A, 2001', '[1]', OKA)}\n## References\n{NUMBERED}")
    assert (texts(draft), cited(draft)["Zinc (0.01 <p ≤ 0.05) heals wounds."]) == ([BERG, LIND, OKA], (1,))


WORD_CELL = (
    "<td width=207 style='width:155.1pt;\n  border:solid windowtext 1.0pt;mso-border-top-alt:solid windowtext .5pt;"
    "\n  padding:0cm 5.4pt 0cm 5.4pt'>\n<p class=MsoNormal><span lang=EN-US>{}<o:p></o:p></span></p></td>\n"
)
ROWS = ("| {} | {} |\n", "<table><tr>\n<td>{}</td>\n<td><p>{}</p></td>\n</tr></table>\n")


@pytest.mark.parametrize("row", [*ROWS, f"<table><tr style='mso-yfti-irow:1'>\n{WORD_CELL}{WORD_CELL}</tr></table>\n"])
def test_tables_with_a_column_of_references_cite_the_list(row: str) -> None:
    rule = "|---|---|\n" if row[0] == "|" else ""
    table = f"{row.format('Reference', 'Result')}{rule}{row.format('Ruiz et al. 2012', 'Zinc heals')}\nMore.\n\n"
    draft = read_draft(f"{table}{table}## References\nRuiz C, Oka E. Iron of mice. BMJ. 2012;330:55.\n")
    assert (len(draft.references), draft.unread, [one.references for one in draft.sentences]) == (1, (), [(1,)] * 2)
    assert not any(mark in one.claim for one in draft.sentences for mark in ("<", "pt"))


def test_copies_of_printed_pages_have_no_page_numbers_running_heads_and_broken_words() -> None:
    draft = read_draft(
        "WOUNDS\n\nZinc heals wounds of elderly people who were treated in wards, the paper says: “with-\n"
        "drawal was hard for all of\n\n                 411\n\n      J Wounds 2025; 14: 410–419\n\n"
        "the patients who had dose-\ndependent effects” (1).\n\nREFERENCES\n\n"
        "1. Berg AB, Ruiz C. Zinc and wounds in el-\n    derly people of the Rodriguez-\n    Quiroga ward,\n\n"
        "                 412\n\n      J Wounds 2025; 14: 410–419\n\n    a cohort. J Trace Elem. 2001;344(2):1-9.\n"
        f"2. {OKA}\n\n                 413\n\n      J Wounds 2025; 14: 410–419\n"
    )
    entry = "Berg AB, Ruiz C. Zinc and wounds in elderly people of the Rodriguez-Quiroga ward, a cohort."
    assert texts(draft) == [f"{entry} J Trace Elem. 2001;344(2):1-9.", OKA]
    assert [(one.text, one.references) for one in draft.quotations] == [
        ("withdrawal was hard for all of the patients who had dose-dependent effects", (1,))
    ]


def test_a_single_number_between_paragraphs_is_no_page_number() -> None:
    draft = read_draft(f"Zinc heals\n\n7\n\nwounds of people [1].\n\n## References\n{NUMBERED}")
    assert cited(draft) == {"wounds of people.": (1,)}


@pytest.mark.parametrize("others", ["y cols.", "et coll.", "u. a.", "u.a.", "и др.", "e cols."])
def test_and_others_is_understood_in_other_languages(others: str) -> None:
    draft = read_draft(f"Zinc heals wounds (Berg {others}, 2001).\n\n# References\n\n{BERG}\n\n{LIND}\n\n{OKA}")
    assert [*cited(draft).values()] == [(1,)]


def test_a_citation_with_another_year_than_the_list_has_is_missed_from_it() -> None:
    draft = read_draft(f"Zinc heals wounds (Berg & Ruiz, 2004).\n\n# References\n\n{BERG}\n\n{OKA}")
    assert draft.remarks[0] == "Cited, but not in the list of references: Berg & Ruiz, 2004."


def test_strings_of_a_json_array_are_references() -> None:
    assert texts(read_draft(json.dumps([f"1. {BERG}", f"2. {LIND}", f"3. {OKA}"]))) == [BERG, LIND, OKA]


def test_references_in_a_block_of_code_count_if_it_has_nothing_else() -> None:
    draft = read_draft(f"Zinc heals [1].\n\n```\n{NUMBERED}```\n\nAll `x = [1]` is code. Iron, too, heals all [3].\n")
    assert texts(draft) == [BERG, LIND, OKA]


def test_a_list_goes_on_under_a_heading_within_it_if_the_numbers_do() -> None:
    rest = "## Found later\n\n4. Tal E, et al. Lead in mice. BMJ. 2006;331:55.\n\n## Appendix\n\n5. We asked people.\n"
    draft = read_draft(f"Zinc heals wounds [1,4].\n\n## References\n{NUMBERED}\n{rest}")
    assert labels(draft) == ["1", "2", "3", "4"]
    assert draft.references[2].text == OKA


@pytest.mark.parametrize("heading", ["## Included studies", "## Papers that we read", "## Citations in the field"])
def test_paragraphs_about_studies_are_no_list_of_references(heading: str) -> None:
    prose = "Berg and Ruiz (2001) found that zinc heals wounds.\n\nOka et al. (2005) gave iron to 34 mice."
    draft = read_draft(f"{heading}\n\n{prose}\n\n# References\n\n{BERG}\n\n{OKA}")
    assert texts(draft) == [BERG, OKA]
    assert [*cited(draft).values()] == [(1,), (2,)]


@pytest.mark.parametrize(
    "text",
    [
        "Berg JA, Ruiz K, et al. Zinc in the healing of wounds: a cohort study. J Zinc. 2019;11:495-8. PMID: 31388316",
        "Berg, J. A., Ruiz, K., & Oka, T. (2019). Zinc in the healing of wounds. Zinc Letters, 11, 495-508.",
        "Zinc in the healing of wounds in a large cohort of patients (PMID: 31388316)",
    ],
)
def test_one_reference_alone_is_one_reference(text: str):
    (only,) = read_draft(text).references
    assert (only.text, only.is_inline) == (text, False)


def test_a_table_of_results_cites_the_list() -> None:
    draft = read_draft(
        "| Study | Year | Result |\n|---|---|---|\n| Berg 2001 | 2001 | 40 of 60 wounds healed |\n"
        f"\n## References\n\n{BERG}\n\n{LIND}\n"
    )
    assert texts(draft) == [BERG, LIND]
    assert [one.references for one in draft.sentences] == [(1,)]


def test_references_in_any_forms_one_a_line_are_all_read() -> None:
    ris, bibtex = "TY  - JOUR\nTI  - Zinc\nAU  - Berg\nER  -", "@article{oka, title={Iron in mice}, year={2005}}"
    forms = ["10.1000/abc", "PMID 30000001", "https://doi.org/10.1000/def", BERG, ris, LIND, bibtex, "12345678"]
    forms += ["PMC1234567", "https://pubmed.ncbi.nlm.nih.gov/30000003/", OKA, "doi: 10.1000/xyz", "NCT01234567"]
    forms += ["Müller K, Lee A (2019). Zinc. J A 1(2):3-4.", "arXiv:2001.01234", "Wu D (2012) Lead. Nature 3: 4."]
    assert [one.text for one in read_draft("\n".join(forms)).references] == forms


def test_numbers_behind_words_cite_if_they_cite_the_list() -> None:
    draft = read_draft(f"Zinc heals wounds1,2 in mice3 by interleukin6.\n\nReferences\n{NUMBERED}")
    assert [*cited(draft).values()] == [(1, 2, 3)]
    assert read_draft(f"We saw interleukin2 in all mice.\n\nReferences\n{NUMBERED}4. {BERG}\n").sentences == ()


@pytest.mark.parametrize("heading", ["参考文献", "Literaturverzeichnis", "R E F E R E N C E S"])
def test_sentences_of_any_script_cite(heading: str) -> None:
    entries = (
        "[1] 王伟, 李明. 锌与伤口. 中华医学杂志, 2019, 99(2): 1-9.\n[2] Lind D. Copper[J]. Lancet, 2003, 361: 10.\n"
    )
    draft = read_draft(f"锌可促进伤口愈合[1]。铜则不然[2]。\n\n{heading}\n{entries}")
    assert [one.references for one in draft.sentences] == [(1,), (2,)]


@pytest.mark.parametrize("gap", ["[...]", "[…]", "(...)", "(…)", "…"])
def test_what_a_quotation_leaves_out_is_kept_as_a_gap(gap: str) -> None:
    draft = read_draft(f"“Zinc {gap} heals 40% of wounds” [1].\n\nReferences\n1. {BERG}\n2. {LIND}\n")
    assert [one.text for one in draft.quotations] == [f"Zinc {gap} heals 40% of wounds"]


def test_uncited_entries_with_the_number_of_cited_ones_are_named_by_their_text() -> None:
    draft = read_draft(f"Zinc [1].\n\nReferences\n1. {BERG}\n\nAdditional references\n1. {LIND}\n")
    assert any("never cited: “Lind D" in one for one in draft.remarks)


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("Calmodulin- and calcium-dependent kinase of el-\nderly mice", "kinase of elderly mice"),
        ("Placebo in wards, one ward: a placebo-\nward trial", "a placebo-ward trial"),
        ("Role of calmodulin-\nand protein kinase", "Role of calmodulin- and protein kinase"),
        ("The biobank, a bank of bio data, is a bio-\nbank of mice", "a biobank of mice"),
        ("See https://example.org/wound-\ncare/zinc for more", "wound-care/zinc for more"),
    ],
)
def test_a_hyphen_at_a_line_end_stays_between_words_that_the_draft_has_apart(broken: str, whole: str) -> None:
    draft = read_draft(f"{broken} [1].\n\n## References\n{NUMBERED}")
    assert whole in " ".join(" ".join(one.text.split()) for one in draft.sentences)


def test_addresses_that_stand_twice_on_one_page_are_no_running_head() -> None:
    twice = "Kirk C. Learning of flies 2015. J Neurosci 35:5950–8.\ndoi:10.1523/JNEUROSCI.3930"
    draft = read_draft(f"Zinc\n\n1\n\nheals [1].\n\nReferences\n1. {twice}\n2. {twice}\n\n2\n\n3. {BERG}\n")
    assert [one.endswith("doi:10.1523/JNEUROSCI.3930") for one in texts(draft)] == [True, True, False]


def test_a_year_alone_on_its_line_belongs_to_its_entry() -> None:
    draft = read_draft(f"Zinc [1].\n\nReferences\n\n1. Giant pandas: biology. University Press.\n2004.\n2. {OKA}\n")
    assert texts(draft) == ["Giant pandas: biology. University Press. 2004.", OKA]


def test_a_line_that_looks_whole_does_not_cut_an_entry_of_a_list_in_which_entries_end_with_a_full_stop() -> None:
    report = "IPCC. Climate Change 2014\nSynthesis Report (Unedited Version). 2014. Available:\nhttps://www.ipcc.ch/x"
    wrapped = "Berg AB, Ruiz C. Zinc and wounds in elderly\npeople. J Trace Elem. 2001;344(2):1-9."
    for mark in (("1. ", "2. ", "3. ", "4. "), ("", "", "", "")):
        entries = "\n".join(m + one for m, one in zip(mark, (wrapped, LIND, report, OKA), strict=True))
        assert len(read_draft(f"Zinc heals.\n\nReferences\n\n{entries}\n").references) == 4


def test_other_words_before_a_year_cite_nothing() -> None:
    draft = read_draft(f"We had ISO 9001, 2006 of them; climate change 2006.\n\n## References\n\n{LIND}\n\n{OKA}\n")
    assert not draft.sentences


def test_numbers_on_lines_of_their_own_are_those_of_the_entries_below() -> None:
    draft = read_draft(f"Zinc [1] and [3].\n\nReferences\n1\n{BERG}\n2\n{LIND}\n3\n{OKA}\n")
    assert (texts(draft), labels(draft)) == ([BERG, LIND, OKA], ["1", "2", "3"])


def test_a_letter_that_names_papers_by_their_numbers_is_no_reference() -> None:
    letter = "Dear Editor,\n\nWe read with interest the report on zinc (PMID: 30000001). {}\n\nSincerely,\nA. Berg\n"
    assert texts(read_draft(letter.format(""))) == ["PMID 30000001"]
    more = read_draft(letter.format("Others found no effect (PMIDs 30000002, 30000003 and 30000004; NCT01234567)."))
    assert len(more.references) == 5


def test_an_institution_with_its_acronym_in_brackets_cites() -> None:
    entries = f"World Health Organization. (2019). *Iron for all*. WHO Press.\n\n{LIND}\n"
    draft = read_draft(f"Zinc heals (Lind, 2003; World Health Organization [WHO], 2019).\n\nReferences\n\n{entries}")
    assert cited(draft) == {"Zinc heals.": (2, 1)}


def test_a_page_break_between_entries_keeps_them_apart() -> None:
    who = "World Health Organization. Iron for all. Geneva: WHO; 2019."
    nice = "NICE guideline on iron. London: NICE; 2019."
    text = f"Zinc\n\n1\n\nheals (Berg, 2001).\n\nReferences\n{BERG}\n\n2\n\n{nice}\n{OKA}\n\n3\n\n{who}\n\n4\n"
    assert texts(read_draft(text)) == [BERG, nice, OKA, who]


def test_a_raised_number_behind_a_unit_cites_if_it_is_no_power() -> None:
    references = "\n".join(f"{number}. Oka E. Iron {number}. BMJ. 2005;330:{number}." for number in range(1, 13))
    draft = read_draft(f"Mice swam in 5 m^2^ for 30 min^12^ at 10^3^ beats.\n\n## References\n{references}\n")
    assert [one.references for one in draft.sentences] == [(12,)]


def test_entries_that_end_with_an_address_or_begin_with_a_body_in_brackets_are_apart() -> None:
    gill = "Gill MA. Making space for siblings in\ncare. Pediatr Nurs. 2020;46(1):48-51. https://www.proquest.com/openview/47659"
    body = "Ministério da Saúde (BR). Método Canguru:\nmanual técnico. Brasília: Ministério da Saúde; 2017."
    draft = read_draft(f"Zinc heals.\n\nReferences\n\n{BERG}\n{gill}\n{LIND}\n{OKA}\n{body}\n")
    assert len(draft.references) == 5


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("31510363\n10086319\n3934796", 3),
        ("PMID: 31510363, 10086319, 39", 3),
        ("https://doi.org/10.1364/OE.1 https://doi.org/10.1016/s0006-2952(98)00365-7", 2),
        ("10.1364/OE.1, 10.1016/x.2, 10.1000/y.3", 3),
        (f"## References\n\n- {BERG}\n    - {OKA}\n- {LIND}\n    - a fine paper by Berg in 2019", 3),
        (f"## References\n\n1. {BERG}<br>2. {OKA}<br>3. {LIND}<br>4. {BERG}", 4),
    ],
)
def test_each_entry_stands_for_itself(text: str, count: int) -> None:
    draft = read_draft(text)
    assert (len(draft.references), draft.unread) == (count, ())


ABOVE = "Zinc heals [{}]. Copper hardens bones [{}]. Iron hurts mice [{}].\n\n# {}\n\n"
LISTED = [
    "Berg AB, Ruiz C. Zinc and wounds in elderly people. J Trace Elem. 2001;344(2):1-9. PMID: 30000001.",
    "Lind D. Copper and bones: a review. Lancet. 2003;361:10-2. PMID: 30000002.",
    "Oka E, Poe D. Iron and pain in mice. BMJ. 2005;330:55-60. PMID: 30000003.",
]


@pytest.mark.parametrize(
    ("form", "heading", "found"),
    [
        ("{}: ", "References", ["1", "2", "3"]),
        ("0{}. ", "References", ["1", "2", "3"]),
        ("S{}. ", "Web appendix references", ["S1", "S2", "S3"]),
        ("e{}. ", "e-References", ["e1", "e2", "e3"]),
        ("[Lab{}] ", "Appendix references", ["Lab1", "Lab2", "Lab3"]),
    ],
)
def test_labels_in_brackets_cite_whatever_their_form(form: str, heading: str, found: list[str]) -> None:
    entries = "\n".join(form.format(number) + one for number, one in enumerate(LISTED, 1))
    draft = read_draft(ABOVE.format(*found, heading) + entries)
    assert labels(draft) == found
    assert [one.references for one in draft.sentences] == [(1,), (2,), (3,)]


@pytest.mark.parametrize("marks", [["1: ", "2: ", "3: "], ["i. ", "ii. ", "iii. "], ["e1. ", "e2. ", "e3. "]])
def test_a_list_without_a_heading_is_cut_at_its_marks(marks: list[str]) -> None:
    wrapped = [textwrap.fill(mark + one, 60) for mark, one in zip(marks, LISTED, strict=True)]
    assert [" ".join(one.text.split()) for one in read_draft("\n\n".join(wrapped)).references] == LISTED


def test_a_range_of_labels_with_letters_cites_all_of_them() -> None:
    entries = "\n".join(f"S{number}. {one}" for number, one in enumerate(LISTED, 1))
    draft = read_draft(f"Metals were studied often [S1–S3].\n\n# Supplementary references\n\n{entries}")
    assert draft.sentences[0].references == (1, 2, 3)
