"""Tables in JATS as Markdown."""

from __future__ import annotations

import pytest

from tests.reading.jats_samples import outline, read, text_of

TABLE = "<table><thead><tr><th>Group</th><th>n</th></tr></thead><tbody><tr><td>A</td><td>3</td></tr></tbody></table>"


def table(inner: str) -> str:
    """The Markdown of a table with these rows."""
    return text_of(read(f"<p>Text.</p><table-wrap><table>{inner}</table></table-wrap>"), "t1")


def tables(inner: str) -> list[str]:
    """The Markdown of each block of a table."""
    return table(inner).split("\n\n")


def test_caption_table_and_footnotes_are_paragraphs() -> None:
    reading = read(
        "<sec><title>Results</title><p>Text.</p><table-wrap><label>Table 1.</label><caption><title>Patients</title>"
        f"<p>All of them.</p></caption>{TABLE}<table-wrap-foot><fn><label>a</label><p>Adjusted.</p></fn>"
        "<p>n: number.</p></table-wrap-foot></table-wrap></sec>"
    )
    assert outline(reading)[-1] == ("t1", "Results > Table 1")
    assert text_of(reading, "t1").split("\n\n") == [
        "Table 1. Patients. All of them.",
        "| Group | n |\n| --- | --- |\n| A | 3 |",
        "a Adjusted.",
        "n: number.",
    ]


def test_merged_cells_are_spelled_out_and_header_rows_joined() -> None:
    rows = (
        '<thead><tr><th rowspan="2">Group</th><th colspan="2">Weight</th></tr><tr><th>Before</th><th>After</th></tr>'
        '</thead><tbody><tr><td rowspan="2">A</td><td>1</td><td>2</td></tr><tr><td colspan="2">none</td></tr></tbody>'
    )
    assert table(rows).split("\n") == [
        "| Group | Weight / Before | Weight / After |",
        "| --- | --- | --- |",
        "| A | 1 | 2 |",
        "| A | none | none |",
    ]


def test_a_row_that_is_one_cell_stands_once() -> None:
    assert table('<tr><td colspan="2">Men</td></tr><tr><td>A</td><td>1</td></tr>').split("\n") == [
        *("|  |  |", "| --- | --- |", "| Men |  |", "| A | 1 |")
    ]


def test_a_first_row_of_header_cells_is_the_header() -> None:
    assert table("<tr><th>A</th></tr><tr><td>1</td></tr>") == "| A |\n| --- |\n| 1 |"


def test_signs_of_markdown_in_cells_are_escaped() -> None:
    assert table("<tr><td>a|b<break/>c\\</td></tr>").split("\n")[-1] == "| a\\|b c\\\\ |"


def test_a_list_or_table_in_a_cell_stays_in_it() -> None:
    cell = "<list><list-item><p>a</p></list-item><list-item><p>b</p></list-item></list>"
    inner = "<table><tr><td>c</td><td>d</td></tr></table>"
    assert table(f"<tr><td>{cell}{inner}</td></tr>").split("\n")[-1] == "| a b c d |"


def test_a_note_in_a_cell_stands_behind_the_table() -> None:
    assert table("<tr><td>5<fn><p>Estimated.</p></fn></td></tr>").split("\n\n")[1] == "Estimated."


def test_tables_of_cals_are_read() -> None:
    cals = (
        '<oasis:table><oasis:tgroup cols="3"><oasis:colspec colname="a"/><oasis:colspec colname="b"/>'
        '<oasis:colspec colname="c"/><oasis:thead><oasis:row><oasis:entry>G</oasis:entry>'
        '<oasis:entry namest="b" nameend="c">W</oasis:entry></oasis:row></oasis:thead><oasis:tbody><oasis:row>'
        '<oasis:entry morerows="1">x</oasis:entry><oasis:entry>1</oasis:entry><oasis:entry>2</oasis:entry></oasis:row>'
        '<oasis:row><oasis:entry colname="c">3</oasis:entry></oasis:row></oasis:tbody></oasis:tgroup></oasis:table>'
    )
    reading = read(f"<p>Text.</p><table-wrap><label>Table 1</label>{cals}</table-wrap>")
    assert text_of(reading, "t1").split("\n")[2:] == [
        *("| G | W | W |", "| --- | --- | --- |", "| x | 1 | 2 |", "| x |  | 3 |")
    ]


