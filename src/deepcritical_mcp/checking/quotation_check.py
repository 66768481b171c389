"""Where a quotation stands: laid along the part of a text that it resembles most; and what it changes there.

Both are compared without typography, but with numbers and signs kept apart. Two texts say the same in the same words if
their streams are equal: their words and numbers in small letters without anything between them, so that hyphens, line
breaks, accents, quotation marks, emphasis and spaces in numbers do not count, while decimal points, minus signs,
ranges, "%" and "<" do.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import accumulate, chain, pairwise, permutations, product

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from deepcritical_mcp.checking.claim_numbers import NUMBER_WORDS, number_form
from deepcritical_mcp.data_files import data_lines, data_patterns
from deepcritical_mcp.evidence.chunking import anchor_at, found_parts
from deepcritical_mcp.excerpts import Span, sentences
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, CheckedQuotation, Publication, QuotationVerdict, Text
from deepcritical_mcp.text import GREEK_NAMES, NEGATIONS, clipped, normalized

_TOKEN = re.compile(data_patterns(__file__, "quotation_patterns.txt")["TOKEN"], re.IGNORECASE)
_SIGNS = {"≤": "<=", "⩽": "<=", "≥": ">=", "⩾": ">=", "⁺": "+", "₊": "+", "×": "x"}


class ComparedText:
    """The words (numbers and signs, too) of a text, or only of the spans `inside` of it, in the form in which they are
    compared.

    Attributes:
        stream: all words, with nothing in between.
        offsets: where each word begins in the stream, and the stream's length.
        starts, ends: where each word stands in the content.
    """

    def __init__(self, content: str, inside: tuple[Span, ...] | None = None) -> None:
        forms, self.content, self.starts, self.ends = list[str](), content, array("I"), array("I")
        for span in (Span(0, len(content)),) if inside is None else inside:
            for token in _TOKEN.finditer(content, *span):
                if form := _form(token):
                    forms.append(form)
                    self.starts.append(token.start())
                    self.ends.append(token.end())
        self.stream, self.offsets = "".join(forms), array("I", accumulate(map(len, forms), initial=0))

    def __len__(self) -> int:
        return len(self.starts)

    def words(self, start: int = 0, end: int | None = None) -> list[str]:
        """The words from number `start` up to `end`."""
        places = self.offsets[start : len(self) + 1 if end is None else end + 1]
        return [self.stream[one:other] for one, other in pairwise(places)]

    def written(self, start: int, end: int) -> str:
        """The words from number `start` up to `end` as they are written, on one line."""
        return " ".join(self.content[self.starts[start] : self.ends[end - 1]].split()) if start < end else ""

    def places_of(self, stream: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
        """Where whole words make up `stream`, which is not empty: spans of words."""
        at = self.stream.find(stream, start, end)
        while at >= 0:
            first, last = bisect_left(self.offsets, at), bisect_left(self.offsets, at + len(stream))
            if self.offsets[first] == at and self.offsets[last] == at + len(stream):
                yield Span(first, last)
            at = self.stream.find(stream, self.offsets[bisect_left(self.offsets, at + 1)], end)


comparable = lru_cache(maxsize=2_048)(ComparedText)


def _form(token: re.Match[str]) -> str:
    found, kind = token[0], token.lastgroup
    if kind == "word" and found.isascii() and found.isalpha():
        return found.lower()
    if kind == "word":  # without accents, apostrophes, ligatures; Greek letters by their names
        plain = "".join(GREEK_NAMES.get(letter, letter) for letter in normalized("NFKD", found).casefold())
        return "".join(letter for letter in plain if letter.isalnum())
    if kind == "number":
        return number_form(found)
    if kind == "sign":
        return "±" if found.startswith("+/") else _SIGNS.get(found, found)
    return {"percent": "%", "minus": "-"}.get(kind or "", "")


def own_texts(publication: Publication) -> list[Text]:
    """What can be read of a publication itself: no notes."""
    return [text for text in publication.texts if text.kind != "note" and text.content != NO_ABSTRACT]


MAX_PASSAGE = 400
"""Characters of the passage in which a quotation stands."""
LONG_WORDS, LONG_LETTERS = 5, 20
"""Words and letters that a quotation must have to be recognized although it was altered."""
OWN_WORDS, OWN_LETTERS = 8, 50
"""The same for a quotation to be misattributed: a shorter one may stand in many papers, so that another paper is only
named, and only if no third one has it."""
SURELY = 75
"""Likeness, in percent, from which on a quotation is an altered sentence of a text."""
REACH = 250
"""Words of a text that a quotation may leave out at one place."""
_MAX_WORDS = 250
"""Words of a quotation that are laid along a text; more are only looked for exactly."""
_MAX_TOLD, _MAX_WORDS_TOLD = 1_000, 160
"""Characters of the differences that are told, and of the words on one side of a difference."""
_GRAVEST_FIRST = ("number", "negation", "turned round", "words")

_OMISSION = re.compile(
    r"[\[(<]\s?(?:…|\.\s?\.\s?\.)\s?[\])>]|…(?:\s?\.)?|\.\s?\.\s?\.(?:\s?\.)?"
    r"|\w{0,30}\[(?=[^\[\]A-Za-z]{0,20}[A-Za-z])[^\[\]\d]{1,200}\]\w{0,30}(?![\w\[])"
)
"""What a quotation leaves out, or puts in square brackets; numbers there are compared like others."""
_NOT_QUOTED = re.compile(
    r"(?i)\s?[\[(]\s?[*_]{0,2}(?:sic|(?:emphasis|italics) (?:added|ours|mine|in (?:the )?original))"
    r"[*_]{0,2}[!.]?\s?[\])]|\[(\w)\](?=\w)"
)
"""Remarks on a quotation; the first letter of it, which is kept."""
_ASIDE = frozenset(",;:()–—")
_MARKS = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Marks of notes, of which a text or a quotation may have more."""

