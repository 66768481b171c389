"""What the guard lets through, and what it does not; the tables can be read as they stand."""

from __future__ import annotations

import datetime
import gzip
import ipaddress
import random
import ssl
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

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
from deepcritical_mcp.net.guard import FetchLimits, Guard
from deepcritical_mcp.net.public_addresses import ANY_ADDRESS, AddressPolicy, is_public
from deepcritical_mcp.net.robots import parse_robots
from tests.net.stand_in import Answer, Asked, StandIn, stand_in

HTML = b"<!doctype html><title>A page</title><p>Text.</p>"
NO_ROBOTS = Answer(404)


class Names:
    """A resolver that knows what it was told; a list of lists is answered one after the other."""

    def __init__(self, **names: Sequence[str]) -> None:
        self.names = {name.replace("_", "."): addresses for name, addresses in names.items()}
        self.then: dict[str, Sequence[str]] = {}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.names:
            raise OSError(f"{host} is unknown")
        answer = self.names[host]
        self.names[host] = self.then.get(host, answer)
        return answer


def loopback_only(address: str) -> bool:
    return address == "127.0.0.1"


def guard(names: Names | None = None, *, policy: AddressPolicy | None = None, **options: object) -> Guard:
    """A guard for which 127.0.0.1 is the public internet, and everything else is private."""
    allowed = policy or AddressPolicy(permits=loopback_only, ports=None)
    given: dict[str, object] = {"proxies": {}, "respects_robots": False, **options}
    return Guard(policy=allowed, resolve=names or Names(), **given)  # pyright: ignore[reportArgumentType]


def at(server: StandIn, host: str, path: str = "/paper") -> str:
    return f"http://{host}:{server.url.rpartition(':')[2]}{path}"


