"""Files of a user's library into a session: every entry is read or named, and what the user decided elsewhere is taken
over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import InvalidInputError, SessionFullError, UnreadableDocumentError
from deepcritical_mcp.evidence.adding import AddOutcome
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import NO_ABSTRACT, FileResult, LoggedQuery, ScreeningMark, Verdict, vancouver
from deepcritical_mcp.reading.library_entries import LibraryForm, WrittenEntry
from deepcritical_mcp.reading.reader_process import read_library_file
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.library.documents import MEDIA_TYPES, as_publication, read_own_document, recognized
from deepcritical_mcp.search.library.files import UserFiles, file_content, permitted_files
from deepcritical_mcp.search.library.records import LibraryRecord, read_entry
from deepcritical_mcp.search.search_steps import new_entry
from deepcritical_mcp.text import batches, clean_line, counted

AT_ONCE = 200
"""Records that are added in one step, after which progress is told."""
MAX_LINES, MAX_PAIRS = 200, 20
"""Lines with one reason, and pairs, that an answer names."""
IMPORT = "import"
"""The tool of an entry of the search log for a file, and what its source begins with."""
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
_OF_COVIDENCE = re.compile(r"_(included|excluded|irrelevant)_csv_")
"""In the names of its files stands what was decided."""
_COVIDENCE_SAYS: dict[str, Verdict] = {"included": "included", "excluded": "excluded", "irrelevant": "excluded"}
Row = tuple[LibraryRecord, AddOutcome]


class Importer:
    """Adds files to a session."""

    def __init__(self, store: EvidenceStore, texts: FullTexts, progress: Progress) -> None:
        self._store = store
        self._texts = texts
        self._progress = progress

    async def bring_in(self, files: UserFiles) -> AsyncIterator[FileResult]:
        """Add what a file has, or all files of a folder; each with what became of it.

        Raises:
            InvalidInputError: there is no such file that may be read.
        """
        if files.content:
            name = Path(files.name).name or "the text"
            yield await self._one(name, files.content.encode(), files.tags)
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
                return await self.records(library.form, library.entries, name, tags)
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

    async def records(
        self, form: LibraryForm, entries: Sequence[WrittenEntry], name: str, tags: Sequence[str]
    ) -> FileResult:
        """Add the records of a library, in its order; they are found by words at once, and embedded in the
        background."""
        records = await run_sync(lambda: [read_entry(one, form) for one in entries])
        found = [(one, one.publication) for one in records if one.publication]
        outcomes = list[AddOutcome]()
        for some in batches(found, AT_ONCE):
            with suppress(SessionFullError):
                outcomes += await self._store.add_evidence([one for _, one in some], embed=False)
            told = f"{len(outcomes):,} of {counted(len(found), 'record')} of {name}"
            await self._progress(len(outcomes) / len(found), told)
        # A full session keeps what it has: the records that it took come first.
        rows = [(record, outcome) for (record, _), outcome in zip(found, outcomes, strict=False)]
        databases = await _log(rows, name, self._store)
        details = [FORMS[form], *(f"{count:,} from {database}" for database, count in databases.items() if database)]
        details += await _decided(rows, name, self._store, tags)
        if left := len(found) - len(rows):
            details.append(f"{counted(left, 'record')} not kept, because the session is full")
        new = sum(one.status == "added" for one in outcomes)
        return FileResult(
            file=name,
            read=len(found),
            new=new,
            known=len(outcomes) - new,
            without_abstract=sum(one.text.content == NO_ABSTRACT for _, one in found),
            unread=_unread(records),
            unsure=await self._unsure([one.publication.id for one in outcomes]),
            detail="; ".join(details),
        )

    async def _unsure(self, ids: Sequence[str]) -> tuple[str, ...]:
        """The pairs that may be one publication, and what differs."""
        pairs = await self._store.uncertain(ids)
        more = [f"and {len(pairs) - MAX_PAIRS:,} more such pairs"] if len(pairs) > MAX_PAIRS else []
        named = (f"{one} and {other}: {what or 'nothing else differs'}" for one, other, what in pairs[:MAX_PAIRS])
        return (*named, *more)


def _unread(records: Sequence[LibraryRecord]) -> tuple[str, ...]:
    """The lines that were not read, with those of one reason together."""
    lines = dict[str, list[str]]()
    for one in records:
        if one.publication is None:
            lines.setdefault(one.reason, []).append(f"{one.line:,}")
    named = ((reason, at[:MAX_LINES], len(at) - MAX_LINES) for reason, at in lines.items())
    return tuple(
        f"line{'s' if len(at) > 1 else ''} {', '.join(at)}{f' and {more:,} more' if more > 0 else ''}: {reason}"
        for reason, at, more in named
    )


async def _decided(rows: Sequence[Row], name: str, store: EvidenceStore, tags: Sequence[str]) -> list[str]:
    """Write the decisions and tags of a file; where the session has another decision, that stays. Says how many."""
    of_file = _OF_COVIDENCE.search(name)
    marks, other = list[ScreeningMark](), list[str]()
    for record, outcome in rows:
        kept = outcome.publication
        wanted = record.decision or (_COVIDENCE_SAYS[of_file[1]] if of_file else "")
        verdict = "" if kept.screening else wanted
        other += [kept.id] if wanted not in ("", kept.screening, verdict) else []
        new = tuple(dict.fromkeys((*kept.tags, *record.tags, *tags)))
        if verdict or new != kept.tags:
            reason = record.decision_reason if verdict else ""
            marks.append(ScreeningMark(kept.id, verdict, reason, new, by=f"in {name}"))
    await store.decide(marks)
    counts = Counter(mark.verdict for mark in marks if mark.verdict)
    told = [f"decisions taken over: {', '.join(f'{count:,} {one}' for one, count in counts.items())}"] if counts else []
    if other:
        more = f" and {len(other) - 5:,} more" if len(other) > 5 else ""
        told.append(f"decided otherwise in this session, which stays: {', '.join(other[:5])}{more}")
    return told


async def _log(rows: Sequence[Row], name: str, store: EvidenceStore) -> dict[str, int]:
    """Write an entry of the search log for each database that the records came from, "" for none; gives how many."""
    by_database = dict[str, list[AddOutcome]]()
    for record, outcome in rows:
        named = record.publication.accessions if record.publication else ()
        by_database.setdefault(next((one.database for one in named), ""), []).append(outcome)
    for database, some in by_database.items():
        ids = tuple(dict.fromkeys(one.publication.id for one in some))
        entry = new_entry(IMPORT, (), kind="file", source=f"{IMPORT}:{database}", title=database or "Library")
        found = {"total": len(some), "examined": len(some), "ids": ids, "duplicates": len(some) - len(ids)}
        new = sum(one.status == "added" for one in some)
        query = LoggedQuery(query=clean_line(name), results=len(some))
        await store.log_search(entry.but(queries=(query,), new=new, **found))
    return {database: len(some) for database, some in by_database.items()}
