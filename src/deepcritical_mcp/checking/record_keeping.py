"""The records of a draft's references, kept in the session as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError, SessionFullError
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import CheckedReference, Publication
from deepcritical_mcp.search.documents import DocumentId
from deepcritical_mcp.search.full_texts import FullTexts

MAX_OTHERS = 1_000
"""Publications of a session in which a quotation is looked for that does not stand where the draft says."""


@dataclass(frozen=True)
class KeptRecords:
    """Publications as the session has them, by the ids that they were found under; `error` says why some are not kept,
    "" if all are."""

    publications: Mapping[str, Publication] = field(default_factory=dict[str, Publication])
    error: str = ""


async def keep_records(publications: Sequence[Publication], session: EvidenceStore) -> KeptRecords:
    """Keep publications in the session. Those that cannot be kept are returned as they are."""
    new = {one.id: one for one in publications}
    if not new:
        return KeptRecords()
    try:
        outcomes = await session.add_evidence(list(new.values()))
        return KeptRecords({id: one.publication for id, one in zip(new, outcomes, strict=True)})
    except SessionFullError as error:
        known = await session.known(list(new.values()))
        held = await session.publications(list(filter(None, known)))
        kept = {id: held.get(other, new[id]) for id, other in zip(new, known, strict=True)}
        return KeptRecords(kept, f"Not all records could be kept as evidence: {error.message}")
    except (SessionBusyError, EvidenceStoreError) as error:
        return KeptRecords(new, f"The records could not be kept as evidence: {error.message}")


async def records_of(
    references: Sequence[CheckedReference], session: EvidenceStore, full_texts: FullTexts
) -> dict[int, Publication]:
    """The records of references that were checked earlier, by index; looked up again if the session was full."""
    named = {one.index: one.record for one in references if one.record}
    held = await session.publications([one.id for one in named.values()])
    missing = list({one.id: one for one in named.values() if one.id not in held}.values())
    if missing:
        wanted = [DocumentId(one.id, ids=RecordIds(pmid=one.pmid, doi=one.doi)) for one in missing]
        found = await full_texts.fetch(wanted, session, tool="")
        pairs = zip(missing, found, strict=True)
        held |= {one.id: record.publication for one, record in pairs if record.publication}
    return {index: held[one.id] for index, one in named.items() if one.id in held}


async def other_publications(session: EvidenceStore) -> list[Publication]:
    """The latest publications of the session, without what the user wrote about them."""
    ids = await session.ids()
    held = (await session.publications(ids[-MAX_OTHERS:])).values()
    return [without_notes(one) for one in held if not one.is_note]


def without_notes(publication: Publication) -> Publication:
    """The same without the user's notes, which are no part of it."""
    texts = tuple(one for one in publication.texts if one.kind != "note")
    return publication.model_copy(update={"texts": texts})
