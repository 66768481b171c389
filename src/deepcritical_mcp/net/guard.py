"""Fetches pages and files from addresses that others chose, without reaching what is not public.

A name is resolved once; if any of its addresses is not public, it is refused. The connection goes to the very address
that was checked, while the certificate is checked for the name. Each redirect goes through the same again. Nothing is
kept between two requests but the rules of robots.txt: no cookies, no credentials, no referrer.

Behind a proxy (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, in upper or lower case) the proxy resolves names and
connects. They are resolved and checked here all the same: a name with any address that is not public never reaches the
proxy. Only if this machine cannot resolve a name, as in networks that leave names to their proxy, does the proxy alone
decide whether it is reached; and since it resolves names itself, it may get another address than the one that was
checked.
"""

from __future__ import annotations

import socket
import ssl
import zlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NoReturn
from urllib.parse import quote, unquote, urljoin
from urllib.request import getproxies

import anyio
import anyio.to_thread
import httpx

from deepcritical_mcp.deadline import TO_REPORT_FAILURE, seconds_before
from deepcritical_mcp.errors import (
    AccessDeniedError,
    DocumentNotFoundError,
    DocumentTooLargeError,
    DocumentTypeError,
    ForbiddenAddressError,
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
    RobotsRefusedError,
    TooManyRedirectsError,
)
from deepcritical_mcp.net.client import SNIFFED, USER_AGENT, Unpacking, media_type, retry_after_seconds
from deepcritical_mcp.net.public_addresses import AddressPolicy, WebTarget, checked_target

MAX_ROBOTS = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 asks for at least 500 KiB."""
_MAX_RULES = 5_000


RobotsRules = Sequence[tuple[str, bool]]
"""The rules of one site for one program: (pattern, whether it allows)."""


def allows(rules: RobotsRules, path: str) -> bool:
    """Whether `path` (with its query) may be read: the longest rule that matches decides, of equals the allowing one;
    without one, everything may."""
    path = _plain(path)
    return max(((len(pattern), allowed) for pattern, allowed in rules if _matches(pattern, path)), default=(0, True))[1]


def parse_robots(text: str, agent: str) -> RobotsRules:
    """The rules for the program `agent` (its product token), else those for "*"."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    names: list[str] = []
    in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            names = [value.lower()] if in_rules else [*names, value.lower()]
            in_rules = False
            groups.setdefault(names[-1], [])
        elif key in ("allow", "disallow"):
            in_rules = True
            for name in names if value else ():
                if len(groups[name]) < _MAX_RULES:
                    groups[name].append((_plain(value), key == "allow"))
    return groups.get(agent.lower(), groups.get("*", []))


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern with "*" (anything) and a final "$" (end of the path) matches the beginning of `path`."""
    first, *pieces = pattern.removesuffix("$").split("*")
    ends = pattern.endswith("$")
    last = pieces.pop() if ends and pieces else ""
    if not path.startswith(first) or (ends and "*" not in pattern and path != first):
        return False
    at = len(first)
    for piece in pieces:
        if (found := path.find(piece, at)) < 0:
            return False
        at = found + len(piece)
    return not ends or (len(path) - len(last) >= at and path.endswith(last))


def _plain(path: str) -> str:
    """A path with the characters that mean the same encoded and plain in one form."""
    return quote(unquote(path, errors="replace"), safe="/*$?&=%:;,@+!'()~#[]", errors="replace")


Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a name, for connections to a port; raises OSError if there are none."""
_HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8",
    "Accept-Encoding": "gzip, deflate",
}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RESOLVERS = frozenset({"doi.org", "dx.doi.org", "hdl.handle.net"})
"""Hosts that only redirect: their robots.txt says nothing about the page at the other end."""
_DENIALS = {401: "asks for a login", 402: "asks for a subscription", 451: "may not show this page for legal reasons"}
_MOST_ADDRESSES = 4


@dataclass(frozen=True)
class FetchedPage:
    """A page or file.

    Attributes:
        url: where it was found, after redirects.
        media_type: "application/pdf", "text/html", "application/xhtml+xml" or "text/plain", by what the content shows.
        charset: as its header says it; "" if it does not.
    """

    url: str
    media_type: str
    charset: str
    content: bytes