_DENYING, *_SIDES = data_lines(__file__, "opposites.txt")
_DENIALS = NEGATIONS | {*_DENYING.split()}
"""Words, in small letters without apostrophes, that deny the rest of their sentence."""
_OPPOSITES = [[tuple(f"{one} ".replace("- ", "") for one in side.split()) for side in row.split("/")] for row in _SIDES]

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


class _Quoted:
    """A quotation in words, and its pieces between what it leaves out or puts in square brackets."""

    def __init__(self, quote: str) -> None:
        plain = _NOT_QUOTED.sub(r"\1", unescape(quote).replace("\\", ""))
        marks = [Span(0, 0), *(Span(*one.span()) for one in _OMISSION.finditer(plain)), Span(len(plain), len(plain))]
        self.text = comparable(plain, tuple(Span(one.end, other.start) for one, other in pairwise(marks)))
        bounds = [bisect_left(self.text.starts, one.start) for one in marks]
        self.pieces = [Span(*pair) for pair in pairwise(bounds) if pair[0] < pair[1]]

    def is_at_least(self, words: int, letters: int) -> bool:
        """Whether it is so long."""
        return len(self.text) >= words and len(self.text.stream) >= letters


def check_quotation(quote: str, cited: Sequence[Publication], others: Sequence[Publication]) -> CheckedQuotation:
    """Look for a quotation in the texts of the publications that it is attributed to, then in those of `others` (of the
    draft and the session), where it is misattributed. Of the result, `index` and `quote` are empty.

    Time is linear in their length.
    """
    quoted = _Quoted(quote)
    if not quoted.pieces:
        return _found("not_found", difference="the quotation has no words")
    known, own = {one.id for one in cited}, [*_read(cited)]
    if found := _exact(quoted, own):
        return _outcome(found)
    if not quoted.is_at_least(LONG_WORDS, LONG_LETTERS):
        return _found("not_found", difference=_what_was_read(cited))
    near, elsewhere = _near(quoted, own), [one for one in others if one.id not in known]
    exact = filter(None, (_exact(quoted, [*_read([one])]) for one in elsewhere))
    found, is_telling = next(exact, None), quoted.is_at_least(OWN_WORDS, OWN_LETTERS)
    if is_telling and not found and not near:
        found = _near(quoted, [*_read(elsewhere)])
    if is_telling and found:
        stands = f"it stands in {found.read[0].id}" + (f" ({found.difference})" if found.difference else "")
        return _found("misattributed", *found.passage(), "; ".join(filter(None, (stands, _what_was_read(cited)))))
    if near:
        return _outcome(near)
    stands = f"these words stand in {found.read[0].id}" if found and not next(exact, None) else ""
    return _found("not_found", difference="; ".join(filter(None, (_what_was_read(cited), stands))))


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


