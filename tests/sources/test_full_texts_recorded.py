"""Recorded answers of the providers of full texts: all are read, as independent readings say."""

import json
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.errors import ProviderRequestError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, AuthorName, Publication
from deepcritical_mcp.net.client import ApiClient, JsonApi
from deepcritical_mcp.sources.europepmc.client import EuropePMCService, read_record
from deepcritical_mcp.sources.lookup import Wanted
from deepcritical_mcp.text import clean_line
from tests.net.stand_in import Answer, stand_in
from tests.sources.full_text_wire import epmc, hit, make_europe_pmc, make_pmc, make_trials, make_unpaywall, results
from tests.sources.trials.test_trials_source import studies

FOLDER = Path(os.environ.get("DEEPCRITICAL_SOURCES_DIR", ""))
pytestmark = pytest.mark.skipif("DEEPCRITICAL_SOURCES_DIR" not in os.environ, reason="needs recorded answers")


def rows_in(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(FOLDER.glob(name)) for line in path.read_text("utf-8").splitlines()]


def recorded(name: str) -> bytes:
    if not (FOLDER / name).exists():
        pytest.skip(f"{name} is not among the recorded answers")
    return (FOLDER / name).read_bytes()


@cache
def articles() -> list[tuple[dict[str, Any], bytes]]:
    """The recorded articles with the independent reading of each."""
    found: list[tuple[dict[str, Any], bytes]] = []
    for row in rows_in("jats*.jsonl"):
        body = recorded(row["file"])
        start = re.search(rb"<article[\s>]", body)
        if start:
            found.append((row, body[start.start() : body.rindex(b"</article>") + 10]))
    return found


@pytest.mark.long
@pytest.mark.parametrize("provider", ["pmc", "europepmc"])
async def test_every_article_is_read_through(provider: str, http: httpx.AsyncClient):
    wrong: list[str] = []
    assert articles()
    async with stand_in() as server:
        reader = make_pmc(server.url, http) if provider == "pmc" else make_europe_pmc(server.url, http)
        for row, article in articles():
            if row.get("index") and provider == "europepmc":
                continue  # Europe PMC sends one article, of those in this file the first
            number, in_set = row["pmcid"] or "PMC1", b"<pmc-articleset>" + article + b"</pmc-articleset>"
            text = Answer(200, in_set if provider == "pmc" else article, "application/xml")
            server.answer = (lambda _, text=text: text) if provider == "pmc" else epmc(results(hit(pmcid=number)), text)
            copy = await reader.read(Wanted(RecordIds(pmcid=number)))
            wrong += [row["file"]] if (copy.status == "full_text") != row["has_body"] else []
            assert copy.reading
            named = str(copy.reading.fields.get("pmcid", ""))
            wrong += [row["file"]] if provider == "pmc" and named != row["pmcid"].upper() else []
    assert wrong == []


async def test_every_record_of_europe_pmc_is_read(http: httpx.AsyncClient):
    compared, wrong = 0, list[object]()
    async with stand_in() as server:
        client = EuropePMCService(JsonApi(ApiClient(http, provider="europepmc", title="Europe PMC"), server.url))
        for answer in rows_in("europepmc.jsonl"):
            if answer["kind"] != "search" or not answer["file"].endswith(".json"):
                continue
            server.will(Answer(200, recorded(answer["file"])))
            page = await client.search("zinc", read_record)
            assert page.total == answer["hitCount"]
            assert len(page.records) == len(answer["records"])
            for record, read in zip(page.records, answer["records"], strict=True):
                assert (record.id, record.source) == (read["id"], read["source"])
                assert record.is_open == (read["isOpenAccess"] == "Y")
                assert record.publication.text.licence == read["license"]
                assert record.publication.preprint_number == (read["id"] if read["source"] == "PPR" else "")
                assert (record.publication.form == "preprint") >= (read["source"] == "PPR")
                compared += 1
                wrong += [(record.id, found)] if (found := differences(record.publication, read)) else []
    assert wrong == []
    assert compared


