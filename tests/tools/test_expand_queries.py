"""What a client gets: advice, seeds, and queries by its own model, which is off by default, asked in both protocol
eras, and never able to fail the call."""

from collections.abc import Sequence
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import CreateMessageRequestParams, CreateMessageResult, ErrorData, TextContent

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import Concept, Expansion, Publication, SeedTerm
from deepcritical_mcp.sources.base import Hits
from deepcritical_mcp.tools.answers.render import to_markdown
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.wire import called

GOOD = (
    '[{"query": "biguanide neuroprotection in dementia", "strategy": "specific", '
    '"reformulation": "semantic", "rationale": "a mechanism"}]'
)


class ClientModel:
    """A client's model that answers what it is told, and counts how often it was asked."""

    def __init__(self, answer: str | ErrorData) -> None:
        self.answer = answer
        self.asked: list[CreateMessageRequestParams] = []

    async def __call__(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        self.asked.append(params)
        if isinstance(self.answer, ErrorData):
            return self.answer
        return CreateMessageResult(role="assistant", model="test", content=TextContent(type="text", text=self.answer))


REFUSAL = ErrorData(code=-1, message="the user said no")


CASES = (
    (GOOD, "on", 1, ""),
    (GOOD, "off", 0, ""),
    (None, "on", 0, ""),  # a client that cannot sample
    ("Sure! Here are some ideas for you.", "on", 1, "not in the requested format"),
)


@pytest.mark.parametrize(
    ("mode", "answer", "sampling", "asked", "warning"),
    [*((mode, *case) for mode in ("legacy", "auto") for case in CASES), ("legacy", REFUSAL, "on", 1, "")],
)
async def test_the_client_s_model_writes_queries_where_it_may_and_never_fails_the_call(
    mode: str, answer: str | ErrorData | None, sampling: str, asked: int, warning: str
) -> None:
    model = ClientModel(answer or "")
    server = fake_server(settings=Settings.model_validate({"sampling": sampling}))
    async with Client(server, mode=mode, sampling_callback=model if answer else None) as client:
        found = await called(client, "expand_queries", topic="metformin alzheimer")
    assert ("sampling" in [query["source"] for query in found["queries"]]) == (answer is GOOD and asked == 1)
    assert len(model.asked) == asked
    assert warning in " ".join(found["warnings"])


async def test_only_what_adds_papers_is_advised_as_a_variant() -> None:
    async with Client(fake_server()) as client:
        found = await called(client, "expand_queries", topic="topiramate for migraine in adults")
    step = found["next_step"]
    assert "the broader ones as variants" in step
    assert "a specific one only narrows, so use it alone or not at all" in step
    assert {one["strategy"] for one in found["queries"]} == {"direct", "broader", "specific"}


async def test_the_text_shows_the_short_form_of_a_block_and_what_the_seeds_share() -> None:
    concept = Concept(
        term="gout", pubmed_block="(a OR b OR c)", short_block="(a OR b)", short_leaves_out="1 of 3 terms"
    )
    text = to_markdown(
        Expansion(
            session_id="rs_1",
            queries=(),
            concepts=(concept,),
            seed_terms=(SeedTerm(pubmed="cephalalgia[tiab]", seeds=3, missed=2),),
            seeds_missed=("12", "13"),
        )
    )
    assert "short form, without 1 of 3 terms: (a OR b)" in text
    assert "What the seeds share and the direct query lacks, which misses PMID 12, 13" in text
    assert "cephalalgia[tiab]: 3 seeds, 2 of those missed" in text
    alone = to_markdown(Expansion(session_id="rs_1", queries=(), concepts=(), seeds_missed=("12",)))
    assert "lacks, which misses PMID 12\n- nothing else" in alone


class SeedVocabulary:
    """A vocabulary that knows nothing but which seeds it was asked for."""

    def __init__(self) -> None:
        self.seeds: list[str] = []

    async def corrected(self, text: str) -> str:
        return ""

    async def nothing(self, *_: object) -> Any:
        return {}

    mapped = by_uid = descriptors = texts = nothing

    async def members(self, action: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (), ()

    async def hits(self, query: str, *, as_read: bool = False) -> Hits:
        return Hits(count=100)

    async def among(self, query: str, pmids: Sequence[str]) -> frozenset[str]:
        self.seeds = [*pmids]
        return frozenset()

    async def publications(self, pmids: Sequence[str]) -> tuple[Publication, ...]:
        return ()


async def test_seeds_are_pmids_or_what_is_marked_in_the_session() -> None:
    vocabulary = SeedVocabulary()
    papers = tuple(
        published(f"Gout {pmid}.", source="pubmed", title=f"Gout {pmid}", pmid=pmid) for pmid in ("31", "32", "33")
    )
    async with Client(fake_server(literature=FakeSearch(papers), vocabulary=vocabulary)) as client:
        session = (await called(client, "pubmed_search", query="gout", session_id="new"))["session_id"]
        marks = [{"id": f"pubmed:{pmid}", "decision": "included"} for pmid in ("31", "33")]
        await called(client, "add_evidence", items=marks, session_id=session)
        found = await called(client, "expand_queries", topic="gout", seeds=["marked:included"], session_id=session)
        assert sorted(vocabulary.seeds) == sorted(found["seeds_missed"]) == ["31", "33"]
        await called(client, "expand_queries", topic="gout", seeds=["PMID: 41", "42"], session_id=session)
        assert vocabulary.seeds == ["41", "42"]
        for seed, said in (
            ("aspirin trial", "is not a PMID"),
            ("marked:excluded", 'Nothing with a PMID is marked "excluded"'),
        ):
            refused = await client.call_tool(
                "expand_queries", {"topic": "gout", "seeds": [seed], "session_id": session}
            )
            assert refused.is_error
            assert said in str(refused.content)


async def test_a_strategy_of_another_database_is_named_in_the_answer() -> None:
    async with Client(fake_server()) as client:
        refused = await client.call_tool(
            "expand_queries", {"topic": "exp Gout/ and random*.mp. and 1 and 2 adj3 flare"}
        )
    assert refused.is_error
    assert "in the syntax of Ovid" in str(refused.content)
