"""Decisions and tags, as a model hands them in, and as every answer shows them."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.client import Client

from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.wire import wire

NOTES: list[dict[str, object]] = [
    {"content": "Zinc closed the wounds of 12 of 20 adults.", "title": "Zinc", "authors": ["Ruiz A"], "date": "2020"},
    {"content": "Copper did nothing for old bones.", "url": "https://example.org/copper", "source": "web"},
]


class Desk:
    """A client with a session that holds two items."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.ids: list[str] = []

    async def call(self, tool: str, **arguments: object) -> tuple[dict[str, Any], str]:
        """Both forms of an answer."""
        answer = await self._client.call_tool(tool, arguments)
        (block,) = answer.content
        return wire(answer), getattr(block, "text", "")

    async def mark(self, *items: Mapping[str, object]) -> tuple[dict[str, Any], str]:
        return await self.call("add_evidence", items=list(items))

    async def decision(self, id: str) -> str:
        found, _ = await self.call("get_evidence", ids=[id])
        return found["evidence"][0]["decision"]


@asynccontextmanager
async def opened() -> AsyncGenerator[Desk]:
    async with Client(fake_server()) as client:
        desk = Desk(client)
        answer, _ = await desk.mark(*NOTES)
        desk.ids = [row["id"] for row in answer["added"]]
        yield desk


async def test_a_decision_is_told_in_both_forms_and_shown_everywhere() -> None:
    async with opened() as desk:
        item = {"id": desk.ids[0], "decision": "excluded", "reason": "no controls", "tags": ["RCT", "adults; zinc"]}
        answer, text = await desk.mark(item)
        line = "excluded: no controls; tags: RCT, adults, zinc"
        assert answer["decided"] == [{"index": 0, "id": desk.ids[0], "decision": line}]
        assert answer["added"] == answer["rejected"] == []
        assert f"{desk.ids[0]} is now {line}" in text
        page, text = await desk.call("list_evidence")
        assert page["items"][0]["decision"] == "excluded: no controls"
        assert page["items"][0]["tags"] == ["RCT", "adults", "zinc"]
        assert next(iter(page["marks"].items())) == ("excluded", 1)
        assert "Decisions and tags: excluded (1), RCT (1), adults (1), zinc (1)." in text
        for tool, arguments in (("semantic_search", {"query": "zinc"}), ("get_evidence", {"ids": desk.ids})):
            found, text = await desk.call(tool, **arguments)
            assert found["evidence"][0]["decision"] == line
            assert f"Decision: {line}" in text
        exported, _ = await desk.call("export_evidence", format="markdown")
        assert "Decision: excluded: no controls; tags: RCT, adults, zinc" in exported["text"]


WRITTEN: list[tuple[dict[str, object], str]] = [
    ({"include": True}, "included"),
    ({"include": "false", "reason": "no controls"}, "excluded: no controls"),
    ({"decision": "Include"}, "included"),
    ({"verdict": "cited"}, "cited"),
    ({"decision": "exclude", "exclusion_reason": "no controls"}, "excluded: no controls"),
    ({"include": "yes"}, "included"),
    ({"include": "No"}, "excluded"),
    ({"tags": "rct, adults"}, "undecided; tags: rct, adults"),
    ({"labels": ["RCT", "rct"]}, "undecided; tags: RCT"),
]


async def test_a_decision_is_understood_as_models_write_it() -> None:
    for written, line in WRITTEN:
        async with opened() as desk:
            answer, _ = await desk.mark({"id": desk.ids[0], **written})
            assert [one["decision"] for one in answer["decided"]] == [line]


async def test_evidence_is_found_by_any_name_of_it() -> None:
    async with opened() as desk:
        names: list[dict[str, object]] = [
            {"evidence_id": desk.ids[0]},
            {"id": f"[{desk.ids[0]}~1]"},
            {"id": "https://example.org/copper#top"},
            {"url": "https://example.org/copper"},
        ]
        for item in names:
            answer, _ = await desk.mark({**item, "decision": "cited"})
            assert [one["id"] in desk.ids for one in answer["decided"]] == [True]
            assert not answer["added"]


