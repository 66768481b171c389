"""The real command in a process of its own, with a home folder of its own and none of this machine's settings."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deepcritical_mcp.config import PREFIX, every_setting
from tests.cli.forked import ForkServer
from tests.cli.providers import providers_on_loopback

Command = Callable[..., subprocess.CompletedProcess[str]]

_OTHER_VARIABLES = (
    "APPDATA", "LOCALAPPDATA", "CLAUDE_CONFIG_DIR", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE",
)  # fmt: skip
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """The environment of a user who has configured nothing."""
    return {**_bare_environment(), "HOME": str(home), "USERPROFILE": str(home)}


def _bare_environment() -> dict[str, str]:
    ours = {setting.variable for setting in every_setting()}
    others = {*_OTHER_VARIABLES, *_PROXIES, *map(str.lower, _PROXIES)}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ours | others and not name.startswith(PREFIX) and "XDG" not in name
    }
    return {**kept, "PYTHONWARNINGS": "default", "TERM": "dumb"}


def settings_for(address: str, cache: Path) -> dict[str, str]:
    """Settings under which every provider that needs no key is a stand-in at `address`."""
    return {
        "DEEPCRITICAL_NCBI_BASE_URL": f"{address}/entrez/eutils",
        "DEEPCRITICAL_CITMATCH_URL": f"{address}/citmatch",
        "DEEPCRITICAL_CROSSREF_BASE_URL": f"{address}/crossref",
        "DEEPCRITICAL_DUCKDUCKGO_URL": f"{address}/html/",
        "DEEPCRITICAL_EUROPEPMC_BASE_URL": f"{address}/europepmc",
        "DEEPCRITICAL_CLINICALTRIALS_BASE_URL": f"{address}/ctgov",
        "DEEPCRITICAL_ICITE_BASE_URL": f"{address}/icite",
        **{f"DEEPCRITICAL_{name}_BASE_URL": f"{address}/{name.lower()}" for name in ("TAVILY", "BRAVE", "SERPAPI")},
        "DEEPCRITICAL_CACHE_DIR": str(cache),
        "NO_PROXY": "*",
    }


@pytest.fixture(scope="module")
def sample_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Settings under which the providers that need no key are stand-ins on loopback."""
    with providers_on_loopback() as address:
        yield settings_for(address, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer | None]:
    """Spares commands the seconds that their imports take, where the system can."""
    if sys.platform != "linux":
        yield None
        return
    server = ForkServer(_bare_environment())
    yield server
    server.close()


@pytest.fixture
def command(environment: dict[str, str], fork_server: ForkServer | None) -> Command:
    """`command("doctor", "--json", NAME="value")` runs the command and waits for its end."""

    def run(
        *arguments: str, stdin: str = "", timeout: float = 60, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        variables = environment | variables
        if fork_server and not any(name.startswith("PYTHON") for name in variables.keys() - environment.keys()):
            return fork_server.run(arguments, variables, stdin, timeout)
        return subprocess.run(
            [sys.executable, "-m", "deepcritical_mcp", *arguments],
            env=variables,
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )

    return run
