"""Health, readiness, metrics and the log line of each call."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    EvidenceStoreError,
    ProviderUnavailableError,
    RateLimitError,
)
from tests.transports.conftest import RunningServer, Serving

PATIENT = "metformin for a patient named Erika Mustermann"


async def metrics(server: RunningServer) -> dict[str, float]:
    async with server.http() as http:
        answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = (line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def calls(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.name == "deepcritical_mcp.calls"]


async def test_health_answers_and_readiness_names_the_part_that_is_missing(serving: Serving) -> None:
    async with serving() as server, server.http() as http:
        assert (await http.get("/health")).json()["status"] == "ok"
        ready = await http.get("/ready")
        assert (ready.status_code, ready.json()) == (200, {"status": "ok", "model": "ok", "store": "ok"})
        server.embedder.missing = True
        broken = await http.get("/ready")
        assert (broken.status_code, broken.json()["model"]) == (503, "embedding")
        assert broken.headers["retry-after"]
        assert (await http.get("/health")).status_code == 200
    async with serving(chroma_url="http://127.0.0.1:9") as server, server.http() as http:
        broken = await http.get("/ready")
        assert (broken.status_code, broken.json()["store"]) == (503, EvidenceStoreError.code)


async def test_metrics_count_calls_their_time_errors_and_providers(serving: Serving) -> None:
    async with serving() as server, server.client() as client:
        await client.call_tool("web_search", {"query": "metformin"})
        await client.call_tool("web_search", {"query": ""})
        await client.call_tool("no_such_tool_" + "x" * 50, {})
        server.web.error = AllProvidersFailedError(
            "All providers failed.",
            [RateLimitError("tavily", "Too many."), ProviderUnavailableError("duckduckgo", "Unavailable.")],
        )
        await client.call_tool("web_search", {"query": "metformin"})
        counted = await metrics(server)
    assert counted['deepcritical_calls_total{outcome="ok",tool="web_search"}'] == 1
    assert counted['deepcritical_calls_total{outcome="invalid_input",tool="web_search"}'] == 1
    assert counted['deepcritical_calls_total{outcome="all_providers_failed",tool="web_search"}'] == 1
    assert counted['deepcritical_calls_total{outcome="invalid_input",tool="unknown"}'] == 1
    assert counted['deepcritical_call_seconds_count{tool="web_search"}'] == 3
    assert counted['deepcritical_provider_outcomes_total{outcome="ok",provider="duckduckgo"}'] == 1
    assert counted['deepcritical_provider_outcomes_total{outcome="skipped",provider="tavily"}'] == 1
    assert counted['deepcritical_provider_outcomes_total{outcome="failed",provider="tavily"}'] == 1
    assert counted['deepcritical_provider_outcomes_total{outcome="failed",provider="duckduckgo"}'] == 1
    assert counted["deepcritical_calls_running"] == 0
    assert counted['deepcritical_http_responses_total{path="/mcp",status="200"}'] >= 4


@pytest.mark.parametrize(("transport", "mode"), [("http", "legacy"), ("http", "2026-07-28"), ("sse", "legacy")])
async def test_each_call_is_one_line_in_the_log_without_its_query_unless_the_setting_asks_for_it(
    serving: Serving, caplog: pytest.LogCaptureFixture, transport: str, mode: str
) -> None:
    caplog.set_level(logging.INFO)
    async with (
        serving(auth_tokens="alice:alice-token-0123456789") as server,
        server.client(transport, mode, "alice-token-0123456789") as client,
    ):
        await client.call_tool("web_search", {"query": PATIENT})
        await client.call_tool("web_search", {"query": PATIENT, "max_results": "many"})
    first, second = calls(caplog)
    assert (first["tool"], first["outcome"], second["outcome"]) == ("web_search", "ok", "invalid_input")
    assert first["caller"] == "alice"
    assert len({first["request_id"], second["request_id"]}) == 2
    assert first["ms"] >= 0
    assert "Mustermann" not in caplog.text
    assert not any("Mustermann" in str(record) for record in calls(caplog))
    assert "alice-token" not in caplog.text
    caplog.clear()
    async with serving(log_queries=True) as server, server.client(transport, mode) as client:
        await client.call_tool("web_search", {"query": PATIENT})
    assert calls(caplog)[0]["query"] == PATIENT


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


async def test_the_sdks_spans_are_kept(serving: Serving, spans: InMemorySpanExporter) -> None:
    async with serving() as server, server.client() as client:
        await client.call_tool("web_search", {"query": PATIENT})
    names = [span.name for span in spans.get_finished_spans()]
    assert "tools/call web_search" in names
    assert not any("Mustermann" in str(span.attributes) for span in spans.get_finished_spans())
