"""`add_evidence` with any list of identifiers and references: each gets a verdict, and nothing is taken for another."""

from __future__ import annotations

from typing import Any

from deepcritical_mcp.errors import BlockedError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from tests.net.stand_in import Answer
from tests.search.lookup_fakes import FakePlaces, FakeRecords, FakeReferences
from tests.sources.ncbi import article
from tests.tools.test_get_full_text import reader
from tests.wire import text_of, wire

ZINC = "Zinc closes chronic wounds faster than placebo in adults"
COPPER = "Copper strengthens the bones of ageing laboratory mice"
RECORDS = {
    "7": article("7", f"{ZINC}.", doi="10.1000/zinc"),
    "8": article("8", f"{COPPER}.", doi="10.1000/copper"),
    "9": article("9", "Iron stores of endurance runners after altitude training.", doi="10.1000/iron"),
}
PLACE = "J Made-up Res. 2021;9(2):11-9"


def record(doi: str, title: str = "Selenium in the soil of northern meadows", **fields: Any) -> Publication:
    """As Crossref describes it."""
    return Publication.of("abstract", NO_ABSTRACT, provider="crossref", source="pubmed", title=title, doi=doi, **fields)


def verdicts(answer: dict[str, Any]) -> dict[int, str]:
    return {row["index"]: row["verdict"] for row in answer["rejected"]}


def candidates(answer: dict[str, Any], index: int) -> list[str]:
    (row,) = (one for one in answer["rejected"] if one["index"] == index)
    return [one["id"] for one in row["candidates"]]


async def test_a_service_that_is_down_is_an_outage_and_others_are_asked_all_the_same() -> None:
    europe = FakeRecords("europepmc", ProviderUnavailableError("europepmc", "Europe PMC is unavailable (HTTP 503)."))
    crossref = FakeRecords("crossref", {"10.5555/se": record("10.5555/se")}, takes="doi")
    async with reader(records={}, lookups=[europe, crossref]) as ours:
        answer = await ours.add({"doi": "10.5555/se"}, {"doi": "10.5555/none"})
    assert [row["id"] for row in answer["added"]] == ["doi:10.5555/se"]
    assert verdicts(answer) == {1: "outage"}
    assert "Europe PMC is unavailable" in answer["rejected"][0]["reason"]


async def test_a_number_of_another_title_is_wrong_and_both_records_are_named() -> None:
    async with reader(records=RECORDS) as ours:
        answer = await ours.add(
            {"doi": "10.1000/copper", "title": ZINC},
            {"pmid": "7", "doi": "10.1000/copper"},
            {"pmid": "8", "reference": f"Ruiz A. {ZINC}. {PLACE}."},
            {"reference": f"Ruiz A. {ZINC}. {PLACE}. doi:10.1000/copper"},
            {"pmid": "7", "title": f"{ZINC}: a randomised trial - PubMed", "url": "https://pubmed.ncbi.nlm.nih.gov/7/"},
        )
        again = await ours.add({"pmid": "7", "title": COPPER})
    assert verdicts(again) == {0: "wrong"}, "the session, which has it by now, does not hide it"
    assert verdicts(answer) == {0: "wrong", 1: "wrong", 2: "wrong", 3: "wrong"}
    assert [candidates(answer, n) for n in range(4)] == [
        ["pubmed:7", "pubmed:8"],
        ["pubmed:7"],
        ["pubmed:7", "pubmed:8"],
        ["pubmed:7", "pubmed:8"],
    ]
    assert "DOI 10.1000/copper is not that record's, which is 10.1000/zinc" in answer["rejected"][1]["reason"]
    assert [row["id"] for row in answer["added"]] == ["pubmed:7"]


async def test_two_records_with_one_doi_are_ambiguous_until_the_title_says_which() -> None:
    twins = {
        "7": article("7", f"{ZINC}.", doi="10.1000/supplement"),
        "8": article("8", f"{COPPER}.", doi="10.1000/supplement"),
    }
    async with reader(records=twins) as ours:
        answer = await ours.add({"doi": "10.1000/supplement"}, {"doi": "10.1000/supplement", "title": COPPER})
    assert verdicts(answer) == {0: "ambiguous"}
    assert candidates(answer, 0) == ["pubmed:7", "pubmed:8"]
    assert [row["id"] for row in answer["added"]] == ["pubmed:8"]


async def test_references_in_any_style_are_found_together() -> None:
    places = FakePlaces({"11": "7"})
    references = (
        f"1. Ruiz A. {ZINC}. {PLACE}.",
        f"Ruiz, A. (2021). {COPPER}. *Journal of made-up results*, *9*(2), 11–19.",
        "@article{r, author={Ruiz, A}, title={{Iron stores of endurance runners after altitude training}}}",
    )
    async with reader(records=RECORDS, lookups=[places]) as ours:
        answer = await ours.add(*({"reference": one} for one in references))
        assert ours.ncbi.utilities == ["esearch", "efetch"]
        query = ours.ncbi.asked[0][1]["term"]
    assert [row["id"] for row in answer["added"]] == ["pubmed:7", "pubmed:8", "pubmed:9"]
    assert query.count("[ti]") > 12
    assert [len(asked) for asked in places.asked] == [2]


