"""Files of a user's library into a session: every entry is read or named, and what the user decided elsewhere is taken
over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import InvalidInputError, SessionFullError, UnreadableDocumentError
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import FileResult, ScreeningMark, vancouver
from deepcritical_mcp.reading.library_entries import LibraryForm
from deepcritical_mcp.reading.reader_process import read_library_file
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.library.documents import MEDIA_TYPES, as_publication, read_own_document, recognized
from deepcritical_mcp.search.library.files import UserFiles, file_content, is_zotero, permitted_files
from deepcritical_mcp.search.library.keeping import keep_records
from deepcritical_mcp.search.library.records import read_entry
from deepcritical_mcp.search.library.zotero import import_zotero
from deepcritical_mcp.text import counted

FORMS: dict[LibraryForm, str] = {
    "ris": "RIS",
    "nbib": "PubMed's format",
    "wos": "Web of Science",
    "enw": "EndNote",
    "bibtex": "BibTeX",
    "json": "CSL-JSON",
    "xml": "EndNote XML",
    "csv": "table",
}


class Importer:
    """Adds files to a session."""

    def __init__(self, store: EvidenceStore, texts: FullTexts, zotero_url: str, progress: Progress) -> None:
        self._store = store
        self._texts = texts
        self._zotero_url = zotero_url
        self._progress = progress

    async def bring_in(self, files: UserFiles) -> AsyncIterator[FileResult]:
        """Add what a file has, all files of a folder, or what the user's Zotero has; each with what became of it.

        Raises:
            InvalidInputError: there is no such file that may be read.
            ProviderError: Zotero does not answer; the message says what to do.
        """
        if files.content:
            name = Path(files.name).name or "the text"
            yield await self._one(name, files.content.encode(), files.tags)
            return
        if is_zotero(files.name):
            yield await import_zotero(files.name, self._zotero_url, self._store, self._progress, files.tags)
            return
        paths = await run_sync(permitted_files, files.name, files.folders)
        for number, path in enumerate(paths, 1):
            if len(paths) > 1:
                await self._progress(number / len(paths), f"{path.name}, file {number:,} of {len(paths):,}")
            try:
                content = await run_sync(file_content, path)
            except InvalidInputError as error:
                yield FileResult(file=path.name, unread=(error.message,))
            else:
                yield await self._one(path.name, content, files.tags)

    async def _one(self, name: str, content: bytes, tags: Sequence[str]) -> FileResult:
        try:
            is_document = Path(name).suffix.lower() in MEDIA_TYPES or content.startswith(b"%PDF-")
            library = None if is_document else await read_library_file(content)
            if library and library.form:
                form = library.form
                records = await run_sync(lambda: [read_entry(one, form) for one in library.entries])
                result, _ = await keep_records(records, name, FORMS[form], self._store, self._progress, tags)
                return result
            return await self._document(content, name, tags)
        except (UnreadableDocumentError, SessionFullError) as error:
            return FileResult(file=name, unread=(error.message,))

    async def _document(self, content: bytes, name: str, tags: Sequence[str]) -> FileResult:
        """Add a document: as the full text of its publication if that is recognized, else as the user's own."""
        reading = await read_own_document(content, name)
        if reading is None or not reading.content:
            why = "there is no text in it" if reading else "it is none of the formats that can be read"
            return FileResult(file=name, unread=(f"{why}.",))
        record, outage = await recognized(reading, self._texts)
        publication = await run_sync(as_publication, reading, name, record)
        (outcome,) = await self._store.add_evidence([publication])
        kept = outcome.publication
        if new := [tag for tag in tags if tag not in kept.tags]:
            await self._store.decide([ScreeningMark(kept.id, tags=(*kept.tags, *new))])
        if record:
            detail = f"the full text of {kept.id}: {vancouver(record)}"
        else:
            sections = counted(len(reading.parts), "section") if reading.parts else "no sections"
            detail = f"kept as your own document {kept.id}, {sections}: no record has its title and author"
            detail = f"{detail}; {outage}" if outage else detail
        is_new = outcome.status == "added"
        told = " ".join((detail, *reading.remarks))
        return FileResult(file=name, new=int(is_new), known=int(not is_new), detail=told)
