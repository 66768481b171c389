"""Where a quotation stands, and what was changed in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.checking.compared_text import ComparedText, comparable, own_texts
from deepcritical_mcp.checking.quotation_alignment import (
    QuotedPlace,
    denied_before,
    exact_place,
    likely_window,
    near_place,
    readings_of_quotation,
)
from deepcritical_mcp.evidence.chunking import anchor_at, found_parts
from deepcritical_mcp.evidence.titles import is_translation
from deepcritical_mcp.excerpts import sentences
from deepcritical_mcp.models import NO_TITLE, Publication, QuotationVerdict, Text
from deepcritical_mcp.text import clipped

MAX_PASSAGE = 400
"""Characters of the passage in which a quotation stands."""
LONG_WORDS, LONG_LETTERS = 5, 20
"""Words and letters that a quotation must have to be recognized although it was altered."""
OWN_WORDS, OWN_LETTERS = 8, 50
"""The same to be recognized as another paper's: what is shorter may stand in many."""
SURELY = 0.75
"""Likeness from which on a quotation is an altered sentence of a text."""
ENTIRELY = 0.6
"""The same where the whole of the publication could be read, so that it cannot stand elsewhere in it."""
MAX_LIKELY = 3
"""Texts that a quotation is compared with word by word."""
MAX_COMPARED = 2_000
"""Characters of a text by which its language is told."""


@dataclass(frozen=True)
class QuotationOutcome:
    """The attributes are those of `CheckedQuotation`."""

    verdict: QuotationVerdict
    where: str = ""
    passage: str = ""
    difference: str = ""


_Read = tuple[Publication, Text | None, ComparedText]
"""A text of a publication that counts as its own; None for the title."""
_Found = tuple[_Read, QuotedPlace]


def check_quotation(quote: str, cited: Sequence[Publication], others: Sequence[Publication]) -> QuotationOutcome:
    """Look for a quotation in the texts of the publications that it is attributed to, then in those of `others` (of the
    draft and the session), where it is misattributed.

    Time is linear in their length.
    """
    readings = readings_of_quotation(quote)
    if not readings:
        return QuotationOutcome("not_found", difference="the quotation has no words")
    words, letters = sum(map(len, readings[-1])), sum(len(piece.stream) for piece in readings[-1])
    known, own = {one.id for one in cited}, [*_read(cited)]
    if found := _exact(readings, own):
        return _outcome(found)
    near = _near(readings, own) if words >= LONG_WORDS and letters >= LONG_LETTERS else None
    elsewhere = [*_read([one for one in others if one.id not in known])]
    is_own = words >= OWN_WORDS and letters >= OWN_LETTERS
    found = _exact(readings, elsewhere) or (_near(readings, elsewhere) if is_own and not near else None)
    if found and is_own:
        id, difference = found[0][0].id, found[1].difference
        rest = f"{near[0][0].id} has similar words ({near[1].difference})" if near else _what_was_read(cited)
        stands = f"it stands in {id}" + (f" ({difference})" if difference else "")
        return QuotationOutcome("misattributed", *_place(found), "; ".join(filter(None, (stands, rest))))
    return _outcome(near) if near else _not_found(quote, cited, found)


def _read(publications: Sequence[Publication]) -> Iterator[_Read]:
    """The texts of publications that are their own: no notes, no lists of references; then their titles."""
    for one in publications:
        for text in own_texts(one):
            inside = tuple(span for _, span in found_parts(text)) if text.parts else None
            yield one, text, comparable(text.content, inside)
    for one in publications:
        for title in (one.title, one.vernacular_title):
            if title and title != NO_TITLE:
                yield one, None, comparable(title)


def _exact(readings: Sequence[Sequence[ComparedText]], texts: Sequence[_Read]) -> _Found | None:
    return next(((one, at) for pieces in readings for one in texts if (at := exact_place(pieces, one[2]))), None)


def _near(readings: Sequence[Sequence[ComparedText]], texts: Sequence[_Read]) -> _Found | None:
    """The place that a quotation comes nearest to, if that is clearly its sentence."""
    near: list[_Found] = []
    for pieces in readings:
        likely = [(*likely_window(pieces, read[2]), read) for read in texts]
        for count, window, read in sorted(likely, key=lambda one: -one[0])[:MAX_LIKELY]:
            place = near_place(pieces, read[2], window) if count else None
            if place and place.likeness >= (ENTIRELY if _is_whole(read[0]) else SURELY):
                near.append((read, place))
    return max(near, key=lambda one: one[1].likeness, default=None)


def _is_whole(publication: Publication) -> bool:
    return any(text.kind in ("full_text", "page") for text in publication.texts)


def _outcome(found: _Found) -> QuotationOutcome:
    difference, denied = found[1].difference, denied_before(found[1])
    if difference or denied.startswith("non-"):
        return QuotationOutcome("altered", *_place(found), difference or f"negation left out: “{denied}”")
    remark = f"the text has “{denied}”: see whether the quotation leaves out a negation" if denied else ""
    return QuotationOutcome("verbatim", *_place(found), remark)


def _not_found(quote: str, cited: Sequence[Publication], elsewhere: _Found | None) -> QuotationOutcome:
    texts = [text.content[:MAX_COMPARED] for one in cited for text in own_texts(one)]
    if texts and all(is_translation(quote, text) for text in texts):
        return QuotationOutcome("not_found", difference="the quotation and what could be read are in two languages")
    remark = f"these words stand in {elsewhere[0][0].id}" if elsewhere else ""
    return QuotationOutcome("not_found", difference="; ".join(filter(None, (_what_was_read(cited), remark))))


def _place(found: _Found) -> tuple[str, str]:
    """Where it stands, and the sentences in which it does."""
    (publication, text, compared), place = found
    content, anchor = compared.content, ""
    start, end = compared.starts[place.span.start], compared.ends[place.span.end - 1]
    if text and text.parts:
        part, own = next((part, own) for part, own in found_parts(text) if own.start <= start < own.end)
        anchor = anchor_at(text, part, start, min(end, own.end))
    around = [one for one in sentences(content) if one.start < end and start < one.end]
    passage = content[around[0].start : around[-1].end].strip()
    if len(passage) > MAX_PASSAGE:
        passage = clipped(content[max(around[0].start, start - 40) :], MAX_PASSAGE)
    return f"{publication.id} {anchor}".strip(), passage


def _what_was_read(cited: Sequence[Publication]) -> str:
    """Why that a quotation was not found does not say that it is not in the publication; "" without any."""
    if not cited:
        return ""
    texts = ", ".join(f"{_texts_of(one)} of {one.id}" for one in cited[:3])
    texts += f" and of {len(cited) - 3} more" if len(cited) > 3 else ""
    is_whole = all(map(_is_whole, cited))
    return f"not in {texts}" if is_whole else f"{texts} could be read: it may stand in the full text"


def _texts_of(publication: Publication) -> str:
    kinds = {text.kind for text in own_texts(publication)}
    if kinds <= {"abstract"}:
        return "only the abstract" if kinds else "only the title"
    named = ("full_text", "page", "registration")
    return " and ".join(f"the {kind.replace('_', ' ')}" for kind in named if kind in kinds)