# The trick, the address, and what the name in it resolves to.
TRICKS: list[tuple[str, str, list[str]]] = [
    ("loopback", "http://127.0.0.1/", []),
    ("this host", "http://0.0.0.0/", []),
    ("private network", "http://10.1.2.3/", []),
    ("private network", "http://172.31.255.255/", []),
    ("private network", "http://192.168.1.1/", []),
    ("link-local, cloud metadata", "http://169.254.169.254/latest/meta-data/", []),
    ("metadata at a public-looking address", "http://168.63.129.16/", []),
    ("metadata in shared space", "http://100.100.100.200/", []),
    ("carrier-grade NAT", "http://100.64.0.1/", []),
    ("IETF protocol assignments", "http://192.0.0.9/", []),
    ("documentation", "http://203.0.113.7/", []),
    ("benchmarking", "http://198.19.255.1/", []),
    ("6to4 relay", "http://192.88.99.1/", []),
    ("multicast", "http://224.0.0.251/", []),
    ("reserved", "http://240.0.0.1/", []),
    ("broadcast", "http://255.255.255.255/", []),
    ("decimal", "http://2130706433/", []),
    ("hexadecimal", "http://0x7f000001/", []),
    ("hexadecimal part", "http://0x7f.1/", []),
    ("octal", "http://017700000001/", []),
    ("octal part", "http://0177.0.0.1/", []),
    ("short", "http://127.1/", []),
    ("decimal of a public address", "http://134744072/", []),
    ("percent-encoded", "http://%31%32%37.0.0.1/", []),
    ("full-width digits", "http://１２７.０.０.１/", []),
    ("ideographic full stops", "http://127。0。0。1/", []),
    ("circled digits", "http://①②⑦.0.0.1/", []),
    ("trailing dot", "http://127.0.0.1./", []),
    ("IPv6 loopback", "http://[::1]/", []),
    ("IPv6 unspecified", "http://[::]/", []),
    ("IPv4-mapped", "http://[::ffff:127.0.0.1]/", []),
    ("IPv4-mapped in hexadecimal", "http://[::ffff:7f00:1]/", []),
    ("IPv4-compatible", "http://[::127.0.0.1]/", []),
    ("IPv4-translated", "http://[::ffff:0:127.0.0.1]/", []),
    ("NAT64", "http://[64:ff9b::10.0.0.1]/", []),
    ("NAT64 of a network's own", "http://[64:ff9b:1::808:808]/", []),
    ("6to4", "http://[2002:7f00:1::1]/", []),
    ("6to4 of a public address", "http://[2002:808:808::1]/", []),
    ("Teredo", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", []),
    ("ISATAP", "http://[2a00:1450::5efe:10.0.0.1]/", []),
    ("unique local", "http://[fd00:ec2::254]/", []),
    ("IPv6 link-local", "http://[fe80::1]/", []),
    ("zone id", "http://[fe80::1%25eth0]/", []),
    ("zone id on a public address", "http://[2606:4700::1%25eth0]/", []),
    ("site-local", "http://[fec0::1]/", []),
    ("IPv6 multicast", "http://[ff02::1]/", []),
    ("IPv6 documentation", "http://[2001:db8::1]/", []),
    ("localhost", "http://localhost/", ["127.0.0.1"]),
    ("localhost in capitals with a dot", "http://LOCALHOST./", ["127.0.0.1"]),
    ("below localhost", "http://a.localhost/", ["8.8.8.8"]),
    ("one label", "http://intranet/", ["8.8.8.8"]),
    ("metadata by name", "http://metadata.google.internal/", ["8.8.8.8"]),
    ("local network", "http://printer.local/", ["8.8.8.8"]),
    ("a name for loopback", "http://inside.example/", ["127.0.0.1"]),
    ("a name for a mapped address", "http://inside.example/", ["::ffff:10.0.0.1"]),
    ("several addresses, one private", "http://inside.example/", ["8.8.8.8", "1.1.1.1", "10.0.0.1"]),
    ("several families, one private", "http://inside.example/", ["8.8.8.8", "fd00::1"]),
    ("an address with a zone", "http://inside.example/", ["fe80::1%eth0"]),
    ("no IP address at all", "http://inside.example/", ["elsewhere"]),
    ("user name", "http://user@inside.example/", ["8.8.8.8"]),
    ("user name that looks like a host", "http://who.int@127.0.0.1/", []),
    ("backslash before the real host", "http://who.int\\@127.0.0.1/", []),
    ("another port", "http://inside.example:8080/", ["8.8.8.8"]),
    ("port 0", "http://inside.example:0/", ["8.8.8.8"]),
    ("port that is no number", "http://inside.example:80a/", ["8.8.8.8"]),
    ("file", "file:///etc/passwd", []),
    ("gopher", "gopher://inside.example/_x", ["8.8.8.8"]),
    ("data", "data:text/html,hello", []),
    ("no host", "http:///path", []),
    ("brackets around a name", "http://[localhost]/", []),
    ("line break in the host", "http://inside\r\n.example/", ["10.0.0.1"]),
    ("space in the host", "http://inside .example/", []),
]


@pytest.mark.parametrize(("trick", "url", "addresses"), TRICKS, ids=[f"{row[0]}: {row[1]}" for row in TRICKS])
async def test_what_is_not_public_is_refused_before_any_connection(trick: str, url: str, addresses: list[str]):
    names = Names(inside_example=addresses, localhost=addresses, intranet=addresses, a_localhost=addresses)
    with pytest.raises(ForbiddenAddressError) as caught:
        await Guard(resolve=names, proxies={}).fetch(url)
    assert caught.value.message.startswith("This address is not fetched: ")
    assert not caught.value.retryable


PUBLIC = (
    "8.8.8.8 1.1.1.1 93.184.216.34 172.32.0.1 192.0.1.1 2606:4700:4700::1111 64:ff9b::8.8.8.8 ::ffff:8.8.8.8".split()
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str):
    assert is_public(address)


@pytest.mark.parametrize("network", ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "192.168.0.0/16", "127.0.0.0/8"])
def test_an_address_inside_an_address_is_as_public_as_that_one(network: str):
    for ip in (ipaddress.ip_network(network)[1], ipaddress.ip_network(network)[-1]):
        assert not is_public(str(ip))
        assert not is_public(f"::ffff:{ip}")
        assert not is_public(f"64:ff9b::{ip}")


