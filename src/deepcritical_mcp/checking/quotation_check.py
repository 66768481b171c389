"""Where a quotation stands: laid along the part of a text that it resembles most; and what it changes there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from importlib.resources import files
from itertools import pairwise, product, zip_longest

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel, Levenshtein

from deepcritical_mcp.checking.claim_numbers import NUMBER_WORDS
from deepcritical_mcp.checking.compared_text import ComparedText, comparable, own_texts
from deepcritical_mcp.evidence.chunking import anchor_at, found_parts
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.evidence.titles import is_translation
from deepcritical_mcp.excerpts import Span, sentences
from deepcritical_mcp.models import NO_TITLE, CheckedQuotation, Publication, QuotationVerdict, Text
from deepcritical_mcp.text import NEGATIONS, STOP_WORDS, clipped

MAX_PASSAGE = 400
"""Characters of the passage in which a quotation stands."""
LONG_WORDS, LONG_LETTERS = 5, 20
"""Words and letters that a quotation must have to be recognized although it was altered."""
OWN_WORDS, OWN_LETTERS = 8, 50
"""The same to be recognized as another paper's: what is shorter may stand in many."""
SURELY = 0.75
"""Likeness from which on a quotation is an altered sentence of a text."""
MAX_COMPARED = 2_000
"""Characters of a text by which its language is told."""
REACH = 250
"""Words of a text that a quotation may leave out at one place."""
_MAX_WORDS, _MAX_PIECES = 250, 8
"""Words of a piece of a quotation, and pieces, that are laid along a text; more are only looked for exactly."""
_MAX_TOLD, _MAX_WORDS_TOLD = 8, 160
"""Differences that are told one by one; characters of the words on one side of a difference."""
_CONTEXT = 2
"""Words before and after a negation that are told with it."""
_COST = 1 << 20
_LESS, _MORE, _OTHER = 5 * _COST, 7 * _COST, 6 * _COST
"""Costs of a word less in a quotation, of a word more, and of another word."""
_REORDERED = 1.5
"""How much more may cost what has the same words in another order."""
_LEFT_OUT = 0.4
"""Weight of letters that a quotation leaves out without a mark: it may still be clearly its sentence."""
_GRAVEST_FIRST = ("number", "negation", "turned round", "words")

_OMISSION = re.compile(
    r"[\[(<]\s?(?:…|\.\s?\.\s?\.)\s?[\])>]|…(?:\s?\.)?|\.\s?\.\s?\.(?:\s?\.)?"
    r"|(?P<put>\w{0,30}\[(?=[^\[\]A-Za-z]{0,20}[A-Za-z])[^\[\]\d]{1,200}\]\w{0,30})(?![\w\[])"
)
"""What a quotation leaves out, or puts in square brackets; numbers there are compared like others."""
_NOT_QUOTED = re.compile(
    r"(?i)\s?[\[(]\s?[*_]{0,2}(?:sic|(?:emphasis|italics) (?:added|ours|mine|in (?:the )?original))"
    r"[*_]{0,2}[!.]?\s?[\])]|\[(\w)\](?=\w)"
)
"""Remarks on a quotation; the first letter of it, which is kept."""
_ASIDE = frozenset(",;:()–—")
_MARK = re.compile(
    r"[(\[^]\s?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,15}\s?[)\]^]|.?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079][\u2070\u00b9\u00b2\u00b3\u2074-\u2079,–-]{0,12}.?",
    re.DOTALL,
)
"""The mark of a citation or a note."""


_ROWS = (files("deepcritical_mcp.checking") / "opposites.txt").read_text("utf-8").splitlines()
_DENYING, *_SIDES = (row for row in _ROWS if not row.startswith("#"))
_DENIALS = NEGATIONS | {*_DENYING.split()}
"""Words, in small letters without apostrophes, that deny the rest of their sentence."""
_OPPOSITES = [[side.split() for side in row.split(" / ")] for row in _SIDES]
_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "a")
_LONG = 4
"""Letters of a word to which a prefix makes the opposite: affected/unaffected."""


