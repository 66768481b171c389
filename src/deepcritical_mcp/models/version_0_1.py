"""Evidence as version 0.1 wrote it, in kept sessions and in JSON Lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from deepcritical_mcp.models.evidence import NO_ABSTRACT, USER, Publication, Text
from deepcritical_mcp.models.publication import AuthorName, split_name
from deepcritical_mcp.text import clean_line, cut_at_sentence

_OWN_WORDS = "NOTE, not part of the source: "
"""What version 0.1 put before the user's words, which it kept inside a publication's only text."""
_LONGEST_TITLE = 120


def upgraded(text: str) -> list[Publication]:
    """Evidence of version 0.1, as the publication and then the user's notes about it; ValueError for any other text."""
    try:
        row = cast("dict[str, Any]", json.loads(text))
        citation = cast("dict[str, Any]", row["citation"])
        content, *words = cast("str", row["content"]).split(f"\n\n{_OWN_WORDS}")
        if words and USER in (row.get("provider"), citation["source"]):  # the page's text came after the user's note
            row, citation = {**row, "provider": ""}, {**citation, "source": "web"}
        publication = _publication(row, citation, content)
        notes = [_note(one, publication) for one in words if one.strip()]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not evidence written by version 0.1") from error
    return [publication, *notes]


def _note(content: str, publication: Publication) -> Publication:
    title = cut_at_sentence(line := clean_line(content), _LONGEST_TITLE)
    title = f"{title.rstrip('.')}…" if title == line else title  # as add_evidence gives a note without a title
    note = Publication.of("note", content, provider=USER, source="user", title=title, **_link(publication))
    # The same words may have been glued to several publications.
    digest = hashlib.sha256(publication.id.encode()).hexdigest()[:12]
    return note.model_copy(update={"id": f"{note.id}#{digest}"})


def _link(publication: Publication) -> dict[str, str]:
    """What tells which publication a note is about; the first that is known is enough, and the note is no paper."""
    for name in ("url", "pmid", "doi", "pmcid"):
        if value := getattr(publication, name):
            return {name: value}
    return {}


def _publication(row: Mapping[str, Any], citation: dict[str, Any], content: str) -> Publication:
    authors, parts = citation.pop("authors", ()), row.get("author_parts", ())
    names = [AuthorName(*one) for one in parts] if len(parts) == len(authors) else [split_name(one) for one in authors]
    provider = str(row.get("provider", ""))
    kind = "abstract" if provider == "pubmed" else "note" if citation["source"] == "user" else "page"
    if kind == "abstract" and content == citation["title"]:  # version 0.1 repeated the title if there was no abstract
        content = NO_ABSTRACT
    names_kept = ("id", "keywords", "volume", "issue", "pages", "found_by", "similar")
    fields = {**citation, **{name: row[name] for name in names_kept if name in row}}
    texts = [Text(kind=kind, content=content, provider=provider)]
    return Publication.model_validate({**fields, "authors": names, "texts": texts})
