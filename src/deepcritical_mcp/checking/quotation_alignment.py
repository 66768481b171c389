"""A quotation laid along the part of a text that it resembles most, and what it changes there: the gravest first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from itertools import islice, pairwise

from rapidfuzz.distance import Indel, Levenshtein

from deepcritical_mcp.checking.claim_numbers import NUMBER_WORDS, UNITS
from deepcritical_mcp.checking.compared_text import ComparedText, comparable
from deepcritical_mcp.checking.opposite_words import DENYING, are_opposites
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.spelling import one_spelling
from deepcritical_mcp.text import clipped

REACH = 250
"""Words of a text that a quotation may leave out at one place."""
_MAX_WORDS, _MAX_PIECES = 250, 8
"""Words of a piece of a quotation, and pieces, that are laid along a text; more are only looked for exactly."""
_MAX_TRIED = 200
"""Places of the first piece of a quotation from which on the others are looked for."""
_MAX_TOLD, _MAX_WORDS_TOLD = 8, 160
"""Differences that are told one by one; characters of the words on one side of a difference."""
_CONTEXT = 2
"""Words before and after a negation that are told with it."""
_COST = 1 << 20
_LESS, _MORE, _OTHER, _OTHER_KIND = 5 * _COST, 7 * _COST, 6 * _COST, 13 * _COST
"""Costs of a word less in a quotation, of a word more, of another word, and of a word for a number."""
_REORDERED = 1.5
"""How much more may cost what has the same words in another order."""
_ALIKE = 0.7
"""Likeness from which on two words are forms of one."""
_LEFT_OUT = 0.4
"""Weight of letters that a quotation leaves out without a mark: it may still be clearly its sentence."""
_GRAVEST_FIRST = ("number", "negation", "turned round", "unit", "sign", "words", "spelling")

_OMISSION = re.compile(r"[\[(<]\s?(?:…|\.\s?\.\s?\.)\s?[\])>]|…(?:\s?\.)?|\.\s?\.\s?\.(?:\s?\.)?")
_NOT_QUOTED = re.compile(
    r"(?i)\s?[\[(]\s?[*_]{0,2}(?:sic|(?:emphasis|italics) (?:added|ours|mine|in (?:the )?original))"
    r"[*_]{0,2}[!.]?\s?[\])]|\[(\w)\](?=\w)"
)
"""Remarks on a quotation; the first letter of it, which is kept."""
_PUT_IN = re.compile(r"\w{0,30}\[(?=[^\[\]A-Za-z]{0,20}[A-Za-z])[^\[\]]{1,200}\]\w{0,30}(?![\w\[])")
_ASIDE = frozenset(",;:()–—")
_SENTENCE_END = re.compile(r"[.;?!][\"”’)\]]{0,3}\s")
_MARK = re.compile(
    r"[(\[^]\s?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,15}\s?[)\]^]|.?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079][\u2070\u00b9\u00b2\u00b3\u2074-\u2079,–-]{0,12}.?",
    re.DOTALL,
)
"""The mark of a citation or a note."""


@dataclass(frozen=True, slots=True)
class QuotedPlace:
    """Where a quotation stands in a text, or comes nearest to it.

    Attributes:
        span: the words of the text, by number.
        likeness: share of the letters of both that agree, 0..1.
        difference: what the quotation changes, the gravest first; left of an arrow stands what the text has.
    """

    text: ComparedText
    span: Span
    likeness: float
    difference: str


@dataclass(frozen=True, slots=True)
class _Change:
    """Words that a text has and words that a quotation has in their place; either may be none."""

    text: ComparedText
    gone: Span
    piece: ComparedText
    come: Span

    @property
    def words(self) -> tuple[list[str], list[str]]:
        return self.text.words(*self.gone), self.piece.words(*self.come)

    def written(self, around: int = 0) -> tuple[str, str]:
        """Both as they are written, with so many words around them."""
        both = ((self.text, self.gone), (self.piece, self.come))
        whole = (text.written(max(0, one.start - around), min(len(text), one.end + around)) for text, one in both)
        there, here = (clipped(words, _MAX_WORDS_TOLD) for words in whole)
        return there, here

    @property
    def is_none(self) -> bool:
        """Whether both have the same, or one of them the mark of a citation."""
        if not (self.gone.length and self.come.length):
            text, span = (self.text, self.gone) if self.gone.length else (self.piece, self.come)
            around = text.content[max(0, text.starts[span.start] - 1) : text.ends[span.end - 1] + 1]
            return _MARK.fullmatch(around.strip()) is not None
        return "".join(self.words[0]) == "".join(self.words[1])


def readings_of_quotation(quote: str) -> list[list[ComparedText]]:
    """The pieces of a quotation between what it leaves out: with what stands in square brackets as part of the text,
    then as put in."""
    plain = _NOT_QUOTED.sub(r"\1", unescape(quote).replace("\\", "").replace("\x1f", " "))
    literal = _OMISSION.sub("\x1f", plain)
    texts = dict.fromkeys((literal, _PUT_IN.sub("\x1f", literal)))
    readings = ([comparable(piece.strip()) for piece in text.split("\x1f")] for text in texts)
    return [found for pieces in readings if (found := [one for one in pieces if len(one)])]


def exact_place(pieces: Sequence[ComparedText], text: ComparedText) -> QuotedPlace | None:
    """Where all pieces of a quotation stand in order, within reach; None if nowhere."""
    for place in islice(text.places_of(pieces[0].stream), _MAX_TRIED):
        spans = [place]
        for piece in pieces[1:]:
            start, last = text.offsets[spans[-1].end], text.offsets[min(len(text), spans[-1].end + REACH)]
            found = next(text.places_of(piece.stream, start, last + len(piece.stream)), None)
            if not found:
                break
            spans.append(found)
        else:
            return QuotedPlace(text, Span(place.start, spans[-1].end), 1.0, _told(text, spans, []))
    return None


def likely_window(pieces: Sequence[ComparedText], text: ComparedText) -> tuple[int, Span]:
    """The words of a text among which the longest piece of a quotation may stand: those with most of its words, above
    all of those that the text seldom has; and how many of its words these are."""
    own = Counter(max(pieces[:_MAX_PIECES], key=len).words()[:_MAX_WORDS])
    hits = [(at, word) for at, word in enumerate(text.words()) if word in own]
    often, inside = Counter(word for _, word in hits), Counter[str]()
    count = own.total()
    best, total, first = (0.0, 0, 0), 0.0, 0
    for last, (at, word) in enumerate(hits):
        inside[word] += 1
        total += (inside[word] <= own[word]) / often[word]
        while at - hits[first][0] > count:
            gone = hits[first][1]
            total -= (inside[gone] <= own[gone]) / often[gone]
            inside[gone] -= 1
            first += 1
        best = max(best, (total, first, last + 1), key=lambda one: one[0])
    found = hits[best[1] : best[2]]
    window = Span(max(0, found[0][0] - count), min(len(text), found[-1][0] + count)) if found else Span(0, 0)
    return len({word for _, word in found}), window


def near_place(pieces: Sequence[ComparedText], text: ComparedText, window: Span) -> QuotedPlace:
    """The part of a window of a text that is nearest to a quotation."""
    count, longest = len(pieces[:_MAX_PIECES]), max(range(len(pieces[:_MAX_PIECES])), key=lambda at: len(pieces[at]))
    found = {longest: _nearest(pieces[longest], text, window)}
    for at in (*range(longest + 1, count), *reversed(range(longest))):
        reach, before, behind = REACH + 2 * len(pieces[at]), found.get(at - 1), found.get(at + 1)
        start = before.end if before else max(0, (behind or window).start - reach)
        room = Span(start, behind.start if behind else min(len(text), start + reach))
        found[at] = _nearest(pieces[at], text, room)
    spans = [found[at] for at in range(count)]
    changes = [one for piece, span in zip(pieces, spans, strict=False) for one in _changes(piece, text, span)]
    difference = _told(text, spans, changes)
    if not difference and (len(pieces) > _MAX_PIECES or any(len(piece) > _MAX_WORDS for piece in pieces)):
        difference = f"words changed behind the first {_MAX_WORDS}"
    letters = sum(len(word) for piece in pieces[:_MAX_PIECES] for word in piece.words()[:_MAX_WORDS])
    whole = [one for one in spans if one.length] or [window]
    likeness = max(0.0, 1 - sum(map(_unlike, changes)) / letters)
    return QuotedPlace(text, Span(whole[0].start, whole[-1].end), likeness, difference)


def _changes(piece: ComparedText, text: ComparedText, span: Span) -> list[_Change]:
    """What differs between a piece of a quotation and a part of a text; if that is only the order, one change."""
    i, j, found = 0, span.start, list[_Change]()
    for block in Levenshtein.opcodes(piece.words()[:_MAX_WORDS], text.words(*span)).as_matching_blocks():
        if i < block.a or j < span.start + block.b:
            found.append(_Change(text, Span(j, span.start + block.b), piece, Span(i, block.a)))
        i, j = block.a + block.size, span.start + block.b + block.size
    found = [one for one in found if not one.is_none]
    if len(found) > 1 and _is_reordered(found):
        gone, come = Span(found[0].gone.start, found[-1].gone.end), Span(found[0].come.start, found[-1].come.end)
        return [_Change(text, gone, piece, come)]
    return found


def _nearest(piece: ComparedText, text: ComparedText, window: Span) -> Span:
    """The part of a window of a text that is nearest to all of a piece of a quotation."""
    own, words, at = piece.words()[:_MAX_WORDS], text.words(*window), window.start
    numbers = [word[0].isdigit() for word in words]
    row = list(range(len(words) + 1))  # costs of ending there, above where it began
    for word in own:
        other = [_OTHER if word[0].isdigit() == is_number else _OTHER_KIND for is_number in numbers]
        following = [row[0] + _MORE]
        for j, there in enumerate(words):
            here = row[j] + (0 if word == there else other[j])
            following.append(min(here, row[j + 1] + _MORE, following[-1] + _LESS))
        row = following
    high = min(reversed(range(len(row))), key=lambda j: row[j] // _COST)
    low = row[high] % _COST
    wanted, parts = Counter(own), (Span(one, one + len(own)) for one in range(len(words) - len(own) + 1))
    for part in islice((one for one in parts if Counter(words[slice(*one)]) == wanted), 1):
        cost = Levenshtein.distance(own, words[slice(*part)], weights=(_LESS, _MORE, _OTHER))
        low, high = part if cost <= _REORDERED * (row[high] - low) else (low, high)
    return Span(at + low, at + high)


def _is_reordered(changes: Sequence[_Change]) -> bool:
    gone, come = (Counter(word for one in changes for word in one.words[side]) for side in (0, 1))
    return gone == come and gone.total() > 0


def _unlike(change: _Change) -> float:
    """Letters of a change that do not agree."""
    gone, come = map("".join, change.words)
    if not come:
        return _LEFT_OUT * len(gone)
    likeness = 0.0 if come[0].isdigit() else Indel.normalized_similarity(gone, come, score_cutoff=_ALIKE)
    return 0.0 if _is_reordered([change]) else max(len(gone), len(come)) * (1 - likeness)


def _told(text: ComparedText, spans: Sequence[Span], changes: Sequence[_Change]) -> str:
    """The differences in words: "number changed: “2” → “4”; words changed: “may” → “might”"; "" if there are none."""
    found = [_difference(one) for one in changes]
    for gap in (Span(one.end, other.start) for one, other in pairwise(spans)):
        if _is_denied(text, gap):
            found.append(("negation", f"the words left out deny it: “{clipped(text.written(*gap), _MAX_WORDS_TOLD)}”"))
    found.sort(key=lambda one: _GRAVEST_FIRST.index(one[0]))
    more = [f"and {len(found) - _MAX_TOLD} more"] if len(found) > _MAX_TOLD else []
    return "; ".join([*(words for _, words in found[:_MAX_TOLD]), *more])


def _is_denied(text: ComparedText, gap: Span) -> bool:
    """Whether what is left out has a negation that governs what stands around it: no aside has."""
    parts = [
        (text.content[text.ends[max(0, gap.start - 1)] : text.starts[at]], text.content[text.ends[at] : end])
        for end in [text.starts[min(gap.end, len(text) - 1)]]
        for at, word in enumerate(text.words(*gap), gap.start)
        if word in DENYING
    ]
    within = [both for both in parts if not any(map(_SENTENCE_END.search, both))]
    return any(_ASIDE.isdisjoint(part) for both in within for part in both)


def _difference(change: _Change) -> tuple[str, str]:
    """What kind it is of, and in words."""
    kind = _kind(change)
    there, here = change.written(_CONTEXT if kind == "negation" else 0)
    if there and here:
        return kind, f"{kind}{'' if kind == 'turned round' else ' changed'}: “{there}” → “{here}”"
    return kind, f"{kind} left out: “{there}”" if there else f"{kind} added: “{here}”"


def _kind(change: _Change) -> str:
    gone, come = change.words
    if _is_reordered([change]):
        return "turned round"
    if _values(gone) != _values(come):
        return "number"
    if len(DENYING.intersection(gone)) != len(DENYING.intersection(come)):
        return "negation"
    if are_opposites(gone, come):
        return "turned round"
    if all(any(word in UNITS or word[:-1] in UNITS for word in side) for side in (gone, come)):
        return "unit"
    if all(not word[0].isalnum() or word == "x" for word in (*gone, *come)):
        return "sign"
    return "spelling" if [*map(one_spelling, gone)] == [*map(one_spelling, come)] else "words"


def _values(words: Sequence[str]) -> list[str]:
    """The numbers among words; 5.0 is 5."""
    numbers = (word for word in words if word[:1].isdigit() or word in NUMBER_WORDS)
    return [word.rstrip("0").rstrip(".") if "." in word else word for word in numbers]


def denied_before(place: QuotedPlace) -> str:
    """The negation right before a quotation in the same sentence, with the quotation's first words; "" if there is
    none."""
    text, first = place.text, place.span.start
    if not first or text.words(first - 1, first)[0] not in DENYING:
        return ""
    between = text.content[text.ends[first - 1] : text.starts[first]]
    return "" if _SENTENCE_END.search(between) else text.written(first - 1, min(first + _CONTEXT, len(text)))
