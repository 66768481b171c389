"""Finds the lists of references in a draft, by their headings in any language or by their looks, and cuts them into
entries: numbered, bulleted, one a line or a paragraph, with wrapped lines. Each line belongs to an entry or to a piece
that is not read as one, so nothing vanishes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import filterfalse, groupby, pairwise
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import (
    DRAFT_WORDS,
    Block,
    ListEntry,
    has_date_or_id,
    has_verbs,
    is_bare_id,
    is_prose,
    is_remark,
    is_repeated,
    is_surely_entry,
    is_whole_entry,
    starts_like_entry,
    starts_with_names,
)
from deepcritical_mcp.search.references.plain_text import stated_ids

POINTS = "it names a work in a few words, or points at another note: give the whole reference"
STRAY = "it stands among the references, and does not look like one"
UNSURE = "it looks like a reference and stands in no list: put it under the heading “References”"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_MARK = re.compile(
    r"""(?P<bullet>(?:[-+*•‣▪]|(?:[a-z]|[ivx]{2,5})[.)])[ \t]{1,8})?[*_\\]{0,3}(?:
        \\?\[(?P<key>[\w+:.&-]{1,40})\\?\](?![(\[]):?[*_]{0,2}[ \t]{0,8}
      | \((?P<paren>[0-9]{1,4})\)[*_]{0,2}(?:[ \t]{1,8}|$)
      | (?P<dot>[A-Za-z]?[0-9]{1,4})(?:\ ?\\?[.)]|、|．|[-–:](?=\ ))[*_]{0,2}(?:[ \t]{1,8}|(?![0-9]))
      | (?:\^|<sup>)?(?P<raised>[⁰¹²³⁴-⁹]{1,4}|(?<=[\^>])[0-9]{1,4})(?:\^|</sup>|[.)])?[ \t]{0,4}
      | (?P<bare>[0-9]{1,4})(?:(?:[ ]{1,8}|\t[ \t]{0,8})(?=[^\W\d_]|["“„«\[])|$)
      | (?(bullet)|(?!)))""",
    re.VERBOSE,
)
"""What stands in front of an entry."""
_SEPARATORS = str.maketrans(",;|", "   ")
_MOST = 0.8
NEAR, _MOST_MISSING = 4, 10
"""Lines in which a list begins; numbers that may be missing between two entries."""
_MARKUP = " \t#>*_=:.~—–-{}\\|•·<>/"
_AROUND_TITLE = re.compile(
    r"^(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}[.)]?|[IVX]{1,5}[.)]|[A-Z][.)]|第?[一二三四五六七八九十]{1,3}[、.])\s{0,5}(?=\S)"
    r"|\s{0,3}(?:[(\[][^()\[\]]{1,40}[)\]]| (?:[0-9]{1,3}|[a-z])| (?:of|der|des|to|for|on|in) .{1,40})$"
)
_RUN_IN = re.compile(r"(?<!\S)([\[(]?)([0-9]{1,3})([\]).])(?=\s)")
_LONGEST_HEADING = 90


class DraftLine(NamedTuple):
    """A line of a draft, as written from its first letter on; `place`: the number of its block, and its own in this.

    It may begin with a mark of some `kind`, a number or key (its `label`) or a "bullet", and has the `rest` behind it.
    """

    text: str
    block: Block
    place: tuple[int, int]
    kind: str = ""
    label: str = ""
    rest: str = ""

    @property
    def opens(self) -> bool:
        """Whether it is the first line of its block."""
        return self.place[1] == 0

    @property
    def value(self) -> int:
        """The number in its mark, "1" or "S1", or 0."""
        number = self.label[1:] if self.label[:1].isalpha() else self.label
        return int(number) if number.isdecimal() else 0


def draft_lines(blocks: Sequence[Block]) -> Iterator[DraftLine]:
    """The lines of a draft's blocks, as they are written."""
    for number, block in enumerate(blocks):
        for part, text in enumerate(block.source.split("\n")):
            line = DraftLine(text, block, (number, part), rest=text)
            if found := _MARK.match(text):
                kind = str(found.lastgroup)
                label = found[kind].translate(_SUPERSCRIPTS) if kind != "bullet" else ""
                label = str(int(label)) if label.isdecimal() else label
                line = line._replace(kind=kind, label=label, rest=text[found.end() :])
            yield line


@dataclass
class _Piece:
    """An entry as far as it was read, or what may be one."""

    first: DraftLine
    label: str
    is_marked: bool
    lines: list[str] = field(default_factory=list[str])
    is_dated: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it has what entries have, and its last line does not end within a title or among names."""
        last = self.lines[-1].rstrip()[-400:].rpartition(" ")[2]
        is_end = last[-1:] in '.])}>"”’*' or last[-1:].isdigit() or "/" in last[:-1]
        return is_repeated(self.lines[-1]) or (self.is_dated and is_end)

    def entries(self, *, is_among_marked: bool) -> Sequence[ListEntry]:
        """It, or the identifiers of one that has nothing else, "PMID 1234567, 2345678"."""
        text = "\n".join(self.lines).strip()
        if not any(map(str.isalnum, text)):
            return [ListEntry(f"{self.label}. {text}" if self.label else text, self.first.place, "", STRAY)]
        is_like = not is_remark(text) or (starts_with_names(text) and not is_prose(text))
        is_like = is_like and (self.is_marked or not is_among_marked or is_whole_entry(text))
        is_told = has_verbs(text) and not (self.is_dated or starts_like_entry(text))  # "We thank R. Jones"
        reason = POINTS if is_repeated(text) else "" if is_like or (self.label and not is_told) else STRAY
        words = [word.strip("[]().:#") for word in text.translate(_SEPARATORS).split()]
        ids = [f"PMID {one}" if one.isdecimal() else one for one in words if one.lower() not in DRAFT_WORDS["ids"]]
        if len(ids) > 1 and all(map(is_bare_id, ids)) and all(any(stated_ids(one)) for one in ids):
            return [ListEntry(one, self.first.place, "", reason) for one in ids]
        return [ListEntry(text, self.first.place, self.label, reason)]


def entries_in(lines: Sequence[DraftLine]) -> list[ListEntry]:
    """What a list consists of: its entries, and what is none of them."""
    lines = [one for one in lines if one.block.kind != "heading" or is_whole_entry(one.text)]
    lines = [one for one in lines if any(map(str.isalnum, one.text)) and not _names_columns(one.text)]
    starts, found = _marked(lines), list[_Piece]()
    one_a_line = sum(is_whole_entry(line.text) for line in lines) >= _MOST * len(lines)
    begins = _begins_among_marked if starts else partial(_begins_among_plain, one_a_line=one_a_line)
    for at, line in enumerate(lines):
        before = found[-1].lines[-1] if found else ""
        is_inside = before.count("(") > before.count(")") and ")" in line.text.partition("(")[0]  # "(accessed 3⏎March)"
        if at in starts or not found or (not is_inside and begins(line, found[-1])):
            found.append(_Piece(line, starts.get(at, ""), at in starts))
        piece = found[-1]
        text = line.rest if at in starts or (piece.first is line and line.kind == "bullet") else line.text
        piece.lines.append(text)
        piece.is_dated = piece.is_dated or has_date_or_id(text) or is_bare_id(text)
    return [part for one in found for part in one.entries(is_among_marked=bool(starts))]


def _marked(lines: Sequence[DraftLine]) -> Mapping[int, str]:
    """The lines at which marks say that entries begin, with their labels: numbers that go on from one to the next, for
    a wrapped line may begin with one, too; else keys, or bullets of the outermost level."""
    numbers = [at for at, line in enumerate(lines) if line.value]
    chain = max((_chain(lines, numbers[one:]) for one in range(min(NEAR, len(numbers)) or 1)), key=len)
    if chain and _opens_list(lines, min(chain)):
        return chain
    for kind in ("key", "bullet"):
        places = [at for at, line in enumerate(lines) if line.kind == kind]
        if places and _opens_list(lines, places[0]):
            least = min(lines[at].block.level for at in places)
            return {at: lines[at].label for at in places if kind == "key" or lines[at].block.level == least}
    return {}


def _opens_list(lines: Sequence[DraftLine], first: int) -> bool:
    return first < NEAR and not any(is_whole_entry(line.text) for line in lines[:first])


def _chain(lines: Sequence[DraftLine], numbers: Sequence[int]) -> dict[int, str]:
    """The lines whose numbers go on from that of the first, with these; "1." may stand for each next number."""
    found, last = dict[int, str](), 0
    for at in numbers:
        line, first = lines[at], lines[numbers[0]]
        is_near = line.value == 1 or last - 1 <= line.value <= last + _MOST_MISSING
        is_next = is_near and (line.value == last + 1 or starts_like_entry(line.rest) or is_whole_entry(line.rest))
        is_like = (line.kind, line.label[:1].isalpha()) == (first.kind, first.label[:1].isalpha())
        if not found or (is_like and is_next):
            found[at] = str(len(found) + 1) if line.value == last == 1 else line.label
            last = line.value
    return found


def _begins_among_marked(line: DraftLine, last: _Piece) -> bool:
    """Whether a line without the mark of the list begins an entry, or what is none, behind the last one."""
    first, level = line.text[:1], line.block.level
    is_apart = not (level or first.islower() or first.isdigit() or is_bare_id(line.rest.split(" ")[0]))
    is_inner, is_own = level > last.first.block.level, is_whole_entry(line.rest) and not is_bare_id(line.rest)
    is_item = level > 0 and (is_own if is_inner else line.kind == "bullet")
    return line.opens and (not last.is_marked or is_repeated(line.rest) or is_item or (is_apart and last.is_whole))


def _begins_among_plain(line: DraftLine, last: _Piece, *, one_a_line: bool) -> bool:
    """Whether a line of a list without marks begins an entry behind the last one: each line, if most are whole by
    themselves; else the first line of a paragraph, and within one each that begins like an entry."""
    is_whole, is_bare = is_whole_entry(line.text), is_bare_id(line.text)
    if one_a_line:
        return is_whole or not line.text[:1].islower()
    is_start = (starts_like_entry(line.text) and not is_bare) or is_repeated(line.text)
    if line.opens:
        return last.is_whole or is_start
    return last.is_whole and (is_start or (is_whole and line.text[:1].isupper() and not is_bare))


class FoundList(NamedTuple):
    """A list of references: its entries, and the lines of the draft that it takes, `first` up to `end`."""

    first: int
    end: int
    entries: Sequence[ListEntry]


def with_lists_apart(text: str) -> str:
    """`text` with an empty line before headings of lists, and a line for each entry of a list that is written on one
    line, and for its heading, "References: 1. Berg … 2. Ruiz …"."""
    lines = ("\n" + line if _title(line) in DRAFT_WORDS["list"] else line for line in text.split("\n"))
    paragraphs = "\n".join(lines).split("\n\n")
    for at, text in enumerate(paragraphs):
        starts, chains = list[int](), dict[str, list[int]]()
        for found in _RUN_IN.finditer(text):
            form, number = found[1] + found[3], int(found[2])
            chain = chains.get(form, []) if number > 1 else []
            if number == len(chain) + 1:
                chains[form] = [*chain, found.start()]
                starts = max(starts, chains[form], key=len)
        parts = [text[one:two] for one, two in pairwise((*starts, len(text)))]
        pieces = [part.partition(" ")[2] for part in parts]
        of_lines = [one for one in starts if text[one - 1 : one] in ("", "\n")]
        if len(starts) < 2 or 2 * len(of_lines) > len(starts) or sum(map(is_whole_entry, pieces)) < _MOST * len(pieces):
            continue
        before = text[: starts[0]].rstrip()
        tails = [" ".join(before.split()[-count:]) for count in (4, 3, 2, 1)]
        title = next((tail for tail in tails if _title(tail) in DRAFT_WORDS["list"]), "")
        is_apart = title or not before or "\n" in text[len(before) : starts[0]]
        if is_apart and not is_prose(pieces[0]):
            paragraphs[at] = "\n".join((before.removesuffix(title), title, *parts))
    return "\n\n".join(paragraphs)


def reference_lists(lines: Sequence[DraftLine]) -> list[FoundList]:
    """The lists of a draft that have entries; without headings, the block of entries at its end, or all of it."""
    headed, last = list[FoundList](), 0
    for at, line in enumerate(lines):
        # In a row of a table it names a column.
        title = "" if at < last or line.block.kind == "item" or "\t" in line.text else _title(line.text)
        is_list = title in DRAFT_WORDS["list"]
        if is_list or title in DRAFT_WORDS["maybe"] or re.split(r"[ -]", title)[-1] in DRAFT_WORDS["list"]:
            # No line ends the list that goes on with the words of another one.
            rest = (n for n in range(at + 1, len(lines)) if lines[n].opens or not lines[n - 1].text[-1:].isalpha())
            end = next((n for n in rest if _ends_list(lines[n], line)), len(lines))
            entries = entries_in(lines[at + 1 : end])
            sure = [one for one in entries if is_surely_entry(one.text) or (one.label and is_whole_entry(one.text))]
            sure += (one for one in entries if is_repeated(one.text))
            if is_list or 2 * len(sure) > len(entries):
                headed += [FoundList(at, end, entries)] if entries else []
                last = end
    return [one for one in headed if not all(entry.reason for entry in one.entries)] or _unheaded(lines) or headed


def _title(line: str) -> str:
    """What a line says as a heading, in small letters without markup and number; "" if it is too long for one."""
    bare = " ".join(line.strip(_MARKUP).split())
    return (_AROUND_TITLE.sub("", bare).strip(_MARKUP) or bare).casefold() if len(bare) <= _LONGEST_HEADING else ""


def _names_columns(line: str) -> bool:
    """Whether a line is the first row of a table, one of whose columns cites: "Drug⇥Dose⇥Reference"."""
    return "\t" in line and any(_title(cell) in DRAFT_WORDS["list"] for cell in line.split("\t"))


def _columns(lines: Sequence[DraftLine]) -> Iterator[FoundList]:
    """The tables with a column of references that holds whole ones, not what cites a list."""
    for _, some in groupby(enumerate(lines), lambda line: "\t" in line[1].text):
        (first, head), *rows = some
        # A number alone cites for the words beside it.
        cells = (filterfalse(is_bare_id, row.text.split("\t")) for _, row in rows)
        if _names_columns(head.text) and 2 * sum(any(map(is_surely_entry, one)) for one in cells) > len(rows):
            yield FoundList(first, first + 1 + len(rows), entries_in([row for _, row in rows]))


def _ends_list(line: DraftLine, heading: DraftLine) -> bool:
    title = _title(line.text)
    name, number, *_ = [*title.split(), "", ""]
    is_float = name in DRAFT_WORDS["float"] and 0 < len(number.rstrip(".:")) < 5  # "Table 2. Doses"
    if title in DRAFT_WORDS["list"] or title in DRAFT_WORDS["other"] or is_float:
        return True
    # A part of the list does not end it: "### Books" under "## References".
    is_next = line.block.kind == "heading" and not 0 < heading.block.level < line.block.level
    is_next = is_next or (_is_numbered(heading) and _is_numbered(line))
    return is_next and not is_whole_entry(line.text)


def _is_numbered(line: DraftLine) -> bool:
    """Whether a line begins with the number of a part of a chapter, "4.2 References"."""
    chapter, _, part = line.text.partition(" ")[0].partition(".")
    return chapter.isdecimal() and part.rstrip(".").isdecimal()


def _unheaded(lines: Sequence[DraftLine]) -> list[FoundList]:
    """The block of entries at the end of a draft, or the whole of it, if its entries look like references; else the
    columns of its tables that do."""
    entries, end = entries_in(lines), len(lines)
    places = {line.place: at for at, line in enumerate(lines)}
    while entries and entries[-1].reason:
        end = places[entries.pop().place]
    sure = [is_surely_entry(one.text) for one in entries]
    starts = (at for at, one in enumerate(sure) if one and sum(sure[at:]) > 0.6 * len(sure[at:]))
    first = next(starts, len(sure))
    if len(sure) - first < min(2, len(sure)) or not sure:
        return [*_columns(lines)]
    for before in (one.text for one in entries[:first][::-1]):  # does it belong to the list, too?
        if not (has_date_or_id(before) or starts_with_names(before)) or has_verbs(before) or is_prose(before):
            break
        first -= 1
    return [FoundList(places[entries[first].place] if first else 0, end, entries[first:])]
