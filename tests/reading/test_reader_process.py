"""The process that reads documents survives what it reads, or ends without taking others with it."""

from __future__ import annotations

import pytest

from deepcritical_mcp.reading.reader_process import read_document

URL = "https://journal.example/articles/1"
TEXT = "Metformin lowered glucose in this trial of ten thousand adults, who were followed for five years. " * 3


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 20_000 + TEXT,
        "<p>" + "<b>" * 5_000 + TEXT,
        "<table><tr><td>" * 3_000 + TEXT,
        "<table><tr>" + "<td colspan=99999 rowspan=99999>x" * 500 + "</table>",
        "<ul>" * 5_000 + "<li>x" * 5_000,
        "&" * 100_000,
        "<" * 100_000,
        "<a href='" * 30_000,
        "\x00\x01\ufffe" * 1_000,
    ],
    ids=["divs", "inline", "tables", "spans", "lists", "ampersands", "brackets", "attributes", "controls"],
)
async def test_pages_made_to_break_readers_are_read_or_refused(body: str):
    content = f"<html><body>{body}</body></html>".encode("utf-8", errors="replace")
    page = await read_document(content, media_type="text/html", url=URL, seconds=60)
    assert page.status in ("full_text", "no_text", "not_allowed")


async def test_text_files_are_paragraphs():
    content = "First line\r\ngoes on.\r\n\r\n\r\nSecond paragraph.\r\n".encode("utf-16")
    page = await read_document(content, media_type="text/plain", url=URL, charset="utf-8", seconds=60)
    assert page.reading.content == "First line goes on.\n\nSecond paragraph."
    assert [part.anchor for part in page.reading.parts] == ["s0"]
