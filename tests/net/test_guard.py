"""What the guard lets through, and what it does not; the tables can be read as they stand."""

import gzip
import random
import ssl
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from hypothesis import example, given
from hypothesis import strategies as st

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
from deepcritical_mcp.net.guard import Guard, allows, parse_robots
from deepcritical_mcp.net.public_addresses import AddressPolicy, is_public
from tests.net.stand_in import Answer, Asked, StandIn, certificate, stand_in

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


REFUSED = r"""
http://127.0.0.1/ http://0.0.0.0/ http://10.1.2.3/ http://172.31.255.255/ http://192.168.1.1/ http://100.64.0.1/
http://169.254.169.254/latest/meta-data/ http://168.63.129.16/ http://100.100.100.200/ http://192.0.0.9/
http://203.0.113.7/ http://198.19.255.1/ http://192.88.99.1/ http://224.0.0.251/ http://240.0.0.1/
http://255.255.255.255/ http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://017700000001/ http://0177.0.0.1/
http://127.1/ http://134744072/ http://%31%32%37.0.0.1/ http://１２７.０.０.１/ http://127。0。0。1/ http://①②⑦.0.0.1/
http://127.0.0.1./ http://[::1]/ http://[::]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[::127.0.0.1]/
http://[::ffff:0:127.0.0.1]/ http://[64:ff9b::10.0.0.1]/ http://[64:ff9b:1::808:808]/ http://[2002:7f00:1::1]/
http://[2002:808:808::1]/ http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/ http://[2a00:1450::5efe:10.0.0.1]/
http://[fd00:ec2::254]/ http://[fe80::1]/ http://[fe80::1%25eth0]/ http://[2606:4700::1%25eth0]/ http://[fec0::1]/
http://[ff02::1]/ http://[2001:db8::1]/ http://who.int@127.0.0.1/ http://who.int\@127.0.0.1/ file:///etc/passwd
data:text/html,hello http:///path http://[localhost]/
""".split()
"""Addresses of special networks in every spelling, what hides the host, and other schemes."""
# An address, and what the name in it resolves to.
RESOLVED = [
    *((url, ["8.8.8.8"]) for url in "http://a.localhost/ http://intranet/ http://metadata.google.internal/".split()),
    *(
        (url, ["8.8.8.8"])
        for url in "http://printer.local/ http://user@inside.example/ gopher://inside.example/".split()
    ),
    *((f"http://inside.example:{port}/", ["8.8.8.8"]) for port in ("8080", "0", "80a")),
    *(
        ("http://inside.example/", [address])
        for address in ("127.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0", "elsewhere")
    ),
    *(("http://inside.example/", ["8.8.8.8", "1.1.1.1", address]) for address in ("10.0.0.1", "fd00::1")),
    *((url, ["127.0.0.1"]) for url in ("http://localhost/", "http://LOCALHOST./")),
    *((url, ["10.0.0.1"]) for url in ("http://inside\r\n.example/", "http://inside .example/")),
]


@pytest.mark.parametrize(("url", "addresses"), [*((url, []) for url in REFUSED), *RESOLVED])
async def test_what_is_not_public_is_refused_before_any_connection(url: str, addresses: list[str]):
    names = Names(inside_example=addresses, localhost=addresses, intranet=addresses, a_localhost=addresses)
    with pytest.raises(ForbiddenAddressError) as caught:
        await Guard(resolve=names, proxies={}).fetch(url)
    assert caught.value.message.startswith("This address is not fetched: ")
    assert not caught.value.retryable


PUBLIC = "8.8.8.8 1.1.1.1 93.184.216.34 172.32.0.1 192.0.1.1 2606:4700:4700::1111 64:ff9b::8.8.8.8 ::ffff:8.8.8.8"


def test_public_addresses_are_allowed():
    assert [one for one in PUBLIC.split() if not is_public(one)] == []


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


