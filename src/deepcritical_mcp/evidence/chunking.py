"""What of a piece of evidence is embedded, and what is indexed by its words."""

from __future__ import annotations

import re

from deepcritical_mcp.models import NO_TITLE, Evidence

WHOLE_LIMIT = 4_000
"""Characters up to which a text is one vector: longer than nearly every abstract."""
CHUNK_LENGTH = 1_500
"""Characters of a chunk: about the 256 tokens that the model reads."""
CHUNK_OVERLAP = 200
"""Characters that a chunk repeats of the one before it."""

_BREAK = re.compile(r"(?<=[.!?])\s|\n")


def passages(evidence: Evidence) -> list[str]:
    """The texts to embed, one vector each: title and content as one, or, of a long content, overlapping chunks with
    the title in front of each."""
    title, content = own_title(evidence), evidence.content
    chunks = [content] if len(content) <= WHOLE_LIMIT else split(content)
    return [f"{title}. {chunk}" if title else chunk for chunk in chunks]


def own_title(evidence: Evidence) -> str:
    """The title, unless it says nothing that the content does not: a missing one, or the content's own beginning."""
    title = evidence.citation.title
    if title == NO_TITLE or evidence.content.startswith(title.rstrip("….")):
        return ""
    return title.rstrip(".")


def split(text: str) -> list[str]:
    """Overlapping pieces of at most `CHUNK_LENGTH` characters that end, where one is near, at a sentence's end."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > CHUNK_LENGTH:
        end = _cut(text, start)
        pieces.append(text[start:end].strip())
        start = max(end - CHUNK_OVERLAP, start + 1)
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def _cut(text: str, start: int) -> int:
    limit = start + CHUNK_LENGTH
    ends = [match.end() for match in _BREAK.finditer(text, start + CHUNK_LENGTH // 2, limit)]
    if ends:
        return ends[-1]
    space = text.rfind(" ", start + CHUNK_LENGTH // 2, limit)
    return space if space > 0 else limit
