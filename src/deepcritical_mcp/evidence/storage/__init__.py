"""Where sessions are kept. To add a store, write its file here, its row in `STORES`, and its tests."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from deepcritical_mcp.config import Settings, every_setting

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.storage.backend import Backend

_HERE = "deepcritical_mcp.evidence.storage"


class StoreRow(NamedTuple):
    """A store's `Backend` class and its `OwnSettings` class, if it has one, by their names: "package.module:Class"."""

    backend: str
    settings: str = ""


STORES: tuple[StoreRow, ...] = (
    StoreRow(f"{_HERE}.on_server:ServerBackend", f"{_HERE}.chroma_server_settings:ChromaServerSettings"),
    StoreRow(f"{_HERE}.in_folder:FolderBackend"),
    StoreRow(f"{_HERE}.in_memory:MemoryBackend"),
)
"""The first one that is configured is used; the last one always is."""


def configured_backends(settings: Settings, rows: Sequence[StoreRow] | None = None) -> list[Backend]:
    """The backends of `rows`, of `STORES` by default, that the settings choose. Connects to nothing yet."""
    kinds: list[type[Backend]] = [pkgutil.resolve_name(row.backend) for row in rows or STORES]
    return [backend for kind in kinds if (backend := kind.configured(settings)) is not None]


def in_memory_only() -> dict[str, str]:
    """Environment variables under which sessions are kept in memory."""
    kinds = {pkgutil.resolve_name(row.settings) for row in STORES if row.settings}
    return {one.variable: "" for one in every_setting() if one.kind in kinds or one.field == "data_dir"}


def open_backend(settings: Settings, rows: Sequence[StoreRow] | None = None) -> Backend:
    """The first of `configured_backends`."""
    return configured_backends(settings, rows)[0]
