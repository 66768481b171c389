"""A publication as the metadata of its records in Chroma."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from deepcritical_mcp.evidence.storage.rows import KeptItem, dumped, restored, sharing
from deepcritical_mcp.models import Publication

if TYPE_CHECKING:
    from chromadb.types import Metadata


def first_row(item: KeptItem) -> Metadata:
    """The metadata of the first record of an item, from which it can be read again."""
    return {
        "source": item.publication.source,
        "order": item.order,
        "parts": item.parts,
        "parts_of": "",
        "progressed": 0,
        "written": item.written,
        "similar": "\n".join(item.similar),
        "publication": dumped(item.publication),
        "given": json.dumps([dumped(one) for one in item.given]),
        "evidence": "",  # makes version 0.1 fail, which would otherwise show an empty session
    }


def progress_row(item: KeptItem) -> Metadata:
    """What changes in the first record when more passages have vectors; the rest of it stays, also what another process
    has just written there. If these are other texts, the vectors are not of their passages: `parts_of` tells."""
    return {"parts": item.parts, "parts_of": _digest(item.publication), "progressed": item.progressed}


def record_rows(item: KeptItem) -> list[Metadata]:
    """The metadata of all records of an item, one for each passage."""
    return [first_row(item), *[{"source": item.publication.source}] * (item.parts - 1)]


def item_of(row: Mapping[str, Any], embedded: bool) -> KeptItem:
    """The item that `first_row` was given; raises ValueError."""
    publication = restored(row["publication"])
    return KeptItem(
        publication=publication,
        order=int(row["order"]),
        parts=int(row["parts"]) if not (of := row.get("parts_of")) or of == _digest(publication) else 0,
        embedded=embedded,
        written=int(row["written"]),
        progressed=int(row.get("progressed", 0)),
        similar=tuple(filter(None, str(row.get("similar", "")).split("\n"))),
        given=tuple(map(partial(sharing, publication), map(restored, json.loads(row.get("given", "[]"))))),
    )


def _digest(publication: Publication) -> str:
    """Tells texts apart."""
    texts = "\n".join((publication.title, *(text.content for text in publication.texts)))
    return hashlib.blake2b(texts.encode(errors="replace"), digest_size=8).hexdigest()
