"""Asking the client's own model for queries, where the client offers sampling and the user switched it on."""

from __future__ import annotations

import logging

import anyio
from mcp.server.mcpserver import Sample
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CreateMessageRequest, CreateMessageResult, SamplingMessage, TextContent
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from deepcritical_mcp.deadline import CLIENT_MODEL, seconds_for
from deepcritical_mcp.tools.call_session import ToolContext, application

logger = logging.getLogger(__name__)


async def ask_client_model(ctx: ToolContext, topic: str, description: str, count: int) -> Sample | str:
    """What the client's model answers; "" where it is not asked or does not answer.

    Under 2026-07-28 the SDK carries the question in the call's own result. On the handshake versions it is a request
    to the client during the call, whose refusal must not fail the call.
    """
    capabilities = ctx.client_capabilities
    if application(ctx).settings.sampling == "off" or capabilities is None or capabilities.sampling is None:
        return ""
    services = await application(ctx).services()
    request = services.expander.sampling_request(topic, description=description, count=count)
    message = SamplingMessage(role="user", content=TextContent(type="text", text=request.text))
    question = Sample([message], max_tokens=request.max_tokens, system_prompt=request.system_prompt)
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return question
    with anyio.move_on_after(seconds_for(CLIENT_MODEL, most=application(ctx).settings.deadline)):
        try:
            answer = await ctx.session.send_request(
                CreateMessageRequest(params=question.params),
                CreateMessageResult,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
            return text_of(answer)
        except MCPError as error:
            logger.info("the client's model was not asked: %s", error)
    return ""


def text_of(reply: CreateMessageResult | str) -> str:
    """The reply's text; "" when it is not text."""
    if isinstance(reply, str):
        return reply
    return reply.content.text if isinstance(reply.content, TextContent) else ""
