"""Exports of a whole session: what is chosen of it, written in one of the formats, as a file or in parts
(`whole_export`), and saved in a folder (`saved_exports`)."""

from deepcritical_mcp.session_export.whole_export import AnyFormat as AnyFormat
from deepcritical_mcp.session_export.whole_export import ExportRequest as ExportRequest
from deepcritical_mcp.session_export.whole_export import WholeExport as WholeExport
from deepcritical_mcp.session_export.whole_export import checked_request as checked_request
from deepcritical_mcp.session_export.whole_export import exported as exported
