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
from deepcritical_mcp.transports.http.caller_context import Caller, current_caller

logger = logging.getLogger("deepcritical_mcp.calls")

READINESS_TIMEOUT = 3.0  # seconds for each check
_LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60)


class Metrics:
    """The metrics of one server, in a registry of its own.

    Attributes:
        calls: tool calls by tool and outcome.
        seconds: their duration by tool.
        providers: outcomes by provider and outcome.
        responses: HTTP responses by path and status.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.calls = self._counter("calls", "Tool calls by outcome: ok, or the error's code.", "tool", "outcome")
        self.seconds = Histogram(
            "deepcritical_call_seconds", "How long tool calls took.", ["tool"], buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )  # fmt: skip
        self.providers = self._counter(
            "provider_outcomes", "Outcome of each provider in a search: ok, failed or skipped.", "provider", "outcome"
        )
        self.responses = self._counter("http_responses", "HTTP responses by status.", "path", "status")

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add the gauge `deepcritical_<name>`, which shows the current `value()`."""
        Gauge(f"deepcritical_{name}", description, registry=self.registry).set_function(value)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"deepcritical_{name}", description, labels, registry=self.registry)


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
        if self._closing():
            return JSONResponse({"status": "closing"}, status_code=503, headers={"retry-after": "10"})
        checks = {"model": await self._check("model"), "store": await self._check("store")}
        if set(checks.values()) == {"ok"}:
            return JSONResponse({"status": "ok", **checks})
        return JSONResponse({"status": "not ready", **checks}, status_code=503, headers={"retry-after": "5"})

    async def metrics(self, _: Request) -> Response:
        """The metrics in Prometheus' text format."""
        return Response(generate_latest(self._metrics.registry), media_type=CONTENT_TYPE_LATEST)

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
            outcome = str(_structured(result).get("error", {}).get("code", "ok"))
        except MCPError as error:
            outcome = f"rpc_{error.error.code}"
            raise
        except Exception:  # not a cancellation
            outcome = "rpc_error"
            raise
        finally:
            self._report(ctx, outcome, result, time.perf_counter() - started)
        return result

    def _report(self, ctx: ServerRequestContext[Any, Any], outcome: str, result: HandlerResult, seconds: float) -> None:
        params = ctx.params or {}
        name = str(params.get("name", ""))
        tool = name if name in self._tools else "unknown"
        self._metrics.calls.labels(tool, outcome).inc()
        self._metrics.seconds.labels(tool).observe(seconds)
        for provider, provider_outcome in _provider_outcomes(_structured(result)):
            self._metrics.providers.labels(provider, provider_outcome).inc()
        caller = current_caller() or Caller(name="", address="", request_id="", path="")
        fields = {
            "tool": tool,
            "outcome": outcome,
            "ms": round(seconds * 1_000),
            "request_id": caller.request_id,
            "caller": caller.name,
            "path": caller.path,
            "protocol": ctx.protocol_version,
        }
        if self._log_queries:
            arguments: Mapping[str, object] = params.get("arguments") or {}
            fields["query"] = next((str(arguments[name])[:500] for name in ("query", "topic") if name in arguments), "")
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
                self._metrics.responses.labels(path if path in self._paths else "other", str(message["status"])).inc()
            await send(message)

        await self._app(scope, receive, counted)


def _structured(result: HandlerResult) -> Mapping[str, Any]:
    content = result.get("structuredContent") if isinstance(result, dict) else None
    return cast("Mapping[str, Any]", content) if isinstance(content, dict) else {}


def _provider_outcomes(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for report in content.get("providers", []):
        yield report["name"], report["status"]
    details: Mapping[str, Any] = content.get("error", {}).get("details", {})
    for cause in [details, *details.get("causes", [])]:
        if cause.get("provider"):
            yield cause["provider"], "failed"
