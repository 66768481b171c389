"""A quotation laid beside the part of a text that it resembles most, word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise, takewhile

from deepcritical_mcp.checking.compared_text import ComparedText
from deepcritical_mcp.checking.quotation_words import ANYTHING, QuotedWords
from deepcritical_mcp.excerpts import Span

REACH = 1_500
"""Characters of a stream that a quotation may leave out at one place."""
MAX_WORDS = 250
"""Words of a quotation that are laid beside a text; more are not compared word by word."""

_MIN_PAIR = 8
"""Characters of two words together that lead to a place in the text."""
_MAX_PLACES = 40
"""Places in the text that one pair of words leads to."""
_ROOM = 12
"""Words around the place that are looked at."""
_MAX_CELLS = 150_000
"""Words of the quotation times words of the text that are laid beside each other."""
_MAX_TRIED = 200
"""Places of the first piece of a quotation from which on the others are looked for."""
_OTHER, _OTHER_KIND, _LESS, _MORE = 6, 13, 5, 7
"""Costs of another word in a word's place, of a word for a number, of a word less or more in the quotation."""
_LEFT_OUT = 0.5
"""Weight of letters of the text that the quotation leaves out without a mark: it may still be clearly its sentence."""
_BOTH, _UP, _LEFT = 0, 1, 2
"""Steps of the alignment: a word of both, of the quotation only, of the text only."""


@dataclass(frozen=True, slots=True)
class QuotedChange:
    """Words of a text, by number, and the words of a quotation that stand in their place; either may be empty."""

    text: Span
    quote: Span


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where a quotation comes nearest to a text.

    Attributes:
        span: the words of the text, by number.
        likeness: share of the letters of both that agree, 0..1.
        changes: where they do not agree, in order.
        left_out: the words of the text that stand where the quotation has a gap.
    """

    text: ComparedText
    span: Span
    likeness: float
    changes: tuple[QuotedChange, ...] = ()
    left_out: tuple[QuotedChange, ...] = ()


def exact_place(quoted: QuotedWords, text: ComparedText) -> Alignment | None:
    """Where all pieces of a quotation stand in order, within reach; None if nowhere."""
    first, *others = quoted.streams
    for place in islice(text.places_of(first), _MAX_TRIED):
        end, left_out = place.end, list[QuotedChange]()
        for piece in others:
            start = text.offsets[end]
            found = next(text.places_of(piece, start, start + REACH + len(piece)), None)
            if found is None:
                break
            left_out.append(QuotedChange(Span(end, found.start), Span(0, 0)))
            end = found.end
        else:
            return Alignment(text, Span(place.start, end), 1.0, (), tuple(left_out))
    return None


def likely_place(quoted: QuotedWords, text: ComparedText) -> tuple[int, Span] | None:
    """The words of a text among which a quotation may stand, and how many of its pairs of words do; None if none."""
    votes: list[tuple[int, int]] = []
    offset, gaps = 0, 0
    for number, (one, other) in enumerate(pairwise(quoted.words[:MAX_WORDS])):
        pair = one + other
        if ANYTHING in (one, other):
            gaps += other == ANYTHING
        elif len(pair) >= _MIN_PAIR:
            at = text.stream.find(pair)
            for _ in range(_MAX_PLACES):
                if at < 0:
                    break
                votes.append((at - offset, number))
                at = text.stream.find(pair, at + 1)
        offset += len(one)
    if not votes:
        return None
    length = offset + len(quoted.words[-1])
    votes.sort()
    count, first, last = _densest(votes, max(60, length // 3) + gaps * REACH)
    start = text.word_at(max(0, votes[first][0]))
    end = text.word_at(max(0, votes[last][0] + length))
    return count, Span(max(0, start - _ROOM), min(len(text), end + _ROOM))


def _densest(votes: Sequence[tuple[int, int]], width: int) -> tuple[int, int, int]:
    """The most different numbers whose places lie within `width`, with the first and last of these votes."""
    best, start = (0, 0, 0), 0
    inside: dict[int, int] = {}
    for end, (place, number) in enumerate(votes):
        inside[number] = inside.get(number, 0) + 1
        while place - votes[start][0] > width:
            gone = votes[start][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            start += 1
        best = max(best, (len(inside), start, end), key=lambda one: one[0])
    return best


def aligned(quoted: QuotedWords, text: ComparedText, window: Span) -> Alignment | None:
    """The part of a window of a text that is nearest to a quotation; None if no word agrees."""
    own = quoted.words[:MAX_WORDS]
    words = text.words(window.start, min(window.end, window.start + _MAX_CELLS // len(own)))
    steps = _steps(own, words)
    pairs = [(i, j) for i, j in steps if own[i] == words[j]]
    if not pairs:
        return None
    changes, left_out = list[QuotedChange](), list[QuotedChange]()
    start, end = _edges(steps, pairs, len(own))
    for (i, j), (next_i, next_j) in pairwise([(-1, start - 1), *pairs, (len(own), end)]):
        gone, come = Span(j + 1, next_j), Span(i + 1, next_i)
        if ANYTHING in own[slice(*come)]:
            before, gap, after = _around_gap(own, steps, gone, come)
            left_out.append(gap)
            found = (before, after)
        else:
            found = (QuotedChange(gone, come),)
        changes += (one for one in found if "".join(words[slice(*one.text)]) != "".join(own[slice(*one.quote)]))
    same = float(sum(len(own[i]) for i, _ in pairs))
    other = 0.0
    for one in changes:
        gone, come = "".join(words[slice(*one.text)]), "".join(own[slice(*one.quote)])
        shared = _shared(gone, come)
        same += shared
        other += max(len(come), len(gone)) - shared if come else _LEFT_OUT * len(gone)
    span = Span(window.start + start, window.start + end)
    changes, left_out = ([_moved(one, window.start) for one in some] for some in (changes, left_out))
    return Alignment(text, span, same / max(1.0, same + other), tuple(changes), tuple(left_out))


def _shared(one: str, other: str) -> int:
    """Letters that two words have in common at their beginnings and ends, if these are most: "tumour" and "tumor"."""
    before = _common(one, other)
    shared = before + _common(one[before:][::-1], other[before:][::-1])
    return shared if 2 * shared > max(len(one), len(other)) and not other[:1].isdigit() else 0


def _common(one: str, other: str) -> int:
    """The length of the common beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved(change: QuotedChange, by: int) -> QuotedChange:
    return QuotedChange(Span(change.text.start + by, change.text.end + by), change.quote)


