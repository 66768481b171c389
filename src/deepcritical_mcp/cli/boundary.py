"""Where every command ends: whatever went wrong is one clear sentence on stderr, and an exit code; never a traceback.

Imports nothing but the standard library at the top, since a client waits for the server behind it.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NoReturn

FAILED = 1
WRONG_USE = 2
STOPPED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def error_boundary(*, debug: bool) -> Generator[None]:
    """Run a command; with `debug`, the traceback is shown before the sentence."""
    try:
        yield
        sys.stdout.flush()
    except SystemExit as leaving:
        _end_quietly(leaving, debug=debug)
    except BaseException as raised:
        error = _innermost(raised)
        if isinstance(error, BrokenPipeError):
            _leave("", FAILED)  # whoever read our output has gone, e.g. `head`
        if debug:
            traceback.print_exception(raised)
        _leave(*_sentence(error, debug=debug))


def _end_quietly(leaving: SystemExit, *, debug: bool) -> NoReturn:
    if leaving.code == STOPPED:
        _leave("stopped.", STOPPED)
    try:
        sys.stdout.flush()
    except OSError as error:
        _leave(*_sentence(error, debug=debug))
    raise leaving


def _innermost(error: BaseException) -> BaseException:
    """The first error inside a group: task groups wrap what went wrong."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    return error  # pyright: ignore[reportUnknownVariableType]


def _sentence(error: BaseException, *, debug: bool) -> tuple[str, int]:
    from deepcritical_mcp.errors import ConfigurationError, DeepCriticalError

    if isinstance(error, KeyboardInterrupt):
        return "stopped.", STOPPED
    if isinstance(error, ConfigurationError):
        return error.message, WRONG_USE
    if isinstance(error, DeepCriticalError):
        return error.message, FAILED
    if isinstance(error, OSError):
        return _of_system(error), FAILED
    more = "" if debug else " Run the command again with --debug to see where, and please report it."
    return f"unexpected {type(error).__name__}: this is a bug in deepcritical-mcp.{more}", FAILED


def _of_system(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in NO_ROOM:
        return f"there is no room left to write{where}. Free some space, then try again."
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return f"this may not be written or read{where}: {error.strerror}. Check who owns it, or name another place."
    if error.errno in (errno.ENOENT, errno.EISDIR, errno.ENOTDIR):
        return f"there is no such file{where}. Check its name."
    return f"the system refused{where}: {error.strerror or type(error).__name__}."


def _leave(message: str, code: int) -> NoReturn:
    if message:
        with suppress(OSError, ValueError):
            print(f"deepcritical-mcp: {message}", file=sys.stderr, flush=True)
    _forget_unwritten()
    sys.exit(code)


def _forget_unwritten() -> None:
    """Let go what cannot be written, so that the interpreter does not complain about it on its way out."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
