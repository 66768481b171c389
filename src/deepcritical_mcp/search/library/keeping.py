"""Records of a user's library in a session: each is kept or named, with what the user decided about it elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import SessionFullError
from deepcritical_mcp.evidence.identity import contradict, identity_of
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.memory import settle
from deepcritical_mcp.models import NO_ABSTRACT, FileResult, LoggedQuery, Publication, ScreeningMark, Verdict
from deepcritical_mcp.search.library.records import LibraryRecord
from deepcritical_mcp.search.search_steps import new_entry
from deepcritical_mcp.text import batches, clean_line, counted

AT_ONCE = 200
"""Records that are added in one step, after which progress is told."""
MAX_LINES, MAX_PAIRS = 200, 20
"""Lines with one reason, and pairs, that an answer names."""
TABLE = "table"
"""What a form of records is called."""
IMPORT = "import"
"""The tool of an entry of the search log for a file, and what its source begins with."""
_OF_COVIDENCE = re.compile(r"_(included|excluded|irrelevant)_csv_")
"""In the names of its files stands what was decided."""
_COVIDENCE_SAYS: dict[str, Verdict] = {"included": "included", "excluded": "excluded", "irrelevant": "excluded"}


class Row(NamedTuple):
    """A record of a library, the publication in the session that it is, and whether that is new."""

    record: LibraryRecord
    kept: Publication
    is_new: bool


async def keep_records(
    records: Sequence[LibraryRecord],
    name: str,
    form: str,
    store: EvidenceStore,
    progress: Progress,
    tags: Sequence[str] = (),
) -> tuple[FileResult, list[Row]]:
    """Add records, in their order, from a source of this name and, in words, this form; gives what became of each, too.
    They are found by words at once, and embedded in the background."""
    found = [(one, one.publication) for one in records if one.publication]
    kept = await store.publications([one.own_id for one, _ in found if one.own_id])
    # Whoever writes an id into a table may mistake it: title, year and numbers tell.
    held = {
        id: publication
        for one, own in found
        if (publication := kept.get(id := one.own_id))
        and not contradict("document", identity_of(own), identity_of(publication))
    }
    rows = [Row(one, held[one.own_id], False) for one, _ in found if one.own_id in held]
    found = [(one, own) for one, own in found if one.own_id not in held]
    total = len(rows) + len(found)
    for some in batches(found, AT_ONCE):
        with suppress(SessionFullError):  # it keeps what it has
            outcomes = await store.add_evidence([one for _, one in some], embed=False)
            rows += [
                Row(one, new.publication, new.status == "added") for (one, _), new in zip(some, outcomes, strict=True)
            ]
        if len(some) == AT_ONCE:
            settle()
        await progress(len(rows) / total, f"{len(rows):,} of {counted(total, 'record')} of {name}")
    databases = await _log(rows, name, store)
    details = [form, *(f"{count:,} from {database}" for database, count in databases.items() if database)]
    details += await _decided(rows, name if form == TABLE else "", name, store, tags)
    if left := total - len(rows):
        details.append(f"{counted(left, 'record')} not kept, because the session is full")
    new = sum(one.is_new for one in rows)
    result = FileResult(
        file=name,
        read=total,
        new=new,
        known=len(rows) - new,
        without_abstract=sum(one.text.content == NO_ABSTRACT for _, one in found),
        unread=_unread(records),
        unsure=await _unsure([one.kept.id for one in rows], store),
        detail="; ".join(details),
    )
    return result, rows


async def _unsure(ids: Sequence[str], store: EvidenceStore) -> tuple[str, ...]:
    """The pairs that may be one publication, and what differs."""
    pairs = await store.uncertain(ids)
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


async def _decided(rows: Sequence[Row], table: str, name: str, store: EvidenceStore, tags: Sequence[str]) -> list[str]:
    """Write the decisions and tags of a file; where the session, or an earlier row, has another decision, that stays.
    Says how many. `table` is the name of a table, in which Covidence says what was decided."""
    of_file = _OF_COVIDENCE.search(table)
    marks, other = dict[str, ScreeningMark](), list[str]()
    for record, kept, _ in rows:
        before = marks.get(kept.id) or ScreeningMark(kept.id, "", "", kept.tags, by=f"in {name}")
        wanted = record.decision or (_COVIDENCE_SAYS[of_file[1]] if of_file else "")
        verdict = before.verdict or ("" if kept.screening else wanted)
        other += [kept.id] if wanted not in ("", kept.screening, verdict) else []
        reason = before.reason or (record.decision_reason if verdict and verdict == wanted else "")
        new = tuple(dict.fromkeys((*(before.tags or ()), *record.tags, *tags)))
        if verdict or new != kept.tags:
            marks[kept.id] = replace(before, verdict=verdict, reason=reason, tags=new)
    await store.decide([*marks.values()])
    counts = Counter(mark.verdict for mark in marks.values() if mark.verdict)
    told = [f"decisions taken over: {', '.join(f'{count:,} {one}' for one, count in counts.items())}"] if counts else []
    if undecided := sum(record.is_undecided for record, *_ in rows):
        told.append(f"{undecided:,} undecided there (maybe, or people disagree), as their notes say")
    if other:
        more = f" and {len(other) - 5:,} more" if len(other) > 5 else ""
        told.append(f"decided otherwise in this session or file before, which stays: {', '.join(other[:5])}{more}")
    return told


async def _log(rows: Sequence[Row], name: str, store: EvidenceStore) -> dict[str, int]:
    """Write an entry of the search log for each database that the records came from, "" for none; gives how many."""
    by_database = dict[str, list[Row]]()
    for row in rows:
        named = row.record.publication.accessions if row.record.publication else ()
        by_database.setdefault(next((one.database for one in named), ""), []).append(row)
    for database, some in by_database.items():
        ids = tuple(dict.fromkeys(one.kept.id for one in some))
        entry = new_entry(IMPORT, (), kind="file", source=f"{IMPORT}:{database}", title=database or "Library")
        found = {"total": len(some), "examined": len(some), "ids": ids, "duplicates": len(some) - len(ids)}
        new = sum(one.is_new for one in some)
        query = LoggedQuery(query=clean_line(name), results=len(some))
        await store.log_search(entry.but(queries=(query,), new=new, **found))
    return {database: len(some) for database, some in by_database.items()}
