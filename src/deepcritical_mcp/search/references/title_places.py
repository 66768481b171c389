"""Titles in references: whether one is a record's, and where in a text it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, dropwhile, product
from typing import Literal, NamedTuple

from rapidfuzz.distance import OSA, Indel

from deepcritical_mcp.evidence.titles import (
    changes,
    content_words,
    is_misprint,
    is_notice,
    is_opposite,
    likeness,
)
from deepcritical_mcp.models import without_retraction_mark
from deepcritical_mcp.search.references.written import Word, WrittenReference, title_words
from deepcritical_mcp.text import FUNCTION_WORDS

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
_LEAST_MAIN, _MOST_MAIN = 2, 3
"""Content words of a title that may be written without its subtitle; so many subtitles may be left out."""
_YEAR = 4
"""Digits of a year."""
_TRANSLATED = re.compile(r"\s?[(\[]author'?s transl(?:ation)?\.?[)\]]", re.IGNORECASE)
_SUBTITLE = re.compile(r"(?<=[\w)\]\"”’'»])\s?(?:[:;]|\s[–—-])\s|[.?!]\s")
TitleAgreement = Literal["agrees", "minor", "differs"]
ORDER: Mapping[TitleAgreement, int] = {"agrees": 0, "minor": 1, "differs": 2}


class TitlePlace(NamedTuple):
    """Where a title stands in a text, how it agrees, and which of a record's titles it is."""

    start: int
    end: int
    agreement: TitleAgreement
    true: str
    similarity: float = 1.0


def main_titles(title: str) -> list[str]:
    """A title without its subtitles and translator's mark: "Zinc in wounds: a trial" -> "Zinc in wounds"; the longest
    first, and none that says too little; also without the subject before it: "Public health. Zinc in wounds"."""
    bare = _TRANSLATED.sub("", without_retraction_mark(title)).strip(" .[]")
    ends = [found.start() + (bare[found.start()] in "?!") for found in _SUBTITLE.finditer(bare)][-_MOST_MAIN:]
    subject, _, rest = bare.partition(". ")
    is_subject = len(content_words(title_words(subject))) <= _LEAST_MAIN < len(content_words(title_words(rest)))
    mains = [rest] * is_subject + [bare[:end] for end in reversed(ends)]
    words = title_words(title)
    return [] if is_notice(words) else [one for one in mains if len(content_words(title_words(one))) >= _LEAST_MAIN]


def titles_agree(one: str, other: str) -> TitleAgreement:
    """Whether two titles are the same but for function words, spelling and a subtitle; "minor" with slips."""
    first, second = (title_words(_TRANSLATED.sub("", without_retraction_mark(text))) for text in (one, other))
    pairs = [(first, second)]
    if is_notice(first) == is_notice(second):
        pairs += [(title_words(main), second) for main in main_titles(one)]
        pairs += [(title_words(main), first) for main in main_titles(other)]
    found: list[TitleAgreement] = [_alike(*pair) for pair in pairs]
    return min(found, key=lambda one: ORDER[one])


def _alike(one: Sequence[str], other: Sequence[str]) -> TitleAgreement:
    near = likeness(one, other)
    if "".join(one) == "".join(other):  # a blank is missing, or one too many
        return "agrees"
    if near == "same":
        inner = [list(dropwhile(FUNCTION_WORDS.__contains__, words)) for words in (one, other)]
        # Other small words between the same content words, or one more.
        is_joined = any("".join(gone) != "".join(come) and not at_end for gone, come, at_end in changes(*inner))
        return "minor" if is_joined else "agrees"
    if not one or not other or is_notice(one) != is_notice(other):
        return "differs"
    found = changes(content_words(one), content_words(other))
    slips = [(gone, come) for gone, come, _ in found if "".join(gone) != "".join(come)]
    if near == "near":
        return "minor" if any(gone and come for gone, come in slips) else "agrees"
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


