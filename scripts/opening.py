"""Records the answers to `initialize` and `tools/list` that a client on stdio gets before the SDK is imported.

    python scripts/opening.py

To be run after a tool's name, description, parameters or result have changed, or the instructions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from deepcritical_mcp.transports import opening

SLOW = "from deepcritical_mcp.transports import opening; opening.SDK_VERSION = '0'"
SERVER = f"{SLOW}; from deepcritical_mcp.cli import main; main()"
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "recorder", "version": "0"}}


def recorded() -> dict[str, Any]:
    """The results of both requests, as the SDK answers them."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "DEEPCRITICAL_DATA_DIR": "memory", "PATH": os.environ.get("PATH", "")}
        command = [sys.executable, "-c", SERVER]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdin
            assert process.stdout
            for number, (method, params) in enumerate((("initialize", CLIENT), ("tools/list", {}))):
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                process.stdin.write(json.dumps(message).encode() + b"\n")
                process.stdin.flush()
                results[method] = json.loads(process.stdout.readline())["result"]
            process.kill()
    results["initialize"]["serverInfo"]["version"] = results["initialize"]["protocolVersion"] = ""  # filled in later
    return results


def text(results: dict[str, Any]) -> str:
    """The file's text."""
    return json.dumps(results, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    results = recorded()
    opening.ANSWERS.write_text(text(results), encoding="utf-8", newline="\n")
    print(f"{opening.ANSWERS.name}: {len(results['tools/list']['tools'])} tools")
