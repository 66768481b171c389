"""Entries read and entries not read are all the entries that a draft has."""

import re
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.checking.draft import read_draft
from tests.checking.draft.test_reading import BERG, LIND, OKA

HEAD = "Zinc heals wounds [1].\n\n## References\n\n"


def read(text: str) -> tuple[list[str], list[str]]:
    draft = read_draft(text)
    return [" ".join(one.text.split()) for one in draft.references], [one.text for one in draft.unread]


@pytest.mark.parametrize(
    ("listed", "entries", "unread"),
    [
        (f"1. {BERG}\n2. ???\n3. -\n4. {OKA}\n", [BERG, OKA], ["2. ???", "3. -"]),
        (f"1. {BERG}\n\nIbid., 48.\n\n2. {LIND}\n\nIbid.\n", [BERG, LIND], ["Ibid., 48.", "Ibid."]),
        (f"1. {BERG}\n\nMiller, Copper Ships, 47.\n\n2. {OKA}\n", [BERG, OKA], ["Miller, Copper Ships, 47."]),
        (f"We read these.\n\n1. {BERG}\n2. {OKA}\n\nAll of them.\n", [BERG, OKA], ["We read these.", "All of them."]),
        (f"{BERG}\n\nPlease verify these.\n\n{OKA}\n", [BERG, OKA], ["Please verify these."]),
        (f"1. {BERG}\n2. 1998. Hyne J. Iron. Lancet 12:3.\n", [BERG, "1998. Hyne J. Iron. Lancet 12:3."], []),
        (f"(1) {BERG[:-1]}; (2) {LIND}; (3) {OKA}\n", [BERG[:-1] + ";", LIND + ";", OKA], []),
        (f"• {BERG}\n• {OKA}\n", [BERG, OKA], []),
        (f"1. {BERG}\n\nPMID\n\n2. {OKA}\n", [BERG, OKA], ["PMID"]),
        (f"1. {BERG}\n- {LIND}\n2. {OKA}\n", [BERG, LIND, OKA], []),
        (f"- Basics\n  - {BERG}\n- More\n  - {OKA}\n", [BERG, OKA], ["Basics", "More"]),
    ],
)
def test_what_stands_among_the_references_is_read_or_told_as_unread(
    listed: str, entries: list[str], unread: list[str]
) -> None:
    assert read(f"{HEAD}{listed}") == (entries, unread)


def test_items_of_latex_that_say_nothing_are_told() -> None:
    items = "\n".join(f"\\item {one}" for one in (BERG, "???", "-", "in press", OKA))
    listed = f"\\section*{{References}}\n\\begin{{enumerate}}\n{items}\n\\end{{enumerate}}"
    assert read(f"\\begin{{document}}\n{listed}\n\\end{{document}}") == ([BERG, "in press", OKA], ["2. ???", "3. -"])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"Contents\nReferences\nAppendix\n\nWe saw [1].\n\nReferences\n1. {BERG}\n2. {OKA}\n", 2),
        (f"{HEAD}1. {BERG}\n\nFigure 1. Zinc in 2019 in all wards.\n\nTable 2. Doses\n", 1),
        (f"## Key references\n1. {BERG}\n\n## Discussion\n\nZinc is fine.\n\n## References\n2. {OKA}\n", 2),
        (f"<h2>References</h2><table><tr><td>1</td><td>{BERG}</td></tr><tr><td>2</td><td>{OKA}</td></tr></table>", 2),
    ],
)
def test_what_is_around_a_list_is_no_entry(text: str, count: int) -> None:
    entries, unread = read(text)
    assert (len(entries), unread) == (count, [])


def test_headings_among_the_references_and_rows_of_tables_that_are_some_are_read() -> None:
    assert read(f"{HEAD}### {BERG}\n\n**{OKA}**\n")[0] == [BERG, f"**{OKA}**"]
    table = f"| No | Reference |\n|---|---|\n| 1 | {BERG} |\n| 2 | {OKA} |\n"
    assert read(f"{HEAD}{table}") == ([BERG, OKA], [])
    assert read(f"{table}\n{table}") == ([BERG, OKA, BERG, OKA], [])


@pytest.mark.parametrize("first", [1, 15])
def test_a_list_whose_numbers_go_down_or_stand_twice_is_read(first: int) -> None:
    numbers = range(first, first + 4) if first == 1 else range(first, first - 4, -1)
    listed = "".join(f"{n}. {BERG}\n{n}. {OKA}\n" for n in numbers)
    assert read(f"{HEAD}{listed}") == ([BERG, OKA] * 4, [])


