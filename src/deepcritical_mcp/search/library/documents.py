"""The user's own documents: PDF, Word, OpenDocument, HTML, Markdown and text. A paper is recognized by what its first
page says, checked against the record; everything else is the user's own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.evidence.identity import bears_out, identity_of
from deepcritical_mcp.evidence.titles import tokens
from deepcritical_mcp.identifiers import BARE_DOI, RecordIds, normalize_doi
from deepcritical_mcp.models import FILE, NO_ABSTRACT, NO_TITLE, USER, Publication, Text, merged
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.reading.reader_process import read_document
from deepcritical_mcp.search.copies import PREVIEW, page_as_claim
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.references import read_reference
from deepcritical_mcp.search.references.plain_text import stated_ids
from deepcritical_mcp.sources.lookup import Wanted

MEDIA_TYPES = {
    ".pdf": "application/pdf",
    ".docx": "application/x-office",
    ".odt": "application/x-office",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    **dict.fromkeys((".md", ".markdown", ".txt", ".text", ""), "text/markdown"),
}
MAX_PLAIN_TEXT = 5_000_000
"""Bytes."""
FIRST_PAGE = 4_000
"""Characters of a text within which it says what it is."""
MAX_TRIED = 4
"""Numbers on a first page that are looked up: its own, and some that it cites."""
LEAST_TITLE = 25
BEGINNING = 20_000
"""Characters of a document among which the abstract of its paper stands."""
SECTIONS = [frozenset(row.split(", ")) for row in data_lines(__file__, "paper_sections.txt")]
OTHER_DOCUMENTS = re.compile(rf" (?:{'|'.join(data_lines(__file__, 'other_documents.txt'))}) ")
LEAST_PHRASES, LEAST_SHARE = 20, 0.5
"""Phrases of an abstract, and the share of them that stands in its paper."""
LONG_PAPER = 12_000
"""Characters from which on a printed text with the title, author and abstract of a paper needs no usual sections."""
LONG_TEXT = 3_000
"""Characters beyond twice its abstract that the text of a paper has, if it is not printed."""
SECONDS = 15.0


async def read_own_document(content: bytes, name: str) -> Reading | None:
    """What a file says, with its title if it shows one; None for a kind of file that is not read.

    Raises:
        UnreadableDocumentError: it is damaged, protected, or has no text.
    """
    suffix = ".pdf" if content.startswith(b"%PDF-") else PurePath(name).suffix.lower()
    media_type = MEDIA_TYPES.get(suffix, "")
    is_text = media_type == "text/markdown"
    if not media_type or (is_text and b"\0" in content[:1_000]):
        return None
    if is_text and len(content) > MAX_PLAIN_TEXT:
        raise UnreadableDocumentError(f"A text of more than {MAX_PLAIN_TEXT // 1_000_000} MB is not read: split it.")
    return (await read_document(content, media_type=media_type, url=f"file:///{PurePath(name).name}")).reading


class Recognition(NamedTuple):
    """The record of the publication that a document is the text of, None if there is none; else the record whose title
    and author it has, though not its text; and who could not be asked."""

    record: Publication | None = None
    near: Publication | None = None
    outage: str = ""


async def recognized(reading: Reading, texts: FullTexts, *, is_printed: bool) -> Recognition:
    """What a document is the text of: the publication to which a number or the title on its first page leads, if it has
    this title, author and abstract. Letters, supplements and notes about a paper have the first two. A text that is not
    printed, as PDFs are, may be somebody's notes about an abstract, and must be much longer."""
    failures = dict[str, None]()
    page = identity_of(page_as_claim(reading))
    stated = dict.fromkeys(one.ids for one in stated_ids(_first_page(reading)) if any(one.ids))
    numbers = [RecordIds(**{name: str(reading.fields.get(name) or "") for name in RecordIds._fields}), *stated]
    wanted = [Wanted(one) for one in numbers if any(one)][:MAX_TRIED]
    near: Publication | None = None
    async for record in _candidates(reading, wanted, texts, failures):
        if bears_out(identity_of(record), page):
            if _is_text_of(reading, record, is_printed=is_printed):
                return Recognition(record)
            near = near or record
    return Recognition(None, near, " ".join(failures))