async def test_the_connection_goes_to_the_address_that_was_checked():
    names = Names(paper_example=["127.0.0.1"])
    names.then["paper.example"] = ["10.0.0.1"]  # what a second look-up would get
    async with stand_in(Answer(200, HTML, "text/html; charset=iso-8859-1")) as server:
        page = await guard(names).fetch(at(server, "Paper.Example.", "/a?b=c#d"))
    assert names.asked == ["paper.example"]
    (asked,) = server.asked
    assert asked.headers["host"] == at(server, "paper.example", "")[7:]
    assert (asked.path, asked.query) == ("/a", {"b": "c"})
    assert (page.url, page.content) == (at(server, "paper.example", "/a?b=c"), HTML)
    assert (page.media_type, page.charset) == ("text/html", "iso-8859-1")


async def test_a_name_that_changes_for_the_worse_is_checked_again_at_a_redirect():
    names = Names(paper_example=["127.0.0.1"])
    names.then["paper.example"] = ["10.0.0.1"]
    async with stand_in(Answer(302, headers={"Location": "/next"})) as server:
        with pytest.raises(ForbiddenAddressError):
            await guard(names).fetch(at(server, "paper.example"))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "location",
    ["http://10.0.0.1/", "http://[::1]/", "//inside.example/", "file:///etc/passwd", "http://a@paper.example/"],
)
async def test_each_redirect_is_checked(location: str):
    names = Names(paper_example=["127.0.0.1"], inside_example=["192.168.0.1"])
    async with stand_in(Answer(302, headers={"Location": location})) as server:
        with pytest.raises(ForbiddenAddressError):
            await guard(names).fetch(at(server, "paper.example"))
    assert len(server.asked) == 1


async def test_five_redirects_are_followed_and_no_more():
    def next_one(asked: Asked) -> Answer:
        number = int(asked.path[2:])
        return Answer(301, headers={"Location": f"/a{number - 1}"}) if number else Answer(200, HTML, "text/html")

    async with stand_in() as server:
        server.answer = next_one
        assert (await guard().fetch(f"{server.url}/a5")).url == f"{server.url}/a0"
        with pytest.raises(TooManyRedirectsError):
            await guard().fetch(f"{server.url}/a6")


