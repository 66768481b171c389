"""The user's own documents: PDF, Word, OpenDocument, HTML, Markdown and text. A paper is recognized by what its first
page says, checked against the record; everything else is the user's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from anyio.to_thread import run_sync

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.evidence.identity import Identity, bears_out, identity_of
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import FILE, NO_TITLE, USER, Publication, Text, merged
from deepcritical_mcp.reading import PageReading, Reading
from deepcritical_mcp.reading.reader_process import read_document
from deepcritical_mcp.reading.user_text import read_own_text
from deepcritical_mcp.search.copies import page_as_claim
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.references import read_reference
from deepcritical_mcp.search.references.plain_text import stated_ids
from deepcritical_mcp.sources.lookup import Wanted
from deepcritical_mcp.text import clean_text, decoded

MEDIA_TYPES = {
    ".pdf": "application/pdf",
    ".docx": "application/x-office",
    ".odt": "application/x-office",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
}
OWN_TEXTS = (".md", ".markdown", ".txt", ".text", "")
MAX_PLAIN_TEXT = 5_000_000
"""Bytes."""
FIRST_PAGE = 4_000
"""Characters of a text within which it says what it is."""
MAX_TRIED = 4
"""Numbers on a first page that are looked up: its own, and some that it cites."""
LEAST_TITLE = 25
SECONDS = 15.0


async def read_own_document(content: bytes, name: str) -> Reading | None:
    """What a file says, with its title if it shows one; None for a kind of file that is not read.

    Raises:
        UnreadableDocumentError: it is damaged, protected, or has no text.
    """
    suffix = PurePath(name).suffix.lower()
    suffix = ".pdf" if content.startswith(b"%PDF-") else suffix
    if media_type := MEDIA_TYPES.get(suffix):
        return _titled(await read_document(content, media_type=media_type, url=f"file:///{PurePath(name).name}"))
    if suffix not in OWN_TEXTS or b"\0" in content[:1_000]:
        return None
    if len(content) > MAX_PLAIN_TEXT:
        raise UnreadableDocumentError(f"A text of more than {MAX_PLAIN_TEXT // 1_000_000} MB is not read: split it.")
    reading, title = await run_sync(lambda: read_own_text(clean_text(decoded(content))))
    return replace(reading, fields={"title": title} if title else {})


def _titled(page: PageReading) -> Reading:
    return page.reading


async def recognized(reading: Reading, texts: FullTexts) -> tuple[Publication | None, str]:
    """The record of the publication that a document is the text of: that to which a number or the title on its first
    page leads, if it has this title and author; None if there is none. And who could not be asked."""
    failures = dict[str, None]()
    page = identity_of(page_as_claim(reading))
    headings = " ".join(title for part in reading.parts[:3] for title in part.path)
    beginning = f"{headings}\n{reading.content[:FIRST_PAGE]}"
    stated = dict.fromkeys(one.ids for one in stated_ids(beginning) if any(one.ids))
    numbers = [RecordIds(**{name: str(reading.fields.get(name) or "") for name in RecordIds._fields}), *stated]
    wanted = [Wanted(one) for one in numbers if any(one)][:MAX_TRIED]
    for lookup in await texts.records.find(wanted, SECONDS) if wanted else ():
        failures |= dict.fromkeys(one.message for one in lookup.failures)
        for record in filter(None, (lookup.record, *lookup.others)):
            if _is_of(page, record):
                return record, ""
    for title in _titles(reading):
        (match,) = await texts.references.find([read_reference(f"{title}.")], SECONDS)
        failures |= dict.fromkeys(one.message for one in match.failures)
        for record, _ in (*match.accepted, *match.nearest):
            if _is_of(page, record):
                return record, ""
    return None, " ".join(failures)


def _is_of(page: Identity, record: Publication) -> bool:
    return bears_out(identity_of(record), page)


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
