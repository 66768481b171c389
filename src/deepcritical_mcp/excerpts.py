"""Parts of a text, verbatim, in order, with a mark where something is left out. All of it takes linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

LEAST_GAP = 400
"""Characters: less is never left out of an abstract."""
GAP = "[…]"
_LAST_SENTENCES = 2
"""Stand for the conclusion of an abstract without labels."""

_END = re.compile(r"(?P<mark>[.!?])[\"'”’)\]]{0,3}\s+|[。！？]\s*|\n\s*")
_ABBREVIATIONS = frozenset(
    "e.g i.e vs cf ca approx al fig figs no nos dr prof st resp sp spp var subsp vol pp ed eds inc dept eq ref refs "
    "min max incl excl viz a.m p.m i.v i.p s.c i.m b.i.d t.i.d q.d u.s u.k".split()
)
_LABEL = re.compile(r"(?m)^[^\S\n]*(?P<label>[A-Z][\w/&,' ()-]{2,60}):(?=\s)")
_CONCLUSION = re.compile(
    r"CONCLUSION|INTERPRETATION|IMPLICATION|SIGNIFICANCE|TAKE[- ]HOME|WHAT THIS STUDY ADDS|KEY MESSAGE|SUMMARY"
)
_RESULT = re.compile(
    r"""
      [0-9][ \u00a0]?(?: % | [mkµμun]?g\b | mcg\b | [mµμn]?[lL]\b | [mµμn]?[mM](?:ol)?\b | [mck]m\b | IU\b | U\b
        | pp[mb]\b | mmHg\b | Gy\b | kcal\b | kJ\b | °C | bpm\b | (?:hour|day|week|month|year)s?\b
        | -?fold\b | times\b )
    | \b[pP](?:[- ]?value)?[ ]?[<>=≤≥] | \b[nN][ ]?=[ ]?[0-9] | [<>≤≥±][ ]?[0-9]
    | \b(?:CI|CrI|OR|RR|HR|IRR|aOR|aHR|AUC|SMD|WMD|NNT|NNH|IQR|SD|SEM|(?:ED|IC|EC|LD|LC|TD)50|BMDL?[0-9]{0,2})\b
    | \b(?:NOAEL|LOAEL|NOEL|LOEL|NOAEC|LOAEC)s?\b | no[- ]observed[- ](?:adverse[- ])?effect
    | \b(?:confidence|credible)\ interval | \b(?:odds|hazard|risk|rate|likelihood)\ ratio | \brelative\ risk
    | \b(?:mean|risk|absolute)\ difference | \bnumber\ needed | \b(?:sensitivity|specificity|effect\ size)\b
    | \bsignificant(?:ly)?\b | \b(?:in|de)creased?\ (?:by|from)\b
    """,
    re.VERBOSE,
)


class Span(NamedTuple):
    """A part of a text, from `start` up to `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """In characters."""
        return self.end - self.start


def sentences(text: str) -> list[Span]:
    """The sentences of `text`, with the white space after each: together they are the whole text.

    A full stop after an abbreviation or an initial, or before a small letter, ends none; nor does a decimal point.
    """
    starts = [0]
    for end in _END.finditer(text):
        if (not end["mark"] or "\n" in end[0] or _ends_here(text, end.start(), end.end())) and end.end() < len(text):
            starts.append(end.end())
    return [Span(*span) for span in pairwise((*starts, len(text)))] if text else []


def _ends_here(text: str, stop: int, following: int) -> bool:
    if text[following : following + 1].islower():
        return False
    if text[stop] != ".":
        return True
    word = text[max(0, stop - 12) : stop].rsplit(None, 1)[-1:] or [""]
    bare = word[0].lstrip("([\"'“‘")
    return bare.lower() not in _ABBREVIATIONS and not (len(bare) == 1 and bare.isalpha() and bare.isupper())


def has_result(sentence: str) -> bool:
    """Whether it states a measurement: a number with its unit, an effect size, a p-value, a NOAEL."""
    return bool(_RESULT.search(sentence))


def dispensable(text: str) -> list[Span]:
    """What an abstract can do without, each at least `LEAST_GAP` characters long.

    What stays: the first sentence, every sentence with a result, and the conclusion, which is the part labelled so,
    else the last sentences.
    """
    found = sentences(text)
    conclusion = _conclusion(text)
    last = found[-_LAST_SENTENCES].start if len(found) > _LAST_SENTENCES else 0
    kept = [
        number == 0
        or has_result(text[span.start : span.end])
        or (conclusion.start < span.end and span.start < conclusion.end if conclusion else span.start >= last)
        for number, span in enumerate(found)
    ]
    return [gap for gap in _runs(found, kept) if gap.length >= LEAST_GAP]


def _conclusion(text: str) -> Span | None:
    """From the label of the conclusion to the next label, or to the end."""
    labels = list(_LABEL.finditer(text))
    for label, following in pairwise((*labels, None)):
        if label and _CONCLUSION.search(label["label"].upper()):
            return Span(label.start(), following.start() if following else len(text))
    return None


def _runs(found: Sequence[Span], kept: Sequence[bool]) -> Iterator[Span]:
    """What is not kept, neighbours together."""
    start = -1
    for span, keep in zip(found, kept, strict=True):
        if keep and start >= 0:
            yield Span(start, span.start)
            start = -1
        elif not keep and start < 0:
            start = span.start
    if start >= 0:
        yield Span(start, found[-1].end)


def without(text: str, gaps: Sequence[Span], mark: Callable[[Span], str]) -> str:
    """`text` without the `gaps`, which are sentences in order, each gap replaced by its mark."""
    parts: list[str] = []
    position = 0
    for gap in gaps:
        parts += [text[position : gap.start].rstrip(), mark(gap)]
        position = gap.end
    return " ".join(part for part in (*parts, text[position:]) if part)


def quoted(text: str, kept: Collection[Span]) -> str:
    """Only the sentences in `kept`, in order, with `GAP` wherever something is left out."""
    found = sentences(text)
    return without(text, list(_runs(found, [span in kept for span in found])), lambda _: GAP) if found else text


def best_sentences(text: str, scores: Sequence[float], limit: int) -> list[Span]:
    """The sentences that answer best, in their context: at most `limit` characters, at least one sentence.

    `scores` are those of `sentences(text)`. A sentence next to a chosen one scores half of that one's lead more: it
    is read with it.
    """
    found = sentences(text)
    chosen: set[int] = set()
    room = limit
    lead = dict(enumerate(scores))
    while lead:
        number = max(lead, key=lambda one: (lead[one], -one))
        score = lead.pop(number)
        if chosen and found[number].length > room:
            continue
        chosen.add(number)
        room -= found[number].length
        for near in (number - 1, number + 1):
            if near in lead:
                lead[near] = max(lead[near], (lead[near] + score) / 2)
    return [found[number] for number in sorted(chosen)]
