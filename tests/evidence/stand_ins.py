"""Evidence, clocks and models for the tests of the evidence store."""

import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from zlib import crc32

import anyio
import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.session_access import Embedder
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
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


class HeldModel(HashingModel):
    """Answers queries at once, but embeds certain texts only when it is let."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension=dimension)
        self.holds: Callable[[Sequence[str]], bool] = lambda _: False
        self.asked, self.let = anyio.Event(), anyio.Event()

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.missing and self.holds(texts):
            self.asked.set()
            await self.let.wait()
        return await super().vectors(texts)

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await HashingModel.vectors(self, texts)


class Registries(Protocol):
    """Makes registries, each as a process of its own would; they are closed for the test."""

    def __call__(self, settings: Settings, model: Embedder | None = None) -> SessionRegistry: ...


@asynccontextmanager
async def registry_of(folder: Path, clock: Clock | None = None) -> AsyncGenerator[SessionRegistry]:
    """What a process has that keeps sessions in this folder."""
    settings = Settings(data_dir=folder)
    registry = SessionRegistry(settings, HashingModel(), open_backend(settings), clock=clock or Clock())
    yield registry
    await registry.aclose()


class Steps:
    """Kills its process at one of the steps that it is told of."""

    def __init__(self, point: int) -> None:
        self.left = point

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed_at_each_step(act: Callable[[int], Awaitable[None]]) -> None:
    """`act(1)`, `act(2)`, … each in a child that is killed at that step, until one of them runs to its end."""
    point, status = 0, signal.SIGKILL
    while os.WIFSIGNALED(status):
        point += 1
        child = os.fork()
        if not child:
            anyio.run(act, point)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
    sys.exit(os.waitstatus_to_exitcode(status))
