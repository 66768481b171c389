"""Screening in the best order: the queue, what it tells, and many marked at once, through a client."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from mcp.client import Client
from mcp_types import Implementation
from numpy.typing import NDArray

from deepcritical_mcp.board import BOARD_KEY, META_KEY
from deepcritical_mcp.evidence.store import EvidenceStore
from tests.fakes import fake_server
from tests.wire import wire

SUBJECTS = {"zinc": "Zinc closed the wounds of adults", "copper": "Copper grew in the bones of rats"}


def studies(count: int) -> list[dict[str, object]]:
    """Studies of the two subjects in turn."""
    return [
        {
            "title": f"{one.capitalize()} study {at}",
            "content": f"{text} in {at * 7 + 3} cases.",
            "authors": ["Ruiz A"],
            "date": str(1970 + at),
        }
        for at in range(count // 2)
        for one, text in SUBJECTS.items()
    ]


class Screening:
    """A client with a session of studies; `ids` are theirs by subject."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.ids: dict[str, list[str]] = {}

    async def call(self, tool: str, meta: Any = None, **arguments: object) -> tuple[dict[str, Any], str]:
        answer = await self._client.call_tool(tool, arguments, meta=meta)
        return wire(answer), getattr(answer.content[0], "text", "")

    async def page(self, **arguments: object) -> dict[str, Any]:
        return (await self.call("list_evidence", sort="likely", marked="undecided", **arguments))[0]


@asynccontextmanager
async def opened(count: int = 40, *more: dict[str, object]) -> AsyncGenerator[Screening]:
    async with Client(fake_server(), client_info=Implementation(name="desk: one", version="1.2")) as client:
        desk = Screening(client)
        items = [*studies(count), *more]
        answer, _ = await desk.call("add_evidence", items=items, session_id="new: zinc for wounds")
        added = [row["id"] for row in answer["added"]]
        desk.ids = {one: added[at:count:2] for at, one in enumerate(SUBJECTS)}
        yield desk


async def test_before_anything_is_included_the_records_most_like_question_and_criteria_come_first() -> None:
    criteria: dict[str, object] = {"content": "Include trials of zinc in adults.", "tags": ["Criteria"]}
    async with opened(40, criteria) as desk:
        page = await desk.page(max_results=10)
        assert page["screening"]["basis"] == "criteria"
        assert page["screening"]["question"] == "zinc for wounds"
        assert page["screening"]["criteria"] == ["Include trials of zinc in adults."]
        assert "stop" not in page["screening"]
        assert {row["id"] for row in page["items"]} <= {*desk.ids["zinc"]}
        await desk.call("add_evidence", ids=desk.ids["zinc"][:1], decision="excluded")
        assert (await desk.page())["screening"]["basis"] == "criteria"


async def test_decisions_order_the_rest_with_the_words_that_speak_and_nothing_is_hidden() -> None:
    async with opened() as desk:
        await desk.call("add_evidence", ids=desk.ids["copper"][:3], decision="included")
        await desk.call("add_evidence", ids=desk.ids["zinc"][:3], decision="excluded")
        page, text = await desk.call("list_evidence", sort="likely", marked="undecided", max_results=9)
        assert page["screening"]["basis"] == "decisions"
        assert (page["screening"]["decided"], page["screening"]["relevant"]) == (6, 3)
        assert {row["id"] for row in page["items"]} <= {*desk.ids["copper"]}
        assert all("copper" in row["why"].partition("; against")[0] for row in page["items"])
        assert "Question: zinc for wounds" in text
        assert "6 decided, 3 of them relevant; 34 undecided" in text
        seen, offset = list[str](), 0
        while offset >= 0:
            page = await desk.page(max_results=7, offset=offset)
            seen += [row["id"] for row in page["items"]]
            offset = page.get("next_offset", -1)
        assert len(seen) == len({*seen}) == 34
        assert [row["id"] for row in (await desk.page(max_results=7))["items"]] == seen[:7]
        everything, _ = await desk.call("list_evidence", sort="likely", max_results=100)
        assert [row["id"] for row in everything["items"]][:34] == seen
        assert len(everything["items"]) == 40


async def test_the_stop_rule_tells_its_assumption_and_never_that_screening_is_done() -> None:
    async with opened(100) as desk:
        ids = desk.ids
        await desk.call("add_evidence", ids=[*ids["copper"][:4], *ids["zinc"][:5]], decision="excluded")
        await desk.call("add_evidence", ids=ids["zinc"][5:7], decision="included")
        stop = (await desk.page())["screening"]["stop"]
        assert not stop["rule_met"]
        assert "missing" not in stop
        await desk.call("add_evidence", ids=ids["zinc"][:5], decision="included")
        for start in range(4, 44, 10):
            await desk.call("add_evidence", ids=ids["copper"][start : start + 10], decision="excluded")
        await desk.call("add_evidence", ids=ids["zinc"][7:], decision="included")
        page, text = await desk.call("list_evidence", sort="likely", marked="undecided")
        stop = page["screening"]["stop"]
        assert stop["recall"] >= 0.95
        assert "assumes" in stop["says"]
        assert stop["says"] in text
        assert "done" not in text.lower().replace("abandoned", "")


