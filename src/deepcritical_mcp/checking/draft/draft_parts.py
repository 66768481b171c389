"""What a draft consists of: its blocks, as the parser of Markdown gives them, and what it cites; and what an entry of a
list of references looks like. Markdown and plain text as blocks: what the parser says, what plain text has besides,
and without what copies of printed pages have between and within the lines: page numbers, running heads, broken words.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from deepcritical_mcp.data_files import data_lines, data_patterns
from deepcritical_mcp.search.references.plain_text import STATED, WORD, stated_ids

_ROWS = [row.partition("\t") for row in data_lines(__file__, "draft_words.txt")]
DRAFT_WORDS = {kind: frozenset("|".join(row[2] for row in _ROWS if row[0] == kind).split("|")) for kind, *_ in _ROWS}
"""Words and titles by their kinds, in small letters, as the file draft_words.txt has them."""


@dataclass(frozen=True)
class DraftReference:
    """A reference of a draft.

    Attributes:
        index: its place in the draft's order, from 1; entries of the list of references come before those that stand
            in the text only.
        label: how the draft cites it: "12", "smith2020", "^a"; "" if by names and year, or not at all.
        text: as written, with its markup and line breaks, without the mark in front of it ("12. ", "[^a]: ").
        is_inline: whether it stands in the text itself, "(PMID 123)", and in no list.
    """

    index: int
    text: str
    label: str = ""
    is_inline: bool = False


class CitingSentence(NamedTuple):
    """A sentence that cites references, by their indexes.

    Attributes:
        text: on one line, as written, with the marks that cite.
        claim: the same without these marks and without markup.
        start: where it stands in the draft's running text.
    """

    text: str
    claim: str
    start: int
    references: tuple[int, ...]


class DraftQuotation(NamedTuple):
    """A quotation: its place in the draft, from 1, its words without the marks around them, and the references that it
    is attributed to (indexes)."""

    number: int
    text: str
    references: tuple[int, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A draft; `remarks` tell what is wrong with it as a whole: citations without an entry, entries without one. The
    references and what is `unread` together are all the entries that it has."""

    references: tuple[DraftReference, ...] = ()
    sentences: tuple[CitingSentence, ...] = ()
    quotations: tuple[DraftQuotation, ...] = ()
    remarks: tuple[str, ...] = ()
    unread: tuple[ListEntry, ...] = ()

    def without(self, cited: AbstractSet[int]) -> Draft:
        """The same without the sentences and quotations that cite any of these references."""
        sentences = tuple(one for one in self.sentences if cited.isdisjoint(one.references))
        quotations = tuple(one for one in self.quotations if cited.isdisjoint(one.references))
        return replace(self, sentences=sentences, quotations=quotations)


class ListEntry(NamedTuple):
    """An entry of a list, or what stands there and is not read as one, for a `reason`; `text` is as written, without
    its mark. It begins at `place`, the number of its block and that of its line in this, and `section` is the number of
    its list in the draft."""

    text: str
    place: tuple[int, int] = (0, 0)
    label: str = ""
    reason: str = ""
    section: int = 0


BlockKind = Literal["heading", "paragraph", "item", "note", "entry", "code"]
MarkKind = Literal["note", "key", "raised", "link"]