def _edges(steps: Sequence[tuple[int, int]], pairs: Sequence[tuple[int, int]], count: int) -> tuple[int, int]:
    """Where the compared part of the text begins and ends: with the words that stand in the place of the quotation's
    first and last ones."""
    before = [j for i, j in steps if i < pairs[0][0]]
    after = [j for i, j in steps if pairs[-1][0] < i < count]
    return min((*before, pairs[0][1])), max((*after, pairs[-1][1])) + 1


def _around_gap(
    own: Sequence[str], steps: Sequence[tuple[int, int]], gone: Span, come: Span
) -> tuple[QuotedChange, QuotedChange, QuotedChange]:
    """What is changed before a gap, what it leaves out, and what is changed after it."""
    gaps = [i for i in range(*come) if own[i] == ANYTHING]
    before = max((j + 1 for i, j in steps if come.start <= i < gaps[0]), default=gone.start)
    after = min((j for i, j in steps if gaps[-1] < i < come.end), default=gone.end)
    return (
        QuotedChange(Span(gone.start, before), Span(come.start, gaps[0])),
        QuotedChange(Span(before, after), Span(gaps[0], gaps[-1] + 1)),
        QuotedChange(Span(after, gone.end), Span(gaps[-1] + 1, come.end)),
    )


def _steps(own: Sequence[str], words: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of words, by number, that stand in each other's place in the cheapest alignment of all of `own` with
    a part of `words`."""
    width = len(words) + 1
    numbers = [word[:1].isdigit() for word in words]
    row = [0] * width
    moves: list[bytearray] = []
    for word in own:
        move = bytearray(width)
        if word == ANYTHING:
            following = [*accumulate(row, min)]
            moves.append(
                bytearray(_UP if up == cheapest else _LEFT for up, cheapest in zip(row, following, strict=True))
            )
            row = following
            continue
        is_number = word[:1].isdigit()
        left = row[0] + _MORE
        following = [left]
        move[0] = _UP
        for j in range(1, width):
            other = words[j - 1]
            cost = row[j - 1] + (0 if word == other else _OTHER if is_number == numbers[j - 1] else _OTHER_KIND)
            if row[j] + _MORE < cost:
                cost, move[j] = row[j] + _MORE, _UP
            if left + _LESS < cost:
                cost, move[j] = left + _LESS, _LEFT
            left = cost
            following.append(cost)
        moves.append(move)
        row = following
    j = min(reversed(range(width)), key=row.__getitem__)  # of equal ones the last: another word rather than none
    i, steps = len(own), list[tuple[int, int]]()
    while i:
        move = moves[i - 1][j]
        if move == _BOTH:
            i, j = i - 1, j - 1
            steps.append((i, j))
        elif move == _UP:
            i -= 1
        else:
            j -= 1
    return steps[::-1]


def reordered(quoted: QuotedWords, text: ComparedText, window: Span) -> Alignment | None:
    """Where a window of a text has exactly the words of a quotation, in another order; None if nowhere."""
    own = quoted.words
    if ANYTHING in own or len(own) > MAX_WORDS:
        return None
    words = text.words(*window)
    wanted, count = Counter(own), len(own)
    inside = Counter(words[:count])
    for start in range(len(words) - count + 1):
        if start:
            inside[words[start - 1]] -= 1
            inside[words[start + count - 1]] += 1
        if inside == wanted:  # counts of zero are no difference
            first = next(at for at in range(count) if words[start + at] != own[at])
            last = next(at for at in range(count, 0, -1) if words[start + at - 1] != own[at - 1])
            moved = QuotedChange(Span(window.start + start + first, window.start + start + last), Span(first, last))
            return Alignment(text, Span(window.start + start, window.start + start + count), 1.0, (moved,))
    return None
