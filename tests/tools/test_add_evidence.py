"""What a model hands in: kept or fetched under one identity however it is written, or rejected with what is wrong."""

from urllib.parse import quote

from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.guard import Guard
from deepcritical_mcp.net.public_addresses import ANY_ADDRESS
from deepcritical_mcp.reading import Section
from deepcritical_mcp.sources.page import PageSource
from tests.net.stand_in import Answer, stand_in
from tests.search.full_text_fakes import FakeCompleter, FakeFullTexts, copy
from tests.search.lookup_fakes import FakeRecords
from tests.sources.ncbi import article
from tests.tools.test_get_full_text import reader
from tests.wire import called

RECORDS = {
    "7": article("7", "Zinc in wound repair.", doi="10.1000/zinc"),
    "8": article("8", "Copper in bones.", doi="10.1000/copper"),
    "9": article("9", "Iron in blood.", doi="10.1000/iron"),
}
CANNOT_BE_RIGHT = [
    ("pmid", "PMC12", 'pmid "PMC12" is not a PMID'),
    ("pmid", "٣٤٥", "is not a PMID"),
    ("pmid", "1" * 300, "is not a PMID"),
    ("doi", "see the paper", 'doi "see the paper" is not a DOI such as 10.1000/182'),
    ("doi", "10.1000/" + "x" * 300, "is not a DOI"),
    ("doi", "10.1234/abc_def%20<x>;y", "is not a DOI"),
    ("doi", "10.1000/abc (accessed 2020)", "is not a DOI"),
    ("date", "2021-02-29", 'date "2021-02-29" is not YYYY, YYYY-MM or YYYY-MM-DD'),
    ("date", "05/06/2019", 'date "05/06/2019" is not YYYY, YYYY-MM or YYYY-MM-DD'),
    ("date", "2019-2020", "is not YYYY"),
    ("date", "May 2019 or June 2019", "is not YYYY"),
    ("date", "٢٠٢٠", "is not YYYY"),
    ("date", "0000", "is not YYYY"),
    ("url", "javascript:alert(1)", 'url "javascript:alert(1)" is not a web address (http or https)'),
    ("content", "x" * 100_001, "content has 100,001 characters; the limit is 100,000, so split it"),
]


async def test_a_field_that_cannot_be_right_rejects_its_item_alone() -> None:
    items = [{"content": f"Note {field} {told}", field: written} for field, written, told in CANNOT_BE_RIGHT]
    async with reader(records={}) as ours:
        answer = await ours.add(
            *items, {"content": "Another one.", "date": "2019-05"}, {"content": "T.", "date": "May 2019"}
        )
        nothing = await ours.add({"content": " "})
    count = len(CANNOT_BE_RIGHT)
    assert [row["index"] for row in answer["rejected"]] == [*range(count)]
    for row, (_, _, told) in zip(answer["rejected"], CANNOT_BE_RIGHT, strict=True):
        assert told in row["reason"]
        assert len(row["reason"]) < 120
    assert [row["index"] for row in answer["added"]] == [count, count + 1]
    assert "Correct the rejected items and send them again." in answer["next_step"]
    assert f'Item {count + 1}: date "May 2019" read as 2019-05.' in answer["next_step"]
    assert f"Item {count}" not in answer["next_step"]
    assert nothing["next_step"] == "Correct the rejected items and send them again."


async def test_texts_that_are_only_numbers_are_looked_up() -> None:
    trial = Publication.of("registration", "A trial.", provider="ct", source="trial", title="T", nct="NCT00000009")
    registry = FakeRecords("trials", {"NCT00000009": trial}, takes="nct")
    texts = ["NCT00000009", "PMC7000001", "doi:10.1000/zinc", "arXiv:2301.00001v2", "See 10.1000/zinc for the dose"]
    async with reader(records=RECORDS, completer=FakeCompleter(), lookups=[registry]) as ours:
        answer = await called(ours.client, "add_evidence", items=texts)
        alone = await called(ours.client, "add_evidence", items="NCT00000009")
    assert [(row["index"], row["id"][:8]) for row in answer["added"][:2]] == [(0, "nct:NCT0"), (2, "pubmed:7")]
    assert answer["added"][2]["id"].startswith("text:")
    assert [(row["index"], row["verdict"]) for row in answer["rejected"]] == [(1, "not_found"), (3, "not_found")]
    assert alone["duplicates"][0]["duplicate_of"] == "nct:NCT00000009"


async def test_a_hundred_identifiers_cost_four_requests_at_most() -> None:
    records = {str(n): article(str(n), f"Paper {n} on zinc.", doi=f"10.1000/z{n}") for n in range(1, 101)}
    async with reader(records=records, completer=FakeCompleter()) as ours:
        answer = await ours.add(*({"doi": f"10.1000/z{n}"} for n in range(1, 101)))
        assert len(ours.ncbi.asked) == 2
    assert len(answer["added"]) == 100


async def test_an_address_that_leads_to_a_malformed_one_does_not_lose_the_others() -> None:
    async with stand_in() as site:
        site.answer = lambda asked: Answer(302, headers={"Location": asked.query.get("to", "")})
        page = PageSource(Guard(policy=ANY_ADDRESS, proxies={}, respects_robots=False))
        wrong = ["http://[::1", "https:foo", f"http://xn--{'a' * 70}.com/", "http:127.0.0.1/ok"]
        async with reader(page, records=RECORDS) as ours:
            answer = await ours.add(
                *({"url": f"{site.url}/?to={quote(location)}"} for location in wrong),
                {"url": f"http://xn--{'a' * 70}.com/"},
                {"url": "http://who.example:99999/"},
                {"content": "A note on zinc."},
                {"pmid": "7"},
            )
    assert len(answer["added"]) == 2
    assert [row["index"] for row in answer["rejected"]] == [0, 1, 2, 3, 4, 5]
    assert "is not a web address" in answer["rejected"][5]["reason"]


async def test_addresses_alone_are_pages_to_fetch() -> None:
    sections = [Section("s1", ["Wash wounds."], path=("Advice",))]
    url = "https://who.example/wounds"
    page = FakeFullTexts("page", copy(sections, title="Wound care", url=url), takes="url")
    for items in ([url], [url, "https://pubmed.ncbi.nlm.nih.gov/7/"]):
        async with reader(page, records=RECORDS) as ours:
            answer = await called(ours.client, "add_evidence", items=items)
            text = await ours.read(answer["added"][0]["id"], sections=["Advice"])
        assert answer["added"][0]["id"].startswith("url:")
        assert (text["passages"][0]["text"], text["attempts"]) == ("Wash wounds.", [])
        assert [row["id"] for row in answer["added"][1:]] == ["pubmed:7"][: len(items) - 1]
        assert not answer.get("rejected")


async def test_a_record_is_fetched_and_marked_at_once_and_asked_for_no_more() -> None:
    async with reader(records=RECORDS) as ours:
        answer = await ours.add({"pmid": "7", "decision": "excluded", "reason": "no controls"}, {"pmid": "8"})
        assert answer["decided"] == [{"index": 0, "id": "pubmed:7", "decision": "excluded: no controls"}]
        assert len(answer["added"]) == 2
        asked = len(ours.ncbi.asked)
        answer = await ours.add({"doi": "10.1000/zinc", "tags": ["rct"]}, {"pmid": "8", "include": True})
        assert len(ours.ncbi.asked) == asked
        assert [one["decision"] for one in answer["decided"]] == ["excluded: no controls; tags: rct", "included"]
