"""How every command fails: one clear sentence, an exit code, no traceback."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from deepcritical_mcp.config import unknown_variables
from deepcritical_mcp.sources.web.earlier_results import CACHE_FILE
from tests.cli.conftest import Command
from tests.evidence.locker import locked

TYPO = "DEEPCRITICAL_TYPO is not a setting; did you mean DEEPCRITICAL_"
COMMANDS = (("demo", "--offline"), ("doctor",), ("install", "--client", "cursor", "--yes"), ())


def test_a_mistyped_setting_is_reported_with_the_closest_name(command: Command):
    done = command("install", "--client", "cursor", "--yes", DEEPCRITICAL_TYPO="1", DEEPCRITICAL_DEADLIN="30")
    assert done.returncode == 0
    assert TYPO in done.stderr
    assert "DEEPCRITICAL_DEADLIN is not a setting; did you mean DEEPCRITICAL_DEADLINE?" in done.stderr


def test_the_server_logs_a_mistyped_setting_without_its_value_and_starts(command: Command):
    done = command(DEEPCRITICAL_TYPO="1", TAVILY_APIKEY="tvly-secret")
    assert done.returncode == 0
    assert TYPO in done.stderr
    assert "TAVILY_APIKEY is not a setting; did you mean TAVILY_API_KEY?" in done.stderr
    assert "secret" not in done.stderr
    assert done.stdout == ""


def test_cached_results_that_cannot_be_deleted_are_not_said_to_be(command: Command, tmp_path: Path):
    sqlite3.connect(tmp_path / CACHE_FILE).close()
    with locked(tmp_path / CACHE_FILE):
        done = command("cache", "clear", DEEPCRITICAL_CACHE_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "Nothing was deleted" in done.stderr


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TAVILY_APIKEY", "TAVILY_API_KEY"),
        ("NCBI_MAIL", "NCBI_EMAIL"),
        ("BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"),
        ("DEEPCRITICAL_NCBI_API_KEY", "NCBI_API_KEY"),
        ("DEEP_CRITICAL_DEADLINE", "DEEPCRITICAL_DEADLINE"),
        *((name, None) for name in ("OPENAI_API_KEY", "SERPER_API_KEY", "XAI_API_KEY", "EMAIL", "TAVILY_PROJECT")),
        ("deepcritical_deadline", None),
    ],
)
def test_mistyped_variables_are_pointed_out_and_those_of_other_programs_left_alone(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str | None
):
    monkeypatch.setenv(name, "x")
    assert unknown_variables().get(name) == meant


@pytest.mark.parametrize("arguments", [one for one in COMMANDS if "install" not in one and "doctor" not in one])
def test_a_malformed_key_is_reported_and_never_shown(command: Command, arguments: tuple[str, ...]):
    done = command(*arguments, TAVILY_API_KEY="tvly secret\ttail")
    assert done.returncode == 2
    assert done.stderr.startswith("deepcritical-mcp: TAVILY_API_KEY: is not a key")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("--help",), ("install", "--client", "cursor", "--yes")])
def test_output_to_a_full_disk_is_one_sentence(environment: dict[str, str], arguments: tuple[str, ...]):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "deepcritical_mcp", *arguments],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert (
        done.stderr
        == "deepcritical-mcp: no space left on device. Check the path, its permissions and the space on the disk.\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="pipes behave differently there")
def test_a_closed_pipe_is_not_an_error(environment: dict[str, str]):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "deepcritical_mcp", "install", "--client", "cursor", "--yes"],
        env=environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.stderr == ""


def test_characters_that_the_terminal_lacks_are_not_an_error(command: Command):
    done = command("doctor", "--help", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    done = command(
        "install", "--client", "cursor", "--yes", PYTHONIOENCODING="ascii", HOME="/nowhere-ü", PYTHONUTF8="0"
    )
    assert "Unicode" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("serve", "--port", "abc"), "'--port': must be a valid integer"),
        (("serve", "--port", "99999"), "'--port': must be less than or equal to 65535"),
        (("serve", "--transport", "foo"), "'--transport': 'foo' is not one of"),
        (("install", "--client", "foo"), "'--client': 'foo' is not one of"),
        (("bogus",), "bogus"),
        (("demo", "--bogus"), "--bogus"),
        (("install",), "--client"),
    ],
)
def test_a_wrong_option_is_reported_in_plain_words(command: Command, arguments: tuple[str, ...], told: str):
    done = command(*arguments)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
