"""Settings, read once from the environment. Nothing else in the package reads `os.environ`."""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from inspect import getsource
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from deepcritical_mcp.errors import ConfigurationError

PREFIX = "DEEPCRITICAL_"
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")  # in lower case too
IN_MEMORY = "memory"
"""The value of DEEPCRITICAL_DATA_DIR under which no session is kept."""
_NEAR = 0.81  # SERPER_API_KEY, another product's, is at 0.80 of ours; NCBI_KEY at 0.82
_TOKEN_PAIR = re.compile(r"[A-Za-z0-9._-]{1,64}:[!-+\--~]{1,512}")


def _key(value: SecretStr) -> SecretStr:
    secret = value.get_secret_value().strip()
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError("is not a key: it contains spaces, line breaks or characters outside ASCII")
    return SecretStr(secret)


def _address(value: str) -> str:
    parts = urlsplit(value)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError("must be an http:// or https:// address")
    return value


def _loopback(value: str) -> str:
    if urlsplit(value).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError("must be an address of this machine: 127.0.0.1, localhost or [::1]")
    return value


def _tokens(value: SecretStr) -> SecretStr:
    pairs = [pair.strip() for pair in value.get_secret_value().split(",") if pair.strip()]
    if not all(_TOKEN_PAIR.fullmatch(pair) for pair in pairs):
        signs = "names consist of letters, digits, dots, dashes and underscores, tokens of visible ASCII characters"
        raise ValueError(f"must be comma-separated name:token pairs; {signs}")
    tokens = [pair.partition(":")[2] for pair in pairs]
    if len(set(tokens)) < len(tokens):
        raise ValueError("contains the same token twice")
    return SecretStr(",".join(pairs))


def _words(value: object) -> object:
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _among(choices: str, noun: str) -> AfterValidator:
    """Names in lower case, each among those that the function `choices` returns. It is resolved by name, because this
    layer lies below it, and only if a name is given, so that its module is not imported for nothing."""

    def checked(value: tuple[str, ...]) -> tuple[str, ...]:
        known = pkgutil.resolve_name(f"deepcritical_mcp.{choices}")() if value else ()
        names = tuple(dict.fromkeys(name.casefold() for name in value))
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f'has no {noun} "{unknown[0][:40]}"; there are {", ".join(known)}')
        return names

    return AfterValidator(checked)


def _expanded(value: Path) -> Path:
    try:
        return value.expanduser()
    except RuntimeError:  # an account without one, as in many containers
        raise ValueError("begins with a home folder that cannot be found") from None


def _unless_memory(value: object) -> object:
    return None if isinstance(value, str) and value.strip().casefold() == IN_MEMORY else value


Folder = Annotated[Path, AfterValidator(_expanded)]
Folders = Annotated[
    tuple[Folder, ...],
    NoDecode,
    BeforeValidator(lambda value: [*filter(None, value.split(os.pathsep))] if isinstance(value, str) else value),
]
Key = Annotated[SecretStr, AfterValidator(_key)]
Tokens = Annotated[SecretStr, AfterValidator(_tokens)]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
Address = Annotated[str, AfterValidator(_address)]
SecretAddress = Annotated[SecretStr, AfterValidator(lambda value: SecretStr(_address(value.get_secret_value())))]
BaseUrl = Annotated[Address, AfterValidator(lambda value: value.rstrip("/"))]


