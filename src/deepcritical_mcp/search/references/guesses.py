"""What a reference says as far as that can be told without a record: enough to look for one.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from deepcritical_mcp.search.references.number_places import PlaceNumbers, find_numbers
from deepcritical_mcp.search.references.people_places import ET_AL, names_in
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.text import FUNCTION_WORDS

_QUOTED = re.compile(
    r"[“„«\"]([^“”„«»\"]{8,600})[”“»\"]|(?<![\w’'])[‘']([^‘’']{20,400}(?:[’'](?=\w)[^‘’']{1,300}){0,4})[’'](?!\w)"
)
_LINKED = re.compile(r"\[([^\[\]]{8,600})\]\(")
_BREAK = re.compile(
    r"(?<=[.?!])[”\"]?\s{1,3}|(?<=[A-Z]\.)(?=[A-Z][a-z])|:\s|(?:(?<=[0-9]{4}\))|(?<=[0-9][a-z]\)))[.,:]?\s|[”“\"]"
    r"|\s[–—|]\s|(?<=[0-9]{4})(?:,?\s|;\s?(?=[0-9]))"
)
_WORD = re.compile(r"[^\W\d_]+")
_NUMBERED = re.compile(r"\A[\W\d]{1,12}")
_NAMES_END = re.compile(r"[^\W\d_]{2} [A-ZÀ-Þ]{1,4}\.\s{1,3}(?=[^\W\d_])")
"""Where names end that no title follows: "Berg JA, Ruiz K. J Zinc 2019"."""
_YEAR = re.compile(r"\(?\b(?:1[5-9]|20)\d\d[a-z]?\b")
_ENDS = " .,;:*_()[]”“\"'’‘?!"
_NUMBER_NEXT = re.compile(r"[\s.,;:(*_]{0,6}(?:[0-9]{1,4}\b|[A-Z][a-z]{2}[a-z]{0,6} [0-9]{1,2}\b)")
_APART = re.compile(r"\d{1,8}[.,;:)\]]{0,3}\s|[:|]\s")
_PLACE = re.compile(r"(?<![\w.])\d{1,4}(?::|,\s)[A-Za-z]?\d{1,7}(?!\w)")
_LEAST_WORDS = 3
_LEAST_SCORE = 1.5


@dataclass(frozen=True)
class Statements:
    """What a reference says; "" or () for what it does not say.

    Attributes:
        authors: family names in order; of names written out, the whole name.
        pages: as written, "1091-1096"; a number of an article counts as one.
        people: the list of authors as it is written.
    """

    title: str = ""
    authors: tuple[str, ...] = ()
    year: str = ""
    journal: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    people: str = ""


def guessed(text: str) -> Statements:
    """What a reference says by its form alone."""
    start, end = title_span(text) or (0, 0)
    places = find_numbers(text, [(start, end)] if end else [], PlaceNumbers(), start)
    said = {role: one.text for role, one in places.by_role.items()}
    ended = None if end else _NAMES_END.search(text, 0, max(places.first, 0))
    behind = ended.end() if ended else max(places.first, 0)
    head = people_before(text[: start if end else behind])
    if end and not any(map(str.isalpha, head)):  # "“Title” (Berg et al., J Zinc 2019)"
        others = ET_AL.search(behind := text[end : end + 300])
        head = behind[: others.start()].strip(_ENDS) if others else ""
    low = max(end, ended.end() if ended else 0, places.first - 200)
    journal = next((text[low + one : low + to] for one, to in sentences_back(text[low : places.first])), "")
    said |= {"year": said.get("year", "")[:4], "journal": journal.removeprefix("In: ") if places.first > end else ""}
    return Statements(text[start:end], names_in(head), people=head, **said)


def people_before(head: str) -> str:
    """The names in what stands before a title: up to "et al." or a year, behind other numbers."""
    others = ET_AL.search(head)
    if not others and (year := _YEAR.search(head)) and any(map(str.isalpha, head[: year.start()])):
        head = head[: year.start()]
    names = head[: others.start()] if others else head
    low = max((one.end() for one in _APART.finditer(names.rstrip(" :|("))), default=0)
    return _NUMBERED.sub("", head[low : others.end() if others else None], count=1).strip(" ,(*_“‘:|")


def title_span(text: str) -> Span | None:
    """Where the title stands, as what has most words in small letters; None if nothing looks like one."""
    if (found := _QUOTED.search(text)) and len((found[1] or found[2]).split()) >= _LEAST_WORDS:
        return found.span(1) if found[1] else found.span(2)
    linked = _LINKED.search(text)
    low, high = linked.span(1) if linked else (0, len(text))
    segments, at = list[Span](), low
    cuts = sorted(one.span() for pattern in (_BREAK, ET_AL) for one in pattern.finditer(text, low, high))
    for end, following in [*cuts, (high, high)]:
        if end >= at:
            segments.append((at, end))
            at = max(at, following)
    scores = [_score(text[slice(*one)], is_before_number=bool(_NUMBER_NEXT.match(text, one[1]))) for one in segments]
    best = max(range(len(segments)), key=scores.__getitem__)
    if scores[best] < _LEAST_SCORE:
        return None
    first = last = best
    while first and _is_one_title(text, segments[first - 1], segments[first], scores[first - 1]):
        first -= 1
    while last + 1 < len(segments) and _is_one_title(text, segments[last], segments[last + 1], scores[last + 1]):
        last += 1
    start, end = segments[first][0], segments[last][1]
    while start < end and text[start] in _ENDS:
        start += 1
    return start, end


def _is_one_title(text: str, one: Span, following: Span, score: float) -> bool:
    """Whether two parts are a title and its subtitle; `score` is that of the part in question."""
    return text[one[1] : following[0]] == ": " and score >= 1 and not _YEAR.search(text, one[0], following[1])


def _score(segment: str, *, is_before_number: bool) -> float:
    """How much a part of a reference looks like a title: many words in small letters, no initials; in front of numbers
    stands a journal, which has capitals."""
    words = _WORD.findall(segment)
    if segment.isupper() and sum(len(word) > 1 for word in words) >= _LEAST_WORDS:  # a whole title in capitals
        words = [word if len(word) < 4 and word.lower() not in FUNCTION_WORDS else word.lower() for word in words]
    long = [word for word in words if len(word) > 1]
    small = [word for word in long if word[0].islower()]
    telling = sum(word not in FUNCTION_WORDS for word in small)
    if is_before_number or (not telling and _PLACE.search(segment)):
        return telling
    initials = sum(word.isupper() and len(word) <= 3 for word in words)
    return len(small) + 0.5 * (len(long) - len(small)) - 1.5 * initials


def sentences_back(text: str) -> Iterator[Span]:
    """The sentences of a text from its end, without the marks around them; abbreviated words are no sentences."""
    high, inside = len(text), [one.span() for one in _BRACKETS.finditer(text)]
    cuts = [one.span() for one in _SENTENCE.finditer(text)]
    cuts = [one for one in cuts if not any(start < one[0] < end for start, end in inside)]
    for start, end in ((0, 0), *cuts)[::-1]:
        name = text[end:high].strip(f"{_ENDS}\n\t")
        is_abbreviated = text[start:end].startswith(".") and _SHORT_WORD.search(text, max(0, start - 12), start + 1)
        if not any(map(str.isalpha, name)) or (is_abbreviated and (" " not in name or "." in name)):
            continue
        first = text.index(name, end)
        last = first + len(name)
        last += name.count("(") > name.count(")") and ")" in text[last : last + 2]
        yield first, last + (text[last - 1 : last + 1] == ".)")
        high = end


_BRACKETS = re.compile(r"\([^()]{1,80}\)")
_SENTENCE = re.compile(r"(?:(?<=[^\W\d_A-Z][^\W\d_A-Z])\.|(?<=[)”\"»’*_\]])[.,;:]|[?!”\"»:;,])[*_]{0,2}\s")
_SHORT_WORD = re.compile(r"(?:\A|[\s.,])[A-Z][^\W\d_]{0,9}\.\Z")
