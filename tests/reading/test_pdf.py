"""PDF files as the process that reads them gives them back."""

from collections.abc import Sequence

import pytest

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import PageReading
from deepcritical_mcp.reading.pdf import PdfLine, sections_of
from deepcritical_mcp.reading.reader_process import read_document
from tests.reading.pdf_files import Words, column, pdf


async def read(content: bytes, *, seconds: float = 60) -> PageReading:
    address = "https://journal.example/a.pdf"
    return await read_document(content, media_type="application/pdf", url=address, seconds=seconds)


def joined(words: Sequence[Words]) -> str:
    """The text of lines that PDFium has not marked as divided."""
    lines = [PdfLine(one.text.strip(), one.left, one.bottom, 400, one.bottom + 7, one.size) for one in words]
    return " ".join(text for section in sections_of([lines], [792]) for text in section.paragraphs)


LEFT = [f"Left line {number} of the first column here" for number in range(1, 11)]
RIGHT = [f"Right line {number} of the second column" for number in range(1, 11)]


async def test_two_columns_are_read_one_after_the_other_however_the_file_orders_them():
    left, right = column(LEFT), column(RIGHT, left=330)
    by_rows = pdf([word for pair in zip(left, right, strict=True) for word in pair])
    expected = " ".join([*LEFT, *RIGHT])
    for content in (pdf([*left, *right]), by_rows):
        assert " ".join((await read(content)).reading.content.split()) == expected


@pytest.mark.parametrize("hyphen", ["\u0002", "\u2010", "\u00ad"])
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("twice dai~|ly", "twice daily"),
        ("a meta~|analysis, another meta-analysis", "a meta-analysis, another meta-analysis"),
        ("non-small~|cell or non-small-cell", "non-small-cell or non-small-cell"),
        ("of malaria, spreading; malaria~|spreading", "of malaria, spreading; malaria-spreading"),
        ("pre~|and post-operative", "pre- and post-operative"),
        ("HIV~|infected, N~|acetylcysteine", "HIV-infected, N-acetylcysteine"),
        ("a 5~|year plan", "a 5-year plan"),
        ("anti~|TNF, Plasmo~|dium", "anti-TNF, Plasmodium"),
        ("10.1016/j.abc~|def at jan.van~|berg@example.org", "10.1016/j.abc-def at jan.van-berg@example.org"),
    ],
)
def test_words_divided_at_the_end_of_a_line_are_joined(written: str, read: str, hyphen: str):
    lines = written.replace("~", hyphen).split("|")
    assert joined([Words(line, 72, 700 - 12 * number) for number, line in enumerate(lines)]) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("It was metfor-|min; metformin", "It was metformin; metformin"),
        ("It was pre-|treatment", "It was pre- treatment"),
        ("12 \u2010|0.5 mg", "12 \u2010 0.5 mg"),
    ],
)
def test_other_hyphens_at_the_end_of_a_line_divide_no_word(written: str, read: str):
    assert joined([Words(line, 72, 700 - 12 * at) for at, line in enumerate(written.split("|"))]) == read


def test_a_hyphen_joins_no_line_that_begins_anew():
    rows = [("Of the trea\u2010", 700), ("Correspondence: A. Berg", 600), ("No value \u2010", 500), ("none here.", 400)]
    lines = [PdfLine(text, 72, bottom, 400, bottom + 7, 10) for text, bottom in rows]
    assert [section.paragraphs for section in sections_of([lines], [792])] == [
        ["Of the trea-", "Correspondence: A. Berg", "No value \u2010", "none here."]
    ]


@pytest.mark.parametrize("form", ["2024 Journal of Trials {}", "{} Journal of Trials 2024"])
def test_running_lines_are_left_out_although_a_year_stands_at_their_other_end(form: str):
    head, own = PdfLine("", 72, 770, 300, 777, 8), PdfLine("", 72, 500, 400, 510, 10)
    pages = [
        [head._replace(text=form.format(n), page=n), own._replace(text=f"On {'abcd'[n]}.", page=n)] for n in range(4)
    ]
    texts = [text for section in sections_of(pages, [792] * 4) for text in section.paragraphs]
    assert not any("Journal" in text for text in texts)


def test_of_a_heading_only_the_number_before_it_is_left_out():
    headings = ["2.1 Taar1 gene", "Phase I trials", "IV iron", "H. pylori", "10 mg of zinc", "II. Methods", "3 Results"]
    rows = [row for one in headings for row in ((one, 14), (BODY[0], 10))]
    lines = [PdfLine(text, 72, 700 - 40 * at, 400, 710 - 40 * at, size) for at, (text, size) in enumerate(rows)]
    titles = [section.path for section in sections_of([lines], [792])]
    assert titles == [("Taar1 gene",), *((one,) for one in headings[1:5]), ("Methods",), ("Results",)]


def test_rows_of_cells_below_each_other_are_a_table_with_its_caption():
    def row(bottom: float, *cells: tuple[str, float]) -> list[PdfLine]:
        return [PdfLine(text, left, bottom, left + 5 * len(text), bottom + 9, 10) for text, left in cells]

    rows = [
        row(700, ("The animals were housed in Trondheim and weighed every Monday.", 72)),
        row(670, ("Table 1. Weights", 72)),
        row(650, ("Group", 72), ("n", 160), ("Weight, g", 200)),
        row(636, ("Control", 72), ("12", 160), ("310", 200)),
        row(622, ("Low dose", 72), ("11", 160), ("305 or", 200)),
        row(610, ("more", 200)),
        row(580, ("No animal died during the twelve weeks of the study.", 72)),
    ]
    text, table = sections_of([[line for one in rows for line in one]], [792])
    assert text.paragraphs == [rows[0][0].text, rows[6][0].text]
    assert table.paragraphs == [
        "Table 1. Weights",
        "| Group | n | Weight, g |\n| --- | --- | --- |\n| Control | 12 | 310 |\n| Low dose | 11 | 305 or more |",
    ]


BODY = ["Metformin lowered glucose in this trial of ten", "thousand adults, who were followed for five years."]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pdf([], []).replace(b"%%EOF", b""), "its end is missing"),
        (pdf(column(BODY), password=True), "This PDF is protected by a password."),
        *((content, "") for content in (b"%PDF-1.7\nnothing else", b"", b"%PDF-" + bytes(range(256)) * 40)),
    ],
)
async def test_what_cannot_be_read_is_an_error_that_says_so(content: bytes, said: str):
    with pytest.raises(UnreadableDocumentError) as caught:
        await read(content)
    assert said in caught.value.message
    assert caught.value.is_protected == ("password" in said)


async def test_what_takes_too_long_is_stopped():
    with pytest.raises(UnreadableDocumentError, match="too long") as caught:
        await read(pdf(column(BODY)), seconds=0)
    assert caught.value.is_too_slow
