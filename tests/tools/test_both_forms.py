"""What a model needs stands in both forms of an answer, whichever of them its client shows."""

import re
from collections.abc import Iterator
from typing import Any, cast

from mcp.client import Client
from mcp_types import CallToolResult

from deepcritical_mcp.models import STATUSES, StatusNotice
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.tools.test_reading_papers import TRIAL

NOTICE = StatusNotice(kind="retraction", pmid="90001", reference="J Zinc. 2020;1:2")
RETRACTED = published(
    "Zinc healed.", source="pubmed", title="Healing by zinc", pmid="70002", status="retracted",
    status_checked="2026-11-21", status_notices=(NOTICE,), date="2019-03",
)  # fmt: skip
UNCHECKED = published("Zinc is a metal.", source="pubmed", title="On metals", pmid="70003", date="2018")
PAGE = published("Zinc in food.", source="web", title="Zinc for all", url="https://example.org/zinc")
NOTE = {"content": "# My view\n\nZinc helps.", "tags": ["core"], "decision": "included"}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pubmed_search", {"query": "zinc warts"}),
    ("web_search", {"query": "zinc food"}),
    ("add_evidence", {"items": [NOTE, {"id": "pubmed:70002", "decision": "excluded", "reason": "bad"}, {"doi": "x"}]}),
    ("semantic_search", {"query": "zinc for warts", "variants": ["metal for warts"]}),
    ("semantic_search", {"query": "zinc", "characters": 300}),
    ("list_evidence", {}),
    ("list_evidence", {"max_results": 2, "status": "unchecked"}),
    ("list_evidence", {"marked": "nothing"}),
    ("get_evidence", {"ids": ["pubmed:70002", "pubmed:11", "pubmed:5"]}),
    ("get_evidence", {"ids": ["pubmed:11"], "about": "warts"}),
    ("get_full_text", {"id": "pubmed:11"}),
    ("get_full_text", {"id": "pubmed:11", "question": "How many warts went away?"}),
    ("get_full_text", {"id": "pubmed:11", "sections": ["s1", "s9"]}),
    ("get_full_text", {"id": "pubmed:70003"}),
    ("expand_queries", {"topic": "zinc for warts"}),
    ("check_citations", {"text": "Zinc helps [1].\n\nReferences\n1. Ruiz A. On metals. J Zinc. 2018;1:2. PMID: 70003"}),
    ("export_evidence", {"format": "ris", "ids": ["pubmed:11", "pubmed:5"]}),
    ("list_sessions", {}),
    ("clear_session", {"ids": ["pubmed:70003"]}),
)  # fmt: skip
# Enums and switches, which the text says in words of its own; what both have, but in other digits; what those said who
# were asked before a text was found.
LABELED = {
    *("detail", "kind", "source", "sources", "status", "verdict", "content_truncated", "relevance", "index", "bytes")
}


def leaves(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, one in cast("dict[str, object]", value).items():
            yield from leaves(one, name if name in LABELED else key)
            if name in ("statuses", "marks"):
                yield name, STATUSES.get(cast("Any", key), key) or key
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from leaves(one, name)
    elif not isinstance(value, bool) and value not in ("", -1, None):
        yield name, str(value)


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", re.sub(r"(?<=\d),(?=\d{3})|\\", "", text.lower())))


def lacking(result: CallToolResult) -> dict[str, set[str]]:
    """By field, the words of the structured form that the text lacks; under "text" the numbers that only that has."""
    text = "".join(getattr(block, "text", "") for block in result.content)
    told = [*leaves(result.structured_content)]
    found = {name: words(value) - words(text) for name, value in told if name not in LABELED}
    numbered = {str(number) for number in range(len(told))}  # the text counts items
    own = " ".join(line for line in text.splitlines() if not line.lstrip().startswith(">"))
    figures = {
        word for word in words(re.sub(r"[0-9]{4}-[0-9-]+|relevance [0-9.]+|\b20[0-9]{2};", "", own)) if word.isdigit()
    }
    found["text"] = figures - numbered - words(" ".join(value for _, value in told))
    return {name: missing for name, missing in found.items() if missing}


async def test_numbers_ids_notes_and_next_steps_stand_in_both_forms() -> None:
    literature, web = FakeSearch((TRIAL, RETRACTED, UNCHECKED)), FakeSearch((PAGE,))
    found, session = dict[str, dict[str, set[str]]](), ""
    async with Client(fake_server(literature=literature, web=web)) as client:
        for number, (tool, arguments) in enumerate(CALLS):
            own: dict[str, Any] = {"session_id": session} if tool == "clear_session" else {}
            result = await client.call_tool(tool, {**arguments, **own})
            assert isinstance(result, CallToolResult)
            assert not result.is_error, (tool, result.content)
            session = session or cast("dict[str, str]", result.structured_content or {})["session_id"]
            if missing := lacking(result):
                found[f"{number} {tool}"] = missing
            if tool == "list_evidence" and not arguments:
                assert "unchecked" in words(result.content[0].text)  # pyright: ignore
    assert not found
