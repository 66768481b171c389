"""Drafts as people have them: their references, and the sentences and quotations that cite these."""

from __future__ import annotations

from deepcritical_mcp.checking.draft.draft_parts import (
    CitingSentence,
    Draft,
    DraftForm,
    DraftQuotation,
    DraftReference,
    UnreadEntry,
)
from deepcritical_mcp.checking.draft.reading import read_draft

__all__ = ["CitingSentence", "Draft", "DraftForm", "DraftQuotation", "DraftReference", "UnreadEntry", "read_draft"]
