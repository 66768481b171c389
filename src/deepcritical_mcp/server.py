"""The MCP server: it offers the tools, checks their arguments and turns errors into messages for a model."""

from __future__ import annotations

import io
import logging
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, cast

import anyio
import anyio.to_thread
from mcp.server.apps import APP_MIME_TYPE, Apps, client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.resources import FunctionResource
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    Completion,
    CompletionArgument,
    GetPromptResult,
    InputRequiredResult,
    PromptReference,
    TextContent,
)
from mcp_types import Tool as MCPTool
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from deepcritical_mcp._version import __version__
from deepcritical_mcp.board import board_page, queue_meta, session_meta
from deepcritical_mcp.config import Settings, load_settings, variable_name
from deepcritical_mcp.context import Admission, AppContext
from deepcritical_mcp.errors import (
    ConfigurationError,
    DeadlineExceededError,
    DeepCriticalError,
    InvalidInputError,
    SessionError,
)
from deepcritical_mcp.models import EvidenceList, EvidencePage, SearchResult, SessionList
from deepcritical_mcp.models.screening import NOT_RANKED
from deepcritical_mcp.prompts_and_resources import (
    Completable,
    Known,
    complete,
    offered_prompts,
    prompt_arguments,
    register_resources,
    session_resources,
)
from deepcritical_mcp.sources import source_off
from deepcritical_mcp.text import all_without_invisible, clean_line, clean_text
from deepcritical_mcp.tools import PROFILES, TOOLS, Profile, ToolSpec, tools_chosen
from deepcritical_mcp.tools.answers.budget import fit
from deepcritical_mcp.tools.answers.structured import structured, wire_length
from deepcritical_mcp.tools.arguments.call_session import ToolContext, read_session, session_note
from deepcritical_mcp.tools.arguments.params import check_sizes, size_of, tool_hint
from deepcritical_mcp.tools.arguments.schemas import invalid_arguments, read_arguments
from deepcritical_mcp.tools.export_evidence import typed
from deepcritical_mcp.tools.offered import as_offered, instructions, without_tools
from deepcritical_mcp.tools.spec import BOARD_URI, input_schema, output_schemas
from deepcritical_mcp.transports.stdio import ClientMessages, RemainingAnswers

logger = logging.getLogger(__name__)

Request = ServerRequestContext[Any, Any]

_CONTEXT: ContextVar[ToolContext] = ContextVar("deepcritical_mcp_request")
"""The current request, for handlers that the SDK calls without it."""

LINKS_SINCE = "2025-06-18"
"""The first version of the protocol in which results may link to resources."""
MAX_PARAMS = {"prompts/get": 250_000, "initialize": 250_000, "tools/call": 250_000}
"""Characters of a request's parameters, the arguments of a tool apart."""
MAX_OTHER_PARAMS = 10_000
READ_AT_ONCE = 5_000
"""Characters of arguments that are read on the event loop; more are read in a thread."""


