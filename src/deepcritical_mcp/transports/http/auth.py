"""Authentication: bearer tokens from the settings, and access tokens (JWTs) of an OAuth authorization server."""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar, cast

import anyio
import httpx
import jwt
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.authentication import AuthCredentials, AuthenticationError
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.net.fields import json_answer, list_of
from deepcritical_mcp.transports.http.caller_context import client_address
from deepcritical_mcp.transports.http.calls import RateLimit
from deepcritical_mcp.transports.http.security import refusal

T = TypeVar("T")
logger = logging.getLogger(__name__)

MAX_WRONG_TOKENS_PER_MINUTE = 20
MIN_SAFE_TOKEN_LENGTH = 20
# Asymmetric only: never "none", and never HMAC, which would accept the public key as its secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
KEY_TYPES = ("RSA", "EC", "OKP")
MAX_KEYS = 1_000
MAX_MEMBER = 1_400
"""Characters of one member of a key: an RSA modulus of 8,192 bits has 1,366."""
_PUBLIC_MEMBERS = ("kty", "kid", "alg", "n", "e", "crv", "x", "y")
MAX_ANSWER_BYTES = 1024 * 1024
KEYS_MAX_AGE = 3_600.0  # seconds
FETCH_TIMEOUT = 5.0  # seconds for the metadata and the keys together
MIN_FETCH_INTERVAL = 30.0  # seconds
CLOCK_SKEW = 30  # seconds
MAX_TOKEN_LENGTH = 16_384
_ISSUER = ("oauth", "The OAuth issuer")
_METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