async def test_neither_cookies_nor_a_referrer_nor_credentials_are_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret")
    monkeypatch.setenv("NETRC", str(netrc))
    redirect = Answer(302, headers={"Location": "/next", "Set-Cookie": "id=1; Path=/"})
    async with stand_in(redirect, Answer(200, HTML, "text/html")) as server:
        await guard().fetch(at(server, "127.0.0.1"))
    assert set(server.asked[1].headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert server.asked[1].headers["user-agent"].startswith("deepcritical-mcp/")


STATUSES = [
    (401, AccessDeniedError),
    (402, AccessDeniedError),
    (403, AccessDeniedError),
    (451, AccessDeniedError),
    (404, DocumentNotFoundError),
    (410, DocumentNotFoundError),
    (429, RateLimitError),
    (400, ProviderResponseError),
    (500, ProviderUnavailableError),
    (503, ProviderUnavailableError),
]


@pytest.mark.parametrize(("status", "error"), STATUSES)
async def test_refused_missing_and_unavailable_are_different_errors(status: int, error: type[ProviderError]):
    async with stand_in(Answer(status, HTML, "text/html", {"Retry-After": "7"})) as server:
        with pytest.raises(ProviderError) as caught:
            await guard().fetch(server.url)
    assert type(caught.value) is error
    assert caught.value.retry_after == (7 if caught.value.retryable else 0)
    assert "http://" not in caught.value.message


@pytest.mark.parametrize("conduct", ["reset", "half"])
async def test_a_broken_connection_is_an_outage(conduct: str):
    async with stand_in(Answer(200, HTML, "text/html", conduct=conduct)) as server:  # pyright: ignore[reportArgumentType]
        with pytest.raises(ProviderUnavailableError):
            await guard().fetch(server.url)


async def test_an_unknown_name_and_one_without_addresses_are_outages():
    for name in ("unknown.example", "empty.example"):
        with pytest.raises(ProviderUnavailableError):
            await guard(Names(empty_example=[])).fetch(f"http://{name}/")


SMALL = FetchLimits(max_bytes=100_000)
BOMBS = [
    ("plain", b"a" * 100_001, ""),
    ("gzip", gzip.compress(b"a" * 5_000_000), "gzip"),
    ("deflate", zlib.compress(b"a" * 5_000_000), "deflate"),
    ("bare deflate", zlib.compress(b"a" * 5_000_000)[2:-4], "deflate"),
    ("gzip of nothing", gzip.compress(b"") + b"\0" * 100_001, "gzip"),
]


@pytest.mark.parametrize(("name", "body", "encoding"), BOMBS, ids=[row[0] for row in BOMBS])
async def test_too_much_is_refused_without_being_held(name: str, body: bytes, encoding: str):
    async with stand_in(Answer(200, body, "text/html", {"Content-Encoding": encoding} if encoding else {})) as server:
        with pytest.raises(DocumentTooLargeError):
            await guard(limits=SMALL).fetch(server.url)


@pytest.mark.parametrize(
    ("body", "encoding", "error"),
    [
        (gzip.compress(HTML)[:-10], "gzip", ProviderResponseError),
        (HTML, "gzip", ProviderUnavailableError),
        (gzip.compress(gzip.compress(HTML)), "gzip, gzip", ProviderResponseError),
        (HTML, "br", ProviderResponseError),
    ],
    ids=["cut off", "not packed", "packed twice", "not asked for"],
)
async def test_what_cannot_be_unpacked_is_not_a_page(body: bytes, encoding: str, error: type[ProviderError]):
    async with stand_in(Answer(200, body, "text/html", {"Content-Encoding": encoding})) as server:
        with pytest.raises(error):
            await guard().fetch(server.url)


@asynccontextmanager
async def dripping() -> AsyncGenerator[str]:
    """A server whose page never ends, a byte at a time."""

    async def drip(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
            try:
                while True:
                    await stream.send(b"a")
                    await anyio.lowlevel.checkpoint()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, drip)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/"
        tasks.cancel_scope.cancel()
    await listener.aclose()


async def test_the_time_is_limited_as_a_whole_however_often_something_arrives():
    async with dripping() as url:
        with pytest.raises(ProviderTimeoutError):
            await guard(limits=FetchLimits(seconds=0.2)).fetch(url)


PDF = b"%PDF-1.7\n"
TYPES = [
    (PDF, "application/pdf", "application/pdf"),
    (PDF, "application/octet-stream", "application/pdf"),
    (PDF, "text/html", "application/pdf"),
    (PDF, "image/png", "application/pdf"),
    (b"\n\xef" + PDF, "application/pdf", "application/pdf"),
    (HTML, "application/pdf", "text/html"),
    (HTML, "application/octet-stream", "text/html"),
    (HTML, "application/xhtml+xml", "application/xhtml+xml"),
    (b"Some words on %PDF-1.7.", "text/plain", "text/plain"),
    (b"", "text/html", "text/html"),
]


@pytest.mark.parametrize(("body", "declared", "read_as"), TYPES)
async def test_what_the_content_shows_counts_more_than_its_label(body: bytes, declared: str, read_as: str):
    async with stand_in(Answer(200, body, declared)) as server:
        assert (await guard().fetch(server.url)).media_type == read_as


@pytest.mark.parametrize("declared", ["image/png", "application/xml", "video/mp4", "application/octet-stream", ""])
async def test_other_types_are_refused(declared: str):
    async with stand_in(Answer(200, b"\x89PNG\r\n" * 400, declared)) as server:
        with pytest.raises(DocumentTypeError):
            await guard().fetch(server.url)


@pytest.mark.parametrize("declared", ["text/html", "text/plain", "application/xhtml+xml"])
async def test_bytes_that_are_no_text_are_refused_whatever_they_are_called(declared: str):
    noise = random.Random(1).randbytes(3_000)
    async with stand_in(Answer(200, noise, declared)) as server:
        with pytest.raises(DocumentTypeError):
            await guard().fetch(server.url)


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        ("Wörter \x1b[1m in UTF-16".encode("utf-16"), "text/plain"),
        ("Words in UTF-16".encode("utf-16-le"), "text/plain; charset=UTF-16LE"),
        (HTML + b"\0" + b"Text. " * 50, "text/html"),
        ("Größe, 尺寸, размер".encode(), "text/plain"),
    ],
    ids=["marked", "declared", "one NUL", "UTF-8"],
)
async def test_text_in_any_encoding_is_text(body: bytes, declared: str):
    async with stand_in(Answer(200, body, declared)) as server:
        assert (await guard().fetch(server.url)).content == body


