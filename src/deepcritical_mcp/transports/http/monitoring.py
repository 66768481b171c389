"""What operators see: health and readiness, Prometheus metrics, and one log line per tool call."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, cast

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp._version import __version__
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.transports.http.caller_context import current_caller

logger = logging.getLogger("deepcritical_mcp.calls")

READINESS_TIMEOUT = 3.0  # seconds for each check
_LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60)
_QUERY_ARGUMENTS = ("query", "topic")


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._calls = Counter(
            "deepcritical_calls", "Tool calls by outcome: ok, or the error's code.", ["tool", "outcome"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "deepcritical_call_seconds", "How long tool calls took.", ["tool"], buckets=_LATENCY_BUCKETS,
            registry=self._registry,
        )  # fmt: skip
        self._providers = Counter(
            "deepcritical_provider_outcomes", "Outcome of each provider in a search: ok, failed or skipped.",
            ["provider", "outcome"], registry=self._registry,
        )  # fmt: skip
        self._responses = Counter(
            "deepcritical_http_responses", "HTTP responses by status.", ["path", "status"], registry=self._registry
        )

    def call(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a finished tool call."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def provider(self, name: str, outcome: str) -> None:
        """Count a provider's outcome in a call."""
        self._providers.labels(name, outcome).inc()

    def response(self, path: str, status: int) -> None:
        """Count an HTTP response."""
        self._responses.labels(path, str(status)).inc()

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add the gauge `deepcritical_<name>`, which shows the current `value()`."""
        Gauge(f"deepcritical_{name}", description, registry=self._registry).set_function(value)

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class Health:
    """The endpoints `/health`, `/ready` and `/metrics`."""

    def __init__(self, app: AppContext, metrics: Metrics, closing: Callable[[], bool]) -> None:
        self._app = app
        self._metrics = metrics
        self._closing = closing

    async def health(self, _: Request) -> Response:
        """200 as long as the process responds."""
        return JSONResponse({"status": "ok", "version": __version__})

    async def ready(self, _: Request) -> Response:
        """200 if the model is loaded and the store can be reached; else 503 with the reason."""
        checks = {"model": "ok", "store": "ok"}
        if self._closing():
            return JSONResponse({"status": "closing"}, status_code=503, headers={"retry-after": "10"})
        for name in checks:
            checks[name] = await self._check(name)
        is_ready = all(state == "ok" for state in checks.values())
        headers = {} if is_ready else {"retry-after": "5"}
        body = {"status": "ok" if is_ready else "not ready", **checks}
        return JSONResponse(body, status_code=200 if is_ready else 503, headers=headers)

    async def metrics(self, _: Request) -> Response:
        """The metrics in Prometheus' text format."""
        return Response(self._metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    async def _check(self, name: str) -> str:
        try:
            with anyio.fail_after(READINESS_TIMEOUT):
                services = await self._app.services()
                if name == "model":
                    await services.embedder.embed_query("ready?")
                else:
                    await services.sessions.check()
        except TimeoutError:
            return "loading" if name == "model" else "no answer"
        except DeepCriticalError as error:
            return error.code
        return "ok"


class CallObserver:
    """SDK middleware, inside OpenTelemetry's, that logs and counts tool calls.

    Queries are logged only with `log_queries`: they may be about a patient.
    """

    def __init__(self, metrics: Metrics, tools: Collection[str], *, log_queries: bool) -> None:
        self._metrics = metrics
        self._tools = frozenset(tools)
        self._log_queries = log_queries

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        outcome, result, started = "cancelled", None, time.perf_counter()
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
            self._report(ctx, outcome, result, time.perf_counter() - started)
        return result

    def _report(self, ctx: ServerRequestContext[Any, Any], outcome: str, result: HandlerResult, seconds: float) -> None:
        name = str((ctx.params or {}).get("name", ""))
        tool = name if name in self._tools else "unknown"
        self._metrics.call(tool, outcome, seconds)
        for provider, provider_outcome in _provider_outcomes(result):
            self._metrics.provider(provider, provider_outcome)
        caller = current_caller()
        fields = {
            "tool": tool,
            "outcome": outcome,
            "ms": round(seconds * 1_000),
            "request_id": caller.request_id if caller else "",
            "caller": caller.name if caller else "",
            "path": caller.path if caller else "",
            "protocol": ctx.protocol_version,
            **({"query": _query(ctx.params)} if self._log_queries else {}),
        }
        logger.info("call", extra=fields)


class ResponseCounter:
    """ASGI middleware that counts responses by path and status; unknown paths count as "other"."""

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


def _provider_outcomes(result: HandlerResult) -> Iterator[tuple[str, str]]:
    content = _structured(result)
    for report in content.get("providers", []):
        yield report["name"], report["status"]
    details: Mapping[str, Any] = content.get("error", {}).get("details", {})
    for cause in [details, *details.get("causes", [])]:
        if cause.get("provider"):
            yield cause["provider"], "failed"


def _query(params: Mapping[str, Any] | None) -> str:
    arguments: Mapping[str, object] = (params or {}).get("arguments") or {}
    return next((str(arguments[name])[:500] for name in _QUERY_ARGUMENTS if name in arguments), "")
