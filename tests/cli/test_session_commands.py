"""The command sessions, and how every command fails: one clear sentence, an exit code, no traceback."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from deepcritical_mcp.checking.checker import REPORT, KeptCheck
from deepcritical_mcp.config import unknown_variables
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.models import CheckedReference
from deepcritical_mcp.sources.web.earlier_results import CACHE_FILE
from tests.checking.reports import report
from tests.cli.conftest import Command
from tests.evidence.locker import locked
from tests.fakes import sessions_in
from tests.publications import published

NOTES = {"Warts and zinc": ["Zinc heals warts.", "Zinc is a metal."], "Warts and iron": ["Iron does not."]}


async def _keep(data: Path) -> dict[str, str]:
    ids: dict[str, str] = {}
    async with sessions_in(data) as sessions:
        for title, notes in NOTES.items():
            store = await sessions.open(title=title)
            await store.add_evidence([published(one, provider="user", source="user", title=one) for one in notes])
            ids[title] = store.session_id
    return ids


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, str]:
    """The ids of two sessions by their titles."""
    return anyio.run(_keep, tmp_path / "data")


@pytest.fixture
def sessions(command: Command, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: str, stdin: str = "", data: str = "") -> tuple[int, str, str]:
        place = {"DEEPCRITICAL_DATA_DIR": data or str(tmp_path / "data")}
        done = command("sessions", *arguments, stdin=stdin, **place)
        return done.returncode, done.stdout, done.stderr

    return run


Sessions = Callable[..., tuple[int, str, str]]


def test_they_are_listed_with_their_size_and_for_how_long_they_are_kept(
    kept: dict[str, str], sessions: Sessions
) -> None:
    code, table, _ = sessions()
    assert code == 0
    head, *rows = table.splitlines()
    assert head.split() == ["TITLE", "ITEMS", "SEARCHES", "LAST", "USED", "KEPT", "UNTIL", "ID"]
    assert sorted(row.split()[-1] for row in rows) == sorted(kept.values())
    assert {tuple(row.split()[:4]) for row in rows} == {("Warts", "and", "zinc", "2"), ("Warts", "and", "iron", "1")}
    read = json.loads(sessions("list", "--json")[1])
    assert {row["title"]: row["items"] for row in read} == {"Warts and zinc": 2, "Warts and iron": 1}
    assert all(row["expires"] == pytest.approx(row["used"] + 90 * 86_400) for row in read)


@pytest.mark.usefixtures("kept")
def test_one_is_exported_by_its_title_and_never_over_a_file(sessions: Sessions, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    code, said, _ = sessions("export", "warts and z", "-o", str(out))
    assert (code, said) == (0, f"2 records written to {out}\n")
    assert [one.title for one in read_jsonl(out.read_text("utf-8"))] == NOTES["Warts and zinc"]
    code, _, error = sessions("export", "warts and i", "-o", str(out))
    assert code
    assert "exists and was not changed" in error
    assert len(read_jsonl(out.read_text("utf-8"))) == 2
    assert sessions("export", "warts and i", "-o", str(out), "--force")[0] == 0
    assert len(read_jsonl(out.read_text("utf-8"))) == 1
    code, text, _ = sessions("export", "warts and i", "--format", "markdown")
    assert "Iron does not" in text
    code, _, error = sessions("export", "warts and i", "--format", "docx")
    assert code == 2
    assert "there are bibtex" in error
    assert "all that fits is 1 note, and notes are not" in sessions("export", "warts and i", "--format", "ris")[2]


def test_deleting_asks_and_can_be_undone(kept: dict[str, str], sessions: Sessions) -> None:
    code, said, _ = sessions("delete", "Warts and zinc", stdin="n\n")
    assert code
    assert "Delete 1 session with all evidence?" in said
    assert len(json.loads(sessions("--json")[1])) == 2
    code, said, _ = sessions("delete", "Warts and zinc", "--yes")
    assert code == 0
    assert f"deepcritical-mcp sessions undo {kept['Warts and zinc']}" in said
    assert [row["title"] for row in json.loads(sessions("--json")[1])] == ["Warts and iron"]
    code, said, _ = sessions("undo", kept["Warts and zinc"])
    assert (code, said) == (0, f"{kept['Warts and zinc']} is back, with 2 items of evidence.\n")
    code, said, error = sessions("undo", kept["Warts and zinc"])
    assert code
    assert not said
    assert "is not deleted, so there is nothing to undo" in error
    assert "nothing to restore" in sessions("undo", "rs_" + "0" * 32)[2]


def test_what_is_deleted_now_is_not_left_on_disk(kept: dict[str, str], sessions: Sessions, tmp_path: Path) -> None:
    zinc, iron = kept["Warts and zinc"], kept["Warts and iron"]
    assert f"sessions delete --now {zinc}" in sessions("delete", "Warts and zinc", "--yes")[1]
    assert list((tmp_path / "data").rglob(f"*{zinc}*"))
    code, said, _ = sessions("delete", zinc, "Warts and iron", "--now", stdin="n\n")
    assert code
    assert "Delete 2 sessions with all evidence? This cannot be undone." in said
    assert list((tmp_path / "data").rglob(f"*{zinc}*"))
    (tmp_path / "data" / "sessions" / f"{iron}.0123abcd.new-journal").write_text("Warts")  # by a killed repair
    code, said, _ = sessions("delete", zinc, "Warts and iron", "--now", "--yes")
    assert code == 0
    assert said.endswith(f"Deleted {zinc}.\nDeleted {iron}.\n")
    assert not list((tmp_path / "data").rglob("*rs_*"))
    assert "nothing to restore" in sessions("undo", iron)[2]
    assert "No session has the id" in sessions("delete", zinc, "--now", "--yes")[2]


@pytest.mark.usefixtures("kept")
def test_what_is_ambiguous_or_unknown_changes_nothing(sessions: Sessions) -> None:
    code, _, error = sessions("delete", "warts", "--yes")
    assert code
    assert "2 sessions have titles that begin with" in error
    assert 'No session has the id or title "skin"' in sessions("export", "skin")[2]
    assert len(json.loads(sessions("--json")[1])) == 2


async def _with_paper(data: Path) -> None:
    paper = published("Zinc healed.", source="pubmed", title="Zinc and wounds", pmid="1", status_checked="2999-01-01")
    entry = CheckedReference(index=1, written="Doe J. Zinc. 2018.", verdict="not_found")
    told = report([entry], references=1, not_found=1)
    async with sessions_in(data) as sessions:
        store = await sessions.open(title="Zinc")
        await store.add_evidence([paper])
        await store.keep_document(REPORT, KeptCheck(key="a draft", report=told, order=told.order).model_dump_json())


def test_a_session_is_also_exported_as_bibliography_table_and_search_log(sessions: Sessions, tmp_path: Path) -> None:
    anyio.run(_with_paper, tmp_path / "data")
    code, text, error = sessions("export", "zinc", "--format", "bibliography", "--style", "apa", "--as", "html")
    assert code == 0, error
    assert "<" in text
    assert "Zinc and wounds" in text
    code, text, error = sessions("export", "zinc", "--format", "markdown")
    assert code == 0, error
    assert text.index("## 1. Zinc and wounds") < text.index("\n# 1 reference: 1 not found\n")
    out = tmp_path / "table.csv"
    code, said, _ = sessions("export", "zinc", "--format", "table", "-o", str(out))
    assert (code, said) == (0, f"1 record written to {out}\n")
    assert out.read_bytes().startswith("\ufeff".encode())
    assert "No search was logged" in sessions("export", "zinc", "--format", "search-log")[2]
    assert 'no evidence here is marked "included"' in sessions("export", "zinc", "--marked", "included")[2]
    code, _, error = sessions("export", "zinc", "--style", "apa")
    assert code == 2
    assert "style is for" in error
    assert 'has no output "html"' in sessions("export", "zinc", "--format", "table", "--as", "html")[2]
    assert 'There is no format "news"' in sessions("export", "zinc", "--format", "news")[2]


TYPO = "DEEPCRITICAL_TYPO is not a setting; did you mean DEEPCRITICAL_"


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


@pytest.mark.parametrize("arguments", [("demo", "--offline"), ()])
def test_a_malformed_key_is_reported_and_never_shown(command: Command, arguments: tuple[str, ...]):
    done = command(*arguments, TAVILY_API_KEY="tvly secret\ttail")
    assert done.returncode == 2
    assert done.stderr.startswith("deepcritical-mcp: TAVILY_API_KEY: is not a key")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "secret" not in done.stdout + done.stderr


def run_into(output: int, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deepcritical_mcp", *arguments]
    return subprocess.run(command, env=environment, stdout=output, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("--help",), ("install", "--client", "cursor", "--yes")])
def test_output_to_a_full_disk_is_one_sentence(environment: dict[str, str], arguments: tuple[str, ...]):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run_into(full.fileno(), environment, *arguments)
    told = "deepcritical-mcp: no space left on device. Check the path, its permissions and the space on the disk.\n"
    assert (done.returncode, done.stderr) == (1, told)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes behave differently there")
def test_a_closed_pipe_is_not_an_error(environment: dict[str, str]):
    reading, writing = os.pipe()
    os.close(reading)
    done = run_into(writing, environment, "install", "--client", "cursor", "--yes")
    os.close(writing)
    assert done.stderr == ""


def test_characters_that_the_terminal_lacks_are_not_an_error(command: Command):
    ascii = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert command("doctor", "--help", **ascii).returncode == 0
    done = command("install", "--client", "cursor", "--yes", HOME="/nowhere-ü", **ascii)
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
