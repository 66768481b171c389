"""Sessions are opened with a title and found again by it, also after a restart."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp_types import PromptReference, TextResourceContents

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import Citation, Evidence, SearchResult
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.answers.structured import structured
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.wire import called, text_of, wire

NOTE = [{"content": "Pacing helps some patients."}]
PAPER = published("It says something.", source="pubmed", title="A paper", pmid="1")


@asynccontextmanager
async def client_of(folder: Path) -> AsyncGenerator[Client]:
    """A client of a server that keeps its sessions in `folder`, and has let go of them at the end."""
    server = fake_server(settings=Settings(data_dir=folder), literature=FakeSearch((PAPER,)))
    async with Client(server) as client:
        yield client
    await server.app.aclose()


async def refusal(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return wire(result)["error"]


async def test_the_first_query_is_the_title_of_a_session_without_one(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        first = await called(client, "pubmed_search", query="zinc in wounds")
        await called(client, "pubmed_search", query="honey in wounds")
        await called(client, "expand_queries", topic="sleep", session_id="new")
        await called(client, "check_citations", text="Zinc heals [1].\n\nReferences\n1. Zinc. 2020.", session_id="new")
        listed = await called(client, "list_sessions")
    assert {one["title"] for one in listed["sessions"]} == {"zinc in wounds", "sleep", "Check of a draft"}
    assert first["next_step"].count('This session ("zinc in wounds") is kept until 20') == 1


async def test_a_title_that_is_taken_ambiguous_or_unknown_is_refused_with_the_way_to_go_on(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        opened = await called(client, "add_evidence", items=NOTE, session_id="new: Long COVID")
        taken = await refusal(client, "pubmed_search", query="x", session_id="new: long covid")
        unknown = await refusal(client, "list_evidence", session_id="long covd")
        for title in ("zinc one", "zinc two"):
            await called(client, "add_evidence", items=NOTE, session_id=f"new: {title}")
        several = await refusal(client, "list_evidence", session_id="zinc")
        for written in ("..", "A" * 150, "A" * 243):  # not taken for the current session
            await refusal(client, "add_evidence", items=[{"content": "Another note."}], session_id=written)
        assert (await called(client, "list_evidence"))["total"] == 1
    assert opened["session_id"] in taken["message"]
    assert taken["details"] == {"session_id": opened["session_id"]}
    assert 'Pass session_id="Long COVID" to continue it' in taken["message"]
    assert several["code"] == "ambiguous_session"
    assert '"zinc one", 1 item' in several["message"]
    assert unknown["code"] == "session_not_found"
    assert f'Did you mean "Long COVID" ({opened["session_id"]}, 1 item' in unknown["message"]
    assert 'session_id="new: long covd" opens one.' in unknown["message"]


async def test_both_forms_list_the_same_sessions_and_a_page_has_twenty(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        for number in range(21):
            await called(client, "add_evidence", items=NOTE, session_id=f"new: topic {number}")
        result = await client.call_tool("list_sessions", {})
        rest = await called(client, "list_sessions", offset=20)
        chosen = await called(client, "list_sessions", query="TOPIC 7")
    page = wire(result)
    assert (page["total"], len(page["sessions"]), page["next_offset"]) == (21, 20, 20)
    for one in page["sessions"]:
        assert f"- {one['session_id']} “{one['title']}”: 1 item of evidence" in text_of(result)
        assert f"kept until {one['kept_until']}" in text_of(result)
    assert "Continue with offset=20" in text_of(result)
    assert (len(rest["sessions"]), rest["next_offset"]) == (1, -1)
    assert [one["title"] for one in chosen["sessions"]] == ["topic 7"]


async def test_a_session_that_a_call_names_is_continued_but_not_one_whose_resource_was_read(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        opened = await called(client, "add_evidence", items=NOTE, session_id="new: long covid")
    async with client_of(tmp_path) as client:
        await client.read_resource(f"evidence://{opened['session_id']}")
        assert not (await called(client, "list_sessions"))["session_id"]
        await called(client, "list_evidence", session_id="long covid")
        assert (await called(client, "pubmed_search", query="zinc"))["session_id"] == opened["session_id"]


READING: tuple[tuple[str, dict[str, object]], ...] = (
    ("semantic_search", {"query": "pacing"}),
    ("list_evidence", {}),
    ("get_evidence", {"ids": ["text:1"]}),
    ("export_evidence", {"format": "bibtex"}),
    ("export_evidence", {"format": "search-log"}),
    ("export_evidence", {"format": "markdown", "save": True}),
    ("add_evidence", {"items": [{"id": "pubmed:1", "decision": "included"}]}),
)


async def test_who_comes_back_and_reads_without_an_id_hears_that_the_session_is_new_and_which_ones_are_kept(
    tmp_path: Path,
) -> None:
    async with client_of(tmp_path) as client:
        for title in ("iron", "zinc", "copper", "long covid"):
            latest = await called(client, "add_evidence", items=NOTE, session_id=f"new: {title}")
    for tool, arguments in READING:
        async with client_of(tmp_path) as client:
            told = await client.call_tool(tool, arguments)
        structured: dict[str, Any] = wire(told)
        for form in (text_of(told), structured["error"]["message"] if told.is_error else structured["next_step"]):
            assert "This session is new and empty. Kept before, last used first: " in form
            assert f'"long covid", {latest["session_id"]}, 1 item, last used 20' in form
            assert '; "copper", rs_' in form
            assert "list_sessions lists all." in form
            assert f'pass session_id="{latest["session_id"]}"' in form
        assert "0 of 0 results" not in text_of(told)


async def test_a_window_brings_back_what_another_one_has_deleted(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client, client_of(tmp_path) as other:
        session = (await called(client, "add_evidence", items=NOTE, session_id="new: zinc"))["session_id"]
        assert (await called(other, "list_evidence", session_id=session))["total"] == 1
        await called(client, "clear_session", session_id=session)
        gone = await refusal(other, "list_evidence", session_id=session)
        assert "clear_session with undo=true" in gone["message"]
        await called(client, "clear_session", session_id=session, ids=[], undo=True)
        assert (await called(other, "list_evidence", session_id=session))["total"] == 1
        await called(client, "clear_session", session_id=session)
        assert (await called(other, "clear_session", session_id=session, undo=True))["removed"] == 1
        for one in (client, other):
            assert (await called(one, "list_evidence", session_id=session))["total"] == 1


async def test_kept_sessions_are_resources_with_their_title(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        opened = await called(client, "add_evidence", items=NOTE, session_id="new: zinc")
    async with client_of(tmp_path) as client:
        listed = {str(one.uri): one.title for one in (await client.list_resources()).resources}
        read = await client.read_resource(f"evidence://{opened['session_id']}")
    assert listed[f"evidence://{opened['session_id']}"] == "zinc: 1 item of evidence"
    content = read.contents[0]
    assert isinstance(content, TextResourceContents)
    assert "\nTitle: zinc\nKept until: 20" in content.text


async def test_an_accent_is_the_same_however_it_is_encoded(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        opened = await called(client, "add_evidence", items=NOTE, session_id="new: caf\u00e9 hygiene")
        found = await called(client, "list_evidence", session_id="cafe\u0301 hygiene")
        refused = await refusal(client, "add_evidence", items=NOTE, session_id="new: cafe\u0301 hygiene")
        listed = await called(client, "list_sessions", query="cafe\u0301")
    assert found["session_id"] == refused["details"]["session_id"] == opened["session_id"]
    assert listed["matching"] == 1


async def test_evidence_is_removed_and_brought_back_by_title_but_a_session_is_deleted_by_its_id(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        opened = await called(client, "pubmed_search", query="zinc in wounds", session_id="new: zinc")
        gone = await called(client, "clear_session", session_id="zinc", ids=["pubmed:1"])
        back = await called(client, "clear_session", session_id="zinc", undo=True)
        refused = await refusal(client, "clear_session", session_id="zinc")
        unknown = await refusal(client, "clear_session", session_id="iron", undo=True)
    assert gone["ids"] == back["ids"] == ["pubmed:1"]
    assert f'session_id="{opened["session_id"]}" deletes "zinc" with 1 item' in refused["message"]
    assert "nothing was deleted" in refused["message"]
    assert "Pass the id, rs_…" in unknown["message"]


async def test_continuing_is_a_prompt_whose_session_is_completed_by_titles(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        await called(client, "add_evidence", items=NOTE, session_id="new: zinc in wounds")
        prompt = await client.get_prompt("continue_research", {"session": "zinc in wounds"})
        asking = await client.get_prompt("continue_research", {})
        reference = PromptReference(type="ref/prompt", name="continue_research")
        suggested = await client.complete(reference, {"name": "session", "value": "zi"})
    assert "zinc in wounds" in str(prompt.messages[0].content)
    assert "Call list_sessions." in str(asking.messages[0].content)
    assert suggested.completion.values == ["zinc in wounds"]


TEXTS = {
    "heart": ("Statins lower the risk of a second heart attack.", "Aspirin thins the blood."),
    "kidney": (
        "Dapagliflozin slows the decline of kidney function.",
        "Statins did not slow the decline of kidney function.",
    ),
    "gardens": ("Tulips are planted in autumn.",),
}


async def test_a_question_is_put_to_all_sessions_and_each_passage_names_its_own(tmp_path: Path):
    ids = dict[str, str]()
    async with client_of(tmp_path) as client:
        for title, texts in TEXTS.items():
            items = [{"content": text} for text in texts]
            ids[title] = (await called(client, "add_evidence", items=items, session_id=f"new: {title}"))["session_id"]
        order = [one["title"] for one in (await called(client, "list_sessions"))["sessions"]]
        assert order == ["gardens", "kidney", "heart"]
        asked = {"query": "do statins help the heart or the kidney?", "session_id": "all"}
        found = await called(client, "semantic_search", **asked)
        of_statins = [one for one in found["evidence"] if "Statins" in one["content"]]
        assert {one["session_id"] for one in of_statins} == {ids["heart"], ids["kidney"]}
        assert found["evidence"][0]["content"].startswith("Statins")
        assert found["total_found"] == 5
        pages: list[dict[str, Any]] = [{"next_offset": 0, "evidence": []}]
        while "next_offset" in pages[-1]:
            pages.append(
                await called(client, "semantic_search", **asked, max_results=1, offset=pages[-1]["next_offset"])
            )
        assert [one["id"] for page in pages for one in page["evidence"]] == [one["id"] for one in found["evidence"]]
        assert [one["title"] for one in (await called(client, "list_sessions"))["sessions"]] == order
        assert (await called(client, "list_evidence"))["session_id"] == ids["gardens"]  # the current one stays
        shown = text_of(await client.call_tool("semantic_search", {"query": "statins kidney", "session_id": "all"}))
        assert f"in session {ids['kidney']}" in shown
        assert "of your sessions' 5 items of evidence for: statins kidney" in shown.split("\n")[0]
        read = await called(client, "get_evidence", ids=[of_statins[0]["id"]], session_id=of_statins[0]["session_id"])
        assert read["evidence"][0]["content"] == of_statins[0]["content"]
        page = await client.call_tool("semantic_search", {"query": "statins", "max_results": 1, "session_id": "kidney"})
        assert "The next best passages: offset=1." in text_of(page)
        beyond = await client.call_tool("semantic_search", {"query": "statins", "offset": 900, "session_id": "kidney"})
        assert "offset=900 is beyond the last passage." in text_of(beyond)


def test_texts_of_one_paper_in_two_sessions_have_the_decision_of_each() -> None:
    texts = (("pubmed:1", "rs_one", "included"), ("pubmed:1~2", "rs_two", "excluded"))
    found = SearchResult(
        session_id="",
        query="zinc",
        evidence=tuple(
            Evidence(id=id, content="Zinc.", citation=Citation(title="Zinc"), session_id=session, decision=decision)
            for id, session, decision in texts
        ),
    )
    wire, shown = structured(found), to_markdown(found)
    assert [(one["decision"], one["citation"]["title"]) for one in wire["evidence"]] == [
        ("included", "Zinc"),
        ("excluded", "Zinc"),
    ]
    assert ("included" in shown, "excluded" in shown, "same publication" in shown) == (True, True, False)


async def test_without_a_session_it_says_how_to_open_one(tmp_path: Path):
    async with client_of(tmp_path) as client:
        found = await called(client, "semantic_search", query="statins", session_id="all")
    assert "There is no session yet" in found["warnings"][0]
    assert found["total_found"] == 0
