"""Protection against requests from foreign web pages: Host and Origin are checked on every interface and path.

A web page can reach servers on its reader's machine or network, under its own host name if that name resolves to an
internal address (DNS rebinding). Such a request carries the page's host name as Host and its origin as Origin. The SDK
has these checks too, but only on loopback, and not for our own paths.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from deepcritical_mcp.config import Settings

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:(?P<port>\d{1,5}))?")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_FORWARDED = frozenset(("forwarded", "via", "x-real-ip", "x-client-ip", "x-original-host", "true-client-ip"))


def serves_one_user(settings: Settings, host: str, *, insecure: bool = False) -> bool:
    """Whether everybody who reaches a server that listens on `host` is this machine's user: it asks for no
    authentication, and nothing in its settings lets in other machines, a proxy, or pages of other origins."""
    opened = insecure or settings.is_authenticated or settings.trusted_proxies
    addresses = [urlsplit(url).netloc for url in (settings.public_url, *settings.cors_origins) if url]
    named = all(map(_is_loopback_name, (*settings.allowed_hosts, *addresses)))
    return named and not opened and listens_on_loopback_only(host)


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy or a tunnel passed the request on. Adding such a header gains a caller nothing."""
    return any(name in _FORWARDED or name.startswith(("x-forwarded-", "cf-")) for name in headers)


class HostAndOriginCheck:
    """ASGI middleware that passes on only requests that name this server as Host and come from no foreign Origin.

    Accepted as Host: loopback, the address that the request arrived at, the public URL's host, and the allowed hosts.
    Accepted as Origin: none, loopback, the public URL's origin, and the allowed origins.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, public = app, urlsplit(settings.public_url)
        self._hosts = [host.lower() for host in (*settings.allowed_hosts, public.hostname or "") if host]
        own = f"{public.scheme}://{public.netloc}" if public.netloc else ""
        self._origins = {origin.rstrip("/").lower() for origin in (*settings.cors_origins, own) if origin}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        respond = self._app
        if scope["type"] != "lifespan":
            headers = Headers(scope=scope)
            hosts = headers.getlist("host")
            origins = (origin for origin in headers.getlist("origin") if origin.lower() not in self._origins)
            if len(hosts) != 1 or not self._is_allowed_host(hosts[0], scope):
                told = "Unknown Host. If it is a name of this server, add it to DEEPCRITICAL_ALLOWED_HOSTS."
                respond = refusal(421, "unknown_host", told)
            elif "*" not in self._origins and not all(map(_is_loopback_origin, origins)):
                told = "Requests from this Origin are not allowed. To allow them, add it to DEEPCRITICAL_CORS_ORIGINS."
                respond = refusal(403, "foreign_origin", told)
        await respond(scope, receive, send)

    def _is_allowed_host(self, value: str, scope: Scope) -> bool:
        match = _HOST.fullmatch(value)
        if match is None:
            return False
        name = match["name"].strip("[]").lower()
        if name in _LOOPBACK_NAMES or name == str((scope.get("server") or ("",))[0]).lower():
            return True  # no foreign page can be served under these names
        is_named = not {"*", name, value.lower()}.isdisjoint(self._hosts)
        return is_named or any(one.startswith("*.") and name.endswith(one[1:]) for one in self._hosts)


def refusal(status: int, code: str, message: str, *, retry_after: float = 0) -> JSONResponse:
    """The HTTP response to a refused request; `retry_after` in seconds, 0 if retrying does not help."""
    wait = {"retry-after": str(max(1, round(retry_after)))} if retry_after else {}
    close = {"connection": "close"} if status == 408 else {}
    body = {"error": {"code": code, "message": message, "retryable": bool(retry_after), "retry_after": retry_after}}
    return JSONResponse(body, status_code=status, headers=wait | close)


def is_loopback(address: str) -> bool:
    """Whether an IP address is a loopback address."""
    with suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return False


def listens_on_loopback_only(host: str) -> bool:
    """Whether `host` resolves to loopback addresses only; False if it cannot be resolved."""
    with suppress(OSError):
        found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
        return all(is_loopback(str(address[0])) for *_, address in found)
    return False


def _is_loopback_name(host: str) -> bool:
    match = _HOST.fullmatch(host)
    return bool(match) and match["name"].strip("[]").lower() in _LOOPBACK_NAMES


def _is_loopback_origin(origin: str) -> bool:
    scheme, _, host = origin.partition("://")
    return scheme in ("http", "https") and _is_loopback_name(host)
