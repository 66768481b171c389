"""Where sessions are kept. To add a store, write its file here, its row in `STORES`, and its tests.

- `backend`: what a store offers, a session in it, and the store in memory.
- `stored_items`: the values that it keeps, and the titles of sessions.
- `session_file`: a session's rows in an SQLite database, and what can be read of a damaged one.
- `vector_table`: a session's vectors and their collection.
- `folder_store`: the store in a folder, and for how long nobody has used its sessions.
- `chroma_backend`: the store on a Chroma server. `chroma_rows`: a session's rows there.
- `version_0_2`: what version 0.2 kept, in folders and on servers.
"""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field, SecretStr

from deepcritical_mcp.config import (
    IN_MEMORY,
    Key,
    OwnSettings,
    SecretAddress,
    Settings,
    every_setting,
    user_data_folder,
    variable_name,
)
from deepcritical_mcp.errors import EvidenceStoreError

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.storage.backend import Backend

logger = logging.getLogger(__name__)

_HERE = "deepcritical_mcp.evidence.storage"


class ChromaServerSettings(OwnSettings):
    """Address and credentials."""

    chroma_url: SecretAddress = Field(
        SecretStr(""),
        description="Chroma server that stores the sessions; https://name:password@host/path for basic authentication, "
        "https://api.trychroma.com for Chroma Cloud",
    )
    chroma_token: Key = Field(SecretStr(""), description="token of the Chroma server, or API key of Chroma Cloud")
    chroma_token_header: Literal["X-Chroma-Token", "Authorization"] = Field(
        "X-Chroma-Token", description="header that carries the token; Authorization: as a bearer token"
    )
    chroma_tenant: str = Field("default_tenant", description="tenant on the Chroma server")
    chroma_database: str = Field("default_database", description="database on the Chroma server")
    chroma_timeout: float = Field(10, gt=0, description="seconds to wait for each response of the Chroma server")


class StoreRow(NamedTuple):
    """A store's `Backend` class and its `OwnSettings` class, if it has one, by their names: "package.module:Class"."""

    backend: str
    settings: str = ""


STORES: tuple[StoreRow, ...] = (
    StoreRow(f"{_HERE}.chroma_backend:ServerBackend", f"{_HERE}:ChromaServerSettings"),
    StoreRow(f"{_HERE}.folder_store:FolderBackend"),
    StoreRow(f"{_HERE}.backend:MemoryBackend"),
)
"""The first one that is configured is used; the last one always is."""


def configured_backends(settings: Settings, rows: Sequence[StoreRow] | None = None) -> list[Backend]:
    """The backends of `rows`, of `STORES` by default, that the settings choose. Connects to nothing yet."""
    kinds: list[type[Backend]] = [pkgutil.resolve_name(row.backend) for row in rows or STORES]
    return [backend for kind in kinds if (backend := kind.configured(settings)) is not None]


def in_memory_only() -> dict[str, str]:
    """Environment variables under which sessions are kept in memory."""
    kinds = {pkgutil.resolve_name(row.settings) for row in STORES if row.settings}
    unset = {one.variable: "" for one in every_setting() if one.kind in kinds}
    return {**unset, variable_name("data_dir"): IN_MEMORY}


def open_backend(settings: Settings, rows: Sequence[StoreRow] | None = None) -> Backend:
    """The first of `configured_backends`; memory, with a warning, if that is the user's data folder, which nobody has
    chosen, and it cannot be written to."""
    first, *others = configured_backends(settings, rows)
    if others and settings.data_dir == user_data_folder() and getattr(first, "data_dir", None) == settings.data_dir:
        try:
            first.check()
        except EvidenceStoreError as error:
            first = others[-1]
            first.warning = (
                f"Sessions are kept in memory and end with the server: {settings.data_dir} cannot be used. "
                f"{error.message} Export what you need (export_evidence)."
            )
            logger.warning("%s", first.warning)
    return first