async def test_a_decision_is_taken_back_and_tags_are_cleared() -> None:
    async with opened() as desk:
        await desk.mark({"id": desk.ids[0], "decision": "included", "reason": "large", "tags": ["rct"]})
        await desk.mark({"id": desk.ids[0], "decision": "included", "tags": []})
        assert await desk.decision(desk.ids[0]) == "included: large; tags: rct", "an empty list says nothing"
        await desk.mark({"id": desk.ids[0], "tags": ["adults"]})
        assert await desk.decision(desk.ids[0]) == "included: large; tags: adults", "tags are replaced"
        await desk.mark({"id": desk.ids[0], "reason": "small"})
        assert await desk.decision(desk.ids[0]) == "included: small; tags: adults"
        await desk.mark({"id": desk.ids[0], "decision": "cited"})
        assert await desk.decision(desk.ids[0]) == "cited; tags: adults", "a reason belongs to its decision"
        await desk.mark({"id": desk.ids[0], "decision": "undecided"})
        assert await desk.decision(desk.ids[0]) == "tags: adults"
        _, text = await desk.mark({"id": desk.ids[0], "tags": "None"})
        assert await desk.decision(desk.ids[0]) == ""
        assert "is now undecided, without tags" in text


UNDECIDABLE: list[tuple[dict[str, object], str]] = [
    ({"id": "pubmed:31978945", "decision": "cited"}, 'To fetch and mark it, pass pmid="31978945" instead of id.'),
    ({"id": "nothing", "include": True}, "nothing is not in this session; list_evidence has the ids."),
    ({"decision": "undecided", "reason": "who knows"}, "takes a decision back and keeps no reason"),
    ({"include": True, "content": "A note."}, "for a note about it pass pmid, doi or url"),
    ({"include": True, "pmid": "7"}, "id and another identifier are not the same"),
    ({"tags": ["excluded"]}, "that is a decision, not a tag"),
    ({"tags": ["rct", "Pending"]}, "Pending: that is a decision, not a tag"),
    ({"tags": ["not excluded"]}, "not excluded: that is a decision, not a tag"),
    ({"tags": ["none", "rct"]}, '"none" takes all tags away, so pass it alone'),
    ({"tags": [f"tag {number}" for number in range(21)]}, "21 tags; an item has at most 20"),
    ({"tags": ["x" * 61]}, "has 61 characters; the limit is 60"),
    ({"decision": "excluded", "reason": "x" * 501}, "reason has 501 characters; the limit is 500"),
    ({"title": "Zinc"}, "pass decision, reason, tags or same_as with it"),
]


async def test_what_cannot_be_decided_is_rejected_alone() -> None:
    async with opened() as desk:
        items = [{"id": desk.ids[0], **item} for item, _ in UNDECIDABLE]
        answer, text = await desk.mark(*items, {"id": desk.ids[1], "decision": "included"})
        assert [one["index"] for one in answer["rejected"]] == [*range(len(items))]
        for rejected, (_, told) in zip(answer["rejected"], UNDECIDABLE, strict=True):
            assert told in rejected["reason"]
            assert told in text
        assert [one["index"] for one in answer["decided"]] == [len(items)]


async def test_a_note_warns_of_its_retracted_paper_and_is_neither_counted_nor_screened() -> None:
    paper = published("Zinc heals.", source="pubmed", title="Zinc", pmid="7", status="retracted")
    async with Client(fake_server(literature=FakeSearch((paper,)))) as client:
        desk = Desk(client)
        await desk.call("pubmed_search", query="zinc")
        note = (await desk.mark({"content": "I doubt the blinding of it.", "pmid": "7"}))[0]["added"][0]["id"]
        page, listed = await desk.call("list_evidence")
        marked, _ = await desk.call("list_evidence", status="retracted")
        undecided, _ = await desk.call("list_evidence", marked="undecided")
        _, read = await desk.call("get_evidence", ids=[note])
    assert page["statuses"] == {"retracted": 1}
    assert "Marked: 1 RETRACTED." in listed
    assert "note on PMID 7, a paper marked **RETRACTED**" in listed
    assert listed.count("**RETRACTED**") == 2
    assert [one["id"] for one in marked["items"]] == [one["id"] for one in undecided["items"]] == ["pubmed:7"]
    assert "## 1. I doubt" in read
    assert "The paper that this note is on is marked **RETRACTED**." in read


async def test_a_decision_that_is_not_given_changes_none_and_a_third_verdict_erases_none() -> None:
    async with opened() as desk:
        await desk.mark({"id": desk.ids[0], "decision": "included", "reason": "fits PICO"})
        for word in ("", "unchanged", "Unchanged", "none"):
            answer, _ = await desk.mark({"id": desk.ids[0], "decision": word, "tags": ["rct"]})
            assert answer["decided"][0]["decision"] == "included: fits PICO; tags: rct"
        for word in ("maybe", "unclear", "Unsure", "pending"):
            answer, text = await desk.mark({"id": desk.ids[0], "decision": word})
            assert answer["error"]["code"] == "invalid_input"
            assert "included, excluded, cited, undecided" in text
            assert 'tags=["maybe"]' in text
        assert await desk.decision(desk.ids[0]) == "included: fits PICO; tags: rct"


