"""Titles in references: whether one is a record's, where in a text it stands, and what looks like one.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, product
from typing import Literal, NamedTuple

from rapidfuzz.distance import OSA, Indel, Opcode

from deepcritical_mcp.evidence.titles import (
    changes,
    content_words,
    continues,
    is_misprint,
    is_notice,
    is_opposite,
    is_translation,
    likeness,
    tokens,
)
from deepcritical_mcp.models import Publication, without_retraction_mark
from deepcritical_mcp.search.references.name_places import ET_AL, has_author
from deepcritical_mcp.search.references.number_places import YEAR
from deepcritical_mcp.search.references.plain_text import BRACKETED, WORD, WORD_LISTS, Span, without
from deepcritical_mcp.text import FUNCTION_WORDS

LEAST_WORDS, _ADDED_WORDS = 3, 3
"""Content words that look like a title, and that one may have besides the record's: "a randomised trial"."""
_LEAST_SCORE = 1.5
_LEAST_SHARE, _SIMILAR = 0.5, 0.7
"""Of a title's words that must stand in a text before it is looked for there, and of two titles' words that are the
same where one may be the other with a few words changed."""
_ROOM = 4
"""Words on each side of where a title is expected."""
_SHORT, _LONG = 4, 12
"""Letters of a word in which one may be missing, and in which one of five may be wrong."""
_LEAST_MAIN, _MOST_MAIN = 2, 3
"""Content words of a title that may be written without its subtitle; so many subtitles may be left out."""
_ENDS = " .,;:*_()[]”“\"'’‘?!"
_LONGEST_NOTICE = 3
"""Words of a sentence that only says what kind of notice follows: "Expression of concern."."""
_SUBTITLE = re.compile(r"(?<=[\w)\]\"”’'»])\s?(?:[:;]|\s[–—-])\s|[.?!]\s")
_ARROW = re.compile(r"<?[-–=]{1,3}>")
_TOKEN = re.compile(r"[^\W_]+|[<>≤≥&]")
_BREAK = re.compile(
    r"(?<=[.?!])[”\"]?\s{1,3}|(?<=[A-Z]\.)(?=[A-Z][a-z])|(?:(?<=\s[A-Z])|(?<=\s[A-Z]{2})|(?<=\.)):\s|(?:(?<=[0-9]{4}\))|(?<=[0-9][a-z]\)))[.,:]?\s|[”“\"]|[’'],\s"
    r"|\s[–—|]\s|(?<=[0-9]{4})(?:[,:]?\s|;\s?(?=[0-9]))|\]\("
    r"|(?=\s[0-9]{1,4}\s?(?:\([^()]{1,15}\)[:,]?|:|,(?=\s\w{0,2}[0-9]{1,6}[–-]))\s?[A-Za-z]?[0-9])"
)
_STOP = re.compile(r"[.:?!“”„«»\"‘(\[*|/]|\d(?:st|nd|rd|th)?|\s[–—-]\s")
_SENTENCE_END = re.compile(r"[.?!](?:\s|\Z)|[“”\"]")
_NUMBER_NEXT = re.compile(r"[\s.,;:(*_]{0,6}(?:[0-9]{1,4}\b|[A-Z][a-z]{2}[a-z]{0,6} [0-9]{1,2}\b)")
TitleAgreement = Literal["agrees", "minor", "differs"]
ORDER: Mapping[TitleAgreement, int] = {"agrees": 0, "minor": 1, "differs": 2}


class Word(NamedTuple):
    """A word of a text in one spelling, as `titles.tokens`, and where it stands."""

    token: str
    start: int
    end: int


