"""Drafts as people have them: their references, and the sentences and quotations that cite these.

- draft_parts: what is read of a draft, the blocks that it consists of, lists of words (draft_words.txt), and what
  looks like a reference; Markdown and pasted pages as blocks.
- reading: from a draft's text to its references, sentences and quotations; its running text; entries of reference
  managers and databases, in files or among text.
- reference_lists: where the lists and tables of references are, and their entries.
- citations: what cites, by number, key, names and year, or identifier.
"""

from __future__ import annotations

from deepcritical_mcp.checking.draft.draft_parts import CitingSentence as CitingSentence
from deepcritical_mcp.checking.draft.draft_parts import Draft as Draft
from deepcritical_mcp.checking.draft.draft_parts import DraftQuotation as DraftQuotation
from deepcritical_mcp.checking.draft.draft_parts import DraftReference as DraftReference
from deepcritical_mcp.checking.draft.draft_parts import ListEntry as ListEntry
from deepcritical_mcp.checking.draft.reading import read_draft as read_draft
