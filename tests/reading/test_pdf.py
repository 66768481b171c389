"""PDF files as the process that reads them gives them back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import PageReading
from deepcritical_mcp.reading.pdf import PdfLine, sections_of
from deepcritical_mcp.reading.reader_process import read_document
from tests.reading.pdf_files import Words, column, pdf


async def read(content: bytes, *, seconds: float = 60) -> PageReading:
    return await read_document(
        content, media_type="application/pdf", url="https://journal.example/a.pdf", seconds=seconds
    )


def joined(words: Sequence[Words]) -> str:
    """The text of lines that PDFium has not marked as divided."""
    lines = [PdfLine(one.text.strip(), one.left, one.bottom, 400, one.bottom + 7, one.size) for one in words]
    return " ".join(text for section in sections_of([lines], [792]) for text in section.paragraphs)


LEFT = [f"Left line {number} of the first column here" for number in range(1, 11)]
RIGHT = [f"Right line {number} of the second column" for number in range(1, 11)]


async def test_two_columns_are_read_one_after_the_other_however_the_file_orders_them():
    left, right = column(LEFT), column(RIGHT, left=330)
    by_columns = pdf([*left, *right])
    by_rows = pdf([word for pair in zip(left, right, strict=True) for word in pair])
    expected = " ".join([*LEFT, *RIGHT])
    for content in (by_columns, by_rows):
        assert " ".join((await read(content)).reading.content.split()) == expected


async def test_a_title_above_two_columns_comes_first():
    rows = [word for pair in zip(column(LEFT), column(RIGHT, left=330), strict=True) for word in pair]
    title = Words("A title that stands above both of the columns of this page", 72, 740, 16)
    page = await read(pdf([title, *rows]))
    assert page.reading.content.startswith("A title that stands above both")
    assert page.reading.content.index("Left line 10") < page.reading.content.index("Right line 1 ")


async def test_words_divided_at_the_end_of_a_line_are_joined():
    lines = [
        "Patients were randomly as-",
        "signed to metformin or placebo in a double-blind",
        "trial. Neither patients nor raters of this double-",
        "blind trial knew who was given which of the two, and COVID-",
        "19 was no reason to stop.",
    ]
    content = (await read(pdf(column(lines)))).reading.content
    assert "randomly assigned to metformin" in content
    assert "this double-blind trial knew" in content
    assert "COVID-19 was no reason" in content
    assert "\u0002" not in content


async def test_words_divided_by_a_plain_hyphen_are_joined_if_they_occur_elsewhere():
    lines = ["It was metfor-", "min that was given to all of them, twice", "daily, and metformin did not help."]
    apart = [Words(f"{line} ", 72, 700 - 12 * number) for number, line in enumerate(lines)]
    assert joined(apart) == "It was metformin that was given to all of them, twice daily, and metformin did not help."
    others = [Words("It was pre- ", 72, 700), Words("treatment that was given to all of them.", 72, 688)]
    assert joined(others) == "It was pre- treatment that was given to all of them."


BODY = ["Metformin lowered glucose in this trial of ten", "thousand adults, who were followed for five years."]


async def test_headings_are_recognized_by_their_words_or_size():
    lines = [
        Words("Metformin and cancer in adults", 72, 740, 18),
        *column(["Abstract", *BODY], top=700),
        *column(["1. Introduction", *BODY], top=640),
        *column(["2. MATERIALS AND METHODS", *BODY], top=580),
        Words("Who took part", 72, 530, 13),
        *column(BODY, top=510),
    ]
    reading = (await read(pdf(lines, title="Metformin and cancer in adults"))).reading
    assert [(part.anchor, part.path) for part in reading.parts] == [
        ("s1", ("Metformin and cancer in adults",)),
        ("s2", ("Abstract",)),
        ("s3", ("Introduction",)),
        ("s4", ("MATERIALS AND METHODS",)),
        ("s5", ("Who took part",)),
    ]
    assert reading.content.split("\n\n") == [" ".join(BODY)] * 4
    assert reading.fields == {"title": "Metformin and cancer in adults"}


async def test_without_headings_the_sections_are_the_pages():
    reading = (await read(pdf(column(BODY), column(["And more."]), title="Microsoft Word - paper.docx"))).reading
    assert [(part.anchor, part.path) for part in reading.parts] == [("s1", ("Page 1",)), ("s2", ("Page 2",))]
    assert reading.fields == {}


async def test_running_heads_and_page_numbers_are_left_out():
    def page(number: int) -> list[Words]:
        head, foot = Words(f"J Trials 2024;12:{number}", 72, 770), Words(str(number), 300, 30)
        return [head, *column([f"Text {number} of this page.", *BODY]), foot]

    pages = [page(number) for number in range(101, 105)]
    content = (await read(pdf(*pages))).reading.content
    assert "J Trials" not in content
    assert "101\n" not in content
    assert [f"Text {number}" in content for number in range(101, 105)] == [True] * 4


async def content_of(pages: Sequence[Sequence[Words]]) -> str:
    return (await read(pdf(*pages))).reading.content


def framed(number: int, head: str, foot: str = "") -> list[Words]:
    """A page with a text of its own between a line at its top and one at its bottom."""
    middle = column([f"Chapter {chr(97 + number) * 3} tells of something else.", *BODY], top=600)
    return [Words(head, 72, 770), *middle, *([Words(foot, 72, 40)] if foot else [])]


async def test_results_at_the_edges_of_pages_are_kept_though_only_their_numbers_differ():
    pages = [
        framed(
            number,
            f"Participant {number + 1} received {20 * number} mg and did not respond.",
            f"Deaths in group {number + 1}: {2 * number} of {40 + number}.",
        )
        for number in range(6)
    ]
    content = await content_of(pages)
    assert content.count("did not respond.") == 6
    assert content.count("Deaths in group") == 6


@pytest.mark.parametrize(
    ("heads", "kept"),
    [
        (["J Trials"] * 6, 0),
        (["J Trials"] * 2 + [f"No. {letter} died" for letter in "abcd"], 2),
        (["J Trials"] * 3 + [f"Group {letter} was small" for letter in "abcd"], 3),
        (["Lee et al", "J Trials"] * 4, 0),
        (["", "J Trials"] * 4, 0),
        (["J Trials", "j trials"] * 2, 4),
        ([f"{number} | J Trials" for number in range(9, 15)], 0),
        ([f"J Trials 2024;12:{number}" for number in range(98, 104)], 0),
        ([f"{number} | J Trials" for number in (9, 11, 10, 20, 31, 40)], 6),
        ([f"J Trials HR 0.{number}" for number in range(11, 17)], 6),
        ([f"J Trials {number} mg" for number in range(11, 17)], 6),
    ],
    ids="same twice three left-and-right right-only case number-first number-last jumping decimal inside".split(),
)
async def test_a_running_head_repeats_exactly_or_counts_the_pages(heads: list[str], kept: int):
    content = await content_of([framed(number, head) for number, head in enumerate(heads)])
    assert content.lower().count("j trials") == kept
    assert content.count("something else.") == len(heads)


async def test_page_numbers_are_numbers_alone_in_their_row():
    def page(*last: str) -> list[Words]:
        return [*column(BODY), *(Words(text, 72 + 200 * place, 30) for place, text in enumerate(last))]

    assert (await content_of([page("xiv")])).endswith("five years.")
    assert (await content_of([page("Page 3 of 9")])).endswith("five years.")
    assert (await content_of([page("ill")])).endswith("ill")
    assert "12" in await content_of([page("12", "Deaths")])


async def test_a_document_of_nothing_but_running_lines_keeps_them():
    content = await content_of([[Words("No patient of this group died in the trial.", 72, 770)]] * 4)
    assert content.count("No patient of this group died") == 4


async def test_paragraphs_are_divided_at_gaps_and_after_short_last_lines():
    lines = [*column([*BODY, "It ended there."]), *column(BODY, top=664), *column(BODY, top=600)]
    assert len((await read(pdf(lines))).reading.content.split("\n\n")) == 3


async def test_a_scanned_file_says_that_there_is_no_text_inside():
    page = await read(pdf([], [Words("7", 300, 30)], [], images=True))
    assert (page.status, page.detail) == ("no_text", "no text inside: 3 pages of images")
    assert page.reading.content == ""


async def test_empty_pages_are_not_taken_for_images():
    page = await read(pdf([], []))
    assert (page.status, page.detail) == ("no_text", "no text inside: the pages are empty")


async def test_the_little_text_of_pages_without_images_is_the_text():
    page = await read(pdf(column(["See part 2."])))
    assert (page.status, page.reading.content) == ("full_text", "See part 2.")


async def test_a_file_that_was_cut_off_is_damaged_and_not_empty():
    with pytest.raises(UnreadableDocumentError, match="its end is missing"):
        await read(pdf([], []).replace(b"%%EOF", b""))


@pytest.mark.parametrize("runs", [0, 90, 180, 270], ids=lambda runs: f"text-{runs}")
@pytest.mark.parametrize("rotate", [0, 90, 180, 270], ids=lambda rotate: f"page-{rotate}")
async def test_turned_pages_are_read_in_order(rotate: int, runs: int):
    lines = [*column(LEFT, top=550), *column(RIGHT, left=330, top=550)]
    by_rows = [word for pair in zip(lines[:10], lines[10:], strict=True) for word in pair]
    for order in (lines, by_rows):
        content = (await read(pdf(order, rotate=rotate, runs=runs))).reading.content
        assert " ".join(content.split()) == " ".join([*LEFT, *RIGHT])


async def test_pages_without_text_in_a_text_are_counted():
    assert (await read(pdf(column(BODY * 4), []))).reading.remarks == ("1 page without text inside: images or blank.",)


async def test_a_file_with_a_password_says_so():
    with pytest.raises(UnreadableDocumentError) as caught:
        await read(pdf(column(BODY), password=True))
    assert caught.value.is_protected
    assert caught.value.message == "This PDF is protected by a password."


@pytest.mark.parametrize("content", [b"%PDF-1.7\nnothing else", b"", b"%PDF-" + bytes(range(256)) * 40])
async def test_damaged_files_are_errors_that_say_so(content: bytes):
    with pytest.raises(UnreadableDocumentError) as caught:
        await read(content)
    assert not caught.value.is_protected


async def test_what_takes_too_long_is_stopped():
    with pytest.raises(UnreadableDocumentError, match="too long") as caught:
        await read(pdf(column(BODY)), seconds=0)
    assert caught.value.is_too_slow


async def test_only_the_first_500_pages_are_read():
    page = await read(pdf(*[column([f"This is the whole text of page {number}."]) for number in range(501)]))
    assert page.reading.remarks == ("Only the first 500 of 501 pages were read: no more than 500 are.",)
    assert "text of page 499." in page.reading.content
