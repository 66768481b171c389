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
from tests.search.full_text_fakes import FakeCompleter, FakeFullTexts
from tests.search.lookup_fakes import FakeRecords, FakeReferences
from tests.sources.ncbi import article, ncbi, pubmed
from tests.tools.test_get_full_text import Reader, reader
from tests.tools.test_looked_up_evidence import RECORDS, ZINC, record, verdicts
from tests.wire import text_of


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
    async with reader_without(lookups=[FakeRecords("europepmc", {doi: record(doi)})]) as ours:
        answer = await ours.add({"doi": f"{doi}v2"}, {"doi": f"{doi} and more"})
    assert [one["id"] for one in answer["added"]] == [f"doi:{doi}"]
    assert verdicts(answer) == {1: "invalid"}