ROBOTS = Answer(200, b"User-agent: *\nDisallow: /private\n\nUser-agent: Other\nDisallow: /", "text/plain")


async def test_robots_txt_is_respected_and_asked_for_once():
    async with stand_in() as server:
        server.answer = lambda asked: ROBOTS if asked.path == "/robots.txt" else Answer(200, HTML, "text/html")
        reader = guard(respects_robots=True)
        await reader.fetch(at(server, "127.0.0.1", "/open"))
        with pytest.raises(RobotsRefusedError):
            await reader.fetch(at(server, "127.0.0.1", "/private/1"))
    assert [asked.path for asked in server.asked] == ["/robots.txt", "/open"]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_without_a_robots_txt_everything_may_be_read(status: int):
    async with stand_in(Answer(status), Answer(200, HTML, "text/html")) as server:
        assert (await guard(respects_robots=True).fetch(server.url)).content == HTML


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_while_robots_txt_is_unavailable_the_page_is_an_outage(status: int):
    async with stand_in(Answer(status)) as server:
        reader = guard(respects_robots=True)
        with pytest.raises(ProviderError) as caught:
            await reader.fetch(server.url)
        assert caught.value.retryable
        server.will(NO_ROBOTS, Answer(200, HTML, "text/html"))
        assert (await reader.fetch(server.url)).content == HTML


@pytest.mark.parametrize(
    "location", ["http://10.0.0.1/robots.txt", "http://inside.example/", "http://[::", "ftp://a.b/"]
)
async def test_robots_txt_is_behind_the_guard_too_and_counts_as_missing_if_it_leads_elsewhere(location: str):
    names = Names(inside_example=["10.0.0.1"])
    async with stand_in(Answer(302, headers={"Location": location}), Answer(200, HTML, "text/html")) as server:
        assert (await guard(names, respects_robots=True).fetch(at(server, "127.0.0.1"))).content == HTML
    assert [asked.path for asked in server.asked] == ["/robots.txt", "/paper"]


async def test_a_private_page_is_refused_before_its_robots_txt_is_asked_for():
    with pytest.raises(ForbiddenAddressError):
        await guard(Names(inside_example=["10.0.0.1"]), respects_robots=True).fetch("http://inside.example/")


async def test_private_addresses_and_other_ports_can_be_allowed():
    async with stand_in(Answer(200, HTML, "text/html")) as server:
        page = await guard(policy=ANY_ADDRESS).fetch(server.url)
    assert page.url == f"{server.url}/"


