"""Files of records into a session: every entry is read or named, and what the user decided elsewhere is taken over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import SessionFullError
from deepcritical_mcp.evidence.adding import AddOutcome
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import NO_ABSTRACT, LoggedQuery, Publication, ScreeningMark
from deepcritical_mcp.reading.library_entries import LibraryReading
from deepcritical_mcp.search.library.records import LibraryRecord, read_entry
from deepcritical_mcp.search.search_steps import new_entry
from deepcritical_mcp.text import batches, clean_line

AT_ONCE = 200
"""Records that are added in one step, after which progress is told."""
IMPORT = "import"
"""The tool of an entry of the search log for a file, and the beginning of its sources."""


@dataclass
class ImportedFile:
    """What became of a file of records.

    Attributes:
        read: entries that were read; `added` of them are new, the others were in the session or earlier in the file.
        without_abstract: of those that were read.
        decided: decisions that were taken over; `kept` are ids of publications with another decision, which stays.
        unread: what could not be read, with its line and the reason.
        left_out: records for which the session had no room.
        ids: the publications, in the order of the file.
    """

    name: str
    form: str
    read: int = 0
    added: int = 0
    without_abstract: int = 0
    decided: int = 0
    kept: list[str] = field(default_factory=list[str])
    unread: list[LibraryRecord] = field(default_factory=list[LibraryRecord])
    left_out: int = 0
    ids: list[str] = field(default_factory=list[str])
    databases: Counter[str] = field(default_factory=Counter[str])


async def import_records(reading: LibraryReading, name: str, store: EvidenceStore, progress: Progress) -> ImportedFile:
    """Add the records of a file, in its order; they are found by words at once, and embedded in the background."""
    form = reading.form
    records = await run_sync(lambda: [read_entry(one, form) for one in reading.entries if form])
    told = ImportedFile(name, form, unread=[one for one in records if one.publication is None])
    found = [(one, one.publication) for one in records if one.publication]
    outcomes = list[AddOutcome]()
    for some in batches(found, AT_ONCE):
        with suppress(SessionFullError):
            outcomes += await store.add_evidence([one for _, one in some], embed=False)
        await progress(len(outcomes) / len(found), f"{len(outcomes):,} of {len(found):,} records")
    # A full session keeps what it has: the records that it took come first.
    told.left_out = len(found) - len(outcomes)
    told.read = len(found)
    told.added = sum(one.status == "added" for one in outcomes)
    told.without_abstract = sum(one.text.content == NO_ABSTRACT for _, one in found)
    told.ids = [one.publication.id for one in outcomes]
    await _take_over([(record, one) for (record, _), one in zip(found, outcomes, strict=False)], told, store)
    await _log([(one, outcome) for (_, one), outcome in zip(found, outcomes, strict=False)], told, store)
    return told


async def _take_over(
    rows: Sequence[tuple[LibraryRecord, AddOutcome]], told: ImportedFile, store: EvidenceStore
) -> None:
    """Write the decisions and tags of a file where the session has none."""
    marks = list[ScreeningMark]()
    for record, outcome in rows:
        before, wanted = outcome.publication.screening, record.decision
        if wanted and before and wanted != before:
            told.kept.append(outcome.publication.id)
        verdict = wanted if not before else ""
        tags = tuple(dict.fromkeys((*outcome.publication.tags, *record.tags)))
        if verdict or tags != outcome.publication.tags:
            reason = record.decision_reason if verdict else ""
            mark = ScreeningMark(outcome.publication.id, verdict, reason, tags, by=f"in {told.name}")
            marks.append(mark)
            told.decided += bool(verdict)
    await store.decide(marks)


async def _log(rows: Sequence[tuple[Publication, AddOutcome]], told: ImportedFile, store: EvidenceStore) -> None:
    """An entry of the search log for each database that the records came from."""
    by_database = dict[str, list[AddOutcome]]()
    for publication, outcome in rows:
        database = next((one.database for one in publication.accessions), "")
        by_database.setdefault(database, []).append(outcome)
    for database, some in by_database.items():
        told.databases[database] = len(some)
        ids = tuple(dict.fromkeys(one.publication.id for one in some))
        query = LoggedQuery(query=clean_line(told.name), results=len(some))
        entry = new_entry(IMPORT, (), kind="file", source=f"{IMPORT}:{database}", title=database or "Library")
        new = sum(one.status == "added" for one in some)
        await store.log_search(
            entry.but(
                queries=(query,), total=len(some), examined=len(some), ids=ids, new=new, duplicates=len(some) - len(ids)
            )
        )