async def test_many_ids_are_marked_at_once_and_unknown_ones_are_named() -> None:
    async with opened() as desk:
        some = desk.ids["zinc"][:5]
        ids = [*some, "pubmed:1", some[0]]
        answer, text = await desk.call("add_evidence", ids=ids, decision="exclude", reason="rats", tags=["round 1"])
        assert [row["decision"] for row in answer["decided"]] == ["excluded: rats; tags: round 1"] * 5
        assert answer["rejected"][0]["reason"].startswith("pubmed:1 is not in this session")
        assert "pubmed:1 is not in this session" in text
        for wrong in ({"decision": "excluded"}, {"ids": some}):
            answer, _ = await desk.call("add_evidence", **wrong)
            assert len(answer["rejected"]) == 1


async def test_a_decision_keeps_who_made_it_and_through_which_client() -> None:
    async with opened() as desk:
        one, other = desk.ids["zinc"][:2]
        await desk.call("add_evidence", ids=[one], decision="included")
        await desk.call("add_evidence", {META_KEY: BOARD_KEY}, items=[{"id": other, "decision": "excluded"}])
        await desk.call("add_evidence", {META_KEY: "guessed"}, items=[{"id": other, "decision": "included"}])
        _, text = await desk.call("get_evidence", ids=[one, other])
        assert "a model through desk one 1.2: included" in text
        assert "a person at the board through desk one 1.2: excluded" in text
        assert "a model through desk one 1.2: included" in text.partition("a person")[2]
        for form, fields in (("jsonl", []), ("markdown", []), ("table", ["decisions"])):
            exported, _ = await desk.call("export_evidence", format=form, ids=[one], fields=fields)
            assert "a model through desk one 1.2: included" in exported["text"]


async def test_decisions_count_in_the_order_in_which_they_were_made_whatever_is_added_to_them() -> None:
    async with opened() as desk:
        zinc, copper = desk.ids["zinc"], desk.ids["copper"]
        both = [{"ids": copper[:5], "decision": "excluded"}, {"ids": zinc[:3], "decision": "included"}]
        await desk.call("add_evidence", items=both)
        assert (await desk.page())["screening"]["since_relevant"] == 0
        await desk.call("add_evidence", ids=copper[:5], reason="rats", tags=["second look"])
        await desk.call("add_evidence", ids=zinc[:1], decision="cited")
        assert (await desk.page())["screening"]["since_relevant"] == 0
        twice = [{"ids": zinc[5:7], "decision": "included"}, {"ids": zinc[6:7], "decision": "excluded"}]
        answer, _ = await desk.call("add_evidence", items=twice)
        assert [row["decision"] for row in answer["decided"]] == ["included", "included", "excluded"]
        assert (await desk.page())["screening"]["since_relevant"] == 0  # of one call nobody knows the order
        await desk.call("add_evidence", ids=copper[5:7], decision="excluded")
        assert (await desk.page())["screening"]["since_relevant"] == 2
        await desk.call("add_evidence", items=[{"id": copper[6], "same_as": copper[5]}])
        await desk.call("add_evidence", ids=zinc[10:11], tags=["tagged later"])
        await desk.call("add_evidence", items=[{"id": zinc[10], "same_as": zinc[0]}])
        state = (await desk.page())["screening"]
        assert (state["decided"], state["relevant"], state["since_relevant"]) == (11, 4, 1)


async def test_pages_fit_together_while_vectors_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    meanings = EvidenceStore.meanings
    some = 0

    async def arriving(store: EvidenceStore) -> Mapping[str, NDArray[np.float32]]:
        nonlocal some
        some += 10
        return dict([*(await meanings(store)).items()][:some])

    async with opened() as desk:
        await desk.call("semantic_search", query="zinc")  # embeds all
        monkeypatch.setattr(EvidenceStore, "meanings", arriving)
        await desk.call("add_evidence", ids=[desk.ids["zinc"][0], desk.ids["copper"][0]], decision="included")
        await desk.call("add_evidence", ids=desk.ids["copper"][1:2], decision="excluded")
        pages = [(await desk.page(max_results=10, offset=at)) for at in range(0, 37, 10)]
        seen = [row["id"] for page in pages for row in page["items"]]
        assert len(seen) == len({*seen}) == 37
        assert "30 records were ranked by words only" in " ".join(pages[-1]["warnings"])
        await desk.call("add_evidence", ids=desk.ids["copper"][2:3], decision="excluded")
        assert not any("words only" in told for told in (await desk.page()).get("warnings", ()))
