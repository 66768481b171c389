"""Logging: one line per event on stderr, without keys, whichever library writes it."""

from __future__ import annotations

import datetime
import logging
import re
import sys
from collections.abc import Sequence
from urllib.parse import quote

# Libraries that log requests; at DEBUG they log responses too, which can repeat a request's address.
_HTTP_LOGGERS = (
    "httpx primp ddgs httpcore.connection httpcore.http11 httpcore.http2 httpcore.proxy httpcore.socks".split()
)
_NOISY_LOGGERS = "httpx httpcore primp hyper_util ddgs hpack urllib3 asyncio chromadb filelock".split()
_KEY_PARAMETER = re.compile(r"((?:api[_-]?key|access_token|token|secret)(?:=|%3[dD]))[^&\s\"'<>)\]}\\]+", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Anything else was passed as `extra`; uvicorn's `color_message` repeats the message with terminal codes.
_STANDARD_ATTRIBUTES = {*vars(logging.makeLogRecord({})), "taskName", "color_message"}
HIDDEN = "***"


def hide(text: str, secrets: Sequence[str] = ()) -> str:
    """`text` without `secrets`, plain or percent-encoded, and without the value of any parameter named like a key."""
    for secret in filter(None, secrets):
        text = text.replace(secret, HIDDEN).replace(quote(secret, safe=""), HIDDEN)
    return _KEY_PARAMETER.sub(rf"\1{HIDDEN}", text)


class _HideKeys(logging.Filter):
    """Removes keys from a record before any handler sees it; keeps every record."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        hidden = hide(message, tuple(self.secrets))
        if hidden != message:
            record.msg, record.args = hidden, ()
        return True


_HIDE_KEYS = _HideKeys()


def hide_keys_in_urls(*secrets: str) -> None:
    """Keep keys out of what the HTTP libraries log, at every level and for every handler. May be called repeatedly.

    Some providers accept their key only in the URL; httpx logs addresses at INFO, httpcore response headers at DEBUG.
    Parameters named like a key are always hidden, `secrets` wherever they occur.
    """
    _HIDE_KEYS.secrets.update(filter(None, secrets))
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).addFilter(_HIDE_KEYS)


class _OneLineFormatter(logging.Formatter):
    """Writes `2026-01-31T12:00:00.000Z info deepcritical_mcp.search the message key='extra' | the traceback`.

    Line breaks and control characters are escaped: text from a client, which some libraries log, must neither end the
    line nor reach the terminal. Secrets are hidden everywhere. Tracebacks contain no local variables, which hold
    headers and settings.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES}
        line = f"{time.removesuffix('+00:00')}Z {record.levelname.lower()} {record.name} {record.getMessage()}"
        line += "".join(f" {name}={value!r}" for name, value in extra.items())
        if record.exc_info:
            line += f" | {self.formatException(record.exc_info)}"
        if record.stack_info:
            line += f" | {self.formatStack(record.stack_info)}"
        line = line.replace("\r", "").replace("\n", "\\n")
        return hide(_CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", line), self._secrets)


def configure_logging(level: str, secrets: Sequence[str] = ()) -> None:
    """Send records of `level` and above to stderr, one line each, with `secrets` hidden.

    HTTP libraries log at WARNING and above.
    """
    hide_keys_in_urls()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLineFormatter(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _NOISY_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(True)
