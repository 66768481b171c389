"""DEEPCRITICAL_TOOLS, --profile and DEEPCRITICAL_OFF: which tools a server offers, which sources it never asks, and
that nothing advises others."""

import pkgutil
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.server import create_server
from deepcritical_mcp.sources import FULL_TEXTS, LOOKUPS, SOURCES, SourceRow, source_names
from deepcritical_mcp.tools import PROFILES, TOOLS, Profile, tool_choices, tools_chosen
from tests.fakes import FakeSearch, fake_server
from tests.net.stand_in import stand_in
from tests.publications import published
from tests.wire import text_of, wire

NAMES = [spec.name for spec in TOOLS]


def names(*choices: str) -> list[str]:
    return [spec.name for spec in tools_chosen(choices)]


def test_a_choice_is_profiles_and_tools_in_the_usual_order() -> None:
    assert names() == names("research") == NAMES
    assert names("core") == [spec.name for spec in TOOLS if spec in PROFILES["core"]]
    assert names("get_full_text", "pubmed_search") == ["pubmed_search", "get_full_text"]
    assert set(names("core", "list_sessions")) == {*names("core"), "list_sessions"}
    assert names("search-fetch") == ["search", "fetch"]


def test_names_are_read_in_any_case_and_an_unknown_one_is_an_error_that_lists_the_known_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEPCRITICAL_TOOLS", "Core, get_full_text")
    assert load_settings().tools == ("core", "get_full_text")
    monkeypatch.setenv("DEEPCRITICAL_TOOLS", "pubmed")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert caught.value.message.startswith('DEEPCRITICAL_TOOLS: has no tool or profile "pubmed"; there are research, ')
    assert all(name in caught.value.message for name in tool_choices())


@pytest.mark.parametrize(
    ("tools", "profile", "offered"),
    [
        ("core", None, names("core")),
        ("core", "research", NAMES),
        ("add_evidence,list_evidence", None, ["add_evidence", "list_evidence"]),
        ("add_evidence", "search-fetch", ["search", "fetch"]),
    ],
)
async def test_the_setting_is_followed_unless_a_profile_is_given(
    tools: str, profile: Profile | None, offered: list[str]
) -> None:
    async with Client(create_server(Settings.model_validate({"tools": tools}), profile=profile)) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        told = client.instructions or ""
    assert listed == offered
    assert not [name for name in NAMES if name in told and name not in offered]


async def test_a_tool_that_is_not_offered_says_which_are_and_no_next_step_names_one() -> None:
    paper = published("It says something.", source="pubmed", title="A paper", pmid="1")
    settings = Settings.model_validate({"tools": "pubmed_search,list_evidence"})
    async with Client(fake_server(settings=settings, literature=FakeSearch((paper,)), profile=None)) as client:
        refused = await client.call_tool("get_evidence", {"ids": ["1"]})
        found = await client.call_tool("pubmed_search", {"query": "x"})
        listed = await client.call_tool("list_evidence", {})
        lost = await client.call_tool("list_evidence", {"session_id": f"rs_{'0' * 32}"})
    told = wire(refused)["error"]["message"]
    assert "This session is unknown or has expired" in text_of(lost)
    assert told == "get_evidence is not offered by this server, which has pubmed_search, list_evidence."
    for result in (found, listed, lost):
        told = text_of(result)
        assert not [name for name in NAMES if name in told and name not in ("pubmed_search", "list_evidence")], told


@pytest.mark.parametrize(
    ("tools", "offered"),
    [
        ("core", ["expand_queries"]),
        ("pubmed_search,trial_search,web_search,semantic_search", ["verify_claim"]),
        ("search-fetch", []),
    ],
)
async def test_prompts_that_need_a_tool_that_is_not_offered_are_not_offered(tools: str, offered: list[str]) -> None:
    async with Client(create_server(Settings.model_validate({"tools": tools}))) as client:
        assert [one.name for one in (await client.list_prompts()).prompts] == offered
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("check_my_draft", {"draft": "x"})
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.complete(PromptReference(name="continue_research"), {"name": "session", "value": ""})