def _exact(quoted: _Quoted, texts: Sequence[_Read]) -> _Place | None:
    """Where all pieces of a quotation stand in order, within reach; None if nowhere."""
    streams = ["".join(quoted.text.words(*piece)) for piece in quoted.pieces]
    for read in texts:
        text, spans = read[2], list[Span]()
        for stream in streams:
            start = text.offsets[spans[-1].end] if spans else 0
            last = text.offsets[min(len(text), spans[-1].end + REACH)] + len(stream) if spans else None
            spans += [found] if (found := next(text.places_of(stream, start, last), None)) else ()
        if len(spans) == len(streams):
            return _Place(read, Span(spans[0].start, spans[-1].end), _told(text, spans, []))
    return None


def _near(quoted: _Quoted, texts: Sequence[_Read]) -> _Place | None:
    """The place that a quotation comes nearest to, if that is clearly its sentence."""
    pieces = [Span(one.start, min(one.end, _MAX_WORDS)) for one in quoted.pieces if one.start < _MAX_WORDS]
    longest = quoted.text.words(*max(pieces, key=lambda one: one.length))
    found = [(fuzz.partial_ratio_alignment(longest, read[2].words()), read) for read in texts if len(read[2])]
    scores = [one.score * min(len(longest), len(read[2])) if one else 0.0 for one, read in found]
    best, read = max(zip(scores, found, strict=True), key=lambda one: one[0])[1] if found else (None, None)
    if best is None or read is None:
        return None
    text, reach = read[2], pieces[-1].end + REACH * (len(pieces) > 1)
    window = Span(max(0, best.dest_start - reach), min(len(text), best.dest_end + reach))
    spans = _nearest([quoted.text.words(*one) for one in pieces], text, window)
    here, there = _joined(quoted.text, pieces), _joined(text, spans)
    if fuzz.token_sort_ratio(here, there) < SURELY:
        return None
    changes = (_changes(quoted.text, one, text, other) for one, other in zip(pieces, spans, strict=True))
    difference = _told(text, spans, [*chain.from_iterable(changes)])
    if not difference and len(quoted.text) > _MAX_WORDS:
        difference = f"words changed behind the first {_MAX_WORDS}"
    whole = [one for one in spans if one.length]
    return _Place(read, Span(whole[0].start, whole[-1].end), difference)


def _joined(text: ComparedText, spans: Sequence[Span]) -> str:
    return " ".join(word for span in spans for word in text.words(*span))


def _nearest(pieces: Sequence[Sequence[str]], text: ComparedText, window: Span) -> list[Span]:
    """The parts of a window of a text that are nearest to the pieces of a quotation, in their order."""
    words = text.words(*window)
    row = [(0, (at,)) for at in range(window.start, window.end + 1)]  # words that differ; where the parts begin and end
    for number, piece in enumerate(pieces):
        if number:
            ended = [(cost, (*marks, at)) for at, (cost, marks) in enumerate(row, window.start)]
            row = [(cost, (*marks, at)) for at, (cost, marks) in enumerate(accumulate(ended, min), window.start)]
        for word in piece:
            following = [(row[0][0] + 1, row[0][1])]
            for j, there in enumerate(words):
                same = row[j][0] + (word != there), row[j][1]
                more, less = (row[j + 1][0] + 1, row[j + 1][1]), (following[-1][0] + 1, following[-1][1])
                following.append(min(same, more, less))
            row = following
    end = min(reversed(range(len(row))), key=lambda at: row[at][0])
    marks = (*row[end][1], window.start + end)
    return [Span(*pair) for pair in zip(marks[::2], marks[1::2], strict=True)]