async def test_a_list_can_be_narrowed_to_a_mark() -> None:
    async with opened() as desk:
        await desk.mark({"id": desk.ids[0], "decision": "included", "tags": ["Rct"]})
        for marked, expected in {
            "included": desk.ids[:1],
            "include": desk.ids[:1],
            "RCT": desk.ids[:1],
            "decided": desk.ids[:1],
            "undecided": desk.ids[1:],
            "not decided": desk.ids[1:],
            "all": desk.ids,
        }.items():
            page, _ = await desk.call("list_evidence", marked=marked)
            assert [item["id"] for item in page["items"]] == expected
            assert page.get("matching", page["total"]) == len(expected)
        page, text = await desk.call("list_evidence", marked="cohort")
        assert page["items"] == []
        assert text.startswith("# 0 of 2 items of evidence")
        unknown = 'Note: No evidence here is marked "cohort". The marks here are: included, Rct.'
        assert unknown in text
        _, text = await desk.call("semantic_search", query="zinc and copper", marked="cohort")
        assert unknown in text
        _, text = await desk.call("list_evidence", marked="not excluded")
        assert "leaves something out, which marked cannot" in text
        found, _ = await desk.call("semantic_search", query="zinc and copper", marked="undecided")
        assert [item["id"] for item in found["evidence"]] == desk.ids[1:]


async def test_a_note_on_what_is_removed_stays_and_is_said_to() -> None:
    async with opened() as desk:
        note = {"content": "Ask the authors.", "url": "https://example.org/copper", "source": "user"}
        added, _ = await desk.mark(note)
        kept, session = added["added"][0]["id"], added["session_id"]
        answer, _ = await desk.call("clear_session", session_id=session, ids=[desk.ids[1]])
        assert f"Your notes on {desk.ids[1]} stay" in answer["next_step"]
        assert kept in [item["id"] for item in (await desk.call("list_evidence"))[0]["items"]]


async def test_no_list_of_ids_deletes_a_session() -> None:
    async with opened() as desk:
        session = (await desk.call("list_evidence"))[0]["session_id"]
        missing, nothing = "not in this session, so nothing was removed", "ids is empty, so nothing was deleted"
        for ids, told in (
            *(([], nothing), ("", nothing), ([" "], nothing), (["*", " "], missing)),
            *((["all"], f"all: {missing}"), (["pubmed:9"], f"pubmed:9: {missing}")),
            ([f"{desk.ids[0]}~2"], "texts cannot be removed alone: nothing was removed"),
        ):
            answer, text = await desk.call("clear_session", session_id=session, ids=ids)
            assert answer["error"]["code"] == "invalid_input"
            assert told in text
            assert (await desk.call("list_evidence"))[0]["total"] == 2


async def test_a_decision_that_replaces_another_says_so_and_keeps_it() -> None:
    async with opened() as desk:
        await desk.mark({"id": desk.ids[0], "decision": "excluded", "reason": "no controls", "tags": ["rct"]})
        answer, text = await desk.mark({"id": desk.ids[0], "decision": "included", "reason": "has controls"})
        (decided,) = answer["decided"]
        assert decided["decision"] == "included: has controls; tags: rct"
        assert re.fullmatch(r"excluded: no controls \(20..-..-..T..:..:..Z\)", decided["replaced"])
        assert f"is now included: has controls; tags: rct, no longer {decided['replaced']}" in text
        answer, _ = await desk.mark({"id": desk.ids[0], "decision": "included", "reason": "has controls"})
        assert "replaced" not in answer["decided"][0], "nothing was"
        session = answer["session_id"]
        await desk.call("clear_session", session_id=session, ids=desk.ids[:1])
        await desk.call("clear_session", session_id=session, undo=True)
        found, text = await desk.call("get_evidence", ids=desk.ids[:1])
        made = [line.partition(": ")[2] for line in found["evidence"][0]["details"] if line.startswith("Decided 20")]
        assert made == ["excluded: no controls", "included: has controls"]
        assert all(f"Z, a model through mcp 0.1.0: {one}\n" in text for one in made)
        exported, _ = await desk.call("export_evidence", format="jsonl")
        rows = [json.loads(line) for line in exported["text"].splitlines()]
        assert sorted(len(row.get("decisions", ())) for row in rows) == [0, 2]
        table, _ = await desk.call("export_evidence", format="table", fields=["id", "decisions"])
        assert ": excluded: no controls; 20" in table["text"]
