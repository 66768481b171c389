"""Access tokens of an OAuth authorization server."""

import base64
import hmac
import json
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import anyio
import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import RSAAlgorithm

from deepcritical_mcp.config import Settings
from deepcritical_mcp.tools.arguments.call_session import caller_of
from deepcritical_mcp.transports.http import auth
from deepcritical_mcp.transports.http.auth import OAuthVerifier
from tests.evidence.stand_ins import Clock
from tests.net.stand_in import Answer, Asked, as_json, stand_in
from tests.transports.conftest import Serving, content

ISSUER = "https://login.example.org"
SERVER = "https://mcp.example.org"
KEYS = {name: rsa.generate_private_key(public_exponent=65537, key_size=2048) for name in ("one", "two")}


class Issuer:
    """An authorization server that publishes the keys it is told to, and counts how often it is asked."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.requests: list[str] = []
        self.is_down = False
        self.hidden: tuple[str, ...] = ()

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request.url.path)
        if self.is_down:
            return httpx.Response(503)
        if request.url.path == "/.well-known/oauth-authorization-server":
            return httpx.Response(404)
        if request.url.path == "/.well-known/openid-configuration":
            return httpx.Response(200, json={"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"})
        assert request.url.path == "/keys"
        return httpx.Response(200, json={"keys": [self._shown(name) for name in self.names]})

    def _shown(self, name: str) -> dict[str, Any]:
        return {field: value for field, value in public_key(name).items() if field not in self.hidden}


def public_key(name: str) -> dict[str, Any]:
    key = RSAAlgorithm.to_jwk(KEYS[name].public_key(), as_dict=True)
    return {**key, "kid": name, "use": "sig", "alg": "RS256"}


def signed(claims: Mapping[str, Any] | None = None, key: str = "one", algorithm: str = "RS256") -> str:
    good = {"iss": ISSUER, "aud": SERVER, "sub": "user-1", "client_id": "app", "exp": time.time() + 600}
    payload = {name: value for name, value in {**good, **(claims or {})}.items() if value is not None}
    return jwt.encode(payload, KEYS[key], algorithm=algorithm, headers={"kid": key})


def signed_by_hand(claims: Mapping[str, Any], secret: bytes) -> str:
    """An HMAC over a public key, as if that were a secret."""
    parts = [json.dumps({"alg": "HS256", "typ": "JWT", "kid": "one"}).encode(), json.dumps(claims).encode()]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    digest = hmac.digest(secret, text, "sha256")
    return (text + b"." + base64.urlsafe_b64encode(digest).rstrip(b"=")).decode()


def issuing(asked: Asked) -> Answer:
    """What a real authorization server answers, as far as a resource server sees one."""
    address = f"http://{asked.headers['host']}"
    keys = {"keys": [public_key("one")]}
    return as_json(keys if asked.path == "/keys" else {"issuer": address, "jwks_uri": f"{address}/keys"})


def asking(answer: Callable[[httpx.Request], httpx.Response], jwks_url: str = f"{ISSUER}/keys") -> OAuthVerifier:
    """A verifier whose issuer answers so."""
    settings = Settings(oauth_issuer=ISSUER, oauth_jwks_url=jwks_url)
    return OAuthVerifier(settings, SERVER, transport=httpx.MockTransport(answer))


def with_keys(*keys: object) -> OAuthVerifier:
    """A verifier whose issuer publishes these keys."""
    return asking(lambda _: httpx.Response(200, json={"keys": keys}))


def verifier(issuer: Issuer, clock: Clock | None = None, **settings: Any) -> OAuthVerifier:
    return OAuthVerifier(
        Settings(oauth_issuer=ISSUER, **settings),
        SERVER,
        transport=httpx.MockTransport(issuer.answer),
        clock=clock or Clock(),
    )


async def test_a_good_token_names_client_issuer_and_user() -> None:
    known = await verifier(Issuer("one")).verify_token(signed({"scope": "read write"}))
    assert known is not None
    assert caller_of(known) == f"app|{ISSUER}|user-1"
    assert known.scopes == ["read", "write"]


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "PS512"])
async def test_a_key_that_names_no_algorithm_fits_every_listed_one_of_its_type(algorithm: str) -> None:
    issuer = Issuer("one")
    if not algorithm.startswith("RS256"):
        assert await verifier(issuer).verify_token(signed(algorithm=algorithm)) is None, "the key names RS256"
    issuer.hidden = ("alg",)
    assert await verifier(issuer).verify_token(signed(algorithm=algorithm)) is not None


async def test_keys_that_drip_in_hold_up_no_token_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "FETCH_TIMEOUT", 0.2)

    async def drip() -> AsyncGenerator[bytes]:
        while True:
            yield b" "
            await anyio.sleep(0.01)

    one = asking(lambda _: httpx.Response(200, content=drip()))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(one.verify_token, signed())


@pytest.mark.parametrize(
    "body",
    [
        *(b"[" * 100_000, b'{"keys":' + b"[" * 100_000, b'{"a":' * 100_000, b'{"keys": null}', b'{"keys": "keys"}'),
        *(b'{"keys": ["key", 7, {}]}', b'{"keys": [{"kty": "oct", "k": "AAAA", "use": "enc"}]}'),
    ],
    ids=lambda body: str(body[:20]),
)
async def test_a_key_set_without_a_usable_key_or_nested_too_deeply_lets_nobody_in(body: bytes) -> None:
    for jwks_url in (f"{ISSUER}/keys", ""):
        one = asking(lambda _: httpx.Response(200, content=body), jwks_url)
        assert await one.verify_token(signed()) is None


async def test_a_good_key_among_junk_is_used_and_only_so_many_are_read() -> None:
    junk: list[object] = [
        None,
        5,
        {},
        {"kty": "RSA"},
        {"kty": "RSA", "n": 5, "e": "AQAB"},
        {"kty": "new", "kid": "one"},
    ]
    junk.append({"kty": "oct", "k": "AAAA", "kid": "one"})
    same: list[object] = [{**public_key("two"), "kid": "one"}, *junk]
    many: list[object] = [{}] * 1_000
    for before, after, is_read in ((junk, same, True), (many, junk, False)):
        one = with_keys(*before, public_key("one"), *after)
        assert (await one.verify_token(signed()) is not None) is is_read


@pytest.mark.parametrize(
    "claims",
    [
        *({"iss": "https://evil.example"}, {"iss": None}, {"aud": "https://other.example.org"}, {"aud": None}),
        *({"exp": 1}, {"exp": None}, {"nbf": 9_999_999_999}),
        *({"sub": None}, {"sub": ""}, {"sub": "  "}, {"sub": "\ud800"}),
    ],
    ids=ascii,
)
async def test_a_token_for_nobody_or_for_somebody_or_some_time_else_is_refused(claims: dict[str, Any]) -> None:
    assert await verifier(Issuer("one")).verify_token(signed(claims)) is None


async def test_the_servers_addresses_are_its_audience_unless_the_settings_name_one() -> None:
    one, named = verifier(Issuer("one")), verifier(Issuer("one"), oauth_audience="deepcritical")
    for audience in (SERVER, SERVER + "/", SERVER + "/mcp", SERVER + "/sse", [SERVER, "https://other.example.org"]):
        assert await one.verify_token(signed({"aud": audience})) is not None, audience
    assert await named.verify_token(signed({"aud": "deepcritical"})) is not None
    assert await named.verify_token(signed()) is None


async def test_tokens_that_anybody_could_have_made_are_refused() -> None:
    one = verifier(Issuer("one"))
    claims = {"iss": ISSUER, "aud": SERVER, "sub": "user-1", "exp": time.time() + 600}
    public = json.dumps(public_key("one")).encode()
    forged = [
        jwt.encode(claims, "", algorithm="none", headers={"kid": "one"}),
        signed_by_hand(claims, public),
        jwt.encode(claims, KEYS["two"], algorithm="RS256", headers={"kid": "one"}),
        jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256", headers={"kid": "one"}),
        signed()[:-4] + "AAAA",
        "not.a.token",
        "",
        "x" * 100_000,
        base64.b64encode(b'{"alg":"RS256"}').decode(),
    ]
    assert [await one.verify_token(token) for token in forged] == [None] * len(forged)


async def test_a_new_key_is_fetched_but_invented_ones_do_not_flood_the_issuer_and_an_outage_locks_nobody_out() -> None:
    issuer, clock = Issuer("one"), Clock()
    one = verifier(issuer, clock)
    assert await one.verify_token(signed()) is not None
    asked = len(issuer.requests)
    issuer.names = ["two"]
    for _ in range(10):
        assert await one.verify_token(signed(key="two")) is None
    assert len(issuer.requests) == asked
    clock.now += 31
    assert await one.verify_token(signed(key="two")) is not None
    assert len(issuer.requests) == asked + 1
    clock.now += 31
    assert await one.verify_token(signed()) is None, "a key that was taken back"
    issuer.is_down = True
    clock.now += 4_000
    assert await one.verify_token(signed(key="two")) is not None, "the keys that were known last"


async def test_an_issuer_whose_metadata_names_another_is_not_believed() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path != "/keys"
        return httpx.Response(200, json={"issuer": "https://evil.example", "jwks_uri": f"{ISSUER}/keys"})

    assert await asking(answer, "").verify_token(signed()) is None


async def test_the_server_says_where_to_get_a_token_and_takes_it(serving: Serving) -> None:
    async with (
        stand_in() as issuer,
        serving(oauth_issuer=issuer.url, oauth_scopes="evidence") as server,
        server.http() as http,
    ):
        issuer.answer = issuing
        refused = await http.post("/mcp", json={})
        assert refused.status_code == 401
        where = refused.headers["www-authenticate"].split('resource_metadata="')[1].rstrip('"')
        metadata = (await http.get(where)).json()
        assert metadata["resource"].rstrip("/") == server.url
        assert [one.rstrip("/") for one in metadata["authorization_servers"]] == [issuer.url]
        assert metadata["scopes_supported"] == ["evidence"]
        claims = {"iss": issuer.url, "aud": server.url}
        too_little = await http.get("/metrics", headers={"authorization": f"Bearer {signed(claims)}"})
        assert too_little.status_code == 403
        token = signed({**claims, "scope": "evidence other"})
        async with server.client(token=token) as client:
            assert content(await client.call_tool("add_evidence", {"items": [{"content": "a note"}]}))["total"] == 1


ZEROS = b"\0" * 1_000_000


@pytest.mark.parametrize("encoding", ["identity", "gzip", "gzip, gzip", "br"])
async def test_no_more_is_read_of_the_keys_than_a_key_set_can_hold(encoding: str) -> None:
    """A gigabyte, as it is or packed."""
    sent: list[int] = []

    async def endless() -> AsyncGenerator[bytes]:
        packing = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        for _ in range(1_000):
            chunk = ZEROS if encoding == "identity" else packing.compress(ZEROS)
            sent.append(len(ZEROS))
            yield chunk

    headers = {} if encoding == "identity" else {"content-encoding": encoding}
    for jwks_url in (f"{ISSUER}/keys", ""):
        one = asking(lambda _: httpx.Response(200, headers=headers, content=endless()), jwks_url)
        assert await one.verify_token(signed()) is None
    assert sum(sent) < 50 * len(ZEROS)


@pytest.mark.parametrize("bits", [2_048, 65_536])
async def test_a_key_with_private_members_costs_nothing(bits: int) -> None:
    """A library may compute for minutes with a private exponent, while all other threads wait."""
    number = base64.urlsafe_b64encode(((1 << bits) - 1).to_bytes(bits // 8)).decode().rstrip("=")
    big = {"kty": "RSA", "kid": "big", "n": number, "e": "AQAB", "d": number}
    with anyio.fail_after(10):
        assert await with_keys(big, public_key("one")).verify_token(signed()) is not None
