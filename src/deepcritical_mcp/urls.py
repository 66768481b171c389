"""URLs: `normalize_url` returns the form to compare by, `clean_url` the form to show.

Neither raises: anything that is not a web address is returned unchanged, except for invisible characters.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import idna

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.text import without_invisible

DEFAULT_PORTS = {"http": 80, "https": 443}

_TRACKING = frozenset(" ".join(data_lines(__file__, "tracking_parameters.txt")).split())
_TRACKING_PREFIXES = tuple(name.removesuffix("*") for name in _TRACKING if name.endswith("*"))
# Parameters that let their holder in, without punctuation.
_SECRET_NAMES = frozenset({"key", "sig", "auth", "authorization", "pass", "passwd", "pwd"})
_SECRET_PREFIXES = ("xamz", "xgoog")
_SECRET_ENDINGS = ("apikey", "accesskey", "accesskeyid", "subscriptionkey", "token", "secret", "password", "signature")
_PARAMETER = re.compile(r"([?&;#][\w.%-]{1,60})=[^&;#\s]+")
# As in .ac.uk, .com.br, .or.jp.
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "go", "ne", "net", "nhs", "or", "org"})

_BARE_HOST = re.compile(r"^(//)?[^\s/?#@:]+\.[a-z]{2,24}\.?(:\d{1,5})?([/?#]|$)", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f.]*+:[0-9a-f:.]*+")
_DOMAIN = re.compile(r"([a-z0-9_][a-z0-9_-]*\.)*([a-z]{2,24}|xn--[a-z0-9-]+)|\d+(\.\d+){3}")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_PATH_SESSION = re.compile(r";(jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)
_GOOGLE = re.compile(r"google\.[a-z.]{2,6}")
# Characters that mean the same plain or percent-encoded; those in _PATH_MARKS have a special meaning if plain.
_PATH_PLAIN = "-._~!$'()*,:@"
_PATH_MARKS = "/&+;="
_FRAGMENT = f"{_PATH_MARKS}?#"
_QUERY_PLAIN = "-._~!$'()*,:@/?;"


class _Address(NamedTuple):
    scheme: str
    host: str
    port: int | None
    path: str
    query: str
    fragment: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port in (None, DEFAULT_PORTS[self.scheme]) else f":{self.port}"
        query = f"?{self.query}" if self.query else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        path = self.path or ("/" if query or fragment else "")
        return f"{self.scheme}://{host}{port}{path}{query}{fragment}"


_PRINT_VIEW = re.compile(r"(?:^|[/._=?&-])(?:pdf|epdf|articlepdf|print|printable|pdfdirect|pdfplus|amp)(?:$|[/._=&-])")
_VIEW = re.compile(  # of one page: /abs/pii/S1 and /pii/S1, /content/1/2.full.pdf and /content/1/2
    r"(?<=[^/:])/(?:pdf|epdf|articlepdf|pdfdirect|pdfplus|print|printable|amp|abs|abstract|article-abstract|full|"
    r"fullarticle|full-?text|html)(?=/|$)|(?:\.(?:full|abstract|full-text|pdf)){1,2}$|\?print=(?:true|yes)$"
)


def normalize_url(url: str) -> str:
    """The canonical form of `url`, equal for all addresses of the same page; "" stays "". Idempotent.

    Does what `clean_url` does, and more: http becomes https; `www.` and the mobile host become the plain
    page; percent encoding, dot segments and parameter order are canonical; host names are in ASCII. The result
    may not resolve, so show `clean_url` to people instead.
    """
    address = _address(resolve_redirect(url))
    if address is None:
        return _visible(url)
    # A path without dot segments, the ids of sessions and a slash at its end.
    path, earlier = _percent(address.path, _PATH_PLAIN, _PATH_MARKS), ""
    while path != earlier:
        earlier, kept = path, list[str]()
        for segment in _PATH_SESSION.sub("", path).split("/"):
            if segment == "..":
                del kept[max(1, len(kept) - 1) :]
            elif segment != ".":
                kept.append(segment)
        path = "/".join(kept).rstrip("/")
    pairs = (pair.replace("+", "%20").partition("=") for pair in address.query.split("&") if not _is_tracking(pair))
    query = [(_percent(name, _QUERY_PLAIN), _percent(value, _QUERY_PLAIN)) for name, _, value in pairs if name]
    query.sort(key=itemgetter(0))
    has_own_port = address.port not in (None, DEFAULT_PORTS[address.scheme])
    scheme, port = (address.scheme, address.port) if has_own_port else ("https", None)
    named = "&".join(f"{name}={value}" if value else name for name, value in query)
    host, fragment = _folded_host(address.host, has_path=bool(path)), _percent(address.fragment, _PATH_PLAIN, _FRAGMENT)
    return str(_Address(scheme, host, port, path, named, fragment))


def clean_url(url: str) -> str:
    """`url` for display: without redirect, credentials, fragment, tracking parameters and trailing slash.

    Scheme and host are in lower case and a default port is dropped; the path keeps its case and encoding.
    """
    address = _address(resolve_redirect(url))
    if address is None:
        return _visible(url)
    query = "&".join(pair for pair in address.query.split("&") if pair and not _is_tracking(pair))
    return str(address._replace(path=address.path.rstrip("/"), query=query))


def without_secrets(text: str) -> str:
    """`text` with the values of all parameters of addresses hidden that are keys, tokens, passwords or signatures."""
    return _PARAMETER.sub(lambda one: f"{one[1]}=…" if _is_secret(one[1]) else one[0], text)


def is_web_address(url: str) -> bool:
    """Whether `url` is an http or https URL with a valid host."""
    return _address(url) is not None


def host_of(url: str) -> str:
    """The host of `url` in lower case and ASCII, without `www.`; "" if there is none."""
    address = _address(url)
    return address.host.removeprefix("www.") if address else ""


def domain_rule(text: str) -> str:
    """`host[/path]` from a domain as people write it ("https://www.NIH.gov/news/", "*.nih.gov", ".gov"); else ""."""
    text = text.strip().removeprefix("*").lstrip(".")
    address = _address(text if "://" in text else f"https://{text}")
    if address is None or not _DOMAIN.fullmatch(address.host):
        return ""
    return address.host.removeprefix("www.") + address.path.rstrip("/")


def is_within(url: str, rule: str) -> bool:
    """Whether `url` is in the domain of a `domain_rule` (or a subdomain) and under its path, if it has one."""
    host, slash, folder = rule.partition("/")
    address = _address(url)
    if address is None or not (address.host == host or address.host.endswith(f".{host}")):
        return False
    return not slash or f"{address.path}/".startswith(f"/{folder}/")


def resolve_redirect(url: str) -> str:
    """The target of a search engine's redirect link, without a request; other URLs unchanged.

    In a DuckDuckGo link that was already unquoted, the target is everything from `uddg=` to `&rut=`, including any `&`
    of its own.
    """
    url = _visible(url)
    while address := _address(url):
        host, path, query, target = address.host.removeprefix("www."), address.path, address.query, ""
        if path.startswith("/l/") and (host.endswith("duckduckgo.com") or "uddg=" in query):
            target = _target_in(url, "uddg", end="&rut=")
        elif _GOOGLE.fullmatch(host) and path == "/url":
            target = _target_in(url, "q") or _target_in(url, "url")
        elif host == "bing.com" and path.startswith("/ck/"):
            target = _bing_target(query)
        if not 0 < len(target) < len(url):
            break
        url = _visible(target)
    return url


def _target_in(url: str, name: str, *, end: str = "&") -> str:
    found = re.search(rf"[?&]{name}=", url)
    if found is None:
        return ""
    target = url[found.end() :].split(end, 1)[0]
    target = unquote(target) if re.match(r"https?%3a", target, re.IGNORECASE) else target
    return target if re.match(r"https?://", target, re.IGNORECASE) else ""


def _bing_target(query: str) -> str:
    found = re.search(r"(?:^|&)u=a1([\w-]+)", query)
    if found is None:
        return ""
    try:
        target = urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)).decode()
    except ValueError:
        return ""
    return target if target.startswith(("http://", "https://")) else ""


def _visible(url: str) -> str:
    return re.sub("[\t\n\r]", "", without_invisible(url)).strip()


def _address(url: str) -> _Address | None:
    url = _visible(url)
    if _BARE_HOST.match(url):
        url = "https://" + url.removeprefix("//")
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme.lower(), ascii_host(parts.hostname or "")
        port = parts.port
    except ValueError:
        return None
    if scheme not in DEFAULT_PORTS or not _HOST.fullmatch(host):
        return None
    path, query, fragment = (part.replace(" ", "%20") for part in parts[2:])
    # A fragment counts if it selects a page (#!/page, #/page).
    return _Address(scheme, host, port, path, query, fragment if fragment.startswith(("!", "/")) else "")


def ascii_host(host: str) -> str:
    """A host name as DNS knows it, in lower case and without leading or trailing dots; as it is if it is not valid."""
    host = unquote(host).lower().strip(".")
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode().lower()
    except idna.IDNAError:
        return host


def _folded_host(host: str, *, has_path: bool) -> str:
    labels = host.split(".")
    # What is left must be a site, not a public suffix such as co.uk.
    while len(labels) > 3 or (len(labels) == 3 and not (labels[1] in _SECOND_LEVEL and len(labels[2]) == 2)):
        if labels[0] == "www" or (has_path and labels[0] in ("m", "mobile")):
            labels = labels[1:]
        elif has_path and len(labels) > 3 and labels[1] == "m":  # en.m.wikipedia.org
            labels = [labels[0], *labels[2:]]
        else:
            break
    return ".".join(labels)


def _is_secret(name: str) -> bool:
    """Whether a parameter, e.g. "?api_key", has a value that nobody else may see."""
    plain = re.sub(r"[\W_]", "", unquote(name)).lower()
    return plain in _SECRET_NAMES or plain.startswith(_SECRET_PREFIXES) or plain.endswith(_SECRET_ENDINGS)


def _is_tracking(pair: str) -> bool:
    name, _, value = unquote(pair).lower().partition("=")
    return name.startswith(_TRACKING_PREFIXES) or not _TRACKING.isdisjoint((name, f"{name}={value}"))


def _percent(text: str, plain: str, marks: str = "") -> str:
    """Canonical percent encoding: only characters that need it are encoded, in upper-case hexadecimal."""

    def unescaped(escape: re.Match[str]) -> str:
        character = chr(int(escape[1], 16))
        is_plain = character in plain or (character.isascii() and character.isalnum())
        return character if is_plain else escape[0].upper()

    text = quote(_STRAY_PERCENT.sub("%25", text), safe=plain + marks + "%", errors="replace")
    return _ESCAPE.sub(unescaped, text)


def is_print_view(url: str) -> bool:
    """Whether a normalized URL leads to the PDF or print view of a page."""
    return bool(_PRINT_VIEW.search(url))


def without_view(url: str) -> str:
    """A normalized URL without what names a view of the page."""
    return _VIEW.sub("", url)
