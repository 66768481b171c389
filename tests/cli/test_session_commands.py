"""`deepcritical-mcp sessions` lists, exports, deletes and restores what the server on stdio keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from deepcritical_mcp.checking.checker import REPORT, KeptCheck
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.models import CheckedReference
from tests.checking.reports import report
from tests.cli.conftest import Command
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
    assert "Delete 2 sessions with all evidence, so that nothing can be undone?" in said
    assert list((tmp_path / "data").rglob(f"*{zinc}*"))
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
