"""What the client makes of a provider's answers; `tests/sources/test_contract.py` covers every provider."""

import gzip

import anyio
import httpx
import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    LineTooLongError,
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
            httpx.TooManyRedirects(""),
            ProviderRequestError,
            "The request to Example could not be sent (TooManyRedirects).",
        ),
    ],
)
async def test_each_failure_says_what_happened(
    answer: httpx.Response | Exception, error: type[ProviderError], message: str
):
    def answered(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with httpx.AsyncClient(transport=httpx.MockTransport(answered)) as http:
        client = ApiClient(http, provider="x", title="Example", retry=RetryPolicy(attempts=1))
        with pytest.raises(error) as caught:
            await client.request("GET", "https://x.example/?api_key=secret", lambda response: response.text)
    assert type(caught.value) is error
    assert caught.value.message == message


async def test_stacked_encodings_are_refused_without_decoding_any():
    packed = gzip.compress(gzip.compress(bytes(50_000_000)))
    answer = Answer(body=packed, headers={"Content-Encoding": "gzip, gzip"})
    async with stand_in(answer) as provider, httpx.AsyncClient(trust_env=False) as http:
        client = ApiClient(http, provider="x", title="Example", retry=RetryPolicy(attempts=1))
        with pytest.raises(ProviderResponseError, match="encoding"):
            await client.request("GET", provider.url, lambda response: response.content)


async def refused(limiter: Pacing, seconds: float, *, waiting: int = 0) -> ProviderError:
    """The error of a request that is asked for within so many seconds, while so many others wait."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    caught: list[ProviderError] = []
    async with httpx.AsyncClient(transport=transport) as http, anyio.create_task_group() as tasks:
        client = ApiClient(http, provider="x", title="Example", limiter=limiter)

        async def ask() -> None:
            await client.request("GET", "https://example.org", lambda response: response.status_code)

        for _ in range(waiting):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(seconds):
            try:
                await ask()
            except ProviderError as error:
                caught.append(error)
        tasks.cancel_scope.cancel()
    return caught[0]


async def test_a_request_that_would_wait_beyond_the_deadline_is_refused_in_time() -> None:
    place = MemoryPlace()
    place.change(lambda now, free: now + 3_600_000_000)  # other processes have taken the next hour
    in_line = await refused(Pacing(20.0), 15, waiting=2)
    late = await refused(Pacing(3_600, [place]), 2)
    for one, least in ((in_line, 20), (late, 1)):
        assert (one.code, one.retryable) == ("rate_limited", True)
        assert one.retry_after >= least
        assert "Too many calls are waiting for Example" in one.message


async def test_who_waits_for_a_request_that_was_not_sent_takes_a_turn_of_its_own() -> None:
    in_flight, asked, ends = InFlight(), 0, list[str]()

    async def operation() -> str:
        nonlocal asked
        asked += 1
        if asked == 1:
            await anyio.sleep(0.01)
            raise LineTooLongError("toy", "Too many calls are waiting.")
        return "answer"

    async def call() -> None:
        try:
            ends.append(await in_flight.ask("key", operation))
        except RateLimitError:
            ends.append("refused")

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(call)
    assert (asked, sorted(ends)) == (2, ["answer", "answer", "refused"])


@pytest.mark.parametrize(
    "error", [RateLimitError("toy", "Too many.", retry_after=60), ProviderUnavailableError("toy", "No.")]
)
async def test_a_failure_is_shared_at_once_and_a_refusal_for_long_is_sent_once(error: ProviderError) -> None:
    in_flight, sent, failed = InFlight(), 0, 0

    async def fails() -> str:
        nonlocal sent
        sent += 1
        await anyio.sleep(0.01)
        raise error

    async def call() -> None:
        nonlocal failed
        try:
            await in_flight.ask("key", fails)
        except ProviderError:
            failed += 1

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(call)
    assert (sent, failed) == (1, 10)