def test_a_list_within_wrapped_running_text_is_cut_at_its_numbers() -> None:
    works = [f"Oka E, Ruiz C. Iron of mice in ward {n}. BMJ. {1990 + n};330:{n}." for n in range(1, 9)]
    run_in = textwrap.fill(" ".join(f"({n}) {one}" for n, one in enumerate(works, 1)), 70)
    assert read(f"Iron (1).\n\nReferences: {run_in}\n")[0] == works


def test_an_entry_with_its_place_is_read_though_words_follow_its_year() -> None:
    works = [
        OKA,
        "Eagon PK, Teepe A (1994) p53 and hepatic binding. J Zinc 5(2):1–9",
        "T. Gau, C. Yao, Iron, Sci. 7 (2021) eaba1",
    ]
    assert read(HEAD + "\n\n".join(works)) == (works, [])


def test_a_draft_on_one_line_has_its_list() -> None:
    draft = read_draft(f"Zinc heals wounds [1]. Iron does, too [2]. References 1. {BERG} 2. {OKA}")
    assert [one.label for one in draft.references] == ["1", "2"]
    assert [one.references for one in draft.sentences] == [(1,), (2,)]


def test_a_list_that_is_nested_too_deeply_for_the_parser_is_read() -> None:
    listed = "\n".join(f"{'  ' * level}- Oka E. Iron {level}. BMJ. 2005;330:{level}." for level in range(40))
    assert len(read(f"{HEAD}{listed}")[0]) == 40


@pytest.mark.parametrize(
    "heading", ["BIBLIOGRAPHY AND REFERENCES CITED", "References and cited literature", "**References, cited works**"]
)
def test_a_heading_of_words_of_headings_opens_a_list(heading: str) -> None:
    prose = "\n\n".join(f"Zinc heals wounds, and iron does, too [{number}]." for number in (1, 2))
    assert read(f"{prose}\n\n{heading}\n\n1) {BERG}\n2) {OKA}\n")[0] == [BERG, OKA]


@pytest.mark.parametrize(
    ("foot", "head"),
    [
        ("{}", ""),
        ("Page {} of 9", "Smith et al. BMC Public Health (2021) 21:1033"),
        ("J Example Med 2024; 12: 101–112       {}", ""),
        ("Frontiers in Immunology | www.frontiersin.org {} May 2021 | Volume 12 | Article 666", ""),
        ("Downloaded from https://academic.oup.com/jn/article/151/3/1/602 by guest on 12 March 2024", ""),
    ],
)
@pytest.mark.parametrize("edge", ["\f", "\n"])
def test_running_heads_and_page_numbers_are_in_no_entry(foot: str, head: str, edge: str) -> None:
    if edge == "\n" and not head:
        return  # without a page's edge, a line that recurs may be the draft's
    wanted = [f"Oka E, Ruiz C. Iron of mice in ward {n} and its copper. BMJ. {1990 + n};330:{n}." for n in range(1, 31)]
    lines = [part for n, one in enumerate(wanted, 1) for part in (f"{n}. {one[:30]}", one[30:].strip())]
    pages = [lines[at : at + 13] for at in range(0, len(lines), 13)]
    printed = edge.join(
        "\n".join(filter(None, (head, *page, foot.format(number)))) + "\n" for number, page in enumerate(pages, 101)
    )
    entries, unread = read(f"Iron [1].\n\nReferences\n{printed}")
    assert (entries, unread) == ([" ".join(f"{one[:30]} {one[30:].strip()}".split()) for one in wanted], [])


@pytest.mark.parametrize(
    "head",
    ["{}\n\nJ Hypothetical Med 2021, 12, 345\nSmith et al. on iron", "J Hypothetical Med 2021, 12, 345 {} of 18\n"],
)
def test_a_head_that_stands_on_two_pages_is_in_no_entry(head: str) -> None:
    entry = "{}. Oka E, Ruiz C. Iron of mice in\nward {} and its copper. BMJ. 19{};330:{}."
    lines = "\n".join(entry.format(n, n, 70 + n, n) for n in range(1, 7)).split("\n")
    whole = read(f"Iron [1].\n\nReferences\n{chr(10).join(lines)}")[0]
    for at, page in ((9, 102), (3, 101)):
        lines[at:at] = ["", head.format(page), ""]
    assert read(f"Iron [1].\n\nReferences\n{chr(10).join(lines)}") == (whole, [])


