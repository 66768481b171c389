"""Crossref, over loopback: records by DOI, works that a reference may mean, and what happened to a work."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import NO_TITLE, Publication, status_told_by
from deepcritical_mcp.net.client import Net, RetryPolicy
from deepcritical_mcp.sources import LOOKUPS
from deepcritical_mcp.sources.base import Service, created
from deepcritical_mcp.sources.crossref.service import Crossref, read_work, updates_of
from tests.net.stand_in import Answer, stand_in
from tests.sources.crossref.crossref_wire import (
    EMAIL,
    NOT_FOUND,
    dated,
    library,
    listed,
    make_crossref,
    single,
    update,
    work,
)


def by_doi(*dois: str) -> list[RecordIds]:
    return [RecordIds(doi=doi) for doi in dois]


def titles(found: Sequence[Publication | str]) -> list[str]:
    return ["" if isinstance(one, str) else one.title for one in found]


async def test_long_dois_are_asked_for_in_several_requests(http: httpx.AsyncClient):
    dois = [f"10.5555/{'z' * 180}.{n}" for n in range(100)]
    async with stand_in() as server:
        server.answer = library(*map(work, dois))
        found = await make_crossref(server.url, http).records(by_doi(*dois))
    assert all(found)
    assert 1 < len(server.asked) <= 5


async def test_a_doi_with_a_comma_is_asked_for_alone(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = library(work("10.5555/a,b", title=["With a comma"]), work())
        found = await make_crossref(server.url, http).records(by_doi("10.5555/a,b", "10.5555/zinc", "10.5555/c,d"))
    assert titles(found) == ["With a comma", "Zinc in wound repair", ""]
    assert [one.path for one in server.asked][:3] == ["/works", "/works/10.5555%2Fa%2Cb", "/works/10.5555%2Fc%2Cd"]


async def test_it_says_whose_doi_it_is_that_crossref_does_not_have(http: httpx.AsyncClient):
    agencies = {"10.6666/data": "DataCite", "10.5555/typo": "Crossref"}
    dois = ("10.48550/arXiv.2301.00001", "10.6666/data", "10.5555/typo", "10.9999/none", "10.5555/zinc")
    async with stand_in() as server:
        server.answer = library(work(), agencies=agencies)
        found = await make_crossref(server.url, http).records(by_doi(*dois))
    assert [one if isinstance(one, str) else one.title for one in found] == [
        "10.48550/arxiv.2301.00001 is a DOI of arXiv, registered with DataCite; Crossref has no record of it.",
        "10.6666/data is a DOI registered with DataCite; Crossref has no record of it.",
        "10.5555/typo has a prefix of Crossref's, but no record there: the DOI may be wrong.",
        "No registration agency knows 10.9999/none: the DOI may be wrong.",
        "Zinc in wound repair",
    ]
    assert len(server.asked) == 4


async def test_what_is_no_doi_is_not_asked_for_and_an_unknown_one_is_no_outage(http: httpx.AsyncClient):
    async with stand_in() as server:
        crossref = make_crossref(server.url, http)
        assert not crossref.accepts(RecordIds(pmid="1"))
        assert not crossref.accepts(RecordIds(doi="zinc"))
        assert crossref.accepts(RecordIds(doi="https://doi.org/10.5555/ZINC"))
        assert await crossref.records([RecordIds(pmid="1")]) == [""]
        assert await crossref.notices(["zinc"]) == {}
        assert server.asked == []
        server.will(NOT_FOUND)
        assert await crossref.notices(["10.5555/a,b"]) == {}


async def test_a_list_from_which_works_are_missing_is_no_answer(http: httpx.AsyncClient):
    async with stand_in(listed(work(), total=2)) as server:
        with pytest.raises(ProviderResponseError, match="only a part"):
            await make_crossref(server.url, http).records(by_doi("10.5555/zinc", "10.5555/copper"))


@pytest.mark.parametrize(("email", "pool"), [(EMAIL, "polite"), ("", "public")])
async def test_the_pool_depends_on_the_email_address(email: str, pool: str, http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = library(work(), agencies={"10.1371/journal.pmed.0020124": "Crossref"})
        crossref = make_crossref(server.url, http, email=email)
        (check,) = crossref.checks()
        assert f"{pool} pool" in (await check.examine()).text
    assert ("mailto" in server.asked[0].query) == bool(email)


async def test_the_settings_lead_to_crossref(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: str):
    async with stand_in(single(work())) as server:
        monkeypatch.setenv("DEEPCRITICAL_CACHE_DIR", str(tmp_path))
        monkeypatch.setenv("DEEPCRITICAL_CROSSREF_BASE_URL", f"{server.url}/v1/")
        monkeypatch.setenv("NCBI_EMAIL", EMAIL)
        server.answer = lambda asked: listed(work())
        lookups = created(Service, LOOKUPS, Settings(), Net(http))
        (crossref,) = (one for one in lookups if isinstance(one, Crossref))
        assert titles(await crossref.records(by_doi("10.5555/zinc"))) == ["Zinc in wound repair"]
    (asked,) = server.asked
    assert asked.path == "/v1/works"
    assert asked.query["mailto"] == EMAIL


async def test_an_outage_of_the_agencies_leaves_open_whose_doi_it_is(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = lambda asked: Answer(503) if asked.path.endswith("/agency") else listed()
        found = await make_crossref(server.url, http, RetryPolicy(attempts=1)).records(by_doi("10.9999/none"))
    assert found == [""]


def told(**fields: object) -> list[tuple[str, str, str]]:
    notices = updates_of(work("10.5555/Zinc", **fields))
    return [(one.kind, one.doi, one.reference) for one in notices]


def status(**fields: object) -> str:
    return status_told_by(updates_of(work("10.5555/Zinc", **fields)))


def test_a_retraction_that_was_taken_back_is_not_one():
    updates = [update("10.5555/n"), update("10.5555/back", "reinstatement", updated=dated(2022, 1, 2))]
    assert told(**{"updated-by": updates}) == [
        ("erratum", "10.5555/n", "Retracted (Retraction Watch, 2021-05-04) and reinstated (2022-01-02)")
    ]
    again = [*updates, update("10.5555/again", updated=dated(2023, 1))]
    assert status(**{"updated-by": again}) == "retracted"


def test_a_notice_is_about_another_work_and_says_so():
    assert told(**{"update-to": [update("10.5555/PAPER")]}) == [("about", "10.5555/paper", "Retraction")]
    assert status(**{"update-to": [update("10.5555/PAPER")]}) == "notice"


def test_a_preprint_names_its_article_and_the_article_its_preprint():
    def related(name: str, **one: object) -> dict[str, object]:
        return {"relation": {name: [{"id-type": "doi", "id": "10.5555/OTHER", "asserted-by": "subject", **one}]}}

    assert told(**related("is-preprint-of")) == [("published", "10.5555/other", "")]
    assert told(**related("has-preprint")) == [("preprint", "10.5555/other", "")]
    assert told(**related("is-preprint-of", **{"id-type": "uri"})) == []
    assert told(**related("is-preprint-of", id="10.5555/zinc")) == []
    assert told(**related("cites")) == []
    assert status(**related("is-preprint-of")) == "ok"


NAMES = [*work(), "type", "updated", "id", "name", "URL"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["retraction", "10.5555/zinc"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(NAMES), one, max_size=4),
    max_leaves=10,
)


@given(JSON, JSON, JSON)
def test_whatever_comes_is_read(updated_by: object, update_to: object, relation: object):
    updates_of({"DOI": "10.5555/zinc", "updated-by": updated_by, "update-to": update_to, "relation": relation})


@pytest.mark.parametrize(
    ("type", "kind", "mark"),
    [
        ("retraction", "retraction", "retracted"),
        ("withdrawal", "retraction", "retracted"),
        ("removal", "retraction", "retracted"),
        ("expression_of_concern", "concern", "concern"),
        ("Expression of concern", "concern", "concern"),
        ("partial_retraction", "partial_retraction", "corrected"),
        ("correction", "erratum", "corrected"),
        ("corrigendum", "erratum", "corrected"),
        ("addendum", "erratum", "corrected"),
        ("new_version", "update", "superseded"),
    ],
)
def test_each_kind_of_update_has_its_status(type: str, kind: str, mark: str):
    fields = {"updated-by": [update("10.5555/NOTICE", type)]}
    assert [(one[0], one[1]) for one in told(**fields)] == [(kind, "10.5555/notice")]
    assert status(**fields) == mark


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"subtitle": ["A randomised trial"]}, "Zinc in wound repair: A randomised trial"),
        ({"subtitle": ["in wound repair"]}, "Zinc in wound repair"),
        ({"title": ["Does zinc help?"], "subtitle": ["A review"]}, "Does zinc help? A review"),
        ({"title": ["Zn<sup>2+</sup> &amp; <jats:italic>Zip4</jats:italic>, p&lt;0.05"]}, "Zn2+ & Zip4, p<0.05"),
        ({"title": ["The\n            <i>ZIP4</i>\n   gene"]}, "The ZIP4 gene"),
        ({"title": []}, NO_TITLE),
    ],
)
def test_titles_are_whole_and_plain(fields: dict[str, Any], title: str):
    assert read_work(work(**fields)).title == title


def test_a_licence_for_mining_is_none_for_readers():
    rows = [{"URL": "https://press.example/text-and-data-mining", "content-version": "vor"}]
    assert read_work(work(license=rows)).text.licence == ""


@given(st.dictionaries(st.sampled_from([*work(), "abstract", "license", "funder", "editor", "subtype"]), JSON))
def test_whatever_fields_come_a_record_is_made(fields: dict[str, Any]):
    assert read_work({**fields, "DOI": "10.5555/zinc"}).id == "doi:10.5555/zinc"
