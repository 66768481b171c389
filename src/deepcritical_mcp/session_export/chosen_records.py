"""What of a session is exported, and its status asked for again before that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.lowlevel
from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import TO_RECHECK_EXPORT, seconds_for
from deepcritical_mcp.export import NOTES_IN, with_notes
from deepcritical_mcp.models import Publication
from deepcritical_mcp.models.screening import matches_mark
from deepcritical_mcp.search.witness import OutageRemark
from deepcritical_mcp.session_export.export_request import ExportRequest
from deepcritical_mcp.text import counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.search.witness import Witness

READ_AT_A_TIME = 200
"""Publications that are read, or rechecked, between two turns of other calls."""
MAX_REMARKS = 12


class ChosenRecords(NamedTuple):
    """What to export, the ids that the session does not have, how many notes were left out because they are not
    references, and how many items the session has in all."""

    publications: Sequence[Publication]
    missing: Sequence[str]
    notes: int
    total: int


async def chosen_records(store: EvidenceStore, request: ExportRequest) -> ChosenRecords:
    """The publications that a request selects, as its format lists them; a note on one of them is part of it."""
    everything = await _all_of(store)
    found = await store.publications(request.ids) if request.ids else everything
    listed, notes = await run_sync(_as_listed, everything, found, request, abandon_on_cancel=True)
    missing = [one for one in request.ids if one not in found]
    return ChosenRecords(listed, missing, notes, len(everything))


async def recheck(store: EvidenceStore, witness: Witness, ids: Sequence[str]) -> tuple[str, ...]:
    """Ask again for the status of what was read too long ago, within the time that a call has for it; gives remarks,
    and says how many records were not reached."""
    remarks, done = dict[str, None](), 0
    with anyio.move_on_after(seconds_for(TO_RECHECK_EXPORT)):
        for some in _batches(ids):
            told = await witness.refresh(store, some)
            remarks |= dict.fromkeys(told)
            done += len(some)
            if any(isinstance(one, OutageRemark) for one in told):
                break
    shown = [*remarks][:MAX_REMARKS]
    if more := len(remarks) - len(shown):
        shown.append(f"And {counted(more, 'more remark')} on the status of records.")
    if left := len(ids) - done:
        shown.append(
            f"The status of {counted(left, 'more record')} was not asked for again, for lack of time or because a "
            "service failed, and may be out of date. The next export continues there."
        )
    return tuple(shown)


async def _all_of(store: EvidenceStore) -> dict[str, Publication]:
    found: dict[str, Publication] = {}
    for some in _batches(await store.ids()):
        found |= await store.publications(some)
        await anyio.lowlevel.checkpoint()
    return found


def _as_listed(
    everything: dict[str, Publication], found: dict[str, Publication], request: ExportRequest
) -> tuple[list[Publication], int]:
    cited = everything if request.format == "jsonl" else with_notes(everything.values())
    chosen = {cited[one.id].id: cited[one.id] for one in found.values()}.values()
    wanted = [*_marked(chosen, request.marked)] if request.marked else [*chosen]
    listed = [one for one in wanted if request.format in NOTES_IN or not one.is_note]
    return listed, len(wanted) - len(listed)


def _marked(publications: Iterable[Publication], marked: str) -> Iterator[Publication]:
    return (one for one in publications if matches_mark(one, marked))


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + READ_AT_A_TIME] for start in range(0, len(ids), READ_AT_A_TIME))
