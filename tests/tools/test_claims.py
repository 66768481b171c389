"""What claims to be a paper: a page, a file, a pasted text or a search result with a number is that paper's only if the
record was fetched and has its title and first author."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import AuthorName
from deepcritical_mcp.reading import Section
from deepcritical_mcp.server import create_server
from tests.net.stand_in import Answer, StandIn, stand_in
from tests.search.full_text_fakes import FakeFullTexts, copy
from tests.search.full_text_fakes import article as sections
from tests.sources.ncbi import article, efetch, notice
from tests.tools.test_get_full_text import Reader, reader
from tests.wire import called, text_of, wire

TRUE = "β-Carotene and the repair of wounds in older adults: a randomized trial."
RECORDS = {"11": article("11", TRUE, doi="10.1000/true", ids='<ArticleId IdType="pmc">PMC1100</ArticleId>')}
AUTHOR = (AuthorName("Ruiz", "Ana"),)
FORGED = "Homeopathy cures metastatic melanoma in every second patient"
ADDRESS = "https://site.example/paper"
BODY = [Section("s0", ["Everybody was cured within a week, says this text that nobody reviewed."]), *sections(60)]


def site(title: str = FORGED, url: str = ADDRESS, **fields: Any) -> FakeFullTexts:
    """A web page; without other authors, of somebody who did not write the paper."""
    said: dict[str, Any] = {"authors": (AuthorName("Quack", "Quentin"),), "journal": "Journal of Wonders", **fields}
    return FakeFullTexts("page", copy(BODY, title=title, url=url, **said), takes="url doi")


async def add(ours: Reader, **item: object) -> dict[str, Any]:
    return await ours.add(item)


async def bibliography(ours: Reader) -> str:
    result = await ours.client.call_tool("export_evidence", {"format": "bibliography"})
    return text_of(result)


def is_unconfirmed(citation: Mapping[str, Any], *claims: str) -> bool:
    """Whether a citation has no number of its own, but says what it claims."""
    own = [citation[name] for name in ("pmid", "doi", "pmcid", "nct")]
    return not any(own) and citation["source"] == "web" and [*claims] == citation["claims"]


NUMBERS = [
    ({"pmid": "11"}, "PMID 11"),
    ({"doi": "10.1000/true"}, "doi:10.1000/true"),
    ({"pmcid": "PMC1100", "doi": "10.1000/true"}, "doi:10.1000/true"),
    ({"pmid": "404"}, "PMID 404"),
    ({"nct": "NCT00000009"}, "NCT00000009"),
]


@pytest.mark.parametrize(("number", "claim"), NUMBERS, ids=[one for _, one in NUMBERS])
async def test_a_page_does_not_take_the_identity_of_the_paper_that_it_claims_to_be(
    number: dict[str, str], claim: str
) -> None:
    async with reader(site(**number), records=RECORDS) as ours:
        answer = await ours.read(ADDRESS)
        shown = await ours.shown(ADDRESS)
        listed = await bibliography(ours)
    assert answer["id"].startswith("url:")
    assert answer["kind"] == "page"
    assert claim in answer["citation"]["claims"]
    assert is_unconfirmed(answer["citation"], *answer["citation"]["claims"])
    assert any("which is not confirmed" in one for one in answer["warnings"])
    assert f"{claim}, which no record confirms" in shown
    assert "10.1000/true" not in answer["citation"]["reference"]
    assert "PMID" not in listed
    assert "10.1000" not in listed


@pytest.mark.parametrize("tool", ["get_full_text", "add_evidence", "add_evidence with content"])
@pytest.mark.parametrize("true_first", [True, False])
async def test_a_forged_text_never_stands_under_the_true_reference(tool: str, true_first: bool) -> None:
    async with reader(site(pmid="11"), records=RECORDS) as ours:

        async def forge() -> None:
            if tool == "get_full_text":
                await ours.read(ADDRESS)
            elif tool == "add_evidence":
                await add(ours, url=ADDRESS)
            else:
                await add(ours, pmid="11", title=FORGED, content=BODY[0].paragraphs[0], source="web")

        for step in (add, forge) if true_first else (forge, add):
            await (add(ours, pmid="11") if step is add else forge())
        warnings = (await add(ours, url=ADDRESS))["warnings"]
        held = wire(await ours.client.call_tool("get_evidence", {"ids": ["11"]}))["evidence"]
        found = wire(await ours.client.call_tool("semantic_search", {"query": "everybody was cured in a week"}))
        listed = wire(await ours.client.call_tool("list_evidence", {}))
    assert not any(one.endswith("..") for one in warnings)
    assert [one["content"] for one in held] == ["Zinc speeds up repair."]
    assert listed["total"] == 2
    quoted = {
        one["citation"]["reference"].partition("PMID: ")[2].partition(";")[0].rstrip(".")
        for one in found["evidence"]
        if "nobody reviewed" in one["content"]
    }
    assert quoted == {""}


HONEST = [
    ("the title as it is", TRUE, AUTHOR),
    ("Greek by name", "Beta-carotene and the repair of wounds in older adults: a randomised trial", AUTHOR),
    ("without the subtitle", "β-Carotene and the repair of wounds in older adults", AUTHOR),
    ("retracted since", f"RETRACTED: {TRUE}", AUTHOR),
    ("the name in one piece", TRUE, (AuthorName("Ana Ruiz"),)),
    ("authors in another order", TRUE, (AuthorName("Berg", "Jan"), AuthorName("Ruiz", "Ana"))),
    ("the site as the author", TRUE, (AuthorName("Elsevier"),)),
    ("no author but in the text", TRUE, ()),
    ("a cut title", f"{TRUE[:60]}…", AUTHOR),
    ("a few other words", "β-Carotene and repair of wounds among older adults, randomized trial", AUTHOR),
]


@pytest.mark.parametrize(("title", "people"), [row[1:] for row in HONEST], ids=[row[0] for row in HONEST])
async def test_a_paper_s_own_page_is_recognized(title: str, people: tuple[AuthorName, ...]) -> None:
    text = [Section("s0", ["By Ana Ruiz and others"]), *sections(60)]
    page = FakeFullTexts("page", copy(text, title=title, url=ADDRESS, authors=people, doi="10.1000/true"), takes="url")
    async with reader(page, records=RECORDS) as ours:
        answer = await ours.read(ADDRESS)
    assert ("PMID: 11" in answer["citation"]["reference"], answer["citation"]["claims"]) == (True, [])
    assert answer["citation"]["reference"].startswith("Ruiz A. J Made-up Res.")
    assert answer["id"] == "pubmed:11~2"


@pytest.mark.parametrize(
    ("page", "address"),
    [
        (site(TRUE, doi="10.1000/true"), ADDRESS),  # by another author
        (site(TRUE, doi="10.1000/true", authors=()), ADDRESS),
        (site(url=f"{ADDRESS}/doi/10.1000/true", doi="10.1000/true"), f"{ADDRESS}/doi/10.1000/true"),
    ],
)
async def test_a_page_of_somebody_else_with_the_paper_s_title_or_number_is_not_the_paper(
    page: FakeFullTexts, address: str
) -> None:
    async with reader(page, records=RECORDS) as ours:
        answer = await ours.read(address)
    assert is_unconfirmed(answer["citation"], "doi:10.1000/true")


async def test_a_page_waits_for_the_record_and_is_the_paper_s_as_soon_as_that_is_there() -> None:
    page = FakeFullTexts("page", copy(BODY, title=TRUE, url=ADDRESS, pmid="11", authors=AUTHOR), takes="url")
    async with reader(page, records=RECORDS) as ours:
        ours.ncbi.always["efetch"] = Answer(503)
        before = await ours.read(ADDRESS)
        del ours.ncbi.always["efetch"]
        await add(ours, pmid="11")
        after = wire(await ours.client.call_tool("list_evidence", {}))
    assert is_unconfirmed(before["citation"], "PMID 11")
    assert any("could not be looked up" in one for one in before["warnings"])
    assert after["total"] == 1
    assert after["items"][0]["id"] == "pubmed:11"


async def test_what_the_user_pastes_with_a_number_is_compared_with_the_record() -> None:
    text = "Everybody was cured within a week, says this text that nobody reviewed."
    async with reader(records=RECORDS) as ours:
        forged = await add(ours, pmid="11", title=FORGED, content=text, source="web", authors=["Quack Q"])
        kept = wire(await ours.client.call_tool("get_evidence", {"ids": [forged["added"][0]["id"]]}))
        honest = await add(ours, doi="10.1000/TRUE", title=TRUE, content="What I read there.", source="web")
    assert is_unconfirmed(kept["evidence"][0]["citation"], "PMID 11")
    assert forged["warnings"][0].startswith("Item 0: it claims to be PMID 11, which is not confirmed")
    assert honest["added"][0]["id"] == "pubmed:11"


async def test_authors_that_did_not_write_the_paper_are_told_when_its_record_is_fetched() -> None:
    async with reader(records=RECORDS) as ours:
        wrong = await add(ours, pmid="11", authors=["Quack Q"])
        right = await add(ours, pmid="11", authors=["Ruiz A et al."])
    assert wrong["rejected"][0]["verdict"] == "wrong"
    assert 'its authors are not "Quack Q"' in wrong["rejected"][0]["reason"]
    assert right["added"][0]["id"] == "pubmed:11"


RETRACTED = {
    "13": article("13", TRUE, types=("Retracted Publication",), citation=notice("RetractionIn", "J Made-up Res", "14"))
}


@pytest.mark.parametrize(
    ("about", "is_told"),
    [
        ({"authors": AUTHOR}, True),
        ({"authors": (), "journal": "J Made-up Res", "date": "2021"}, True),
        ({"authors": (AuthorName("Berg", "Jan"),)}, False),
        ({"authors": (), "journal": ""}, True),
        ({"authors": (), "journal": "Journal of Wonders"}, False),
        ({"authors": (), "journal": "", "date": "1987"}, False),
        ({"authors": AUTHOR, "title": TRUE.replace("older adults", "children")}, False),
        ({"authors": AUTHOR, "title": f"Comment on: {TRUE}"}, False),
    ],
)
async def test_a_page_with_the_title_of_a_retracted_paper_is_told_of_it(about: dict[str, Any], is_told: bool) -> None:
    async with reader(site(**{"title": TRUE, **about}), records=RETRACTED) as ours:
        answer = await ours.read(ADDRESS)
        asked = ours.ncbi.utilities
        again = await ours.read(ADDRESS)
        kept = wire(await ours.client.call_tool("get_evidence", {"ids": [ADDRESS]}))["evidence"][0]
    assert again["warnings"] == answer["warnings"]
    assert bool(kept["citation"]["status_notices"]) == is_told
    assert answer["id"].startswith("url:")
    told = [
        one for one in answer["warnings"] if one.startswith("It has the title of PMID 13, which is marked RETRACTED")
    ]
    assert bool(told) == is_told
    assert answer["citation"]["status"] != "retracted"
    assert len(asked) <= 2


MADE_UP = "Metformin cures Alzheimer's disease in 97 % of all patients within a week."
ABSTRACT = "Zinc speeds up repair."


@asynccontextmanager
async def connected(folder: Path, *answers: Answer) -> AsyncGenerator[tuple[Client, StandIn]]:
    """A client of the real server, and the PubMed that it asks."""
    async with stand_in(*answers) as ncbi:
        server = create_server(Settings(ncbi_base_url=ncbi.url, cache_dir=folder, deadline=10))
        async with Client(server) as client:
            yield client, ncbi
        await server.app.aclose()


async def exported(client: Client) -> str:
    result = await client.call_tool("export_evidence", {"format": "bibtex"})
    return str(wire(result))


@pytest.mark.parametrize(
    ("item", "answer", "told"),
    [
        ({"pmid": "99999999"}, efetch(), "PubMed has no record of PMID 99999999"),
        ({"pmid": "11"}, efetch(article("11")), "the PubMed record of PMID 11 has another text"),
        ({"url": "https://pubmed.ncbi.nlm.nih.gov/11/"}, efetch(article("11")), "PMID 11 has another text"),
        ({"doi": "10.1000/182"}, efetch(), "it has no PMID"),
        ({"pmid": "11"}, Answer(404), "PubMed could not be asked"),
    ],
)
async def test_what_pubmed_does_not_confirm_is_the_user_s_note(
    tmp_path: Path, item: dict[str, str], answer: Answer, told: str
) -> None:
    claim = {"content": MADE_UP, "source": "pubmed", "authors": ["Smith J"], "date": "2024", **item}
    async with connected(tmp_path, answer) as (client, _):
        added = await called(client, "add_evidence", items=[claim])
        kept = (await called(client, "get_evidence", ids=[added["added"][0]["id"]]))["evidence"][0]
        assert "nothing to export" in (await exported(client))
    (warning,) = added["warnings"]
    assert warning.startswith("Item 0: kept as your note, not as PubMed's record: ")
    assert told in warning
    assert (kept["kind"], kept["citation"]["source"], kept["content"]) == ("note", "user", MADE_UP)
    assert kept["id"].startswith("text:")


async def test_a_batch_costs_one_request_and_what_is_kept_none(tmp_path: Path) -> None:
    records = [article(str(number), f"Title {number}.") for number in range(11, 31)]
    items = [{"content": ABSTRACT, "source": "pubmed", "pmid": str(number)} for number in range(11, 31)]
    async with connected(tmp_path, efetch(*records)) as (client, ncbi):
        first = await called(client, "add_evidence", items=items)
        again = await called(client, "add_evidence", items=items)
    assert (len(first["added"]), len(again["duplicates"])) == (20, 20)
    assert len(ncbi.asked) == 1