@pytest.mark.parametrize(
    "location", ["http://10.0.0.1/", "/next", "//inside.example/", "file:///etc/passwd", "http://a@paper.example/"]
)
async def test_each_redirect_is_checked(location: str):
    names = Names(paper_example=["127.0.0.1"], inside_example=["192.168.0.1"])
    names.then["paper.example"] = ["10.0.0.1"]  # for "/next"
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


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, AccessDeniedError) for status in (401, 402, 403, 451)),
        *((404, DocumentNotFoundError), (410, DocumentNotFoundError), (429, RateLimitError)),
        *((400, ProviderResponseError), (500, ProviderUnavailableError), (503, ProviderUnavailableError)),
    ],
)
async def test_refused_missing_and_unavailable_are_different_errors(status: int, error: type[ProviderError]):
    async with stand_in(Answer(status, HTML, "text/html", {"Retry-After": "7"})) as server:
        with pytest.raises(ProviderError) as caught:
            await guard().fetch(server.url)
    assert type(caught.value) is error
    assert caught.value.retry_after == (7 if caught.value.retryable else 0)
    assert "http://" not in caught.value.message


@pytest.mark.parametrize("conduct", ["reset", "half"])
async def test_a_broken_connection_or_a_name_without_an_address_is_an_outage(conduct: str):
    for name in ("unknown.example", "empty.example"):
        with pytest.raises(ProviderUnavailableError):
            await guard(Names(empty_example=[])).fetch(f"http://{name}/")
    async with stand_in(Answer(200, HTML, "text/html", conduct=conduct)) as server:  # pyright: ignore[reportArgumentType]
        with pytest.raises(ProviderUnavailableError):
            await guard().fetch(server.url)


SMALL = 100_000
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
            await guard(max_bytes=SMALL).fetch(server.url)


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
            await guard(seconds=0.2).fetch(url)


PDF, PDF_TYPE = b"%PDF-1.7\n", "application/pdf"


@pytest.mark.parametrize(
    ("body", "declared", "read_as"),
    [
        *((PDF, declared, PDF_TYPE) for declared in (PDF_TYPE, "application/octet-stream", "text/html", "image/png")),
        (b"\n\xef" + PDF, PDF_TYPE, PDF_TYPE),
        *((HTML, declared, "text/html") for declared in (PDF_TYPE, "application/octet-stream", "text/html")),
        (HTML, "application/xhtml+xml", "application/xhtml+xml"),
        (b"Some words on %PDF-1.7.", "text/plain", "text/plain"),
        (b"", "text/html", "text/html"),
    ],
)
async def test_what_the_content_shows_counts_more_than_its_label(body: bytes, declared: str, read_as: str):
    async with stand_in(Answer(200, body, declared)) as server:
        assert (await guard().fetch(server.url)).media_type == read_as


PNG, NOISE = b"\x89PNG\r\n" * 400, random.Random(1).randbytes(3_000)


@pytest.mark.parametrize(
    ("body", "declared"),
    [(PNG, "image/png"), (PNG, "application/xml"), (PNG, ""), (NOISE, "text/html"), (NOISE, "text/plain")],
)
async def test_other_types_and_bytes_that_are_no_text_are_refused(body: bytes, declared: str):
    async with stand_in(Answer(200, body, declared)) as server:
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
        with pytest.raises(ForbiddenAddressError):
            await reader.fetch("http://10.0.0.1/open")
    assert [asked.path for asked in server.asked] == ["/robots.txt", "/open"]


@pytest.mark.parametrize("status", [401, 403, 404, 410, 429, 500, 503])
async def test_without_a_robots_txt_all_may_be_read_and_while_it_is_unavailable_nothing(status: int):
    async with stand_in(Answer(status), Answer(200, HTML, "text/html")) as server:
        reader = guard(respects_robots=True)
        if status in (429, 500, 503):
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