def differences(found: Publication, read: dict[str, Any]) -> dict[str, tuple[object, object]]:
    """The fields in which a record is not what the independent reading says, both values each."""
    year = found.date[:4] if found.date != "Unknown" else ""
    pairs: dict[str, tuple[object, object]] = {
        "pmid": (found.pmid, read["pmid"]),
        "pmcid": (found.pmcid, read["pmcid"]),
        "doi": (found.doi, normalize_doi(read["doi"])),
        "title": (letters(found.title), letters(plain(read["title"]) or NO_TITLE)),
        "publisher": (found.publisher, clean_line(read["publisher"])),
        "year": (year or read["pubYear"], read["pubYear"] or year),
        "types": (lowered(found.publication_types), lowered(read["types"])),
        "abstract": (found.text.content != NO_ABSTRACT, read["has_abstract"]),
        "text": (letters(found.text.content) if read["abstract"] else "", letters(plain(read["abstract"]))),
        "preprint": (found.source == "preprint", read["source"] == "PPR"),
    }
    if read["journal"]:
        named = {found.journal, found.journal_abbreviation, found.medline_abbreviation}
        pairs["journal"] = (read["journal"] in named, True)
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def lowered(types: Iterable[str]) -> set[str]:
    """Types of a publication; that of a preprint is ours where the answer has none."""
    return {one.lower() for one in types} - {"preprint"}


def letters(text: str) -> str:
    """A text without what markup and entities change."""
    return re.sub(r"[\W_]+", "", re.sub(r"&\w+;", "", text)).lower()


def plain(text: str) -> str:
    return re.sub(r"</?[a-zA-Z][^<>]*>", "", text)


async def test_europe_pmcs_recorded_error_is_an_error(http: httpx.AsyncClient):
    async with stand_in(Answer(200, recorded("europepmc/researchhelper-search-error-page-size.json"))) as server:
        with pytest.raises(ProviderRequestError, match="Invalid page size"):
            await make_europe_pmc(server.url, http).read(Wanted(RecordIds(pmid="1")))


async def test_every_trial_is_read(http: httpx.AsyncClient):
    compared = 0
    async with stand_in() as server:
        trials = make_trials(server.url, http)
        for payload, read in studies():
            server.will(Answer(200, json.dumps(payload).encode()))
            copy = await trials.read(Wanted(RecordIds(nct=read["nctId"])))
            assert (copy.status, copy.detail) == ("full_text", "")
            assert copy.reading
            fields, content = copy.reading.fields, letters(copy.reading.content)
            Publication.of("registration", copy.reading.content, provider="trials", **fields)
            sponsor = clean_line(read["leadSponsor"])
            assert (fields["nct"], fields["authors"]) == (read["nctId"], (AuthorName(sponsor),) if sponsor else ())
            assert [text for text in said(read) if letters(text) not in content] == [], read["nctId"]
            tables = [part for part in copy.reading.parts if part.kind == "table"]
            measures = [part for part in tables if "Outcome measures" in part.path]
            assert len(measures) == read["outcome_measures"]
            assert content.count("foundbynlmsmatching") == len(read["derived_pmids"])
            compared += 1
    assert compared


def said(read: dict[str, Any]) -> list[str]:
    """What the text of a registration must say."""
    texts = [read[name] for name in ("briefTitle", "officialTitle", "acronym", "minimumAge", "maximumAge", "startDate")]
    texts += [read[name] for name in ("primaryCompletionDate", "completionDate", "lastUpdatePostDate", "leadSponsor")]
    texts += [*read["conditions"], *read["keywords"], *read["primaryOutcomes"], *read["pmids"], *read["countries"]]
    texts += [one["name"] for one in read["interventions"]]
    texts += [re.sub(r"\\(.)", r"\1", read[name]) for name in ("briefSummary", "whyStopped")]
    status = read["overallStatus"].replace("_", " ")
    return [*texts, f"Status: {status}", f"Enrollment: {read['enrollment']}" if read["enrollment"] else ""]


def locations() -> list[dict[str, Any]]:
    payloads = [json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("unpaywall/*.json"))]
    return [payload for payload in payloads if "doi" in payload]


async def test_every_answer_of_unpaywall_is_read(http: httpx.AsyncClient):
    assert locations()
    async with stand_in() as server:
        for payload in locations():
            server.will(Answer(200, json.dumps(payload).encode()))
            copy = await make_unpaywall(server.url, http).read(Wanted(RecordIds(doi=payload["doi"])))
            assert bool(copy.elsewhere) == payload["is_oa"], payload["doi"]
        server.will(Answer(422, recorded("unpaywall/bkl-error-422-no-email.json")))
        with pytest.raises(ProviderRequestError, match="NCBI_EMAIL"):
            await make_unpaywall(server.url, http).read(Wanted(RecordIds(doi="10.5555/zinc")))
