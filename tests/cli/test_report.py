"""`report` and `cache clear`, as a user calls them."""

import json
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from deepcritical_mcp.models import LoggedQuery, LoggedSearch, ScreeningMark
from tests.cli.conftest import Command
from tests.fakes import sessions_in
from tests.publications import export, published

NOBODY = "http://127.0.0.1:9"
ITEMS = [
    published("Sleep keeps memories.", provider="pubmed", source="pubmed", title="Sleep and memory", pmid="1"),
    published("Naps count.", provider="user", source="user", title="</script><b>A note"),
]


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in `tmp_path`; nobody can be asked."""
    monkeypatch.chdir(tmp_path)
    nobody = {f"DEEPCRITICAL_{name}_BASE_URL": NOBODY for name in ("NCBI", "CROSSREF")}
    return partial(command, DEEPCRITICAL_CACHE_DIR=str(tmp_path / "cache"), **nobody)


def test_an_export_becomes_a_standalone_page(run: Run, tmp_path: Path) -> None:
    (tmp_path / "evidence.jsonl").write_text(export(ITEMS, "jsonl"), encoding="utf-8")
    done = run("report", "evidence.jsonl", "-o", "page.html", "--title", "My <report>")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "2 items of evidence written to page.html" in done.stdout
    assert "Sleep and memory" in page
    assert '"map":[{' in page
    assert "<title>My &lt;report&gt;</title>" in page
    assert "</script><b>" not in page


def test_unknown_sessions_and_invalid_files_are_errors(run: Run, tmp_path: Path) -> None:
    kept = {"DEEPCRITICAL_DATA_DIR": str(tmp_path / "data")}
    (tmp_path / "wrong.jsonl").write_text("{}\n")
    assert "No session has the id" in run("report", "rs_" + "0" * 32, **kept).stderr
    assert "Line 1 is not a publication" in run("report", "wrong.jsonl").stderr
    assert "none.jsonl" in run("report", "none.jsonl").stderr
    assert not (tmp_path / "report.html").exists()


async def keep_session(folder: Path) -> str:
    """A kept session with a logged search, one record excluded, and one note."""
    async with sessions_in(folder) as sessions:
        store = await sessions.open(title="Sleep review")
        await store.add_evidence(ITEMS)
        await store.decide([ScreeningMark("pubmed:1", "excluded", "no controls", ("sleep",))])
        queries = (LoggedQuery(query="sleep", sent="sleep[tiab]", results=3),)
        about = {"at": "2026-11-23T04:45:10Z", "tool": "pubmed_search", "source": "pubmed", "title": "PubMed"}
        await store.log_search(LoggedSearch.model_validate({**about, "queries": queries, "ids": ("pubmed:1",)}))
        return store.session_id


def test_a_kept_session_is_reported_with_its_decisions_searches_and_flow_diagram(run: Run, tmp_path: Path) -> None:
    anyio.run(keep_session, tmp_path / "data")
    done = run("report", "sleep rev", DEEPCRITICAL_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    found = re.search(r'id="data">(.*?)</script>', page)
    assert found
    data = json.loads(found[1])
    marks = {one["id"]: one["screening"] for one in data["result"]["structuredContent"]["evidence"]}
    assert marks["pubmed:1"] == {"decision": "excluded", "reason": "no controls", "tags": ["sleep"]}
    assert [one["queries"][0]["sent"] for one in data["log"]] == ["sleep[tiab]"]
    assert [line for step in data["flow"]["steps"] for line in step["aside"] if "–" in line] == ["– no controls: 1"]


def test_an_export_in_utf_16_is_read_and_other_encodings_are_named(run: Run, tmp_path: Path) -> None:
    text = export([published("Schlaf fördert das Gedächtnis.", provider="user", source="user", title="Ä")], "jsonl")
    (tmp_path / "redirected.jsonl").write_text(text, encoding="utf-16")
    (tmp_path / "old.jsonl").write_text(text, encoding="latin-1")
    read = run("report", "redirected.jsonl")
    assert read.returncode == 0, read.stderr
    assert "fördert" in (tmp_path / "report.html").read_text(encoding="utf-8")
    refused = run("report", "old.jsonl")
    assert "not UTF-8" in refused.stderr
    assert "bug" not in refused.stderr


def test_services_that_cannot_be_asked_are_named_and_without_a_model_there_is_no_map(run: Run, tmp_path: Path) -> None:
    (tmp_path / "evidence.jsonl").write_text(export(ITEMS, "jsonl"), encoding="utf-8")
    done = run("report", "evidence.jsonl", DEEPCRITICAL_EMBEDDING_MODEL=str(tmp_path))
    assert done.returncode == 0
    assert '"map":[{' not in (tmp_path / "report.html").read_text("utf-8")
    assert (
        "The status of PMID 1 (status unchecked) could not be asked again and may be out of date: PubMed" in done.stderr
    )
