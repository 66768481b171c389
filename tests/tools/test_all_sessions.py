"""One question to all of one's sessions: each passage names its own."""

from __future__ import annotations

from pathlib import Path

from deepcritical_mcp.models import Citation, Evidence, SearchResult
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.answers.structured import structured
from tests.tools.test_session_titles import client_of
from tests.wire import called, text_of

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
        found = await called(
            client, "semantic_search", query="do statins help the heart or the kidney?", session_id="all"
        )
        of_statins = [one for one in found["evidence"] if "Statins" in one["content"]]
        assert {one["session_id"] for one in of_statins} == {ids["heart"], ids["kidney"]}
        assert found["evidence"][0]["content"].startswith("Statins")
        assert found["total_found"] == 5
        assert [one["title"] for one in (await called(client, "list_sessions"))["sessions"]] == order
        assert (await called(client, "list_evidence"))["session_id"] == ids["gardens"]  # the current one stays
        shown = text_of(await client.call_tool("semantic_search", {"query": "statins kidney", "session_id": "all"}))
        assert f"in session {ids['kidney']}" in shown
        assert "of your sessions' 5 items of evidence for: statins kidney" in shown.split("\n")[0]
        read = await called(client, "get_evidence", ids=[of_statins[0]["id"]], session_id=of_statins[0]["session_id"])
        assert read["evidence"][0]["content"] == of_statins[0]["content"]


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


PAPER = """# Pacing in a made-up clinic

## 1 Methods

We asked invented people to rest.

## Outcomes at 12 months

Of 80 people 46 were better with pacing, against 31 with graded activity. {filler}

## Effect of 20 µg

Nobody took more than that. {filler}
"""


async def test_a_text_of_ones_own_is_read_like_a_paper_and_headings_keep_their_numbers(tmp_path: Path):
    paper = PAPER.format(filler="Nothing else was seen in the invented clinic. " * 12)
    async with client_of(tmp_path) as client:
        await called(client, "add_evidence", items=[{"content": paper, "title": "Pacing"}])
        id = (await called(client, "list_evidence"))["items"][0]["id"]
        outline = await called(client, "get_full_text", id=id)
        titles = [one.partition(" ")[2].rpartition(" (")[0] for one in map(str.strip, outline["outline"])]
        assert titles == ["Methods", "Outcomes at 12 months", "Effect of 20 µg"]
        answer = await called(client, "get_full_text", id=id, question="how many were better with pacing?")
        assert "46 were better" in answer["passages"][0]["text"]
        page = await client.call_tool("semantic_search", {"query": "better with pacing", "max_results": 1})
        assert "The next best passages: offset=1." in text_of(page)
        beyond = await client.call_tool("semantic_search", {"query": "better with pacing", "offset": 900})
        assert "offset=900 is beyond the last passage." in text_of(beyond)


async def test_without_a_session_it_says_how_to_open_one(tmp_path: Path):
    async with client_of(tmp_path) as client:
        found = await called(client, "semantic_search", query="statins", session_id="all")
    assert "There is no session yet" in found["warnings"][0]
    assert found["total_found"] == 0