_Read = tuple[Publication, Text | None, ComparedText]
"""A text of a publication that counts as its own; None for the title."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a quotation stands in a text, or comes nearest to it.

    Attributes:
        span: the words of the text, by number.
        difference: what the quotation changes, the gravest first; left of an arrow stands what the text has.
    """

    read: _Read
    span: Span
    difference: str

    @property
    def denied(self) -> str:
        """The negation right before it in the same sentence, with its first words; "" if there is none."""
        text, first = self.read[2], self.span.start
        if not first or text.words(first - 1, first)[0] not in _DENIALS:
            return ""
        between = text.content[text.ends[first - 1] : text.starts[first]]
        return "" if {*between} & {*".;?!"} else text.written(first - 1, min(first + _CONTEXT, len(text)))

    @property
    def passage(self) -> tuple[str, str]:
        """Where it stands, and the sentences in which it does."""
        (publication, text, compared), anchor = self.read, ""
        start, end, content = compared.starts[self.span.start], compared.ends[self.span.end - 1], compared.content
        if text and text.parts:
            part, own = next((part, own) for part, own in found_parts(text) if own.start <= start < own.end)
            anchor = anchor_at(text, part, start, min(end, own.end))
        around = [one for one in sentences(content) if one.start < end and start < one.end]
        passage = content[around[0].start : around[-1].end].strip()
        if len(passage) > MAX_PASSAGE:
            passage = clipped(content[max(around[0].start, start - 40) :], MAX_PASSAGE)
        return f"{publication.id} {anchor}".strip(), passage


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

    @property
    def is_reordered(self) -> bool:
        gone, come = self.words
        return sorted(gone) == sorted(come)

    def written(self, around: int) -> tuple[str, str]:
        """Both as they are written, with so many words around them."""
        both = ((self.text, self.gone), (self.piece, self.come))
        whole = (text.written(max(0, one.start - around), min(len(text), one.end + around)) for text, one in both)
        there, here = (clipped(words, _MAX_WORDS_TOLD) for words in whole)
        return there, here

    @property
    def is_none(self) -> bool:
        """Whether both have the same, or one of them the mark of a citation."""
        if self.gone.length and self.come.length:
            return "".join(self.words[0]) == "".join(self.words[1])
        text, span = (self.text, self.gone) if self.gone.length else (self.piece, self.come)
        around = text.content[max(0, text.starts[span.start] - 1) : text.ends[span.end - 1] + 1]
        return _MARK.fullmatch(around.strip()) is not None

    @property
    def unlike(self) -> float:
        """Letters that do not agree."""
        gone, come = map("".join, self.words)
        if not come or self.is_reordered:
            return _LEFT_OUT * len(gone) * (not come)
        return max(len(gone), len(come)) * Indel.normalized_distance(gone, come)

    @property
    def kind(self) -> str:
        gone, come = self.words
        if self.is_reordered:
            return "turned round"
        if _numbers(gone) != _numbers(come):
            return "number"
        if len(_DENIALS.intersection(gone)) != len(_DENIALS.intersection(come)):
            return "negation"
        if any(_are_opposite(*pair) or _are_opposite(*reversed(pair)) for pair in product(gone, come)):
            return "turned round"
        return "words"

    @property
    def told(self) -> str:
        """In words: "number changed: “2” → “4”"."""
        kind = self.kind
        there, here = self.written(_CONTEXT if kind == "negation" else 0)
        if there and here:
            return f"{kind}{'' if kind == 'turned round' else ' changed'}: “{there}” → “{here}”"
        return f"{kind} left out: “{there}”" if there else f"{kind} added: “{here}”"


def check_quotation(quote: str, cited: Sequence[Publication], others: Sequence[Publication]) -> CheckedQuotation:
    """Look for a quotation in the texts of the publications that it is attributed to, then in those of `others` (of the
    draft and the session), where it is misattributed. Of the result, `index` and `quote` are empty.

    Time is linear in their length.
    """
    pieces = _pieces_of(quote)
    if not pieces:
        return _found("not_found", difference="the quotation has no words")
    words, letters = sum(map(len, pieces)), sum(len(piece.stream) for piece in pieces)
    known, own = {one.id for one in cited}, [*_read(cited)]
    if found := _exact(pieces, own):
        return _outcome(found)
    near = _near(pieces, own) if words >= LONG_WORDS and letters >= LONG_LETTERS else None
    elsewhere, is_own = [*_read([one for one in others if one.id not in known])], words >= OWN_WORDS
    is_own = is_own and letters >= OWN_LETTERS
    found = _exact(pieces, elsewhere) or (_near(pieces, elsewhere) if is_own and not near else None)
    if found and is_own:
        stands = f"it stands in {found.read[0].id}" + (f" ({found.difference})" if found.difference else "")
        told = "; ".join(filter(None, (stands, _what_was_read(cited))))
        return _found("misattributed", *found.passage, told)
    return _outcome(near) if near else _not_found(quote, cited, found)


def _pieces_of(quote: str) -> list[ComparedText]:
    """The pieces of a quotation between what it leaves out or puts in square brackets."""
    plain = _NOT_QUOTED.sub(r"\1", unescape(quote).replace("\\", ""))
    parts, found, put = _OMISSION.split(plain), list[ComparedText](), list[str | None]()
    for piece, between in zip_longest(parts[::2], parts[1::2]):
        if len(text := comparable(piece.strip())):
            found.append(replace(text, put=re.sub(r"[\[\]]", "", " ".join(map(str, put))) if all(put) else ""))
            put = []
        put.append(between)
    return found


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


