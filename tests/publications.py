"""Publications for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from deepcritical_mcp.export import ExportFormat, export_part, listed, with_notes
from deepcritical_mcp.models import AuthorName, Publication, TextKind, split_name


def published(
    content: str, *, provider: str = "pubmed", authors: Iterable[str | AuthorName] = (), **fields: Any
) -> Publication:
    """A publication with one text, of the kind that its source has."""
    kinds: dict[str, TextKind] = {"user": "note", "web": "page"}
    names = tuple(split_name(name) if isinstance(name, str) else name for name in authors)
    kind = kinds.get(fields["source"], "abstract")
    return Publication.of(kind, content, provider=provider, authors=names, **fields)


def export(publications: Sequence[Publication], format: ExportFormat) -> str:
    """What `export_evidence` writes of a session with these publications, as one file."""
    cited = with_notes(publications)
    papers = [cited[one.id] for one in publications if cited[one.id].id == one.id]
    written = listed(publications if format == "jsonl" else papers, format)
    return export_part(written, format, start=0, limit=1_000_000_000)[0]
