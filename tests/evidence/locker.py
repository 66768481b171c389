"""Another program that locks a file, for tests."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_PROGRAM = """
import fcntl, sqlite3, sys
path, how = sys.argv[1:]
if how == "flock":
    file = open(path, "a")
    fcntl.flock(file, fcntl.LOCK_EX)
else:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"BEGIN {how}")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(path: Path, how: str = "EXCLUSIVE") -> Generator[None]:
    """Another process keeps a lock on the file: SQLite's DEFERRED (to read), IMMEDIATE or EXCLUSIVE, or flock's."""
    command = [sys.executable, "-c", _PROGRAM, str(path), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "locked\n"
            yield
        finally:
            other.kill()
