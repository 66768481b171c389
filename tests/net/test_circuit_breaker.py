"""A provider that keeps failing is skipped for a while, then tried again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    CircuitOpenError,
    ProviderError,
    ProviderRequestError,
    ProviderUnavailableError,
)
from deepcritical_mcp.net.circuit_breaker import CircuitBreaker


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def circuit(clock: Callable[[], float]) -> CircuitBreaker:
    return CircuitBreaker("brave", "Brave Search", clock=clock)


def fail(circuit: CircuitBreaker, error: ProviderError | None = None, times: int = 1) -> None:
    for _ in range(times):
        error = error or ProviderUnavailableError("brave", "Unavailable.")
        with pytest.raises(type(error)), circuit.guard():
            raise error


def test_open_it_says_why_and_whether_waiting_helps(clock: Clock):
    tested = circuit(clock)
    fail(tested, ProviderUnavailableError("brave", "Unavailable (HTTP 500)."), times=3)
    with pytest.raises(CircuitOpenError, match=r"Last failure: Unavailable \(HTTP 500\)\.") as caught:
        tested.check()
    assert caught.value.retryable
    clock.now += 15
    fail(tested, AuthenticationError("brave", "Check BRAVE_API_KEY."))
    with pytest.raises(CircuitOpenError, match="Last failure: Check BRAVE_API_KEY") as caught:
        tested.check()
    assert not caught.value.retryable
    assert caught.value.retry_after == 0


def test_a_refused_request_and_a_cancelled_call_do_not_count(clock: Clock):
    tested = circuit(clock)
    fail(tested, ProviderRequestError("brave", "Too long."), times=5)
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt), tested.guard():
            raise KeyboardInterrupt
    tested.check()
