"""Each identifier and reference gets a verdict, nothing is taken for another, and nothing is "not found" unless those
who could know were asked."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from deepcritical_mcp.errors import BlockedError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.search.reference_finder import READ_TOGETHER
from deepcritical_mcp.sources.lookup import Copy, Wanted
from tests.net.stand_in import Answer
from tests.search.full_text_fakes import FakeCompleter, FakeFullTexts
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


@pytest.mark.parametrize(
    ("off", "item"),
    [
        ("trials", {"nct": "NCT00000009"}),
        ("crossref", {"doi": "10.5555/none"}),
        ("pubmed", {"pmid": "404"}),
        ("pmc", {"pmcid": "PMC7000001"}),
        ("crossref", {"reference": "Kowalski P. Manganese deficiency of orchids under glass. Orchid J. 2011;4:3-9."}),
    ],
)
async def test_what_is_switched_off_is_not_taken_for_unknown(off: str, item: dict[str, str]) -> None:
    (value,) = item.values()
    async with reader(records=RECORDS, off=[off]) as ours:
        answer = await ours.add(item)
        read = None if "reference" in item else await ours.call(value)
    assert verdicts(answer) == {0: "outage"}
    told = f"{off} is switched off on this server (DEEPCRITICAL_OFF), so {value[:60]}"
    assert told in answer["rejected"][0]["reason"]
    assert "nobody has" not in answer["rejected"][0]["reason"]
    if read:
        assert read.is_error
        assert told in text_of(read)


class _ManyTexts(FakeFullTexts):
    at_once = 25

    def __init__(self) -> None:
        super().__init__("pmc", Copy("not_found", "PMC has no such article."), takes="pmcid")
        self.batches: list[Sequence[Wanted]] = []

    async def records_and_copies(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Publication | None, Copy | None]]:
        self.batches.append(wanted)
        return (
            await super().records_and_copies(wanted)
            if len(wanted) == 1
            else [(None, await self.read(wanted[0]))] * len(wanted)
        )


async def test_a_hundred_unknown_pmcids_cost_a_handful_of_requests_and_one_each() -> None:
    pmc, completer = _ManyTexts(), FakeCompleter()
    items = [{"pmcid": f"PMC7{n // 2:06}"} for n in range(100)]
    async with reader(pmc, records={}, completer=completer) as ours:
        answer = await ours.add(*items)
    assert set(verdicts(answer).values()) == {"not_found"}
    assert [len(one) for one in completer.asked] == [50]
    assert [len(batch) for batch in pmc.batches] == [25, 25]
    assert "PMC has no such article" in answer["rejected"][0]["reason"]


class _SlowReferences(FakeReferences):
    async def match(self, reference: str) -> Sequence[Publication | RecordIds]:
        await anyio.sleep(0.1)  # a hundred references take longer than the call may
        return await super().match(reference)


async def test_references_that_time_does_not_suffice_for_are_told_so() -> None:
    matcher, crossref = _SlowReferences("matcher"), _SlowReferences("crossref")
    texts = [
        f"Kowalski P. Manganese deficiency of orchid number {n} under glass. Orchid J. 2011;4:{n}-9."
        for n in range(1, 101)
    ]
    async with reader(records=RECORDS, lookups=[matcher, crossref], deadline=4) as ours:
        answer = await ours.add(*({"reference": text} for text in texts))
    by_verdict = verdicts(answer)
    assert set(by_verdict.values()) <= {"not_found", "outage"}
    assert len(matcher.asked) <= len(crossref.asked) + READ_TOGETHER
    for row in answer["rejected"]:
        asked = texts[row["index"]] in crossref.asked
        assert row["verdict"] == ("not_found" if asked else "outage")
        assert asked or "send it again in a call of its own" in row["reason"]


async def test_a_text_of_another_pmcid_than_the_one_asked_for_is_refused() -> None:
    own = {"7": article("7", f"{ZINC}.", ids='<ArticleId IdType="pmc">PMC7770000</ArticleId>')}
    completer = FakeCompleter([RecordIds("7", "PMC7000001")])
    async with reader(records=own, completer=completer) as ours:
        answer = await ours.read("PMC7000001")
    assert answer["status"] == "not_found"
    assert "PMCID PMC7000001 is not that record's, which is PMC7770000" in answer["attempts"][-1]["detail"]


async def test_numbers_that_nobody_has_are_named_as_such() -> None:
    told = {"10.48550/arxiv.2301.00001": "10.48550/arxiv.2301.00001 is a DOI of arXiv."}
    crossref = FakeRecords("crossref", {}, takes="doi", remarks=told)
    numbers = ("ISRCTN44000000", "arXiv:2301.00001v2")
    async with reader(records={}, lookups=[crossref]) as ours:
        answer = await ours.add(*({"reference": one} for one in numbers))
    reasons = [row["reason"] for row in answer["rejected"]]
    assert "no record" in reasons[0]
    assert "is a DOI of arXiv" in reasons[1]


async def test_a_doi_with_the_version_of_a_preprint_is_looked_up_without_it() -> None:
    doi = "10.1101/2024.01.02.123456"
    async with reader(records={}, lookups=[FakeRecords("europepmc", {doi: record(doi)})]) as ours:
        answer = await ours.add({"doi": f"{doi}v2"}, {"doi": f"{doi} and more"})
    assert [one["id"] for one in answer["added"]] == [f"doi:{doi}"]
    assert verdicts(answer) == {1: "invalid"}
