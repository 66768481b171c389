"""Sessions as version 0.2 kept them, written with Chroma itself."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from chromadb.api.client import Client
from chromadb.config import Settings as ChromaSettings
from chromadb.config import System
from chromadb.types import Metadata

from deepcritical_mcp.evidence.storage.stored_items import KeptItem, dumped, new_session_id
from deepcritical_mcp.models import Publication

FORMAT = {"format": 2}
LONG_AGO = 1_500_000_000.0
CARD = {"title": "Zinc", "created": 1.6e9, "items": 3, "searches": 1}


def kept_by_0_2(
    data_dir: Path,
    publications: Sequence[Publication],
    documents: Mapping[str, str] = {},
    *,
    owner: str = "",
    removed: Sequence[str] = (),
    metadata: Mapping[str, str | int] = FORMAT,
) -> Path:
    """The folder of a session with these publications (of the last, the model has made no vector) and documents, from
    which some publications were removed. All its files are old."""
    folder = data_dir / "sessions" / new_session_id()
    chroma = folder / "chroma"
    chroma.mkdir(parents=True)
    system = System(
        ChromaSettings(
            _env_file=None,  # pyright: ignore[reportCallIssue]
            anonymized_telemetry=False,
            is_persistent=True,
            persist_directory=str(chroma),
        )
    )
    system.start()
    client = Client.from_system(system)
    written_by_0_2(client, folder.name, publications, documents, removed=removed, metadata=metadata)
    client.close()
    (folder / "used").write_text(owner)
    (folder / "lock").touch()
    (folder / "session.json").write_text(json.dumps(CARD))
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def written_by_0_2(
    client: Client,
    session_id: str,
    publications: Sequence[Publication],
    documents: Mapping[str, str],
    *,
    removed: Sequence[str] = (),
    metadata: Mapping[str, str | int] = FORMAT,
) -> None:
    """The two collections of a session; see `kept_by_0_2`."""
    main, words = (
        client.create_collection(name, metadata=dict(metadata), embedding_function=None)
        for name in (session_id, f"{session_id}-words")
    )
    for order, one in enumerate(publications):
        is_last = order == len(publications) - 1
        item = KeptItem(one, order, 1 if is_last else 2)
        rows: list[Metadata] = [record_row(item, order + 1, part) for part in range(item.vectors)]
        ids = [f"{one.id}\n{part}" if part else one.id for part in range(len(rows))]
        dimension = 1 if is_last else 16
        vectors = np.random.default_rng(order).standard_normal((len(rows), dimension)).astype(np.float32)
        (words if is_last else main).add(ids=ids, embeddings=vectors, metadatas=rows)
    for name, text in documents.items():
        row: list[Metadata] = [{"document": text}]
        words.upsert(ids=[f"document\n{name}"], embeddings=np.ones((1, 1), np.float32), metadatas=row)
    for id in removed:
        main.delete(ids=[id, f"{id}\n1"])


def record_row(item: KeptItem, written: int, part: int) -> Metadata:
    if part:
        return {"source": item.publication.source}
    return {
        "source": item.publication.source,
        "order": item.order,
        "parts": item.vectors,
        "written": written,
        "similar": "\n".join(item.similar),
        "publication": dumped(item.publication),
        "given": json.dumps([dumped(one) for one in item.given]),
        "evidence": "",
    }
