"""Titles in references: whether one is a record's, and where in a text it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from rapidfuzz.distance import OSA, Indel

from deepcritical_mcp.evidence.titles import (
    changes,
    content_words,
    identifies,
    is_misprint,
    is_notice,
    is_opposite,
    likeness,
)
from deepcritical_mcp.models import without_retraction_mark
from deepcritical_mcp.search.references.written import Word, title_words

_LEAST_SHARE = 0.5
"""Of a title's words that must stand in a text before it is looked for there."""
_SIMILAR = 0.7
"""Of two titles' words that are the same where one may be the other with a few words changed."""
_ROOM = 4
"""Words on each side of where a title is expected."""
_LONG, _LETTERS_A_SLIP = 12, 5
"""Letters of a word in which several may be wrong or swapped, one of so many."""
_SHORT = 4
"""Letters of a word in which one may be missing."""
_MOST_SLIPS = 2
_TRANSLATED = re.compile(r"\s?[(\[]author'?s transl(?:ation)?\.?[)\]]", re.IGNORECASE)
_SUBTITLE = re.compile(r"(?<=[\w)\]\"”’'»])\s?(?:[:;]|\s[–—-])\s|[.?!]\s")
_OPENS = re.compile(r"(?:\A|[.:;,?!'\"“„«”‘(\[*|/–—-]|\b(?:1[5-9]|20)\d\d[a-z]?\)?)\s{0,3}\Z|[.)]\Z")
_STARTS = re.compile(r"(?:\A|[.:;?!\"“„«”‘(\[*|]|\b(?:1[5-9]|20)\d\d[a-z]?\)?)\s{0,3}\Z")
_ENDS = re.compile(r"[)\]]?\s{0,2}(?:\Z|[.?!\"”“»*|])")
_CLOSES = re.compile(r"\s{0,2}(?:\Z|[.:;,?!'\"”“»’()\[\]*|–—-]|(?:1[5-9]|20)\d\d)")


TitleAgreement = Literal["agrees", "minor", "differs"]
ORDER: Mapping[TitleAgreement, int] = {"agrees": 0, "minor": 1, "differs": 2}


class TitlePlace(NamedTuple):
    """Where a title stands in a text, and how it agrees."""

    start: int
    end: int
    agreement: TitleAgreement


def main_title(title: str) -> str:
    """A title without its subtitle and translator's mark: "Zinc in wounds: a trial" -> "Zinc in wounds"."""
    bare = _TRANSLATED.sub("", without_retraction_mark(title)).strip(" .[]")
    found = _SUBTITLE.search(bare)
    return bare[: found.start() + (bare[found.start()] in "?!")] if found else bare


def titles_agree(one: str, other: str) -> TitleAgreement:
    """Whether two titles are the same but for function words, spelling and a subtitle; "minor" with slips."""
    first, second = (title_words(_TRANSLATED.sub("", without_retraction_mark(text))) for text in (one, other))
    pairs = [(first, second)]
    if is_notice(first) == is_notice(second):
        mains = title_words(main_title(one)), title_words(main_title(other))
        pairs += [(main, whole) for main, whole in zip(mains, (second, first), strict=True) if identifies(main)]
    found: list[TitleAgreement] = [_alike(*pair) for pair in pairs]
    return min(found, key=lambda one: ORDER[one])


def _alike(one: Sequence[str], other: Sequence[str]) -> TitleAgreement:
    if likeness(one, other) != "other":
        return "agrees"
    if not one or not other or is_notice(one) != is_notice(other):
        return "differs"
    found = changes(content_words(one), content_words(other))
    slips = [(gone, come) for gone, come, _ in found if "".join(gone) != "".join(come)]
    is_slips = all(len(gone) == len(come) and all(map(_is_slip, gone, come)) for gone, come in slips)
    return "minor" if is_slips and len(slips) <= _MOST_SLIPS else "differs"


def _is_slip(one: str, other: str) -> bool:
    """Whether two words are one but for a letter that is missing inside, or a few letters of a long word."""
    if is_misprint(one, other):
        return True
    short, long = sorted((one, other), key=len)
    if one[0] != other[0] or one[-1] != other[-1] or not (one + other).isalpha() or is_opposite(one, other):
        return False
    distance = OSA.distance(one, other)
    return (len(short) >= _SHORT and len(long) > len(short) and distance == 1) or (
        len(short) >= _LONG and distance <= len(short) // _LETTERS_A_SLIP
    )


