"""Where sessions are kept: in memory, in a folder, or on a Chroma server."""

from __future__ import annotations

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.storage.backend import Backend
from deepcritical_mcp.evidence.storage.in_folder import FolderBackend
from deepcritical_mcp.evidence.storage.in_memory import MemoryBackend
from deepcritical_mcp.evidence.storage.on_server import ServerBackend


def open_backend(settings: Settings) -> Backend:
    """The backend that the settings name: a server if there is one, else a folder, else memory. Connects to nothing
    and creates nothing yet."""
    if settings.chroma_url:
        return ServerBackend(settings.chroma_url, limit=settings.max_sessions)
    if settings.data_dir is not None:
        return FolderBackend(settings.data_dir, limit=settings.max_sessions)
    return MemoryBackend(limit=settings.max_sessions)
