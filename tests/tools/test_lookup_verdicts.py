"""Verdicts of `add_evidence` and `get_full_text`: nothing is "not found" unless those who could know were asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.reference_finder import READ_TOGETHER
from deepcritical_mcp.sources.base import Service
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from tests.fakes import fake_server
from tests.search.full_text_fakes import FakeCompleter, FakeFullTexts, copy
from tests.search.lookup_fakes import FakeRecords, FakeReferences
from tests.sources.ncbi import article, ncbi, pubmed
from tests.tools.test_get_full_text import Reader, reader, text_of
from tests.tools.test_looked_up_evidence import COPPER, PLACE, RECORDS, ZINC, add, candidates, record, verdicts


@asynccontextmanager
async def reader_without(
    *off: str, providers: Sequence[FullTextSource] = (), lookups: Sequence[Service] = ()
) -> AsyncGenerator[Reader]:
    async with ncbi(RECORDS) as played, httpx.AsyncClient() as http:
        source = None if "pubmed" in off else pubmed(played.url, http)
        texts = FullTexts(providers, source, lookups=lookups, off=off)
        server = fake_server(full_texts=texts, settings=Settings())
        async with Client(server) as client:
            yield Reader(client, played, server)


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
    async with reader_without(off) as ours:
        answer = await add(ours, item)
        read = None if "reference" in item else await ours.call(value)
    assert verdicts(answer) == {0: "outage"}
    told = f"{off} is switched off on this server (DEEPCRITICAL_OFF), so {value[:60]}"
    assert told in answer["rejected"][0]["reason"]
    assert "nobody has" not in answer["rejected"][0]["reason"]
    if read:
        assert read.is_error
        assert told in text_of(read)


async def test_a_source_that_could_not_know_it_does_not_matter() -> None:
    async with reader_without("crossref", "trials") as ours:
        answer = await add(ours, {"pmid": "404"})
    assert verdicts(answer) == {0: "not_found"}


async def test_a_page_is_read_although_who_knows_its_doi_is_off() -> None:
    page = FakeFullTexts("page", copy(title="Wound care", url="https://www.nature.com/articles/s1-2"), takes="url")
    async with reader_without("crossref", providers=[page]) as ours:
        answer = await add(ours, {"url": "https://www.nature.com/articles/s1-2"})
    assert len(answer["added"]) == 1


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
        answer = await add(ours, *items)
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
        answer = await add(ours, *({"reference": text} for text in texts))
    by_verdict = verdicts(answer)
    assert set(by_verdict.values()) <= {"not_found", "outage"}
    assert len(matcher.asked) <= len(crossref.asked) + READ_TOGETHER
    for row in answer["rejected"]:
        asked = texts[row["index"]] in crossref.asked
        assert row["verdict"] == ("not_found" if asked else "outage")
        assert asked or "send it again in a call of its own" in row["reason"]


async def test_a_reason_names_only_dois_that_the_caller_gave() -> None:
    completer = FakeCompleter([RecordIds("1234", "PMC7000001", "10.1000/other")])
    told = {"10.1000/other": "No registration agency knows 10.1000/other: the DOI may be wrong."}
    crossref = FakeRecords("crossref", {}, takes="doi", remarks=told)
    async with reader(records=RECORDS, completer=completer, lookups=[crossref]) as ours:
        answer = await add(ours, {"pmid": "1234"}, {"doi": "10.1000/other"})
    reasons = [row["reason"] for row in answer["rejected"]]
    assert "10.1000/other" not in reasons[0]
    assert "No registration agency" in reasons[1]


async def test_a_text_of_another_pmcid_than_the_one_asked_for_is_refused() -> None:
    own = {"7": article("7", f"{ZINC}.", ids='<ArticleId IdType="pmc">PMC7770000</ArticleId>')}
    completer = FakeCompleter([RecordIds("7", "PMC7000001")])
    async with reader(records=own, completer=completer) as ours:
        answer = await ours.read("PMC7000001")
    assert answer["status"] == "not_found"
    assert "PMCID PMC7000001 is not that record's, which is PMC7770000" in answer["attempts"][-1]["detail"]


async def test_one_document_is_one_candidate() -> None:
    twin = record("10.5555/zinc", f"{ZINC}", date="2021", authors=(("Ruiz", "A"),))
    own = {"7": article("7", f"{ZINC}.")}
    async with reader(records=own, lookups=[FakeReferences("crossref", twin)]) as ours:
        answer = await add(ours, {"reference": f"Kowalski P, Nguyen T. {ZINC}. {PLACE}."})
    assert candidates(answer, 0) == ["pubmed:7"]


async def test_numbers_of_other_registries_and_of_arxiv_are_named_as_such() -> None:
    told = {"10.48550/arxiv.2301.00001": "10.48550/arxiv.2301.00001 is a DOI of arXiv."}
    crossref = FakeRecords("crossref", {}, takes="doi", remarks=told)
    numbers = ("ISRCTN44000000", "2015-000000-41", "arXiv:2301.00001v2")
    async with reader(records={}, lookups=[crossref]) as ours:
        answer = await add(ours, *({"reference": one} for one in numbers))
    reasons = [row["reason"] for row in answer["rejected"]]
    assert "ISRCTN44000000 is a trial of the ISRCTN registry" in reasons[0]
    assert "2015-000000-41 is a trial of the EU's register" in reasons[1]
    assert "is a DOI of arXiv" in reasons[2]


async def test_a_year_off_by_one_is_accepted_and_told() -> None:
    async with reader(records=RECORDS) as ours:
        answer = await add(ours, {"reference": f"Ruiz A. {COPPER}. J Made-up Res. 2020;9(2):11-9."})
    assert [row["id"] for row in answer["added"]] == ["pubmed:8"]
    assert answer["warnings"] == ['Item 0: differs from what is written: year "2020", in the record "2021".']


async def test_two_numbers_lead_to_a_record() -> None:
    async with reader(records=RECORDS) as ours:
        answer = await add(ours, {"pmid": "7", "doi": "10.1000/copper"})
    assert answer["rejected"][0]["reason"].startswith("PMID 7 and DOI 10.1000/copper lead to a record")


async def test_a_doi_with_the_version_of_a_preprint_is_looked_up_without_it() -> None:
    doi = "10.1101/2024.01.02.123456"
    async with reader_without(lookups=[FakeRecords("europepmc", {doi: record(doi)})]) as ours:
        answer = await add(ours, {"doi": f"{doi}v2"}, {"doi": f"{doi} and more"})
    assert [one["id"] for one in answer["added"]] == [f"doi:{doi}"]
    assert verdicts(answer) == {1: "invalid"}


async def test_what_to_do_next_tells_an_outage_from_a_mistake() -> None:
    async with reader_without("trials") as ours:
        late = await add(ours, {"nct": "NCT00000009"})
        both = await add(ours, {"nct": "NCT00000009"}, {"pmid": "x"})
    later = "Items with an outage can be sent again later as they are."
    assert late["next_step"] == later
    assert both["next_step"] == f"Correct the rejected items and send them again. {later}"
