"""Queries by the client's own model: off by default, asked in both protocol eras, never able to fail the call."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client
from mcp_types import CreateMessageRequestParams, CreateMessageResult, ErrorData, TextContent

from deepcritical_mcp.config import Settings
from tests.fakes import fake_server

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


async def sources(model: ClientModel | None, *, mode: str, sampling: str = "on") -> tuple[list[str], list[str]]:
    server = fake_server(settings=Settings.model_validate({"sampling": sampling}))
    async with Client(server, mode=mode, sampling_callback=model) as client:
        result = await client.call_tool("expand_queries", {"topic": "metformin alzheimer"})
    assert not result.is_error
    assert result.structured_content
    return [query["source"] for query in result.structured_content["queries"]], result.structured_content["warnings"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_client_s_model_writes_queries_where_it_may(mode: str) -> None:
    model = ClientModel(GOOD)
    assert "sampling" in (await sources(model, mode=mode))[0]
    assert len(model.asked) == 1


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_is_not_asked_unless_the_user_switched_it_on(mode: str) -> None:
    model = ClientModel(GOOD)
    assert "sampling" not in (await sources(model, mode=mode, sampling="off"))[0]
    assert model.asked == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_that_cannot_sample_gets_the_server_s_queries(mode: str) -> None:
    assert set((await sources(None, mode=mode))[0]) == {"rules"}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_answer_in_another_form_is_not_used_and_that_is_said(mode: str) -> None:
    found, warnings = await sources(ClientModel("Sure! Here are some ideas for you."), mode=mode)
    assert set(found) == {"rules"}
    assert any("not in the requested format" in warning for warning in warnings)


async def test_a_refusal_by_the_user_leaves_the_server_s_queries() -> None:
    found, _ = await sources(ClientModel(ErrorData(code=-1, message="the user said no")), mode="legacy")
    assert set(found) == {"rules"}
