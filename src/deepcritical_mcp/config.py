"""Settings, read once from the environment. Nothing else in the package reads `os.environ`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from deepcritical_mcp.errors import ConfigurationError

PREFIX = "DEEPCRITICAL_"


def _key(value: SecretStr) -> SecretStr:
    secret = value.get_secret_value().strip()
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError("is not a key: it holds spaces, line breaks or characters outside ASCII")
    return SecretStr(secret)


def _base_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http:// or https:// address")
    return value


def _tokens(value: SecretStr) -> SecretStr:
    pairs = [pair.strip() for pair in value.get_secret_value().split(",") if pair.strip()]
    if not all(_TOKEN_PAIR.fullmatch(pair) for pair in pairs):
        raise ValueError(
            "must be name:token pairs with commas between them; names of letters, digits, dot, dash and underscore, "
            "tokens of visible ASCII characters"
        )
    tokens = [pair.partition(":")[2] for pair in pairs]
    if len(set(tokens)) < len(tokens):
        raise ValueError("gives the same token twice")
    return SecretStr(",".join(pairs))


def _words(value: object) -> object:
    return value.replace(",", " ").split() if isinstance(value, str) else value


_TOKEN_PAIR = re.compile(r"[A-Za-z0-9._-]{1,64}:[!-+\--~]{1,512}")


def _folder(value: Path) -> Path:
    return value.expanduser()


Folder = Annotated[Path, AfterValidator(_folder)]
Key = Annotated[SecretStr, AfterValidator(_key)]
Tokens = Annotated[SecretStr, AfterValidator(_tokens)]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
Address = Annotated[str, AfterValidator(_base_url)]
BaseUrl = Annotated[Address, AfterValidator(lambda value: value.rstrip("/"))]


class Settings(BaseSettings):
    """All settings with their defaults; an empty variable counts as not set. `load_settings` reads them."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    ncbi_api_key: Key = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("NCBI_API_KEY"),
        description="NCBI key: 10 requests a second, not 3",
    )
    ncbi_email: str = Field(
        default="",
        validation_alias=AliasChoices("NCBI_EMAIL"),
        description="your address, which NCBI asks every tool to send",
    )
    tavily_api_key: Key = Field(
        default=SecretStr(""), validation_alias=AliasChoices("TAVILY_API_KEY"), description="switches Tavily on"
    )
    brave_api_key: Key = Field(
        default=SecretStr(""), validation_alias=AliasChoices("BRAVE_API_KEY"), description="switches Brave Search on"
    )
    serpapi_api_key: Key = Field(
        default=SecretStr(""), validation_alias=AliasChoices("SERPAPI_API_KEY"), description="switches SerpAPI on"
    )

    data_dir: Folder | None = Field(
        default=None, description="folder in which sessions survive a restart; unset = in memory"
    )
    chroma_url: BaseUrl = Field(
        default="", validate_default=False, description="address of a Chroma server that holds the sessions"
    )
    cache_dir: Folder = Field(
        default_factory=lambda: platformdirs.user_cache_path("deepcritical-mcp"),
        description="folder of cached answers and of the request limiter",
    )
    embedding_model: str = Field(
        default="", description="folder or hub id of another embedding model; unset = the shipped one"
    )
    dedup_threshold: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="drop what is closer in meaning than this (0 to 1); unset = fold, drop nothing"
    )

    session_ttl: float = Field(default=86_400, gt=0, description="seconds after which an idle session is dropped")
    max_sessions: int = Field(
        default=1_000, ge=1, description="open sessions; beyond it the least recently used is dropped"
    )
    max_evidence: int = Field(default=10_000, ge=1, description="pieces of evidence in one session")
    max_result_chars: int = Field(
        default=32_000, ge=2_000, description="characters of a result, text and structured each"
    )
    deadline: float = Field(default=45, ge=1, le=600, description="seconds within which every call ends")
    sampling: Literal["off", "on"] = Field(
        default="off", description="let expand_queries ask the client's own model for wordings, where it offers that"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="least level logged on stderr"
    )

    ncbi_base_url: BaseUrl = Field(
        default="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="E-utilities, ending in /entrez/eutils"
    )
    tavily_base_url: BaseUrl = Field(default="https://api.tavily.com", description="Tavily's API")
    brave_base_url: BaseUrl = Field(default="https://api.search.brave.com/res/v1", description="Brave Search's API")
    serpapi_base_url: BaseUrl = Field(default="https://serpapi.com", description="SerpAPI")
    duckduckgo_url: Address = Field(
        default="https://html.duckduckgo.com/html/", description="DuckDuckGo's HTML endpoint"
    )

    redis_url: str = Field(default="", description="Redis that spaces requests to NCBI over several machines")

    auth_tokens: Tokens = Field(
        default=SecretStr(""), description="who may call over HTTP: name:token pairs with commas between them"
    )
    oauth_issuer: BaseUrl = Field(
        default="", validate_default=False, description="OAuth authorization server whose access tokens are accepted"
    )
    oauth_audience: str = Field(
        default="", description="audience that an OAuth token must name; unset = this server's public address"
    )
    oauth_jwks_url: BaseUrl = Field(
        default="", validate_default=False, description="the issuer's key set; unset = what its metadata names"
    )
    oauth_scopes: Words = Field(default=(), description="scopes that an OAuth token must hold")
    public_url: BaseUrl = Field(
        default="", validate_default=False, description="address under which clients reach the server over HTTP"
    )
    allowed_hosts: Words = Field(
        default=(), description="further Host names that are answered over HTTP; *.example.org for all below one"
    )
    cors_origins: Words = Field(default=(), description="web origins whose pages may call over HTTP")
    trusted_proxies: Words = Field(
        default=(), description="addresses or networks of proxies whose X-Forwarded-For is believed"
    )
    calls_per_minute: int = Field(default=600, ge=1, description="tool calls a minute of one caller over HTTP")
    concurrent_calls: int = Field(default=64, ge=1, description="tool calls at once of one caller over HTTP")
    limit_local: bool = Field(
        default=False, description="apply the limits to callers of this machine too that need no authentication"
    )
    max_sessions_per_caller: int = Field(
        default=100, ge=1, description="open sessions of one authenticated caller; beyond it its oldest is dropped"
    )
    max_evidence_per_caller: int = Field(
        default=100_000, ge=1, description="pieces of evidence in all sessions of one authenticated caller"
    )
    max_body: int = Field(default=8 * 1024 * 1024, ge=1_024, description="bytes of one HTTP request")
    max_connections: int = Field(
        default=1_000, ge=1, description="HTTP connections at once; beyond it idle ones are closed first"
    )
    request_timeout: float = Field(default=20, gt=0, description="seconds within which an HTTP request must be whole")
    keep_alive: float = Field(default=75, gt=0, description="seconds that an idle HTTP connection stays open")
    connection_ttl: float = Field(
        default=1_800, gt=0, description="seconds after which an idle Mcp-Session-Id is forgotten"
    )
    log_queries: bool = Field(default=False, description="name the queries in the log of calls over HTTP")

    web_concurrency: int = Field(default=3, ge=1, le=20, description="requests at once to each web provider")
    web_delay: float = Field(default=0.5, ge=0, description="seconds between two request starts to each web provider")
    tavily_per_minute: int = Field(default=100, ge=1, description="requests a minute to Tavily")
    brave_per_second: float = Field(default=1, gt=0, description="requests a second to Brave Search")
    cache_ttl: float = Field(default=86_400, gt=0, description="seconds that cached web results are kept")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must never be shown, longest first."""
        keys = (self.ncbi_api_key, self.tavily_api_key, self.brave_api_key, self.serpapi_api_key)
        values = [key.get_secret_value() for key in keys] + [token for _, token in self.token_pairs]
        return tuple(sorted(filter(None, values), key=len, reverse=True))

    @property
    def token_pairs(self) -> tuple[tuple[str, str], ...]:
        """Each caller's name with its token; a name may have several, so that tokens can be exchanged."""
        pairs = (pair.partition(":") for pair in self.auth_tokens.get_secret_value().split(",") if pair)
        return tuple((name, token) for name, _, token in pairs)


def variable_name(field: str) -> str:
    """The environment variable that sets `field`, e.g. "deadline" -> "DEEPCRITICAL_DEADLINE"."""
    alias = Settings.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else PREFIX + field.upper()


def load_settings() -> Settings:
    """Settings from the environment.

    Raises:
        ConfigurationError: a value is wrong; the message names each such variable, never its value.
    """
    try:
        return Settings()
    except ValidationError as error:
        problems = [f"{_variable_of(str(row['loc'][0]))}: {_reason(row['msg'])}" for row in error.errors()]
        raise ConfigurationError("; ".join(problems) + ". Correct or unset it.") from None


def unknown_variables() -> dict[str, str]:
    """Variables that look like our settings but are none, each with the nearest real name."""
    from difflib import get_close_matches

    known = [variable_name(field) for field in Settings.model_fields]
    return {
        name: (get_close_matches(name, known, n=1, cutoff=0.0) or [""])[0]
        for name in os.environ
        if name.startswith(PREFIX) and name not in known
    }


def _variable_of(location: str) -> str:
    return variable_name(location) if location in Settings.model_fields else location


def _reason(message: str) -> str:
    return message.removeprefix("Value error, ")