def test_entries_that_differ_in_a_number_are_no_running_heads() -> None:
    reports = [f"WHO. Report of the expert panel, number {number}. Geneva: WHO; 2001." for number in range(1, 9)]
    assert read(HEAD + "\n\n".join(f"{one}\n\n{BERG}" for one in reports))[0][::2] == reports


def test_titles_of_tables_are_no_running_heads() -> None:
    tables = "\n\n".join(
        f"Table {n}. Doses and the wards of all mice [{n}]\n\n" + "A dose.\n\n" * 12 for n in (1, 2, 3)
    )
    draft = read_draft(f"{tables}\n\n## References\n\n1. {BERG}\n2. {LIND}\n3. {OKA}\n")
    assert [one.references for one in draft.sentences] == [(1,), (2,), (3,)]


@pytest.mark.parametrize("key", ["ștefan2019", "müller_2019", "李2019"])
def test_keys_of_any_letters_cite(key: str) -> None:
    draft = read_draft(f"Zinc heals [@{key}]. Iron, says @{key}, too.\n\n@article{{{key}, title={{Zinc}}, year=2019}}")
    assert [one.references for one in draft.sentences] == [(1,), (1,)]
    assert draft.remarks == ()


def test_raised_numbers_behind_a_name_with_a_number_cite() -> None:
    listed = "\n".join(f"{n}. Oka E. Iron {n}. BMJ. 2005;330:{n}." for n in range(1, 19))
    draft = read_draft(
        f"We gave IL-13¹⁶⁻¹⁸ and p53¹ to 10³ cells at 5×10⁶ and 1.5^2^ of x10⁴.\n\n## References\n\n{listed}"
    )
    assert [one.references for one in draft.sentences] == [(16, 17, 18, 1)]


PIECES = [BERG, LIND, OKA, "???", "Ibid., 48.", "in press", "Miller, Copper Ships, 47.", "PMID 12345678", "(see there)"]
MARKS = ["{}. ", "[{}] ", "({}) ", "- ", "", "* ", "{}) "]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(MARKS),
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([*MARKS, None]), st.sampled_from(["\n", "\n\n"]))),
)
def test_no_word_of_a_list_vanishes(form: str, pieces: list[tuple[str, str | None, str]]) -> None:
    listed = "".join(
        f"{(form if mark is None else mark).format(number)}Q{number}Q {piece}{end}"
        for number, (piece, mark, end) in enumerate(pieces, 2)
    )
    told = " ".join(part for parts in read(f"{HEAD}{form.format(1)}{BERG}\n{listed}") for part in parts)
    assert {*re.findall(r"Q\d+Q", listed)} <= {*re.findall(r"Q\d+Q", told)}


UNSURE = ["Smith J. Zinc and wounds", "Jones B. Iron and blood, 2nd edn. Oslo", "Biol Cell. 1995;85(2-3):167-76"]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_entries_that_do_not_look_sure_are_read_where_the_text_is_nothing_but_a_list(between: str) -> None:
    entries, unread = read(between.join([*UNSURE, BERG, LIND]))
    assert unread == []
    assert all(one in " ".join(entries) for one in UNSURE)


def test_what_looks_like_a_reference_outside_the_lists_is_told() -> None:
    prose = "Zinc heals wounds, which was shown.\n\nIt was cheap, and has been used since.\n\n"
    entries, unread = read(prose + "\n\n".join([*UNSURE, BERG, LIND, OKA]))
    assert entries[-3:] == [BERG, LIND, OKA]
    assert all(one in " ".join([*entries, *unread]).replace("\n", " ") for one in UNSURE)


@pytest.mark.parametrize("heading", ["**{}** {{published data only}}", "**{} {{published data only}}**", "{}"])
def test_headings_of_studies_are_told_and_their_references_read(heading: str) -> None:
    listed = f"{heading.format('Berg 2001')}\n{BERG}\n{OKA}\n{heading.format('Lind 2003a')}\n{LIND}\n"
    entries, unread = read(f"References\n\n{listed}")
    assert (entries, len(unread)) == ([BERG, OKA, LIND], 2)


