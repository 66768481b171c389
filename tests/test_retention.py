"""What the docs and manifests say is kept, where and for how long, is what happens on a disk."""

import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from deepcritical_mcp.evidence.storage.backend import Backend, MemoryBackend
from deepcritical_mcp.evidence.storage.chroma_backend import ServerBackend
from tests.transports.processes import serving_process
from tests.wire import wire

ROOT = Path(__file__).resolve().parents[1]
MANIFEST: dict[str, Any] = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text())
GUIDE = (ROOT / "docs/guide.md").read_text()
ROWS: dict[str, tuple[str, str]] = {
    how: (where, long)
    for how, where, long in re.findall(
        r"^\| (.+?) \| (.+?) \| (.+?) \|$",
        GUIDE.partition("### Where and how long")[2].partition("\n\n`")[0],
        re.MULTILINE,
    )
}
"""The guide's table: how the server runs, where sessions are, how long."""
NOTE = "Zinc helped patient Quetzalcoatl"


def kept_on_disk(folder: Path) -> list[Path]:
    """The files in which the note stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if b"Quetzalcoatl" in path.read_bytes()]


async def noted_on_stdio(home: Path, **environment: str) -> dict[str, Any]:
    """The sessions that a server on stdio lists after it has kept a note."""
    variables = {"PATH": "", "HOME": str(home), "DEEPCRITICAL_CACHE_DIR": str(home / "cache"), **environment}
    server = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=variables)
    with (home / "stderr").open("w") as stderr:
        async with Client(stdio_client(server, errlog=stderr)) as client:
            await client.call_tool("add_evidence", {"items": [{"content": NOTE}], "session_id": "new: patient"})
            return wire(await client.call_tool("list_sessions", {}))


def days_kept(listed: dict[str, Any]) -> int:
    """For how many days after its last use the only session is kept."""
    (session,) = listed["sessions"]
    return (date.fromisoformat(session["kept_until"]) - date.fromisoformat(session["last_used"][:10])).days


def bundle(**filled: str) -> dict[str, str]:
    """The environment that the bundle starts the server with, if the form is filled in like that."""
    values: dict[str, str] = {
        name: filled.get(name, str(field["default"])) for name, field in MANIFEST["user_config"].items()
    }
    environment: dict[str, str] = MANIFEST["server"]["mcp_config"]["env"]
    return {name: values[value.removeprefix("${user_config.").removesuffix("}")] for name, value in environment.items()}


@pytest.mark.parametrize("variables", [{}, bundle()], ids=["install", "bundle"])
async def test_sessions_are_kept_where_the_form_and_the_guide_s_table_say(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    said = MANIFEST["user_config"]["data_dir"]["description"]
    assert said == "Folder in which sessions are kept, or memory to keep none; empty = your data folder"
    where, long = ROWS["stdio: what `install` configures"]
    assert "data folder" in where
    for value in ("memory", str(tmp_path / "named")):  # as the guide's table has them, below
        assert bundle(data_dir=value) == bundle() | {"DEEPCRITICAL_DATA_DIR": value}
    listed = await noted_on_stdio(tmp_path, **variables)
    assert all(tmp_path / ".local" in path.parents for path in kept_on_disk(tmp_path))
    assert kept_on_disk(tmp_path)
    assert long == f"{days_kept(listed)} days after last use"


async def test_the_guide_s_table_is_what_happens_in_a_folder_and_in_memory(tmp_path: Path) -> None:
    assert ROWS["with `DEEPCRITICAL_DATA_DIR` naming a folder"] == ("in that folder", "90 days after last use")
    listed = await noted_on_stdio(tmp_path, DEEPCRITICAL_DATA_DIR=str(tmp_path / "named"))
    assert days_kept(listed) == 90
    assert all(tmp_path / "named" in path.parents for path in kept_on_disk(tmp_path))
    (tmp_path / "home").mkdir()
    where, _ = ROWS["with `DEEPCRITICAL_DATA_DIR=memory`"]
    listed = await noted_on_stdio(tmp_path / "home", DEEPCRITICAL_DATA_DIR="memory")
    assert where == "in memory, and nothing of them on disk"
    assert kept_on_disk(tmp_path / "home") == []
    assert "end with the server" in str(listed)


@pytest.mark.long
@pytest.mark.parametrize("value", [None, ""])
async def test_the_guide_s_table_is_what_happens_over_http(tmp_path: Path, value: str | None) -> None:
    assert ROWS["HTTP or SSE"][0] == "in memory"
    environment = {} if value is None else {"DEEPCRITICAL_DATA_DIR": value}
    with serving_process(tmp_path, **environment) as (_, url):
        async with Client(f"{url}/mcp") as client:
            await client.call_tool("add_evidence", {"items": [{"content": NOTE}], "session_id": "new: patient"})
        assert kept_on_disk(tmp_path) == []


@pytest.mark.parametrize(
    ("how", "store"),
    [
        ("HTTP or SSE", MemoryBackend),
        ("with `DEEPCRITICAL_DATA_DIR=memory`", MemoryBackend),
        ("with `DEEPCRITICAL_CHROMA_URL`", ServerBackend),
    ],
)
def test_the_guide_s_table_knows_how_long_other_places_keep(how: str, store: type[Backend]) -> None:
    assert ROWS[how][1].startswith("a day after last use")
    assert store.ttl == 86_400
