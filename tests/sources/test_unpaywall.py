"""Unpaywall, over loopback."""

import httpx
import pytest

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.sources.lookup import Copy, Wanted
from tests.net.stand_in import Answer, stand_in
from tests.sources.full_text_wire import as_json, located, make_unpaywall

WANTED = Wanted(RecordIds(doi="10.5555/Zinc"))


async def test_who_asks_is_said_and_the_doi_quoted(http: httpx.AsyncClient):
    async with stand_in(as_json(located(doi="10.1002/1097-0258(20)1<2>3.0.co;2-#"))) as server:
        await make_unpaywall(server.url, http).read(Wanted(RecordIds(doi="10.1002/1097-0258(20)1<2>3.0.co;2-#")))
    (asked,) = server.asked
    assert asked.path == "/10.1002/1097-0258%2820%291%3C2%3E3.0.co%3B2-%23"
    assert asked.query == {"email": "ada@example.org"}


SCRIPT = {"url": "javascript:alert(1)", "url_for_pdf": "ftp://x.example/1.pdf", "url_for_landing_page": None}
UNKNOWN = {"HTTP_status_code": 404, "error": True, "message": "'x' is an invalid doi."}


@pytest.mark.parametrize(
    ("answer", "copy"),
    [
        (
            as_json(located(is_oa=False, best_oa_location=None, oa_locations=[])),
            Copy("abstract_only", "Unpaywall knows of no open copy."),
        ),
        (as_json(UNKNOWN, 404), Copy("not_found", "Unpaywall does not know this DOI.")),
    ],
)
async def test_closed_and_unknown_are_different_answers(answer: Answer, copy: Copy, http: httpx.AsyncClient):
    async with stand_in(answer) as server:
        assert await make_unpaywall(server.url, http).read(WANTED) == copy


async def test_only_web_addresses_are_passed_on(http: httpx.AsyncClient):
    async with stand_in(as_json(located(best_oa_location=SCRIPT, oa_locations=[SCRIPT]))) as server:
        assert (await make_unpaywall(server.url, http).read(WANTED)).elsewhere == ()


async def test_without_an_email_address_it_is_not_asked(http: httpx.AsyncClient):
    async with stand_in() as server:
        unpaywall = make_unpaywall(server.url, http, email="")
        assert unpaywall.off == "no email address (NCBI_EMAIL)"
        assert not unpaywall.accepts(WANTED)
        (check,) = unpaywall.checks()
        assert (await check.examine()).state == "off"
