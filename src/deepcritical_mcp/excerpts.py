"""Parts of a text, verbatim, in order, with a mark where something is left out. All of it takes linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.memory import remembering

MIN_GAP = 400
"""Characters: less is never left out of an abstract."""
MAX_SENTENCE = 500
"""Characters of a sentence that is ranked or quoted; a longer one counts as several."""
MAX_ABSTRACT, GIST = 8_000, 4_000
"""Characters; longer ones are whole reports or lists of a congress's abstracts, of which the richest part is shown."""
REMEMBERED = 1_000_000
"""Characters of the texts of which it is remembered where their sentences are."""
GAP = "[…]"
_TOO_LONG = 2_000
"""Characters: from here on it is a list without full stops rather than a sentence of an abstract."""
_LAST_SENTENCES = 2
"""Stand for the conclusion of an abstract without labels."""

_END = re.compile(r"(?P<mark>[.!?])[\"'”’)\]]{0,3}\s+|[。！？]\s*|\n\s*")
_INITIALS = re.compile(r"(?:[A-ZÀ-Þ][.-])*[A-ZÀ-Þ]")
_LABEL = re.compile(r"[^\S\n]*(?P<label>[A-Z][\w/&,' ()-]{2,60}):(?=\s)")
_RESULTS = re.compile(r"(?:[A-Z,&/]+ ){0,3}(?:RESULT|FINDING|OBSERVATION|SYNTHESIS)")
_SIGNALS = [line.split(": ", 1) for line in data_lines(__file__, "result_signals.txt")]


def _signals(*kinds: str) -> re.Pattern[str]:
    return re.compile("|".join(pattern for kind, pattern in _SIGNALS if kind in kinds))


_LEVEL, _FIGURES = _signals("level"), _signals("level", "figure")
_RESULTS_BY_RIGOR = (_signals("level", "figure", "stated", "finding"), _signals("level", "figure", "stated"))
"""What makes a sentence one with results: `_FIGURES` before the section of results, these elsewhere (widely, strictly).
"""
_CONCLUSION, _REFERS_BACK = _signals("conclusion"), _signals("refers back")
_ABBREVIATIONS = frozenset(" ".join(text for kind, text in _SIGNALS if kind == "abbreviation").split())


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

    A sentence longer than `MAX_SENTENCE` is divided after a clause, or else after a word. A full stop does not end a
    sentence if it follows an abbreviation or initials, precedes a small letter, or is a decimal point.
    """
    return [part for sentence in whole_sentences(text) for part in _parts(text, sentence)]


@remembering(REMEMBERED)
def whole_sentences(text: str) -> Sequence[Span]:
    starts = [0]
    for end in _END.finditer(text):
        stop, following = end.span()
        if end["mark"] and "\n" not in end[0]:
            words = text[max(0, stop - 12) : stop].split()
            word = words[-1].lstrip("([\"'“‘") if words else ""
            is_short = text[stop] == "." and (word.lower() in _ABBREVIATIONS or _INITIALS.fullmatch(word))
            if is_short or text[following : following + 1].islower():
                continue
        if following < len(text):
            starts.append(following)
    return [Span(*span) for span in pairwise((*starts, len(text)))] if text else []


def _parts(text: str, sentence: Span) -> Iterator[Span]:
    start, end = sentence
    while end - start > MAX_SENTENCE:
        head = text[start : start + MAX_SENTENCE]
        places = (head.rfind(mark) + len(mark) for mark in ("; ", ", ", " "))
        middle = start + next((place for place in places if place > MAX_SENTENCE // 2), MAX_SENTENCE)
        yield Span(start, middle)
        start = middle
    yield Span(start, end)


def refers_back(text: str, start: int) -> bool:
    """Whether the sentence that starts there is read with the one before it, or is the rest of a longer one: "This was
    not seen in mice"."""
    return text[start : start + 1].islower() or _REFERS_BACK.match(text, start) is not None