class DeepCriticalServer(MCPServer[AppContext]):
    """`MCPServer` with our handling of arguments, results and errors; for its arguments see `create_server`."""

    def __init__(
        self,
        app: AppContext,
        *,
        profile: Profile | None = None,
        middleware: Sequence[ServerMiddleware[Any]] = (),
        warm_up: bool = False,
        finds_titles: bool = True,
    ) -> None:
        @asynccontextmanager
        async def lifespan(_: MCPServer[AppContext]) -> AsyncGenerator[AppContext]:
            # With SSE entered once per connection, so it must not open or close anything.
            yield app

        off = app.settings.off
        chosen = PROFILES[profile] if profile else tools_chosen(app.settings.tools)
        self._off = {spec.name: why for spec in chosen if (why := source_off(spec.source, off))}
        self._specs = {spec.name: spec for spec in chosen if spec.name not in self._off}
        self._hidden = tuple(spec.name for spec in TOOLS if spec not in chosen)
        board = Apps()  # for hosts that support MCP Apps
        board.add_resource(
            FunctionResource.from_function(board_page, BOARD_URI, "board", "Evidence board", mime_type=APP_MIME_TYPE)
        )
        super().__init__(
            "deepcritical-mcp",
            title="DeepCritical",
            instructions=instructions(self._specs.keys() or self._off, finds_titles=finds_titles),
            version=__version__,
            lifespan=lifespan,
            log_level=app.settings.log_level,
            extensions=[board],
            middleware=[_bound_params, self._add_session_resources, *middleware, self._warm_up_once],
        )
        self.app = app
        self.answers_given: Mapping[int | str, str] = {}
        """What a client on stdio has been answered already, by the ids of its requests."""
        self._is_warm = not warm_up
        app.hidden_tools = self._hidden
        self._prompts = offered_prompts(self._hidden)
        for prompt in self._prompts:
            self.add_prompt(prompt)
        register_resources(self)
        self.completion()(self._complete)

    async def list_tools(self) -> list[MCPTool]:
        """All tools of the profile, in its order, which never changes."""
        schemas = output_schemas(tuple(self._specs.values()))
        return [
            MCPTool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.parameters,
                output_schema=schemas[tool.name],
                icons=self._specs[tool.name].icons,
                annotations=tool.annotations,
                _meta=self._specs[tool.name].meta,
            )
            for tool, _ in (_tool(spec, self._hidden) for spec in self._specs.values())
        ]

    async def _warm_up_once(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Middleware that loads the model after the first request that follows `initialize`."""
        result = await call_next(ctx)
        if not self._is_warm and ctx.method != "initialize":
            self._is_warm = True
            self.app.warm_up()
        return result

    async def _add_session_resources(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Middleware for what the SDK's own handlers cannot do: it lists the session's evidence among the resources,
        and gives each export its own type."""
        context = ToolContext(request_context=ctx, mcp_server=self)
        token = _CONTEXT.set(context)
        try:
            result = await call_next(ctx)
        finally:
            _CONTEXT.reset(token)
        if ctx.method == "initialize" and isinstance(result, dict):
            result["capabilities"]["resources"]["listChanged"] = True
        if ctx.method == "resources/list" and isinstance(result, dict):
            own = await session_resources(context)
            result["resources"] += [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in own]
        if ctx.method == "resources/read" and isinstance(result, dict):
            result["contents"] = typed(result["contents"])
        # Also what an earlier version kept: nothing that nobody sees leaves the server.
        return cast("HandlerResult", all_without_invisible(result))

    async def _complete(self, ref: Completable, argument: CompletionArgument, known: Known) -> Completion:
        if isinstance(ref, PromptReference):
            prompt_arguments(self._prompts, ref.name, [argument.name])
        return await complete(_CONTEXT.get(), ref, argument, known)

    async def run_stdio_async(self) -> None:
        """Serve one client over stdin and stdout until it disconnects."""
        server = getattr(self, "_lowlevel_server", None)
        if server is None:  # renamed in another version of the SDK: it reads messages itself then
            await super().run_stdio_async()
            return
        given, self.answers_given = self.answers_given, {}
        async with stdio_server(stdin=anyio.wrap_file(io.StringIO())) as (nothing, responses):
            await nothing.aclose()
            messages = ClientMessages(responses, max_length=self.app.settings.max_body)
            await server.run(messages, RemainingAnswers(responses, given), server.create_initialization_options())

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: ToolContext | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool within the deadline; every failure is an `isError` result that a model can act on.

        `app.admission` surrounds each call; a transport with limits raises a `DeepCriticalError` there to refuse it.
        """
        try:
            async with self.app.admission():
                with anyio.fail_after(self.app.settings.deadline):
                    result = await self._run(name, arguments, context)
        except TimeoutError:
            return _failure(name, self._late(name, self.app.settings.deadline), self._hidden)
        except DeepCriticalError as error:
            return _failure(name, error, self._hidden)
        if isinstance(result, InputRequiredResult):
            return result
        spec = self._specs[name]
        if spec.changes_session and context is not None:
            await context.notify_resources_changed()
            if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:  # which announce it in another way
                await context.session.send_resource_list_changed()
        meta: dict[str, Any] | None = None
        if (
            spec.on_board
            and context is not None
            and isinstance(result, SearchResult | EvidenceList | EvidencePage)
            and result.session_id  # not of several sessions
            and client_supports_apps(context)
        ):
            with suppress(SessionError):  # it has ended or is busy: the result goes without its map
                store = await read_session(context, result.session_id)
                if not isinstance(result, EvidencePage):
                    meta = dict(await session_meta(store, result.evidence))
                elif result.screening != NOT_RANKED:
                    queues = (await self.app.services()).screening
                    meta = dict(await queue_meta(store, queues, [one.id for one in result.items]))
        shown = await anyio.to_thread.run_sync(self._success, spec, result, meta)
        takes_links = context is not None and (context.protocol_version or "") >= LINKS_SINCE  # versions are dates
        if takes_links and spec.link and (link := spec.link(result)):
            shown.content.append(link)
        return shown

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: ToolContext | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """A prompt's messages.

        Raises:
            MCPError: -32602 if the prompt or an argument is unknown (lists the known ones) or arguments are missing
                (names them).
        """
        required = prompt_arguments(self._prompts, name, arguments or {})
        given = {key for key, value in (arguments or {}).items() if str(value).strip()}
        missing = [argument for argument, is_required in required.items() if is_required and argument not in given]
        if missing:
            raise MCPError(INVALID_PARAMS, f"The prompt {name} requires {', '.join(missing)}.")
        return await super().get_prompt(name, arguments, context)

    async def _run(self, name: str, arguments: dict[str, Any], context: ToolContext | None) -> BaseModel:
        if why := self._off.get(name):
            searches = ", ".join(one for one in self._specs if one.endswith("_search"))
            offered = f" There are {searches}." if searches else ""
            told = f'{name} is switched off on this server: {variable_name("off")} names "{why}".{offered}'
            raise ConfigurationError(told)
        if name in self._hidden:
            raise ConfigurationError(f"{name} is not offered by this server, which has {', '.join(self._specs)}.")
        if name not in self._specs:
            raise InvalidInputError(f'Unknown tool "{name[:80]}". {tool_hint(name, self._specs)}')
        tool, measures = _tool(self._specs[name], self._hidden)
        check_sizes(arguments, measures)
        deletes = bool(tool.annotations and tool.annotations.destructive_hint)
        read = partial(read_arguments, name, arguments, measures, literal=deletes)
        is_long = size_of(arguments, READ_AT_ONCE) > READ_AT_ONCE
        values, notes = await anyio.to_thread.run_sync(read) if is_long else read()
        try:
            result: BaseModel = await tool.run(values, context or Context(mcp_server=self))
        except ToolError as error:
            translated = self._translated(name, error, tool.parameters)
            for note in notes:
                translated.add_note(note)
            raise translated from error
        # With notes on its arguments, and how long its session is kept.
        fields, warnings, kept = type(result).model_fields, getattr(result, "warnings", ()), ""
        if "next_step" in fields and context is not None and not isinstance(result, SessionList):
            kept = await session_note(context, getattr(result, "session_id", ""))
        step = " ".join(filter(None, (getattr(result, "next_step", ""), "" if kept in warnings else kept)))
        told = {"warnings": (*notes, *warnings), "next_step": step}
        return result.model_copy(update={name: text for name, text in told.items() if name in fields})

    def _late(self, name: str, deadline: float) -> DeadlineExceededError:
        within = f" within {deadline:g} seconds" if deadline else " in time"
        return DeadlineExceededError(f"The call did not finish{within}. {self._specs[name].if_late}")

    def _translated(self, name: str, error: ToolError, schema: dict[str, Any]) -> DeepCriticalError:
        cause = error.__cause__
        while isinstance(cause, BaseExceptionGroup):  # as task groups raise them
            cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
        if isinstance(cause, DeepCriticalError):
            return cause
        if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
            return invalid_arguments(cause, schema)
        if isinstance(cause, TimeoutError):
            return self._late(name, 0)
        logger.error("%s failed unexpectedly", name, exc_info=cause or error)
        return DeepCriticalError(
            "Internal error; the server log has details. Nothing kept in the session is lost. Try other "
            "arguments or another tool."
        )

    def _success(self, spec: ToolSpec, result: BaseModel, meta: dict[str, Any] | None) -> CallToolResult:
        limit = self.app.settings.max_result_chars
        saves_room = bool({"get_evidence", "semantic_search"} & self._specs.keys())
        cut = fit(result, limit, lambda one: max(len(spec.render(one)), wire_length(one)), saves_room=saves_room)
        cut = as_offered(cut, self._hidden) if self._hidden else cut
        text = TextContent(type="text", text=spec.render(cut))
        return CallToolResult(content=[text], structured_content=structured(cut), _meta=meta)


def create_server(
    settings: Settings | None = None,
    *,
    profile: Profile | None = None,
    admission: Admission = nullcontext,
    middleware: Sequence[ServerMiddleware[Any]] = (),
    warm_up: bool = False,
    finds_titles: bool = True,
) -> DeepCriticalServer:
    """A server with a context of its own; close `server.app` when done.

    Args:
        settings: read from the environment if not given.
        profile: "research" for all tools, "core" for five, "search-fetch" for the two that some hosts require; if not
            given, as the settings say.
        admission: surrounds each tool call; raises a `DeepCriticalError` to refuse it.
        middleware: SDK middleware, run inside our own.
        warm_up: load the model once the client is connected, but not before `initialize` is answered.
        finds_titles: whether it will be known who calls, so that sessions are found by their titles.

    ConfigurationError if a setting in the environment is invalid.
    """
    app = AppContext(settings or load_settings(), admission=admission)
    return DeepCriticalServer(app, profile=profile, middleware=middleware, warm_up=warm_up, finds_titles=finds_titles)


async def _bound_params(ctx: Request, call_next: CallNext) -> HandlerResult:
    """Middleware that measures what a request holds before anything else looks at it (a tool's arguments are measured
    by the tool's schema), and empties a call's arguments after it, because the SDK keeps a connection's last message
    until the next."""
    params = ctx.params or {}
    if ctx.method == "tools/call":
        params = {name: value for name, value in params.items() if name != "arguments"}
    most = MAX_PARAMS.get(ctx.method, MAX_OTHER_PARAMS)
    if size_of(params, most) > most:
        told = f"The parameters are too long or nested too deeply: at most {most:,} characters."
        raise MCPError(INVALID_PARAMS, told)
    result: HandlerResult = None
    try:
        result = await call_next(ctx)
    finally:
        arguments = (ctx.params or {}).get("arguments")
        if isinstance(arguments, dict) and not (isinstance(result, dict) and "requestState" in result):
            arguments.clear()  # the state of an unfinished request is bound to them
    return result


@lru_cache(maxsize=64)  # on first use, as generating a schema takes time; for all servers of a process
def _tool(spec: ToolSpec, hidden: tuple[str, ...]) -> tuple[Tool, dict[str, Any]]:
    """The tool as it is offered, and its input schema with the length of each text."""
    tool = Tool.from_function(
        spec.run,
        title=spec.title,
        description=without_tools(" ".join((spec.run.__doc__ or "").split()), hidden),
        annotations=spec.annotations,
        structured_output=False,
    )
    measures = input_schema(tool.parameters, with_lengths=True)
    tool.parameters = input_schema(measures)
    return tool, measures


def _failure(name: str, error: DeepCriticalError, hidden: Sequence[str]) -> CallToolResult:
    message = clean_text(" ".join([error.message, *getattr(error, "__notes__", ())]))
    message = without_tools(message, [tool for tool in hidden if tool != name]) or message
    details = {name: getattr(error, name) for name in ("code", "retryable", "retry_after")}
    wait = error.retryable and error.retry_after and " again in " not in message
    retry = f" Retry after {math.ceil(error.retry_after)} s." if wait else ""
    return CallToolResult(
        content=[TextContent(type="text", text=f"{clean_line(name[:80])} failed ({error.code}): {message}{retry}")],
        structured_content={"error": {**details, "message": message, "details": dict(error.details)}},
        is_error=True,
    )
