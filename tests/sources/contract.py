"""What every provider must do with every kind of answer: one table for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.errors import (
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.client import RetryPolicy
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.request import WebOptions
from tests.net.stand_in import Answer

QUICK = RetryPolicy(attempts=3, first_backoff=0.0, attempt_timeout=0.4)
PATIENT = RetryPolicy(attempts=3, first_backoff=0.0)
"""For all that is not about time: a busy machine must not make an answer late."""

TRIES = QUICK.attempts


async def found(tool: WebTool, query: str, max_results: int, **options: object) -> list[Publication]:
    """What a provider finds with these options."""
    return list((await tool.ask(query, max_results, WebOptions.model_validate(options))).records.values())


@dataclass(frozen=True)
class Fault:
    """A faulty answer, the error it must become, and how often it is worth asking."""

    name: str
    answer: Answer
    error: type[ProviderError]
    tries: int
    retry_after: float = 0.0
    retry: RetryPolicy = PATIENT


HTML = Answer(200, b"<html><body>Captive portal: please log in</body></html>", "text/html")

FAULTS: Sequence[Fault] = (
    Fault("429 without Retry-After", Answer(429, b"{}"), RateLimitError, TRIES),
    Fault("429 with Retry-After", Answer(429, b"{}", headers={"Retry-After": "90"}), RateLimitError, 1, 90.0),
    Fault("500", Answer(500, b"oops"), ProviderUnavailableError, TRIES),
    Fault("503", Answer(503, b"{}"), ProviderUnavailableError, TRIES),
    Fault("503 with Retry-After", Answer(503, headers={"Retry-After": "90"}), ProviderUnavailableError, 1, 90.0),
    Fault("silence", Answer(conduct="silent"), ProviderTimeoutError, TRIES, retry=QUICK),
    Fault("reset", Answer(conduct="reset"), ProviderUnavailableError, TRIES),
    Fault("HTML instead of data", HTML, ProviderResponseError, TRIES),
    Fault("junk", Answer(200, b"\x00\xff\xfe{[junk"), ProviderResponseError, TRIES),
    Fault("nothing at all", Answer(200, b""), ProviderResponseError, TRIES),
    Fault("JSON of another kind", Answer(200, b'["a", 1]'), ProviderResponseError, TRIES),
    Fault("an empty object", Answer(200, b"{}"), ProviderResponseError, TRIES),
    Fault("nested without end", Answer(200, b"[" * 100_000), ProviderResponseError, TRIES),
)
