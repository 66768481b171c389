"""A circuit breaker: a provider that keeps failing is skipped for a while, then probed with a single call."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from deepcritical_mcp.errors import CircuitOpenError, ProviderError, ProviderRequestError, may_pass


class CircuitBreaker:
    """Closed, open after `threshold` failures in a row, and half open `cooldown` seconds after the last one.

    Half open, one call is let through as a probe; the others are refused until the probe has ended.

    Args:
        provider: wire name, e.g. "brave".
        title: name for people, used in messages.
        threshold: failures in a row.
        cooldown: seconds.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        provider: str,
        title: str,
        *,
        threshold: int = 3,
        cooldown: float = 15.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider, self._title = provider, title
        self._threshold, self._cooldown, self._clock = threshold, cooldown, clock
        self._failures = 0
        self._last_failure = 0.0
        self._last_error: ProviderError | None = None
        self._probing = False

    @contextmanager
    def guard(self) -> Generator[None]:
        """Let one call to the provider through and count its failure.

        A refused request (`ProviderRequestError`) and a cancelled call say nothing about the provider's health.

        Raises:
            CircuitOpenError: the provider is skipped for now.
        """
        self.check()
        probe = self._probing = self._failures >= self._threshold
        try:
            yield
        except ProviderRequestError:
            raise
        except ProviderError as error:
            self._last_error = error
            self._failures += 1
            self._last_failure = self._clock()
            raise
        else:
            self._failures = 0
        finally:
            self._probing = self._probing and not probe

    def check(self) -> None:
        """Raise what `guard` would raise now.

        Raises:
            CircuitOpenError: the provider is skipped for now; the message includes the last failure, which also decides
                whether waiting can help.
        """
        wait = self._last_failure + self._cooldown - self._clock()
        if self._failures >= self._threshold and (wait > 0 or self._probing):
            raise self._open(wait)

    def _open(self, wait: float) -> CircuitOpenError:
        reason = f" Last failure: {self._last_error.message}" if self._last_error else ""
        error = CircuitOpenError(
            self._provider,
            f"{self._title} failed {self._failures} times in a row and is skipped for now; "
            f"it will be tried again in {max(1, math.ceil(wait))} seconds.{reason}",
            retry_after=max(wait, 1.0),
        )
        if self._last_error and not may_pass(self._last_error):
            error.retryable, error.retry_after = False, 0.0
        return error
