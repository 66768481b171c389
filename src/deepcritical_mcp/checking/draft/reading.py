"""Reads a draft: its references, and the sentences and quotations that cite them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from deepcritical_mcp.checking.draft.author_year import folded
from deepcritical_mcp.checking.draft.cited_entries import (
    Citations,
    CitedEntry,
    DraftCitation,
    find_citations,
    numbered_by_place,
)
from deepcritical_mcp.checking.draft.citing_sentences import (
    Paragraph,
    claim_of,
    draft_paragraphs,
    row_claim,
    sentence_spans,
    table_rows,
)
from deepcritical_mcp.checking.draft.draft_parts import CitingSentence, Draft, DraftQuotation, DraftReference
from deepcritical_mcp.checking.draft.draft_quotations import LEAST_WORDS, attributed, quoted_spans, quoted_words
from deepcritical_mcp.checking.draft.draft_remarks import UNREAD_TABLE, draft_remarks
from deepcritical_mcp.checking.draft.entry_forms import is_bare_id, is_repeated
from deepcritical_mcp.checking.draft.footnotes import footnotes_in, unread_notes, with_marks_for_notes
from deepcritical_mcp.checking.draft.list_entries import ListEntry
from deepcritical_mcp.checking.draft.manager_files import FileEntry, ManagerEntries, listed_strings, manager_entries
from deepcritical_mcp.checking.draft.masking import blanked, one_spacing, without_code
from deepcritical_mcp.checking.draft.page_breaks import unbroken, without_page_breaks
from deepcritical_mcp.checking.draft.reference_lists import reference_lists
from deepcritical_mcp.checking.draft.reference_tables import has_unread_table, reference_tables
from deepcritical_mcp.checking.draft.several_works import works_apart
from deepcritical_mcp.checking.draft.short_notes import short_notes
from deepcritical_mcp.checking.draft.study_rows import study_tables
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.text import clean_line

MAX_DRAFT = 200_000
"""Characters of a draft."""
_WORDS = re.compile(r"[^\W\u3040-\u9fff]+|[\u3040-\u9fff]")
_LEAST_CLAIM = 2
"""Words."""
_UNATTRIBUTED_WORDS = 7
"""Words of a quotation with no reference near it: fewer are a term."""


def read_draft(text: str) -> Draft:
    """The references, citing sentences and quotations of a draft; in time linear in its length."""
    text = one_spacing(listed_strings(text))
    managed = manager_entries(text)
    if (managed.entries or managed.unread) and (managed.form == "csl-json" or not _has_sentences(text, managed)):
        return _file(managed)
    return _text(text, managed)


def _file(managed: ManagerEntries) -> Draft:
    references = [DraftReference(number, *_place(one), one.key) for number, one in enumerate(managed.entries, 1)]
    return Draft(managed.form, tuple(references), unread=tuple(managed.unread))


def _place(entry: FileEntry | ListEntry) -> tuple[str, int, int]:
    return entry.text, entry.start, entry.end


def _has_sentences(text: str, managed: ManagerEntries) -> bool:
    rest = blanked(text, managed.spans)
    return bool(re.search(r"\\[a-z]{0,8}cite|\[[^\[\]\n]{0,20}@|(?:^|\s)@\w", rest)) or len(_WORDS.findall(rest)) > 60


def _text(text: str, managed: ManagerEntries) -> Draft:
    bibtex = managed.entries
    body = without_page_breaks(without_code(blanked(text, managed.spans) if managed.spans else text))
    tables = [*reference_tables(body)]
    body = blanked(body, (one.span for one in tables))
    notes, unread = [*footnotes_in(body)], [*unread_notes(body)]
    body = blanked(body, ((one.start - len(one.label) - 4, one.end) for one in notes))
    body, within = with_marks_for_notes(body)
    notes += within
    studies = [*study_tables(body)]
    others = [UNREAD_TABLE] if has_unread_table(blanked(body, (one.span for one in studies))) else []
    bare = [entry for one in studies for entry in one.entries]
    lists = reference_lists(blanked(body, (one.span for one in studies if one.entries)))
    body = blanked(body, ((one.region.start, one.region.end) for one in lists))
    listed = [(entry, number) for number, one in enumerate(lists) for entry in one.entries]
    rows = [row for table in tables for row in table.entries]
    listed += [(one, 0) for one in (*rows, *bare)]
    if not bibtex and numbered_by_place(body, [one.label for one, _ in listed]):
        listed = [(one._replace(label=str(place)), number) for place, (one, number) in enumerate(listed, 1)]
    works = [(work, number) for entry, number in listed for work in works_apart(entry)]
    short = short_notes(works, [work for note in notes for work in works_apart(note)])
    listed = [*short.entries, *((one, 0) for one in short.others)]
    listed += [(ListEntry(one.text, one.start, one.end, one.key), 0) for one in bibtex]
    listed, entries = _without_repeated(listed)
    entries = [one._replace(labels=one.labels + short.labels.get(one.text, ())) for one in entries]
    starts = {one.start for one in bare}
    placed = [
        DraftCitation(one.start, one.end, (number,)) for number, (one, _) in enumerate(listed, 1) if one.start in starts
    ]
    found = find_citations(body, entries, [one.region.start for one in lists], placed)
    references = [
        DraftReference(number, one.text, one.start, one.end, one.label, apart=one.apart, says=one.says)
        for number, (one, _) in enumerate(listed, 1)
    ]
    references += [
        DraftReference(len(entries) + number, one.text, one.start, one.end, is_inline=True)
        for number, one in enumerate(found.inline, 1)
    ]
    unnumbered = [name for one in studies for name, row in one.unnumbered if not found.citations.within(*row)]
    # A table shows works; nobody cites its rows, unless it is the list and they have numbers.
    of_rows = {one.start for one in rows} if lists or not any(one.label for one in rows) else ()
    shown = {one.index for one in references if one.start in of_rows or (not one.label and is_bare_id(one.text))}
    blocks, citations = draft_paragraphs(body), found.citations
    spans = sentence_spans(body, blocks, [(one.start, one.end) for one in citations.all if one.is_mark])
    cited = citations.cited | shown
    remarks = draft_remarks(
        references, cited, found.unknown, found.other_years, short.unknown, unnumbered, unread, found.misnamed
    )
    return Draft(
        "text",
        tuple(references),
        tuple(sorted(_sentences(body, spans, citations), key=lambda one: one.start)),
        tuple(_quotations(body, blocks, spans, citations, references)),
        (*remarks, *others),
        tuple(managed.unread),
    )


def _without_repeated(
    listed: Sequence[tuple[ListEntry, int]],
) -> tuple[list[tuple[ListEntry, int]], list[CitedEntry]]:
    """The entries without those that only repeat the one before, whose labels it gets."""
    kept, entries = list[tuple[ListEntry, int]](), list[CitedEntry]()
    for one, section in listed:
        labels = (one.label,) if one.label else ()
        if entries and is_repeated(one.text):
            entries[-1] = entries[-1]._replace(labels=entries[-1].labels + labels)
        else:
            kept.append((one, section))
            entries.append(CitedEntry(one.text, labels, section))
    return kept, entries


def _sentences(text: str, spans: Sequence[Span], citations: Citations) -> Iterator[CitingSentence]:
    for span in spans:
        if references := citations.within(*span):
            whole = text[slice(*span)]
            claim = claim_of(unbroken(blanked(whole, citations.marks(*span))))
            if len(_WORDS.findall(claim)) >= _LEAST_CLAIM:
                yield CitingSentence(clean_line(unbroken(whole)), claim, span.start, references)
    for row in table_rows(text):
        if references := citations.within(*row):
            whole = text[slice(*row)]
            claim = row_claim(blanked(whole, citations.marks(*row)))
            if len(_WORDS.findall(claim)) >= _LEAST_CLAIM:
                yield CitingSentence(clean_line(whole), claim, row.start, references)


def _quotations(
    body: str,
    blocks: Sequence[Paragraph],
    spans: Sequence[Span],
    citations: Citations,
    references: Sequence[DraftReference],
) -> Iterator[DraftQuotation]:
    written = " ".join(_key(one.text) for one in references)
    quotes = quoted_spans(body, blocks)
    for span, cited in zip(quotes, attributed(quotes, spans, citations), strict=True):
        words = quoted_words(unbroken(blanked(body[slice(*span)], citations.marks(*span))))
        count = len(_WORDS.findall(words))
        if count >= (LEAST_WORDS if cited else _UNATTRIBUTED_WORDS) and _key(words) not in written:
            yield DraftQuotation(words, span.start, cited)


def _key(text: str) -> str:
    return " ".join(_WORDS.findall(folded(text)))
