"""Exports that a session keeps, as resources: for clients on other machines."""

from __future__ import annotations

from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import ResourceLink

from deepcritical_mcp.errors import DeepCriticalError, SessionError
from deepcritical_mcp.models import ExportResult
from deepcritical_mcp.session_export.kept_exports import kept_export
from deepcritical_mcp.tools.call_session import ToolContext, session_for

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
    return ResourceLink(uri=result.file, name=name, size=result.bytes, mime_type="text/plain")


async def saved_export(session_id: str, name: str, ctx: ToolContext) -> str:
    """The whole text of an export that was kept with save=true."""
    try:
        text = await kept_export((await session_for(ctx, session_id, may_open=False)).store, name)
    except SessionError as error:
        raise ResourceNotFoundError(error.message) from error
    except DeepCriticalError as error:
        raise ResourceError(error.message) from error
    if text is None:
        raise ResourceNotFoundError(
            "This session does not keep an export of this name, or no longer: export_evidence with save=true makes one."
        )
    return text
