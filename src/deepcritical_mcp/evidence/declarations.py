"""What the user declares about publications: that two are one, and that this was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from deepcritical_mcp.models import FILE, USER, Publication, Text, authority, merged
from deepcritical_mcp.models.screening import WITHOUT_DECISION

APART = "apart "
"""Beginning of the mark of a document that the user took back from the publication whose full text it was."""


def declared_one(members: Sequence[Publication], mark: str) -> list[Publication]:
    """Descriptions of publications with a `mark` that makes them one. The user's own document among them becomes the
    full text of what the others describe, which needs no mark."""
    documents = [one for one in members if one.is_users and one.text.parts]
    others = [one for one in members if one not in documents]
    records = [one for one in others if not one.is_users]
    if not documents or not records:
        return [one.but(declared=(*one.declared, mark)) for one in members]
    best = max(records, key=authority)
    whole = reduce(_with_full_text, documents, best)
    return [whole if one is best else one for one in others]


def taken_apart(members: Sequence[Publication], content: str = "") -> list[Publication]:
    """What descriptions were before they were declared to be one. If they were not, or a text has this `content`, the
    texts of the user's files, or that one, become documents of their own, which `is_apart`."""
    marks = [[mark for mark in one.declared if mark.startswith(APART)] for one in members]
    if not content and any(len(one.declared) > len(kept) for one, kept in zip(members, marks, strict=True)):
        return [one.but(declared=tuple(kept)) for one, kept in zip(members, marks, strict=True)]
    return [piece for one in members for piece in _without_files(one, content)]


def can_be_taken_apart(publication: Publication, content: str = "") -> bool:
    """Whether `taken_apart` changes it."""
    is_declared = not content and any(not mark.startswith(APART) for mark in publication.declared)
    return is_declared or len(_without_files(publication, content)) > 1


def is_apart(document: Publication) -> bool:
    """Whether the user took a document back from the publication whose full text it was."""
    return any(mark.startswith(APART) for mark in document.declared)


def _with_full_text(record: Publication, document: Publication) -> Publication:
    read = document.text.model_dump(include={"content", "is_ocr", "remarks"})
    text = Text(kind="full_text", provider=FILE, parts=document.text.parts, **read)
    decided = {name: getattr(document, name) for name in WITHOUT_DECISION}
    return merged(record, record.but(texts=(text,), **decided))


def _without_files(publication: Publication, content: str) -> list[Publication]:
    files = [one for one in publication.texts if one.provider == FILE and content in ("", one.content)]
    if not files or len(files) == len(publication.texts):
        return [publication]
    rest = tuple(one for one in publication.texts if one not in files)
    own = {"provider": USER, "source": "user", "title": publication.title}
    documents = [Publication.of("note", one.content, parts=one.parts, **own) for one in files]
    return [publication.but(texts=rest), *(one.but(declared=(f"{APART}{one.id}",)) for one in documents)]
