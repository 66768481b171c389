"""The tool that checks drafts, as a client calls it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from deepcritical_mcp.config import Settings
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.sources import PUBMED
from tests.fakes import fake_server, served
from tests.sources.ncbi import QUICK_TO_ASK, article, efetch, ncbi, pubmed
from tests.wire import both, called, text_of

TITLE = "Zinc closes wounds of the skin in adults: a randomized trial"
RECORDS = {
    "31000011": article("31000011", f"{TITLE}."),
    "31000012": article("31000012", "Retracted: copper in the healing of burns.", types=("Retracted Publication",)),
}
DRAFT = f"""# Wounds

Zinc closed wounds within 45 days [1]. Copper did too [2].

## References

1. {TITLE}. PMID: 31000011.
2. Copper in the healing of burns. PMID: 31000012.
"""


@asynccontextmanager
async def checking(**settings: Any) -> AsyncGenerator[Client]:
    """A client of a server with NCBI behind it."""
    async with ncbi(RECORDS) as played, httpx.AsyncClient() as http:
        server = fake_server(full_texts=FullTexts((), pubmed(played.url, http)), settings=Settings(**settings))
        async with Client(server) as client:
            yield client


async def checked(client: Client, text: str = DRAFT, **arguments: object) -> tuple[str, dict[str, Any]]:
    return await both(client, "check_citations", text=text, **arguments)


async def test_a_broken_record_is_an_outage_and_no_fault_of_the_reference() -> None:
    broken = "<PubmedArticle><MedlineCitation><PMID>31000011</PMID><Article/></MedlineCitation><b></PubmedArticle>"
    async with ncbi(RECORDS) as played, httpx.AsyncClient() as http:
        played.always["efetch"] = efetch(broken)
        server = fake_server(full_texts=FullTexts((), pubmed(played.url, http)))
        async with Client(server) as client:
            _, report = await checked(client, f"{TITLE}. PMID: 31000011.")
    assert report["counts"] == {"references": 1, "outage": 1}


async def test_the_report_is_a_resource_of_the_session_and_its_records_are_no_evidence() -> None:
    async with checking() as client:
        shown, report = await checked(client)
        content = (await client.read_resource(report["report_uri"])).contents[0]
        listed = {one.uri: one.title or "" for one in (await client.list_resources()).resources}
        held = await called(client, "list_evidence")
        assert (await exported(client)).startswith("# 2 references: ")
        bibtex = await client.call_tool("export_evidence", {"format": "bibtex"})
        log = await exported(client, format="search-log")
    assert "There is nothing to export" in text_of(bibtex)
    assert "| 2 verified, pubmed:31000012, pubmed:31000011 |" in log
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "text/markdown"
    assert content.text.startswith("# 2 references: ")
    assert "2 references" in listed[report["report_uri"]]
    assert held["items"] == []
    assert shown.startswith("# 2 references: 1 retracted, 1 verified\n")
    for said in ("Verified: reference 1.", "[2] pubmed:31000012", "\n## Retracted\n", report["report_uri"]):
        assert said in shown
    assert {"45"} <= {number.split()[0] for one in report["claims"] for number in one.get("numbers_missing", ())}
    assert (report["counts"]["references"], report["next_offset"]) == (2, -1)


@asynccontextmanager
async def process(url: str, cache: Path, folder: Path | None) -> AsyncGenerator[Client]:
    """A client of a server with a lifetime of its own, whose sessions are kept in `folder`, or in memory."""
    addresses = {"ncbi_base_url": url, "idconv_base_url": f"{url}/idconv"}
    settings = Settings(cache_dir=cache, data_dir=folder, max_result_chars=2_000, **addresses, **QUICK_TO_ASK)
    async with served(settings, sources=(PUBMED,)) as (client, _):
        yield client


async def review(client: Client, session_id: str) -> list[str]:
    """All that is shown of the evidence of a session, and of how it was found; not when it was used."""
    formats = ("bibtex", "ris", "csl-json", "jsonl", "table", "bibliography")
    calls: list[tuple[str, dict[str, str]]] = [
        ("list_evidence", {}),
        ("semantic_search", {"query": "copper in the healing of burns"}),
        *(("export_evidence", {"format": format}) for format in formats),
    ]
    shown: list[str] = []
    for tool, arguments in calls:
        shown += map(str, await both(client, tool, **arguments, session_id=session_id))
    sessions = (await called(client, "list_sessions"))["sessions"]
    shown += [str({**one, "last_used": ""}) for one in sessions]
    shown.append((await exported(client, session_id=session_id)).partition("# 7 references")[0])
    shown.append(str((await client.read_resource(f"evidence://{session_id}")).contents[0]))
    log = await exported(client, format="search-log", session_id=session_id)
    return [*shown, *sorted({*log.partition("## For the methods section")[2].splitlines()})]


async def exported(client: Client, **arguments: object) -> str:
    """A whole export, Markdown by default, that comes in parts."""
    text, offset = "", 0
    while offset >= 0:
        part = await called(client, "export_evidence", **{"format": "markdown", **arguments, "offset": offset})
        assert part["next_offset"] == -1 or part["next_offset"] > offset
        text, offset = text + part["text"], part["next_offset"]
    return text


@pytest.mark.parametrize("is_kept", [True, pytest.param(False, marks=pytest.mark.long)], ids=["folder", "memory"])
async def test_a_check_changes_no_review_until_its_papers_are_taken_over(tmp_path: Path, is_kept: bool) -> None:
    numbers = {f"3100002{n}": article(f"3100002{n}", f"Metal number {n} of the soil.") for n in range(5)}
    listed = [f"{n}. Metal number {n - 3} of the soil. PMID: {id}.\n" for n, id in enumerate(numbers, 3)]
    body = " ".join(f"Metal {n} was found in {n} of 90 northern meadows [{n}]." for n in range(3, 8))
    draft = DRAFT.replace("Copper did too", f"{body} Copper did too") + "".join(listed)
    folder = tmp_path / "sessions" if is_kept else None
    async with ncbi(RECORDS | numbers) as played:
        played.hits["zinc"] = ["31000011"]
        async with process(played.url, tmp_path, folder) as client:
            id = (await called(client, "pubmed_search", query="zinc"))["session_id"]
            before = await review(client, id)
            told, first = await checked(client, draft, session_id=id)
            assert await review(client, id) == before
            assert told.count("not as evidence") == 1
            offset = first["next_offset"]
            assert offset > 0
            rest = await checked(client, draft, session_id=id, offset=offset)
        if is_kept:
            played.server.asked.clear()
            async with process(played.url, tmp_path, folder) as client:
                assert await checked(client, draft, session_id=id, offset=offset) == rest
                assert played.utilities == []
                assert await review(client, id) == before
                items = [{"pmid": "31000012"}, {"pmid": "31000020"}]
                await client.call_tool("add_evidence", {"items": items, "session_id": id})
                held = await called(client, "list_evidence", session_id=id)
                _, last = await checked(client, draft, session_id=id)
            assert [one["id"] for one in held["items"]] == ["pubmed:31000011", "pubmed:31000012", "pubmed:31000020"]
            assert "references 4–7." in last["next_step"]


async def test_a_cited_paper_that_is_no_evidence_is_said_to_be_cited() -> None:
    async with checking() as client:
        await checked(client)
        asked = {"ids": ["pubmed:31000012", "pubmed:31000099"]}
        found = await called(client, "get_evidence", **asked)
        assert found["missing"] == asked["ids"]
        assert "Cited by the draft that was checked, but not evidence: pubmed:31000012. add_ev" in found["next_step"]
        await client.call_tool("get_full_text", {"id": "31000012"})
        (kept,) = (await called(client, "get_evidence", ids=["pubmed:31000012"]))["evidence"]
    assert kept["citation"]["status"] == "retracted"


@pytest.mark.parametrize("limit", [2_000, 32_000])
async def test_the_export_ends_with_the_report(limit: int, tmp_path: Path) -> None:
    async with checking(max_result_chars=limit, exports_dir=tmp_path) as client:
        await client.call_tool("add_evidence", {"items": [{"pmid": "31000011"}, {"content": "Soil is full of zinc."}]})
        before = await exported(client)
        await checked(client)
        whole = await exported(client)
        saved = await called(client, "export_evidence", format="markdown", save=True)
        for fewer in ({"format": "bibtex"}, {"ids": ["pubmed:31000011"]}, {"fields": ["title"]}):
            assert "references: " not in await exported(client, **fewer)
    assert whole.startswith(f"{before}# 2 references: ")
    assert whole.count("## Retracted\n") == 1
    assert "Next: " not in whole
    assert await anyio.Path(saved["file"]).read_text(encoding="utf-8") == whole
    assert saved["count"] == 2


async def test_the_report_in_an_export_has_the_status_that_its_records_have_now(tmp_path: Path) -> None:
    async with ncbi(dict(RECORDS)) as played:
        async with process(played.url, tmp_path, tmp_path / "sessions") as client:
            _, found = await checked(client)
        played.records["31000011"] = article("31000011", f"{TITLE}.", types=("Retracted Publication",))
        async with process(played.url, tmp_path / "later", tmp_path / "sessions") as client:
            text = await exported(client, session_id=found["session_id"])
    assert "- [1] pubmed:31000011 **RETRACTED**" in text


async def test_references_of_a_service_that_is_switched_off_are_not_accused() -> None:
    async with Client(fake_server(full_texts=FullTexts((), None, off=["pubmed"]))) as client:
        shown, report = await checked(client)
    assert {one["verdict"] for one in report["references"]} == {"outage"}
    assert "pubmed is switched off here (DEEPCRITICAL_OFF)" in shown
    assert "check again in a minute" not in report["next_step"]


async def test_without_a_check_there_is_no_report() -> None:
    async with checking() as client:
        added = await called(client, "add_evidence", items=[{"content": "A note."}])
        assert not [one for one in (await client.list_resources()).resources if one.uri.startswith("report://")]
        with pytest.raises(MCPError, match="No draft was checked"):
            await client.read_resource(f"report://{added['session_id']}")
        assert "references" not in await exported(client)


async def test_the_address_of_a_record_is_a_list_of_one_reference() -> None:
    async with checking() as client:
        _, report = await checked(client, "https://pubmed.ncbi.nlm.nih.gov/31000012/")
    assert report["counts"]["references"] == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"text": "x" * 200_001}, "at most 200,000 characters, got 200,001"),
        ({"text": "  \n"}, "pass the draft itself"),
        ({"text": "papers/draft.md"}, '"papers/draft.md" is the name of a file'),
        ({"text": "https://example.org/draft.pdf"}, "is an address: open it and pass what it contains"),
        ({}, "text is required"),
        ({"file_path": "draft.md"}, "read the file and pass what it contains as text"),
        ({"text": DRAFT, "references": ["PMID: 31000011"]}, 'its reference list at the end, headed "References"'),
        ({"text": DRAFT, "style": "apa"}, "check_citations accepts text, offset, read, session_id"),
        ({"text": "No list follows here."}, "No references were found"),
        ({"text": DRAFT, "offset": 99}, "beyond the end"),
    ],
)
async def test_what_cannot_be_checked_is_refused_with_what_to_do(arguments: dict[str, object], told: str) -> None:
    async with checking() as client:
        result = await client.call_tool("check_citations", arguments)
    assert result.is_error
    assert told in text_of(result)


async def test_other_names_for_the_same_are_understood() -> None:
    async with checking() as client:
        for arguments in (
            *({name: DRAFT} for name in ("draft", "manuscript", "content", "markdown", "query")),
            {"bibliography": DRAFT.partition("## References")[2]},
            {"references": ["1. PMID: 31000011", "2. PMID: 31000012"]},
            {"csl_json": [{"type": "article-journal", "title": TITLE, "PMID": "31000011"}]},
            {"text": DRAFT, "full_text": True},
        ):
            report = await called(client, "check_citations", **arguments)
            assert report["counts"]["references"]
            assert report["warnings"][0].startswith("Read ")
            if "draft" in arguments:
                assert report["warnings"][0] == "Read draft as text."


async def test_the_prompt_carries_the_draft_as_data() -> None:
    async with checking() as client:
        prompt = await client.get_prompt("check_my_draft", {"draft": "One line [1].\nAnother line."})
    (message,) = prompt.messages
    assert isinstance(message.content, TextContent)
    assert "«One line [1].\nAnother line.»" in message.content.text
    assert "check_citations" in message.content.text
