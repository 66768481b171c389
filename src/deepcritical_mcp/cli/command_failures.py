"""How every command ends: a failure is one clear sentence on stderr and an exit code, not a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import cast

from deepcritical_mcp.errors import ConfigurationError, DeepCriticalError

FAILED, USAGE_ERROR, INTERRUPTED = 1, 2, 130


@contextmanager
def error_boundary(*, debug: bool, failed: int = FAILED) -> Generator[None]:
    """Run a command; with `debug`, show the traceback before the message. `failed` is the exit code of a failure."""
    try:
        try:
            yield
        except BaseException as raised:
            ending = _without_groups(raised)
            if not isinstance(ending, SystemExit):
                raise
            if ending.code == INTERRUPTED:
                raise KeyboardInterrupt from None
            sys.stdout.flush()
            raise ending from None
        sys.stdout.flush()
    except SystemExit:
        raise
    except BaseException as raised:
        message, code = _message(_without_groups(raised), failed, debug=debug)
        with suppress(OSError, ValueError):
            if debug and message:
                traceback.print_exception(raised)
            if message:
                print(f"deepcritical-mcp: {message}", file=sys.stderr, flush=True)
        try:
            sys.stdout.flush()
        except (OSError, ValueError):  # discard what cannot be written: the interpreter would report it again at exit
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(code)


def _without_groups(error: BaseException) -> BaseException:
    """The first error in the groups that task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _message(error: BaseException, failed: int, *, debug: bool) -> tuple[str, int]:
    if isinstance(error, BrokenPipeError):
        return "", failed  # the reader of our output has closed the pipe, e.g. `head`
    if isinstance(error, KeyboardInterrupt):
        return "stopped.", INTERRUPTED
    if isinstance(error, DeepCriticalError):
        return error.message, USAGE_ERROR if isinstance(error, ConfigurationError) else failed
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        where = f" ({error.filename})" if error.filename else ""
        helps = "Check the path, its permissions and the space on the disk."
        return f"{reason[:1].lower()}{reason[1:]}{where}. {helps}", failed
    more = "" if debug else " Run the command again with --debug for a traceback, and please report it."
    return f"unexpected {type(error).__name__}: this is a bug in deepcritical-mcp.{more}", failed