def find_title(reference: WrittenReference, titles: Sequence[str]) -> TitlePlace | None:
    """Where one of a record's titles stands in a reference, as a whole, without its subtitle, or with a few words
    changed; None if nowhere."""
    places = list[TitlePlace]()
    for title in titles:
        whole = _placed(reference, title, title)
        places += [whole] if whole else []
        for name in main_titles(title) if not whole or whole.agreement != "agrees" else ():
            found = _placed(reference, name, title)
            if found and not _has_other_subtitle(reference, found, whole, title, name):
                places.append(found)
        if any(one.agreement == "agrees" for one in places):
            break
    return min(places, key=lambda one: (ORDER[one.agreement], -one.similarity), default=None)


def _has_other_subtitle(
    reference: WrittenReference, found: TitlePlace, whole: TitlePlace | None, title: str, main: str
) -> bool:
    """Whether most words of the record's subtitle, and others, stand behind its main title, or the number of another
    part: "2. Methods" for "1. Aims"."""
    subtitle = title_words(title)[len(title_words(main)) :] if title.startswith(main) else ()
    behind = [word for word in reference.words if found.end <= word.start]
    if are_parts(subtitle[:2], [word.token for word in behind[:2] if len(word.token) < _YEAR]):
        return True
    inside = [word.token for word in behind if whole and word.start < whole.end]
    return bool(inside and subtitle) and 2 * sum(word in subtitle for word in inside) >= len(subtitle)


def are_parts(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two titles, as `title_words`, have other numbers than each other, as the parts of a series have."""
    first, second = ({"1" if word == "i" else word for word in words} for words in (one, other))
    first, second = ({word for word in words if word.isdigit()} for words in (first, second))
    return bool(first - second and second - first)


def _placed(reference: WrittenReference, name: str, title: str) -> TitlePlace | None:
    words, text = reference.words, reference.text
    wanted = title_words(_TRANSLATED.sub("", without_retraction_mark(name)))
    if not wanted or (window := title_window(words, wanted)) is None:
        return None
    first, last = window
    there = [word.token for word in words[first : last + 1]]
    agreement, likeness = _alike(wanted, there), Indel.normalized_similarity(wanted, there)
    if agreement == "differs" and likeness < _SIMILAR:
        return None
    start, end = words[first].start, words[last].end
    end = mark.end() if (mark := _TRANSLATED.match(text, end)) else end
    end += name.rstrip(" .")[-1:] in (")", "]") and text[end : end + 1] in (")", "]")
    return TitlePlace(start, end, agreement, title, likeness)


def are_similar(one: str, other: str) -> bool:
    """Whether one title may be the other with a few words changed."""
    return similarity(one, other) >= _SIMILAR


def similarity(one: str, other: str) -> float:
    """How much of two titles is the same, from 0 to 1."""
    return Indel.normalized_similarity(title_words(one), title_words(other))


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
    # The same words may stand right before the others, too: "Berg A. A case".
    if len(runs) > 1 and (at := runs[1].at - runs[0].to + runs[0].at) > runs[0].at and runs[0].end == runs[1].start:
        is_same = near[at : runs[1].at] == near[runs[0].at : runs[0].to]
        runs[0] = runs[0]._replace(at=at, to=runs[1].at) if is_same else runs[0]
    # Words that differ at the ends belong to the title too, as many as it has there.
    first = low + max(0, runs[0].at - runs[0].start)
    last = low + min(len(near), runs[-1].to + len(wanted) - runs[-1].end) - 1
    # A word at an end may be broken, or joined to its neighbor: "Rad- iotherapy", "structurebased".
    for start, end in product((first, first - 1, first + 1), (last, last + 1, last - 1)):
        if start >= 0 and "".join(word.token for word in words[start : end + 1]) == "".join(wanted):
            return start, end
    return first, last


class _Run(NamedTuple):
    """Words `start` to `end` of a title, which stand at `at` to `to` in a text."""

    start: int
    end: int
    at: int
    to: int


def _is_stray(edge: _Run, before: _Run, after: _Run) -> bool:
    """Whether a few words at an edge stand far from the others in the text, but not in the title."""
    gap = after.at - before.to - (after.start - before.end)
    return edge.end - edge.start <= 2 and gap >= 2
