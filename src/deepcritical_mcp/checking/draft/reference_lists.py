"""Finds the lists of references in a draft: by their headings, in any language, or by their looks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.entry_forms import (
    is_repeated,
    is_surely_entry,
    is_whole_entry,
    starts_like_entry,
    tells,
)
from deepcritical_mcp.checking.draft.heading_words import (
    LIST_TITLES,
    LIST_WORDS,
    MARKED_LIST_WORDS,
    OTHER_TITLES,
    POSSIBLE_LIST_TITLES,
)
from deepcritical_mcp.checking.draft.list_entries import ListEntry, entries_in
from deepcritical_mcp.checking.draft.masking import Line, lines_of
from deepcritical_mcp.checking.draft.short_notes import names_titles

_MARKUP = " \t#>*_=:.~—–-{}\\|•·"
_NUMBERING = re.compile(
    r"(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}[.)]?|[IVX]{1,5}[.)]|[A-Z][.)]|第?[一二三四五六七八九十]{1,3}[、.])\s{1,5}(?=\S)"
)
_COUNT = re.compile(r"\s{0,3}[(\[][^()\[\]]{1,40}[)\]]$")
_TAG = re.compile(r"</?(?:h[1-6]|b|strong|p|div|center|u|i|em|section)\b[^<>\n]{0,100}>", re.IGNORECASE)
_LATEX = re.compile(
    r"\\(?:sub){0,2}section\*?\{([^{}\n]{1,80})\}|\\begin\{(thebibliography)\}[^\n]{0,40}|\\(?:chapter|paragraph)\*?\{([^{}\n]{1,80})\}"
)
_LATEX_END = re.compile(r"\\(?:end\{(?:thebibliography|document)\}|appendix\b|(?:sub){0,2}section\b|chapter\b)")
_ATX = re.compile(r" {0,3}(#{1,6})\s")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,}|={3,}|~{3,})\s{0,9}")
_RUN_IN = re.compile(r"[#*_ \t]{0,8}([^\W\d_][^\n:：*]{2,40}?)[*_ ]{0,4}[:：][*_ ]{0,4}(?=\S)")
_LONGEST_HEADING = 90


class ListRegion(NamedTuple):
    """Where a list of references stands: its heading, and its entries from `body` up to `end`."""

    start: int
    body: int
    end: int


class FoundList(NamedTuple):
    """A list of references and its entries."""

    region: ListRegion
    entries: Sequence[ListEntry]


def reference_lists(text: str) -> list[FoundList]:
    """The lists of a draft that have entries; without headings, the block of entries at its end, or all of it."""
    lines = [*lines_of(text)]
    found = [_read(text, one) for one in _headed(text, lines)]
    found = [one for one in found if one.entries]
    return found or _unheaded(text)


def _read(text: str, region: ListRegion) -> FoundList:
    """The list in a region, which ends where its last entry does."""
    entries = entries_in(text, region.body, region.end)
    return FoundList(region._replace(end=entries[-1].end) if entries else region, entries)


def heading_title(line: str) -> str:
    """What a line says as a heading, in small letters without markup and number; "" if it is too long for one."""
    line = _TAG.sub("", line.strip())
    latex = _LATEX.search(line)
    line = next(filter(None, latex.groups())) if latex else line
    if len(line) > _LONGEST_HEADING:
        return ""
    bare = _NUMBERING.sub("", line.strip(_MARKUP), count=1).strip(_MARKUP)
    return _COUNT.sub("", bare).strip(_MARKUP).casefold()


def is_marked_heading(line: str, following: str = "") -> bool:
    """Whether a line is marked as a heading: by "#", an underline, LaTeX, or bold letters alone."""
    bare = line.strip()
    if not bare or len(bare) > 200:
        return False
    underlined = bool(re.fullmatch(r"={3,}|-{3,}", following.strip())) and len(bare) < _LONGEST_HEADING
    bold = (
        len(bare) < _LONGEST_HEADING
        and bare.startswith("**")
        and bare.rstrip(":").endswith("**")
        and bare.count("**") == 2
    )
    return bool(_ATX.match(line) or underlined or bold or _LATEX.match(bare)) or bare.lower().startswith(
        ("<h1", "<h2", "<h3", "<h4")
    )


def _headed(text: str, lines: Sequence[Line]) -> list[ListRegion]:
    regions, number = list[ListRegion](), 0
    while number < len(lines):
        line = lines[number]
        body = _body_of(line, lines[number + 1].text if number + 1 < len(lines) else "")
        if body is None:
            number += 1
            continue
        after = number + 1
        if after < len(lines) and _RULE.fullmatch(lines[after].text) and body >= line.end:
            after += 1
        end = _end_of(lines, after, _level(line.text))
        region = ListRegion(
            line.start, min(body if body < line.end else lines[after - 1].end, len(text)), lines[end - 1].end
        )
        title = heading_title(line.text)
        needs_marks = title not in POSSIBLE_LIST_TITLES and not LIST_WORDS.search(title)
        if _is_surely_heading(line.text) or _has_entries(text, region, needs_marks=needs_marks):
            regions.append(region)
            number = max(end, number + 1)
        else:
            number += 1
    return regions


def _is_surely_heading(line: str) -> bool:
    """Whether a line, or what stands before its colon, can only be the heading of a list of references."""
    run_in = _RUN_IN.match(line)
    titles = (heading_title(line), heading_title(run_in[1]) if run_in else "")
    return any(title in LIST_TITLES or title == "thebibliography" for title in titles)


def _body_of(line: Line, following: str) -> int | None:
    """Where the entries under a heading of references begin; None if the line is not one."""
    title = heading_title(line.text)
    has_words = LIST_WORDS.search(title) or MARKED_LIST_WORDS.search(title)
    if title in POSSIBLE_LIST_TITLES or (has_words and is_marked_heading(line.text, following)):
        return line.end
    if not _is_surely_heading(line.text):
        return None
    run_in = _RUN_IN.match(line.text)
    return line.start + run_in.end() if run_in and heading_title(run_in[1]) in LIST_TITLES else line.end


def _has_entries(text: str, region: ListRegion, *, needs_marks: bool) -> bool:
    entries = entries_in(text, region.body, region.end)
    if needs_marks and not all(_MARKED.match(text, text.rfind("\n", 0, one.start) + 1) for one in entries):
        return False
    whole = [is_whole_entry(one.text) and not tells(one.text) for one in entries]
    alike = [
        is_surely_entry(one.text)
        or is_repeated(one.text)
        or names_titles(one.text)
        or (starts_like_entry(one.text) and not tells(one.text))
        for one in entries
    ]
    return any(whole) and 2 * sum(alike) > len(alike)


def _level(line: str) -> int:
    found = _ATX.match(line)
    return len(found[1]) if found else 0


def _end_of(lines: Sequence[Line], first: int, level: int) -> int:
    """The number of the line before which the list ends whose first line is `first`. A heading under which the
    numbers go on does not end it."""
    number, last = first, 0
    while number < len(lines):
        line = lines[number].text
        following = lines[number + 1].text if number + 1 < len(lines) else ""
        if mark := _NUMBER.match(line):
            last = int(mark[1])
        if line.strip() and _ends_list(line, following, level) and not _goes_on(lines, number + 1, last):
            return number
        if not line.strip() and _is_prose_after(lines, number + 1):
            return number
        number += 1
    return number


def _goes_on(lines: Sequence[Line], first: int, last: int) -> bool:
    """Whether one of the next lines is the entry with the number after `last`."""
    marks = [(line.text, _NUMBER.match(line.text)) for line in lines[first : first + 4]] if last else []
    rests = [text[mark.end() :] for text, mark in marks if mark and int(mark[1]) == last + 1]
    return any(starts_like_entry(rest) or is_whole_entry(rest) for rest in rests)


def _ends_list(line: str, following: str, level: int) -> bool:
    if _LATEX_END.match(line.strip()):
        return True
    title = heading_title(line)
    if title in LIST_TITLES:
        return True
    if title and OTHER_TITLES.fullmatch(title) and not is_surely_entry(line):
        return True
    if is_marked_heading(line, following) and not starts_like_entry(line.strip(" #*")):
        # A part of the list: "### Books" under "## References".
        return not (level and _level(line) > level)
    return False


def _is_prose_after(lines: Sequence[Line], number: int) -> bool:
    """Whether a paragraph that begins here, and the one after it, are not entries but sentences."""
    paragraph = list[str]()
    while number < len(lines) and lines[number].text.strip() and len(paragraph) < 40:
        paragraph.append(lines[number].text.strip())
        number += 1
    whole = " ".join(paragraph)
    if not whole or is_whole_entry(_unmarked(whole)) or starts_like_entry(_unmarked(whole)) or _MARKED.match(whole):
        return False
    return len(whole) > 200 and len(_SENTENCE.findall(whole)) >= 2


_MARKED = re.compile(r"\[[^\[\]\n]{1,40}\]|\(?[0-9]{1,4}[.)]|[-*•] |\\bibitem|[¹²³⁴-⁹⁰]|\^|<sup>|[0-9]{1,3}\s+[A-Z]")
_NUMBER = re.compile(r"[ \t]{0,8}\[?([0-9]{1,4})[\].)]{1,2}\s{1,8}")
_SENTENCE = re.compile(r"[a-z)\]][.?!](?:\s|$)")


def _unmarked(text: str) -> str:
    return text.lstrip(" -*•[]()0123456789.^")


def _unheaded(text: str) -> list[FoundList]:
    """The block of entries at the end of a draft, or the whole of it, if its entries look like references."""
    entries = entries_in(text, 0, len(text))
    sure = [is_surely_entry(one.text) for one in entries]
    if sum(sure) > 0.6 * len(sure):
        entries = entries[sure.index(True) :]
        start = text.rfind("\n", 0, entries[0].start) + 1
        return [FoundList(ListRegion(start, start, entries[-1].end), entries)]
    first = len(entries)
    while first and (sure[first - 1] or (first > 1 and sure[first - 2] and is_whole_entry(entries[first - 1].text))):
        first -= 1
    block = entries[first:]
    if len(block) < 2:
        return []
    start = text.rfind("\n", 0, block[0].start) + 1
    return [FoundList(ListRegion(start, start, block[-1].end), block)]
