"""What of a publication is embedded, and what is indexed by its words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication, Text

WHOLE_LIMIT = 4_000
"""Characters up to which a text is one vector: longer than nearly every abstract."""
CHUNK_LENGTH = 1_500
"""Characters of a chunk: about the 256 tokens that the model reads."""
CHUNK_OVERLAP = 200
"""Characters that a chunk repeats of the one before it."""

_BREAK = re.compile(r"(?<=[.!?])\s|\n")


@dataclass(frozen=True)
class Passage:
    """A part of a text that has a vector of its own; `content` is what is embedded."""

    text: Text
    content: str


def passages(publication: Publication) -> list[Passage]:
    """What is embedded of a publication, one vector each, text after text: title and content as one, or, of a long
    content, overlapping chunks with the title in front of each."""
    return [passage for text in publication.texts for passage in _passages_of(publication, text)]


def _passages_of(publication: Publication, text: Text) -> list[Passage]:
    if text.content == NO_ABSTRACT:
        return [Passage(text, publication.title)]
    title = own_title(publication, text)
    chunks = [text.content] if len(text.content) <= WHOLE_LIMIT else split(text.content)
    return [Passage(text, f"{title}. {chunk}" if title else chunk) for chunk in chunks]


def indexed_text(publication: Publication) -> str:
    """What of a publication is found by its words."""
    contents = [text.content for text in publication.texts if text.content != NO_ABSTRACT]
    title = own_title(publication, publication.text)
    return "\n".join(filter(None, (title and f"{title}.", *contents))) or publication.title


def own_title(publication: Publication, text: Text) -> str:
    """The title, unless it is missing or the text begins with it."""
    title = publication.title
    if title == NO_TITLE or text.content.startswith(title.rstrip("….")):
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
