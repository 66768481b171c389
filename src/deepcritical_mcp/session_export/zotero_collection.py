"""What a request selects of a session, in the collection of the user's Zotero that has the session's title."""

from __future__ import annotations

from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.search.library.zotero_export import export_to_zotero
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.session_export.whole_export import (
    ExportRequest,
    WholeExport,
    chosen_records,
    nothing_to_export,
    recheck,
)


async def sent_to_zotero(
    store: EvidenceStore, request: ExportRequest, address: str, witness: Witness, progress: Progress
) -> WholeExport:
    """What became of it, in words.

    Raises:
        InvalidInputError: there is nothing to export, or that Zotero cannot be written.
        ProviderError: it does not run, or its user refuses.
    """
    chosen = await chosen_records(store, request)
    if not chosen.publications:
        raise InvalidInputError(nothing_to_export(request, chosen))
    remarks = await recheck(store, witness, chosen.publications)
    chosen = await chosen_records(store, request)
    told, count = await export_to_zotero(chosen.publications, store.title or store.session_id[:11], address, progress)
    return WholeExport(request, [f"{told}\n"], count, tuple(chosen.missing), chosen.notes, remarks)
