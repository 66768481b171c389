"""Chooses what is exported of a session, and asks for its status again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.lowlevel
from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import TO_RECHECK_EXPORT, seconds_for
from deepcritical_mcp.export import NOTES_IN, with_notes
from deepcritical_mcp.models import Publication, publication_id
from deepcritical_mcp.models.screening import matches_mark
from deepcritical_mcp.search.witness import has_askable_status, named_with_days
from deepcritical_mcp.session_export.export_request import ExportRequest
from deepcritical_mcp.text import counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.search.witness import Witness

READ_AT_A_TIME = 200
"""Publications that are read, or rechecked, between two turns of other calls."""
MAX_REMARKS = 12
OF_ONE_EXPORT = 600.0
"""Seconds within which a further part belongs to the export whose first part was asked for."""


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


async def recheck(
    store: EvidenceStore, witness: Witness, publications: Sequence[Publication], *, is_first_part: bool = True
) -> tuple[str, ...]:
    """Ask again for the status of what is exported, within the time that a call has for it; gives remarks, and says
    which records were not reached. Those that were asked about longest ago come first. A further part of an export uses
    the answers given for the earlier parts."""
    oldest_first = sorted(publications, key=lambda one: one.status_checked)
    within, remarks, done = 0.0 if is_first_part else OF_ONE_EXPORT, dict[str, None](), 0
    with anyio.move_on_after(seconds_for(TO_RECHECK_EXPORT)):
        for some in _batches([*dict.fromkeys(map(_asked_about, oldest_first))]):
            asked = await witness.refresh(store, some, within=within)
            remarks |= dict.fromkeys(asked.remarks)
            done += len(some)
            if asked.is_down:
                break
    shown = [*remarks][:MAX_REMARKS]
    if more := len(remarks) - len(shown):
        shown.append(f"And {counted(more, 'more remark')} on the status of records.")
    if left := [one for one in oldest_first[done:] if has_askable_status(one)]:
        shown.append(
            f"The status of {named_with_days(left)} was not asked again, for lack of time or because a service failed, "
            "and may be out of date. The next export begins with these."
        )
    return tuple(shown)


def _asked_about(publication: Publication) -> str:
    """Its id; of a note, that of the paper whose status it is shown with."""
    return publication_id(publication.model_copy(update={"source": "web"})) if publication.about else publication.id


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
    wanted = [one for one in chosen if matches_mark(one, request.marked)]
    listed = [one for one in wanted if request.format in NOTES_IN or not one.is_note]
    return listed, len(wanted) - len(listed)


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + READ_AT_A_TIME] for start in range(0, len(ids), READ_AT_A_TIME))