async def test_a_place_alone_is_found() -> None:
    async with reader(records={"7": RECORDS["7"]}, lookups=[FakePlaces({"11": "7"})]) as ours:
        answer = await ours.add({"reference": PLACE}, {"reference": "J Made-up Res. 2021;9(2):12-9"})
    assert [row["id"] for row in answer["added"]] == ["pubmed:7"]
    assert verdicts(answer) == {1: "not_found"}


async def test_what_differs_is_told_and_another_paper_is_never_taken() -> None:
    async with reader(records=RECORDS) as ours:
        answer = await ours.add(
            {"reference": f"Ruiz A. {ZINC}. J Made-up Res. 2014;9(2):11-9."},
            {"reference": f"Ruiz A. {ZINC.replace('adults', 'children')}. {PLACE}."},
            {"reference": f"Kowalski P, Nguyen T. {ZINC}. {PLACE}."},
            {"reference": "Kowalski P. Manganese deficiency of tropical orchids under glass. Orchid J. 2011;4:3-9."},
        )
    assert [row["id"] for row in answer["added"]] == ["pubmed:7"]
    assert 'Item 0: differs from what is written: year "2014", in the record "2021".' in answer["warnings"]
    assert verdicts(answer) == {1: "ambiguous", 2: "ambiguous", 3: "not_found"}
    assert 'title "children", in the record "adults"' in answer["rejected"][0]["reason"]
    assert [candidates(answer, n)[:1] for n in (1, 2, 3)] == [["pubmed:7"], ["pubmed:7"], []]


async def test_two_records_that_agree_equally_are_ambiguous() -> None:
    twins = {pmid: article(pmid, f"{ZINC}.", doi=f"10.1000/z{pmid}") for pmid in ("7", "8")}
    async with reader(records=twins) as ours:
        answer = await ours.add({"reference": f"Ruiz A. {ZINC}. 2021."})
    assert verdicts(answer) == {0: "ambiguous"}
    assert candidates(answer, 0) == ["pubmed:7", "pubmed:8"]


async def test_a_doi_that_nobody_knows_does_not_hide_the_paper() -> None:
    async with reader(records=RECORDS) as ours:
        answer = await ours.add({"reference": f"Ruiz A. {ZINC}. {PLACE}. doi:10.1000/dead"})
    assert [row["id"] for row in answer["added"]] == ["pubmed:7"]
    assert answer["warnings"] == ["Item 0: DOI 10.1000/dead is not known; this record was found by the text."]


async def test_services_that_read_citations_are_asked_last_and_believed_only_if_the_record_agrees() -> None:
    selenium = record(
        "10.5555/se", journal="Meadow Letters", volume="4", pages="3-9", date="2011", authors=(("Kowalski", "P"),)
    )
    matcher = FakeReferences("citmatch", RecordIds(pmid="8"))
    crossref = FakeReferences("crossref", record("10.5555/other", "Selenium in the milk of southern cows"), selenium)
    texts = "Kowalski P. Selenium in the soil of northern meadows. Meadow Letters. 2011;4:3-9."
    async with reader(records={"8": RECORDS["8"]}, lookups=[matcher, crossref]) as ours:
        answer = await ours.add({"reference": texts}, {"reference": f"Ruiz A. {COPPER}. {PLACE}."})
    assert [row["id"] for row in answer["added"]] == ["doi:10.5555/se", "pubmed:8"]
    assert (len(matcher.asked), len(crossref.asked)) == (1, 1)


async def test_an_outage_while_a_reference_is_looked_for_is_not_not_found() -> None:
    blocked = BlockedError("citmatch", "PubMed's citation matcher refused access (HTTP 403).")
    texts = "Kowalski P. Manganese deficiency of tropical orchids under glass. Orchid J. 2011;4:3-9."
    async with reader(records=RECORDS, lookups=[FakeReferences("citmatch", error=blocked)]) as ours:
        answer = await ours.add({"reference": texts})
        assert verdicts(answer) == {0: "outage"}
        assert "refused access" in answer["rejected"][0]["reason"]
        ours.ncbi.always["esearch"] = Answer(503)
        answer = await ours.add({"reference": f"Ruiz A. {ZINC}."})
    assert verdicts(answer) == {0: "outage"}


async def test_a_reference_and_a_text_are_two_items() -> None:
    async with reader(records=RECORDS) as ours:
        answer = await ours.add({"reference": f"Ruiz A. {ZINC}.", "content": "My note."}, {"reference": "x " * 3_000})
    assert verdicts(answer) == {0: "invalid", 1: "invalid"}
    assert "two items" in answer["rejected"][0]["reason"]


async def test_many_records_fit_into_the_answer() -> None:
    title = "Zinc and the closure of chronic wounds in adults who live at high altitude, a survey of clinic"
    records = {str(n): article(str(n), f"{title} {n}.", doi=f"10.1000/z{n}") for n in range(1, 101)}
    async with reader(records=records, max_result_chars=20_000) as ours:
        result = await ours.client.call_tool("add_evidence", {"items": [{"pmid": pmid} for pmid in records]})
    assert len(wire(result)["added"]) == 100
    assert len(text_of(result)) <= 20_000
    assert "References and reasons are shortened here" in wire(result)["next_step"]
