"""Commands in processes forked from one that has imported the package: as separate as any, without seconds of imports.

Linux only; run as a program, it is that process.
"""

import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

PACKAGE = "deepcritical_mcp"
IMPORTED = (
    "cli.app", "cli.check", "cli.demo", "cli.doctor_checks", "cli.clients", "cli.session_commands", "server",
    "checking.checker", "search.full_texts", "search.reference_finder", "search.expansion.expander", "sources.page",
)  # fmt: skip
_LARGEST = 1 << 16


class ForkServer:
    """Runs `python -m deepcritical_mcp` like `subprocess.run`. One command at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        root = Path(__file__).parents[2]
        command = [sys.executable, "-m", __name__, str(other.fileno())]
        self._process = subprocess.Popen(command, cwd=root, env=dict(environment), pass_fds=[other.fileno()])
        other.close()

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], stdin: str, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        request = json.dumps({"argv": arguments, "environment": dict(environment), "folder": os.getcwd()})
        with tempfile.TemporaryFile() as input, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            input.write(stdin.encode())
            input.seek(0)
            self._connection.settimeout(None)  # the first command waits for the imports
            socket.send_fds(self._connection, [request.encode()], [one.fileno() for one in (input, output, errors)])
            child = int(self._connection.recv(_LARGEST))
            self._connection.settimeout(timeout)
            try:
                code = int(self._connection.recv(_LARGEST))
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                raise
            return subprocess.CompletedProcess(list(arguments), code, _text(output), _text(errors))

    def close(self) -> None:
        self._connection.close()
        self._process.wait(timeout=20)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _fork_for_each_request(connection: socket.socket) -> None:
    """Returns in each child, with its arguments, environment, folder and streams; exits when nobody asks any more."""
    while True:
        message, streams, _, _ = socket.recv_fds(connection, _LARGEST, 3)
        if not message:
            connection.close()
            sys.exit()
        child = os.fork()
        if not child:
            break
        for stream in streams:
            os.close(stream)
        connection.send(str(child).encode())
        connection.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    request = json.loads(message)
    sys.argv[1:] = request["argv"]
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for module in IMPORTED:
            import_module(f"{PACKAGE}.{module}")
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*multi-threaded, use of fork")
    gc.freeze()  # children share the pages of what is not looked through
    _fork_for_each_request(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module(PACKAGE, run_name="__main__", alter_sys=True)
