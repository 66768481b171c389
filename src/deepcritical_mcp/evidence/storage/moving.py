"""Taking the name of a session's file from it, while other processes may have it open."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Generator
from pathlib import Path

from deepcritical_mcp.evidence.storage.session_file import BUSY_SECONDS, failures


@contextlib.contextmanager
def without_writers(path: Path) -> Generator[None]:
    """Nobody writes to the file meanwhile, so that it can be moved or replaced: what another process wrote would be
    lost, and its journal would be applied to the file that has the name then. What a killed process had not finished is
    undone before.

    Raises:
        SessionBusyError: another process does not let go of it.
    """
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", BUSY_SECONDS, isolation_level=None, uri=True)
    try:
        with failures("move the session"):
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                    raise
                # it is damaged or read-only: nobody writes to it
        if sys.platform == "win32":
            connection.close()  # a file that anybody has open cannot be moved there
        yield
    finally:
        connection.close()
