"""Access tokens of an OAuth authorization server: JWTs checked against its published keys."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import anyio
import httpx
import jwt
from mcp.server.auth.provider import AccessToken

from deepcritical_mcp.config import Settings

logger = logging.getLogger(__name__)

# Asymmetric only: never "none", and never HMAC, which would accept the public key as its secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
KEYS_MAX_AGE = 3_600.0  # seconds
MIN_FETCH_INTERVAL = 30.0  # seconds
CLOCK_SKEW = 30  # seconds
MAX_TOKEN_LENGTH = 16_384
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
        self._issuer = settings.oauth_issuer
        self._jwks_url = settings.oauth_jwks_url
        root = public_url.rstrip("/")
        named = settings.oauth_audience
        self._audiences = [named] if named else [root, f"{root}/", f"{root}/mcp", f"{root}/sse"]
        self._http = httpx.AsyncClient(timeout=5.0, transport=transport)
        self._clock = clock
        self._fetching = anyio.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
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
                key,
                algorithms=list(ALGORITHMS),
                audience=self._audiences,
                issuer=[self._issuer, f"{self._issuer}/"],
                leeway=CLOCK_SKEW,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            logger.info("refused an access token: %s", type(error).__name__)
            return None
        return _access_token(token, claims)

    async def aclose(self) -> None:
        """Close the connection to the issuer."""
        await self._http.aclose()

    async def _key(self, key_id: str) -> jwt.PyJWK | None:
        known = self._keys.get(key_id)
        if known is not None and self._age() <= KEYS_MAX_AGE:
            return known  # without waiting for the lock, which a slow fetch may hold
        async with self._fetching:
            if self._age() > (MIN_FETCH_INTERVAL if key_id not in self._keys else KEYS_MAX_AGE):
                await self._fetch()
        if not key_id and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _age(self) -> float:
        return self._clock() - self._fetched

    async def _fetch(self) -> None:
        self._fetched = self._clock()
        try:
            self._jwks_url = self._jwks_url or await self._discover()
            answer = await self._get(self._jwks_url)
            keys = jwt.PyJWKSet.from_dict(answer).keys
        except (httpx.HTTPError, ValueError, jwt.PyJWTError) as error:
            # Keep the known keys: a short outage of the issuer must not lock its users out.
            logger.warning("could not fetch the OAuth issuer's keys: %s", type(error).__name__)
            return
        self._keys = {str(key.key_id or ""): key for key in keys if key.public_key_use != "enc"}

    async def _discover(self) -> str:
        for path in _METADATA_PATHS:
            try:
                metadata = await self._get(self._issuer + path)
            except (httpx.HTTPStatusError, ValueError):
                continue
            if str(metadata.get("issuer", "")).rstrip("/") == self._issuer and metadata.get("jwks_uri"):
                return str(metadata["jwks_uri"])
        raise ValueError("no metadata document names this issuer and a jwks_uri")

    async def _get(self, url: str) -> dict[str, Any]:
        response = await self._http.get(url, headers={"accept": "application/json"})
        response.raise_for_status()
        answer = response.json()
        if not isinstance(answer, dict):
            raise ValueError("not a JSON object")
        return cast("dict[str, Any]", answer)


def _access_token(token: str, claims: Mapping[str, Any]) -> AccessToken:
    scope = claims.get("scope", claims.get("scp", ""))
    scopes = scope.split() if isinstance(scope, str) else [str(one) for one in scope]
    return AccessToken(
        token=token,
        client_id=str(claims.get("client_id") or claims.get("azp") or "oauth"),
        scopes=scopes,
        expires_at=int(claims["exp"]),
        subject=str(claims["sub"]),
        claims={"iss": str(claims["iss"])},
    )