def test_json_among_references_hides_none_of_them() -> None:
    item = '{"type": "article-journal", "title": "Zinc in 2019", "DOI": "10.1000/zinc"}'
    assert read(f"[Zinc in mice](https://doi.org/10.1000/mice)\n\n{BERG}\n\n{item}\n\n{OKA}\n")[0][1:] == [
        BERG,
        item,
        OKA,
    ]


def test_thanks_among_the_references_are_told_as_unread() -> None:
    thanks = "We thank R. Jones, who has read this, and our patients."
    assert read(f"{HEAD}1. {BERG}\n2. {thanks}\n3. {OKA}\n") == ([BERG, OKA], [thanks])


def test_entities_are_decoded() -> None:
    assert read(f"{HEAD}1. Lind &amp; Oka. Copper. 2003;1:2.")[0] == ["Lind & Oka. Copper. 2003;1:2."]


def test_references_outside_every_list_are_entries_with_all_they_say() -> None:
    invented = "Hurst CH, Nobody N. An invented title. Nature. 2019;12:3-5. PMID: 30000002"
    text = f"1. My early work was on zinc, which was new.\n\na. {BERG}\nb. {invented}\n\n2. Later work.\n\na. {OKA}\n"
    assert read(text) == ([BERG, invented, OKA], [])


def test_a_sentence_with_a_place_is_no_reference() -> None:
    text = "Genomic DNA was extracted as before, and was diluted 1:500 (Kit, vol. 3) in 2013."
    assert read(f"{text}\n\n{HEAD}1. {BERG}\n") == ([BERG], [])


def test_a_numbered_heading_behind_a_list_with_a_numbered_heading_ends_it() -> None:
    text = f"4.1 Zinc\n\nZinc heals [1].\n\n4.2 References\n\n1. {BERG}\n2. {OKA}\n\n4.3 Summary\n\nIron heals [2].\n"
    draft = read_draft(text)
    assert [one.references for one in draft.sentences] == [(1,), (2,)]
    assert draft.unread == ()


def test_lines_that_recur_among_the_references_are_in_no_entry() -> None:
    head = "ZINC AND THE LIVER\nDownloaded from example.org by guest on 03 March 2021\nhttps://doi.org/10.1000/this\n"
    lines = [f"{n}. Oka E, Ruiz C. Iron of mice\n{head}in ward {n}. BMJ. {1990 + n};330:{n}.\n" for n in range(1, 5)]
    entries, unread = read(f"Iron [1].\n\nReferences\n{''.join(lines)}")
    assert entries == [
        f"{n}. Oka E, Ruiz C. Iron of mice in ward {n}. BMJ. {1990 + n};330:{n}."[3:] for n in range(1, 5)
    ]
    assert unread == []


def test_rows_of_a_table_under_the_heading_of_the_list_are_entries() -> None:
    rows = "| 1 | Berg AB | Zinc and wounds | J Trace Elem 344:1-9 | 2001 |\n| 2 | Oka E | Iron | BMJ 330:55 | 2005 |\n"
    entries, unread = read(f"{HEAD}| No | Authors | Title | Journal | Year |\n|---|---|---|---|---|\n{rows}")
    assert [one.split()[0] for one in entries] == ["Berg", "Oka"]
    assert len(unread) == 1


@pytest.mark.parametrize("dash", ["———.", "—", "---.", "____."])
def test_a_dash_instead_of_the_names_begins_an_entry(dash: str) -> None:
    works = ["Oka E. (2001). Iron in mice. BMJ, 1, 1–2.", f"{dash} (2003). Iron in men. BMJ, 3, 1–2.", BERG]
    assert read(f"Zinc.\n\nReferences\n{chr(10).join(works)}\n") == (works, [])


def test_references_with_numbers_and_without_a_heading_are_read_behind_any_text() -> None:
    letter = "Dear editor,\n\nWe read this with interest [1].\n\nIt was fine.\n\nSincerely,\n\nA. Berg\n\nCity Hospital"
    assert read(f"{letter}\n\n1. {BERG}\n2. {OKA}\n") == ([BERG, OKA], [])


def test_no_entry_begins_within_brackets() -> None:
    works = [f"Oka, E. (200{n}) Iron in mice. Available at: https://example.org/{n} (Accessed: 3" for n in (1, 2, 3)]
    listed = "\n".join(f"{one}\nMarch 2021)." for one in works)
    assert len(read(f"Zinc.\n\nReferences\n{listed}\n")[0]) == 3
