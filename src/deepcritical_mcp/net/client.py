"""The one place that retries, shares identical requests, and turns network failures into our errors; and requests to
providers that answer in JSON, at a pace that all processes share."""

from __future__ import annotations

import logging
import math
import re
import time
import zlib
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Self, TypedDict, TypeVar, Unpack, cast
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from deepcritical_mcp._version import __version__
from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import AT_ENTRY, IN_LINE, TO_REPORT_FAILURE, seconds_before, seconds_for, seconds_left
from deepcritical_mcp.errors import (
    AuthenticationError,
    BlockedError,
    LineTooLongError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.logs import hide_keys_in_urls
from deepcritical_mcp.net.pacing import Pacing, Slots, Turn, shared_pacing
from deepcritical_mcp.text import counted

T = TypeVar("T")

Read = Callable[[httpx.Response], T]
"""Makes something of a response."""
Params = Mapping[str, str | tuple[str, ...]]
"""Of a request; several values of one name are sent one after the other, each with the name."""
Explain = Callable[[httpx.Response], ProviderError | None]
ONE_DAY = 86_400.0
MAX_EXPLANATION = 64 * 1024  # bytes of a response other than 2xx, read for what is wrong on the event loop
USER_AGENT = f"deepcritical-mcp/{__version__}"
_HEADERS = {"User-Agent": USER_AGENT, "Accept": "application/json, */*;q=0.5"}
_WEB_PAGE = re.compile(rb"\s*<(?:.*<)?(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long to try one request. All times in seconds, sizes in bytes.

    A `Retry-After` longer than `max_wait` is not waited for: the error goes to the caller at once.
    """

    attempts: int = 3
    first_backoff: float = 0.5
    max_backoff: float = 4.0
    max_wait: float = 8.0
    attempt_timeout: float = 12.0
    max_response_bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True)
class Net:
    """What all clients of a process share: the connection pool and the retry policy."""

    http: httpx.AsyncClient
    retry: RetryPolicy = RetryPolicy()

    def client(self, provider: str, title: str, **more: Any) -> ApiClient:
        """A client for a provider; `more` are further attributes of `ApiClient`."""
        return ApiClient(self.http, provider=provider, title=title, retry=self.retry, **more)


class RequestParts(TypedDict, total=False):
    """What a request sends, as in httpx."""

    params: Mapping[str, str | int | tuple[str, ...]]
    data: Mapping[str, str | tuple[str, ...]]
    json: object
    headers: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class ApiClient:
    """Requests to one provider: spaced, limited in time, retried, with every failure raised as a `ProviderError`.

    Attributes:
        http: the process's connection pool; closed by its owner.
        provider: wire name, e.g. "pubmed".
        title: name for people, used in messages, e.g. "PubMed".
        limiter: spaces the attempts.
        explain: reads a response other than 2xx whose body says more than its status; returns the error it means, or
            None if the status says it all.
        follow_redirects: False where a redirect would carry a key elsewhere; None = as `http` is configured.
        max_bytes: the largest response; 0 = as `retry` says.
        keyless: whether the provider has no keys at all, so that a refusal means that it has blocked this network.
    """

    http: httpx.AsyncClient
    _: KW_ONLY
    provider: str
    title: str
    retry: RetryPolicy = RetryPolicy()
    limiter: Pacing | None = None
    explain: Callable[[httpx.Response], ProviderError | None] | None = None
    follow_redirects: bool | None = None
    keyless: bool = False
    max_bytes: int = 0

    def __post_init__(self) -> None:
        hide_keys_in_urls()

    async def request(
        self, method: str, url: str, read: Read[T], *, step: Turn = "first", **parts: Unpack[RequestParts]
    ) -> T:
        """Send a request and return `read(response)`; `read` runs in a worker thread, gets 2xx responses only and may
        raise ProviderErrors. `step` is that of `run`.

        Raises:
            ProviderError: after the last attempt, or at once if another attempt cannot help.
        """

        async def attempt() -> T:
            response = await self.send(method, url, **parts)
            return await anyio.to_thread.run_sync(read, response, abandon_on_cancel=True)

        return await self.run(attempt, step=step)

    async def run(self, operation: Callable[[], Awaitable[T]], *, step: Turn = "first") -> T:
        """Run `operation` with the limiter, the timeout per attempt and the retry policy.

        For providers with a client of their own; `operation` must raise ProviderErrors only. All attempts end a little
        before the deadline around the call, so that the caller still learns what failed.

        Args:
            step: the "next" request of a call goes before the "first" ones of others.

        Raises:
            ProviderError: after the last attempt, or at once if another attempt cannot help.
        """
        failures, policy = list[ProviderError](), self.retry

        def is_worth_another_attempt(error: BaseException) -> bool:
            longest = min(policy.max_wait, seconds_left())
            return error in failures and failures[-1].retryable and failures[-1].retry_after <= longest

        def wait(state: RetryCallState) -> float:
            backoff = wait_random_exponential(multiplier=policy.first_backoff, max=policy.max_backoff)(state)
            return max(min(backoff, seconds_left() / 2), failures[-1].retry_after)

        def log(state: RetryCallState) -> None:
            told = "attempt %d at %s failed (%s), trying again"
            logger.info(told, state.attempt_number, self.provider, failures[-1].code)

        async def attempt() -> T:
            if self.limiter is not None:
                await self._wait_in_line(self.limiter, step)
            try:
                with anyio.fail_after(policy.attempt_timeout):
                    return await operation()
            except ProviderError as error:
                failures.append(error)
                raise
            except TimeoutError as error:
                failures.append(self._late())
                raise failures[-1] from error

        retrying = AsyncRetrying(
            stop=stop_after_attempt(policy.attempts),
            wait=wait,
            retry=retry_if_exception(is_worth_another_attempt),
            before_sleep=log,
            sleep=anyio.sleep,
            reraise=True,
        )
        try:
            with anyio.fail_after(seconds_before(TO_REPORT_FAILURE)):
                return await retrying(attempt)
        except TimeoutError as error:
            raise (failures[-1] if failures else self._late()) from error

    async def _wait_in_line(self, limiter: Pacing, step: Turn) -> None:
        """Wait for a moment to send; a request that may be late is refused at once, others only if the queue slows
        down."""
        wait, longest = limiter.expected_wait(step), seconds_for(IN_LINE)
        if wait <= seconds_for(AT_ENTRY):
            with anyio.move_on_after(longest):
                return await limiter.acquire(step)
            wait = max(longest, limiter.expected_wait(step))
        again = f"Try again in {counted(math.ceil(wait), 'second')}."
        told = f"Too many calls are waiting for {self.title}, which limits requests per second. {again}"
        raise LineTooLongError(self.provider, told, retry_after=wait)

    def _late(self) -> ProviderTimeoutError:
        return ProviderTimeoutError(self.provider, f"{self.title} did not answer in time.")

    async def send(self, method: str, url: str, **parts: Unpack[RequestParts]) -> httpx.Response:
        """Make one attempt, as part of an operation under `run`; returns a 2xx response, completely read.

        Raises:
            ProviderError: the request failed; the message never contains its URL.
        """
        parts["headers"] = {"Accept-Encoding": "gzip, deflate", **parts.get("headers", {})}
        try:
            redirects = httpx.USE_CLIENT_DEFAULT if self.follow_redirects is None else self.follow_redirects
            trace = {"trace": self._pace} if self.limiter else {}
            async with self.http.stream(method, url, follow_redirects=redirects, extensions=trace, **parts) as stream:
                response = await self._read(stream)
        except httpx.TimeoutException as error:
            raise self._late() from error
        except (httpx.TransportError, zlib.error) as error:
            told = f"{self.title} cannot be reached ({type(error).__name__})."
            raise ProviderUnavailableError(self.provider, told) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            told = f"The request to {self.title} could not be sent ({type(error).__name__})."
            raise ProviderRequestError(self.provider, told) from error
        finally:
            if self.limiter is not None:
                self.limiter.release()
        if not response.is_success:
            if self.explain and len(response.content) <= MAX_EXPLANATION and (error := self.explain(response)):
                raise error
            self.raise_for_status(response.status_code, response.headers)
        return response

    async def _pace(self, event: str, _: Mapping[str, object]) -> None:
        """httpx's `trace` extension: holds the limiter to when the request is really sent."""
        assert self.limiter is not None
        if event.endswith("connect_tcp.started"):
            await self.limiter.connect()
        elif event.endswith("send_request_headers.started"):
            await self.limiter.confirm()
        elif event.endswith("send_request_body.complete"):
            await self.limiter.sent()

    async def _read(self, response: httpx.Response) -> httpx.Response:
        """The response with its body decoded; never holds more than the largest body allowed, however well it is
        compressed.

        httpx would decode a whole chunk, through as many encodings as the response names, before its size is known.
        """
        headers = response.headers.copy()
        unpack = Unpacking(headers.pop("content-encoding", ""))
        limit, received = self.max_bytes or self.retry.max_response_bytes, bytearray()
        assert isinstance(response.stream, httpx.AsyncByteStream)
        async for chunk in response.stream:
            try:
                received += unpack(chunk, limit + 1 - len(received))
            except ValueError as error:
                told = f"{self.title} sent a response in an encoding that was not asked for."
                raise ProviderResponseError(self.provider, told) from error
            if len(received) > limit:
                raise ProviderResponseError(self.provider, f"{self.title} sent a response that is too large.")
        request = response.request
        return httpx.Response(response.status_code, headers=headers, content=bytes(received), request=request)

    def raise_for_status(self, status: int, headers: Mapping[str, str]) -> None:
        """Raise the error for an HTTP status other than 2xx.

        Raises:
            ProviderError: of the matching class.
        """
        if 200 <= status < 300:
            return
        wait = retry_after_seconds(headers.get("retry-after", ""))
        if status == 429:
            again = f"Try again in {counted(math.ceil(wait), 'second')}." if wait else "Try again in a minute."
            told = f"{self.title}'s rate limit has been reached (HTTP 429). {again}"
            raise RateLimitError(self.provider, told, retry_after=wait)
        if status in (401, 403):
            kind = BlockedError if self.keyless else AuthenticationError
            why = ": it may have blocked this network for a while." if self.keyless else ". Check its API key."
            raise kind(self.provider, f"{self.title} refused access (HTTP {status}){why}")
        if status in (402, 432, 433):
            raise QuotaExceededError(self.provider, f"The plan's quota at {self.title} is used up (HTTP {status}).")
        if status == 408 or status >= 500:
            told = f"{self.title} is unavailable (HTTP {status})."
            raise ProviderUnavailableError(self.provider, told, retry_after=wait)
        raise ProviderRequestError(self.provider, f"{self.title} refused the request (HTTP {status}).")


def retry_after_seconds(value: str) -> float:
    """Seconds that a `Retry-After` header asks for, in either form, at most a day; 0.0 if absent or unreadable."""
    value = value.strip()
    try:
        wait = float(value) if value.isdecimal() else parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(0.0, wait), ONE_DAY)


@dataclass
class _Shared:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    answer: tuple[object] | None = None
    error: ProviderError | None = None


class InFlight:
    """Identical requests at the same time, sent once: all callers share the answer or the ProviderError.

    A caller that has no time left, is refused a place in line, or is cancelled fails alone: the next one asks again.
    """

    def __init__(self) -> None:
        self._shared: WeakValueDictionary[Hashable, _Shared] = WeakValueDictionary()

    async def ask(self, key: Hashable, operation: Callable[[], Awaitable[T]]) -> T:
        """What `operation` returns for `key`.

        Raises:
            ProviderError: raised by `operation`, to every caller that waited for it.
        """
        shared = self._shared.setdefault(key, _Shared())
        async with shared.lock:
            if shared.answer is None and shared.error is None:
                try:
                    shared.answer = (await operation(),)
                except ProviderError as error:
                    # If its caller had no time to send, or to try again, somebody with more time may succeed.
                    is_late = error.retryable and seconds_left() <= TO_REPORT_FAILURE.cap
                    if is_late or isinstance(error, LineTooLongError):
                        raise
                    shared.error = error
                self._shared.pop(key, None)
        if shared.error is not None:
            raise shared.error
        return cast("tuple[T]", shared.answer)[0]


PDF = "application/pdf"
SNIFFED = 1_024
"""Bytes at the beginning that tell what a body is."""
_TEXT_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
_UNTYPED = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download", PDF})
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<meta", b"<title")
_WIDE = ("utf-16", "utf-32", "utf16", "utf32", "ucs-")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_NOT_IN_TEXT = bytes({*range(0x20), 0x7F} - {*b"\t\n\f\r\x1b"})
_MOST_ODD = 0.03


class Unpacking:
    """Undoes one content encoding, piece by piece; ValueError for any that was not asked for."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._decoder = zlib.decompressobj()
        self._is_begun = False

    def __call__(self, piece: bytes, limit: int) -> bytes:
        if self._encoding in ("", "identity"):
            return piece
        if self._encoding not in ("gzip", "x-gzip", "deflate"):
            raise ValueError(self._encoding)
        if not self._is_begun and piece:
            self._is_begun = True
            # "deflate" comes with zlib's header, as it should, or without.
            is_bare = self._encoding == "deflate" and piece[0] & 0x0F != 8
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS if is_bare else zlib.MAX_WBITS | 32)
        return self._decoder.decompress(piece, limit)

    @property
    def is_complete(self) -> bool:
        return not self._is_begun or self._decoder.eof


def media_type(declared: str, charset: str, start: bytes) -> str:
    """The type by what the beginning shows, else as declared; "" for what is not read.

    Publishers send PDFs as octet streams, and pages that ask for a login as PDFs.
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:SNIFFED]
    if text.startswith(b"%PDF-") or (declared in _UNTYPED and b"%PDF-" in start and not text.startswith(b"<")):
        return PDF
    if declared in _TEXT_TYPES:  # what has many control characters is not text, unless its characters are wide
        is_wide = start.startswith(_WIDE_MARKS) or charset.lower().startswith(_WIDE)
        odd = len(start) - len(start.translate(None, delete=_NOT_IN_TEXT))
        return declared if is_wide or odd <= _MOST_ODD * len(start) else ""
    is_html = text[:20].lower().startswith(_HTML_STARTS)
    return "text/html" if is_html and declared in _UNTYPED else declared if declared == PDF else ""


