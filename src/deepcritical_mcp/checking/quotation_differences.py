"""What differs between a quotation and the text that it was taken from, in words: the gravest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.compared_text import ComparedText
from deepcritical_mcp.checking.opposite_words import DENYING, are_opposites
from deepcritical_mcp.checking.quotation_words import QuotedWords
from deepcritical_mcp.checking.word_alignment import Alignment, QuotedChange
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.spelling import one_spelling
from deepcritical_mcp.text import clipped

MAX_TOLD = 8
"""Differences that are told one by one."""
_MAX_WORDS_TOLD = 160
"""Characters of the words on one side of a difference."""
_CONTEXT = 2
"""Words before and after a negation that are told with it."""
_NUMBER, _NEGATION, _TURNED, _SIGN, _WORDS, _SPELLING = range(6)
"""How grave differences are; smaller is graver."""

_NUMERALS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half third
    thirds quarter quarters once twice double doubled triple tripled twofold threefold fourfold fivefold tenfold
    dozen""".split()
)
_UNITS = frozenset(
    """% pg ng ug mcg mg g kg t pl nl ul ml dl l nm um mm cm m km pm fm pmol nmol umol mmol mol iu u ppm ppb mmhg gy mgy
    cgy sv kcal cal kj j hz khz mhz s sec second seconds min minute minutes h hr hour hours d day days wk week weeks
    month months y yr year years fold times""".split()
)
_SIGN_WORDS = frozenset("- + ± < > <= >= = / : x".split())
_BOUNDARY = re.compile(r"[,;:()–—]")
_SENTENCE_END = re.compile(r"[.;?!][\"”’)\]]{0,3}\s")
_YEAR = r"\b(?:19|20)\d\d[a-z]?"
_CITATION = re.compile(
    rf"[^\W\d_][\w.,'’&; -]{{0,120}}{_YEAR}(?:[,;][\w.,'’&; -]{{0,120}})?|{_YEAR}"
    r"|(?:see |refs?\.? )?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,15}"
    r"|[\u2070\u00b9\u00b2\u00b3\u2074-\u2079,–-]{1,12}"
)
_BRACKETS = {"(": ")", "[": "]", "^": "^"}


class Difference(NamedTuple):
    """One difference, in words, and how grave it is; smaller is graver."""

    gravity: int
    words: str


def told(quoted: QuotedWords, alignment: Alignment) -> str:
    """What a quotation changes, the gravest first: "number changed: 2 → 4; words changed: “may” → “might”"; "" if
    nothing but marks of citations. What stands left of an arrow is the text's."""
    found = sorted((*_omissions(alignment), *_differences(quoted, alignment)), key=lambda one: one.gravity)
    lines = [one.words for one in found[:MAX_TOLD]]
    more = len(found) - MAX_TOLD
    return "; ".join([*lines, f"and {more} more"] if more > 0 else lines)


def denied_before(alignment: Alignment) -> str:
    """The negation right before a quotation in the same sentence, with the quotation's first words; "" if there is
    none."""
    text, first = alignment.text, alignment.span.start
    if not first or text.words(first - 1, first)[0] not in DENYING:
        return ""
    between = text.content[text.ends[first - 1] : text.starts[first]]
    return "" if _SENTENCE_END.search(between) else _short(text.written(first - 1, min(first + _CONTEXT, len(text))))


def _omissions(alignment: Alignment) -> Iterator[Difference]:
    """The gaps of a quotation that drop a negation which governs what stands around them: no aside is one."""
    text = alignment.text
    for gap in alignment.left_out:
        last = min(gap.text.end, len(text) - 1)
        denials = (at for at in range(*gap.text) if text.words(at, at + 1)[0] in DENYING)
        for at in denials:
            before = text.content[text.ends[max(0, gap.text.start - 1)] : text.starts[at]]
            following = text.content[text.ends[at] : text.starts[last]]
            is_aside = _BOUNDARY.search(before) and _BOUNDARY.search(following)
            if not is_aside and not _SENTENCE_END.search(before) and not _SENTENCE_END.search(following):
                yield Difference(_NEGATION, f"the words left out deny it: “{_short(text.written(*gap.text))}”")
                break


