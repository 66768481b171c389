"""Authentication: bearer tokens from the settings, and access tokens of an OAuth authorization server."""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Sequence

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.authentication import AuthCredentials, AuthenticationError
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from deepcritical_mcp.config import Settings
from deepcritical_mcp.transports.http.call_limits import RateLimit
from deepcritical_mcp.transports.http.caller_context import client_address
from deepcritical_mcp.transports.http.oauth import OAuthVerifier
from deepcritical_mcp.transports.http.security import refusal

logger = logging.getLogger(__name__)

MAX_WRONG_TOKENS_PER_MINUTE = 20
MIN_SAFE_TOKEN_LENGTH = 20


class StaticTokens:
    """Verifies the `name:token` pairs in the settings; a token identifies its caller by name."""

    def __init__(self, pairs: Sequence[tuple[str, str]], scopes: Sequence[str] = ()) -> None:
        self._pairs = [(name, _digest(token)) for name, token in pairs]
        self._scopes = list(scopes)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The caller whose token this is; None if unknown. Compares with every known token in constant time."""
        digest = _digest(token)
        names = [name for name, known in self._pairs if hmac.compare_digest(known, digest)]
        return AccessToken(token=token, client_id=names[0], scopes=self._scopes) if names else None


class CombinedVerifier:
    """Several verifiers, asked in order."""

    def __init__(self, verifiers: Sequence[TokenVerifier]) -> None:
        self._verifiers = verifiers

    async def verify_token(self, token: str) -> AccessToken | None:
        """The result of the first verifier that accepts `token`; None if none does."""
        for verifier in self._verifiers:
            known = await verifier.verify_token(token)
            if known is not None:
                return known
        return None


class TooManyWrongTokensError(AuthenticationError):
    """The client's address has sent too many wrong tokens; its requests are refused for a while."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("Too many wrong tokens from this address. Check the token, then try again later.")
        self.retry_after = retry_after


class ThrottledBearerBackend(BearerAuthBackend):
    """The SDK's bearer authentication, with a limit on wrong tokens per address."""

    def __init__(self, verifier: TokenVerifier, throttle: RateLimit) -> None:
        super().__init__(verifier)
        self._throttle = throttle

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        """The user whose token this is; None if the token is missing or wrong.

        Raises:
            TooManyWrongTokensError: the address has used up its wrong tokens for now.
        """
        if "authorization" not in conn.headers:
            return None
        address = client_address(conn.scope)
        wait = self._throttle.wait(address)
        if wait:
            raise TooManyWrongTokensError(wait)
        known = await super().authenticate(conn)
        if known is None:
            self._throttle.count(address)
            logger.warning("wrong token from %s", address)
        return known


class Authentication:
    """Everything that authentication adds to the application; nothing if no setting asks for it."""

    def __init__(self, settings: Settings, public_url: str) -> None:
        verifiers: list[TokenVerifier] = []
        if settings.token_pairs:
            verifiers.append(StaticTokens(settings.token_pairs, settings.oauth_scopes))
        self._oauth = OAuthVerifier(settings, public_url) if settings.oauth_issuer else None
        if self._oauth is not None:
            verifiers.append(self._oauth)
        self._verifier = CombinedVerifier(verifiers) if verifiers else None
        self._settings = settings
        self._resource = AnyHttpUrl(public_url)
        self._throttle = RateLimit(MAX_WRONG_TOKENS_PER_MINUTE)

    def require(self, app: ASGIApp) -> ASGIApp:
        """`app` for authenticated callers only: others get 401 (with OAuth, also where to log in) or 429."""
        if self._verifier is None:
            return app
        metadata = build_resource_metadata_url(self._resource) if self._oauth else None
        required = RequireAuthMiddleware(AuthContextMiddleware(app), list(self._settings.oauth_scopes), metadata)
        backend = ThrottledBearerBackend(self._verifier, self._throttle)
        return AuthenticationMiddleware(required, backend, on_error=_refuse)

    def routes(self) -> list[Route]:
        """The protected resource metadata (RFC 9728) that leads OAuth clients to the authorization server."""
        if not self._oauth:
            return []
        return create_protected_resource_routes(
            self._resource,
            [AnyHttpUrl(self._settings.oauth_issuer)],
            list(self._settings.oauth_scopes) or None,
            resource_name="deepcritical-mcp",
        )

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
