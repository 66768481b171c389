"""Documents cut to a client's context: at the ends of paragraphs, and never without the call that gives the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from deepcritical_mcp.models import PARAGRAPH_BREAK, Citation, Document, DocumentPassage
from deepcritical_mcp.text import clipped, counted, cut_at_sentence

SHARE_OF_HEAD = 0.5
"""Of a result's characters, for what comes before the text, if there is text."""
MAX_REMARK_LENGTH, MAX_REFERENCE_LENGTH = 500, 500
MAX_ATTEMPTS = 10


def fit_document(document: Document, limit: int, length: Callable[[Document], int]) -> Document:
    """`document`, cut until `length(document) <= limit`."""
    if len(document.passages) <= limit and length(document) <= limit:
        return document
    document = _with_short_head(document, limit, length)
    if document.form == "passages":
        return _ranked(document, limit, length)
    return _text(document, limit, length) if document.passages else document


def _text(document: Document, limit: int, length: Callable[[Document], int]) -> Document:
    """As many whole paragraphs as fit; of a single one that does not, as many lines or sentences."""

    def fits(end: int) -> bool:
        return length(_up_to(document, end)) <= limit

    ends = list(_ends(document.passages))
    count = largest(0, len(ends), lambda count: not count or fits(ends[count - 1]))
    if count:
        return _up_to(document, ends[count - 1])
    first = document.passages[0].text[: ends[0]]
    room = largest(1, len(first), fits)
    line = first.rfind("\n", 0, room) + 1
    return _up_to(document, line if line > room // 2 else len(cut_at_sentence(first, room)))


def _ends(passages: Sequence[DocumentPassage]) -> Iterator[int]:
    """Where each paragraph ends, the break after it included, counted over all passages."""
    start = 0
    for passage in passages:
        for found in re.finditer(re.escape(PARAGRAPH_BREAK), passage.text):
            yield start + found.end()
        start += len(passage.text)
        yield start


def _up_to(document: Document, end: int) -> Document:
    """The first `end` characters of the passages; the rest is for the next call."""
    shown, left = list[DocumentPassage](), end
    for passage in document.passages:
        if text := passage.text[: max(0, left)].strip("\n"):
            shown.append(passage.model_copy(update={"text": text}))
        left -= len(passage.text)
    return _continued(document.model_copy(update={"passages": tuple(shown)}), document.offset + end)


def _continued(document: Document, offset: int) -> Document:
    """`document`, which ends before `offset` of what was asked for."""
    if offset >= document.characters:
        return document.model_copy(update={"next_offset": -1})
    left = f"{document.characters - offset:,} characters are" if document.form == "text" else "More of the outline is"
    step = f"{left} left: {document.call} offset={offset}. {document.next_step}".strip()
    return document.model_copy(update={"next_offset": offset, "next_step": step})


def _ranked(document: Document, limit: int, length: Callable[[Document], int]) -> Document:
    """The best passages that fit, and the anchors of the others."""
    passages = document.passages

    def shown(count: int) -> Document:
        left = [one.anchor for one in passages[count:]]
        more = counted(len(left), "more passage does", "more passages do")
        note = f"{more} not fit here: sections={json.dumps(left)}. " if left else ""
        return document.model_copy(update={"passages": passages[:count], "next_step": f"{note}{document.next_step}"})

    return shown(largest(0, len(passages), lambda count: length(shown(count)) <= limit))


def _with_short_head(document: Document, limit: int, length: Callable[[Document], int]) -> Document:
    """`document` with less of what is not text: remarks, then tables, then the end of the outline."""
    room = int(limit * SHARE_OF_HEAD) if document.passages else limit

    def fits(head: Document) -> bool:
        return length(head.model_copy(update={"passages": ()})) <= room

    if fits(document):
        return document
    longest = min(MAX_REMARK_LENGTH, limit // 20)
    document = document.model_copy(
        update={
            "citation": short_citation(document.citation, limit),
            "attempts": tuple(
                one.model_copy(update={"detail": clipped(one.detail, limit // 100)})
                for one in document.attempts[:MAX_ATTEMPTS]
            ),
            "errors": few(document.errors, MAX_ATTEMPTS, longest),
            "warnings": few(document.warnings, MAX_ATTEMPTS, longest),
        }
    )
    if tables := document.tables if not fits(document) else ():
        note = f'{counted(len(tables), "table")} not listed here: sections=["tables"].'
        document = document.model_copy(update={"tables": (), "warnings": (*document.warnings, note)})
    return _with_short_outline(document, fits)


def _with_short_outline(document: Document, fits: Callable[[Document], bool]) -> Document:
    outline = document.outline
    if fits(document):
        return document

    def first(count: int) -> Document:
        short = document.model_copy(update={"outline": outline[:count]})
        if document.form == "outline":
            return _continued(short, document.offset + count)
        note = f'{counted(len(outline) - count, "more part")} of the outline: sections=["outline"] offset={count}.'
        return short.model_copy(update={"warnings": (*document.warnings, note)})

    return first(largest(0, len(outline), lambda count: fits(first(count))))


def short_citation(citation: Citation, limit: int) -> Citation:
    """`citation`, the shorter the smaller `limit` is."""
    return citation.model_copy(
        update={
            "title": clipped(citation.title, limit // 20),
            "reference": clipped(citation.reference, min(MAX_REFERENCE_LENGTH, limit // 10)),
            "url": "",
            **dict.fromkeys(("publication_types", "registrations"), ()),
            "status_notices": citation.status_notices[:1],
        }
    )


def few(remarks: Sequence[str], most: int, length: int) -> tuple[str, ...]:
    """The first remarks, each of so many characters at most, and how many more there are."""
    more = (f"And {counted(len(remarks) - most, 'more remark')}.",) if len(remarks) > most else ()
    return (*(clipped(remark, length) for remark in remarks[:most]), *more)


def largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The largest number in low..high that fits; `low` if none does."""
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
