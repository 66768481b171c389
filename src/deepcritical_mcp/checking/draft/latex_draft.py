"""LaTeX as blocks."""

from __future__ import annotations

from deepcritical_mcp.checking.draft.markdown_draft import markdown_blocks as latex_blocks

__all__ = ["latex_blocks"]
