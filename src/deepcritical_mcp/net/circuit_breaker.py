"""A circuit breaker: a provider that keeps failing is skipped for a while, then probed with a single call."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field

from deepcritical_mcp.errors import CircuitOpenError, ProviderError, ProviderRequestError, is_temporary


@dataclass(eq=False)
class CircuitBreaker:
    """Closed, open after `threshold` failures in a row, and half open `cooldown` seconds after the last one.

    Half open, one call passes as a probe; the others are refused until the probe has ended.

    Attributes:
        provider: wire name, e.g. "brave".
        title: name for people, used in messages.
        clock: monotonic seconds.
    """

    provider: str
    title: str
    _: KW_ONLY
    threshold: int = 3
    cooldown: float = 15.0
    clock: Callable[[], float] = time.monotonic
    _failures: int = field(default=0, init=False)
    _last_failure: float = field(default=0.0, init=False)
    _last_error: ProviderError | None = field(default=None, init=False)
    _probing: bool = field(default=False, init=False)

    @contextmanager
    def guard(self) -> Generator[None]:
        """Surround one call to the provider and count its failure.

        A refused request (`ProviderRequestError`) and a cancelled call do not count.

        Raises:
            CircuitOpenError: the provider is skipped for now.
        """
        self.check()
        probe = self._probing = self._failures >= self.threshold
        try:
            yield
        except ProviderRequestError:
            raise
        except ProviderError as error:
            self._last_error = error
            self._failures += 1
            self._last_failure = self.clock()
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
        wait = self._last_failure + self.cooldown - self.clock()
        if self._failures >= self.threshold and (wait > 0 or self._probing):
            reason = f" Last failure: {self._last_error.message}" if self._last_error else ""
            again = f"it will be tried again in {max(1, math.ceil(wait))} seconds.{reason}"
            told = f"{self.title} failed {self._failures} times in a row and is skipped for now; {again}"
            error = CircuitOpenError(self.provider, told, retry_after=max(wait, 1.0))
            if self._last_error and not is_temporary(self._last_error):
                error.retryable, error.retry_after = False, 0.0
            raise error