def _exact(pieces: Sequence[ComparedText], texts: Sequence[_Read]) -> _Place | None:
    """Where all pieces of a quotation stand in order, within reach; None if nowhere."""
    for read in texts:
        text, spans = read[2], list[Span]()
        for piece in pieces:
            start = text.offsets[spans[-1].end] if spans else 0
            last = text.offsets[min(len(text), spans[-1].end + REACH)] + len(piece.stream) if spans else None
            spans += [found] if (found := next(text.places_of(piece.stream, start, last), None)) else ()
        if len(spans) == len(pieces):
            return _Place(
                read, Span(spans[0].start, spans[-1].end), _told(text, spans, [*_replaced(pieces, text, spans)])
            )
    return None


def _near(pieces: Sequence[ComparedText], texts: Sequence[_Read]) -> _Place | None:
    """The place that a quotation comes nearest to, if that is clearly its sentence."""
    own = max(pieces[:_MAX_PIECES], key=len).words()[:_MAX_WORDS]
    found = [(fuzz.partial_ratio_alignment(own, read[2].words()), read) for read in texts if len(read[2])]
    best, read = max(
        found, key=lambda one: one[0].score * min(len(own), len(one[1][2])) if one[0] else 0.0, default=(None, None)
    )
    if best is None or read is None:
        return None
    text = read[2]
    window = Span(max(0, best.dest_start - len(own)), min(len(text), best.dest_end + len(own)))
    spans = _nearest_spans(pieces[:_MAX_PIECES], text, window)
    changes = [one for piece, span in zip(pieces, spans, strict=False) for one in _changes(piece, text, span)]
    changes += _replaced(pieces, text, spans)
    difference = _told(text, spans, changes)
    if not difference and (len(pieces) > _MAX_PIECES or any(len(piece) > _MAX_WORDS for piece in pieces)):
        difference = f"words changed behind the first {_MAX_WORDS}"
    letters = sum(len(word) for piece in pieces[:_MAX_PIECES] for word in piece.words()[:_MAX_WORDS])
    whole = [one for one in spans if one.length] or [window]
    is_sure = 1 - sum(one.unlike for one in changes) / letters >= SURELY
    return _Place(read, Span(whole[0].start, whole[-1].end), difference) if is_sure else None


def _nearest_spans(pieces: Sequence[ComparedText], text: ComparedText, window: Span) -> list[Span]:
    """The parts of a text that are nearest to the pieces of a quotation, the longest of which stands in a window."""
    longest = max(range(len(pieces)), key=lambda at: len(pieces[at]))
    found = {longest: _nearest(pieces[longest], text, window)}
    for at in (*range(longest + 1, len(pieces)), *reversed(range(longest))):
        reach, before, behind = REACH + 2 * len(pieces[at]), found.get(at - 1), found.get(at + 1)
        start = before.end if before else max(0, (behind or window).start - reach)
        room = Span(start, behind.start if behind else min(len(text), start + reach))
        found[at] = _nearest(pieces[at], text, room)
    return [found[at] for at in range(len(pieces))]


