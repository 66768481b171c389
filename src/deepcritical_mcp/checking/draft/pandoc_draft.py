"""Pandoc's document tree as blocks."""

from __future__ import annotations

from deepcritical_mcp.checking.draft.markdown_draft import markdown_blocks as pandoc_blocks

__all__ = ["pandoc_blocks"]
