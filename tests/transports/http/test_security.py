"""Host, Origin and bearer tokens: which requests are answered at all."""

from typing import Any

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.transports.http.auth import Authentication, weak_tokens
from deepcritical_mcp.transports.http.security import serves_one_user
from tests.transports.conftest import Serving
from tests.transports.processes import greeting

PATHS = ("/health", "/ready", "/metrics", "/mcp", "/sse", "/messages/", "/nowhere")
FAKE_HOSTS = (
    *("127.0.0.1.evil.example", "localhost.evil.example", "localhost:8000@evil.example", "localhost/x", "[::1"),
    *("127.0.0.1:80/messages", "0.0.0.0", "", "evil.example:80", "localhost:99999999"),
)
FAKE_ORIGINS = (
    *("null", "http://localhost.evil.example", "http://evil.example#localhost", "file://", "localhost", "http://[::1"),
    *("http://[::1]evil", "http://[::1]@evil.example", "http://localhost:1@evil.example"),
)


@pytest.mark.parametrize(
    ("header", "status"), [({"host": "evil.example"}, 421), ({"origin": "https://evil.example"}, 403)]
)
async def test_a_rebound_host_name_and_a_page_from_elsewhere_are_refused_on_every_path(
    serving: Serving, header: dict[str, str], status: int
) -> None:
    async with serving() as server, server.http(headers=header) as http:
        for path in PATHS:
            answer = await http.get(path)
            assert answer.status_code == status, path
            assert "access-control-allow-origin" not in answer.headers


async def test_loopback_has_many_names_and_what_only_looks_like_one_is_refused(serving: Serving) -> None:
    async with serving() as server, server.http() as http:
        for host in ("localhost", "localhost:1234", "LOCALHOST", "127.0.0.1", "[::1]:80"):
            assert (await http.get("/health", headers={"host": host})).status_code == 200, host
        for origin in ("http://localhost:6274", "http://127.0.0.1", "http://[::1]:80"):
            assert (await http.get("/health", headers={"origin": origin})).status_code == 200, origin
        for hosts in (b" HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n", b" HTTP/1.0\r\n"):
            answer = await server.raw(b"GET /health" + hosts + b"\r\n")
            assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 421")), answer
        for host in FAKE_HOSTS:
            assert (await http.get("/health", headers={"host": host})).status_code in (400, 421), host
        for origin in FAKE_ORIGINS:
            assert (await http.get("/health", headers={"origin": origin})).status_code == 403, origin


async def test_hosts_named_in_the_settings_are_answered_and_no_others(serving: Serving) -> None:
    settings = {"allowed_hosts": "api.example.org, *.example.net", "public_url": "https://mcp.example.com"}
    async with serving(**settings) as server, server.http() as http:
        for host in ("api.example.org", "api.example.org:443", "a.b.example.net", "mcp.example.com"):
            assert (await http.get("/health", headers={"host": host})).status_code == 200, host
        for host in ("example.net", "evilexample.net", "example.net.evil.example"):
            assert (await http.get("/health", headers={"host": host})).status_code == 421, host


async def test_pages_named_in_the_settings_may_call_and_read_the_answer(serving: Serving) -> None:
    origin = "https://app.example.org"
    async with serving(cors_origins=origin) as server, server.http(headers={"origin": origin}) as http:
        wanted = "authorization, mcp-protocol-version, mcp-param-query"
        preflight = {"access-control-request-method": "POST", "access-control-request-headers": wanted}
        asked = await http.options("/mcp", headers=preflight)
        answer = await http.get("/health")
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == origin
    assert "mcp-param-query" in asked.headers["access-control-allow-headers"]
    assert answer.headers["access-control-allow-origin"] == origin
    assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    ("host", "settings", "insecure", "is_users"),
    [
        *((host, {}, False, True) for host in ("127.0.0.1", "localhost", "::1")),
        *((host, {}, True, False) for host in ("127.0.0.1", "::")),
        ("0.0.0.0", {"public_url": "http://127.0.0.1:8000"}, True, False),
        ("127.0.0.1", {"public_url": "http://localhost:8000", "allowed_hosts": "localhost [::1]:8000"}, False, True),
        ("127.0.0.1", {"cors_origins": "http://localhost:6274, http://127.0.0.1"}, False, True),
        *(
            ("127.0.0.1", {name: value}, False, False)
            for name, value in (
                *(("auth_tokens", "alice:0123456789"), ("oauth_issuer", "https://login.example.org")),
                *(("public_url", "https://mcp.example.org"), ("public_url", "http://localhost@mcp.example.org")),
                *(("public_url", "http://localhost.example.org"), ("allowed_hosts", "localhost *.example.org")),
                *(("allowed_hosts", "*"), ("cors_origins", "*"), ("trusted_proxies", "127.0.0.1")),
                ("cors_origins", "http://localhost:6274 https://app.example.org"),
            )
        ),
    ],
)
def test_a_server_serves_one_user_if_nothing_lets_in_anybody_else(
    host: str, settings: dict[str, str], insecure: bool, is_users: bool
) -> None:
    assert serves_one_user(Settings.model_validate(settings), host, insecure=insecure) is is_users


