"""Evidence, clocks and models for the tests of the evidence store."""

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.models import CitationSource, Publication, PublicationStatus, Text, TextKind, split_name
from deepcritical_mcp.reading import Section, assembled


def piece(
    content: str,
    title: str = "",
    *,
    source: CitationSource = "pubmed",
    pmid: str = "",
    doi: str = "",
    pmcid: str = "",
    url: str = "",
    date: str = "Unknown",
    authors: Sequence[str] = (),
    journal: str = "",
    status: PublicationStatus = "ok",
    found_by: Sequence[str] = (),
    keywords: Sequence[str] = (),
    provider: str = "",
) -> Publication:
    """A publication with only what a test cares about; what the user says is a note, what is on the web a page."""
    kinds: Mapping[CitationSource, TextKind] = {"user": "note", "web": "page"}
    return Publication.of(
        kinds.get(source, "abstract"),
        content,
        provider=provider or ("user" if source == "user" else "test"),
        source=source,
        title=title,
        url=url,
        date=date,
        authors=tuple(map(split_name, authors)),
        pmid=pmid,
        doi=doi,
        pmcid=pmcid,
        journal=journal,
        status=status,
        found_by=tuple(found_by),
        keywords=tuple(keywords),
    )


def paper(
    sections: Sequence[Section],
    title: str = "A paper",
    *,
    pmid: str = "",
    abstract: str = "",
    kind: TextKind = "full_text",
) -> Publication:
    """A publication with a full text, and an abstract if one is given."""
    content, parts = assembled(sections)
    whole = Text(kind=kind, content=content, provider="test", parts=parts)
    bare = Publication.of(kind, content, provider="test", source="pubmed", title=title, pmid=pmid)
    own = (Text(kind="abstract", content=abstract, provider="test"),) if abstract else ()
    return bare.model_copy(update={"texts": (*own, whole)})


def long_sections(topic: str, count: int) -> list[Section]:
    """Sections "Methods" and "Results" with `count` paragraphs each that only numbers tell apart."""
    return [
        Section(
            f"s{number}",
            [f"In step {at} of the {title.lower()}, {topic} was {word} again. " + FILLER for at in range(count)],
            path=(title,),
        )
        for number, title, word in ((1, "Methods", "weighed"), (2, "Results", "found"))
    ]


FILLER = "The animals were housed in groups of four and had free access to food. " * 4


class Clock:
    """Unix seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class HashingModel:
    """Vectors from the letters of the text: another model, and one that can be taken away."""

    def __init__(self, name: str = "hashing", dimension: int = 16) -> None:
        self.name = name
        self.calibration: Calibration | None = None
        self.missing = False
        self.embedded: list[str] = []
        self._dimension = dimension

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.missing:
            raise EmbeddingError("The embedding model cannot be loaded.")
        self.embedded += texts
        vectors = np.stack([np.random.default_rng(crc32(text.encode())).normal(size=self._dimension) for text in texts])
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await self.vectors(texts)