async def test_a_proxy_connects_instead_of_us_and_what_the_address_shows_is_still_checked():
    names = Names()
    async with stand_in(Answer(200, HTML, "text/html")) as proxy:
        reader = Guard(resolve=names, proxies={"http": proxy.url, "no": "direct.example"}, respects_robots=False)
        page = await reader.fetch("http://paper.example/a")
        for url in ("http://10.0.0.1/", "http://wiki.internal/", "http://paper.example:8080/"):
            with pytest.raises(ForbiddenAddressError):
                await reader.fetch(url)
        with pytest.raises(ProviderUnavailableError):
            await reader.fetch("http://direct.example/")
    assert page.content == HTML
    assert [asked.headers["host"] for asked in proxy.asked] == ["paper.example"]
    assert names.asked == ["paper.example", "direct.example"]


def certificate(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS contexts of a server with a certificate for `name`, and of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(pem + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem")
    return server, ssl.create_default_context(cadata=pem.decode())


async def test_the_certificate_is_checked_for_the_name_although_the_connection_goes_to_an_address(tmp_path: Path):
    server_tls, client_tls = certificate("paper.example", tmp_path)
    seen: list[str] = []
    server_tls.sni_callback = lambda _, name, __: seen.append(name)
    names = Names(paper_example=["127.0.0.1"], other_example=["127.0.0.1"])
    async with stand_in(Answer(200, HTML, "text/html"), tls=server_tls) as server:
        reader = guard(names, tls=client_tls)
        url = at(server, "paper.example").replace("http://", "https://")
        assert (await reader.fetch(url)).content == HTML
        with pytest.raises(ProviderUnavailableError):
            await reader.fetch(url.replace("paper.", "other."))
    assert seen == ["paper.example", "other.example"]


async def test_a_redirect_to_an_unencrypted_address_is_followed_over_tls(tmp_path: Path):
    server_tls, client_tls = certificate("paper.example", tmp_path)
    async with stand_in(tls=server_tls) as server:
        downgrade = Answer(302, headers={"Location": at(server, "paper.example", "/next")})
        server.answer = lambda asked: Answer(200, HTML, "text/html") if asked.path == "/next" else downgrade
        reader = guard(Names(paper_example=["127.0.0.1"]), tls=client_tls)
        page = await reader.fetch(at(server, "paper.example").replace("http://", "https://"))
    assert page.url == at(server, "paper.example", "/next").replace("http://", "https://")


RULES = """
User-agent: one
User-agent: deepcritical-mcp
Disallow: /a          # a comment
Allow: /a/b
Disallow: /*.pdf$
Disallow: /x*y*z
Disallow: /ä
Disallow:

User-agent: *
Disallow: /
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/a", False),
        ("/a/b/c", True),
        ("/x1y2z3", False),
        ("/x1y2", True),
    ],
)
def test_the_longest_rule_decides(path: str, allowed: bool):
    assert parse_robots(RULES, "deepcritical-mcp").allows(path) is allowed


def test_many_wildcards_take_no_time():
    rules = parse_robots("User-agent: *\nDisallow: /" + "*a" * 2_000 + "$", "two")
    assert rules.allows("/" + "a" * 10_000 + "b")


def test_others_have_rules_of_their_own():
    assert not parse_robots(RULES, "two").allows("/")
    assert parse_robots("", "two").allows("/")
    assert parse_robots("\x00<html>not: robots", "two").allows("/")


async def test_the_next_address_is_tried_if_the_first_one_does_not_answer():
    policy = AddressPolicy(permits=lambda address: address.startswith("127."), ports=None)
    names = Names(paper_example=["127.0.0.2", "127.0.0.1"])
    async with stand_in(Answer(200, HTML, "text/html")) as server:
        assert (await guard(names, policy=policy).fetch(at(server, "paper.example"))).content == HTML
