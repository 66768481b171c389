"""Where a quotation stands, and what was changed in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.checking.compared_text import ComparedText, comparable
from deepcritical_mcp.checking.quotation_differences import denied_before, told
from deepcritical_mcp.checking.quotation_words import QuotedWords, read_quotation
from deepcritical_mcp.checking.word_alignment import Alignment, aligned, exact_place, likely_place, reordered
from deepcritical_mcp.evidence.chunking import anchor_at, found_parts
from deepcritical_mcp.evidence.titles import is_translation
from deepcritical_mcp.excerpts import Span, sentences
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication, QuotationVerdict, Text
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


@dataclass(frozen=True, slots=True)
class _Read:
    """A text of a publication that counts as its own; `text` is None for the title."""

    publication: Publication
    text: Text | None
    compared: ComparedText


@dataclass(frozen=True, slots=True)
class _QuotedPlace:
    """Where a reading of a quotation stands in a text, or comes near."""

    read: _Read
    quoted: QuotedWords
    found: Alignment


def check_quotation(quote: str, cited: Sequence[Publication], others: Sequence[Publication]) -> QuotationOutcome:
    """Look for a quotation in the texts of the publications that it is attributed to, then in those of `others` (of the
    draft and the session), where it is misattributed.

    Time is linear in their length.
    """
    readings = [one for one in read_quotation(quote) if one.count]
    if not readings:
        return QuotationOutcome("not_found", difference="the quotation has no words")
    known = {one.id for one in cited}
    own = [*_read(cited)]
    if place := _exact(readings, own):
        return _outcome(place)
    near = _near(readings, own) if _has(readings, LONG_WORDS, LONG_LETTERS) else None
    elsewhere = [*_read([one for one in others if one.id not in known])]
    is_own = _has(readings, OWN_WORDS, OWN_LETTERS)
    found = _exact(readings, elsewhere) or (_near(readings, elsewhere) if is_own and not near else None)
    if found and is_own:
        return _misattributed(found, near, cited)
    if near:
        return _outcome(near)
    return _not_found(quote, cited, found)


def _has(readings: Sequence[QuotedWords], words: int, letters: int) -> bool:
    return readings[-1].count >= words and sum(map(len, readings[-1].words)) >= letters


def _read(publications: Sequence[Publication]) -> Iterator[_Read]:
    """The texts of publications that are their own: no notes, no lists of references; then their titles."""
    for one in publications:
        for text in _own_texts(one):
            yield _Read(one, text, comparable(text.content, _outside(text)))
    for one in publications:
        for title in (one.title, one.vernacular_title):
            if title and title != NO_TITLE:
                yield _Read(one, None, comparable(title))


def _own_texts(publication: Publication) -> list[Text]:
    return [text for text in publication.texts if text.kind != "note" and text.content != NO_ABSTRACT]


def _outside(text: Text) -> tuple[Span, ...]:
    """What of a text is not the publication's own."""
    outside: list[Span] = []
    at = 0
    for _, span in found_parts(text) if text.parts else ():
        if span.start > at:
            outside.append(Span(at, span.start))
        at = span.end
    if text.parts and at < len(text.content):
        outside.append(Span(at, len(text.content)))
    return tuple(outside)


def _exact(readings: Sequence[QuotedWords], texts: Sequence[_Read]) -> _QuotedPlace | None:
    for quoted in readings:
        for read in texts:
            if found := exact_place(quoted, read.compared):
                return _QuotedPlace(read, quoted, found)
    return None


def _near(readings: Sequence[QuotedWords], texts: Sequence[_Read]) -> _QuotedPlace | None:
    """The place that a quotation comes nearest to, if that is clearly its sentence."""
    near: list[_QuotedPlace] = []
    for quoted in readings:
        likely = [(place, read) for read in texts if (place := likely_place(quoted, read.compared))]
        for (_, window), read in sorted(likely, key=lambda one: -one[0][0])[:MAX_LIKELY]:
            found = aligned(quoted, read.compared, window)
            if not found or found.likeness < SURELY:
                found = reordered(quoted, read.compared, window) or found
            if found and found.likeness >= _threshold(read.publication):
                near.append(_QuotedPlace(read, quoted, found))
    return max(near, key=lambda place: place.found.likeness, default=None)


