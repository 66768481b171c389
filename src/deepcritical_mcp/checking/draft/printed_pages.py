"""What copies of printed pages have between and within the lines: page numbers, running heads, broken words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import draft_words
from deepcritical_mcp.checking.draft.entry_looks import WORD, is_bare_id, starts_like_entry

_PAGE_NUMBER = re.compile(r"(?:page |p\. ?|[-–—] ?)?#(?: ?[-–—]|(?: of | ?/ ?)#)?")
_NUMBER = re.compile(r"[0-9]{1,9}")
_BROKEN = re.compile(r"(?<![^\W\d_])([^\W\d_]{1,40})[-\u2010\xad][ \t]{0,3}(\n[ \t>]{0,40})([^\W\d_]+)(\S*)[ \n]?")
_BEGINS = re.compile(r"[*_\\]{0,3}[\[(]?[0-9]{1,4}[\].)]|[#>•*-]")
_LONGEST_HEAD = 140
_LEAST_HEAD = 25
_LEAST_PAGE = 12
"""Lines."""
_NEAR = 3
"""Lines next to a page number that may be running heads."""


class Line(NamedTuple):
    """A line, without its break, and where it stands."""

    text: str
    start: int
    end: int


def lines_of(text: str, start: int = 0, end: int | None = None) -> Iterable[Line]:
    """The lines between two positions."""
    at, end = start, len(text) if end is None else end
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        yield Line(text[at:stop], at, stop)
        at = stop + 1


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` with blanks for what stands in `spans`; line breaks stay."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        if end > at:
            gap = text[max(start, at) : end].split("\n")
            parts += [text[at : max(start, at)], "\n".join(" " * len(line) for line in gap)]
            at = end
    return "".join((*parts, text[at:]))


def without_page_breaks(text: str) -> str:
    """`text`, as long as before, with blanks for page numbers and running heads; a sentence that a page break cuts is
    whole again."""
    lines = [*lines_of(text)]
    filled = [at for at, line in enumerate(lines) if line.text.strip()]
    noise = _of_pages(lines, filled)
    text = blanked(text, ((lines[at].start, lines[at].end) for at in noise))
    kept, parts, start = [at for at in filled if at not in noise], list[str](), 0
    for one, two in pairwise(kept if noise else ()):
        between = {*range(one + 1, two)}
        is_whole = between <= noise or _goes_on(lines[one].text.rstrip(), lines[two].text.strip())
        if between & noise and is_whole:
            low, high = lines[one].end, lines[two].start
            parts += [text[start:low], "\n", " " * (high - low - 1)]
            start = high
    return "".join((*parts, text[start:]))


def _of_pages(lines: Sequence[Line], filled: Sequence[int]) -> set[int]:
    """The lines that recur as they are, or with a number that goes on: page numbers between blank lines, what stands
    on three pages, and what stands at the edges of two."""
    heads = {at: _Head.of(lines[at].text) for at in filled if len(lines[at].text) <= _LONGEST_HEAD}
    alike, place, noise = dict[str, list[int]](), {at: number for number, at in enumerate(filled)}, set[int]()
    for at, head in heads.items():
        alike.setdefault(head.words, []).append(at)
    for words, places in alike.items():
        is_number, run = _PAGE_NUMBER.fullmatch(words) is not None, list[int]()
        may_be = is_number or (len(words) >= _LEAST_HEAD and _is_at_end(words))
        for at in places if may_be else ():
            is_alone = (
                is_number and not {at - 1, at + 1, *(one + step for one in run[-1:] for step in (-1, 1))} & place.keys()
            )
            if not run or not heads[run[-1]].goes_on(heads[at]) or not (is_alone or at - run[-1] >= _LEAST_PAGE):
                run = []
            run.append(at)
            noise.update(run if len(run) > (1 if is_number else 2) else ())
    edges = {place[at] for at in noise}
    edges |= {place.get(at, bisect_left(filled, at)) for at, line in enumerate(lines) if "\f" in line.text}
    edges |= {0, len(filled)} if edges else set()
    page = {at: edge for edge in sorted(edges) for at in filled[max(0, edge - _NEAR) : edge + _NEAR + 1]}
    least = max(2, len({*page.values()}) // 5)
    for words, places in alike.items():
        near = [at for at in places if at in page and not is_bare_id(lines[at].text)]
        for one, two in pairwise(near if len(near) >= max(least, 0.8 * len(places)) else ()):
            goes_on = heads[one].goes_on(heads[two]) and (_is_at_end(words) or len(near) > 2)
            if page[one] != page[two] and (goes_on or heads[one] == heads[two]):
                noise |= {one, two}
    return noise


class _Head(NamedTuple):
    """A line that may be a running head: its words, with "#" for each number, and these."""

    words: str
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, line: str) -> _Head:
        line = " ".join(line.split()).casefold()
        # The number in front of an entry belongs to its words.
        mark = found.end() if (found := _BEGINS.match(line)) else 0
        return cls(line[:mark] + _NUMBER.sub("#", line[mark:]), tuple(map(int, _NUMBER.findall(line, mark))))

    def goes_on(self, other: _Head) -> bool:
        """Whether one number of another line with these words is that of the next page."""
        steps = [two - one for one, two in zip(self.numbers, other.numbers, strict=False) if one != two]
        return len(steps) == 1 and 1 <= steps[0] <= 2


def _is_at_end(words: str) -> bool:
    """Whether a number stands where running heads have that of the page."""
    return words.startswith("#") or words.endswith("#") or "page #" in words


def _goes_on(before: str, after: str) -> bool:
    """Whether a page break stands within a sentence, or within a reference."""
    if after[:1].islower():
        return before[-1:] not in ".!?"
    is_apart = any(map(str.isdigit, before)) or _BEGINS.match(after) or starts_like_entry(after)
    return (before[-1:] in ",-–(" and after[:1].isalnum()) or not is_apart


def with_whole_words(text: str) -> str:
    """`text`, as long as before, with the words whole that are broken at line ends: each stands on its first line. A
    hyphen stays between what the text has as two words and not as one, and in a name or an address."""
    words = {*WORD.findall(_BROKEN.sub(" ", text).casefold())}

    def joined(found: re.Match[str]) -> str:
        head, line_break, tail, rest = found.groups()
        one, two = head.casefold(), tail.casefold()
        if two in draft_words("suspended"):
            return found[0]
        is_address = "/" in text[max(0, found.start() - 60) : found.start()].rpartition(" ")[2]
        is_parted = {one, two} <= words or one in draft_words("compounded") or not (head[-1] + tail).islower()
        hyphen = "-" if is_address or (is_parted and one + two not in words) else ""
        line_break = "\n" if found[0].endswith("\n") else line_break
        whole = f"{head}{hyphen}{tail}{rest}"
        return whole.ljust(len(found[0]) - len(line_break)) + line_break

    return _BROKEN.sub(joined, text)
