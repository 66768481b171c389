"""What the client makes of a provider's answers; `tests/sources/test_contract.py` covers every provider."""

from __future__ import annotations

import gzip

import anyio
import httpx
import pytest

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
from deepcritical_mcp.net.client import ApiClient, InFlight, RetryPolicy
from deepcritical_mcp.net.pacing import MemoryPlace, Pacing
from tests.net.stand_in import Answer, stand_in


async def failure(answer: httpx.Response | Exception, *, max_response_bytes: int = 1_000) -> ProviderError:
    def answered(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with httpx.AsyncClient(transport=httpx.MockTransport(answered)) as http:
        client = ApiClient(
            http, provider="x", title="Example", retry=RetryPolicy(attempts=1, max_response_bytes=max_response_bytes)
        )
        with pytest.raises(ProviderError) as caught:
            await client.request("GET", "https://x.example/?api_key=secret", lambda response: response.text)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (httpx.Response(503), ProviderUnavailableError, "Example is unavailable (HTTP 503)."),
        (
            httpx.Response(429, headers={"Retry-After": "7"}),
            RateLimitError,
            "Example's rate limit has been reached (HTTP 429). Try again in 7 seconds.",
        ),
        (httpx.Response(403), AuthenticationError, "Example refused access (HTTP 403). Check its API key."),
        (httpx.Response(402), QuotaExceededError, "The plan's quota at Example is used up (HTTP 402)."),
        (httpx.Response(404), ProviderRequestError, "Example refused the request (HTTP 404)."),
        (httpx.ConnectError("refused"), ProviderUnavailableError, "Example cannot be reached (ConnectError)."),
        (httpx.ReadTimeout("late"), ProviderTimeoutError, "Example did not answer in time."),
        (
            httpx.TooManyRedirects("loop"),
            ProviderRequestError,
            "The request to Example could not be sent (TooManyRedirects).",
        ),
    ],
)
async def test_each_failure_says_what_happened(
    answer: httpx.Response | Exception, error: type[ProviderError], message: str
):
    failed = await failure(answer)
    assert type(failed) is error
    assert failed.message == message


async def fetched(answer: Answer, *, max_response_bytes: int = 1_000_000) -> bytes:
    """The body that the client makes of an answer over the wire."""
    async with stand_in(answer) as provider, httpx.AsyncClient(trust_env=False) as http:
        retry = RetryPolicy(attempts=1, max_response_bytes=max_response_bytes)
        client = ApiClient(http, provider="x", title="Example", retry=retry)
        return await client.request("GET", provider.url, lambda response: response.content)


async def test_stacked_encodings_are_refused_without_decoding_any():
    packed = gzip.compress(gzip.compress(bytes(50_000_000)))
    with pytest.raises(ProviderResponseError, match="encoding"):
        await fetched(Answer(body=packed, headers={"Content-Encoding": "gzip, gzip"}))


async def test_a_request_that_would_wait_beyond_the_deadline_is_refused_at_once() -> None:
    async def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200)

    refused: list[ProviderError] = []
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = ApiClient(http, provider="x", title="Example", limiter=Pacing(20.0))

        async def ask() -> None:
            await client.request("GET", "https://example.org", lambda response: response.status_code)

        await ask()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)  # waits for 20 seconds
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(15):
                try:
                    await ask()
                except ProviderError as error:
                    refused.append(error)
            tasks.cancel_scope.cancel()

    assert refused[0].code == "rate_limited"
    assert refused[0].retryable
    assert refused[0].retry_after >= 20
    assert "Too many calls are waiting for Example" in refused[0].message


async def test_a_line_that_moves_too_slowly_is_left_in_time_to_say_so() -> None:
    async def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200)

    refused: list[ProviderError] = []
    place = MemoryPlace()
    place.change(lambda now, free: now + 3_600_000_000)  # other processes have taken the next hour
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = ApiClient(http, provider="x", title="Example", limiter=Pacing(3_600, [place]))
        try:
            with anyio.fail_after(2):
                await client.request("GET", "https://example.org", lambda response: response.status_code)
        except ProviderError as error:
            refused.append(error)

    assert refused[0].code == "rate_limited"
    assert refused[0].retry_after > 1
    assert "Too many calls are waiting for Example" in refused[0].message


CALLERS = 10


async def test_a_refusal_for_longer_than_anybody_waits_is_sent_once() -> None:
    in_flight, sent, errors = InFlight(), 0, list[ProviderError]()

    async def refused() -> str:
        nonlocal sent
        sent += 1
        await anyio.sleep(0.01)
        raise RateLimitError("toy", "Too many.", retry_after=60)

    async def call() -> None:
        with anyio.fail_after(20):
            try:
                await in_flight.ask("key", refused)
            except ProviderError as error:
                errors.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(CALLERS):
            tasks.start_soon(call)
    assert (sent, len(errors)) == (1, CALLERS)


async def test_a_failure_is_shared_at_once() -> None:
    in_flight, failed = InFlight(), 0

    async def fails() -> str:
        await anyio.sleep(0.01)
        raise ProviderUnavailableError("toy", "No.")

    async def call() -> None:
        nonlocal failed
        try:
            await in_flight.ask("key", fails)
        except ProviderError:
            failed += 1

    with anyio.fail_after(0.4):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
    assert failed == 3