def _differences(quoted: QuotedWords, alignment: Alignment) -> Iterator[Difference]:
    text = alignment.text
    changes = [
        one
        for one in alignment.changes
        if text.written(*one.text).casefold() != quoted.as_written(one.quote).casefold()
        and not _is_citation(quoted, text, one)
    ]
    exchanged = _exchanged(quoted, text, changes)
    if exchanged:
        one, other = (text.written(*change.text) for change in exchanged)
        gravity = _NUMBER if one[:1].isdigit() else _TURNED
        yield Difference(gravity, f"turned round: “{_short(one)}” and “{_short(other)}” are exchanged")
    for change in changes:
        if change not in exchanged:
            yield _difference(quoted, alignment, change)


def _is_citation(quoted: QuotedWords, text: ComparedText, change: QuotedChange) -> bool:
    """Whether only one of the two has words here, and these are the mark of a citation or a note."""
    if change.text.length and not change.quote.length:
        start, end = text.starts[change.text.start], text.ends[change.text.end - 1]
        around = text.content[max(0, start - 1) : start].strip(), text.content[end : end + 1]
        written = text.content[start:end]
    elif change.quote.length and not change.text.length:
        around, written = quoted.around(change.quote), quoted.as_written(change.quote)
    else:
        return False
    is_bracketed = around[0] in _BRACKETS and around[1] in (_BRACKETS[around[0]], ",", ";", " ")
    is_raised = not written.isascii() and not written[0].isalpha()
    return (is_bracketed or is_raised) and _CITATION.fullmatch(written) is not None


def _exchanged(quoted: QuotedWords, text: ComparedText, changes: Sequence[QuotedChange]) -> tuple[QuotedChange, ...]:
    """Two changes each of which has the other one's words."""
    seen: dict[tuple[tuple[str, ...], tuple[str, ...]], QuotedChange] = {}
    for change in changes:
        gone, come = tuple(text.words(*change.text)), quoted.words[slice(*change.quote)]
        if gone and come and (come, gone) in seen:
            return seen[come, gone], change
        seen[gone, come] = change
    return ()


def _difference(quoted: QuotedWords, alignment: Alignment, change: QuotedChange) -> Difference:
    text = alignment.text
    gone, come = text.words(*change.text), quoted.words[slice(*change.quote)]
    there, here = _short(text.written(*change.text)), _short(quoted.as_written(change.quote))
    if gone and come and sorted(gone) == sorted(come):
        return Difference(_TURNED, f"turned round: “{there}”, quoted as “{here}”")
    if _values(gone) != _values(come):
        return Difference(_NUMBER, _changed("number", there, here))
    denials = [sum(word in DENYING for word in words) for words in (gone, come)]
    if denials[0] != denials[1]:
        kind = "negation dropped" if denials[0] > denials[1] else "negation added"
        around = _around(text, change.text, alignment.span), _around_quoted(quoted, change.quote)
        return Difference(_NEGATION, f"{kind}: “{around[0]}”, quoted as “{around[1]}”")
    if are_opposites(gone, come):
        return Difference(_TURNED, f"turned round: “{there}” → “{here}”")
    if _UNITS.intersection(gone) and _UNITS.intersection(come):
        return Difference(_SIGN, _changed("unit", there, here))
    if _SIGN_WORDS.issuperset((*gone, *come)):
        return Difference(_SIGN, _changed("sign", there, here))
    if [*map(one_spelling, gone)] == [*map(one_spelling, come)]:
        return Difference(_SPELLING, f"spelling changed: “{there}” → “{here}”")
    return Difference(_WORDS, _changed("words", there and f"“{there}”", here and f"“{here}”"))


def _changed(what: str, there: str, here: str) -> str:
    if there and here:
        return f"{what} changed: {there} → {here}"
    return f"{what} left out: {there}" if there else f"{what} added: {here}"


def _values(words: Sequence[str]) -> list[str]:
    """The numbers among words; 5.0 is 5."""
    numbers = (word for word in words if word[:1].isdigit() or word in _NUMERALS)
    return [word.rstrip("0").rstrip(".") if "." in word else word for word in numbers]


def _around(text: ComparedText, change: Span, whole: Span) -> str:
    start, end = max(whole.start, change.start - _CONTEXT), min(whole.end, change.end + _CONTEXT)
    return _short(text.written(start, max(end, change.end)))


def _around_quoted(quoted: QuotedWords, change: Span) -> str:
    start, end = max(0, change.start - _CONTEXT), min(len(quoted.words), change.end + _CONTEXT)
    return _short(quoted.as_written(Span(start, end)))


def _short(words: str) -> str:
    return clipped(words, _MAX_WORDS_TOLD)
