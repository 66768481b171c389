"""Which fields of a record an export has: those that the caller names as they are called in results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.models import UNKNOWN_DATE, Publication, status_label, vancouver
from deepcritical_mcp.models.publication import Bibliography
from deepcritical_mcp.models.screening import decision_of
from deepcritical_mcp.text import clean_line

ALWAYS = frozenset({"id", "source", "title", "status", "status_notices", "status_checked"})
"""What every record keeps: what it is, what it is called, and that it was retracted, as of which day."""
_ALONGSIDE: Mapping[str, tuple[str, ...]] = {
    "title": ("vernacular_title", "book_title"),
    "authors": ("editors",),
    "url": ("accessed",),
    "date": ("issue_date", "electronic_date", "publication_stage", "book_years", "revised_date"),
    "journal": ("issn",),
    "journal_abbreviation": ("medline_abbreviation",),
    "publisher": ("publisher_place", "isbn", "bookshelf_id"),
}
"""Fields that results do not have, and the one of theirs that they go with."""
RECORD_FIELDS = tuple(dict.fromkeys(("id", *Bibliography.model_fields, "authors", "abstract", "notes")))
"""What can be chosen for a reference manager's file."""


def _date(reference: Reference) -> str:
    return "" if reference.publication.date == UNKNOWN_DATE else reference.publication.date


_READ: Mapping[str, Callable[[Reference], str]] = {
    "title": lambda one: one.title,
    "date": _date,
    "url": lambda one: one.url,
    "status": lambda one: status_label(one.publication.status) or one.publication.status,
    "status_notices": lambda one: one.status_note,
    "abstract": lambda one: one.abstract or one.pasted,
    "notes": lambda one: one.user_notes,
    "reference": lambda one: vancouver(one.publication),
    "decision": lambda one: decision_of(one.publication),
    "decisions": lambda one: "; ".join(one.publication.history),
}
LISTED_FIELDS = tuple(dict.fromkeys((*RECORD_FIELDS, *_READ, "tags")))
"""What can be chosen for a list or a table of values."""


def checked_fields(fields: Collection[str], known: Sequence[str]) -> tuple[str, ...]:
    """`fields` once each.

    Raises:
        InvalidInputError: one is not `known`; the message lists those that are.
    """
    if unknown := [one for one in fields if one not in known]:
        raise InvalidInputError(f'There is no field "{clean_line(unknown[0])[:40]}". There are {", ".join(known)}.')
    return tuple(dict.fromkeys(fields))


def with_fields(reference: Reference, fields: Collection[str]) -> Reference:
    """`reference` with only these fields and those that every record keeps; its form and its key stay."""
    one = reference.publication
    kept = {*ALWAYS, *fields}
    kept |= {more for name in kept for more in _ALONGSIDE.get(name, ())}
    texts = tuple(text for text in one.texts if "notes" in kept or text.kind != "note" or text is one.text)
    blank = {
        name: field.get_default()
        for name, field in Publication.model_fields.items()
        if name not in kept and not field.is_required()
    }
    return replace(
        reference, publication=one.model_copy(update={**blank, "texts": texts}), has_texts="abstract" in kept
    )


def listed_value(reference: Reference, field: str) -> str:
    """What a field says, for a list or a table; "" if nothing is known."""
    if read := _READ.get(field):
        return read(reference)
    value: object = getattr(reference.publication, field)
    return "; ".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else str(value)