def tls_contexts(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS contexts of a server with a certificate for `name`, and of a client that trusts it."""
    public, private = certificate(folder, x509.DNSName(name))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(public, private)
    return server, ssl.create_default_context(cafile=public)


async def test_the_certificate_is_checked_for_the_name_although_the_connection_goes_to_an_address(tmp_path: Path):
    server_tls, client_tls = tls_contexts("paper.example", tmp_path)
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
    server_tls, client_tls = tls_contexts("paper.example", tmp_path)
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


def test_the_longest_rule_decides_and_others_have_rules_of_their_own():
    rules = parse_robots(RULES, "deepcritical-mcp")
    allowed = {"/": True, "/a": False, "/a/b/c": True, "/x1y2z3": False, "/x1y2": True}
    assert {path: allows(rules, path) for path in allowed} == allowed
    assert not allows(parse_robots(RULES, "two"), "/")
    assert allows(parse_robots("", "two"), "/")
    assert allows(parse_robots("\x00<html>not: robots", "two"), "/")


def test_many_wildcards_take_no_time():
    rules = parse_robots("User-agent: *\nDisallow: /" + "*a" * 2_000 + "$", "two")
    assert allows(rules, "/" + "a" * 10_000 + "b")


async def test_the_next_address_is_tried_if_the_first_one_does_not_answer():
    policy = AddressPolicy(permits=lambda address: address.startswith("127."), ports=None)
    names = Names(paper_example=["127.0.0.2", "127.0.0.1"])
    async with stand_in(Answer(200, HTML, "text/html")) as server:
        assert (await guard(names, policy=policy).fetch(at(server, "paper.example"))).content == HTML


PIECES = "http: https: // / 127.0.0.1 xn-- [ ] ::1 : @ ? # % .. 0 99999 -80 \u2603 .com \\ \x7f \u2100".split(" ")
LONG_PIECES = [*PIECES, " ", "a" * 300, "x" * 70_000]
locations = st.lists(
    st.sampled_from(LONG_PIECES) | st.text(st.characters(exclude_characters="\r\n"), max_size=4), max_size=7
)


async def fetched_after(location: str) -> None:
    redirect = Answer(302, headers={"Location": location})
    async with stand_in(redirect, Answer(200, HTML, "text/html")) as server:
        policy = AddressPolicy(permits=loopback_only, ports=frozenset({int(server.url.rpartition(":")[2])}))
        with suppress(ProviderError):
            await guard(policy=policy).fetch(at(server, "127.0.0.1"))


@given(locations.map("".join).map(lambda text: text.encode(errors="ignore").decode()))
@example("http:127.0.0.1/ok")
@example("http://xn--" + "a" * 70 + ".com/")
@example("http://[::1")
@example("/" + "a" * 60_000)
def test_wherever_a_redirect_leads_only_provider_errors_are_raised(location: str):
    anyio.run(fetched_after, location)


@given(st.lists(st.sampled_from(LONG_PIECES) | st.text(max_size=4), max_size=7).map("".join))
@example("http://xn--a.example/")
@example("http://paper.example/" + "a" * 70_000)
@example("http://paper.example/\ud800")
@pytest.mark.parametrize("proxies", [{}, {"all": "127.0.0.1:9"}], ids=["direct", "proxy"])
def test_whatever_address_is_asked_for_only_provider_errors_are_raised(proxies: dict[str, str], rest: str):
    reader = guard(policy=AddressPolicy(permits=lambda _: False), proxies=proxies)
    for url in (rest, f"http://{rest}"):
        with pytest.raises(ProviderError):
            anyio.run(reader.fetch, url)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_names_are_checked_behind_a_proxy_too(variable: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    names = Names(inside_example=["8.8.8.8", "10.0.0.1"], paper_example=["8.8.8.8"], nowhere_example=[])
    async with stand_in(Answer(200, HTML, "text/html")) as proxy:
        monkeypatch.setenv(variable, proxy.url.removeprefix("http://") if variable.isupper() else proxy.url)
        reader = Guard(resolve=names, respects_robots=False)
        for forbidden in (reader.fetch, reader.check):
            with pytest.raises(ForbiddenAddressError):
                await forbidden("http://inside.example/ok")
        for known_or_not in ("paper.example", "nowhere.example", "unknown.example"):
            assert (await reader.fetch(f"http://{known_or_not}/")).content == HTML
        proxy.will(Answer(302, headers={"Location": "http://inside.example/"}))
        with pytest.raises(ForbiddenAddressError):
            await reader.fetch("http://paper.example/")
    hosts = [asked.headers["host"].removesuffix(".example") for asked in proxy.asked]
    assert hosts == ["paper", "nowhere", "unknown", "paper"]
