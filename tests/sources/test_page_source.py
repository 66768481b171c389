"""The last rung for a full text: the page itself, or the PDF that it leads to."""

import gzip
from collections.abc import Callable, Mapping

import anyio
import httpx
import pytest

from deepcritical_mcp.config import PROXY_VARIABLES, Settings
from deepcritical_mcp.errors import ProviderTimeoutError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.net.guard import Guard
from deepcritical_mcp.net.public_addresses import ANY_ADDRESS
from deepcritical_mcp.sources.lookup import Copy, Wanted
from deepcritical_mcp.sources.page import PageSource
from tests.net.stand_in import Answer, Asked, StandIn, stand_in
from tests.reading.pdf_files import Words, column, pdf
from tests.reading.test_page import ABSTRACT, ARTICLE, ARTICLE_HEAD, TEXT

DOI = "10.1000/abc.1"


def html(body: str, head: str = "", *, status: int = 200) -> Answer:
    page = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    return Answer(status, page.encode(), "text/html; charset=utf-8")


PAPER = pdf(column([f"Line {number} of a paper that is read from its PDF." for number in range(20)]))
AS_PDF = Answer(200, PAPER, "application/pdf")


def site(pages: Mapping[str, Answer]) -> Callable[[Asked], Answer]:
    return lambda asked: pages.get(asked.path, Answer(404))


def source(server: StandIn | None = None, **options: object) -> PageSource:
    given: dict[str, object] = {"policy": ANY_ADDRESS, "proxies": {}, **options}
    guard = Guard(**given)  # pyright: ignore[reportArgumentType]
    return PageSource(guard, doi_resolver=f"{server.url}/doi/" if server else "https://doi.invalid/")


async def read(pages: Mapping[str, Answer], *paths: str, doi: str = "", **options: object) -> Copy:
    async with stand_in() as server:
        server.answer = site(pages)
        wanted = Wanted(RecordIds(doi=doi), tuple(f"{server.url}{path}" for path in paths))
        return await source(server, **options).read(wanted)


async def test_a_doi_leads_to_its_page_and_not_to_a_home_page():
    pages = {f"/doi/{DOI}": Answer(302, headers={"Location": "/b"}), "/b": html(ARTICLE, ARTICLE_HEAD)}
    assert (await read(pages, doi=DOI)).status == "full_text"
    pages = {f"/doi/{DOI}": Answer(302, headers={"Location": "/"}), "/": html(f"<p>Our journals. {TEXT}</p>")}
    copy = await read(pages, doi=DOI)
    assert (copy.status, copy.reading) == ("not_found", None)
    assert copy.detail == "The DOI leads to a page that does not name it, perhaps the journal's home page."


async def test_a_copy_with_another_doi_is_read_but_not_taken_for_the_article_itself():
    copy = await read({"/a": html(ARTICLE, ARTICLE_HEAD)}, "/a", doi="10.1000/other")
    assert copy.status == "full_text"
    assert copy.detail == f"It names itself DOI {DOI}: it may be another version."
    assert copy.reading is not None
    assert not {"doi", "pmid"} & copy.reading.fields.keys()


ROBOTS = Answer(200, b"User-agent: *\nDisallow: /a", "text/plain")
OUTCOMES = [
    ("401", {"/a": Answer(401)}, "not_allowed", "asks for a login (HTTP 401)"),
    ("403", {"/a": Answer(403)}, "not_allowed", "does not let programs read this page (HTTP 403)"),
    ("451", {"/a": Answer(451)}, "not_allowed", "for legal reasons (HTTP 451)"),
    ("404", {"/a": Answer(404)}, "not_found", "has no such page (HTTP 404)"),
    ("robots", {"/robots.txt": ROBOTS, "/a": html(ARTICLE)}, "not_allowed", "robots.txt forbids it"),
    ("image", {"/a": Answer(200, b"\x89PNG", "image/png")}, "no_text", "neither text, HTML nor PDF"),
    (
        "bomb",
        {"/a": Answer(200, gzip.compress(b"a" * 20_000_000), "text/html", {"Content-Encoding": "gzip"})},
        "no_text",
        "larger than 10 MB",
    ),
    ("circle", {"/a": Answer(302, headers={"Location": "/a"})}, "no_text", "redirects in circles"),
    ("to nowhere", {"/a": Answer(302, headers={"Location": "http://[::"})}, "not_allowed", "not a valid web address"),
    ("empty pages", {"/a": Answer(200, pdf([], []), "application/pdf")}, "no_text", "the pages are empty"),
    ("empty", {"/a": html("")}, "no_text", "no text inside"),
    ("login page", {"/a": html("<p>Log in to continue reading</p>")}, "not_allowed", "subscription or a login"),
    ("scan", {"/a": Answer(200, pdf([], [], images=True), "application/pdf")}, "no_text", "2 pages of images"),
    ("broken PDF", {"/a": Answer(200, b"%PDF-1.4 x", "application/pdf")}, "no_text", "damaged"),
    (
        "password",
        {"/a": Answer(200, pdf([Words("Secret", 72, 700)], password=True), "application/pdf")},
        "not_allowed",
        "protected by a password",
    ),
    ("HTML as PDF", {"/a": Answer(200, b"<html><p>Log in to read</p>", "application/pdf")}, "not_allowed", "login"),
]


@pytest.mark.parametrize(("name", "pages", "status", "detail"), OUTCOMES, ids=[row[0] for row in OUTCOMES])
async def test_absent_forbidden_and_empty_are_different_answers(
    name: str, pages: Mapping[str, Answer], status: str, detail: str
):
    copy = await read(pages, "/a")
    assert copy.status == status
    assert detail in copy.detail


async def test_a_document_that_takes_too_long_to_read_is_an_outage():
    slow = pdf(*[column([f"Line {number} of many." for number in range(55)])] * 500)
    with pytest.raises(ProviderTimeoutError, match="takes too long to read"), anyio.fail_after(1.0):
        await read({"/a": Answer(200, slow, "application/pdf")}, "/a", respects_robots=False)


@pytest.mark.parametrize(("allowed", "status"), [(True, "full_text"), (False, "not_allowed")])
async def test_a_setting_allows_private_addresses(allowed: bool, status: str, monkeypatch: pytest.MonkeyPatch):
    for name in (*PROXY_VARIABLES, *map(str.lower, PROXY_VARIABLES)):
        monkeypatch.delenv(name, raising=False)
    async with stand_in() as server, httpx.AsyncClient() as http:
        server.answer = site({"/a": html(ARTICLE, ARTICLE_HEAD)})
        reader = PageSource.create(Settings(fetch_private=allowed), Net(http))
        assert (await reader.read(Wanted(RecordIds(), (f"{server.url}/a",)))).status == status


async def test_the_next_address_is_read_if_one_fails_and_outages_are_named():
    pages = {"/down": Answer(503), "/a": html(ABSTRACT, ARTICLE_HEAD), "/b": html(ARTICLE, ARTICLE_HEAD)}
    assert (await read(pages, "/down", "/b")).status == "full_text"
    copy = await read(pages, "/down", "/a")
    assert copy.status == "abstract_only"
    assert copy.detail.startswith("This page shows only an abstract.")
    assert copy.reading is not None
    assert copy.reading.abstract.startswith("Metformin lowered glucose")
    assert "A copy elsewhere could not be read: 127.0.0.1 did not answer the request (HTTP 503)." in copy.detail
    with pytest.raises(ProviderUnavailableError):
        await read(pages, "/down", "/missing")
