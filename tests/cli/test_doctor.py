"""`deepcritical-mcp doctor` against providers on loopback."""

import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cli.conftest import Command
from tests.net.stand_in import Quiet, in_a_thread

NO_SERVER = "http://127.0.0.1:9/nothing"
KEYS = {"TAVILY_API_KEY": "tvly-secret-1", "BRAVE_API_KEY": "BSA-secret-2", "SERPAPI_API_KEY": "secret-3"}


class _Refusing(Quiet):
    """A proxy that refuses every request."""

    def do_CONNECT(self) -> None:
        self.send_error(403)

    do_GET = do_POST = do_CONNECT


def _checks(output: str) -> dict[str, dict[str, Any]]:
    return {check["part"]: check for check in cast("list[dict[str, Any]]", json.loads(output)["checks"])}


def test_components_that_work_and_a_refused_key_are_reported(
    command: Command, sample_world: dict[str, str], home: Path
):
    (home / ".cursor").mkdir()
    settings = {**sample_world, **KEYS, "NCBI_EMAIL": "ada@example.org", "DEEPCRITICAL_TYPO": "1"}
    done = command("doctor", "--json", **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["works"] is True
    found = _checks(done.stdout)
    working = (
        "Python",
        "deepcritical-mcp",
        "Settings",
        "Server",
        "Embedding model",
        "Store (Chroma)",
        "PubMed",
        "iCite",
        "Crossref",
        "ClinicalTrials.gov",
        "Europe PMC preprints",
        "DuckDuckGo",
        "Tavily",
        "SerpAPI",
    )
    assert {part: found[part]["state"] for part in working} == dict.fromkeys(working, "ok")
    assert found["Brave Search"]["state"] == "broken"
    assert "BRAVE_API_KEY" in found["Brave Search"]["advice"]
    assert found["DEEPCRITICAL_TYPO"]["state"] == "warning"
    assert "install --client cursor" in found["Cursor"]["advice"]
    assert found["VS Code"]["state"] == "off"
    assert found["PubMed"]["seconds"] > 0
    assert not any(key in done.stdout + done.stderr for key in KEYS.values())


def test_a_source_that_is_switched_off_is_shown_as_off_and_not_asked(command: Command, sample_world: dict[str, str]):
    settings = {**sample_world, "DEEPCRITICAL_NCBI_BASE_URL": NO_SERVER, "DEEPCRITICAL_OFF": "pubmed,pmc"}
    done = command("doctor", "--json", **settings)
    found = _checks(done.stdout)
    assert found["PubMed"]["state"] == found["PMC"]["state"] == "off"
    assert "DEEPCRITICAL_OFF" in found["PubMed"]["finding"]
    assert json.loads(done.stdout)["works"] is True


def test_without_the_model_evidence_is_found_by_words_and_that_is_said(
    command: Command, sample_world: dict[str, str], tmp_path: Path
):
    settings = {**sample_world, "DEEPCRITICAL_EMBEDDING_MODEL": str(tmp_path)}
    done = command("doctor", "--json", **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    found = _checks(done.stdout)
    assert found["Embedding model"]["state"] == "broken"
    assert "by its words only" in found["Store (Chroma)"]["finding"]
    said = " ".join(command("doctor", **settings).stdout.split())
    assert "The main job works, but evidence is found again by its words only, not by meaning." in said
    assert "found again by meaning" not in said


def test_no_source_answers_and_the_home_folder_is_not_writable(command: Command, home: Path):
    blocked = home / "blocked"
    blocked.write_text("no folder", encoding="utf-8")
    settings = {"DEEPCRITICAL_NCBI_BASE_URL": NO_SERVER, "DEEPCRITICAL_DUCKDUCKGO_URL": NO_SERVER, "HOME": str(blocked)}
    done = command("doctor", COLUMNS="60", **settings)
    assert done.returncode == 1
    assert "Searching and keeping evidence does not work yet" in done.stdout
    assert "PubMed cannot be reached" in " ".join(done.stdout.split())
    assert "DEEPCRITICAL_CACHE_DIR" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_data_folder_that_everybody_can_write_to_is_reported(command: Command, tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)
    settings = {"DEEPCRITICAL_NCBI_BASE_URL": NO_SERVER, "DEEPCRITICAL_DUCKDUCKGO_URL": NO_SERVER}
    done = command("doctor", "--json", **settings, DEEPCRITICAL_DATA_DIR=str(data))
    found = _checks(done.stdout)["Data folder"]
    assert found["state"] == "warning"
    assert "every user" in found["finding"]
    assert "chmod 700" in found["advice"]


def test_a_proxy_that_refuses_is_reported_without_its_password(command: Command, sample_world: dict[str, str]):
    world = {name: value for name, value in sample_world.items() if name != "NO_PROXY"}
    with in_a_thread(_Refusing) as refusing_proxy:
        through = refusing_proxy.replace("http://", "http://ada:sesame@")
        done = command("doctor", "--json", HTTP_PROXY=through, http_proxy=through, **world)
    assert done.returncode == 1
    found = _checks(done.stdout)
    assert refusing_proxy.removeprefix("http://") in found["Proxy"]["finding"]
    assert found["PubMed"]["state"] == "broken"
    assert "proxy" in found["PubMed"]["advice"]
    assert "sesame" not in done.stdout + done.stderr


def test_a_malformed_key_is_reported_and_never_shown(command: Command):
    done = command("doctor", "--json", NCBI_API_KEY="two words")
    found = _checks(done.stdout)
    assert (done.returncode, found["Settings"]["state"]) == (1, "broken")
    assert "NCBI_API_KEY" in found["Settings"]["finding"]
    assert "Cursor" in found, "the clients are still checked"
    assert "two words" not in done.stdout + done.stderr
