"""Which parts of a publication are embedded, and which are indexed by words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication, Text

WHOLE_LIMIT = 4_000
"""Texts up to this many characters get a single vector: longer than nearly every abstract."""
CHUNK_LENGTH = 1_500
"""Characters per chunk: about the 256 tokens that the model reads."""
CHUNK_OVERLAP = 200
"""Characters that each chunk repeats from the previous one."""

_BREAK = re.compile(r"(?<=[.!?])\s|\n")
_SPACE = re.compile(r"\s")


@dataclass(frozen=True)
class Passage:
    """A part of a text that has a vector of its own; `content` is what is embedded."""

    text: Text
    content: str


def passages(publication: Publication) -> list[Passage]:
    """The passages of a publication, each embedded as one vector: title and content of each text, split into
    overlapping chunks that repeat the title if the content is long."""
    return [passage for text in publication.texts for passage in _passages_of(publication, text)]


def _passages_of(publication: Publication, text: Text) -> list[Passage]:
    if text.content == NO_ABSTRACT:
        return [Passage(text, publication.title)]
    title = own_title(publication, text)
    chunks = [text.content] if len(text.content) <= WHOLE_LIMIT else split(text.content)
    return [Passage(text, f"{title}. {chunk}" if title else chunk) for chunk in chunks]


def indexed_text(publication: Publication) -> str:
    """The text of a publication that is indexed by words."""
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
    """Overlapping chunks of at most `CHUNK_LENGTH` characters, from a whole word to the end of a sentence if one is
    near."""
    chunks: list[str] = []
    start = 0
    while len(text) - start > CHUNK_LENGTH:
        end = _cut(text, start)
        chunks.append(text[start:end].strip())
        word = _SPACE.search(text, end - CHUNK_OVERLAP, end)
        start = max(word.end() if word else end - CHUNK_OVERLAP, start + 1)
    chunks.append(text[start:].strip())
    return [chunk for chunk in chunks if chunk]


def _cut(text: str, start: int) -> int:
    limit = start + CHUNK_LENGTH
    ends = [match.end() for match in _BREAK.finditer(text, start + CHUNK_LENGTH // 2, limit)]
    if ends:
        return ends[-1]
    space = text.rfind(" ", start + CHUNK_LENGTH // 2, limit)
    return space if space > 0 else limit