def place_of_title(text: str, words: Sequence[Word], title: str, follows: Callable[[str], bool]) -> TitlePlace | None:
    """Where a title stands in a text as a whole; None if it does not, or as part of another one.

    Args:
        words: those of `text`.
        follows: whether a text can follow a title without a mark between them.
    """
    wanted = title_words(_TRANSLATED.sub("", without_retraction_mark(title)))
    if not wanted or (window := title_window(words, wanted)) is None:
        return None
    first, last = window
    agreement = _alike(wanted, [word.token for word in words[first : last + 1]])
    if agreement == "differs":
        return None
    start, end = words[first].start, words[last].end
    end = mark.end() if (mark := _TRANSLATED.match(text, end)) else end
    lead = text[_last_stop(text, start) : start]
    if not _OPENS.search(text[:start]) or (
        is_notice(title_words(lead)) != is_notice(wanted) and is_notice(title_words(lead))
    ):
        return None
    end = end + 1 if title.rstrip(" .")[-1:] in (")", "]") and text[end : end + 1] in (")", "]") else end
    return TitlePlace(start, end, agreement) if _CLOSES.match(text, end) or follows(text[end:]) else None


def are_similar(one: str, other: str) -> bool:
    """Whether one title may be the other with a few words changed."""
    return similarity(one, other) >= _SIMILAR


def similarity(one: str, other: str) -> float:
    """How much of two titles is the same, from 0 to 1."""
    return Indel.normalized_similarity(title_words(one), title_words(other))


def place_of_similar(text: str, words: Sequence[Word], title: str) -> tuple[int, int] | None:
    """Where a text has what may be a title with a few words changed; None if nowhere."""
    wanted = title_words(title)
    if not wanted or (window := title_window(words, wanted)) is None:
        return None
    first, last = window
    if Indel.normalized_similarity(wanted, [word.token for word in words[first : last + 1]]) < _SIMILAR:
        return None
    return _whole(text, words, first, last)


def _whole(text: str, words: Sequence[Word], first: int, last: int) -> tuple[int, int]:
    """Where the part of a text begins and ends that has these words, with a few more up to the next full stop."""
    for at in range(first, max(0, first - _ROOM) - 1, -1):
        if _STARTS.search(text[: words[at].start]):
            first = at
            break
    for at in range(last, min(len(words), last + _ROOM + 1)):
        if _ENDS.match(text, words[at].end):
            last = at
            break
    return words[first].start, words[last].end


def _last_stop(text: str, end: int) -> int:
    """Where the sentence begins that ends at `end`."""
    return max((text.rfind(mark, 0, end) + 1 for mark in (". ", "? ", "! ", "“", '"', "”")), default=0)


def title_window(words: Sequence[Word], wanted: Sequence[str]) -> tuple[int, int] | None:
    """The first and last word of the part of a text that has most of the words wanted."""
    known = frozenset(wanted)
    hits = [word.token in known for word in words]
    size = min(len(wanted), len(words))
    sums = [0, *accumulate(hits)]
    count, start = max(((sums[at + size] - sums[at], -at) for at in range(len(words) - size + 1)), default=(0, 0))
    if count < _LEAST_SHARE * len(wanted):
        return None
    low, high = max(0, -start - _ROOM), min(len(words), -start + size + _ROOM)
    near = [word.token for word in words[low:high]]
    equal = [op for op in Indel.opcodes(list(wanted), near) if op.tag == "equal"]
    runs = [_Run(op.src_start, op.src_end, op.dest_start, op.dest_end) for op in equal]
    while len(runs) > 1 and _is_stray(runs[0], runs[0], runs[1]):
        runs.pop(0)
    while len(runs) > 1 and _is_stray(runs[-1], runs[-2], runs[-1]):
        runs.pop()
    if not runs:
        return None
    if len(runs) > 1:
        runs[0] = _beside(near, *runs[:2])
    # Words that differ at the ends belong to the title too, as many as it has there.
    first = low + max(0, runs[0].at - runs[0].start)
    last = low + min(len(near), runs[-1].to + len(wanted) - runs[-1].end) - 1
    # A word at an end may be broken: "Rad- iotherapy".
    if first and words[first - 1].token + words[first].token == wanted[0]:
        first -= 1
    if last + 1 < len(words) and words[last].token + words[last + 1].token == wanted[-1]:
        last += 1
    return first, last


class _Run(NamedTuple):
    """Words `start` to `end` of a title, which stand at `at` to `to` in a text."""

    start: int
    end: int
    at: int
    to: int


def _beside(words: Sequence[str], first: _Run, second: _Run) -> _Run:
    """The first run right before the second where the same words stand there, too: "Berg A. A case"."""
    size = first.to - first.at
    at = second.at - size
    is_same = first.end == second.start and words[at : second.at] == words[first.at : first.to]
    return first._replace(at=at, to=second.at) if is_same and at > first.at else first


def _is_stray(edge: _Run, before: _Run, after: _Run) -> bool:
    """Whether a few words at an edge stand far from the others in the text, but not in the title."""
    gap = after.at - before.to - (after.start - before.end)
    return edge.end - edge.start <= 2 and gap >= 2
