"""The process that reads documents survives what it reads, or ends without taking others with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepcritical_mcp.reading as reading_package
from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import PageReading, Reading, Section, assembled, bounded
from deepcritical_mcp.reading.reader_process import end_readers, read_articles, read_document
from tests.reading.jats_samples import article
from tests.reading.pdf_files import column, pdf

URL = "https://journal.example/articles/1"
TEXT = "Metformin lowered glucose in this trial of ten thousand adults, who were followed for five years. " * 3


BODIES = {
    "divs": "<div>" * 20_000 + TEXT,
    "inline": "<p>" + "<b>" * 5_000 + TEXT,
    "tables": "<table><tr><td>" * 3_000 + TEXT,
    "spans": "<table><tr>" + "<td colspan=99999 rowspan=99999>x" * 500 + "</table>",
    "lists": "<ul>" * 5_000 + "<li>x" * 5_000,
    "characters": "&" * 100_000 + "<" * 100_000 + "\x00\x01\ufffe" * 1_000,
    "attributes": "<a href='" * 30_000,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_pages_made_to_break_readers_are_read_or_refused(body: str):
    content = f"<html><body>{body}</body></html>".encode("utf-8", errors="replace")
    page = await read_document(content, media_type="text/html", url=URL, seconds=60)
    assert page.status in ("full_text", "no_text", "not_allowed")


PAGE = f"<html><body><article><p>{TEXT}</p></article></body></html>".encode()
has_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are listed on Linux only")


def readers(parent: str = "self") -> set[int]:
    """The reading processes of a process."""
    found = {int(one) for path in Path(f"/proc/{parent}/task").glob("*/children") for one in path.read_text().split()}
    return {one for one in found if b"reader_child" in _command_of(one)}


def _command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return b""


async def page_of(content: bytes) -> PageReading:
    return await read_document(content, media_type="text/html", url=URL)


@has_proc
async def test_one_process_reads_document_after_document_until_it_is_ended():
    end_readers()
    await page_of(PAGE)
    first = readers()
    assert len(first) == 1
    assert [one.content for one in await read_articles(article("<p>One.</p>"), "", "")] == ["One."]
    assert readers() == first
    end_readers()
    assert readers() == set()


@has_proc
async def test_a_server_that_is_closed_leaves_no_reader():
    app = AppContext(Settings(data_dir=None))
    await app.services()
    await page_of(PAGE)
    await app.aclose()
    assert readers() == set()


@has_proc
async def test_a_reader_that_was_killed_is_replaced():
    await page_of(PAGE)
    for one in readers():
        os.kill(one, signal.SIGKILL)
    assert (await page_of(PAGE)).status == "full_text"


@pytest.mark.long
@has_proc
async def test_a_document_that_takes_too_much_memory_costs_its_process_only():
    dense = pdf(column(["Hello world, again and again and again."] * 120_000))
    with pytest.raises(UnreadableDocumentError, match="too much memory"):
        await read_document(dense, media_type="application/pdf", url=URL)
    assert readers() == set()
    assert (await page_of(PAGE)).status == "full_text"


READS_ON = """
import anyio, sys
from deepcritical_mcp.reading.reader_process import read_document
print(flush=True)
content = b"<html><body><p " + b"".join(b"a%d='1' " % number for number in range(200_000)) + b">Text.</p>"
anyio.run(lambda: read_document(content, media_type="text/html", url="https://journal.example/1"))
"""


@has_proc
def test_a_reader_ends_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", READS_ON], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        parent.stdout.readline()
        found = set[int]()
        while not found:
            found = readers(str(parent.pid))
        parent.kill()
    (one,) = found
    while Path(f"/proc/{one}").exists():
        time.sleep(0.01)


def test_a_reader_knows_neither_the_database_nor_the_protocol():
    code = (
        "import sys; from deepcritical_mcp.reading import reader_child, web_page, jats, pdf; "
        "print([one for one in ('chromadb', 'mcp', 'httpx', 'numpy') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@given(st.lists(st.lists(st.text("ab \n", max_size=12), max_size=8), max_size=6), st.integers(1, 40))
def test_a_text_is_cut_at_its_end_only_and_its_parts_still_fit(texts: list[list[str]], most: int):
    sections = [Section(f"s{number}", own, path=(f"Title {number}",)) for number, own in enumerate(texts)]
    content, parts = assembled(sections)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading_package, "MAX_CHARACTERS", most)
        cut = bounded(Reading(content, parts))
    assert content.startswith(cut.content)
    assert cut.parts == tuple(part for part in parts if part.start < len(cut.content)) or cut.content == content
    assert bool(cut.remarks) == (cut.content != content)
