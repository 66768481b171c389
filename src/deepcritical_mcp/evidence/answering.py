"""Verbatim answers to a question from texts of the session, or from the parts of them that are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp.evidence.chunking import found_parts, own_span, paragraph_spans
from deepcritical_mcp.evidence.passage_quotes import quotation
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.models import (
    PARAGRAPH_BREAK,
    Part,
    Publication,
    Text,
    split_paragraph_anchor,
    split_text_id,
    with_descendants,
)

MAX_PARTS_QUOTED = 3
"""Quotations of one text, each from another part of it."""


class TextPlace(NamedTuple):
    """Where to look: a publication, or one of its texts ("pubmed:1~2"), or what an anchor of that leads to."""

    id: str
    anchor: str = ""


@dataclass(frozen=True)
class QuotedAnswer:
    """What a text says, verbatim, with gaps marked; of a text with parts, where it stands."""

    text: Text
    content: str
    section: tuple[str, ...] = ()
    anchor: str = ""


@dataclass(frozen=True)
class Searched:
    """What is searched of a text for a place: some of its parts, each with what is searched of it."""

    text: Text
    parts: Sequence[tuple[Part, Span]] = ()

    @property
    def content(self) -> str:
        """All of it."""
        return PARAGRAPH_BREAK.join(self._contents) if self.parts else self.text.content

    @property
    def _contents(self) -> list[str]:
        return [self.text.content[slice(*span)] for _, span in self.parts]

    def answers(self, chosen: Sequence[Span], quoted: str) -> Iterator[QuotedAnswer]:
        """The chosen sentences of `content`, best first: `quoted`, or by the parts that they stand in."""
        if not self.parts:
            yield QuotedAnswer(self.text, quoted)
            return
        by_part: dict[int, list[Span]] = {}
        starts = [0]
        for one in self._contents:
            starts.append(starts[-1] + len(one) + len(PARAGRAPH_BREAK))
        for start, end in chosen:
            number = next(at for at, first in enumerate(starts) if first > start) - 1
            offset = self.parts[number][1].start - starts[number]
            end = min(end + offset, self.parts[number][1].end)
            by_part.setdefault(number, []).append(Span(start + offset, end))
        for number, spans in list(by_part.items())[:MAX_PARTS_QUOTED]:
            part = self.parts[number][0]
            content, anchor = quotation(self.text, part, spans)
            yield QuotedAnswer(self.text, content, part.path, anchor)


def searched_at(publication: Publication, text: Text | None, place: TextPlace) -> list[Searched]:
    """What is searched for a place of a publication: all of its texts, unless the place names one, `text`."""
    if place.anchor:
        return [Searched(text, parts)] if text and (parts := _parts_at(text, place.anchor)) else []
    is_named = place.id != publication.id and split_text_id(place.id)[0] != place.id
    texts = ([text] if text else []) if is_named else publication.texts
    found = [Searched(one, tuple(found_parts(one))) for one in texts]
    return [one for one in found if one.parts or not one.text.parts]


def _parts_at(text: Text, anchor: str) -> list[tuple[Part, Span]]:
    name, first, last = split_paragraph_anchor(anchor)
    parts = [(one, own_span(text, one)) for one in with_descendants(text.parts, name)]
    if first and parts:
        part, own = parts[0]
        some = paragraph_spans(text.content, own)[first - 1 : last]
        return [(part, Span(some[0].start, some[-1].end))] if some else []
    return [(part, own) for part, own in parts if text.content[slice(*own)].strip()]
