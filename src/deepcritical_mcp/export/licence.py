"""What a file or a report may repeat of texts that were read whole: never all of it, and little without a licence."""

from __future__ import annotations

import re

from deepcritical_mcp.excerpts import GAP
from deepcritical_mcp.models import NO_ABSTRACT, Publication, Text
from deepcritical_mcp.text import cut_at_sentence

SHORT_QUOTE, OPEN_QUOTE = 300, 1_500
"""Characters that are quoted of a full text: without an open licence, and with one."""
# What the words of a licence must have, all of a row: licences that let everybody pass the text on.
_OPEN = (
    {"cc", "by"},
    {"cc0"},
    {"cc", "zero"},
    {"cc", "0"},
    {"creativecommons", "by"},
    {"creativecommons", "publicdomain"},
    {"creative", "commons", "attribution"},
    {"public", "domain"},
    {"government", "work"},
)
_CLOSED = frozenset("nc nd non no noncommercial commercial noderivatives noderivs derivatives reserved".split())
"""A licence with one of these allows less, or may."""


def is_open(licence: str) -> bool:
    """Whether a licence, as its source writes it, lets everybody pass the text on: CC BY, CC BY-SA, CC0, public domain;
    "CC BY 4.0", "cc-by", an address and a sentence are understood. False if in doubt."""
    words = set(re.findall("cc0|[a-z]+|[0-9]", licence.casefold()))
    return not words & _CLOSED and any(row <= words for row in _OPEN)


def quotable(text: Text) -> Text:
    """`text`; of one that was read whole, its beginning without parts, shorter if its licence is not an open one."""
    if not text.parts or text.is_users:
        return text
    room = OPEN_QUOTE if is_open(text.licence) else SHORT_QUOTE
    shown = text.content if len(text.content) <= room else f"{cut_at_sentence(text.content, room)} {GAP}"
    return text.model_copy(update={"content": shown, "parts": ()})


def without_full_texts(publication: Publication) -> Publication:
    """The publication with no more of its full texts than may be repeated."""
    texts = tuple(map(quotable, publication.texts))
    return publication if texts == publication.texts else publication.model_copy(update={"texts": texts})


def read_texts(publication: Publication) -> tuple[Text, ...]:
    """The texts of a publication that have, or had, parts: full texts, and pages with a licence."""
    return tuple(
        text
        for text in publication.texts
        if not text.is_users and text.content != NO_ABSTRACT and (text.kind == "full_text" or text.licence)
    )
