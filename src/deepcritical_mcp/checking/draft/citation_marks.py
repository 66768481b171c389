"""Marks that cite by number or key: [1, 3–5], (2), ¹, ^1^, [^a], [@smith2020], \\cite{smith2020}."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺‚˒’", "0123456789-+,,,")
_DASHES = str.maketrans("–—−‐‑", "-----")
_MOST_IN_RANGE = 100
_PART = r"[0-9]{1,4}(?:\s{0,2}[-–—−‐‑]{1,2}\s{0,2}[0-9]{1,4})?"
_LIST = rf"{_PART}(?:\s{{0,2}}[,;]\s{{0,2}}{_PART}){{0,40}}"
_BRACKETS = re.compile(
    rf"\\?\[\s{{0,2}}(?:refs?\.? ?|see |cf\. )?({_LIST})(?:, ?pp?\. ?[0-9–-]{{1,12}})?\s{{0,2}}\\?\]"
    r"(?:\((?:\#[^()\s]{0,80}|https?:[^()\s]{0,300})\))?(?!\()"
)
_FROM_TO = re.compile(r"\[([0-9]{1,4})\]\s?[-–—−‐‑]\s?\[([0-9]{1,4})\]")
_PARENS = re.compile(rf"(?<=[\w)\]\"”’%.])\s{{0,2}}\(({_LIST})\)")
_ENUMERATES = re.compile(r"(?:[:;,]|\b(?:and|or|either|first|are|were|is|und|oder|y|o|et|ou))\s{0,2}$")
_UNICODE_RAISED = re.compile(r"[⁰¹²³⁴-⁹]{1,3}(?:[,⁻˒–-][⁰¹²³⁴-⁹]{1,3}){0,40}")
_MARKED_RAISED = re.compile(
    rf"\^\[?({_LIST})\]?\^|<sup>\s{{0,2}}[(\[]?({_LIST})[)\]]?\s{{0,2}}</sup>|\\textsuperscript\{{({_LIST})\}}|\$\s?\{{?\}}?\^\{{?({_LIST})\}}?\s?\$"
)
_UNITS = re.compile(
    r"(?:\b(?:[kcmµμn]?m|s|h|min|kg|g|cm|mm|in|ft|yr|x|R|r|[χΧ]|chi|log|l|L|mol|d|day|week|10|[0-9]+)|[0-9])$"
)
_NOTES = re.compile(r"\[\^([^\]\s]{1,60})\](?!:)")
_PANDOC = re.compile(r"\[(?=[^\[\]\n]{0,80}@)([^\[\]]{1,600})\]")
_PANDOC_KEY = re.compile(r"(?<![\w.])-?@\{?([A-Za-z0-9_][\w:.#$%&+?<>~/-]{0,100})")
_LATEX = re.compile(
    r"\\(?:no)?(?:[A-Za-z]{0,8}cite[a-zA-Z]{0,12}|footcite)\*?(?:\[[^\]\n]{0,200}\]){0,2}\{([^{}]{1,1000})\}"
)
_KEYED = re.compile(r"\[([A-Za-z][\w+:.-]{1,40}(?:[,;] {0,2}[A-Za-z][\w+:.-]{1,40}){0,20})\](?![(\[:])")
_GLUED = re.compile(
    r"(?<=[a-z)\]\"”’][.,;:?!])((?:[0-9]{1,3}(?:[-–—][0-9]{1,3})?)(?:,[0-9]{1,3}(?:[-–—][0-9]{1,3})?){0,20})(?=\s|$)",
    re.MULTILINE,
)


class CitationMark(NamedTuple):
    """A mark that cites, and the labels that it cites."""

    start: int
    end: int
    labels: tuple[str, ...]


def citation_marks(text: str, labels: Collection[str]) -> list[CitationMark]:
    """The marks in a text whose list of references has these labels. Numbers in parentheses or raised count only as
    far as the list has them."""
    numbers = {int(label) for label in labels if label.isdecimal()}
    found = [*_of(_NOTES, text, lambda mark: (f"^{mark[1]}",)), *_pandoc(text, labels), *_of(_LATEX, text, _keys)]
    if any(not label.isdecimal() and not label.startswith("^") for label in labels):
        keyed = _of(_KEYED, text, _keys)
        found += [mark for mark in keyed if any(label in labels for label in mark.labels)]
    if numbers:
        found += _numbered(text, numbers)
    return _without_overlaps(found)


def numbers_cited(text: str) -> list[int]:
    """The numbers cited in brackets or raised."""
    marks = (*_of(_BRACKETS, text, _of_numbers), *_of(_MARKED_RAISED, text, _of_numbers))
    return [int(label) for mark in marks for label in mark.labels]


def _numbered(text: str, numbers: Collection[int]) -> list[CitationMark]:
    most = max(numbers)
    ranges = _of(_FROM_TO, text, lambda found: _expanded(f"{found[1]}-{found[2]}"))
    every = (*ranges, *_of(_BRACKETS, text, _of_numbers))
    brackets = [mark for mark in every if mark.labels and int(mark.labels[-1]) <= most + 50]
    raised = [mark for mark in (*_of(_MARKED_RAISED, text, _of_numbers), *_raised(text)) if _known(mark, numbers)]
    if brackets or raised:
        return brackets + raised
    glued = [mark for mark in _of(_GLUED, text, _of_numbers) if _known(mark, numbers)]
    parens = [mark for mark in _of(_PARENS, text, _of_numbers) if _known(mark, numbers) and _cites(text, mark)]
    return glued if len(glued) > len(parens) else parens


def _cites(text: str, mark: CitationMark) -> bool:
    """Whether a number in parentheses is not that of a point, "we ask: (1) whether"."""
    before, after = text[max(0, mark.start - 10) : mark.start], text[mark.end : mark.end + 2]
    return not (_ENUMERATES.search(before) and after[:1] == " " and after[1:].isalpha())


def _raised(text: str) -> Iterator[CitationMark]:
    for found in _UNICODE_RAISED.finditer(text):
        before, after = text[max(0, found.start() - 8) : found.start()], text[found.end() : found.end() + 1]
        is_power = before[-1:].isdigit() or _UNITS.search(before) or before[-1:] in "⁻⁺(" or after in ("⁺", "⁻")
        is_isotope = after.isalpha() and (not before[-1:].isalpha())
        if before.strip() and not is_power and not is_isotope:
            yield CitationMark(*found.span(), _expanded(found[0].translate(_RAISED)))


def _known(mark: CitationMark, numbers: Collection[int]) -> bool:
    return bool(mark.labels) and all(int(label) in numbers for label in mark.labels)


def _pandoc(text: str, labels: Collection[str]) -> Iterator[CitationMark]:
    for group in _PANDOC.finditer(text):
        keys = tuple(key.rstrip(".,:;?") for key in _PANDOC_KEY.findall(group[1]))
        if keys:
            yield CitationMark(*group.span(), keys)
    for found in _PANDOC_KEY.finditer(text) if labels else ():
        if (key := found[1].rstrip(".,:;?")) in labels:
            yield CitationMark(found.start(), found.start(1) + len(key), (key,))


def _of(
    pattern: re.Pattern[str], text: str, labels: Callable[[re.Match[str]], tuple[str, ...]]
) -> Iterator[CitationMark]:
    for found in pattern.finditer(text):
        yield CitationMark(*found.span(), labels(found))


def _keys(found: re.Match[str]) -> tuple[str, ...]:
    return tuple(filter(None, (key.strip() for key in re.split(r"[,;]", found[1]))))


def _of_numbers(found: re.Match[str]) -> tuple[str, ...]:
    return _expanded(next(filter(None, found.groups())))


def _expanded(numbers: str) -> tuple[str, ...]:
    """ "1, 3-5" as 1, 3, 4, 5; () if a range runs backwards or is long."""
    found = list[int]()
    for part in re.split(r"[,;]", numbers.translate(_DASHES)):
        first, _, last = part.replace("--", "-").partition("-")
        low = int(first.strip() or 0)
        high = int(last.strip() or 0) if last.strip() else low
        if not 0 < low <= high <= low + _MOST_IN_RANGE:
            return ()
        found += range(low, high + 1)
    return tuple(str(one) for one in dict.fromkeys(found))


def _without_overlaps(marks: list[CitationMark]) -> list[CitationMark]:
    kept = list[CitationMark]()
    for mark in sorted(marks, key=lambda one: (one.start, -one.end)):
        if mark.labels and (not kept or mark.start >= kept[-1].end):
            kept.append(mark)
    return kept
