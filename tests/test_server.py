"""The tools through a real MCP client, in both protocol eras, over the real store and model."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PromptReference, ResourceTemplateReference

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import RateLimitError
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.transports.conftest import StandInModel
from tests.wire import text_of, wire

PAPER = published(
    "Metformin activates AMPK and protects neurons. " * 3,
    provider="pubmed",
    source="pubmed",
    title="AMPK activation neuroprotection",
    pmid="1",
    status="retracted",
)
LONG = published(
    "One sentence more. " * 5_000, provider="x", source="web", title="A long page", url="https://example.org/long"
)

BOARD = "ui://deepcritical/board.html"


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("pubmed_search", {}, "query is required"),
        ("pubmed_search", {"query": " \t\n"}, "must not be blank"),
        ("pubmed_search", {"query": "x" * 10_000}, "at most 4,000 characters, got 10,000"),
        ("pubmed_search", {"query": "x", "variant_list": 5}, 'did you mean "variants"?'),
        ("web_search", {"query": "x", "min_score": 2}, "min_score: from 0 to 1, got 2"),
        ("expand_queries", {"topic": "x", "description": "d" * 4_001}, "at most 4,000 characters, got 4,001"),
        ("web_search", {"query": "x", "topic": "sports"}, "topic: expected 'general' or 'news'"),
        ("add_evidence", {"items": []}, "at least 1 item"),
    ],
)
async def test_bad_input_gets_a_clear_error_and_the_server_goes_on(
    tool: str, arguments: dict[str, Any], told: str, mode: str
) -> None:
    async with Client(fake_server(literature=FakeSearch((PAPER,))), mode=mode) as client:
        await client.call_tool("pubmed_search", {"query": "kept before"})
        refused = await client.call_tool(tool, arguments)
        kept = await client.call_tool("get_evidence", {"ids": ["pubmed:1"]})
    assert refused.is_error
    assert told in text_of(refused)
    assert wire(refused)["error"]["message"] in text_of(refused)
    assert wire(refused)["error"]["retryable"] is False
    assert wire(kept)["evidence"][0]["id"] == "pubmed:1"


@pytest.mark.parametrize("is_of_a_task_group", [False, True])
async def test_a_provider_s_failure_is_an_error_with_what_to_do_and_when(is_of_a_task_group: bool) -> None:
    async def fail() -> None:
        told = RateLimitError("pubmed", "PubMed allows no more requests for now.", retry_after=7, details={"count": 3})
        raise ExceptionGroup("tasks", [told]) if is_of_a_task_group else told

    async with Client(fake_server(literature=FakeSearch(behavior=fail))) as client:
        result = await client.call_tool("pubmed_search", {"query": "x"})
    assert result.is_error
    assert wire(result)["error"] == {
        "code": "rate_limited",
        "message": "PubMed allows no more requests for now.",
        "retryable": True,
        "retry_after": 7,
        "details": {"provider": "pubmed", "count": 3},
    }
    assert "Retry after 7 s" in text_of(result)


async def test_half_a_character_in_a_wrong_name_is_not_sent_back(mode: str) -> None:
    async with Client(fake_server(), mode=mode) as client:
        refused = await client.call_tool("web_search", {"que\ud83ery": "x"})
    assert 'did you mean "query"?' in text_of(refused)
    refused.model_dump_json()


async def test_every_call_ends_within_the_deadline() -> None:
    server = fake_server(literature=FakeSearch(behavior=anyio.sleep_forever), settings=Settings(deadline=1))
    async with Client(server) as client:
        result = await client.call_tool("pubmed_search", {"query": "x"})
    assert result.is_error
    assert wire(result)["error"]["code"] == "deadline_exceeded"


@pytest.mark.parametrize("written", ["", "new", " "])
async def test_only_a_session_that_is_named_is_deleted(written: str, mode: str) -> None:
    async with Client(fake_server(literature=FakeSearch((PAPER,))), mode=mode) as client:
        session = wire(await client.call_tool("pubmed_search", {"query": "x"}))["session_id"]
        unnamed = await client.call_tool("clear_session", {})
        blank = await client.call_tool("clear_session", {"session_id": written})
        assert "session_id is required" in text_of(unnamed)
        assert 'pass session_id="new" to a search' in text_of(blank)
        assert wire(await client.call_tool("list_evidence", {}))["total"] == 1
        note = {"items": [{"content": "A note."}]}
        await client.call_tool("add_evidence", note)
        gone = await client.call_tool("clear_session", {"session_id": session})
        undone = await client.call_tool("clear_session", {"session_id": session, "undo": True})
        after = await client.call_tool("list_evidence", {"session_id": session})
    assert wire(gone)["removed"] == 2
    assert "Deleted: 2 items of evidence (PubMed: 1, Own note: 1)." in text_of(gone)
    assert "undo" not in text_of(gone)
    assert "undo is unavailable" in text_of(undone)
    assert "unknown or has expired" in text_of(after)


async def test_a_kept_session_that_was_deleted_can_be_brought_back(mode: str, tmp_path: Path) -> None:
    server = fake_server(literature=FakeSearch((PAPER,)), settings=Settings(data_dir=tmp_path))
    async with Client(server, mode=mode) as client:
        session = wire(await client.call_tool("pubmed_search", {"query": "x"}))["session_id"]
        gone = await client.call_tool("clear_session", {"session_id": session})
        assert "stays on disk for 24 hours. To undo this until then" in text_of(gone)
        assert f'clear_session session_id="{session}" undo=true.' in text_of(gone)
        assert text_of(gone).count(f"deepcritical-mcp sessions delete --now {session}") == 1
        lost = await client.call_tool("list_evidence", {"session_id": session})
        assert "unknown or has expired" in text_of(lost)
        back = await client.call_tool("clear_session", {"session_id": session, "undo": True})
        assert "Restored: 1 item of evidence (PubMed: 1)." in text_of(back)
        again = await client.call_tool("clear_session", {"session_id": session, "undo": True})
        listed = await client.call_tool("list_evidence", {"session_id": session})
        unknown = await client.call_tool("clear_session", {"session_id": "rs_" + "0" * 32, "undo": True})
    await server.app.aclose()
    assert again.is_error
    assert "There is nothing to undo: this session is not deleted" in text_of(again)
    assert "undo=true brings it back" in text_of(lost)
    assert wire(listed)["total"] == 1
    assert "unknown or has expired" in text_of(unknown)


async def test_a_model_without_calibration_is_named_wherever_it_matters() -> None:
    async with Client(fake_server(literature=FakeSearch((PAPER,)), embedder=StandInModel())) as client:
        await client.call_tool("pubmed_search", {"query": "x"})
        expanded = await client.call_tool("expand_queries", {"topic": "metformin"})
        quoted = await client.call_tool("get_evidence", {"ids": ["pubmed:1"], "about": "neurons"})
        whole = await client.call_tool("get_evidence", {"ids": ["pubmed:1"]})
    for result in (expanded, quoted):
        assert UNCALIBRATED in wire(result)["warnings"]
        assert f"Note: {UNCALIBRATED}" in text_of(result)
    assert wire(whole)["warnings"] == []


async def test_progress_is_reported_to_a_client_that_asks_for_it(mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with Client(fake_server(literature=FakeSearch((PAPER,))), mode=mode) as client:
        await client.call_tool("pubmed_search", {"query": "x"}, progress_callback=listen)
        await client.call_tool("add_evidence", {"items": [{"content": "A."}]}, progress_callback=listen)
    assert (0.5, 1.0, "searching") in heard
    assert (0.1, 1.0, "keeping 1 item") in heard


async def test_evidence_and_sessions_can_be_read_as_resources(mode: str) -> None:
    async with Client(fake_server(literature=FakeSearch((PAPER,))), mode=mode) as client:
        session = wire(await client.call_tool("pubmed_search", {"query": "x"}))["session_id"]
        overview = await client.read_resource(f"evidence://{session}")
        piece = await client.read_resource(f"evidence://{session}/pubmed:1")
        assert "AMPK activation" in overview.model_dump_json()
        assert "protects neurons" in piece.model_dump_json()
        with pytest.raises(MCPError, match="no evidence with this id"):
            await client.read_resource(f"evidence://{session}/doi:10.1/none")
        with pytest.raises(MCPError, match="unknown or has expired"):
            await client.read_resource("evidence://rs_" + "0" * 32)


async def test_prompts_name_what_is_missing(mode: str) -> None:
    async with Client(fake_server(), mode=mode) as client:
        prompt = await client.get_prompt("verify_claim", {"claim": "Metformin\nextends life"})
        assert "«Metformin extends life»" in prompt.model_dump_json()
        with pytest.raises(MCPError, match="requires claim"):
            await client.get_prompt("verify_claim", {"claim": " "})
        with pytest.raises(MCPError, match="research_question, verify_claim, expand_queries"):
            await client.get_prompt("nothing", {})
        for arguments in ({"question": "x"}, {"claim": "x", "question": "x"}):
            with pytest.raises(MCPError, match='Unknown argument "question": the prompt verify_claim') as told:
                await client.get_prompt("verify_claim", arguments)
            assert told.value.code == INVALID_PARAMS


async def test_the_session_s_evidence_is_listed_and_its_change_is_announced(mode: str) -> None:
    async with Client(fake_server(literature=FakeSearch((PAPER,))), mode=mode) as client:
        resources = client.server_capabilities.resources
        assert resources
        assert resources.list_changed
        assert [one.uri for one in (await client.list_resources()).resources] == [BOARD]
        session = wire(await client.call_tool("pubmed_search", {"query": "x"}))["session_id"]
        listed = (await client.list_resources()).resources
    assert [one.uri for one in listed] == [BOARD, f"evidence://{session}", f"evidence://{session}/pubmed:1"]
    assert listed[2].title == "AMPK activation neuroprotection"


async def test_a_client_of_a_handshake_version_hears_that_the_list_has_changed() -> None:
    heard: list[str] = []

    async def listen(message: object) -> None:
        heard.append(type(message).__name__)

    server = fake_server(literature=FakeSearch((PAPER,)))
    async with Client(server, mode="legacy", message_handler=listen) as client:
        await client.call_tool("pubmed_search", {"query": "x"})
        await client.list_tools()
    assert "ResourceListChangedNotification" in heard


async def test_fields_are_completed_from_what_the_session_holds(mode: str) -> None:
    paper = PAPER.model_copy(update={"found_by": ("metformin alzheimer",)})
    topic = PromptReference(name="expand_queries")
    piece = ResourceTemplateReference(uri="evidence://{session_id}/{+id}")
    async with Client(fake_server(literature=FakeSearch((paper,))), mode=mode) as client:
        assert (await client.complete(topic, {"name": "topic", "value": "met"})).completion.values == []
        await client.call_tool("pubmed_search", {"query": "metformin alzheimer"})
        topics = await client.complete(topic, {"name": "topic", "value": "Met"})
        depths = await client.complete(PromptReference(name="research_question"), {"name": "depth", "value": "q"})
        ids = await client.complete(piece, {"name": "id", "value": "pubmed:"})
        foreign = await client.complete(ResourceTemplateReference(uri="foo://{id}"), {"name": "id", "value": ""})
        for ref, name in ((PromptReference(name="nothing"), "topic"), (topic, "nothing")):
            with pytest.raises(MCPError, match=r"Unknown (prompt|argument)") as told:
                await client.complete(ref, {"name": name, "value": ""})
            assert told.value.code == INVALID_PARAMS
    assert topics.completion.values == ["metformin alzheimer"]
    assert depths.completion.values == ["quick"]
    assert ids.completion.values == ["pubmed:1"]
    assert foreign.completion.values == []


async def test_a_host_that_shows_apps_gets_the_board_and_others_lose_nothing(mode: str) -> None:
    shows_apps = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})
    server = fake_server(literature=FakeSearch((PAPER,)))
    async with Client(server, mode=mode, extensions=[shows_apps]) as client:
        with_map = await client.call_tool("pubmed_search", {"query": "x"})
        page = await client.read_resource(BOARD)
    async with Client(server, mode=mode) as client:
        without = await client.call_tool("pubmed_search", {"query": "x"})
    assert (with_map.meta or {})["deepcritical/board"]["map"][0]["id"] == "pubmed:1"
    assert page.contents[0].mime_type == "text/html;profile=mcp-app"
    assert "deepcritical/board" not in (without.meta or {})
    assert wire(without)["evidence"] == wire(with_map)["evidence"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_two_tool_hosts_search_and_fetch(mode: str) -> None:
    server = fake_server(literature=FakeSearch((PAPER,)), web=FakeSearch((LONG,)), profile="search-fetch")
    async with Client(server, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
        found = await client.call_tool("search", {"query": "metformin"})
        assert json.loads(text_of(found)) == wire(found)
        first, second = wire(found)["results"]
        assert first["title"] == "RETRACTED: AMPK activation neuroprotection"
        whole = wire(await client.call_tool("fetch", {"id": second["id"]}))
        refused = await client.call_tool("fetch", {"id": "pubmed:1"})
        forgotten = await client.call_tool("fetch", {"id": f"rs_{'0' * 32}/pubmed:1"})
    assert "Search again" in text_of(forgotten)
    assert "session_id" not in text_of(forgotten)
    assert whole["text"] == LONG.text.content
    assert whole["url"] == "https://example.org/long"
    assert refused.is_error