def has_figures(text: str) -> bool:
    """Whether a text has figures: percentages, ratios, p-values, doses, numbers of patients."""
    return _FIGURES.search(text) is not None


def first_sentences(text: str, limit: int) -> str:
    """Whole sentences from the start of `text` that fill at least half of `limit` characters; "" if none do."""
    ends = [span.end for span in whole_sentences(text) if limit // 2 <= span.end <= limit]
    return text[: ends[-1]].rstrip() if ends else ""


def without_results(text: str, limit: int = 0, *, strict: bool = False, least: int = MIN_GAP) -> list[Span]:
    """What to cut from an abstract: sentences without results, except the first one and the conclusion (the part
    labeled so, else the last sentences); and if more than `limit` characters would stay, those with the fewest results.
    Without a limit, those with results stay, except in a text of more than `MAX_ABSTRACT` characters. Less than `least`
    characters are not cut anywhere; with less than `MIN_GAP`, sentences without results stay as far as there is room,
    and those of the conclusion with the fewest results go where there is none.

    What is labeled background, objective or methods has results if it has figures. Elsewhere a statement of
    difference or effect is a result too; with `strict` only figures, negations and significance are.
    """
    found, labels = _labeled(text)
    is_filled = least < MIN_GAP
    limit = limit or (GIST if len(text) > MAX_ABSTRACT else len(text))
    before = next((number for number, label in enumerate(labels) if _RESULTS.match(label)), 0)
    if not all(labels) or any(map(_CONCLUSION.search, labels[:before])):
        before = 0
    kept = {number for number, label in enumerate(labels) if _CONCLUSION.search(label)}
    kept = {0} | (kept or {*range(len(found))[-_LAST_SENTENCES:]})
    signals = [_FIGURES if number < before else _RESULTS_BY_RIGOR[strict] for number in range(len(found))]
    counts = [
        len(signal.findall(text, *span)) + 10 * bool(_LEVEL.search(text, *span))
        for signal, span in zip(signals, found, strict=True)
    ]
    room = limit - sum(found[number].length for number in kept)
    for number in sorted(kept - {0}, key=counts.__getitem__):
        if is_filled and room < 0:
            kept.remove(number)
            room += found[number].length
    for number in sorted(range(1, len(found)), key=lambda number: -counts[number]):
        more = ({number, number - 1} if _REFERS_BACK.match(text, found[number].start) else {number}) - kept
        length = sum(found[one].length for one in more)
        if (counts[number] or is_filled) and length <= room:
            kept |= more
            room -= length
    return [gap for gap in _runs(found, [number in kept for number in range(len(found))]) if gap.length >= least]


def section_labels(text: str) -> list[str]:
    """The label of the section that each of the `sentences` is in; "" before the first label."""
    return _labels_of(text, sentences(text))


def _labels_of(text: str, spans: Sequence[Span]) -> list[str]:
    found = (_LABEL.match(text, span.start) for span in spans)
    return [*accumulate((label["label"] if label else "" for label in found), lambda before, own: own or before)]


@remembering(REMEMBERED)
def _labeled(text: str) -> tuple[Sequence[Span], Sequence[str]]:
    """The sentences, and the label of the section that each is in; "" before the first label."""
    spans = whole_sentences(text)
    found = [part for one in spans for part in (_parts(text, one) if one.length > _TOO_LONG else (one,))]
    return found, [label.upper() for label in _labels_of(text, found)]


def _runs(found: Sequence[Span], kept: Sequence[bool]) -> list[Span]:
    """What is not kept, neighbors together."""
    groups = groupby(zip(found, kept, strict=True), key=itemgetter(1))
    runs = [[span for span, _ in group] for keep, group in groups if not keep]
    return [Span(run[0].start, run[-1].end) for run in runs]


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
    return without(text, _runs(found, [span in kept for span in found]), lambda _: GAP)


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
