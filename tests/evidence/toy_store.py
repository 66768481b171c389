"""A store in one file: what it takes to add one. `test_store_table.py` shows all that it gets for it."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr

from deepcritical_mcp.config import Key, OwnSettings, Settings
from deepcritical_mcp.errors import EvidenceStoreError
from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend


class ShelfSettings(OwnSettings):
    """The shelf's size and key."""

    shelf_places: int = Field(default=0, description="sessions on the shelf")
    shelf_key: Key = Field(default=SecretStr(""), description="unlocks the shelf")


class ShelfBackend(MemoryBackend):
    """A small, locked place in memory."""

    title = "Shelf"
    advice = "Set DEEPCRITICAL_SHELF_KEY to the key of the shelf."
    locked = False

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        ours = settings.of(ShelfSettings)
        if not ours.shelf_places:
            return None
        backend = cls(limit=ours.shelf_places)
        backend.locked = not ours.shelf_key.get_secret_value()
        return backend

    def check(self) -> None:
        if self.locked:
            raise EvidenceStoreError("The shelf is locked.")
