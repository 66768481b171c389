"""Logging: one line an event on stderr, and no key in any of them, whoever writes it."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

# Libraries that log requests; in DEBUG they log answers too, which can repeat a request's address.
_HTTP_LOGGERS = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
    "primp",
    "ddgs",
)
_NOISY_LOGGERS = (
    "httpx",
    "httpcore",
    "primp",
    "hyper_util",
    "ddgs",
    "hpack",
    "urllib3",
    "asyncio",
    "chromadb",
    "filelock",
)
_KEY_PARAMETER = re.compile(r"((?:api[_-]?key|access_token|token|secret)(?:=|%3[dD]))[^&\s\"'<>)\]}\\]+", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
HIDDEN = "***"


def hide(text: str, secrets: Sequence[str] = ()) -> str:
    """`text` without the secrets, plain or percent-encoded, and without the value of any parameter named like a key."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN).replace(quote(secret, safe=""), HIDDEN)
    return _KEY_PARAMETER.sub(rf"\1{HIDDEN}", text)


class _HideKeys(logging.Filter):
    """Rewrites a record before any handler sees it; keeps them all."""

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


def hide_keys_in_addresses(*secrets: str) -> None:
    """Keep keys out of what the HTTP libraries log, at every level and for every handler; repeating it is harmless.

    SerpAPI and NCBI take their keys in the address; httpx logs addresses at INFO, httpcore the answer's headers at
    DEBUG. Parameters named like a key are hidden in any case, `secrets` wherever they turn up.
    """
    _HIDE_KEYS.secrets.update(filter(None, secrets))
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).addFilter(_HIDE_KEYS)


class _SafeFormatter(logging.Formatter):
    """The last word on every line: one line, without secrets. structlog is imported with the first line to write."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    @cached_property
    def _lines(self) -> logging.Formatter:
        import structlog

        return structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_shared_processors(),
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _one_line],
        )

    def format(self, record: logging.LogRecord) -> str:
        return hide(self._lines.format(record), self._secrets)


def configure_logging(level: str, secrets: Sequence[str] = ()) -> None:
    """Send the standard library's records of `level` and above to stderr, and structlog's with `configure_structlog`.

    HTTP libraries are heard from WARNING on. Nothing is written that contains one of `secrets`.
    """
    hide_keys_in_addresses()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_SafeFormatter(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _NOISY_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(True)


def configure_structlog() -> None:
    """Hand structlog's events to the standard library's logging.

    Apart from `configure_logging`, since importing structlog takes a tenth of the time in which `initialize` should be
    answered; to be called before anything that logs with it runs.
    """
    import structlog

    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_shared_processors(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _one_line(logger: WrappedLogger, method: str, event: EventDict) -> str:
    """`2026-01-31T12:00:00Z info deepcritical_mcp.search "the event" key=value`, line breaks and controls escaped: a
    client's words, which some libraries log, must neither end the line nor reach the terminal."""
    time, level, name = (event.pop(part, "") for part in ("timestamp", "level", "logger"))
    text, trace = str(event.pop("event", "")), event.pop("exception", "")
    pairs = "".join(f" {key}={value!r}" for key, value in event.items())
    line = f"{time} {level} {name} {text}{pairs}" + (f" | {trace}" if trace else "")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", line.replace("\r", "").replace("\n", "\\n"))


def _shared_processors() -> list[Processor]:
    import structlog

    return [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        # No local variables in tracebacks: they hold headers and settings.
        structlog.processors.format_exc_info,
    ]
