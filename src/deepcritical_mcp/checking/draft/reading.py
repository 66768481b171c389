"""Reads a draft: its references, and the sentences and quotations that cite them; entries of reference managers and
databases, in a file or among text, as `reading.library_entries` reads them."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from html import unescape
from itertools import count, pairwise
from typing import NamedTuple

from deepcritical_mcp.checking.draft.citations import Citations, NameIndex
from deepcritical_mcp.checking.draft.draft_parts import (
    Block,
    CitingSentence,
    Draft,
    DraftQuotation,
    DraftReference,
    ListEntry,
    Mark,
    blocks_of_markdown,
    has_date_or_id,
    has_place,
    has_verbs,
    is_remark,
    is_repeated,
    is_surely_entry,
    is_whole_entry,
    starts_with_names,
    with_whole_words,
    without_page_breaks,
)
from deepcritical_mcp.checking.draft.reference_lists import (
    POINTS,
    STRAY,
    UNSURE,
    DraftLine,
    draft_lines,
    reference_lists,
    with_lists_apart,
)
from deepcritical_mcp.excerpts import Span, whole_sentences
from deepcritical_mcp.reading.library_entries import (
    BIBTEX,
    TAGGED,
    bibtex_block,
    form_at_start,
    json_entries,
)
from deepcritical_mcp.search.references.plain_text import WORD, blanked, folded, stated_ids
from deepcritical_mcp.search.references.written import labelled, read_entry
from deepcritical_mcp.text import clean_line, clipped

_BLANKS = dict.fromkeys("\xa0\u2007\u2009\u202f\u3000\ufeff\x00", " ")
_BREAKS = str.maketrans(dict.fromkeys("\r\x0b\x1c\x1d\x1e\x85\u2028\u2029", "\n") | _BLANKS)
_LATEX = re.compile(r"\\(?:documentclass|begin|(?:sub)*section|bibitem|[a-zA-Z]{0,8}cite[a-zA-Z]{0,12})\b[*\[{]")
_ATTRIBUTES = r"""(?:\s+(?:[\w:-]+\s*=\s*(?:"[^"<>]{0,2000}"|'[^'<>]{0,2000}'|[^\s"'<>=]{1,200})|nowrap)){0,30}\s*"""
_BLOCK_TAG = re.compile(rf"<(/?)(li|ol|ul|p|div|br|h[1-6]|table|tr|td|th|o:p)\b{_ATTRIBUTES}/?>", re.IGNORECASE)
_ROW = re.compile(r"<tr\b(?:[^<]|<(?!/?(?:tr|tbody|table)\b)){0,20000}(?=</?(?:tr|tbody|table)\b)", re.IGNORECASE)
_CELL = re.compile(rf"<t[dh]\b{_ATTRIBUTES}>", re.IGNORECASE)
_LEAST_CLAIM, _LEAST_QUOTED, _LEAST_UNATTRIBUTED = 2, 4, 7
"""Words of a claim, of a quotation that something is cited for, and of one with no reference near it: fewer are a
term."""
_LONGEST_SHORT_NOTE, _MOST_NAMED = 120, 12
_EMPTY = re.compile(
    r"\s{0,20}[(\[](?!\s?\.\s?\.)\s{0,9}(?:(?:see(?: also)?|e\.g\.|for (?:a )?reviews?|pp?\. ?[0-9–-]{1,12}"
    r"|in press|and references therein|but see|as in|by|in|from|cf\.|reviewed in|and|PMIDs?:?|doi:?|refs?|[,;.&])"
    r"\s{0,9}){0,40}[)\]]|[\s,;]{1,20}(?=[.,;:!?)\]])"
)
"""Brackets from which marks are taken, and the blanks that these leave."""
_QUOTED = re.compile(
    r"[“‟]([^“‟”]{8,2000})[”\"]|„([^„“‟”]{8,2000})[“‟”]|«([^«»]{8,2000})»|»([^«»]{8,2000})«|‹([^‹›]{8,2000})›"
    r"|(?<!\w)\"(?=\S)([^\"]{8,2000})\"|``([^`]{8,2000}?)''|(?<!\w)‘(?=\w)([^‘]{8,2000}?)’(?!\w)|「([^「」]{8,2000})」"
)
_BETWEEN = "\n\n"
"""What stands between two blocks in the running text."""
_RIGHT_BEHIND = 5
"""Characters from the end of a quotation to a citation."""


def read_draft(text: str) -> Draft:
    """The references, citing sentences and quotations of a draft; in time linear in its length."""
    with suppress(ValueError, RecursionError):  # the strings of a JSON array, one a paragraph
        text = "\n\n".join(map(str, json.loads(text))) if text.lstrip().startswith('["') else text
    text = text.replace("\r\n", "\n").translate(_BREAKS)
    managed = ManagerEntries(text)
    rest = with_whole_words(without_page_breaks(_ROW.sub(_as_line, managed.rest)))
    if _LATEX.search(rest):
        from deepcritical_mcp.search.references.latex_text import latex_as_markdown

        rest = latex_as_markdown(rest)
    rest = unescape(_BLOCK_TAG.sub(_as_markdown, rest))
    return _of_blocks(blocks_of_markdown(with_lists_apart(rest)), managed)


def _as_line(row: re.Match[str]) -> str:
    """A row of a table of HTML on a line of its own, its cells joined by tabs, whatever lines these are written on."""
    cells = (" ".join(_BLOCK_TAG.sub(" ", with_whole_words(cell)).split()) for cell in _CELL.split(row[0]))
    return "\n" + "\t".join(cells).strip()


def _as_markdown(tag: re.Match[str]) -> str:
    """What opens or closes a block of HTML, as Markdown has it."""
    name = tag[2].lower()
    if name in ("td", "th"):
        return " "
    return "\n- " if name == "li" and not tag[1] else "\n# " if name[0] == "h" and not tag[1] else "\n"


def _of_blocks(blocks: Sequence[Block], managed: ManagerEntries) -> Draft:
    lines = [line for line in draft_lines(blocks) if line.block.kind not in ("note", "entry")]
    entries = {one.label: number for number, one in enumerate(blocks) if one.kind == "entry"}
    places = [entries.pop(entry_place(at)[1:], len(blocks)) for at in range(len(managed.entries))]
    lists = [] if entries else reference_lists(lines)  # what is left are entries of LaTeX
    apart = ((at, one) for at, one in enumerate(blocks) if one.kind in ("note", "entry") and at not in places)
    notes = [entry for number, one in apart for entry in _of_note(number, one)]
    listed = [entry._replace(section=number) for number, one in enumerate(lists) for entry in one.entries]
    listed += [entry._replace(place=(places[at], at)) for at, entry in enumerate(managed.entries)]
    listed = sorted((*listed, *notes), key=lambda one: one.place)
    read = [one for one in listed if not one.reason]
    unread = [one for one in listed if one.reason]

    taken = {line.place for one in lists for line in lines[one.first : one.end]}
    names = NameIndex([one.text for one in read])
    for entry, own_places in _stray([line for line in lines if line.place not in taken], names):
        (unread if entry.reason else read).append(entry)
        taken |= own_places

    parts = _running_blocks(blocks, taken, {one.place[0] for one in notes})
    body = RunningText(parts, read, [lines[one.first].place[0] for one in lists])
    found = body.citations
    references = [DraftReference(at, one.text, one.label) for at, one in enumerate(found.entries, 1)]
    references += (DraftReference(at, one, is_inline=True) for at, one in enumerate(found.inline, len(read) + 1))
    return Draft(
        tuple(references),
        tuple(_sentences(body)),
        tuple(_quotations(body, references)),
        tuple(_remarks(references, found, {f"[^{one.label}]" for one in blocks if one.kind == "note"})),
        (*sorted(unread, key=lambda one: one.place), *managed.unread),
    )


def _running_blocks(
    blocks: Sequence[Block], taken: AbstractSet[tuple[int, int]], apart: Collection[int]
) -> Iterator[tuple[int, Block]]:
    """The numbered blocks of the running text: those that are no references, code or notes set `apart`; of a block that
    is partly in a list, the lines that are not `taken`."""
    for number, block in enumerate(blocks):
        if number in apart or block.kind in ("code", "entry"):
            continue
        lines = {(number, at): line for at, line in enumerate(block.source.split("\n"))}
        left = "\n".join("" if place in taken else line for place, line in lines.items())
        if taken.isdisjoint(lines):
            yield number, block
        elif left.strip():
            yield from ((number, one) for one in blocks_of_markdown(left))


def _stray(lines: Sequence[DraftLine], listed: NameIndex) -> Iterator[tuple[ListEntry, set[tuple[int, int]]]]:
    """What looks like a reference and stands in no list, with its lines. It is one if it begins with names, and has the
    place or number of a paper; what cites, by a mark, by an identifier in a row of a table, or by names and year of one
    that is listed, is none."""
    starts = [at for at, line in enumerate(lines) if line.opens or line.kind]
    for one, two in pairwise((*starts, len(lines))):
        unit = lines[one:two]
        first = unit[0]
        text = "\n".join((first.rest, *(line.text for line in unit[1:])))
        is_prose = has_verbs(text, 1) or any(mark.kind != "link" for mark in first.block.marks)
        if first.block.kind not in ("paragraph", "item") or is_prose or not is_surely_entry(text):
            continue
        is_row = "\t" in text
        is_sure = not is_row and starts_with_names(text) and has_place(text)
        cites = "[" in text or (is_row and any(any(one.ids) for one in stated_ids(text)))
        cites = cites or (not has_place(text) and any(one.entries for one in listed.citations(text)))
        if is_sure or not cites:
            yield ListEntry(text, first.place, first.label, "" if is_sure else UNSURE), {line.place for line in unit}


def _of_note(number: int, block: Block) -> Iterator[ListEntry]:
    """An entry of LaTeX; or a note that is a reference, names a work in a few words, or points at another note."""
    text, is_entry = block.source.strip(), block.kind == "entry"
    is_whole = is_entry or is_whole_entry(text) or (has_date_or_id(text) and not is_remark(text))
    is_short = len(text) <= _LONGEST_SHORT_NOTE and not has_verbs(text) and text[:1].isupper()
    reason = POINTS if is_repeated(text) else "" if any(map(str.isalnum, text)) else STRAY
    if is_whole or reason or (is_short and text.rstrip(". ")[-1:].isdigit()):
        label = block.label if is_entry else f"^{block.label}"
        yield ListEntry(text, (number, 0), label, reason or ("" if is_whole else POINTS))


def _sentences(body: RunningText) -> Iterator[CitingSentence]:
    for span in body.sentences:
        references = body.citations.within(*span)
        if references and _count(claim := body.claim(span)) >= _LEAST_CLAIM:
            yield CitingSentence(clean_line(body.text[slice(*span)]), claim, span.start, references)


def _quotations(body: RunningText, references: Sequence[DraftReference]) -> Iterator[DraftQuotation]:
    """Each is attributed to the references cited right behind it, or else in its quoted block, in its sentence, in the
    one that introduces it, or in the one that follows it."""
    written, within = " ".join(_key(one.text) for one in references), body.citations.within
    blocks = {one.start: one.end for one in body.passages if one.block.is_quotation}
    sentences, number = body.sentences or [Span(0, 0)], count(1)
    for quote in body.quotations:
        first = max(0, bisect_right(sentences, quote.start, key=lambda one: one.start) - 1)
        last = max(first, bisect_right(sentences, quote.end, key=lambda one: one.start) - 1)
        cited = (
            within(quote.start, blocks.get(quote.start, quote.start))
            or within(quote.end, quote.end + _RIGHT_BEHIND)
            or within(sentences[first].start, max(sentences[last].end, quote.end))
            or within(*sentences[max(0, first - 1)])
            or within(*sentences[min(last + 1, len(sentences) - 1)])
        )
        words = body.claim(quote).strip(" \"“”„«»‹›'’‘")
        least = _LEAST_QUOTED if cited else _LEAST_UNATTRIBUTED
        if _count(words) >= least and _key(words) not in written:
            yield DraftQuotation(next(number), words, cited)


def _key(text: str) -> str:
    return " ".join(WORD.findall(folded(text)))


def _count(text: str) -> int:
    """How many words a text has; of scripts without blanks, how many signs."""
    return len(text.split()) + sum(one >= "\u3040" for one in text)


def _remarks(references: Sequence[DraftReference], found: Citations, notes: Collection[str]) -> Iterator[str]:
    """What is to be said of a draft as a whole: what has no entry, and entries that nothing cites."""
    if unknown := [one for one in found.unknown if one not in notes]:
        yield f"Cited, but not in the list of references: {_enumerated(unknown)}."
    listed = [one for one in references if not one.is_inline]
    uncited = [one for one in listed if one.index not in found.cited]
    if 0 < len(uncited) < len(listed):
        labels = Counter(one.label for one in listed if one.label)  # a second list may begin at 1 again
        named = ((one.label, clipped(clean_line(one.text[:200]), 40)) for one in uncited)
        names = [f"[{label}]" if labels[label] == 1 else f"“{text}”" for label, text in named]
        yield f"In the list of references, but never cited: {_enumerated(names)}."


def _enumerated(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(clipped(name, 60) for name in names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


class DraftPassage(NamedTuple):
    """A block in the running text, where it stands there, and its number in the draft."""

    start: int
    end: int
    block: Block
    number: int


class RunningText:
    """The text of a draft without its references: that of its numbered blocks, with an empty line between them; and
    what it cites of the `entries` of lists, which begin with the blocks of the numbers `lists`.

    Attributes:
        sentences: without quoted blocks. A mark belongs to the sentence that it follows, also behind the full stop: "in
            mice.1 Then".
        quotations: what stands between quotation marks, or in quoted blocks, without the marks, in order.
    """

    def __init__(self, blocks: Iterable[tuple[int, Block]], entries: Sequence[ListEntry], lists: Sequence[int]) -> None:
        self.passages = list[DraftPassage]()
        marks, start = list[Mark](), 0
        for number, block in blocks:
            end = start + len(block.text)
            self.passages.append(DraftPassage(start, end, block, number))
            marks += (mark._replace(start=mark.start + start, end=mark.end + start) for mark in block.marks)
            start = end + len(_BETWEEN)
        self.text = _BETWEEN.join(passage.block.text for passage in self.passages)
        starts = [next((one.start for one in self.passages if one.number > at), len(self.text)) for at in lists]
        self.citations = Citations(self.text, marks, entries, starts)
        self.sentences = list(self._sentences())
        self.quotations = [quoted for passage in self.passages for quoted in self._quotations(passage)]

    def _sentences(self) -> Iterator[Span]:
        marks = ((one.start, one.end) for one in self.citations.all if one.is_mark)
        without_marks = blanked(self.text, marks)
        for start, end, block, _ in self.passages:
            if block.kind in ("paragraph", "item", "note") and not block.is_quotation:
                line = without_marks[start:end].replace("\n", " ")
                yield from (Span(start + one.start, start + one.end) for one in whole_sentences(line))

    def _quotations(self, passage: DraftPassage) -> list[Span]:
        """What stands between quotation marks; a quoted block without them, or most of which stands outside them, is
        one itself, up to its source."""
        start, end, block, _ = passage
        found = _QUOTED.finditer(self.text, start, end) if block.kind not in ("heading", "code") else ()
        quoted = [Span(*one.span(one.lastindex or 0)) for one in found]
        if block.is_quotation and 2 * sum(one.length for one in quoted) <= end - start:
            return [Span(start, start + len(block.text.partition("\n—")[0]))]
        return quoted

    def claim(self, span: Span) -> str:
        """What a sentence, or a row of a table, says without marks and empty brackets."""
        cited = self.citations.between(*span)
        marks = ((one.start - span.start, one.end - span.start) for one in cited if one.is_mark)
        plain = blanked(self.text[slice(*span)], marks).replace("\t", "; ")
        return clean_line(_EMPTY.sub("", clean_line(plain))).strip(" ,;")


_ENTRY = re.compile(
    BIBTEX.pattern + r"|^[ \t]{0,4}(?=TY[ \t]{1,3}-|PMID- ?[0-9]{1,9}[ \t]{0,4}\n(?!PMID)[A-Z]{2,4} {0,2}- "
    r"|PT [A-Z]\nAU |%0(?:[ -][A-Z][a-z]{2,14}){1,4}\n%[A-Z] )"
    r"|(?=<record>\s{0,40}<(?:database|foreign-keys|rec-number|ref-type|source-app)\b)",
    re.MULTILINE,
)
"""What an entry of BibTeX, or a record of RIS, PubMed's form, Web of Science's or EndNote's begins with: stricter than
in a file of a library, as this may be prose."""
_LAST_LINE = re.compile(r"^[ \t]{0,4}ER(?:[ \t]{1,3}-.*|[ \t]*)$|</record>", re.MULTILINE)
_JSON = re.compile(r'\{\s{0,20}"[^"\n]{1,40}"\s{0,20}:')
_BROKEN = "JSON that cannot be read"
_MACRO = re.compile(r"(=\s{0,20})([A-Za-z][\w:.+-]{0,60})(?=\s{0,20}[,})])")


class ManagerEntries:
    """What a text has of reference managers, in its order: its entries, of BibTeX with the values of its macros, those
    that cannot be read, and the rest of the text, where each entry has left its `entry_place`."""

    def __init__(self, text: str) -> None:
        self.entries, self.unread, self._macros, self.rest = list[ListEntry](), list[ListEntry](), dict[str, str](), ""
        for item in json_entries(text):
            raw = text[slice(*item.span)]
            if item.reason:
                self.unread.append(ListEntry(raw.partition("\n\n")[0], reason=_BROKEN))
            elif entry := labelled(item, "json"):
                self.entries.append(ListEntry(raw, label=entry.key))
            else:
                self.unread.append(ListEntry(raw, reason="an item of CSL-JSON without title and DOI"))
        if self.entries:
            return
        self.unread = [one for one in self.unread if one.reason == _BROKEN and _JSON.match(one.text)]
        kept, at = list[str](), 0
        starts = [one.end() for one in _ENTRY.finditer(text)]
        for start, end in pairwise((*starts, len(text))):
            count, piece = len(self.entries), text[start:end]
            if raw := self._bibtex(piece) if piece.startswith("@") else self._record(piece):
                places = (f"[^{entry_place(one)}]:\n\n" for one in range(count, len(self.entries)))
                kept += text[at:start], "\n\n", *places
                at = start + len(raw)
        self.rest = "".join((*kept, text[at:]))

    def _bibtex(self, piece: str) -> str:
        """Add the entry with which a piece of a text begins; what it takes of this. If it is not closed, it ends where
        the next one, or another paragraph, starts."""
        block = bibtex_block(piece, self._macros)
        key = next((value for name, value in block.fields if name == "key"), "")
        if block.macro:
            self._macros |= [block.macro]
        elif block.reason:
            raw = piece.partition("\n\n")[0].rstrip()
            self.unread.append(ListEntry(raw, reason=f"BibTeX that cannot be read: {block.reason}"))
            return raw
        elif key or len(block.fields) > len(("type", "key")):
            self.entries.append(ListEntry(_expanded(block.raw, self._macros), label=key))
        return block.raw

    def _record(self, piece: str) -> str:
        """Add the record with which a piece of a text begins; what it takes of this."""
        raw = piece[: _end_of_record(piece)].rstrip()
        entry = read_entry(raw)
        self.entries.append(ListEntry(raw, label=entry.key if entry else ""))
        return raw


def _end_of_record(piece: str) -> int | None:
    """Where the record ends with which a piece of a text begins; None if that is at its end. If its last line is
    missing, it ends with the paragraph of its last tag, or if prose may begin like a tag, with the first paragraph."""
    if closing := _LAST_LINE.search(piece):
        return closing.end()
    form = form_at_start(piece)
    tags = TAGGED[form].tag.finditer(piece) if form in ("ris", "nbib") else ()
    last = max((one.end() for one in tags), default=0)
    end = piece.find("\n\n", last)
    return end if end >= 0 else None


def entry_place(number: int) -> str:
    """What stands in the rest of a text for one of its entries, as the label of a note: no word, and on no keyboard."""
    return f"@{chr(0xF0000 + number)}"


def _expanded(entry: str, macros: dict[str, str]) -> str:
    """An entry with the values of macros, which other text does not have."""
    return _MACRO.sub(lambda one: f"{one[1]}{{{macros[key]}}}" if (key := one[2].lower()) in macros else one[0], entry)
