"""Requests to providers that answer in JSON, at a pace that all processes share."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import ClassVar, Self, TypedDict, TypeVar, Unpack

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.net.client import USER_AGENT, ApiClient, InFlight, Net, Read, RequestParts
from deepcritical_mcp.net.pacing import Slots, Turn, shared_pacing

T = TypeVar("T")
Params = Mapping[str, str]
Explain = Callable[[httpx.Response], ProviderError | None]
_HEADERS = {"User-Agent": USER_AGENT, "Accept": "application/json, */*;q=0.5"}
_WEB_PAGE = re.compile(rb"\s*<(?:.*<)?(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class ApiOfService:
    """An API: its names on the wire and for people, its address in the settings, for which the pace is kept, and the
    seconds between two starts; `explain` is that of `ApiClient`, and says what a refusal of a key means."""

    name: str
    title: str
    base_url: Callable[[Settings], str]
    spacing: float
    explain: Explain | None = None


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
        api.name, api.title, limiter=limiter, explain=api.explain, keyless=True, follow_redirects=redirects
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