def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text."""
    found = _TOKEN.finditer(without(_ARROW, text))
    return tuple(Word(token, one.start(), one.end()) for one in found for token in tokens(one[0]))


class TitlePlace(NamedTuple):
    """Where a title stands in a text, how it agrees, which of a record's titles it is, and whether its subtitle, or
    the end where it is cut, is left out."""

    start: int
    end: int
    agreement: TitleAgreement
    true: str
    similarity: float = 1.0
    is_short: bool = False


def _bare(title: str) -> str:
    return _ARROW.sub(" ", without_retraction_mark(title))


def _main_titles(title: str) -> list[str]:
    """A title without its subtitles: "Zinc in wounds: a trial" -> "Zinc in wounds"; the longest first, and none that
    says too little."""
    bare = _bare(title).strip(" .[]")
    ends = [found.start() + (bare[found.start()] in "?!") for found in _SUBTITLE.finditer(bare)][-_MOST_MAIN:]
    mains = [bare[:end] for end in reversed(ends)]
    return [one for one in mains if len(content_words(tokens(one))) >= _LEAST_MAIN and not is_notice(tokens(title))]


def title_agreement(written: str, record: Publication) -> TitleAgreement:
    """Whether a title, as a caller wrote it, is the record's but for function words, spelling and a subtitle; "minor"
    with slips. The beginning of one may end in "…"."""
    if written.rstrip().endswith(("…", "...")):
        return "agrees" if is_minor_title(written, record.title) else "differs"
    said, pairs = tokens(_bare(written)), list[tuple[Sequence[str], Sequence[str]]]()
    for title in filter(None, (record.title, record.vernacular_title)):
        true = tokens(_bare(title))
        pairs += [(said, true), *((tokens(main), true) for main in _main_titles(written))]
        pairs += ((tokens(main), said) for main in _main_titles(title))
    found: list[TitleAgreement] = ["differs", *(_alike(*pair) for pair in pairs)]
    return min(found, key=lambda one: ORDER[one])


def is_minor_title(written: str, true: str) -> bool:
    """Whether a title that is not the record's as a whole is translated, or cut off, as programs do after 60
    characters."""
    words, whole = tokens(written.rstrip(" .…")), tokens(true)
    is_cut = written.rstrip().endswith(("…", "...")) or len(written) >= 60
    return is_translation(written, true) or (is_cut and 0 < len(words) < len(whole) and whole[: len(words)] == words)


def _alike(one: Sequence[str], other: Sequence[str]) -> TitleAgreement:
    near = likeness(one, other)
    if near == "same":  # other small words between the same content words, or one more
        is_joined = any("".join(gone) != "".join(come) and not at_end for gone, come, at_end in changes(one, other))
        return "minor" if is_joined and one[1:] != other and other[1:] != one else "agrees"
    found = changes(content_words(one), content_words(other))
    slips = [(gone, come) for gone, come, _ in found if "".join(gone) != "".join(come)]
    if near == "near":
        return "minor" if any(gone and come for gone, come in slips) else "agrees"
    is_slips = all(len(gone) == len(come) and all(map(_is_slip, gone, come)) for gone, come in slips)
    return "minor" if is_slips else "differs"


def _is_slip(one: str, other: str) -> bool:
    """Whether two words are one but for a letter that is missing inside, or a few letters of a long word."""
    length = min(len(one), len(other))
    most = length // 5 if length >= _LONG else int(length >= _SHORT and len(one) != len(other))
    is_inside = one[0] == other[0] and one[-1] == other[-1] and (one + other).isalpha() and not is_opposite(one, other)
    return is_misprint(one, other) or (is_inside and OSA.distance(one, other) <= most)


def find_title(text: str, words: Sequence[Word], titles: Sequence[str]) -> TitlePlace | None:
    """Where one of a record's titles stands among the words of a text, as a whole, cut off before "...", without its
    subtitle, or with a few words changed; None if nowhere."""
    places = list[TitlePlace]()
    for title in filter(None, titles):
        whole = _placed(words, title, title)
        if whole and whole.agreement == "agrees":
            return whole
        if cut := _cut(text, words, title):
            return cut
        places += [whole] if whole else []
        mains = ((_placed(words, name, title), name) for name in _main_titles(title))
        places += [one for one, name in mains if one and not _has_other_subtitle(words, one, whole, name)]
        if any(one.agreement == "agrees" for one in places):
            break
    return min(places, key=lambda one: (ORDER[one.agreement], -one.similarity), default=None)


def _cut(text: str, words: Sequence[Word], title: str) -> TitlePlace | None:
    """A title of which the end is left out, and words that may be cut before it: "Zinc and wound hea..."."""
    whole, last = tokens(_bare(title)), text.rfind("...")
    before = [word for word in words if word.end <= last][-len(whole) :]
    begun = (before[at:] for at in range(len(before) - LEAST_WORDS + 1))
    found = next((one for one in begun if continues(whole, [word.token for word in one])), None)
    return TitlePlace(found[0].start, last + 3, "minor", title, is_short=True) if found else None


def _has_other_subtitle(words: Sequence[Word], found: TitlePlace, whole: TitlePlace | None, main: str) -> bool:
    """Whether most words of the record's subtitle, and others, stand behind its main title, or the number of another
    part: "2. Methods" for "1. Aims"."""
    subtitle = tokens(found.true)[len(tokens(main)) :] if found.true.startswith(main) else ()
    behind = [word for word in words if found.end <= word.start]
    if are_parts(subtitle[:2], [word.token for word in behind[:2] if not YEAR.fullmatch(word.token)]):
        return True
    inside = [word.token for word in behind if whole and word.start < whole.end]
    return bool(inside and subtitle) and 2 * sum(word in subtitle for word in inside) >= len(subtitle)


def are_parts(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two titles, as `tokens`, have other numbers than each other, as the parts of a series have."""
    first, second = ({"1" if word == "i" else word for word in words} for words in (one, other))
    first, second = ({word for word in words if word.isdigit()} for words in (first, second))
    return bool(first - second and second - first)


