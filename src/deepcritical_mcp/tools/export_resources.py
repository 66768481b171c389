"""Exports that a session keeps, as resources: for clients on other machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource, ResourceLink

from deepcritical_mcp.errors import DeepCriticalError, SessionError
from deepcritical_mcp.models import ExportResult
from deepcritical_mcp.session_export.export_request import media_type_of
from deepcritical_mcp.session_export.kept_exports import kept_export, listed_exports
from deepcritical_mcp.tools.call_session import ToolContext, read_session

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

EXPORT_URI = "export://{session_id}/{name}"
_SCHEME = "export://"


def export_uri(session_id: str, name: str) -> str:
    """The address of an export that a session keeps."""
    return f"{_SCHEME}{session_id}/{quote(name, safe='')}"


def export_link(result: ExportResult) -> ResourceLink | None:
    """The link to what a result names, if that is a resource and no file."""
    if not result.file.startswith(_SCHEME):
        return None
    name = f"{result.format} of {result.count}"
    return ResourceLink(uri=result.file, name=name, size=result.bytes, mime_type=media_type_of(result.file))


def typed(contents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was read of resources, where each export has its own type: the SDK gives all of a template the same."""
    return [
        {**one, "mimeType": media_type_of(one["uri"])} if str(one.get("uri", "")).startswith(_SCHEME) else one
        for one in contents
    ]


async def export_resources(store: EvidenceStore) -> list[Resource]:
    """The exports that a session keeps, the latest first."""
    return [
        Resource(
            uri=export_uri(store.session_id, one.name),
            name=one.name,
            title=f"Export: {one.name}",
            mime_type=one.media_type,
            size=one.size,
        )
        for one in reversed(await listed_exports(store))
    ]


async def saved_export(session_id: str, name: str, ctx: ToolContext) -> str:
    """The whole text of an export that was kept with save=true."""
    try:
        text = await kept_export(await read_session(ctx, session_id), name)
    except SessionError as error:
        raise ResourceNotFoundError(error.message) from error
    except DeepCriticalError as error:
        raise ResourceError(error.message) from error
    if text is None:
        raise ResourceNotFoundError(
            "This session does not keep an export of this name, or no longer: export_evidence with save=true makes one."
        )
    return text