async def resolved_addresses(host: str, port: int) -> Sequence[str]:
    """What the system's resolver answers, in the order in which to try."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


@dataclass
class Guard:
    """Fetches for one provider; opens connections only while it fetches.

    Attributes:
        policy: which addresses it may connect to.
        max_bytes: of a page after decompression, and before.
        seconds, connect_seconds: in all, and for one connection.
        redirects: how many in a row are followed.
        resolve: how names become addresses.
        tls: None = the system's and the user's certificates, as everywhere in the process.
        proxies: by scheme, as `urllib.request.getproxies` gives them, with "no" for the exceptions.
    """

    provider: str = "page"
    policy: AddressPolicy = field(default_factory=AddressPolicy)
    max_bytes: int = 10 * 1024 * 1024
    seconds: float = 20.0
    connect_seconds: float = 4.0
    redirects: int = 5
    resolve: Resolver = resolved_addresses
    tls: ssl.SSLContext | None = None
    proxies: Mapping[str, str] = field(default_factory=getproxies)
    respects_robots: bool = True
    _robots: OrderedDict[str, RobotsRules] = field(default_factory=OrderedDict[str, RobotsRules], init=False)
    _ROBOTS_KEPT = 256

    async def fetch(self, url: str) -> FetchedPage:
        """The page or file at `url`.

        Raises:
            ForbiddenAddressError, RobotsRefusedError, AccessDeniedError: it may not be read.
            DocumentNotFoundError: HTTP 404 or 410.
            DocumentTooLargeError, DocumentTypeError, TooManyRedirectsError: it cannot be read.
            ProviderUnavailableError, RateLimitError, ProviderResponseError: asking again may help.
        """
        seconds = min(self.seconds, seconds_before(TO_REPORT_FAILURE))
        try:
            with anyio.fail_after(seconds):
                return await self._follow(url)
        except TimeoutError as error:
            told = f"The page did not arrive completely within {max(1, round(seconds))} seconds."
            raise ProviderTimeoutError(self.provider, told) from error

    async def check(self, url: str) -> None:
        """Raises the ProviderErrors of `fetch` if `url` may not be read by anybody on our behalf: for an address that
        is not public, or that robots.txt forbids."""
        target = checked_target(self.provider, url, self.policy)
        try:
            with anyio.fail_after(min(self.seconds, seconds_before(TO_REPORT_FAILURE))):
                await self._hosts(target)
                if self.respects_robots and target.host not in _RESOLVERS:
                    await self._ask_robots(target)
        except TimeoutError as error:
            raise ProviderTimeoutError(self.provider, f"{target.host} did not answer in time.") from error

    async def _follow(self, url: str) -> FetchedPage:
        visited: list[str] = []
        while True:
            target = self._secured(checked_target(self.provider, url, self.policy), visited)
            if target.url in visited or len(visited) > self.redirects:
                how = "in circles" if target.url in visited else f"more than {self.redirects} times"
                raise TooManyRedirectsError(self.provider, f"The page redirects {how}.")
            visited.append(target.url)
            if self.respects_robots and target.host not in _RESOLVERS:
                await self._ask_robots(target)
            async with self._response(target) as response:
                if response.status_code not in _REDIRECTS:
                    self._raise_for_status(target, response)
                    declared = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                    charset = response.charset_encoding or ""
                    accept = partial(media_type, declared, charset)
                    content = await self._body(response, self.max_bytes, accept)
                    return FetchedPage(target.url, accept(content[:SNIFFED]), charset, content)
                url = response.extensions["location"]

    def _secured(self, target: WebTarget, visited: Sequence[str]) -> WebTarget:
        """A redirect from https to http is followed over https: nobody on the way may change what will be cited.
        Many DOIs still name the old http address of a site that has long been on https."""
        if target.scheme == "https" or not visited or not visited[-1].startswith("https://"):
            return target
        return replace(target, scheme="https", port=443 if target.port == 80 else target.port)

    async def _ask_robots(self, target: WebTarget) -> None:
        site = f"{target.scheme}://{target.authority}"
        if site not in self._robots:
            self._robots[site] = await self._robots_rules(target)
            if len(self._robots) > self._ROBOTS_KEPT:
                self._robots.popitem(last=False)
        if not allows(self._robots[site], target.path):
            told = f"{target.host} does not allow programs to read this page (its robots.txt forbids it)."
            raise RobotsRefusedError(self.provider, told)

    async def _robots_rules(self, target: WebTarget) -> RobotsRules:
        """The site's rules (RFC 9309, 2.3.1): everything is allowed without a robots.txt (4xx, too many redirects, a
        redirect to what is not fetched); while it cannot be asked for (5xx, unreachable) the page is not read either,
        but may be later."""
        at = replace(target, path="/robots.txt")
        with suppress(ForbiddenAddressError):  # the page's own address is checked again before it is asked for
            for _ in range(self.redirects + 1):
                async with self._response(at) as response:
                    status = response.status_code
                    if 200 <= status < 300:
                        content = await self._body(response, MAX_ROBOTS)
                        return parse_robots(content.decode("utf-8", errors="replace"), USER_AGENT.partition("/")[0])
                    if status == 429 or status >= 500:
                        self._raise_for_status(at, response)
                    if status not in _REDIRECTS:
                        return ()
                    location = response.extensions["location"]
                at = self._secured(checked_target(self.provider, location, self.policy), [at.url])
        return ()

    @asynccontextmanager
    async def _response(self, target: WebTarget) -> AsyncGenerator[httpx.Response]:
        """A response with its body still to be read, from the first of the checked addresses that answers; its
        extension "location" is where it redirects to."""
        hosts = await self._hosts(target)
        self.tls = self.tls or await anyio.to_thread.run_sync(httpx.create_ssl_context)
        # Reads and writes are limited by the time of the whole fetch.
        timeout = httpx.Timeout(None, connect=self.connect_seconds)
        async with httpx.AsyncClient(
            proxy=self._proxy(target),
            trust_env=False,
            verify=self.tls,
            timeout=timeout,
            follow_redirects=False,
            event_hooks={"response": [_set_location_aside]},
        ) as http:
            try:
                response = await self._first_answer(http, target, hosts)
                if response.status_code in _REDIRECTS:
                    response.extensions["location"] = urljoin(target.url, response.extensions["location"])
            except httpx.TransportError as error:
                self._unreachable(target, error)
            except (httpx.InvalidURL, ValueError) as error:  # UnicodeError and IDNAError are ValueErrors
                told = "This address is not fetched: it is not a valid web address."
                raise ForbiddenAddressError(self.provider, told) from error
            try:
                yield response
            except (httpx.TransportError, zlib.error) as error:
                self._unreachable(target, error)
            finally:
                await response.aclose()

    def _unreachable(self, target: WebTarget, error: Exception) -> NoReturn:
        told = f"{target.host} cannot be reached, or broke off ({type(error).__name__})."
        raise ProviderUnavailableError(self.provider, told) from error

    async def _first_answer(self, http: httpx.AsyncClient, target: WebTarget, hosts: Sequence[str]) -> httpx.Response:
        # The name that the certificate must carry, although the connection goes to an address.
        extensions = {} if target.is_ip else {"sni_hostname": target.host}
        headers = {"Host": target.authority, **_HEADERS}
        urls = (replace(target, host=host).url for host in hosts)
        *others, last = (http.build_request("GET", url, headers=headers, extensions=extensions) for url in urls)
        for request in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await http.send(request, stream=True)
        return await http.send(last, stream=True)

    def _proxy(self, target: WebTarget) -> str | None:
        exceptions = [name.strip().lower().lstrip(".") for name in self.proxies.get("no", "").split(",")]
        if any(name == "*" or f".{target.host}".endswith(f".{name}") for name in exceptions if name):
            return None
        proxy = self.proxies.get(target.scheme) or self.proxies.get("all")
        return f"http://{proxy}" if proxy and "://" not in proxy else proxy

    async def _hosts(self, target: WebTarget) -> list[str]:
        """Where to connect to: addresses that are permitted, or the name if a proxy connects."""
        if not self._proxy(target):
            return await self._checked_addresses(target)
        # Without an answer from the resolver here, the proxy alone knows the name.
        with suppress(ProviderUnavailableError), anyio.move_on_after(self.connect_seconds):
            await self._checked_addresses(target)
        return [target.host]

    async def _checked_addresses(self, target: WebTarget) -> list[str]:
        """The addresses of the target's name, every one of them permitted."""
        if target.is_ip:
            return [target.host]
        try:
            found = list(await self.resolve(target.host, target.port))
        except (OSError, UnicodeError) as error:
            advice = "Check that it is spelled correctly, or try again later."
            told = f"The name {target.host} could not be resolved. {advice}"
            raise ProviderUnavailableError(self.provider, told) from error
        if not found:
            raise ProviderUnavailableError(self.provider, f"The name {target.host} has no address.")
        if not all(map(self.policy.permits, found)):
            told = "This address is not fetched: its name leads into a private or special network."
            raise ForbiddenAddressError(self.provider, told)
        return found[:_MOST_ADDRESSES]

    async def _body(self, response: httpx.Response, limit: int, accept: Callable[[bytes], str] | None = None) -> bytes:
        """The decoded body. At most `limit` bytes are ever held, however well it is compressed.

        `accept` returns "" if the beginning shows that the body is not wanted. Without it any is, and of a larger one
        what fits.
        """
        told = f"The page is larger than {limit / 1024 / 1024:.3g} MB; it is not read."
        too_large = DocumentTooLargeError(self.provider, told)
        length = response.headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit and accept:
            raise too_large
        unpack = Unpacking(response.headers.get("content-encoding", ""))
        received, packed, is_wanted = bytearray(), 0, False
        async for chunk in response.aiter_raw():
            packed += len(chunk)
            try:
                received += unpack(chunk, limit + 1 - len(received))
            except ValueError as error:
                raise ProviderResponseError(self.provider, "The page came in an encoding not asked for.") from error
            if not is_wanted and len(received) >= SNIFFED:
                is_wanted = self._is_wanted(received, accept)
            if max(len(received), packed) > limit:
                if accept:
                    raise too_large
                return bytes(received[:limit])
        if not unpack.is_complete:
            raise ProviderResponseError(self.provider, "The page was cut off on its way.")
        self._is_wanted(received, accept)
        return bytes(received)

    def _is_wanted(self, received: bytearray, accept: Callable[[bytes], str] | None) -> bool:
        if accept and not accept(bytes(received[:SNIFFED])):
            raise DocumentTypeError(self.provider, "The address leads to a file that is neither text, HTML nor PDF.")
        return True

    def _raise_for_status(self, target: WebTarget, response: httpx.Response) -> None:
        status, headers = response.status_code, response.headers
        if 200 <= status < 300:
            return
        if status in (404, 410):
            raise DocumentNotFoundError(self.provider, f"{target.host} has no such page (HTTP {status}).")
        if status in (401, 402, 403, 451) or headers.get("cf-mitigated") == "challenge":
            why = _DENIALS.get(status, "does not let programs read this page")
            raise AccessDeniedError(self.provider, f"{target.host} {why} (HTTP {status}).", status=status)
        wait = retry_after_seconds(headers.get("retry-after", ""))
        if status == 429:
            told = f"{target.host} asks to be read less often (HTTP 429)."
            raise RateLimitError(self.provider, told, retry_after=wait)
        error = ProviderUnavailableError if status == 408 or status >= 500 else ProviderResponseError
        raise error(self.provider, f"{target.host} did not answer the request (HTTP {status}).", retry_after=wait)


async def _set_location_aside(response: httpx.Response) -> None:
    """Keep httpx from reading where a redirect leads, which raises errors of many kinds."""
    response.extensions["location"] = response.headers.pop("location", "")


def is_refusal(error: ProviderError) -> bool:
    """Whether `error` means that the page may not be read, rather than that it could not be."""
    return isinstance(error, ForbiddenAddressError | RobotsRefusedError | AccessDeniedError)
