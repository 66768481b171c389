"""Publications for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deepcritical_mcp.models import AuthorName, Publication, TextKind, split_name


def published(
    content: str, *, provider: str = "pubmed", authors: Iterable[str | AuthorName] = (), **fields: Any
) -> Publication:
    """A publication with one text, of the kind that its source has."""
    kinds: dict[str, TextKind] = {"user": "note", "web": "page"}
    names = tuple(split_name(name) if isinstance(name, str) else name for name in authors)
    kind = kinds.get(fields["source"], "abstract")
    return Publication.of(kind, content, provider=provider, authors=names, **fields)
