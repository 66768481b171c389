"""The tool list that every model pays for, how hosts find tools in it, and the sizes of arguments."""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, get_args

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, PromptReference, ResourceTemplateReference

from deepcritical_mcp.config import Settings
from deepcritical_mcp.server import (
    _tool,  # pyright: ignore[reportPrivateUsage]
    create_server,
)
from deepcritical_mcp.tools import PROFILES, Profile, ToolSpec
from deepcritical_mcp.tools.arguments.schemas import read_arguments
from deepcritical_mcp.tools.spec import listed_default
from tests.fakes import fake_server
from tests.wire import wire


@pytest.fixture
async def tools() -> list[dict[str, Any]]:
    async with Client(create_server(Settings())) as client:
        return [
            tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in (await client.list_tools()).tools
        ]


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


async def test_tools_stay_lean(tools: list[dict[str, Any]]) -> None:
    core = {spec.name for spec in PROFILES["core"]}
    assert core == {"pubmed_search", "web_search", "expand_queries", "semantic_search", "add_evidence"}
    for some, read, listed in (
        ([tool for tool in tools if tool["name"] in core], 6_000, 14_000),
        (tools, 12_000, 30_000),
    ):
        assert size([{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in some]) <= read
        assert size(some) <= listed


async def test_every_tool_has_a_title_hints_and_an_output_schema(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        assert tool["title"]
        assert tool["outputSchema"]["type"] == "object"
        assert not re.search(r"additionalProperties|\$ref|anyOf|oneOf", json.dumps(tool))
        assert "required" not in tool["outputSchema"]
        hints = tool["annotations"]
        assert hints.keys() >= {"readOnlyHint", "openWorldHint", "destructiveHint"}
        assert hints["readOnlyHint"] or "idempotentHint" in hints


# What the converters of other vendors take, restated because their packages are too large for the tests (200 MB).
# google-genai 2: the fields of its JSONSchema; a boolean additionalProperties ends its MCP converter.
GEMINI = set(
    """type format title description default items min_items max_items enum properties required minimum maximum
    min_length max_length pattern""".split()
)
# The API itself: `parameters.properties[study_filter].enum[0]: cannot be empty`.
# OpenAI's strict mode and Anthropic's strict tools: what a converter cannot drop without changing what is valid.
# Anthropic: `minItems` of 0 or 1 only, no bounds of numbers and lengths, which its SDK moves into the description.
STRICT = {"type", "description", "properties", "required", "items", "enum", "additionalProperties"}
DROPPED = {"default", "minimum", "maximum", "minItems", "maxItems"}
# openai-agents 0.24 `ensure_strict_json_schema`: an object must not admit further properties; Chat Completions and
# langchain-openai: a name of at most 64 such characters, and a description of at most 1,024.
OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@pytest.mark.parametrize("profile", get_args(Profile))
async def test_the_converters_of_other_vendors_take_every_schema(profile: Profile) -> None:
    async with Client(create_server(Settings(), profile=profile)) as client:
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert OPENAI_NAME.fullmatch(tool.name)
        assert len(tool.description or "") <= 1_024
        assert tool.input_schema["type"] == "object"
        for _, node in schema_nodes(tool.input_schema):
            words = {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", word) for word in node}
            assert words <= GEMINI, (tool.name, words - GEMINI)
            assert isinstance(node["type"], str)
            assert node["type"] != "array" or node["items"]
            assert node["type"] != "object" or node["properties"]
            assert set(node) <= STRICT | DROPPED
            assert node.get("minItems", 0) <= 1
            assert "default" not in node or not node.get("enum") or node["default"] in node["enum"]
            assert all(isinstance(word, str) and word.strip() for word in node.get("enum", ()))
            assert set(node.get("required", ())) <= node.get("properties", {}).keys()
        for _, node in schema_nodes(tool.output_schema or {}):
            assert isinstance(node["type"], str)
            assert set(node) <= STRICT
            assert all(isinstance(word, str) and word.strip() for word in node.get("enum", ()))


async def test_what_is_empty_or_says_that_nothing_is_wished_is_not_given_for_any_argument(
    tools: list[dict[str, Any]],
) -> None:
    for tool in tools:
        if tool["annotations"]["destructiveHint"]:
            continue  # read to the letter
        schema = tool["inputSchema"]
        required = {name: "kept" for name in schema.get("required", ()) if name not in ("items", "format")}
        for name in schema["properties"].keys() - set(schema.get("required", ())):
            kind = schema["properties"][name]
            words = kind.get("enum") or kind.get("items", {}).get("enum") or kind["type"] not in ("string", "array")
            empty: tuple[object, ...] = (None, "", " ", [], {})
            for nothing in (*empty, *(("any", "Unspecified", "unchanged") if words else ())):
                read = read_arguments(tool["name"], {**required, name: nothing}, schema)[0].get(name)
                assert read in (None, listed_default(kind)), (tool["name"], name, nothing)


TOOLS = sorted({spec for specs in PROFILES.values() for spec in specs}, key=lambda spec: spec.name)
HUGE = "(a-b, " * 1_200_000
"""7 MB."""


def schema_nodes(schema: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, schema
    for inner, one in schema.get("properties", {}).items():
        yield from schema_nodes(one, f"{name}.{inner}")
    if "items" in schema:
        yield from schema_nodes(schema["items"], f"{name}[]")


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_every_text_and_list_has_a_limit(spec: ToolSpec) -> None:
    for name, node in schema_nodes(_tool(spec, ())[1]):
        if node["type"] == "string" and "enum" not in node:
            assert node["maxLength"] <= (1_000_000 if name == ".items[].content" else 200_000), name
        if node["type"] == "array":
            assert node["maxItems"] <= 10_000, name


@cache
def huge_values() -> list[object]:
    many, objects = ["1"] * 1_000_000, [{"content": "x"}] * 300_000
    values = [HUGE, [HUGE], {"a": HUGE}, {HUGE: 1}, many, [[[HUGE]]], objects, dict.fromkeys(many[:1], many)]
    values += [dict.fromkeys(map(str, range(300_000))), [json.dumps([HUGE])], f'["{HUGE}']
    return [*values, *map(json.dumps, ([HUGE], many, {"query": HUGE}))]


FOREIGN = ("reasoning", "limit", "params", "arguments", "pmids", "text", "from", "page", "notes", "x" * 100, "ß")


def too_large(spec: ToolSpec) -> Iterator[dict[str, Any]]:
    """Calls with each parameter, each field of an object, and other names, far too large in some way."""
    schema, values = _tool(spec, ())[1], huge_values()
    required = dict.fromkeys(schema.get("required", ()), "10")
    for name, one in schema["properties"].items():
        fields = one.get("items", {}).get("properties", ())
        yield from ({**required, name: value} for value in values)
        yield from ({**required, name: [{field: value}]} for field in fields for value in values[:6])
    yield from ({**required, name: value} for name in FOREIGN if name not in schema["properties"] for value in values)
    yield {**required, HUGE: "x"}
    yield {**required, **dict.fromkeys(map(str, range(300_000)), "1")}


class Work:
    """Counts the functions of ours that are called, and how much text each of them is given."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_measuring = code.co_qualname.startswith(("check_size", "size_of", "_check_", "_most"))
        if event != "call" or "deepcritical_mcp" not in code.co_filename or is_measuring:
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.seen += 1 + sum(len(one) for one in map(frame.f_locals.get, names) if isinstance(one, str))


@contextmanager
def counted_work() -> Generator[Work]:
    work = Work()
    sys.setprofile(work)
    try:
        yield work
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
async def test_what_is_far_too_large_is_refused_before_anything_looks_at_it(spec: ToolSpec) -> None:
    server = fake_server(profile=next(name for name, specs in PROFILES.items() if spec in specs))
    async with Client(server):
        for arguments in too_large(spec):
            with counted_work() as work:
                refused = await server.call_tool(spec.name, arguments)
            assert isinstance(refused, CallToolResult)
            assert refused.is_error
            told = wire(refused)["error"]
            assert told["code"] == "invalid_input"
            assert "at most" in told["message"] or "the limit is" in told["message"]
            assert len(told["message"]) < 400
            assert "a-b" not in told["message"]
            assert work.seen < 20_000


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_every_other_request_is_measured_too(mode: str) -> None:
    reference, template = PromptReference(name="verify_claim"), ResourceTemplateReference(uri="evidence://{session_id}")
    async with Client(fake_server(), mode=mode) as client:
        asked: list[Callable[[], Awaitable[object]]] = [
            lambda: client.get_prompt("verify_claim", {"claim": HUGE}),
            lambda: client.get_prompt("verify_claim", {"claim": "x", HUGE: "y"}),
            lambda: client.get_prompt(HUGE),
            lambda: client.read_resource(f"evidence://{HUGE.replace(' ', '')}"),
            lambda: client.read_resource(f"evidence://a/{'a' * 7_000_000}"),
            lambda: client.complete(reference, {"name": "claim", "value": HUGE}),
            lambda: client.complete(reference, {"name": HUGE, "value": "x"}),
            lambda: client.complete(PromptReference(name=HUGE), {"name": "x", "value": "x"}),
            lambda: client.complete(template, {"name": "session_id", "value": HUGE}),
            lambda: client.complete(template, {"name": "x", "value": "x"}, {"session_id": HUGE}),
            lambda: client.list_tools(cursor=HUGE),
            lambda: client.call_tool(HUGE, {}),
        ]
        for ask in asked:
            with counted_work() as work, pytest.raises(MCPError, match="at most"):
                await ask()
            assert work.seen < 20_000
        assert "claim" in str(await client.get_prompt("verify_claim", {"claim": "x" * 4_000}))


# How people and models ask for a tool, written before the descriptions.
ASKED = """
pubmed_search: search the medical literature for randomized trials of a drug | find journal papers about a disease |
  look up articles in PubMed | medline search | systematic reviews and meta-analyses on a treatment | biomedical
  research papers by an author | abstracts of scientific papers | boolean query with mesh terms | literature search
  health
trial_search: clinical trials recruiting patients | ongoing studies registered at clinicaltrials.gov | find a trial by
  its NCT number | is there a phase 3 trial of this drug | trial registry
web_search: search the web | clinical guidelines from WHO | latest news about a drug approval by the FDA | internet
  search | website of a health agency
expand_queries: suggest synonyms and search terms for my question | build a search strategy for a systematic review |
  which MeSH headings fit my topic | make my query broader or narrower | turn a PICO question into queries
semantic_search: search within the papers I already collected | find passages that answer a question in my saved
  evidence | search my notes by meaning | semantic similarity search over stored documents
add_evidence: save a note | add a paper by its DOI | import a PMID | screening: mark a study as included or excluded |
  tag papers | store a quote for later
get_full_text: read the full text of an article | download the pdf of a paper | open a web page and read it | methods
  section and tables of a study | ask a question about one paper
preprint_search: bioRxiv and medRxiv | preprints not yet peer reviewed | was this preprint published in a journal
check_citations: check my references for retracted papers | verify the bibliography of a manuscript | detect
  fabricated references | are the quotations in my draft correct | fact-check claims against their cited sources
check_strategy: test my search strategy | peer review of a search strategy with PRESS | translate a PubMed strategy for
  Ovid and Embase | why does my strategy miss this paper
get_evidence: show the abstract of a paper found before | details of a record by id
pubmed_related: papers that cite this article | similar papers | what are the references of a paper | snowballing,
  citation chasing
list_evidence: list everything found so far | what is in my session
list_sessions: continue my previous research | my earlier sessions
export_evidence: export to BibTeX or RIS for Zotero | bibliography in APA style | table of included studies as csv |
  log of my searches for PRISMA
clear_session: delete a session | remove a paper from my collection
"""
RIGHT, AMONG = 0.95, 3


def words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def ranked(query: str, tools: dict[str, list[str]]) -> list[str]:
    """The tools by BM25 (k1 1.2, b 0.75), without stemming and stop words."""
    count, mean = len(tools), sum(map(len, tools.values())) / len(tools)
    held = Counter(word for text in tools.values() for word in set(text))
    scores = dict.fromkeys(tools, 0.0)
    for name, text in tools.items():
        told = Counter(text)
        for word in words(query):
            rarity = math.log(1 + (count - held[word] + 0.5) / (held[word] + 0.5))
            scores[name] += rarity * told[word] * 2.2 / (told[word] + 1.2 * (0.25 + 0.75 * len(text) / mean))
    return sorted(scores, key=lambda name: -scores[name])


async def test_the_right_tool_is_among_the_first_for_what_people_ask() -> None:
    tools = {one.name: words(f"{one.name} {one.description}") for one in await create_server(Settings()).list_tools()}
    rows = re.findall(r"^(\w+): (.*(?:\n  .*)*)", ASKED, re.MULTILINE)
    asked = [(query, tool) for tool, queries in rows for query in queries.split("|")]
    assert {tool for _, tool in asked} == tools.keys()
    missed = [(query, tool) for query, tool in asked if tool not in ranked(query, tools)[:AMONG]]
    assert len(missed) <= (1 - RIGHT) * len(asked), missed


async def test_two_tools_are_always_loaded_and_the_order_never_changes() -> None:
    listed = await create_server(Settings()).list_tools()
    assert {one.name for one in listed if (one.meta or {}).get("anthropic/alwaysLoad")} == {
        "pubmed_search",
        "semantic_search",
    }
    assert [one.name for one in listed] == [one.name for one in await create_server(Settings()).list_tools()]
    assert all(one.title and one.icons for one in listed)
    sources = [one.icons[0].src for one in listed if one.icons]
    assert all(re.fullmatch(r"data:image/svg\+xml,[A-Za-z0-9:/,='._~%-]+", one) for one in sources)  # RFC 3986


async def test_what_changes_nothing_but_what_the_session_has_found_says_so() -> None:
    listed = await create_server(Settings()).list_tools()
    asks = {one.name for one in listed if one.annotations and not one.annotations.read_only_hint}
    assert asks == {"add_evidence", "export_evidence", "clear_session"}
