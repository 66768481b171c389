"""DEEPCRITICAL_TOOLS and --profile: which tools a server offers, and that nothing advises others."""

from __future__ import annotations

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.server import create_server
from deepcritical_mcp.tools import PROFILES, TOOLS, Profile, tool_choices, tools_chosen
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.wire import wire

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
    assert "This session is unknown or has expired" in getattr(lost.content[0], "text", "")
    assert told == "get_evidence is not offered by this server, which has pubmed_search, list_evidence."
    for result in (found, listed, lost):
        text = "".join(getattr(block, "text", "") for block in result.content)
        assert not [name for name in NAMES if name in text and name not in ("pubmed_search", "list_evidence")], text


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
