"""The evidence of one session: added without duplicates, searched by meaning and by words."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from typing import Literal, TypeVar

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import TO_EMBED_FOR_ANSWER, seconds_for
from deepcritical_mcp.errors import DeepCriticalError, EvidenceStoreError, SessionNotFoundError
from deepcritical_mcp.evidence import EVERYTHING, Scope
from deepcritical_mcp.evidence.adding import AddOutcome, without_duplicates
from deepcritical_mcp.evidence.anchors import with_anchor, with_sections
from deepcritical_mcp.evidence.answering import TextPlace
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.indexing import Indexing, unfinished
from deepcritical_mcp.evidence.passage_embedder import Embedder, PassageEmbedder
from deepcritical_mcp.evidence.projection import Point, project
from deepcritical_mcp.evidence.question_answers import answers_in
from deepcritical_mcp.evidence.searching import Found, Search, shared_words
from deepcritical_mcp.evidence.sentence_ranking import (
    beginning,
    by_part,
    shortened,
)
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.within import abstract_of
from deepcritical_mcp.evidence.writing import Writer, batches, identified
from deepcritical_mcp.models import CitationSource, DocumentPassage, Evidence, Publication, RelatedEvidence, Text

READ_AT_ONCE = 200

T = TypeVar("T")


class EvidenceStore:
    """One session's evidence; created by `SessionRegistry`.

    Every method opens the session if needed. It raises SessionNotFoundError if the session has been dropped, and
    EvidenceStoreError if it cannot be read or written; evidence acknowledged earlier is not lost.
    """

    def __init__(
        self,
        session_id: str,
        embedder: Embedder,
        open_session: Callable[[EvidenceStore], Awaitable[None]],
        *,
        batch: int,
        shared: bool,
        max_evidence: int,
        dedup_threshold: float | None = None,
    ) -> None:
        self.session_id = session_id
        self._embedder = PassageEmbedder(embedder)
        self._open_session = open_session
        self._shared = shared
        self._space: Space | None = None
        self._catalogue: Catalogue | None = None
        self._opening = anyio.Lock()
        self._writing = anyio.Lock()
        self._mutex = threading.Lock()
        self._indexing = Indexing(self._embedder, batch=batch, session=self._session, write=self._write_alone)
        self._writer = Writer(
            self._embedder,
            self._indexing,
            self._write,
            self._writing,
            batch=batch,
            max_evidence=max_evidence,
            dedup_threshold=dedup_threshold,
        )
        self._users = 0
        self._size = 0
        self.awake = False
        """Whether its indexes are in memory."""
        self._lost = False

    @property
    def busy(self) -> bool:
        """Whether a call is using the session now."""
        return self._users > 0

    @property
    def size(self) -> int:
        """The number of publications; 0 before the first call."""
        return len(self._catalogue) if self._catalogue is not None else self._size

    async def rest(self) -> None:
        """Give back the memory of the indexes, unless a call is using them; the next call builds them again."""
        async with self._opening:
            if self.awake and self._space is not None and not (self.busy or self._mutex.locked()):
                self._size = self.size
                self._catalogue, self.awake = None, False
                with anyio.CancelScope(shield=True), contextlib.suppress(EvidenceStoreError):
                    await run_sync(self._space.rest)

    @property
    def indexed(self) -> int:
        """The number of vectors or publications whose indexes are in memory, whichever is greater."""
        return max(self.size, self._catalogue.passages if self._catalogue is not None else 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to include in results from this session."""
        warnings = [self._embedder.warning] if self._embedder.warning else []
        if self._catalogue is not None and not self._embedder.failure:
            warnings += unfinished(self._catalogue)
        return tuple(warnings)

    async def add_evidence(self, publications: Sequence[Publication]) -> tuple[AddOutcome, ...]:
        """Add new publications, and merge known ones into what is stored; one outcome each, in order.

        If cancelled, each publication is either stored completely or not at all.

        Raises:
            SessionFullError: not all fit; `details["kept"]` holds the ids of those that were added.
        """
        async with self._session() as (space, catalogue):
            return await self._writer.add(publications, space, catalogue)

    async def set_statuses(self, publications: Sequence[Publication]) -> None:
        """Write the status of stored publications as these have it, and nothing else."""
        async with self._session() as (space, catalogue):
            await self._writer.set_statuses(publications, space, catalogue)

    async def search_similar(
        self,
        query: str,
        *,
        variants: Sequence[str] = (),
        max_results: int = 5,
        source: CitationSource | Literal["any"] = "any",
        min_relevance: float = 0.0,
    ) -> list[Evidence]:
        """The evidence that answers `query` best, by meaning and by words, best first; see `search`."""
        scope = Scope(source=None if source == "any" else source)
        found = await self.search(
            query, variants=variants, max_results=max_results, scope=scope, min_relevance=min_relevance
        )
        return list(found.evidence)

    async def search(
        self,
        query: str,
        *,
        variants: Sequence[str] = (),
        max_results: int = 5,
        scope: Scope = EVERYTHING,
        min_relevance: float = 0.0,
    ) -> Found:
        """The evidence in `scope` that answers `query` best, by meaning and by words.

        `variants` are rephrasings of the query. `relevance` is the cosine of the best passage to `query`, 0..1. Of
        nearly identical evidence only the best is returned; its `similar` names the others.
        """
        async with self._session() as (space, catalogue):
            asked = [query, *variants]
            vectors = await self._embedder.queries(asked)
            self._indexing.start(catalogue)
            await self._indexing.wait(seconds_for(TO_EMBED_FOR_ANSWER))
            search = Search(space, catalogue, self.calibration, scope)
            return await run_sync(search.best, asked, vectors, max_results, min_relevance, abandon_on_cancel=True)

    async def sections(self, found: Found) -> list[Evidence]:
        """The evidence of a search, passages of long texts by the sections that they belong to; see `with_sections`."""
        async with self._session() as (_, catalogue):
            return with_sections(found.evidence, [_found(catalogue, item.id) for item in found.evidence])

    async def best_passages(self, id: str, question: str, limit: int = 3) -> tuple[DocumentPassage, ...]:
        """The passages of a stored text that answer `question` best, by meaning and by words alike, best first; rows
        of a table with its caption and header. () for an unknown id. `id` is the text's, see `Publication.id_of`."""
        async with self._session() as (space, catalogue):
            if (found := _found(catalogue, id)) is None:
                return ()
            publication, text = found
            vectors = await self._embedder.queries([question])
            if vectors is not None:
                with anyio.move_on_after(seconds_for(TO_EMBED_FOR_ANSWER)):
                    await self._indexing.complete([publication.id], (space, catalogue))
            vector = None if vectors is None else vectors[0]
            search = Search(space, catalogue, self.calibration)
            abstract = await abstract_of(self._embedder, publication, text, by_meaning=vector is not None)
            asked = (publication.id, text, question, vector, limit, abstract)
            return await run_sync(search.within, *asked, abandon_on_cancel=True)

    async def text(self, id: str) -> tuple[Publication, Text] | None:
        """The stored text with that id (see `Publication.id_of`), and the publication that it belongs to."""
        async with self._session() as (_, catalogue):
            return _found(catalogue, id)

    async def passages(self, query: str, found: Found, lengths: Sequence[int]) -> tuple[Evidence, ...]:
        """The evidence of a search, each by the sentences that answer `query` best: about as many characters as
        `lengths` says, verbatim, with gaps marked."""
        # A table stays whole: rows are no sentences.
        texts = {
            part: len(part) if "\n|" in part else length for part, length in zip(found.parts, lengths, strict=True)
        }
        briefs = await shortened(self._embedder, query, texts)
        parts = zip(found.evidence, found.parts, strict=True)
        async with self._session() as (_, catalogue):
            return tuple(
                with_anchor(by_part(piece, briefs.get(part, part)), _found(catalogue, piece.id))
                for piece, part in parts
            )

    async def answers(
        self, question: str, places: Sequence[TextPlace], length: int
    ) -> tuple[dict[TextPlace, list[Evidence]], dict[str, set[str]]]:
        """The evidence at those places, each by the sentences that answer `question`, a text with parts by each part
        that answers; and the terms of the question that each of the publications does not contain, by id. Places that
        the session does not have are left out."""
        async with self._session() as (_, catalogue):
            return await answers_in(self._embedder, catalogue, question, places, length)

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        """Up to `limit` items close in meaning to `query`, closest first, except `exclude` and what is nearly identical
        to those. Empty if the model is not calibrated, since there is no threshold then."""
        async with self._session() as (space, catalogue):
            vectors = await self._embedder.queries([query])
            search = Search(space, catalogue, self.calibration)
            least = self.calibration.related_from if self.calibration else math.inf
            return await run_sync(search.closest, query, vectors, set(exclude), limit, least, abandon_on_cancel=True)

    async def relevance(self, query: str, publications: Sequence[Publication]) -> list[float]:
        """How relevant each publication is to `query`, 0..1, whether the session holds it or not."""
        async with self._session() as (space, catalogue):
            vectors = await self._embedder.queries([query])
            search = Search(space, catalogue, self.calibration)
            if vectors is None:
                return await run_sync(shared_words, query, publications, abandon_on_cancel=True)
            missing = [one for one in publications if not search.has_vectors(one.id)]
            embedded = await self._embedder.publications(missing)
            return await run_sync(search.relevances, vectors[0], publications, embedded, abandon_on_cancel=True)

    async def deduplicate(self, evidence: Sequence[Publication], threshold: float | None = None) -> list[Publication]:
        """`evidence` without duplicates, in order: descriptions of the same publication are merged into the first, and
        those at least as close in meaning as `threshold` (None = the model's `same_meaning`) are dropped, unless
        identifiers, dates or numbers differ or one negates the other. The session is neither read nor changed."""
        vectors = await self._embedder.publications(evidence)
        return await run_sync(
            without_duplicates, evidence, vectors, threshold, self.calibration, abandon_on_cancel=True
        )

    async def get(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """The session's evidence with these ids; a PMID or DOI that became known later counts as an id."""
        async with self._session() as (_, catalogue):
            return await run_sync(_shown, catalogue, ids, abandon_on_cancel=True)

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        """The session's publications with these ids, with all their texts, linked to nearly identical ones."""
        async with self._session() as (_, catalogue):
            found = catalogue.find(ids)
            return {id: item.model_copy(update={"similar": catalogue.links(item.id)}) for id, item in found.items()}

    async def places(self, ids: Sequence[str], *, limit: int) -> dict[str, Point]:
        """A map of `ids`: the position of each one that has been embedded, at most `limit`, by id."""
        async with self._session() as (space, catalogue):
            embedded = [id for id in dict.fromkeys(ids) if id in catalogue and catalogue[id].embedded][:limit]
            found: dict[str, list[float]] = {}
            for some in batches(embedded, READ_AT_ONCE):
                rows = await run_sync(space.vectors, dict.fromkeys(some, 1), abandon_on_cancel=True)
                found.update((id, vectors[0].tolist()) for id, vectors in rows.items())
            points = await run_sync(project, list(found.values()), abandon_on_cancel=True)
            return dict(zip(found, points, strict=True))

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        """For each publication, its id in the session; "" if the session does not have it."""
        async with self._session() as (_, catalogue):
            return await run_sync(identified, catalogue, publications, abandon_on_cancel=True)

    async def page(self, offset: int, limit: int) -> list[Evidence]:
        """At most `limit` items from `offset` on, in insertion order; of a long text its beginning."""
        async with self._session() as (_, catalogue):
            ids = catalogue.ids()[offset : offset + limit]
            shown = await run_sync(_shown, catalogue, ids, abandon_on_cancel=True)
            return [beginning(item) for item in shown.values()]

    async def keep_document(self, name: str, content: str) -> None:
        """Keep a text of up to a few MB that is no evidence, e.g. a report, in place of an earlier one of that name."""
        async with self._session() as (space, _):
            await self._write_alone(lambda: space.keep_document(name, content))

    async def document(self, name: str) -> str:
        """What was kept under that name; "" if nothing was."""
        async with self._session() as (space, _):
            return await run_sync(space.document, name, abandon_on_cancel=True)

    async def ids(self) -> list[str]:
        """All ids in insertion order."""
        async with self._session() as (_, catalogue):
            return catalogue.ids()

    async def count(self) -> int:
        """The number of publications in the session."""
        async with self._session() as (_, catalogue):
            return len(catalogue)

    @property
    def lost(self) -> bool:
        """Whether the open session turned out to be gone, or must be opened again."""
        return self._lost or not (self._space is None or self._space.usable)

    def attach(self, space: Space) -> None:
        """Use `space`, which is open, until `detach`."""
        self._space, self._catalogue, self._lost = space, None, False

    async def settle(self) -> None:
        """End the background work, before the space is closed."""
        await self._indexing.stop(self._mutex)

    def detach(self) -> None:
        """Stop using the open space; the next call opens it again."""
        self._space = self._catalogue = None
        self.awake = False

    @property
    def calibration(self) -> Calibration | None:
        """What was measured with the embedding model."""
        return self._embedder.calibration

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncGenerator[tuple[Space, Catalogue]]:
        self._users += 1
        try:
            if self._space is None or self._catalogue is None or self.lost:
                await self._open()
            space, catalogue = self._space, self._catalogue
            if space is None or catalogue is None:
                raise SessionNotFoundError()
            if self._shared:
                await run_sync(catalogue.catch_up, space, abandon_on_cancel=True)
            yield space, catalogue
        except SessionNotFoundError:
            self._lost = True
            raise
        except EvidenceStoreError:
            if self._space is None:  # another call deleted the session meanwhile
                raise SessionNotFoundError() from None
            raise
        finally:
            self._users -= 1

    async def _open(self) -> None:
        async with self._opening:
            if self._space is None or self.lost:
                await self._open_session(self)
            space = self._space
            if space is not None and self._catalogue is None:
                self.awake = True
                self._catalogue = await run_sync(Catalogue.of, space, abandon_on_cancel=True)

    async def _write(self, work: Callable[[], T]) -> T:
        """Do `work` in a worker thread, which finishes even if the call is cancelled; after a failure, the session is
        read again."""
        try:
            return await run_sync(self._alone, work, abandon_on_cancel=True)
        except DeepCriticalError:
            self._catalogue = None
            raise

    def _alone(self, work: Callable[[], T]) -> T:
        with self._mutex:  # the work of a cancelled call may not have ended yet
            return work()

    async def _write_alone(self, work: Callable[[], None]) -> None:
        async with self._writing:
            await self._write(work)


def _shown(catalogue: Catalogue, ids: Sequence[str]) -> dict[str, Evidence]:
    texts = {id: (found, found.text_with(id)) for id, found in catalogue.find(ids).items()}
    return {id: catalogue.shown(found, text) for id, (found, text) in texts.items() if text}


def _found(catalogue: Catalogue, id: str) -> tuple[Publication, Text] | None:
    publication = catalogue.find([id]).get(id)
    text = publication.text_with(id) if publication else None
    return (publication, text) if publication and text else None