class OwnSettings(BaseSettings):
    """Base of the settings of one part, such as a source or a store, declared next to it and read with `Settings`.

    A field's environment variable is DEEPCRITICAL_ and its name in capitals, unless its `validation_alias` says
    otherwise. An empty variable counts as unset. Names are unique across all parts and the core.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )


S = TypeVar("S", bound=OwnSettings)


class Settings(BaseSettings):
    """The core settings, and those of every part (see `of`). `load_settings` reads them.

    Keyword arguments set them all alike: `Settings(deadline=10, ncbi_base_url="http://…")`. The docstring of a field is
    its line in the documentation, as `description` is in the parts.
    """

    model_config = OwnSettings.model_config

    _of_parts: dict[type[OwnSettings], OwnSettings] = PrivateAttr()
    _given: dict[str, Any] = PrivateAttr()

    data_dir: Annotated[Folder | None, BeforeValidator(_unless_memory)] = None
    """folder in which sessions are kept, or memory to keep none; empty = your data folder on stdio, memory over HTTP"""
    exports_dir: Folder | None = None
    """folder for files of export_evidence with save=true (stdio); unset = exports in data_dir"""
    import_dirs: Folders = ()
    """folders whose files add_evidence may read (stdio), separated as in PATH; unset = none"""
    zotero_url: Annotated[BaseUrl, AfterValidator(_loopback)] = "http://127.0.0.1:23119"
    """where Zotero answers other programs on this machine (stdio)"""
    cache_dir: Folder = Field(default_factory=lambda: platformdirs.user_cache_path("deepcritical-mcp"))
    """folder of cached answers and of the rate limiter's state"""
    embedding_model: str = ""
    """folder or hub id of another embedding model; unset = the shipped one"""
    dedup_threshold: Annotated[float, Field(gt=0, le=1)] | None = None
    """drop evidence more similar than this (0 to 1); unset = group it, drop nothing"""
    ncbi_email: str = Field("", validation_alias="NCBI_EMAIL")
    """your email address, which NCBI, Unpaywall and Crossref ask for"""
    redis_url: SecretStr = SecretStr("")
    """Redis in which machines share one request rate; TLS: rediss://…?ssl_ca_certs=FILE"""
    off: Annotated[Words, _among("sources:source_names", "source")] = ()
    """sources that are never asked, e.g. web,unpaywall; their tools are not offered"""
    tools: Annotated[Words, _among("tools:tool_choices", "tool or profile")] = ()
    """tools to offer: research (all), core (five), search-fetch, or names; --profile overrides it"""
    citation_counts: bool = False
    """let pubmed_search ask iCite how often each paper has been cited, as pubmed_related does"""
    session_ttl: Annotated[float, Field(gt=0)] | None = None
    """seconds after which an idle session is dropped; unset = 90 days in a folder, else a day"""
    max_sessions: int = Field(1000, ge=1)
    """open sessions; beyond that the least recently used is dropped"""
    max_evidence: int = Field(10000, ge=1)
    """records in one session"""
    max_result_chars: int = Field(32000, ge=2000)
    """characters in a result, in each of its two forms"""
    deadline: float = Field(45, ge=1, le=600)
    """seconds after which every call has ended"""
    fetch_private: bool = False
    """read pages of private networks and on any port too; never on a server that others use"""
    sampling: Literal["off", "on"] = "off"
    """let expand_queries ask the client's own model for queries, if it offers that"""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """lowest level logged on stderr"""
    auth_tokens: Tokens = SecretStr("")
    """callers allowed over HTTP, as name:token,name:token"""
    oauth_issuer: BaseUrl = ""
    """OAuth authorization server whose access tokens are accepted"""
    oauth_audience: str = ""
    """an OAuth token's audience; unset = this server's public address"""
    oauth_jwks_url: BaseUrl = ""
    """the issuer's key set; unset = taken from its metadata"""
    oauth_scopes: Words = ()
    """scopes that an OAuth token must have"""
    public_url: BaseUrl = ""
    """address at which clients reach the server over HTTP"""
    allowed_hosts: Words = ()
    """further Host names to answer over HTTP; *.example.org = subdomains"""
    cors_origins: Words = ()
    """web origins whose pages may call over HTTP"""
    trusted_proxies: Words = ()
    """addresses or networks of proxies whose X-Forwarded-For is trusted"""
    calls_per_minute: int = Field(600, ge=1)
    """tool calls per minute and caller over HTTP"""
    concurrent_calls: int = Field(64, ge=1)
    """concurrent tool calls per caller over HTTP"""
    limit_local: bool = False
    """apply the limits to unauthenticated callers on this machine too"""
    max_sessions_per_caller: int = Field(100, ge=1)
    """open sessions per authenticated caller; beyond that its oldest is dropped"""
    max_evidence_per_caller: int = Field(100000, ge=1)
    """records of one authenticated caller"""
    max_body: int = Field(8 * 1024 * 1024, ge=1024)
    """bytes in one message of a client"""
    max_connections: int = Field(1000, ge=1)
    """concurrent HTTP connections; then idle ones are closed"""
    request_timeout: float = Field(20, gt=0)
    """seconds within which an HTTP request must be complete"""
    keep_alive: float = Field(75, gt=0)
    """seconds for which an idle HTTP connection stays open"""
    connection_ttl: float = Field(1800, gt=0)
    """seconds after which an idle Mcp-Session-Id is forgotten"""
    log_queries: bool = False
    """include the queries in the log of HTTP calls"""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._given = values
        self._of_parts = {kind: kind(**values) for kind in _kinds()}

    def including(self, kinds: Iterable[type[OwnSettings]]) -> Settings:
        """The same with those of further parts, read from the environment and the same keyword arguments."""
        settings = self.model_copy()
        settings._of_parts = {kind: kind(**self._given) for kind in kinds} | self._of_parts
        return settings

    def kept_for_user(self) -> Settings:
        """The same for a server or command of one user: sessions are kept in `user_data_folder`, unless `data_dir` says
        otherwise."""
        return self if "data_dir" in self.model_fields_set else self.model_copy(update={"data_dir": user_data_folder()})

    def of(self, kind: type[S]) -> S:
        """The settings that a part declares in its class `kind`, which a row of a table or `including` has named."""
        settings = self._of_parts[kind]
        assert isinstance(settings, kind)
        return settings

    @property
    def is_authenticated(self) -> bool:
        """Whether callers over HTTP are asked who they are."""
        return bool(self.token_pairs or self.oauth_issuer)

    @property
    def exports_folder(self) -> Path:
        """Where exports are saved; it may not exist yet."""
        return self.exports_dir or (self.data_dir or user_data_folder()) / "exports"

    @property
    def styles_folder(self) -> Path:
        """Where users may put citation styles of their own, `*.csl`."""
        return (self.data_dir or user_data_folder()) / "styles"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must never be shown, longest first: every field of type SecretStr, here and in the parts.

        Besides the full values, this includes the tokens in `auth_tokens` and a password within an address.
        """
        fields = [value for settings in (self, *self._of_parts.values()) for _, value in settings]
        values = [value.get_secret_value() for value in fields if isinstance(value, SecretStr)]
        parts = [token for _, token in self.token_pairs] + [_password(value) for value in values]
        return tuple(sorted({*filter(None, values), *filter(None, parts)}, key=len, reverse=True))

    @property
    def token_pairs(self) -> tuple[tuple[str, str], ...]:
        """Each caller's name with its token; a name may have several, so that tokens can be rotated."""
        pairs = (pair.partition(":") for pair in self.auth_tokens.get_secret_value().split(",") if pair)
        return tuple((name, token) for name, _, token in pairs)


