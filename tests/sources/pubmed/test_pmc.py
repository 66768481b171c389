"""PMC as a provider of full texts, over loopback."""

import httpx
import pytest

from deepcritical_mcp.errors import ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.sources.lookup import Copy, Wanted
from tests.net.stand_in import Answer, stand_in
from tests.sources.full_text_wire import FORBIDDEN, article_set, jats, make_pmc

WANTED = Wanted(RecordIds(pmcid="PMC9000001"))


async def answered(answer: Answer, http: httpx.AsyncClient, wanted: Wanted = WANTED) -> Copy:
    async with stand_in(answer) as server:
        return await make_pmc(server.url, http).read(wanted)


async def test_an_article_that_the_publisher_withholds_is_not_allowed_and_its_abstract_comes(http: httpx.AsyncClient):
    copy = await answered(article_set(jats(body="", comment=FORBIDDEN)), http)
    assert copy.status == "not_allowed"
    assert copy.detail == "PMC has this article, but its publisher does not allow its full text to be downloaded."
    assert copy.reading
    assert copy.reading.abstract == "Zinc speeds up repair."
    assert copy.reading.fields["title"] == "Zinc in wound repair"
    assert copy.reading.content == ""


@pytest.mark.parametrize(
    ("body", "status", "detail"), [("", "not_allowed", "embargo"), ("<body><p/></body>", "no_text", "")]
)
async def test_why_an_article_has_no_text(body: str, status: str, detail: str, http: httpx.AsyncClient):
    copy = await answered(article_set(jats(body=body)), http)
    assert copy.status == status
    assert detail in copy.detail


UNKNOWN = "The following PMCID is not available"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (f'<Reply Id="9000001" error="{UNKNOWN}: 9000001"/>', None),
        (f'<error id="9000001">{UNKNOWN}</error>', None),
        ("", None),
        ('<Reply Id="1" error="pmc is not db"/>', ProviderUnavailableError),
        ("<error>Backend timed out</error>", ProviderUnavailableError),
    ],
)
async def test_an_unknown_number_is_not_found_and_an_error_of_the_database_an_outage(
    said: str, error: type[Exception] | None, http: httpx.AsyncClient
):
    if error:
        with pytest.raises(error):
            await answered(article_set(said), http)
    else:
        assert await answered(article_set(said), http) == Copy("not_found", "PMC has no article PMC9000001.")


async def test_another_article_than_the_one_asked_for_is_refused(http: httpx.AsyncClient):
    with pytest.raises(ProviderResponseError, match="asked for PMC9000001 and sent PMC9000002"):
        await answered(article_set(jats("PMC9000002")), http)


async def test_numbers_that_cannot_exist_are_not_found_together(http: httpx.AsyncClient):
    said = b'{"error":"F a i l e d  t o  u n d e r s t a n d  i d : ID list is empty! Possibly it has no correct IDs."}'
    wanted = [Wanted(RecordIds(pmcid=f"PMC900000{n}")) for n in (1, 2)]
    async with stand_in(Answer(400, said)) as server:
        found = await make_pmc(server.url, http).records_and_copies(wanted)
    assert [copy.status if copy else "" for _, copy in found] == ["not_found", "not_found"]
