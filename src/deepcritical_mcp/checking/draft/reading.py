"""Reads a draft: its references, and the sentences and quotations that cite them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from deepcritical_mcp.checking.draft.author_year import folded
from deepcritical_mcp.checking.draft.citations import (
    Citations,
    FoundCitations,
    cites_by_place,
    find_citations,
)
from deepcritical_mcp.checking.draft.draft_parts import (
    Block,
    CitingSentence,
    Draft,
    DraftQuotation,
    DraftReference,
    ListEntry,
    UnreadEntry,
    joined_lines,
    lines_apart,
)
from deepcritical_mcp.checking.draft.entry_looks import (
    has_date_or_id,
    has_verbs,
    is_bare_id,
    is_remark,
    is_repeated,
    is_surely_entry,
    is_whole_entry,
    starts_with_names,
)
from deepcritical_mcp.checking.draft.latex_draft import latex_as_markdown
from deepcritical_mcp.checking.draft.list_entries import POINTS, STRAY
from deepcritical_mcp.checking.draft.manager_files import ManagerEntries, listed_strings, manager_entries
from deepcritical_mcp.checking.draft.markdown_draft import (
    blocks_of_markdown,
    html_as_markdown,
    with_links_in_place,
)
from deepcritical_mcp.checking.draft.printed_pages import blanked, with_whole_words, without_page_breaks
from deepcritical_mcp.checking.draft.reference_lists import (
    draft_lines,
    reference_lists,
    table_entries,
    with_lists_apart,
)
from deepcritical_mcp.checking.draft.sentences import LEAST_QUOTED, RunningText, attributed
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.text import clean_line, clipped

MAX_DRAFT = 200_000
"""Characters of a draft."""
_BREAKS = str.maketrans(
    dict.fromkeys("\r\x0b\x1c\x1d\x1e\x85\u2028\u2029", "\n")
    | dict.fromkeys("\xa0\u2007\u2009\u202f\u3000\ufeff\x00", " ")
)
_LATEX = re.compile(r"\\(?:documentclass|begin|(?:sub)*section|bibitem|[a-zA-Z]{0,8}cite[a-zA-Z]{0,12})\b[*\[{]")
_WORDS = re.compile(r"[^\W\u3040-\u9fff]+|[\u3040-\u9fff]")
_PAGE = re.compile(r"\b\d{1,5}\b(?!\s?(?:%|[a-z]{2}))")
_ROW = "a row of a table that may name a work: give the whole reference"
_LEAST_CLAIM = 2
"""Words."""
_UNATTRIBUTED_WORDS = 7
"""Words of a quotation with no reference near it: fewer are a term."""
_LONGEST_SHORT_NOTE = 120
_MOST_NAMED = 12


def read_draft(text: str) -> Draft:
    """The references, citing sentences and quotations of a draft; in time linear in its length."""
    text = listed_strings(text).replace("\r\n", " \n").translate(_BREAKS)
    text = with_links_in_place(text)
    managed = manager_entries(text)
    rest = with_whole_words(without_page_breaks(blanked(text, managed.spans)).replace("\f", "\n"))
    if (managed.entries or managed.unread) and (managed.form == "csl-json" or not _says_more(rest)):
        listed = (
            DraftReference(at, one.text, one.start, one.end, one.key) for at, one in enumerate(managed.entries, 1)
        )
        return Draft(managed.form, tuple(listed), unread=tuple(managed.unread))
    rest = latex_as_markdown(rest) if _LATEX.search(rest) else rest
    rest = with_lists_apart(html_as_markdown(rest))
    return _of_blocks(blocks_of_markdown(rest), rest, managed)


def _says_more(rest: str) -> bool:
    """Whether there is a draft around the records of a file, or another reference."""
    is_draft = (
        len(_WORDS.findall(rest)) > 60 or bool(_LATEX.search(rest)) or re.search(r"(?:\[|^|\s)@\w", rest) is not None
    )
    return is_draft or any(is_surely_entry(line.strip()) for line in rest.split("\n"))


def _of_blocks(blocks: Sequence[Block], source: str, managed: ManagerEntries) -> Draft:
    rows, known = table_entries(blocks), [one for one in blocks if one.kind == "entry"]
    lines = [line for line in draft_lines(blocks, source) if line.block.kind not in ("note", "entry", "row")]
    lists = [] if known else reference_lists(lines)
    others = [_judged(ListEntry(source[one.start : one.end], one.start, one.end, one.label)) for one in known]
    others += (entry for one in blocks if one.kind == "note" for entry in _of_note(one, source))
    others += [ListEntry(one.text, one.start, one.end, one.key) for one in managed.entries]
    listed = [entry._replace(section=number) for number, one in enumerate(lists) for entry in one.entries]
    listed = sorted((*listed, *rows.values(), *others), key=lambda one: one.start)
    read, unread = [one for one in listed if not one.reason], [one for one in listed if one.reason]
    apart = {one.start for one in (*unread, *others, *rows.values())}
    taken = {(line.number, line.part) for one in lists for line in lines[one.first : one.end]}
    parts = (part for number, one in enumerate(blocks) for part in _not_in(taken, number, one, source))
    body = RunningText([one for one in parts if one.start not in apart and one.kind not in ("code", "entry")])
    is_labelled = managed.entries or any(one.label for one in read)
    if not is_labelled and cites_by_place(body.text, body.marks, len(read)):
        read = [one._replace(label=str(at)) for at, one in enumerate(read, 1)]
    found = find_citations(body.text, body.marks, read, [body.after(lines[one.first].start) for one in lists])
    references = [DraftReference(at, one.text, one.start, one.end, one.label) for at, one in enumerate(read, 1)]
    references += (
        DraftReference(at, one.text, one.start, one.end, is_inline=True)
        for at, one in enumerate(found.inline, len(read) + 1)
    )
    # A table shows works; nobody cites its rows, unless it is the list and they have numbers.
    shown = {one.start for one in rows.values() if lists or not one.label}
    uncited = [one for one in references if one.index not in found.citations.cited and one.start not in shown]
    spans = body.sentences(found.citations)
    unread += [
        ListEntry(clean_line(one.block.text), one.block.start, one.block.end, reason=_ROW)
        for one in body.passages
        if one.block.kind == "row" and _names_work(one.block.text) and not found.citations.within(one.start, one.end)
    ]
    told = (*(UnreadEntry(one.text, one.start, one.reason) for one in unread), *managed.unread)
    return Draft(
        "text",
        tuple(references),
        tuple(sorted(_sentences(body, spans, found.citations), key=lambda one: one.start)),
        tuple(_quotations(body, spans, found.citations, references)),
        tuple(_remarks(references, uncited, found, {f"[^{one.label}]" for one in blocks if one.kind == "note"})),
        tuple(sorted(told, key=lambda one: one.start)),
    )


def _judged(entry: ListEntry) -> ListEntry:
    says_nothing = not any(map(str.isalnum, entry.text))
    return entry._replace(reason=POINTS if is_repeated(entry.text) else STRAY if says_nothing else "")


def _of_note(note: Block, source: str) -> Iterator[ListEntry]:
    """A note that is a reference, or may name a work in a few words, or points at another note."""
    text = "\n".join(line.strip() for line in source[note.start : note.end].split("\n"))
    entry = _judged(ListEntry(text, note.start, note.end, f"^{note.label}"))
    is_short = len(text) <= _LONGEST_SHORT_NOTE and not has_verbs(text) and text[:1].isupper()
    if is_whole_entry(note.text) or (has_date_or_id(note.text) and not is_remark(note.text)) or entry.reason:
        yield entry
    elif is_short and _PAGE.search(text):
        yield entry._replace(reason=POINTS)


def _not_in(taken: Collection[tuple[int, int]], number: int, block: Block, source: str) -> Iterator[Block]:
    """The parts of a block that are in no list of references."""
    count = source.count("\n", block.start, block.end) + 1 if block.kind != "row" else 1
    free = [part for part in range(count) if (number, part) not in taken]
    if len(free) == count:
        yield block
    elif free and block.text.count("\n") + 1 == count:
        runs = [0, *(at for at in range(1, len(free)) if free[at] > free[at - 1] + 1), len(free)]
        apart = [line for part, line in enumerate(lines_apart(block, source)) if (number, part) not in taken]
        yield from (joined_lines(apart[one:two]) for one, two in pairwise(runs))


def _names_work(row: str) -> bool:
    return has_date_or_id(row) and any(starts_with_names(cell) or is_bare_id(cell) for cell in row.split("\t"))


def _sentences(body: RunningText, spans: Sequence[Span], citations: Citations) -> Iterator[CitingSentence]:
    rows = [Span(one.start, one.end) for one in body.passages if one.block.kind == "row"]
    for span in (*spans, *rows):
        if references := citations.within(*span):
            whole, claim = body.text[slice(*span)], body.claim(span, citations)
            if len(_WORDS.findall(claim)) >= _LEAST_CLAIM:
                yield CitingSentence(clean_line(whole), claim, span.start, references)


def _quotations(
    body: RunningText, spans: Sequence[Span], citations: Citations, references: Sequence[DraftReference]
) -> Iterator[DraftQuotation]:
    written = " ".join(_key(one.text) for one in references)
    quotes = body.quotations()
    for span, cited in zip(quotes, attributed(quotes, spans, body.passages, citations), strict=True):
        words = body.claim(span, citations).strip(" \"“”„«»‹›'’‘")
        count = len(_WORDS.findall(words))
        if count >= (LEAST_QUOTED if cited else _UNATTRIBUTED_WORDS) and _key(words) not in written:
            yield DraftQuotation(words, span.start, cited)


def _key(text: str) -> str:
    return " ".join(_WORDS.findall(folded(text)))


def _remarks(
    references: Sequence[DraftReference],
    uncited: Sequence[DraftReference],
    found: FoundCitations,
    notes: Collection[str],
) -> Iterator[str]:
    """What is to be said of a draft as a whole: what has no entry, and entries that nothing cites."""
    listed = [one for one in references if not one.is_inline]
    if unknown := [one for one in found.unknown if one not in notes]:
        where = "but not in the list of references" if listed else "without a list of references, so not looked up"
        yield f"Cited, {where}: {_enumerated(unknown)}."
    labels = Counter(one.label for one in listed)  # a second list may begin at 1 again
    if uncited and len(uncited) < len(listed):
        named = [_name_of(one, named=labels[one.label] == 1) for one in uncited if not one.is_inline]
        yield f"In the list of references, but never cited: {_enumerated(named)}."


def _name_of(reference: DraftReference, *, named: bool) -> str:
    """A reference in a few words: its label, or the beginning of its text."""
    is_short = named and reference.label
    return f"[{reference.label}]" if is_short else f"“{clipped(clean_line(reference.text[:200]), 40)}”"


def _enumerated(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(clipped(name, 60) for name in names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