class Mark(NamedTuple):
    """What the markup says of a stretch of a block's text.

    Attributes:
        kind: "note" (the mark of a note), "key" (of citation keys, one mark for a whole "[@a; @b]" or "\\cite{a,b}"),
            "raised" (superscript), "link".
        target: the label of the note; the keys, joined by ","; the address of the link.
    """

    kind: MarkKind
    start: int
    end: int
    target: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, an item of a list, a note, an entry of references, or code.

    Attributes:
        kind: "paragraph": a row of a table, too, its cells joined by tabs; "note": a footnote's text; "entry": known to
            be a reference, as a LaTeX \\bibitem.
        text: as it reads, without markup, with the source's line breaks.
        source: its lines as written, without the blanks and marks of quotations and headings in front of them, or the
            label of a note.
        level: of a heading from 1, or the depth of an item from 1.
        label: the number of an item as written, the label of a note, the key of an entry.
        is_quotation: whether it stands in a block quotation.
    """

    kind: BlockKind
    text: str
    source: str
    level: int = 0
    label: str = ""
    marks: tuple[Mark, ...] = ()
    is_quotation: bool = False


_PATTERNS = data_patterns(__file__, "draft_patterns.txt", PARTICLE="|".join(DRAFT_WORDS["particles"]))
_START, _PROSE = (re.compile(_PATTERNS[name]) for name in ("START", "PROSE"))
"""How an entry begins; what cites, or tells something as sentences do."""
_PLACE, _BARE_ID, _REPEATED = (re.compile(_PATTERNS[name], re.IGNORECASE) for name in ("PLACE", "BARE_ID", "REPEATED"))
YEAR = re.compile(r"(?<![\w./–-])((?:1[5-9]|20)[0-9]{2})([a-z]?)(?![\w–-])")
_LONGEST = 1_500


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def has_verbs(text: str, more_than: int = 0) -> bool:
    """Whether a text has words that sentences have, and titles seldom."""
    return sum(word in DRAFT_WORDS["verbs"] for word in _words(text)) > more_than


def _start(text: str) -> str:
    """What a text begins with if it begins like an entry: "names", "title" (in quotation marks or linked) or "body" (an
    organization and a year); else ""."""
    found = _START.match(" ".join(text[:700].split()).lstrip(" )]}.,;:"))
    return str(found.lastgroup) if found and not (found["body"] and has_verbs(found[0])) else ""


def starts_with_names(text: str) -> bool:
    """Whether a text begins with the name of a person, as entries write it."""
    return _start(text) == "names"


def starts_like_entry(text: str) -> bool:
    """Whether a text begins as entries do, or with a number of a record."""
    return _start(text) != "" or _BARE_ID.match(text) is not None


def is_bare_id(text: str) -> bool:
    """Whether a text is nothing but a number or an address of a record."""
    return _BARE_ID.fullmatch(text) is not None and any(map(str.isdigit, text))


def has_place(text: str) -> bool:
    """Whether a volume and page, or the number of a paper, stand in a text."""
    return _PLACE.search(text) is not None or any(any(one.ids) for one in stated_ids(text))


def has_date_or_id(text: str) -> bool:
    """Whether a year or a number of a record stands in a text."""
    return bool(YEAR.search(text) or STATED.search(text))


def is_repeated(text: str) -> bool:
    """Whether a text only points at a work: "Ibid., 47", "Smith 2001 {published data only}"."""
    return len(text) < 200 and _REPEATED.match(text) is not None


def is_whole_entry(text: str) -> bool:
    """Whether a text says enough to be one reference: a number of a record, or a year and more."""
    text = text[:_LONGEST]
    if STATED.search(text) or is_bare_id(text):
        return True
    says_more = _start(text) or _PLACE.search(text) or DRAFT_WORDS["of books"].intersection(_words(text))
    return bool(YEAR.search(text) and says_more)


def is_prose(text: str) -> bool:
    """Whether a text cites, or tells as sentences do, "Berg et al. (2001) found", and references do not."""
    return _PROSE.search(text, 1, _LONGEST) is not None


def is_surely_entry(text: str) -> bool:
    """Whether a text without a heading above it is a reference rather than a sentence of a draft."""
    text = " ".join(text.split())
    ids = [*{one.key: one for one in stated_ids(text)}.values()]
    if is_bare_id(text) or (len(ids) == 1 and text[ids[0].end :] in (")", "]") and "](" not in text):
        return True
    if len(text) > _LONGEST or is_prose(text) or sum(one.key.startswith("pmid:") for one in ids) > 1:
        return False
    is_told = has_verbs(text, 2) or not {"we", "our"}.isdisjoint(_words(text))
    return (not is_told or bool(_PLACE.search(text))) and starts_like_entry(text) and is_whole_entry(text)


def is_remark(text: str) -> bool:
    """Whether a text is a heading or a sentence rather than a reference."""
    if STATED.search(text[:_LONGEST]) or is_bare_id(text) or (YEAR.search(text) and starts_like_entry(text)):
        return False
    return has_verbs(text[:_LONGEST]) or (len(text) < 60 and not YEAR.search(text))


_IN_TEXT: tuple[tuple[MarkKind, re.Pattern[str]], ...] = (
    ("note", re.compile(r"\[\^([^\]\s]{1,60})\](?!:)|\^\[([^\[\]]{8,1000})\]")),
    ("key", re.compile(r"\[(?=[^\[\]\n]{0,80}@)[^\[\]]{1,600}\]|(?<![\w.@/-])@\{?\w[\w:-]{1,100}")),
    ("raised", re.compile(r"\$?\{?\}?\^[\[{]?([0-9][0-9,;– -]{0,120})[\]}]?[\^$]")),
)
"""Marks that CommonMark leaves in the text, as pandoc and notebooks write them."""
_MARKUP = frozenset("\\`*_[]<&!~")
_KEY = re.compile(r"(?<![\w.])@\{?(\w[\w:.#$%&+?<>~/-]{0,100})")
_NOTE = re.compile(r"^[ \t>]{0,20}\[\^([^\]\s]{1,100})\]:[ \t]*", re.MULTILINE)
_MOST_NESTED = 5
_NUMBER = re.compile(r"[0-9]{1,9}")
_BROKEN = re.compile(r"(?<![^\W\d_])([^\W\d_]{1,40})[-\u2010\xad][ \t]{0,3}\n[ \t>]{0,40}([^\W\d_]+)(\S*)[ \n]?")
_PAGE_END = re.compile(r"(?<!\s)\s*\f\s*(?=(\S?))")
_LINE_NUMBER = re.compile(r"\A[ \t]{0,8}(\d{1,4})(?:[ \t]+|\Z)")
_NEARLY_ALL = 0.8
"""Share of a text or of its lines."""
_LEAST_HEAD, _LONGEST_HEAD = 12, 140
"""Characters of a line that recurs."""
_MOST_LINES, _LEAST_PAGE = 3, 12
"""Lines of a head, and of a page."""


def _inline(state: StateCore) -> None:
    """What has no markup is text. Links and emphasis nest in few levels: each takes time for every open bracket."""
    state.md.options["maxNesting"] = _MOST_NESTED
    for token in state.tokens:
        if token.type == "inline" and not _MARKUP.isdisjoint(token.content):
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def blocks_of_markdown(source: str, *, in_fence: bool = False) -> list[Block]:
    """The blocks of Markdown or plain text, with the lines that belong to none: they are nested too deeply, or an item
    has nothing else."""
    source = _NOTE.sub(r"\n\g<0>", source)
    lines, found, free = source.split("\n"), list[tuple[int, Block]](), {*range(source.count("\n") + 1)}
    for first, end, blocks in _blocks(source, lines, in_fence=in_fence):
        found += ((first, block) for block in blocks)
        free -= {*range(first, end)}
    loose = ((at, lines[at].strip(" \t>")) for at in free)
    named = ((at, line) for at, line in loose if line[:3] not in ("```", "~~~") and any(map(str.isalnum, line)))
    found += ((at, Block("item", line, line, _MOST_NESTED)) for at, line in named)
    return [block for _, block in sorted(found, key=lambda one: one[0])]


def _blocks(source: str, lines: Sequence[str], *, in_fence: bool) -> Iterator[tuple[int, int, list[Block]]]:
    """The blocks, with the first of their lines and that behind the last."""
    # Pasted text is indented, "[1]: Berg J. Zinc" is a reference, HTML stands within paragraphs, and lines of dashes
    # between entries make no headings of them.
    parser = MarkdownIt("commonmark").enable("table").disable(["code", "reference", "html_block", "lheading"])
    parser.core.ruler.at("inline", _inline)
    tokens, items, quotes = parser.parse(source), list[str](), 0
    for number, token in enumerate(tokens):
        first, end = token.map or (0, 0)
        if token.type == "list_item_open":
            items.append(token.info or "-")
        elif token.type == "list_item_close":
            items.pop()
        elif token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        elif token.type == "fence":
            content, is_open = token.content.rstrip("\n"), not lines[end - 1].strip().startswith(token.markup)
            is_text = token.info.lower() in DRAFT_WORDS["text fences"] or len(content) > _NEARLY_ALL * len(source)
            is_read = not in_fence and (is_text or is_open)
            code = blocks_of_markdown(content, in_fence=True) if is_read else [Block("code", content, content)]
            yield first, end, code
        elif token.type == "tr_open":
            close = next(at for at in range(number, len(tokens)) if tokens[at].type == "tr_close")
            cells = (one.content for one in tokens[number:close] if one.type == "inline")
            text, marks = _read(parser.parseInline("\t".join(cells))[0])
            yield first, end, [Block("paragraph", text, text, marks=marks)]
        elif token.type in ("paragraph_open", "heading_open"):
            block = _block(token, tokens[number + 1], lines[first:end], items)
            notes = [one for one in block.marks if one.kind == "note" and block.text.startswith("^[", one.start)]
            inside = ((one.target, block.text[one.start + 2 : one.end - 1]) for one in notes)  # "^[Berg J. Zinc]"
            found = (block, *(Block("note", text, text, 0, label) for label, text in inside))
            yield first, end, [replace(one, is_quotation=quotes > 0) for one in found]


def _block(token: Token, inline: Token, lines: Sequence[str], items: list[str]) -> Block:
    """A paragraph, alone or in an item, a heading or a note."""
    text, marks = _read(inline)
    source = "\n".join(line.lstrip(" \t>#").rstrip() for line in lines)
    if token.type == "heading_open":
        return Block("heading", text, source, int(token.tag[1:]))
    if mark := _NOTE.match(text):
        cut = _NOTE.match(source)
        kind = "entry" if mark[1][0] == "@" else "note"
        return Block(kind, text[mark.end() :], source[cut.end() if cut else 0 :], 0, mark[1].removeprefix("@"))
    if not items:
        return Block("paragraph", text, source, 0, "", marks)
    label, items[-1] = items[-1], ""
    return Block("item" if label else "paragraph", text, source, len(items), label.strip("-"), marks)


def _read(inline: Token) -> tuple[str, tuple[Mark, ...]]:
    """The text of a block, and its marks."""
    parts, marks, at, opened = list[str](), list[Mark](), 0, list[tuple[int, str]]()
    if not inline.children:
        parts.append("\n".join(line.strip(" ") for line in inline.content.split("\n")))
    for one in inline.children or ():
        kind, content = one.type, ""
        if kind in ("text", "text_special", "code_inline"):
            content = one.content if kind != "code_inline" or "[" not in one.content else " "
        elif kind in ("softbreak", "hardbreak"):
            content = "\n"
        elif kind == "link_open" or (kind == "html_inline" and one.content.lower().startswith("<sup")):
            opened.append((at, str(one.attrs.get("href", ""))))
        elif opened and (kind == "link_close" or one.content.lower() == "</sup>"):
            start, target = opened.pop()
            marks.append(Mark("link" if kind == "link_close" else "raised", start, at, target))
        parts.append(content)
        at += len(content)
    text = "".join(parts)
    for kind, pattern in _IN_TEXT:
        for at, found in enumerate(pattern.finditer(text), 1):
            keys = ",".join(key.rstrip(".,:;?") for key in _KEY.findall(found[0]))
            target = (found[1] or f"{at}i") if kind == "note" else keys
            if target or kind == "raised":
                marks.append(Mark(kind, *found.span(), target))
    return text, tuple(sorted(marks, key=lambda mark: mark.start))


def without_page_breaks(text: str) -> str:
    """`text` without the numbers of its lines, page numbers and the lines that recur on its pages; a sentence that a
    page break cuts is whole again."""
    lines = text.split("\n")
    if _are_numbered([line for line in lines if line.strip()], 1) or _are_numbered(lines, 5):
        lines = [_LINE_NUMBER.sub("", line) for line in lines]
    filled, alike = [at for at, line in enumerate(lines) if line.strip()], dict[str, list[int]]()
    for number, at in enumerate(filled):
        if len(lines[at]) <= _LONGEST_HEAD:
            alike.setdefault(_NUMBER.sub("#", " ".join(lines[at].split()).casefold()), []).append(number)
    recurring = {form: places for form, places in alike.items() if len(places) > 1}
    numbers = _page_numbers(lines, filled, recurring)
    noise = {filled[number] for number in _with_heads(lines, filled, recurring, numbers)}
    return _PAGE_END.sub(_joined, "\n".join("\f" if at in noise else line for at, line in enumerate(lines)))


def _are_numbered(lines: Sequence[str], step: int) -> bool:
    """Whether numbers that rise by one stand in front of nearly every line, or every fifth, some within sentences."""
    found = [(at, one) for at, one in enumerate(map(_LINE_NUMBER.match, lines)) if one and int(one[1]) % step == 0]
    steps = [(end - at, int(two[1]) - int(one[1])) for (at, one), (end, two) in pairwise(found)]
    within = [one for _, one in found if one.string[one.end() : one.end() + 1].islower()]
    least = max(2, _NEARLY_ALL * (len(lines) / step - 1))
    return steps.count((step, step)) >= least and len(within) >= (1 - _NEARLY_ALL) * len(found)


def _joined(page_end: re.Match[str]) -> str:
    """A line end instead of that of a page, or an empty line, if a paragraph ends there."""
    before, after = page_end.string[page_end.start() - 1 : page_end.start()], page_end[1]
    return "\n\n" if before in (".", "!", "?") and not after.islower() and "\n\n" in page_end[0] else "\n"


def _page_numbers(lines: list[str], filled: Sequence[int], recurring: Mapping[str, Sequence[int]]) -> set[int]:
    """Which of the filled lines are page numbers or have one, each with that of the next page behind it.

    `filled` are those lines; `recurring` has which of them are alike but for numbers.
    """
    alone = {at for at in filled if not "".join(lines[max(0, at - 1) : at] + lines[at + 1 : at + 2]).strip()}
    found = set[int]()
    for form, places in recurring.items():
        is_number = form.strip("-–— ") in DRAFT_WORDS["page numbers"] or form.endswith(" # of #")
        if not is_number and is_surely_entry(lines[filled[places[0]]].lstrip("0123456789[(.)] ")):
            continue
        for one, two in pairwise(places):
            is_far = two - one >= _LEAST_PAGE or one in found or (is_number and {filled[one], filled[two]} <= alone)
            if is_far and _are_next(lines[filled[one]], lines[filled[two]]):
                found |= {one, two}
    return found


def _with_heads(lines: list[str], filled: list[int], recurring: dict[str, list[int]], numbers: set[int]) -> set[int]:
    """The page `numbers`, and the running heads. Those are lines that recur, apart from numbers in them: always beside
    a page number, the end of a page or another line of the head; or the same three times or more, where a line that
    may be a reference must also stand beside a page number."""
    titles, heads = DRAFT_WORDS["list"] | DRAFT_WORDS["other"], list[Sequence[int]]()
    for form, places in recurring.items():
        is_title = form in titles or form.partition(" ")[0] in titles
        if form[0].isalnum() and len(form) >= _LEAST_HEAD and not is_title:
            heads.append(places)
    ends = {number for number, at in enumerate(filled) if "\f" in "".join(lines[filled[number - 1] + 1 : at + 1])}
    found, beside = {*numbers}, numbers | ends | {one - 1 for one in ends}
    for places in heads * _MOST_LINES:  # of a head of several lines, each beside the next
        shown = [lines[filled[one]].strip() for one in places]
        is_same = all(one == two or _are_next(one, two) for one, two in pairwise(shown))
        is_page = is_same and all({one - 1, one, one + 1} & beside for one in places)
        is_beside = any({one - 1, one + 1} & found for one in places)
        is_often = len({*shown}) == 1 and len(places) > 2 and (is_beside or not is_surely_entry(shown[0]))
        beside.update(places if is_page else ())
        found.update(places if is_page or is_often else ())
    return found


def _are_next(one: str, two: str) -> bool:
    """Whether one number of a line is that of the next page in another one."""
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(two), strict=False)
    steps = [int(second) - int(first) for first, second in pairs if first != second]
    return len(steps) == 1 and 1 <= steps[0] <= 2


def with_whole_words(text: str) -> str:
    """`text` with the words whole that are broken at line ends: each stands on its first line. A hyphen stays between
    what the text has as two words and not as one, and in a name or an address."""
    words = {*WORD.findall(_BROKEN.sub(" ", text).casefold())}

    def joined(found: re.Match[str]) -> str:
        head, tail, rest = found.groups()
        one, two = head.casefold(), tail.casefold()
        if two in DRAFT_WORDS["suspended"]:
            return found[0]
        is_address = "/" in text[max(0, found.start() - 60) : found.start()].rpartition(" ")[2]
        is_parted = {one, two} <= words or one in DRAFT_WORDS["compounded"] or not (head[-1] + tail).islower()
        hyphen = "-" if is_address or (is_parted and one + two not in words) else ""
        return f"{head}{hyphen}{tail}{rest}\n"

    return _BROKEN.sub(joined, text)