@dataclass(frozen=True)
class ApiOfService:
    """An API: its names on the wire and for people, its address in the settings, for which the pace is kept, and the
    seconds between two starts; `explain` and `keyless` are those of `ApiClient`."""

    name: str
    title: str
    base_url: Callable[[Settings], str]
    spacing: float
    explain: Explain | None = None
    keyless: bool = True


def paced_client(
    settings: Settings, net: Net, api: ApiOfService, *, steps: int = 1, shared_pace: str = "", key: str = ""
) -> ApiClient:
    """A client at the pace of an API, in all processes.

    Args:
        steps: how many requests a call sends, one after the other.
        shared_pace: the name under which several providers share the pace, for each key; that of the API if "".
        key: sent with each request, so that no redirect is followed.
    """
    counted_by = f"{api.base_url(settings)}\n{key}" if shared_pace else api.base_url(settings)
    limiter = shared_pacing(settings, api.spacing, name=shared_pace or api.name, identity=counted_by, steps=steps)
    redirects = False if key else None
    return net.client(
        api.name, api.title, limiter=limiter, explain=api.explain, keyless=api.keyless, follow_redirects=redirects
    )


class RequestOptions(TypedDict, total=False):
    """How to ask: requests of one `kind` at the same time share their answer; `in_body` sends the parameters there;
    `step` is that of `ApiClient.run`."""

    kind: Hashable
    in_body: bool
    step: Turn


