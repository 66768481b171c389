"""Which addresses on the internet a page may be fetched from."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.errors import ForbiddenAddressError
from deepcritical_mcp.urls import DEFAULT_PORTS, ascii_host

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_NAMES = tuple(".localhost .local .internal .intranet .lan .home .corp .private .home.arpa .onion".split())

_SPECIAL = [ipaddress.ip_network(row) for row in data_lines(__file__, "special_networks.txt")]
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet.

    IPv6 addresses that lead to an IPv4 address count as that one (mapped, NAT64's well-known prefix), or are refused
    as a whole where nothing public lives: 6to4, Teredo, ISATAP, IPv4-compatible and a network's own NAT64.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id:
            return False
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _GLOBAL_V6 or (int(ip) >> 32) & 0xFFFFFFFF in _ISATAP:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _SPECIAL)


@dataclass(frozen=True)
class AddressPolicy:
    """What may be fetched.

    Attributes:
        permits: whether a connection may go to this IP address.
        ports: allowed ports; None = all.
        local_names: whether names such as "localhost" and "wiki.internal" may be looked up.
    """

    permits: Callable[[str], bool] = is_public
    ports: frozenset[int] | None = frozenset(DEFAULT_PORTS.values())
    local_names: bool = False


ANY_ADDRESS = AddressPolicy(permits=lambda _: True, ports=None, local_names=True)
"""For intranets, and tests on loopback."""


@dataclass(frozen=True)
class WebTarget:
    """An address that may be fetched, as far as it can be told without looking its name up.

    Attributes:
        host: in ASCII and lower case, without a trailing dot; an IPv6 address without brackets.
        is_ip: whether the host is an IP address.
        path: with the query, as it is sent.
    """

    scheme: str
    host: str
    port: int
    path: str
    is_ip: bool

    @property
    def authority(self) -> str:
        """Host and port as in the address and in the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.authority}{self.path}"


def checked_target(provider: str, url: str, policy: AddressPolicy) -> WebTarget:
    """The target of `url` under `policy`. The addresses that its name leads to are still to be checked.

    Raises:
        ForbiddenAddressError: it may not be fetched; the message says why.
    """

    def refuse(reason: str) -> ForbiddenAddressError:
        return ForbiddenAddressError(provider, f"This address is not fetched: {reason}.")

    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise refuse("it is not a valid web address") from error
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise refuse("only http:// and https:// addresses are read")
    if "@" in parts.netloc:
        raise refuse("it contains a user name or password")
    host, is_ip = _host(parts)
    if not host:
        raise refuse("its host is not written as a name or a plain IP address")
    port = DEFAULT_PORTS[scheme] if port is None else port
    if policy.ports is not None and port not in policy.ports:
        raise refuse(f"port {port} is not one of the web's (80 and 443)")
    is_local = "." not in host or f".{host}".endswith(_LOCAL_NAMES)
    if is_local and not policy.local_names and not is_ip:
        raise refuse("its name belongs to a local network")
    if is_ip and not policy.permits(host):
        raise refuse("it leads into a private or special network")
    query = f"?{parts.query}" if parts.query else ""
    return WebTarget(scheme, host, port, (parts.path or "/") + query, is_ip)


def _host(parts: SplitResult) -> tuple[str, bool]:
    """The host in its one plain form, and whether it is an IP address; "" for any other form.

    Numbers that some systems read as an IPv4 address (2130706433, 0x7f.1, 127.1, 0177.0.0.1) are not plain.
    """
    host = parts.hostname or ""
    if parts.netloc.startswith("["):
        try:
            return ipaddress.IPv6Address(host).compressed if "%" not in host else "", True
        except ValueError:
            return "", True
    host = ascii_host(host)
    labels = host.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(host)), True
        except ValueError:
            return "", True
    return (host, False) if len(host) <= 253 and all(map(_LABEL.fullmatch, labels)) else ("", False)
