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
    r"|\s[–—|]\s|(?<=[0-9]{4}),?\s"
)
_WORD = re.compile(r"[^\W\d_]+")
_NUMBERED = re.compile(r"\A[\W\d]{1,12}")
_YEAR = re.compile(r"\(?\b(?:1[5-9]|20)\d\d[a-z]?\b")
_ENDS = " .,;:*_()[]”“\"'’‘?!"
_NUMBER_NEXT = re.compile(r"[\s.,;:(*_]{0,6}(?:[0-9]{1,4}\b|[A-Z][a-z]{2}[a-z]{0,6} [0-9]{1,2}\b)")
_APART = re.compile(r"\d{1,8}[.,;:)\]]{0,3}\s|[:|]\s")
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
    title = title_span(text)
    places = find_numbers(text, [title] if title else [], PlaceNumbers(), title[0] if title else 0)
    said = {role: one.text for role, one in places.by_role.items()}
    head = people_before(text[: title[0]] if title and title[0] else text[: max(places.first, 0)] if not title else "")
    if title and not any(map(str.isalpha, head)):  # "“Title” (Berg et al., J Zinc 2019)"
        behind = text[title[1] : title[1] + 300]
        others = ET_AL.search(behind)
        head = behind[: others.start()].strip(_ENDS) if others else ""
    authors = names_in(head)
    year = said.get("year", "")[:4]
    return Statements(
        text[slice(*title)] if title else "",
        authors,
        year,
        journal_before(text, title[1] if title else 0, places.first),
        said.get("volume", ""),
        said.get("issue", ""),
        said.get("pages", ""),
        head,
    )


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
    cuts = sorted(
        [one.span() for one in _BREAK.finditer(text, low, high)]
        + [one.span() for one in ET_AL.finditer(text, low, high)]
    )
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
    long = [word for word in words if len(word) > 1]
    small = [word for word in long if word[0].islower()]
    if is_before_number:
        return sum(word not in FUNCTION_WORDS for word in small)
    initials = sum(word.isupper() and len(word) <= 3 for word in words)
    return len(small) + 0.5 * (len(long) - len(small)) - 1.5 * initials


def journal_before(text: str, low: int, place: int) -> str:
    """What stands between the title, or the last sentence, and the numbers of the place."""
    part = text[max(low, place - 200) : place] if place > low else ""
    return next((part[slice(*span)].removeprefix("In: ") for span in sentences_back(part)), "")


def sentences_back(text: str) -> Iterator[Span]:
    """The sentences of a text from its end, without the marks around them; abbreviated words are no sentences."""
    high = len(text)
    inside = [one.span() for one in _BRACKETS.finditer(text)]
    cuts = [one.span() for one in _SENTENCE.finditer(text)]
    cuts = [one for one in cuts if not any(start < one[0] < end for start, end in inside)]
    while high > 0:
        low = 0
        for start, end in reversed(cuts):
            if end < high and any(map(str.isalpha, text[end:high])):
                before = _SHORT_WORD.search(text, max(0, start - 12), start + 1)
                name = text[end:high].strip(_ENDS)
                if text[start] == "." and before and (" " not in name or "." in name):
                    continue
                low = end
                break
        first = next((at for at in range(low, high) if text[at] not in _ENDS and not text[at].isspace()), high)
        last = next(
            (at for at in range(high, first, -1) if text[at - 1] not in _ENDS and not text[at - 1].isspace()), first
        )
        last += text[first:last].count("(") > text[first:last].count(")") and ")" in text[last : last + 2]
        last += text[last - 1 : last + 1] == ".)"
        if first < last and any(map(str.isalpha, text[first:last])):
            yield first, last
        high = low


_BRACKETS = re.compile(r"\([^()]{1,80}\)")
_SENTENCE = re.compile(r"(?:(?<=[^\W\d_A-Z][^\W\d_A-Z])\.|(?<=[)”\"»’*_\]])[.,;:]|[?!”\"»:;,])[*_]{0,2}\s")
_SHORT_WORD = re.compile(r"(?:\A|[\s.,])[A-Z][^\W\d_]{0,9}\.\Z")