class JsonApi:
    """Requests to an API that answers in JSON; identical ones at the same time are sent once.

    Args:
        identity: parameters that say who asks, sent with each request.
        at_once: how many requests may be under way; 0 for any number.
    """

    def __init__(self, client: ApiClient, base_url: str, *, identity: Params | None = None, at_once: int = 0) -> None:
        self._client, self._base_url = client, base_url
        self._identity = identity or {}
        self._slots = Slots(at_once) if at_once else None
        self._in_flight = InFlight()

    async def get(self, path: str, params: Params, read: Read[T], **options: Unpack[RequestOptions]) -> T:
        """What `read` makes of the answer at `path`. Parameters without a value are not sent."""
        url, sent = f"{self._base_url}/{path}", {key: v for key, v in {**params, **self._identity}.items() if v}
        in_body, step = options.get("in_body", False), options.get("step", "first")
        method, parts = ("POST", RequestParts(data=sent)) if in_body else ("GET", RequestParts(params=sent))
        parts["headers"] = _HEADERS

        async def request() -> T:
            async with self._slots.slot() if self._slots else nullcontext():
                return await self._client.request(method, url, read, step=step, **parts)

        return await self._in_flight.ask((path, tuple(params.items()), options.get("kind")), request)


def is_web_page(body: bytes) -> bool:
    """Whether an answer is a web page for people, from a failing provider or from an intermediary."""
    return _WEB_PAGE.match(body[:2_000]) is not None


class JsonService:
    """A service of an API that answers in JSON; a call sends `steps` requests, one after the other."""

    api: ClassVar[ApiOfService]
    steps = 1

    def __init__(self, api: JsonApi) -> None:
        self._api = api

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        """The service as the settings describe it, at the pace that all services of the API share."""
        return cls(JsonApi(paced_client(settings, net, cls.api, steps=cls.steps), cls.api.base_url(settings)))
