"""The one place that retries, waits and turns failures of the network into our errors."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import anyio
import httpx
import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from deepcritical_mcp._version import __version__
from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.logs import hide_keys_in_addresses

T = TypeVar("T")
SPARE_SHARE, MOST_SPARE = 0.2, 1.5
"""Part of the time before a deadline, and at most so many seconds, in which the caller says what failed."""

USER_AGENT = f"deepcritical-mcp/{__version__}"
logger = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True)
class RetryPolicy:
    """How long one question to a provider is worth asking. All times in seconds.

    A `Retry-After` longer than `longest_wait` is not waited out: the error goes to the caller at once.
    """

    attempts: int = 3
    first_backoff: float = 0.5
    longest_backoff: float = 4.0
    longest_wait: float = 8.0
    attempt_timeout: float = 12.0
    largest_answer: int = 64 * 1024 * 1024


class RequestLimiter(Protocol):
    """Spaces the starts of requests."""

    async def acquire(self) -> None:
        """Return when the next request may start."""
        ...


class ApiClient:
    """Requests to one provider: spaced, bounded in time, retried, and every failure a `ProviderError`.

    Args:
        http: the process's connection pool; closed by its owner.
        provider: wire name, e.g. "pubmed".
        title: name for people, used in messages, e.g. "PubMed".
        limiter: asked before every attempt.
        starting: awaited when the connection stands and the request is about to leave, which may be long after the
            limiter said yes.
        explain: reads an answer other than 2xx whose body tells more than its status; gives the error it means, or
            None where the status says it all.
        follow_redirects: false where a redirect would carry a key elsewhere; None = as `http` does.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        provider: str,
        title: str,
        retry: RetryPolicy | None = None,
        limiter: RequestLimiter | None = None,
        starting: Callable[[], Awaitable[None]] | None = None,
        explain: Callable[[httpx.Response], ProviderError | None] | None = None,
        follow_redirects: bool | None = None,
    ) -> None:
        hide_keys_in_addresses()
        self.provider = provider
        self.title = title
        self._http = http
        self._retry = retry or RetryPolicy()
        self._limiter = limiter
        self._starting = starting
        self._explain = explain
        self._redirects = httpx.USE_CLIENT_DEFAULT if follow_redirects is None else follow_redirects

    async def request(
        self,
        method: str,
        url: str,
        parse: Callable[[httpx.Response], T],
        *,
        params: Mapping[str, str | int] | None = None,
        data: Mapping[str, str] | None = None,
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Send a request and give `parse(response)`; `parse` sees 2xx answers only and raises ProviderErrors itself.

        Raises:
            ProviderError: after the last attempt, or at once where another attempt cannot help.
        """

        async def attempt() -> T:
            return parse(await self.send(method, url, params=params, data=data, json=json, headers=headers))

        return await self.run(attempt)

    async def run(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Run `operation` under the limiter, the attempt's time-out and the retry policy.

        For providers that bring their own client; `operation` must raise ProviderErrors only. All attempts end a
        little before the deadline around the call, so that the caller still learns what failed.
        """
        failures: list[ProviderError] = []
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._retry.attempts),
            wait=self._wait,
            retry=retry_if_exception(self._is_worth_another_attempt),
            before_sleep=self._log,
            sleep=anyio.sleep,
            reraise=True,
        )

        async def attempt() -> T:
            try:
                if self._limiter is not None:
                    await self._limiter.acquire()
                with anyio.fail_after(self._retry.attempt_timeout):
                    return await operation()
            except ProviderError as error:
                failures.append(error)
                raise
            except TimeoutError as error:
                raise self._late() from error

        left = seconds_left()
        try:
            with anyio.fail_after(left - min(SPARE_SHARE * left, MOST_SPARE)):
                return await retrying(attempt)
        except TimeoutError as error:
            raise (failures[-1] if failures else self._late()) from error

    def _late(self) -> ProviderTimeoutError:
        return ProviderTimeoutError(self.provider, f"{self.title} did not answer in time.")

    async def send(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str | int] | None = None,
        data: Mapping[str, str] | None = None,
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One attempt, a step of an operation under `run`; gives a 2xx answer, read to its end.

        Raises:
            ProviderError: the request failed; the message never shows its address.
        """
        try:
            async with self._http.stream(
                method,
                url,
                params=params,
                data=data,
                json=json,
                headers=headers,
                follow_redirects=self._redirects,
                extensions={"trace": self._watch} if self._starting else {},
            ) as response:
                await self._read(response)
        except httpx.TimeoutException as error:
            raise self._late() from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ProviderUnavailableError(
                self.provider, f"{self.title} cannot be reached ({type(error).__name__})."
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise ProviderRequestError(
                self.provider, f"{self.title} could not be asked ({type(error).__name__})."
            ) from error
        error = self._explain(response) if self._explain and not response.is_success else None
        if error is not None:
            raise error
        self.raise_for_status(response.status_code, response.headers)
        return response

    async def _watch(self, event: str, _: Mapping[str, object]) -> None:
        """httpx's `trace` extension."""
        if self._starting is not None and event.endswith("send_request_headers.started"):
            await self._starting()

    async def _read(self, response: httpx.Response) -> None:
        received = bytearray()
        async for chunk in response.aiter_bytes():
            received += chunk
            if len(received) > self._retry.largest_answer:
                raise ProviderResponseError(self.provider, f"{self.title} sent more than can be read at once.")
        response._content = bytes(received)  # pyright: ignore[reportPrivateUsage]  # what aread() does, but bounded

    def raise_for_status(self, status: int, headers: Mapping[str, str]) -> None:
        """Raise the error that an HTTP status other than 2xx means.

        Raises:
            ProviderError: of the fitting kind.
        """
        if 200 <= status < 300:
            return
        if status == 429:
            wait = retry_after_seconds(headers.get("retry-after", ""))
            again = f"Try again in {math.ceil(wait)} seconds." if wait else "Try again in a minute."
            raise RateLimitError(
                self.provider, f"{self.title} allows no more requests for now (HTTP 429). {again}", retry_after=wait
            )
        if status in (401, 403):
            raise AuthenticationError(self.provider, f"{self.title} refused access (HTTP {status}). Check its API key.")
        if status in (402, 432, 433):
            raise QuotaExceededError(self.provider, f"The plan's quota at {self.title} is used up (HTTP {status}).")
        if status == 408 or status >= 500:
            raise ProviderUnavailableError(
                self.provider,
                f"{self.title} is out of order (HTTP {status}).",
                retry_after=retry_after_seconds(headers.get("retry-after", "")),
            )
        raise ProviderRequestError(self.provider, f"{self.title} refused the request (HTTP {status}).")

    def _is_worth_another_attempt(self, error: BaseException) -> bool:
        if not isinstance(error, ProviderError) or not error.retryable:
            return False
        return error.retry_after <= min(self._retry.longest_wait, seconds_left())

    def _wait(self, state: RetryCallState) -> float:
        backoff = wait_random_exponential(multiplier=self._retry.first_backoff, max=self._retry.longest_backoff)(state)
        error = state.outcome.exception() if state.outcome else None
        wait = min(backoff, seconds_left() / 2)
        return max(wait, error.retry_after) if isinstance(error, ProviderError) else wait

    def _log(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        code = error.code if isinstance(error, ProviderError) else "error"
        logger.info("asking again", provider=self.provider, attempt=state.attempt_number, code=code)


def seconds_left() -> float:
    """Seconds until the innermost deadline around the caller; infinity where there is none."""
    return anyio.current_effective_deadline() - anyio.current_time()


def retry_after_seconds(value: str) -> float:
    """Seconds that a `Retry-After` header asks for, in either of its forms; 0.0 when absent or unreadable."""
    value = value.strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return max(0.0, moment - time.time())


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """`text` with every secret in it replaced by "***"."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