def _placed(words: Sequence[Word], name: str, title: str) -> TitlePlace | None:
    wanted = tokens(_bare(name))
    if not wanted or (window := _title_window(words, wanted)) is None:
        return None
    first, last = window
    there = [word.token for word in words[first : last + 1]]
    agreement, likeness = _alike(wanted, there), Indel.normalized_similarity(wanted, there)
    if agreement == "differs" and likeness < _SIMILAR:
        return None
    return TitlePlace(words[first].start, words[last].end, agreement, title, likeness, name != title)


def are_similar(one: str, other: str) -> bool:
    """Whether one title may be the other with a few words changed."""
    return Indel.normalized_similarity(tokens(one), tokens(other)) >= _SIMILAR


def _title_window(words: Sequence[Word], wanted: Sequence[str]) -> tuple[int, int] | None:
    """The first and last word of the part of a text that has most of the words wanted."""
    known = frozenset(wanted)
    size = min(len(wanted), len(words))
    sums = [0, *accumulate(word.token in known for word in words)]
    count, start = max(((sums[at + size] - sums[at], -at) for at in range(len(words) - size + 1)), default=(0, 0))
    if count < _LEAST_SHARE * len(wanted):
        return None
    low, high = max(0, -start - _ROOM), min(len(words), -start + size + _ROOM)
    near = [word.token for word in words[low:high]]
    runs = [op for op in Indel.opcodes(list(wanted), near) if op.tag == "equal"]
    while len(runs) > 1 and _is_stray(runs[0], runs[0], runs[1]):
        runs.pop(0)
    while len(runs) > 1 and _is_stray(runs[-1], runs[-2], runs[-1]):
        runs.pop()
    if not runs:
        return None
    # Words that differ at the ends belong to the title too, as many as it has there.
    first = low + max(0, runs[0].dest_start - runs[0].src_start)
    last = low + min(len(near), runs[-1].dest_end + len(wanted) - runs[-1].src_end) - 1
    # A word at an end may be broken, or joined to its neighbor: "Rad- iotherapy", "structurebased".
    for start, end in product((first, first - 1, first + 1), (last, last + 1, last - 1)):
        if start >= 0 and "".join(word.token for word in words[start : end + 1]) == "".join(wanted):
            return start, end
    return first, last


def _is_stray(edge: Opcode, before: Opcode, after: Opcode) -> bool:
    """Whether a few words at an edge stand far from the others in the text, but not in the title."""
    gap = after.dest_start - before.dest_end - (after.src_start - before.src_end)
    return edge.src_end - edge.src_start <= 2 and gap >= 2


def content_left(text: str, known: Collection[str]) -> list[str]:
    """The content words of a text that are neither known nor connectives."""
    known = {*known} | WORD_LISTS["connectives"]
    return [word for word in content_words(tokens(text)) if word not in known]


