"""The catalogue of a session in step with the space that keeps it."""

from __future__ import annotations

from collections.abc import Sequence

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.storage.rows import KeptItem, Record, Vector, now
from deepcritical_mcp.evidence.storage.space import Space
from deepcritical_mcp.models import Publication

QUIET = 10_000
CLOCKS_DIFFER = 2_000
"""Milliseconds."""


def catalogue_of(space: Space, calibration: Calibration | None) -> Catalogue:
    """Everything that `space` holds."""
    return Catalogue.of((item for page in space.read() for item in page), calibration)


def catch_up(space: Space, catalogue: Catalogue) -> None:
    """Enter what other processes have written since the last look."""
    # Their clocks may be a little behind, as long as anybody is writing.
    since = catalogue.latest + 1 if now() - catalogue.latest > QUIET else catalogue.latest - CLOCKS_DIFFER
    for items in space.read(since=max(since, 1)):
        space.forget_vectors(catalogue.update(items))


def replace(space: Space, catalogue: Catalogue, rows: Sequence[tuple[Publication, Sequence[Vector]]]) -> None:
    """Write kept publications again, with these vectors for their present texts."""
    entries, written = [catalogue[publication.id] for publication, _ in rows], now()
    space.write(
        [
            Record(publication, entry.order, written, entry.similar, some)
            for (publication, some), entry in zip(rows, entries, strict=True)
        ]
    )
    for (publication, some), entry in zip(rows, entries, strict=True):
        if entry.embedded and entry.parts > len(some):
            space.remove_parts(publication.id, range(len(some), entry.parts))
        catalogue.put(KeptItem(publication, entry.order, len(some), True, written, entry.similar))
