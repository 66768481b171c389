"""Views of what a session's catalogue holds."""

from __future__ import annotations

from collections.abc import Sequence

from anyio.to_thread import run_sync

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.projection import Point, project
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.writing import batches
from deepcritical_mcp.models import Evidence, Publication, Text

READ_AT_ONCE = 200


async def placed(space: Space, catalogue: Catalogue, ids: Sequence[str], limit: int) -> dict[str, Point]:
    """The position of each of `ids` that has been embedded, at most `limit`, by id."""
    embedded = [id for id in dict.fromkeys(ids) if id in catalogue and catalogue[id].vector_count][:limit]
    found: dict[str, list[float]] = {}
    for some in batches(embedded, READ_AT_ONCE):
        rows = await run_sync(space.vectors, dict.fromkeys(some, 1), abandon_on_cancel=True)
        found.update((id, vectors[0].tolist()) for id, vectors in rows.items())
    points = await run_sync(project, list(found.values()), abandon_on_cancel=True)
    return dict(zip(found, points, strict=True))


def shown_items(catalogue: Catalogue, ids: Sequence[str]) -> dict[str, Evidence]:
    """The evidence with these ids, as far as there is some."""
    texts = {id: (found, found.text_with(id)) for id, found in catalogue.find(ids).items()}
    return {id: catalogue.shown(found, text) for id, (found, text) in texts.items() if text}


def stored_text(catalogue: Catalogue, id: str) -> tuple[Publication, Text] | None:
    """The text with that id (see `Publication.id_of`), and the publication that it belongs to."""
    publication = catalogue.find([id]).get(id)
    text = publication.text_with(id) if publication else None
    return (publication, text) if publication and text else None