def _threshold(publication: Publication) -> float:
    return ENTIRELY if _is_whole(publication) else SURELY


def _is_whole(publication: Publication) -> bool:
    return any(text.kind in ("full_text", "page") for text in publication.texts)


def _outcome(place: _QuotedPlace) -> QuotationOutcome:
    difference, denied = told(place.quoted, place.found), denied_before(place.found)
    where, passage = _where(place), _passage(place)
    if difference or denied.startswith("non-"):
        return QuotationOutcome("altered", where, passage, difference or f"negation dropped: “{denied}”")
    remark = f"the text has “{denied}”: see whether the quotation leaves out a negation" if denied else ""
    return QuotationOutcome("verbatim", where, passage, remark)


def _misattributed(place: _QuotedPlace, near: _QuotedPlace | None, cited: Sequence[Publication]) -> QuotationOutcome:
    difference = told(place.quoted, place.found)
    stands = f"it stands in {place.read.publication.id}" + (f" ({difference})" if difference else "")
    if near:
        rest = f"{near.read.publication.id} has similar words ({told(near.quoted, near.found)})"
    else:
        rest = _what_was_read(cited)
    return QuotationOutcome("misattributed", _where(place), _passage(place), "; ".join(filter(None, (stands, rest))))


def _not_found(quote: str, cited: Sequence[Publication], elsewhere: _QuotedPlace | None) -> QuotationOutcome:
    texts = [text.content[:MAX_COMPARED] for one in cited for text in _own_texts(one)]
    if texts and all(is_translation(quote, text) for text in texts):
        return QuotationOutcome("not_found", difference="the quotation and what could be read are in two languages")
    remark = f"these words stand in {elsewhere.read.publication.id}" if elsewhere else ""
    return QuotationOutcome("not_found", difference="; ".join(filter(None, (_what_was_read(cited), remark))))


def _where(place: _QuotedPlace) -> str:
    text, found = place.read.text, place.found
    start, end = found.text.starts[found.span.start], found.text.ends[found.span.end - 1]
    anchor = ""
    if text and text.parts:
        part, own = next((part, own) for part, own in found_parts(text) if own.start <= start < own.end)
        anchor = anchor_at(text, part, start, min(end, own.end))
    return f"{place.read.publication.id} {anchor}".strip()


def _passage(place: _QuotedPlace) -> str:
    """The sentences in which it stands."""
    found, content = place.found, place.found.text.content
    start, end = found.text.starts[found.span.start], found.text.ends[found.span.end - 1]
    around = [one for one in sentences(content) if one.start < end and start < one.end]
    whole = content[around[0].start : around[-1].end].strip()
    return whole if len(whole) <= MAX_PASSAGE else clipped(content[max(around[0].start, start - 40) :], MAX_PASSAGE)


def _what_was_read(cited: Sequence[Publication]) -> str:
    """Why that a quotation was not found does not say that it is not in the publication; "" without any."""
    if not cited:
        return ""
    lines = (f"{_texts_of(one)} of {one.id}" for one in cited[:3])
    texts = ", ".join(lines) + (f" and of {len(cited) - 3} more" if len(cited) > 3 else "")
    if all(_is_whole(one) for one in cited):
        return f"not in {texts}"
    return f"not in what could be read ({texts}); it may stand in the full text"


def _texts_of(publication: Publication) -> str:
    kinds = {text.kind for text in _own_texts(publication)}
    if not kinds:
        return "only the title"
    if kinds <= {"abstract"}:
        return "only the abstract"
    return " and ".join(
        f"the {kind.replace('_', ' ')}" for kind in ("full_text", "page", "registration") if kind in kinds
    )
