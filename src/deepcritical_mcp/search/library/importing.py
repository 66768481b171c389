"""Files of a user's library into a session: every entry is read or named, and what the user decided elsewhere is taken
over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import InvalidInputError, SessionFullError, UnreadableDocumentError
from deepcritical_mcp.evidence.declarations import is_apart
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.memory import settle
from deepcritical_mcp.models import FileResult, ScreeningMark, vancouver
from deepcritical_mcp.reading.library_entries import LibraryForm
from deepcritical_mcp.reading.reader_process import read_library_file
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.library.documents import (
    Recognition,
    abstract_of,
    as_publication,
    read_own_document,
    recognized,
)
from deepcritical_mcp.search.library.files import UserFiles, file_content, is_zotero, permitted_files
from deepcritical_mcp.search.library.keeping import AT_ONCE, TABLE, keep_records
from deepcritical_mcp.search.library.records import LibraryRecord, read_entry
from deepcritical_mcp.search.library.zotero import import_zotero
from deepcritical_mcp.text import batches, clean_line, counted

FORMS: dict[LibraryForm, str] = {
    "ris": "RIS",
    "nbib": "PubMed's format",
    "wos": "Web of Science",
    "enw": "EndNote",
    "bibtex": "BibTeX",
    "json": "CSL-JSON",
    "xml": "EndNote XML",
    "csv": TABLE,
}

_DOCUMENTS = (b"%PDF-", b"PK\x03\x04")
"""What PDFs, Word's and OpenDocument's files begin with."""
TAKEN_BACK = "you took it back from the paper whose full text it was"
_HEADINGS = (
    "it is a table of something else: one of records has headings such as Title, Authors, Year, Journal, DOI, Abstract."
)


def _name(path: Path | str) -> str:
    """The name of a file, on one line."""
    return clean_line(Path(path).name)[:200]


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
            name = _name(files.name) or "the text"
            yield await self._one(name, files.content.encode(), files.tags)
            return
        if is_zotero(files.name):
            yield await import_zotero(files.name, self._zotero_url, self._store, self._progress, files.tags)
            return
        paths = await run_sync(permitted_files, files.name, files.folders)
        for number, path in enumerate(paths, 1):
            if len(paths) > 1:
                await self._progress(number / len(paths), f"{_name(path)}, file {number:,} of {len(paths):,}")
            try:
                content = await run_sync(file_content, path, files.folders)
            except InvalidInputError as error:
                yield FileResult(file=_name(path), unread=(error.message,))
            else:
                yield await self._one(_name(path), content, files.tags)

    async def _one(self, name: str, content: bytes, tags: Sequence[str]) -> FileResult:
        try:
            library = None if content.startswith(_DOCUMENTS) else await read_library_file(content)
            if library and library.form and not library.entries:
                return FileResult(file=name, unread=(f"it looks like {FORMS[library.form]}, but has no records.",))
            if library and library.form:
                form = library.form
                records = list[LibraryRecord]()
                for some in batches(library.entries, AT_ONCE):  # who cancels waits for no more than these
                    records += await run_sync(lambda these=some: [read_entry(one, form) for one in these])
                    if len(some) == AT_ONCE:
                        settle()
                result, _ = await keep_records(records, name, FORMS[form], self._store, self._progress, tags)
                return result
            return await self._document(content, name, tags)
        except (UnreadableDocumentError, SessionFullError) as error:
            return FileResult(file=name, unread=(error.message,))

    async def _document(self, content: bytes, name: str, tags: Sequence[str]) -> FileResult:
        """Add a document: as the full text of its publication if that is recognized, else as the user's own."""
        reading = await read_own_document(content, name)
        if reading is None or not reading.content:
            is_table = Path(name).suffix.lower() in (".csv", ".tsv")
            why = _HEADINGS if is_table else "it is none of the formats that can be read."
            return FileResult(file=name, unread=("there is no text in it." if reading else why,))
        own = await run_sync(as_publication, reading, name, None)
        was_apart = any(map(is_apart, (await self._store.publications([own.id])).values()))
        is_printed = content.startswith(b"%PDF-")
        found = Recognition() if was_apart else await recognized(reading, self._texts, is_printed=is_printed)
        publication = await run_sync(as_publication, reading, name, found.record) if found.record else own
        (outcome,) = await self._store.add_evidence([publication])
        kept = outcome.publication
        if new := [tag for tag in tags if tag not in kept.tags]:
            await self._store.decide([ScreeningMark(kept.id, tags=(*kept.tags, *new))])
        if found.record:
            is_kept = any(text.content == reading.content for text in kept.texts)
            stays = "" if is_kept else "; the session has another text of it, which stays"
            detail = f"the full text of {kept.id}: {vancouver(found.record)}{stays}"
        else:
            sections = counted(len(reading.parts), "section") if reading.parts else "no sections"
            has_abstract = found.near and abstract_of(found.near)
            lacks = "is not built as that paper" if has_abstract else "its record has no abstract to compare"
            near = found.near and (
                f"it has the title and author of {found.near.id}, but {lacks}; if it is its full text, add that "
                f'record, if it is not here yet, then items=[{{"id": "{kept.id}", "same_as": "{found.near.id}"}}]'
            )
            why = near or (TAKEN_BACK if was_apart else "no record has its title and author")
            detail = "; ".join(filter(None, (f"kept as your own document {kept.id}, {sections}: {why}", found.outage)))
        is_new = outcome.status == "added"
        told = " ".join((detail, *reading.remarks))
        return FileResult(file=name, new=int(is_new), known=int(not is_new), detail=told)
