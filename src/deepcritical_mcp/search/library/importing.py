"""Files of a user's library into a session: every entry is read or named, and what the user decided elsewhere is taken
over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import InvalidInputError, SessionFullError, UnreadableDocumentError
from deepcritical_mcp.evidence.adding import AddOutcome
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import NO_ABSTRACT, FileResult, LoggedQuery, ScreeningMark, Verdict, vancouver
from deepcritical_mcp.reading.library_entries import LibraryForm, LibraryReading
from deepcritical_mcp.reading.reader_process import read_library_file
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.library.documents import MEDIA_TYPES, as_publication, read_own_document, recognized
from deepcritical_mcp.search.library.files import file_content, permitted_files
from deepcritical_mcp.search.library.records import LibraryRecord, read_entry
from deepcritical_mcp.search.search_steps import new_entry
from deepcritical_mcp.text import batches, clean_line, counted

AT_ONCE = 200
"""Records that are added in one step, after which progress is told."""
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


async def import_files(
    given: str,
    folders: Sequence[Path] | None,
    store: EvidenceStore,
    texts: FullTexts,
    progress: Progress,
    tags: Sequence[str] = (),
) -> list[FileResult]:
    """Add what the file at a path has, or all files of the folder there; each with what became of it. See
    `permitted_files` for `folders`; `tags` are put on everything.

    Raises:
        InvalidInputError: there is no such file that may be read.
    """
    paths, told = await run_sync(permitted_files, given, folders), list[FileResult]()
    for number, path in enumerate(paths, 1):
        if len(paths) > 1:
            await progress(number / len(paths), f"{path.name}, file {number:,} of {len(paths):,}")
        try:
            content = await run_sync(file_content, path)
            if path.suffix.lower() in MEDIA_TYPES or content.startswith(b"%PDF-"):
                told.append(await import_document(content, path.name, store, texts, tags))
                continue
            reading = await read_library_file(content)
            if reading.form:
                told.append(await import_records(reading, path.name, store, progress, tags))
            else:
                told.append(await import_document(content, path.name, store, texts, tags))
        except (InvalidInputError, UnreadableDocumentError, SessionFullError) as error:
            told.append(FileResult(file=path.name, unread=(error.message,)))
    return told


async def import_document(
    content: bytes, name: str, store: EvidenceStore, texts: FullTexts, tags: Sequence[str] = ()
) -> FileResult:
    """Add a document: as the full text of its publication if that is recognized, else as the user's own.

    Raises:
        UnreadableDocumentError: it is damaged or protected, or has no text.
        SessionFullError: it was not kept.
    """
    reading = await read_own_document(content, name)
    if reading is None or not reading.content:
        why = "there is no text in it" if reading else "it is none of the formats that can be read"
        return FileResult(file=name, unread=(f"{why}.",))
    record, outage = await recognized(reading, texts)
    publication = await run_sync(as_publication, reading, name, record)
    (outcome,) = await store.add_evidence([publication])
    if new := [tag for tag in tags if tag not in outcome.publication.tags]:
        await store.decide([ScreeningMark(outcome.publication.id, tags=(*outcome.publication.tags, *new))])
    kept, had_text = outcome.publication, f"{len(reading.parts)} sections" if reading.parts else "no sections"
    if record:
        detail = f"the full text of {kept.id}: {vancouver(record)}"
    else:
        detail = f"kept as your own document {kept.id}, {had_text}: no record has its title and author"
        detail = f"{detail}; {outage}" if outage else detail
    is_new = outcome.status == "added"
    return FileResult(file=name, added=int(is_new), known=int(not is_new), detail=" ".join((detail, *reading.remarks)))


async def import_records(
    reading: LibraryReading, name: str, store: EvidenceStore, progress: Progress, tags: Sequence[str] = ()
) -> FileResult:
    """Add the records of a file, in its order; they are found by words at once, and embedded in the background."""
    form = reading.form
    if not form:
        return FileResult(file=name, unread=("It is none of the formats that can be read.",))
    records = await run_sync(lambda: [read_entry(one, form) for one in reading.entries])
    return (await keep_records(records, name, FORMS[form], store, progress, tags))[0]


async def keep_records(
    records: Sequence[LibraryRecord],
    name: str,
    form: str,
    store: EvidenceStore,
    progress: Progress,
    tags: Sequence[str] = (),
) -> tuple[FileResult, list[Row]]:
    """Add records as `import_records` does, from a source of this name and, in words, this form; gives what became of
    each, too."""
    unread = tuple(f"line {one.line:,}: {one.reason}" for one in records if one.publication is None)
    found = [(one, one.publication) for one in records if one.publication]
    outcomes = list[AddOutcome]()
    for some in batches(found, AT_ONCE):
        with suppress(SessionFullError):
            outcomes += await store.add_evidence([one for _, one in some], embed=False)
        await progress(len(outcomes) / len(found), f"{len(outcomes):,} of {counted(len(found), 'record')} of {name}")
    # A full session keeps what it has: the records that it took come first.
    rows = [(record, outcome) for (record, _), outcome in zip(found, outcomes, strict=False)]
    databases = await _log(rows, name, store)
    details = [form, *(f"{count:,} from {database}" for database, count in databases.items() if database)]
    details += await _decided(rows, name, store, tags)
    if left := len(found) - len(rows):
        details.append(f"{counted(left, 'record')} not kept, because the session is full")
    added = sum(one.status == "added" for one in outcomes)
    result = FileResult(
        file=name,
        read=len(found),
        added=added,
        known=len(outcomes) - added,
        without_abstract=sum(one.text.content == NO_ABSTRACT for _, one in found),
        unread=unread,
        detail="; ".join(details),
    )
    return result, rows


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