def _nearest(piece: ComparedText, text: ComparedText, window: Span) -> Span:
    """The part of a window of a text that is nearest to all of a piece of a quotation, or has its words reordered."""
    own, words, at = piece.words()[:_MAX_WORDS], text.words(*window), window.start
    row = list(range(len(words) + 1))  # costs of ending there, above where it began
    for word in own:
        following = [row[0] + _MORE]
        for j, there in enumerate(words):
            here = row[j] + (0 if word == there else _OTHER)
            following.append(min(here, row[j + 1] + _MORE, following[-1] + _LESS))
        row = following
    high = min(reversed(range(len(row))), key=lambda j: row[j] // _COST)
    parts = (Span(low, low + len(own)) for low in range(len(words) - len(own) + 1))
    for part in (one for one in parts if sorted(words[slice(*one)]) == sorted(own)):
        if Levenshtein.distance(own, words[slice(*part)], weights=(_LESS, _MORE, _OTHER)) <= _REORDERED * row[high]:
            return Span(at + part.start, at + part.end)
    return Span(at + row[high] % _COST, at + high)


def _changes(piece: ComparedText, text: ComparedText, span: Span) -> list[_Change]:
    """What differs between a piece of a quotation and a part of a text; if that is only the order, one change."""
    i, j, found = 0, span.start, list[_Change]()
    for block in Levenshtein.opcodes(piece.words()[:_MAX_WORDS], text.words(*span)).as_matching_blocks():
        if i < block.a or j < span.start + block.b:
            found.append(_Change(text, Span(j, span.start + block.b), piece, Span(i, block.a)))
        i, j = block.a + block.size, span.start + block.b + block.size
    found = [one for one in found if not one.is_none]
    if len(found) > 1:
        gone, come = Span(found[0].gone.start, found[-1].gone.end), Span(found[0].come.start, found[-1].come.end)
        whole = _Change(text, gone, piece, come)
        return [whole] if whole.is_reordered else found
    return found


def _replaced(pieces: Sequence[ComparedText], text: ComparedText, spans: Sequence[Span]) -> Iterator[_Change]:
    """Where square brackets stand for words that they do not have, which is no insertion; of small words they may."""
    for piece, (one, other) in zip(pieces[1:], pairwise(spans), strict=False):
        gap, put = Span(one.end, other.start), comparable(piece.put)
        if len(put) and words_of(text.written(*gap)).keys() - words_of(piece.put).keys() - STOP_WORDS:
            yield _Change(text, gap, put, Span(0, len(put)))


def _told(text: ComparedText, spans: Sequence[Span], changes: Sequence[_Change]) -> str:
    """The differences in words, the gravest first; "" if there are none."""
    found = [(one.kind, one.told) for one in changes]
    for gap in (Span(one.end, other.start) for one, other in pairwise(spans)):
        if _is_denied(text, gap):
            found.append(("negation", f"the words left out deny it: “{clipped(text.written(*gap), _MAX_WORDS_TOLD)}”"))
    found.sort(key=lambda one: _GRAVEST_FIRST.index(one[0]))
    more = [f"and {len(found) - _MAX_TOLD} more"] if len(found) > _MAX_TOLD else []
    return "; ".join([*(words for _, words in found[:_MAX_TOLD]), *more])


def _is_denied(text: ComparedText, gap: Span) -> bool:
    """Whether what is left out has a negation that governs what stands around it: no aside has."""
    start, end = text.ends[max(0, gap.start - 1)], text.starts[min(gap.end, len(text) - 1)]
    denials = [at for at, word in enumerate(text.words(*gap), gap.start) if word in _DENIALS]
    around = ((text.content[start : text.starts[at]], text.content[text.ends[at] : end]) for at in denials)
    return any(_ASIDE.isdisjoint(part) for both in around for part in both)


def _numbers(words: Sequence[str]) -> list[str]:
    return [word for word in words if word[0].isdigit() or word in NUMBER_WORDS]


def _are_opposite(one: str, other: str) -> bool:
    """Whether a word, in small letters, is the opposite of another: unaffected, affected; higher, lower."""
    if len(one) >= _LONG and other.endswith(one) and other.removesuffix(one) in _PREFIXES:
        return True
    return any(
        all(
            any(word.startswith(known[:-1]) if known[-1] == "-" else word == known for known in side)
            for word, side in both
        )
        for these, those in _OPPOSITES
        for both in [((one, these), (other, those))]
    )


def _outcome(found: _Place) -> CheckedQuotation:
    denied, difference = found.denied, found.difference
    if difference or denied.startswith("non-"):
        return _found("altered", *found.passage, difference or f"negation left out: “{denied}”")
    remark = f"the text has “{denied}”: see whether the quotation leaves out a negation" if denied else ""
    return _found("verbatim", *found.passage, remark)


def _found(verdict: QuotationVerdict, where: str = "", passage: str = "", difference: str = "") -> CheckedQuotation:
    return CheckedQuotation(index=0, quote="", verdict=verdict, where=where, passage=passage, difference=difference)


def _not_found(quote: str, cited: Sequence[Publication], elsewhere: _Place | None) -> CheckedQuotation:
    texts = [text.content[:MAX_COMPARED] for one in cited for text in own_texts(one)]
    if texts and all(is_translation(quote, text) for text in texts):
        return _found("not_found", difference="the quotation and what could be read are in two languages")
    remark = f"these words stand in {elsewhere.read[0].id}" if elsewhere else ""
    return _found("not_found", difference="; ".join(filter(None, (_what_was_read(cited), remark))))


def _what_was_read(cited: Sequence[Publication]) -> str:
    """Why that a quotation was not found does not say that it is not in the publication; "" without any."""
    named = ", ".join(one.id for one in cited[:3]) + f" and of {len(cited) - 3} more" * (len(cited) > 3)
    if not cited or all(any(text.kind in ("full_text", "page") for text in one.texts) for one in cited):
        return f"not in the full text of {named}" if cited else ""
    return f"only the abstract (or the title) of {named} could be read: it may stand in the full text"
