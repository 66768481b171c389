"""Hold the HTTP server against the official conformance suite and the official inspector.

    python tests/conformance/run.py [FOLDER]

FOLDER keeps the Node packages between runs (a temporary one otherwise). Needs npm; the suite's Node 22 comes as the npm
package `node`. Exit code 0 when everything that can be asked is answered well.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance.scenarios import ASKED, LEFT_OUT, UNANSWERABLE, VERSIONS

PACKAGES = ("node@22", "@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0")
ERAS = ("legacy", "modern")
TIMEOUT = 300
INSTALL_TIMES = (300, 900)  # seconds for each attempt: 30 suffice on a quiet machine, 300 did not on a busy one


def main() -> int:
    """Run it all; the number of failures, 0 for success."""
    if shutil.which("npm") is None:
        print("npm is missing: the conformance suite cannot run", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary) / "node"
        install(folder)
        with server(Path(temporary)) as url:
            failures = [
                *(failure for version in VERSIONS for failure in conformance(folder, url, version, Path(temporary))),
                *inspect(folder, url),
            ]
    print("\n".join(failures) or "conformant")
    return min(len(failures), 1)


def install(folder: Path) -> None:
    """Install the packages unless they are there."""
    wanted = folder / "packages.txt"
    if wanted.exists() and wanted.read_text() == "\n".join(PACKAGES):
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    options = ("--no-audit", "--no-fund", "--no-package-lock", "--silent")
    command, (first, second) = ["npm", "install", *options, *PACKAGES], INSTALL_TIMES
    try:
        subprocess.run(command, cwd=folder, check=True, timeout=first)
    except subprocess.TimeoutExpired:
        print(f"npm had not finished after {first} s, and is asked again", file=sys.stderr)
        subprocess.run(command, cwd=folder, check=True, timeout=second)
    wanted.write_text("\n".join(PACKAGES))


@contextmanager
def server(folder: Path) -> Generator[str]:
    """A real server on loopback."""
    environment = {**os.environ, "DEEPCRITICAL_CACHE_DIR": str(folder / "cache"), "HOME": str(folder)}
    log = folder / "server.log"
    command = [sys.executable, "-m", "deepcritical_mcp", "serve", "--transport", "http", "--port", "0"]
    with log.open("w") as stderr, subprocess.Popen(command, stderr=stderr, env=environment) as process:
        try:
            while not (found := re.search(r"listens on (\S+)/mcp", log.read_text())):
                if process.poll() is not None:
                    sys.exit(f"the server did not start: {log.read_text()}")
                time.sleep(0.1)
            yield found[1]
        finally:
            process.kill()


def node(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a package's script on the Node of the packages."""
    modules = folder / "node_modules"
    command = [str(modules / ".bin" / "node"), str(modules / "@modelcontextprotocol" / script), *arguments]
    environment = {**os.environ, "HOME": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment, check=False)


def conformance(folder: Path, url: str, version: str, output: Path) -> Iterator[str]:
    """Run the suite for one protocol version; yields what is wrong."""
    suite = "conformance/dist/index.js"
    listing = node(folder, suite, "list", "--server", "--spec-version", version).stdout
    scenarios = [line.split()[1] for line in listing.splitlines() if line.startswith("  - ")]
    if not scenarios:
        yield f"{version}: the suite lists no scenarios"
    for name in scenarios:
        if (name in ASKED) == (name in LEFT_OUT):
            yield f"{version} {name}: is neither asked nor left out, or both (tests/conformance/scenarios.py)"
    results = output / version
    node(
        folder, suite, "server", "--url", f"{url}/mcp", "--suite", "all", "--spec-version", version, "-o", str(results)
    )
    for name in scenarios:
        if name in ASKED:
            yield from judged(version, name, checks_of(results, name))
        else:
            print(f"{version} {name}: left out, {LEFT_OUT.get(name, 'undecided')}")


def checks_of(results: Path, scenario: str) -> list[dict[str, Any]]:
    """The checks that the suite made for a scenario."""
    names = re.compile(rf"server-{re.escape(scenario)}-\d{{4}}-.*")
    files = [folder / "checks.json" for folder in results.iterdir() if names.fullmatch(folder.name)]
    return [check for file in files for check in json.loads(file.read_text())]


def judged(version: str, scenario: str, checks: list[dict[str, Any]]) -> Iterator[str]:
    """Print how a scenario went; yields its failures."""
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    print(f"{version} {scenario}: {passed} checks passed")
    if not passed:
        yield f"{version} {scenario}: nothing was checked"
    for check in checks:
        if check["status"] != "FAILURE":
            continue
        reason = UNANSWERABLE.get(check["id"])
        if reason:
            print(f"{version} {scenario} {check['id']}: left out, {reason}")
        else:
            yield f"{version} {scenario} {check['id']}: {check.get('errorMessage', 'failed')}"


def inspect(folder: Path, url: str) -> Iterator[str]:
    """Let the inspector judge all tools' schemas over every transport and era; yields what is wrong."""
    inspector = "inspector/clients/launcher/build/index.js"
    stdio = (sys.executable, "-m", "deepcritical_mcp")
    targets = [(f"{url}/mcp",), (f"{url}/sse",), stdio]
    for target in targets:
        for era in ERAS if target != (f"{url}/sse",) else ("legacy",):
            arguments = ("--method", "tools/list", "--strict", "--protocol-era", era, "--format", "json")
            run = node(folder, inspector, "--cli", *arguments, "--", *target)
            name = f"inspector --strict {era} {target[-1]}"
            count = len(json.loads(run.stdout)["result"]["tools"]) if run.returncode == 0 else 0
            print(f"{name}: {count} tools")
            if not count:
                yield f"{name}: {run.stderr.strip()[-2_000:]}"


if __name__ == "__main__":
    sys.exit(main())
