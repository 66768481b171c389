"""URLs as identities: one spelling for every address of the same page."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING_PREFIXES = ("utm_",)
_TRACKING_NAMES = frozenset({"fbclid", "gclid", "msclkid", "mc_cid", "mc_eid", "igshid", "yclid", "dclid"})


def normalise_url(url: str) -> str:
    """The spelling of `url` under which two addresses of one page are equal; "" stays ""."""
    parts = urlsplit(url.strip())
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    if not host:
        return url.strip()
    try:
        port = parts.port
    except ValueError:
        port = None
    netloc = host if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{host}:{port}"
    query = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in _TRACKING_NAMES and not name.lower().startswith(_TRACKING_PREFIXES)
    ]
    return urlunsplit((scheme, netloc, parts.path.rstrip("/"), urlencode(query), ""))
