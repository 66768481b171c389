"""Bearer tokens from the settings."""

from typing import Any

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.transports.http.auth import Authentication, weak_tokens
from tests.transports.conftest import Serving
from tests.transports.processes import greeting

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