def test_several_tables_in_one_place_are_one_part() -> None:
    reading = read(f"<p>Text.</p><table-wrap><label>Table 1</label>{TABLE}{TABLE}</table-wrap>")
    assert [part.anchor for part in reading.parts] == ["s0", "t1"]
    assert reading.content.count("| Group | n |") == 2


def test_of_alternatives_the_table_is_read() -> None:
    wrap = f"<table-wrap><alternatives><graphic/>{TABLE}</alternatives></table-wrap>"
    assert text_of(read(f"<p>Text.</p>{wrap}"), "t1").startswith("| Group | n |")


def test_a_table_that_is_an_image_says_so() -> None:
    reading = read("<p>Text.</p><table-wrap><label>Table 1</label><graphic/></table-wrap>")
    assert text_of(reading, "t1") == "Table 1.\n\n[This table is an image: its cells are not in the text.]"


def test_tables_in_paragraphs_floats_and_back_matter_are_read() -> None:
    wrap = "<table-wrap><label>Table {}</label>" + TABLE + "</table-wrap>"
    reading = read(
        f"<sec><title>A</title><p>Text {wrap.format(1)} goes on.</p></sec>",
        after=f"<floats-group>{wrap.format(2)}</floats-group><back><app><title>B</title>{wrap.format(3)}</app></back>",
    )
    assert [entry for entry in outline(reading) if entry[0].startswith("t")] == [
        *(("t1", "A > Table 1"), ("t2", "Table 2"), ("t3", "B > Table 3"))
    ]
    assert text_of(reading, "s1") == "Text goes on."


@pytest.mark.parametrize("span", ["100000", "99999999999", "-1", "two", ""])
def test_absurd_spans_do_not_blow_up(span: str) -> None:
    rows = f'<tr><td colspan="{span}" rowspan="{span}">text</td></tr>' * 300
    assert len(table(rows)) < 1_000_000


def test_header_rows_between_the_rows_begin_a_table_of_their_own() -> None:
    head = "<tr><th/><th>Bladder</th><th>Breast</th></tr><tr><th/><th>OR</th><th>OR</th></tr>"
    again = "<tr><th/><th>Renal</th><th>Lung</th></tr><tr><th/><th>OR</th><th>OR</th></tr>"
    rows = "<tr><td>Men</td><td>1.1</td><td>1.2</td></tr>", "<tr><td>Men</td><td>2.1</td><td>2.2</td></tr>"
    first, second = tables(f"<thead>{head}</thead><tbody>{rows[0]}{again}{rows[1]}</tbody>")
    assert first.split("\n")[::2] == ["|  | Bladder / OR | Breast / OR |", "| Men | 1.1 | 1.2 |"]
    assert second.split("\n")[::2] == ["|  | Renal / OR | Lung / OR |", "| Men | 2.1 | 2.2 |"]


def test_a_header_that_is_repeated_in_plain_cells_begins_a_table_too() -> None:
    head, again = "<tr><th>Arm</th><th>n</th></tr>", "<tr><td>Arm</td><td>n</td></tr>"
    first, second = tables(
        f"<thead>{head}</thead><tbody><tr><td>A</td><td>1</td></tr>{again}<tr><td>B</td><td>2</td></tr></tbody>"
    )
    assert (first.split("\n")[-1], second.split("\n")) == ("| A | 1 |", ["| Arm | n |", "| --- | --- |", "| B | 2 |"])


def test_a_table_of_header_cells_alone_keeps_its_rows() -> None:
    assert table("<tr><th>A</th><th>1</th></tr><tr><th>B</th><th>2</th></tr>").split("\n")[-1] == "| B | 2 |"