def start_of_longer_title(text: str, found: TitlePlace, record: Publication) -> int:
    """Where a title begins that has words before the record's, which was found: "No effect of zinc"."""
    start, before = found.start, text[: found.start].rstrip(" :“„«\"'‘")
    if (notice := _notice_before(text[:start], record)) >= 0:
        return notice
    low = max((one.end() for pattern in (_STOP, ET_AL) for one in pattern.finditer(before)), default=0)
    lead = before[low:].lstrip(_ENDS)
    last = lead.rpartition(", ")[2]
    if not last or has_author(last, record.authors):
        return start
    words = WORD.findall(_in_small(lead, text, found))
    is_open = text[start : start + 1].islower() or any(word.islower() for word in words if len(word) > 1)
    is_right_before = text[len(before) : start].isspace() and last == lead.rstrip(",")
    return len(before) - len(lead) if is_open and is_right_before and words else start


def _notice_before(text: str, record: Publication) -> int:
    """Where the words begin with which a text ends if they make what follows a notice, "Berg J. Correction: ", and the
    record is none; else -1."""
    words, families = text.rstrip(f"{_ENDS}„«–—-"), tokens(" ".join(one.family for one in record.authors))
    is_apart = _SENTENCE_END.search(text, len(words))
    for ends in ((_SENTENCE_END,), (_STOP, ET_AL)):
        low = max((one.end() for pattern in ends for one in pattern.finditer(words)), default=0)
        lead = words[low:].rpartition(", ")[2].lstrip(_ENDS)
        said = tokens(lead)
        if is_notice(said) and said[0] not in families and (len(said) <= _LONGEST_NOTICE or not is_apart):
            return -1 if is_notice(tokens(record.title)) else len(words) - len(lead)
    return -1


def _in_small(part: str, text: str, title: TitlePlace) -> str:
    """A part of a text, in small letters beside a title in capitals."""
    return part.lower() if text[title.start : title.end].isupper() else part


def end_of_longer_title(text: str, found: TitlePlace, stop: int, record: Publication) -> int:
    """Where a title ends that goes on behind the record's, which was found, as another subtitle does; `stop` is where
    the next field begins."""
    end = found.end
    if not record.pmid:  # Crossref keeps subtitles elsewhere
        return end
    rest = _in_small(without(BRACKETED, text[end:stop]), text, found)
    known = {*tokens(f"{record.title} {record.vernacular_title} {' '.join(map(str, record.authors))}")}
    first = _SENTENCE_END.split(rest, maxsplit=1)[0]
    least = _ADDED_WORDS * (not found.is_short)
    at_once = least * first.lstrip().startswith((":", "-", "–", "—"))
    if len(content_left(first, known)) > at_once and any(word.islower() for word in WORD.findall(first)):
        return end + len(first.rstrip())
    small = [word for word in content_left(rest, known) if f" {word}" in f" {rest}" and not word.isdigit()]
    return end + len(rest.rstrip(" .")) if len(small) > least else end


def title_span(text: str) -> Span | None:
    """Where the title stands, as what has most words in small letters; None if nothing looks like one."""
    segments, at = list[Span](), 0
    cuts = sorted(one.span() for pattern in (_BREAK, ET_AL) for one in pattern.finditer(text))
    for end, following in [*cuts, (len(text), len(text))]:
        if end >= at:
            segments.append((at, end))
            at = max(at, following)
    scores = list[float]()
    for start, end in segments:  # a title has many words in small letters, and no initials
        part = text[start:end]
        words = WORD.findall(part)
        if part.isupper() and sum(len(word) > 1 for word in words) >= LEAST_WORDS:  # all of it in capitals
            words = [word if len(word) < 4 and word.lower() not in FUNCTION_WORDS else word.lower() for word in words]
        long = [word for word in words if len(word) > 1]
        small = [word for word in long if word[0].islower()]
        telling = sum(word not in FUNCTION_WORDS for word in small)
        initials = sum(word.isupper() and len(word) <= 3 for word in words)
        score = len(small) + 0.5 * (len(long) - len(small)) - 1.5 * initials
        # In front of numbers stands a journal, which has capitals.
        is_other = _NUMBER_NEXT.match(text, end) or (not telling and YEAR.search(part))
        scores.append(telling if is_other else score)
    best = max(range(len(segments)), key=scores.__getitem__)
    if scores[best] < _LEAST_SCORE:
        return None
    start, end = segments[best]
    return end - len(text[start:end].lstrip(_ENDS)), end
