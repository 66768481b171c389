"""Every call over HTTP seen from outside: one line in the log and its place in the metrics."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.transports.http.callers import current_caller
from deepcritical_mcp.transports.http.metrics import Metrics

logger = logging.getLogger("deepcritical_mcp.calls")

_TOPIC = ("query", "topic")


class CallObserver:
    """SDK middleware, inside OpenTelemetry's: logs and counts tool calls.

    The text of queries is left out unless `log_queries`: it may be about a patient.
    """

    def __init__(self, metrics: Metrics, tools: Collection[str], *, log_queries: bool) -> None:
        self._metrics = metrics
        self._tools = frozenset(tools)
        self._log_queries = log_queries

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        outcome, result, begun = "cancelled", None, time.perf_counter()
        try:
            result = await call_next(ctx)
            outcome = _outcome(result)
        except MCPError as error:
            outcome = f"rpc_{error.error.code}"
            raise
        except anyio.get_cancelled_exc_class():
            raise
        except Exception:
            outcome = "rpc_error"
            raise
        finally:
            self._report(ctx, outcome, result, time.perf_counter() - begun)
        return result

    def _report(self, ctx: ServerRequestContext[Any, Any], outcome: str, result: HandlerResult, seconds: float) -> None:
        name = str((ctx.params or {}).get("name", ""))
        tool = name if name in self._tools else "unknown"
        self._metrics.call(tool, outcome, seconds)
        for provider, did in _providers(result):
            self._metrics.provider(provider, did)
        caller = current_caller()
        facts = {
            "tool": tool,
            "outcome": outcome,
            "ms": round(seconds * 1_000),
            "request_id": caller.request_id if caller else "",
            "caller": caller.name if caller else "",
            "path": caller.path if caller else "",
            "protocol": ctx.protocol_version,
            **({"query": _query(ctx.params)} if self._log_queries else {}),
        }
        logger.info("call", extra=facts)


class ResponseCounter:
    """ASGI middleware that counts responses by path and status; unknown paths are counted together."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = str(scope["path"])
                self._metrics.response(path if path in self._paths else "other", message["status"])
            await send(message)

        await self._app(scope, receive, counted)


def _structured(result: HandlerResult) -> Mapping[str, Any]:
    if not isinstance(result, dict):
        return {}
    content = result.get("structuredContent")
    return cast("Mapping[str, Any]", content) if isinstance(content, dict) else {}


def _outcome(result: HandlerResult) -> str:
    error: Mapping[str, Any] | None = _structured(result).get("error")
    return str(error["code"]) if error else "ok"


def _providers(result: HandlerResult) -> Iterator[tuple[str, str]]:
    content = _structured(result)
    for report in content.get("providers", []):
        yield report["name"], report["status"]
    details: Mapping[str, Any] = content.get("error", {}).get("details", {})
    for cause in [details, *details.get("causes", [])]:
        if cause.get("provider"):
            yield cause["provider"], "failed"


def _query(params: Mapping[str, Any] | None) -> str:
    arguments: Mapping[str, object] = (params or {}).get("arguments") or {}
    return next((str(arguments[name])[:500] for name in _TOPIC if name in arguments), "")
