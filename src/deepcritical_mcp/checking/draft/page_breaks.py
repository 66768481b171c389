"""What copies of printed pages have between and within the lines: page numbers, running heads, broken words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from deepcritical_mcp.checking.draft.entry_forms import ID, starts_like_entry
from deepcritical_mcp.checking.draft.masking import Line, blanked, lines_of

_NUMBER_LINE = re.compile(
    r"\s{0,200}(?:page |p\. ?|[-–—] ?)?([0-9]{1,4})(?: ?[-–—]|(?: of | ?/ ?)[0-9]{1,4})?\s{0,9}", re.IGNORECASE
)
_ENDS_NUMBER = re.compile(r"^[0-9]{1,4}\s{1,20}|\s{1,20}[0-9]{1,4}$")
_MARKED = re.compile(r"\s{0,20}(?:[#>|*+•\[\\-]|\(?[0-9]{1,4}[.)]\s|[a-z]{2,10}\s{0,2}=)")
_BROKEN = re.compile(r"(?<![^\W\d_])([^\W\d_]{1,40})[-\u2010\xad]\s{0,3}\n[ \t>]{0,40}([^\W\d_]{2})")
_COMPOUNDED = frozenset(
    """age all case community cost cross cut dose double evidence first follow gene half health high hospital ill large
    life light long low meta mid multi non one open over own patient placebo population post pre quality self short
    single small state time two well work year""".split()
)
"""Words that hyphens join to the next word more often than line ends break them."""
_LONGEST_HEAD = 90
_WHOLE_LINE = 40
"""Characters of a line that goes on behind a page break; shorter ones may be headings."""


def without_page_breaks(text: str) -> str:
    """`text`, as long as before, with blanks for page numbers that go on and for running heads next to them; a sentence
    that a page break cuts is whole again."""
    lines = [line for line in lines_of(text) if line.text.strip()]
    numbers = [*_page_numbers(text, lines)]
    if len(numbers) < 2:
        return text
    heads = Counter(_head(line.text) for line in lines if len(line.text.strip()) <= _LONGEST_HEAD)
    noise = {*numbers}
    for number in numbers:
        for step in (-1, 1):
            near = number + step
            while 0 <= near < len(lines) and near not in noise and abs(near - number) < 4:
                if not _is_running_head(text, lines[near], heads):
                    break
                noise.add(near)
                near += step
    text = blanked(text, ((lines[one].start, lines[one].end) for one in noise))
    return _rejoined(text, lines, sorted(noise))


def _page_numbers(text: str, lines: Sequence[Line]) -> Iterator[int]:
    """The lines that have only a number, between empty lines, if the number before or the next one is near."""
    found = [
        (at, int(mark[1]))
        for at, line in enumerate(lines)
        if (mark := _NUMBER_LINE.fullmatch(line.text)) and _is_alone(text, line)
    ]
    for place, (at, value) in enumerate(found):
        neighbors = [one for _, one in (*found[max(0, place - 1) : place], *found[place + 1 : place + 2])]
        if any(1 <= abs(value - one) <= 2 for one in neighbors):
            yield at


def _is_alone(text: str, line: Line) -> bool:
    """Whether a line stands between empty lines."""
    before = text[max(0, line.start - 200) : max(0, line.start - 1)].rpartition("\n")[2]
    after = text[line.end + 1 : line.end + 200].partition("\n")[0]
    return not before.strip() and not after.strip()


def _head(line: str) -> str:
    return _ENDS_NUMBER.sub("", line.strip()).casefold()


def _is_running_head(text: str, line: Line, heads: Counter[str]) -> bool:
    bare = line.text.strip()
    if len(bare) > _LONGEST_HEAD or _MARKED.match(line.text) or ID.search(bare):
        return False
    if heads[_head(line.text)] > 1:
        return True
    # "J Cases 2025; 14: 411–419": a journal without authors and title.
    return _is_alone(text, line) and ". " not in bare and bare[-1:].isdigit() and not bare[:1].islower()


def _rejoined(text: str, lines: Sequence[Line], noise: Sequence[int]) -> str:
    """`text` with blanks for the line breaks around page breaks within sentences and entries."""
    breaks, gone = list[tuple[int, int]](), {*noise}
    kept = [at for at in range(len(lines)) if at not in gone]
    for one, two in pairwise(kept):
        if two > one + 1 and _goes_on(lines[one].text.rstrip(), lines[two].text.strip()):
            breaks.append((lines[one].end, lines[two].start))
    parts, at = list[str](), 0
    for start, end in breaks:
        # One line break stays, between the lines of a paragraph.
        parts += [text[at:start], "\n", " " * (end - start - 1)]
        at = end
    return "".join((*parts, text[at:]))


def _goes_on(before: str, after: str) -> bool:
    if after[:1].islower():
        return before[-1:] not in ".!?:"
    is_open = before[-1:].isalpha() or before[-1:] in ",-–("
    return is_open and len(before) >= _WHOLE_LINE and not _MARKED.match(after) and not starts_like_entry(after)


def unbroken(text: str) -> str:
    """`text` with the words whole that are broken at line ends. The hyphen of a name or of a compound stays."""
    return _BROKEN.sub(_joined, text) if "\n" in text else text


def _joined(found: re.Match[str]) -> str:
    head, tail = found[1], found[2]
    is_one_word = head[-1].islower() and tail.islower() and head.lower() not in _COMPOUNDED
    return f"{head}{'' if is_one_word else '-'}{tail}"
