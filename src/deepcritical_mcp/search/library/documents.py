"""The user's own documents: PDF, Word, OpenDocument, HTML, Markdown and text. A paper is recognized by what its first
page says, checked against the record; everything else is the user's own."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Sequence
from itertools import dropwhile
from pathlib import PurePath
from typing import NamedTuple

from deepcritical_mcp.data_files import data_table
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
SECTIONS = {kind: frozenset(row.split(", ")) for kind, row in data_table(__file__, "paper_sections.txt").items()}
LEAST_SECTIONS = 3
OTHER_DOCUMENTS = {
    where: re.compile(rf" (?:{row.replace(', ', '|')}) ")
    for where, row in data_table(__file__, "other_documents.txt").items()
}
FIRST_WORDS = 40
PER_PAGE, MOST_PAGES = (600, 10_000), 100
"""Characters of a printed page, at least and at most; and pages of a paper of which this is known."""
LEAST_PHRASES, LEAST_SHARE = 20, 0.5
"""Phrases of an abstract, and the share of them that stands in its paper."""
LONG_PAPER = 12_000
"""Characters of a paper that has not the usual sections, but references; printed, twice as many."""
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
    """Whether a document has the abstract of a record, and is what follows it: built as a paper, as long as its pages
    can be, and not told to be something else, or somebody else's, at its beginning."""
    abstract = abstract_of(record)
    phrases, words = {*_phrases(tokens(abstract))}, tokens(f"{reading.abstract}\n{reading.content[:BEGINNING]}")
    present = _phrases(words)
    if len(phrases) < LEAST_PHRASES or len(phrases.intersection(present)) < LEAST_SHARE * len(phrases):
        return False
    headings = [" ".join(dropwhile(str.isdigit, tokens(title))) for part in reading.parts for title in part.path[-1:]]
    head = [*headings[:3], *words[: next(at for at, phrase in enumerate(present) if phrase in phrases)]]
    is_other = _is_told(head, "anywhere") or _is_told(words[:FIRST_WORDS], "first")
    stated = BARE_DOI.search(_first_page(reading))
    is_others = record.doi and stated is not None and normalize_doi(stated[0]) != normalize_doi(record.doi)
    least = len(abstract) + PREVIEW if is_printed else 2 * len(abstract) + LONG_TEXT
    pages = _page_count(record.pages)
    most = PER_PAGE[1] * (pages + 1) if pages else math.inf
    is_as_long = max(least, PER_PAGE[0] * pages) <= len(reading.content) <= most
    return is_as_long and _is_built_so(headings, len(reading.content), is_printed) and not is_other and not is_others


def _is_told(words: Sequence[str], where: str) -> bool:
    """Whether words say that a document is no paper but about one, or holds some."""
    return OTHER_DOCUMENTS[where].search(f" {' '.join(words)} ") is not None


def _is_built_so(headings: Sequence[str], length: int, is_printed: bool) -> bool:
    """Whether a text has most of the usual sections; or references and a certain length; or is printed and long."""
    kinds = {kind for kind, names in SECTIONS.items() if not names.isdisjoint(headings)}
    has_references = "references" in kinds and length >= LONG_PAPER
    return len(kinds - {"references"}) >= LEAST_SECTIONS or has_references or (is_printed and length >= 2 * LONG_PAPER)


def _page_count(pages: str) -> int:
    """The pages of "101-9", 9; 0 if they are not a range of numbers."""
    found = re.fullmatch(r"[A-Za-z]?([0-9]{1,7})-[A-Za-z]?([0-9]{1,7})", pages)
    if not found:
        return 0
    first, last = found[1], found[2]
    count = int(f"{first[: len(first) - len(last)]}{last}") - int(first) + 1
    return count if 1 < count <= MOST_PAGES else 0


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