def user_data_folder() -> Path:
    """Where sessions of this account are kept by default; relative to "~" if it has no home folder."""
    return platformdirs.user_data_path("deepcritical-mcp")


class Setting(NamedTuple):
    """One setting: its field, the environment variable that sets it, and the class that declares it."""

    field: str
    variable: str
    info: FieldInfo
    kind: type[BaseSettings]

    @property
    def description(self) -> str:
        """What it sets: the field's description or else, only read when somebody asks, its docstring."""
        told = re.search(rf'^    {self.field}: .*\n    """(.*)"""', getsource(self.kind), re.MULTILINE)
        return self.info.description or (told[1] if told else "")


def every_setting() -> tuple[Setting, ...]:
    """All settings: each source's in the order of `SOURCES`, `FULL_TEXTS` and `LOOKUPS`, each store's in that of
    `STORES`, then the core's."""
    kinds: tuple[type[BaseSettings], ...] = (*_kinds(), Settings)
    fields = ((kind, field, info) for kind in kinds for field, info in kind.model_fields.items())
    return tuple(
        Setting(field, str(info.validation_alias or PREFIX + field.upper()), info, kind) for kind, field, info in fields
    )


def variable_name(field: str) -> str:
    """The environment variable that sets `field`, e.g. "deadline" -> "DEEPCRITICAL_DEADLINE"."""
    return next(setting.variable for setting in every_setting() if setting.field == field)


def load_settings() -> Settings:
    """Settings from the environment.

    Raises:
        ConfigurationError: a value is wrong, or two parts declare one setting; the message names each such variable,
            never its value.
    """
    declared: dict[str, type[BaseSettings]] = {}
    for setting in every_setting():
        if declared.setdefault(setting.field, setting.kind) is not setting.kind:
            owners = f"{declared[setting.field].__name__} and {setting.kind.__name__}"
            raise ConfigurationError(f"{owners} both declare the setting {setting.field}: rename one of them.")
    try:
        return Settings()
    except ValidationError as error:
        rows = error.errors()
    for kind in _kinds():
        try:
            kind()
        except ValidationError as error:
            rows += error.errors()
    known = {setting.field: setting.variable for setting in every_setting()}
    problems = dict.fromkeys(
        f"{known.get(str(row['loc'][0]), row['loc'][0])}: {plain_problem(row['msg'])}" for row in rows
    )
    raise ConfigurationError("; ".join(problems) + ". Correct or unset it.")


def unknown_variables() -> dict[str, str]:
    """Variables that look like our settings but are not, each with the nearest real name.

    Variables without our prefix, such as TAVILY_APIKEY, must be very close to a name that is not set itself.
    """
    known = {_letters(setting.variable): setting.variable for setting in every_setting()}
    found: dict[str, str] = {}
    for name in os.environ:
        is_ours = name.startswith(PREFIX)
        letters = _letters(name)
        plain = letters.removeprefix(_letters(PREFIX))
        near = [plain] if plain in known else get_close_matches(letters, known, n=1, cutoff=0.0 if is_ours else _NEAR)
        nearest = known[near[0]] if near else ""
        if nearest and name.upper() != nearest and (is_ours or nearest not in os.environ):
            found[name] = nearest
    return found


def _kinds() -> Iterator[type[OwnSettings]]:
    """Each part's settings class, found by name: this layer lies below the parts. Two rows may share one."""
    tables = ("sources:SOURCES", "sources:FULL_TEXTS", "sources:LOOKUPS", "evidence.storage:STORES")
    rows = (row for table in tables for row in pkgutil.resolve_name(f"deepcritical_mcp.{table}"))
    yield from map(pkgutil.resolve_name, dict.fromkeys(row.settings for row in rows if row.settings))


def _letters(variable: str) -> str:
    """A variable's name without what people leave out or add, e.g. BRAVE_SEARCH_API_KEY -> BRAVEAPIKEY."""
    return variable.upper().replace("_", "").replace("SEARCH", "")


def plain_problem(message: str) -> str:
    """What pydantic says about a value, without its jargon."""
    return message.removeprefix("Value error, ").replace("Input should be", "must be").partition(", unable to parse")[0]


def _password(value: str) -> str:
    try:
        return unquote(urlsplit(value).password or "")
    except ValueError:  # not an address
        return ""
