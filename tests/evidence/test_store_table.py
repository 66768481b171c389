"""A store gets everything by its row in STORES, without a change to any other file."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.config import Settings, every_setting, load_settings, unknown_variables
from deepcritical_mcp.evidence import storage
from deepcritical_mcp.evidence.storage import STORES, StoreRow, in_memory_only, open_backend
from deepcritical_mcp.evidence.storage.folder_store import FolderBackend
from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend
from tests.evidence.toy_store import ShelfBackend, ShelfSettings
from tests.scripts import script

ROW = StoreRow("tests.evidence.toy_store:ShelfBackend", "tests.evidence.toy_store:ShelfSettings")
SECRET = "shelf-key-0123456789"


@pytest.fixture
def shelf_among_the_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "STORES", (ROW, *STORES))


@pytest.mark.usefixtures("shelf_among_the_stores")
def test_it_is_used_if_its_settings_choose_it(tmp_path: Path):
    assert isinstance(open_backend(Settings(shelf_places=1, data_dir=tmp_path)), ShelfBackend)
    assert isinstance(open_backend(Settings(data_dir=tmp_path)), FolderBackend)
    assert isinstance(open_backend(Settings()), MemoryBackend)
    assert {"DEEPCRITICAL_SHELF_PLACES", "DEEPCRITICAL_CHROMA_URL", "DEEPCRITICAL_DATA_DIR"} <= in_memory_only().keys()


@pytest.mark.usefixtures("shelf_among_the_stores")
async def test_doctor_checks_it_and_shows_its_advice():
    async def check(settings: Settings) -> doctor_checks.Check | None:
        return next((found for found in await doctor_checks.servers(settings) if found.part == "Shelf"), None)

    locked = await check(Settings(shelf_places=2))
    assert locked is not None
    assert (locked.state, locked.finding, locked.advice, locked.area) == (
        *("broken", "The shelf is locked.", "Set DEEPCRITICAL_SHELF_KEY to the key of the shelf.", "store"),
    )
    open_ = await check(Settings(shelf_places=2, shelf_key=SECRET))
    assert open_ is not None
    assert (open_.state, open_.advice) == ("ok", "")
    assert await check(Settings()) is None


@pytest.mark.usefixtures("shelf_among_the_stores")
def test_its_settings_are_read_checked_listed_and_kept_secret(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEEPCRITICAL_SHELF_KEY", SECRET)
    assert load_settings().of(ShelfSettings).shelf_key.get_secret_value() == SECRET
    assert SECRET in load_settings().secrets
    assert "DEEPCRITICAL_SHELF_KEY" in {setting.variable for setting in every_setting()}
    table = script("reference").settings_table()
    assert "| `DEEPCRITICAL_SHELF_KEY` | secret |  | unlocks the shelf |" in table
    assert "| `DEEPCRITICAL_SHELF_PLACES` | integer | `0` | sessions on the shelf |" in table
    monkeypatch.setenv("DEEPCRITICAL_SHELF_KEI", "x")
    assert unknown_variables()["DEEPCRITICAL_SHELF_KEI"] == "DEEPCRITICAL_SHELF_KEY"