TOKENS = "alice:alice-token-0123456789,bob:bob-token-0123456789"
ALICE = "alice-token-0123456789"
GUARDED = ("/mcp", "/sse", "/messages/?session_id=0", "/metrics")


async def test_without_a_token_nobody_comes_in_but_health_can_be_asked(serving: Serving) -> None:
    async with serving(auth_tokens=TOKENS) as server, server.http() as http:
        for path in GUARDED:
            answer = await http.get(path)
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"].startswith("Bearer ")
            assert "resource_metadata" not in answer.headers["www-authenticate"]  # there is nobody to get a token from
        assert (await http.get("/health")).status_code == 200
        assert (await http.get("/.well-known/oauth-protected-resource")).status_code == 404


@pytest.mark.parametrize(
    "token",
    ["wrong", "", "alice", f"alice:{ALICE}", f"{ALICE} ", ALICE.upper(), ALICE[:-1], "\N{GREEK SMALL LETTER ALPHA}"],
)
async def test_a_wrong_token_is_refused(token: str) -> None:
    settings = Settings(auth_tokens=TOKENS)  # type: ignore[arg-type]
    assert await Authentication(settings, "http://localhost").verify_token(token) is None


async def test_a_connection_cannot_be_taken_over_with_another_token(serving: Serving) -> None:
    async with serving(auth_tokens=TOKENS) as server, server.http() as http:
        headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {ALICE}"}
        opened = await http.post("/mcp", headers=headers, json=greeting())
        headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        question: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        assert (await http.post("/mcp", headers=headers, json=question)).status_code == 200
        headers["authorization"] = "Bearer bob-token-0123456789"
        assert (await http.post("/mcp", headers=headers, json=question)).status_code == 404


async def test_wrong_tokens_lock_out_who_guesses_but_not_good_tokens_from_the_same_address(serving: Serving) -> None:
    async with serving(auth_tokens=f"{TOKENS},carol:short") as server, server.http() as http:
        answers = [
            await http.get("/metrics", headers={"authorization": f"Bearer {token}"})
            for token in (*(f"guess-{number}" for number in range(25)), "short", ALICE)
        ]
        without = [
            await http.get("/metrics", headers={"authorization": header} if header else {})
            for header in ("", "Bearer", "Basic YWxpY2U6eA==")
        ]
    # A token that can be guessed must wait even if it is right.
    assert [answer.status_code for answer in answers] == [401] * 20 + [429] * 6 + [200]
    assert int(answers[-2].headers["retry-after"]) >= 1
    assert [(answer.status_code, answer.json()["error_description"]) for answer in without] == [
        (401, "Authentication required")
    ] * 3


@pytest.mark.parametrize(("trusted", "last"), [("", 429), ("127.0.0.1", 401)], ids=["unknown", "trusted"])
async def test_only_a_trusted_proxy_may_say_for_whom_it_asks(serving: Serving, trusted: str, last: int) -> None:
    async with serving(auth_tokens=TOKENS, trusted_proxies=trusted) as server, server.http() as http:
        guess = {"authorization": "Bearer guess"}
        answers = [await http.get("/metrics", headers={**guess, "x-forwarded-for": f"192.0.2.{n}"}) for n in range(21)]
    assert answers[-1].status_code == last  # one guess each, or all from one address


def test_tokens_are_secrets_and_short_ones_are_named() -> None:
    settings = Settings(auth_tokens="alice:short, bob:bob-token-0123456789")  # type: ignore[arg-type]
    whole = settings.auth_tokens.get_secret_value()
    assert weak_tokens(settings) == ["alice"]
    assert set(settings.secrets) == {whole, "short", "bob-token-0123456789"}
    assert "short" not in repr(settings)