async def _candidates(
    reading: Reading, wanted: Sequence[Wanted], texts: FullTexts, failures: dict[str, None]
) -> AsyncIterator[Publication]:
    """The records to which numbers lead, then those to which titles do; and why some could not be looked up."""
    for lookup in await texts.records.find(wanted, SECONDS) if wanted else ():
        failures |= dict.fromkeys(one.message for one in lookup.failures)
        for record in filter(None, (lookup.record, *lookup.others)):
            yield record
    for title in _titles(reading):
        (match,) = await texts.references.find([read_reference(f"{title}.")], SECONDS)
        failures |= dict.fromkeys(one.message for one in match.failures)
        for record, _ in (*match.accepted, *match.nearest):
            yield record


def _is_text_of(reading: Reading, record: Publication, *, is_printed: bool) -> bool:
    """Whether a document has the abstract of a record, and is built as a paper: what describes another document before
    that, another paper's DOI, or too little after it speak against it."""
    abstract = abstract_of(record)
    phrases, words = {*_phrases(tokens(abstract))}, tokens(f"{reading.abstract}\n{reading.content[:BEGINNING]}")
    present = _phrases(words)
    if len(phrases) < LEAST_PHRASES or len(phrases.intersection(present)) < LEAST_SHARE * len(phrases):
        return False
    headings = [" ".join(tokens(title)) for part in reading.parts for title in part.path[-1:]]
    before = words[: next(at for at, phrase in enumerate(present) if phrase in phrases)]
    head = f" {' '.join((*headings[:3], *before))} "
    stated = BARE_DOI.search(_first_page(reading))
    is_others = record.doi and stated is not None and normalize_doi(stated[0]) != normalize_doi(record.doi)
    least = len(abstract) + PREVIEW if is_printed else 2 * len(abstract) + LONG_TEXT
    is_built_so = all(any(one in names for one in headings) for names in SECTIONS)
    is_built_so = is_built_so or (is_printed and len(reading.content) >= LONG_PAPER)
    return is_built_so and not is_others and not OTHER_DOCUMENTS.search(head) and len(reading.content) >= least


def _first_page(reading: Reading) -> str:
    """The first headings, and what stands below them."""
    headings = " ".join(title for part in reading.parts[:3] for title in part.path)
    return f"{headings}\n{reading.content[:FIRST_PAGE]}"


def abstract_of(record: Publication) -> str:
    """The longest abstract of a record; "" if it has none."""
    abstracts = [one.content for one in record.texts if one.kind == "abstract" and one.content != NO_ABSTRACT]
    return max(abstracts, key=len, default="")


def _phrases(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Every three words that follow one another."""
    return [*zip(words, words[1:], words[2:], strict=False)]


def _titles(reading: Reading) -> list[str]:
    """What may be the title: what the file calls so, else its first heading, else its first paragraph."""
    own = str(reading.fields.get("title") or "")
    heading = next((title for part in reading.parts[:2] for title in part.path), "")
    first = next((one for one in reading.content.split("\n\n")[:3] if LEAST_TITLE <= len(one) <= 300), "")
    return [one for one in dict.fromkeys((own, heading, first)) if LEAST_TITLE <= len(one) <= 300 and one != NO_TITLE]


def as_publication(reading: Reading, name: str, record: Publication | None) -> Publication:
    """A document as evidence: the full text of the publication with this `record`, else the user's own."""
    if record is None:
        title = str(reading.fields.get("title") or "") or name
        return Publication.of("note", reading.content, provider=USER, parts=reading.parts, source="user", title=title)
    text = Text(
        kind="full_text",
        content=reading.content,
        provider=FILE,
        parts=reading.parts,
        is_ocr=reading.is_ocr,
        remarks=reading.remarks,
    )
    return merged(record, record.but(texts=(text,)))
