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


async def test_words_divided_by_a_plain_hyphen_are_joined_if_they_occur_elsewhere():
    lines = ["It was metfor-", "min that was given to all patients twice dai\u2010", "ly; metformin did not help."]
    apart = [Words(f"{line} ", 72, 700 - 12 * number) for number, line in enumerate(lines)]
    assert joined(apart) == "It was metformin that was given to all patients twice daily; metformin did not help."
    others = [Words("It was pre- ", 72, 700), Words("treatment that was given to all of them.", 72, 688)]
    assert joined(others) == "It was pre- treatment that was given to all of them."


@pytest.mark.parametrize("form", ["2024 Journal of Trials {}", "{} Journal of Trials 2024"])
def test_running_lines_are_left_out_although_a_year_stands_at_their_other_end(form: str):
    head, own = PdfLine("", 72, 770, 300, 777, 8), PdfLine("", 72, 500, 400, 510, 10)
    pages = [
        [head._replace(text=form.format(n), page=n), own._replace(text=f"On {'abcd'[n]}.", page=n)] for n in range(4)
    ]
    texts = [text for section in sections_of(pages, [792] * 4) for text in section.paragraphs]
    assert not any("Journal" in text for text in texts)


def test_of_a_heading_only_the_number_before_it_is_left_out():
    rows = [("2.1 Taar1 gene variants", 14), (BODY[0], 10), ("Phase I trials of three", 14), (BODY[1], 10)]
    lines = [PdfLine(text, 72, 700 - 40 * at, 400, 710 - 40 * at, size) for at, (text, size) in enumerate(rows)]
    titles = [section.path for section in sections_of([lines], [792])]
    assert titles == [("Taar1 gene variants",), ("Phase I trials of three",)]


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
