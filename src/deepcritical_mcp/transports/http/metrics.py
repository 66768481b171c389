"""Counts for Prometheus: calls, their latency and errors, what the providers did, and how full the server is."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60)

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]


class Metrics:
    """The numbers of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._calls = Counter(
            "deepcritical_calls", "Tool calls by outcome: ok, or the error's code.", ["tool", "outcome"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "deepcritical_call_seconds", "How long tool calls took.", ["tool"], buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self._providers = Counter(
            "deepcritical_provider_outcomes", "What each provider did for a search: ok, failed or skipped.",
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
        """Count what a provider did for a call."""
        self._providers.labels(name, outcome).inc()

    def response(self, path: str, status: int) -> None:
        """Count an HTTP response."""
        self._responses.labels(path, str(status)).inc()

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Show the current `value()` as the gauge `deepcritical_<name>`."""
        Gauge(f"deepcritical_{name}", description, registry=self._registry).set_function(value)

    def exposition(self) -> bytes:
        """All of them in Prometheus' text format."""
        return generate_latest(self._registry)