@pytest.mark.parametrize("tools", ["core", "add_evidence", "search-fetch"])
async def test_descriptions_rejections_and_resources_name_only_tools_on_offer(tools: str) -> None:
    settings = Settings.model_validate({"tools": tools})
    server = fake_server(settings=settings)
    offered = names(tools)
    async with Client(server) as client:
        told = " ".join(tool.description or "" for tool in (await client.list_tools()).tools)
        if "add_evidence" in offered:
            await client.call_tool("add_evidence", {"items": [{"content": "A note."}]})
            items = [{"id": "nothing", "include": True}]
            added = await client.call_tool("add_evidence", {"items": items})
            told += str(wire(added))
            assert "nothing is not in this session" in told
        else:
            await client.call_tool("search", {"query": "zinc"})
        session = next(one for one in (await client.list_resources()).resources if one.name == "session")
        told += str((await client.read_resource(session.uri)).contents)
    assert told
    assert not [name for name in NAMES if name in told and name not in offered], told


ROWS = (*SOURCES, *FULL_TEXTS, *LOOKUPS)


def without(folder: Path, off: str, **more: object) -> Settings:
    return Settings(**{"cache_dir": folder, "off": off, "deadline": 10} | more)


async def answer(client: Client, tool: str, **arguments: object) -> tuple[str, bool]:
    result = await client.call_tool(tool, arguments)
    return text_of(result), bool(result.is_error)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.source.rpartition(":")[2])
def test_every_row_is_switched_off_by_the_name_that_it_shows(row: SourceRow) -> None:
    shown = pkgutil.resolve_name(row.source).name
    by_provider = {"tavily": "web"}  # the web's providers are switched off together
    assert row.own_name == by_provider.get(shown, shown)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPCRITICAL_OFF", "web,europe")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert caught.value.message.startswith(
        'DEEPCRITICAL_OFF: has no source "europe"; there are pubmed, preprints, trials, web, '
    )
    assert all(name in caught.value.message for name in source_names())


async def test_tools_whose_source_is_off_are_not_listed_and_say_why(tmp_path: Path) -> None:
    async with Client(create_server(without(tmp_path, "pubmed"))) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        told, is_error = await answer(client, "pubmed_search", query="zinc")
        instructions = client.instructions or ""
    assert listed == {spec.name for spec in TOOLS} - {"pubmed_search", "pubmed_related"}
    assert is_error
    assert 'pubmed_search is switched off on this server: DEEPCRITICAL_OFF names "pubmed".' in told
    assert "web_search" in told
    assert "pubmed_search" not in instructions
    assert "web_search finds guidelines and news" in instructions


async def test_with_everything_off_the_session_still_works(tmp_path: Path) -> None:
    app = create_server(without(tmp_path, ",".join(source_names())))
    async with Client(app) as client:
        added, failed = await answer(client, "add_evidence", items=[{"content": "Zinc speeds up repair."}])
        assert not failed, added
        found, failed = await answer(client, "semantic_search", query="does zinc help?")
        assert not failed
        assert "Zinc speeds up repair" in found
        expanded, failed = await answer(client, "expand_queries", topic="zinc in wound repair")
        assert not failed, expanded
    await app.app.aclose()


async def test_what_is_off_is_not_asked_and_not_taken_for_not_found(tmp_path: Path) -> None:
    async with stand_in() as server:
        names = ("ncbi", "europepmc", "clinicaltrials", "idconv", "unpaywall", "icite")
        addresses = {f"{name}_base_url": server.url for name in names}
        app = create_server(without(tmp_path, ",".join(source_names()), **addresses))
        async with Client(app) as client:
            fetched, _ = await answer(client, "add_evidence", items=[{"pmid": "31000001"}])
            read, _ = await answer(client, "get_full_text", id="PMC9000001")
            claimed, _ = await answer(
                client, "add_evidence", items=[{"content": "Zinc.", "source": "pubmed", "pmid": "11"}]
            )
        await app.app.aclose()
    assert server.asked == []
    assert "Not asked for records, since switched off on this server: pubmed, pmc" in fetched
    assert "pubmed is switched off on this server (DEEPCRITICAL_OFF), so 31000001 could not be looked up" in fetched
    assert (
        "pubmed and pmc are switched off on this server (DEEPCRITICAL_OFF), so PMC9000001 could not be looked up"
        in read
    )
    assert "not found" not in f"{fetched} {read}".lower()
    assert "kept as your note, not as PubMed's record: PubMed is switched off on this server" in claimed


async def test_doctor_says_what_is_off(tmp_path: Path) -> None:
    found = {check.part: check for check in await doctor_checks.sources(without(tmp_path, ",".join(source_names())))}
    assert {"PubMed", "PMC", "Europe PMC", "ClinicalTrials.gov", "Unpaywall", "iCite", "Web search"} <= set(found)
    assert {check.state for check in found.values()} == {"off"}
    assert found["iCite"].finding == 'switched off: DEEPCRITICAL_OFF names "icite"'