def _changes(quoted: ComparedText, piece: Span, text: ComparedText, span: Span) -> Iterator[tuple[str, str]]:
    """What differs between a piece of a quotation and a part of a text: the kinds of the changes, and these in words,
    "number changed: “2” → “4”"."""
    own, words, here, there = quoted.words(*piece), text.words(*span), piece.start, span.start
    for block in Levenshtein.opcodes(own, words).as_matching_blocks():
        come, gone = Span(here, piece.start + block.a), Span(there, span.start + block.b)
        here, there = come.end + block.size, gone.end + block.size
        words_gone, words_come = text.words(*gone), quoted.words(*come)
        old, new = (clipped(some.written(*each), _MAX_WORDS_TOLD) for some, each in ((text, gone), (quoted, come)))
        start = text.starts[gone.start] if old else 0
        is_power = bool(new) and text.content[start - 1 : start].isalnum()  # 10⁵
        if "".join(words_gone) == "".join(words_come) or ({*old, *new} <= _MARKS and not is_power):
            continue
        kind = _kind(words_gone, words_come)
        if old and new:
            yield kind, f"{kind}{'' if kind == 'turned round' else ' changed'}: “{old}” → “{new}”"
        else:
            yield kind, f"{kind} left out: “{old}”" if old else f"{kind} added: “{new}”"


def _kind(gone: Sequence[str], come: Sequence[str]) -> str:
    old, new = ([word for word in words if word[0].isdigit() or word in NUMBER_WORDS] for words in (gone, come))
    if old != new:
        return "number"
    if len(_DENIALS.intersection(gone)) != len(_DENIALS.intersection(come)):
        return "negation"
    pairs = (pair for both in product(gone, come) for pair in permutations(f"{word} " for word in both))
    opposed = ((one, these, other, those) for one, other in pairs for these, those in _OPPOSITES)
    is_turned = any(one.startswith(these) and other.startswith(those) for one, these, other, those in opposed)
    return "turned round" if is_turned else "words"


def _told(text: ComparedText, spans: Sequence[Span], changes: Sequence[tuple[str, str]]) -> str:
    """The differences in words, the gravest first; "" if there are none."""
    gaps = (Span(one.end, other.start) for one, other in pairwise(spans))
    denied = (clipped(text.written(*gap), _MAX_WORDS_TOLD) for gap in gaps if _is_denied(text, gap))
    found = [*changes, *(("negation", f"the words left out deny it: “{words}”") for words in denied)]
    found.sort(key=lambda one: _GRAVEST_FIRST.index(one[0]))
    return clipped("; ".join(words for _, words in found), _MAX_TOLD)


def _is_denied(text: ComparedText, gap: Span) -> bool:
    """Whether what is left out has a negation that governs what stands around it: no aside has."""
    start, end = text.ends[max(0, gap.start - 1)], text.starts[min(gap.end, len(text) - 1)]
    denials = [at for at, word in enumerate(text.words(*gap), gap.start) if word in _DENIALS]
    around = ((text.content[start : text.starts[at]], text.content[text.ends[at] : end]) for at in denials)
    return any(_ASIDE.isdisjoint(part) for both in around for part in both)


def _outcome(found: _Place) -> CheckedQuotation:
    text, first, denied, difference = found.read[2], found.span.start, "", found.difference
    if first and text.words(first - 1, first)[0] in _DENIALS:
        between = text.content[text.ends[first - 1] : text.starts[first]]
        if {*between}.isdisjoint(".;?!"):  # it stands right before the quotation in the same sentence
            denied = text.written(first - 1, min(first + 2, len(text)))
    if difference or denied.startswith("non-"):
        return _found("altered", *found.passage(), difference or f"negation left out: “{denied}”")
    remark = f"the text has “{denied}”: see whether the quotation leaves out a negation" if denied else ""
    return _found("verbatim", *found.passage(), remark)


def _found(verdict: QuotationVerdict, where: str = "", passage: str = "", difference: str = "") -> CheckedQuotation:
    return CheckedQuotation(index=0, quote="", verdict=verdict, where=where, passage=passage, difference=difference)


def _what_was_read(cited: Sequence[Publication]) -> str:
    """Why that a quotation was not found does not say that it is not in the publication; "" without any."""
    named = ", ".join(one.id for one in cited[:3]) + f" and of {len(cited) - 3} more" * (len(cited) > 3)
    if not cited or all(any(text.kind in ("full_text", "page") for text in one.texts) for one in cited):
        return f"not in the full text of {named}" if cited else ""
    return f"only the abstract (or the title) of {named} could be read: it may stand in the full text"