class OAuthVerifier:
    """Verifies JWT access tokens: signature, issuer, audience, expiry.

    Keys are fetched on first use, kept for an hour, and fetched again for an unknown key id, but at most twice a
    minute, so that made-up key ids cannot make this server flood the issuer.
    """

    def __init__(
        self,
        settings: Settings,
        public_url: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer, self._jwks_url = settings.oauth_issuer, settings.oauth_jwks_url
        ours = [public_url.rstrip("/") + end for end in ("", "/", "/mcp", "/sse")]
        self._audiences = [settings.oauth_audience] if settings.oauth_audience else ours
        self._http = httpx.AsyncClient(transport=transport)
        once = RetryPolicy(attempts=1, attempt_timeout=FETCH_TIMEOUT, max_response_bytes=MAX_ANSWER_BYTES)
        self._api = ApiClient(self._http, provider=_ISSUER[0], title=_ISSUER[1], retry=once)
        self._clock = clock
        self._fetching = anyio.Lock()
        self._keys: dict[str, dict[str, Any]] = {}
        self._fetched = -math.inf

    async def verify_token(self, token: str) -> AccessToken | None:
        """The claims of a valid token; None if it is not valid."""
        if len(token) > MAX_TOKEN_LENGTH:
            return None
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(str(header.get("kid", "")))
            if key is None or header.get("alg") not in ALGORITHMS:
                return None
            claims = jwt.decode(
                token,
                jwt.PyJWK(key, str(key.get("alg") or header["alg"])),
                algorithms=list(ALGORITHMS),
                audience=self._audiences,
                issuer=[self._issuer, f"{self._issuer}/"],
                leeway=CLOCK_SKEW,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            logger.info("refused an access token: %s", type(error).__name__)
            return None
        subject = str(claims["sub"])
        if not subject.strip() or subject != subject.encode(errors="ignore").decode():  # JSON may have half a character
            return None
        scope = claims.get("scope") or claims.get("scp")
        scopes = [*map(str, scope.split() if isinstance(scope, str) else list_of(scope))]
        client, issued = str(claims.get("client_id") or claims.get("azp") or "oauth"), {"iss": str(claims["iss"])}
        expires = int(claims["exp"])
        return AccessToken(
            token=token, client_id=client, scopes=scopes, expires_at=expires, subject=subject, claims=issued
        )

    async def aclose(self) -> None:
        """Close the connection to the issuer."""
        await self._http.aclose()

    async def _key(self, key_id: str) -> dict[str, Any] | None:
        known = self._keys.get(key_id)
        if known is not None and self._age() <= KEYS_MAX_AGE:
            return known  # without waiting for the lock, which a slow fetch may hold
        async with self._fetching:
            if self._age() > (MIN_FETCH_INTERVAL if key_id not in self._keys else KEYS_MAX_AGE):
                await self._fetch()
        return self._keys.get(key_id) if key_id or len(self._keys) != 1 else next(iter(self._keys.values()))

    def _age(self) -> float:
        return self._clock() - self._fetched

    async def _fetch(self) -> None:
        self._fetched = self._clock()
        try:
            with anyio.fail_after(FETCH_TIMEOUT):
                self._jwks_url = self._jwks_url or await self._discover()
                self._keys = await self._get(self._jwks_url, _signing_keys)
        except (TimeoutError, ProviderError, ValueError, TypeError) as error:
            # Keep the known keys: a short outage of the issuer must not lock its users out.
            logger.warning("could not fetch the OAuth issuer's keys: %s", type(error).__name__)

    async def _discover(self) -> str:
        for path in _METADATA_PATHS:
            with suppress(ProviderError, ValueError):
                metadata = await self._get(self._issuer + path, lambda answer: answer)
                if str(metadata.get("issuer", "")).rstrip("/") == self._issuer and metadata.get("jwks_uri"):
                    return str(metadata["jwks_uri"])
        raise ValueError("no metadata document names this issuer and a jwks_uri")

    async def _get(self, url: str, read: Callable[[Mapping[str, Any]], T]) -> T:
        headers = {"accept": "application/json"}
        return await self._api.request("GET", url, lambda answer: read(json_answer(*_ISSUER, answer)), headers=headers)


def _signing_keys(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The usable keys of a key set by their id; of several with one id, the first.

    Only their public members: computing with what else is sent could take minutes. A key that names no algorithm fits
    several, and the token says which was used.

    Raises:
        ValueError: there is none.
        TypeError: it is not a key set.
    """
    keys: dict[str, dict[str, Any]] = {}
    for key in islice(cast("list[dict[str, Any]]", answer.get("keys")), MAX_KEYS):
        with suppress(jwt.PyJWTError, AttributeError, LookupError, TypeError, ValueError):
            public = {name: key[name] for name in _PUBLIC_MEMBERS if name in key}
            is_short = all(len(str(value)) <= MAX_MEMBER for value in public.values()) and len(str(key.get("e"))) <= 8
            if is_short and jwt.PyJWK(public).key_type in KEY_TYPES and key.get("use") != "enc":
                keys.setdefault(str(key.get("kid") or ""), public)
    if not keys:
        raise ValueError("no usable keys")
    return keys


class TooManyWrongTokensError(AuthenticationError):
    """The client's address has sent too many wrong tokens; its requests are refused for a number of seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("Too many wrong tokens from this address. Check the token, then try again later.")
        self.retry_after = retry_after


class Authentication(BearerAuthBackend):
    """Everything that authentication adds to the application; nothing if no setting asks for it. It is the SDK's bearer
    authentication, with a limit on wrong tokens per address.

    Many people may share an address: beyond the limit their good tokens are still accepted, unless they are so short
    that the answer would confirm a guess.
    """

    def __init__(self, settings: Settings, public_url: str) -> None:
        super().__init__(self)
        self._throttle = RateLimit(MAX_WRONG_TOKENS_PER_MINUTE)
        self._oauth = OAuthVerifier(settings, public_url) if settings.oauth_issuer else None
        self._settings = settings
        self._pairs = [(name, _digest(token)) for name, token in settings.token_pairs]
        self._resource = AnyHttpUrl(public_url)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The caller whose token this is, None if unknown: one of the settings', or else the authorization server's.
        Compares with every token of the settings in constant time."""
        digest = _digest(token)
        if names := [name for name, known in self._pairs if hmac.compare_digest(known, digest)]:
            return AccessToken(token=token, client_id=names[0], scopes=list(self._settings.oauth_scopes))
        return await self._oauth.verify_token(token) if self._oauth else None

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        """The user whose token this is; None if the token is missing or wrong.

        Raises:
            TooManyWrongTokensError: the address has used up its wrong tokens for now.
        """
        scheme, _, token = conn.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        address = client_address(conn.scope)
        wait, known = self._throttle.wait(address), await super().authenticate(conn)
        if wait and (known is None or len(known[1].access_token.token) < MIN_SAFE_TOKEN_LENGTH):
            raise TooManyWrongTokensError(wait)
        if known is None:
            self._throttle.count(address)
            logger.warning("wrong token from %s", address)
        return known

    def require(self, app: ASGIApp) -> ASGIApp:
        """`app` for authenticated callers only: others get 401 (with OAuth, also where to log in) or 429."""
        if not self._settings.is_authenticated:
            return app
        metadata = build_resource_metadata_url(self._resource) if self._oauth else None
        required = RequireAuthMiddleware(AuthContextMiddleware(app), list(self._settings.oauth_scopes), metadata)
        return AuthenticationMiddleware(required, self, on_error=_refuse)

    def routes(self) -> list[Route]:
        """The protected resource metadata (RFC 9728) that leads OAuth clients to the authorization server."""
        if not self._oauth:
            return []
        issuers, scopes = [AnyHttpUrl(self._settings.oauth_issuer)], list(self._settings.oauth_scopes) or None
        return create_protected_resource_routes(self._resource, issuers, scopes, resource_name="deepcritical-mcp")

    async def aclose(self) -> None:
        """Close the connection to the authorization server."""
        if self._oauth:
            await self._oauth.aclose()


def weak_tokens(settings: Settings) -> list[str]:
    """Names of callers whose token is short enough to be guessed."""
    return [name for name, token in settings.token_pairs if len(token) < MIN_SAFE_TOKEN_LENGTH]


def _refuse(_: HTTPConnection, error: AuthenticationError) -> Response:
    wait = error.retry_after if isinstance(error, TooManyWrongTokensError) else 60.0
    return refusal(429, "too_many_wrong_tokens", str(error), retry_after=wait)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
