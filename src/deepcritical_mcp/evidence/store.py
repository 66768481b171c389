"""The evidence of one session: added without duplicates, searched by meaning and by words."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from itertools import groupby
from typing import Literal

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.deadline import TO_EMBED, TO_EMBED_FOR_ANSWER, seconds_for
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import EVERYTHING, Scope, everything_said
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.embedding.projection import Point, project
from deepcritical_mcp.evidence.paper_passages import (
    abstract_of,
    beginning,
    best_answers,
    by_part,
    missing_terms,
    score_sentences,
    shortened,
)
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.passage_quotes import FIRST_PAGE, PassagePage, TextPlace, searched_at, with_sections
from deepcritical_mcp.evidence.searching import Found, Search, relevances, shared_words
from deepcritical_mcp.evidence.session_access import batches
from deepcritical_mcp.evidence.text_index import WordScores
from deepcritical_mcp.evidence.writing import WritableSession, identified
from deepcritical_mcp.excerpts import quoted
from deepcritical_mcp.models import (
    CitationSource,
    DocumentPassage,
    Evidence,
    Publication,
    RelatedEvidence,
    Text,
)
from deepcritical_mcp.text import counted

READ_AT_ONCE = 200
MAX_NAMED = 3
"""Papers named in warnings."""
ORDERS = 100
"""Questions of which the order of the first page is remembered."""
OTHER_ORDER = (
    "The order has changed since the first page: texts were added or indexed, or the model failed. Passages may be "
    "repeated or missing; offset=0 begins again."
)

_has_other_order: ContextVar[bool] = ContextVar("has_other_order", default=False)


def unfinished(catalogue: Catalogue, ids: Collection[str] | None = None) -> list[str]:
    """Warnings about what is not indexed yet: "pubmed:1~2: 40 of 96 passages are still being indexed."; if there
    are `ids`, only about these publications."""
    wanted = [id for id in catalogue.waiting() if ids is None or id in ids]
    long, short = list[tuple[Publication, int]](), 0
    for publication, start, _ in catalogue.missing(wanted):
        if catalogue.layout(publication.id).has_long_texts:
            long.append((publication, start))
        else:
            short += 1
    more = counted(len(long) - MAX_NAMED, "more paper is", "more papers are")
    return [
        *(line for row in long[:MAX_NAMED] for line in _progress(*row, catalogue)),
        *([f"{more} still being indexed."] if len(long) > MAX_NAMED else []),
        *([f"{counted(short, 'item is', 'items are')} found by words only until embedded again."] if short else []),
    ]


def _progress(publication: Publication, start: int, catalogue: Catalogue) -> Iterator[str]:
    end = 0
    for _, group in groupby(catalogue.layout(publication.id).passages, key=lambda one: id(one.text)):
        text, *others = (one.text for one in group)
        total = 1 + len(others)
        end += total
        if text.parts and end > start:
            yield f"{publication.id_of(text)}: {min(total, end - start)} of {total} passages are still being indexed."


async def placed(catalogue: Catalogue, ids: Sequence[str], limit: int) -> dict[str, Point]:
    """The position of each of `ids` that has been embedded, at most `limit`, by id."""
    embedded = [id for id in dict.fromkeys(ids) if id in catalogue and catalogue[id].vectors][:limit]
    found: dict[str, list[float]] = {}
    for some in batches(embedded, READ_AT_ONCE):
        rows = await run_sync(catalogue.space.vectors, dict.fromkeys(some, 1), abandon_on_cancel=True)
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


async def answers_in(
    embedder: PassageEmbedder, catalogue: Catalogue, question: str, places: Sequence[TextPlace], length: int
) -> tuple[dict[TextPlace, list[Evidence]], dict[str, set[str]]]:
    """See `EvidenceStore.answers`."""
    held = catalogue.find([place.id for place in places])
    rows = [
        (place, one)
        for place in places
        if (publication := held.get(place.id))
        for one in searched_at(publication, publication.text_with(place.id), place)
    ]
    contents = [(place, one.content) for place, one in rows]
    scores = await score_sentences(embedder, question, [content for _, content in contents])
    found: dict[TextPlace, list[Evidence]] = {place: [] for place in places if place.id in held}
    for place, (at, chosen) in best_answers(contents, scores, length).items():
        brief = quoted(contents[at][1], chosen) if chosen else ""
        one = rows[at][1]
        for content, where in one.answers(chosen, brief) if chosen else ():
            item = by_part(catalogue.shown(held[place.id], one.text), content)
            found[place].append(item.model_copy(update=where))
    return found, {id: missing_terms(question, everything_said(one)) for id, one in held.items()}


class EvidenceStore(WritableSession):
    """One session's evidence; created by `SessionRegistry`.

    Every method opens the session if needed. It raises SessionNotFoundError if the session has been dropped, and
    EvidenceStoreError if it cannot be read or written; evidence acknowledged earlier is not lost.
    """

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to include in results of a search in this session."""
        return self.warnings_about(None)

    def warnings_about(self, ids: Collection[str] | None) -> tuple[str, ...]:
        """Warnings to include in results from this session; of what is not indexed yet only about these publications,
        if there are `ids`."""
        damage = self._space.info.damage if self._space is not None else ""
        warnings = list(filter(None, (self._warning, damage, self._embedder.warning)))
        if self._catalogue is not None and not self._embedder.failure:
            warnings += unfinished(self._catalogue, ids)
        return (*warnings, *([OTHER_ORDER] if _has_other_order.get() else []))

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
        page: PassagePage | None = None,
    ) -> Found:
        """The evidence in `scope` that answers `query` best, by meaning and by words: a page of passages, or at most
        `max_results` of them.

        `variants` are rephrasings of the query. `relevance` is the cosine of the best passage to `query`, 0..1. Of
        nearly identical evidence only the best is returned; its `similar` names the others.
        """
        async with self._session() as catalogue:
            asked = [query, *variants]
            words, vectors = list[WordScores](), None
            changes = catalogue.changes

            async def score_words() -> None:
                words.extend(await run_sync(catalogue.by_words, asked, abandon_on_cancel=True))

            async with anyio.create_task_group() as tasks:  # the model needs one core, and this another
                tasks.start_soon(score_words)
                vectors = await self._embedder.queries(asked)
            self._start_indexing(catalogue)
            await self._wait_for_index(seconds_for(TO_EMBED_FOR_ANSWER))
            seen = catalogue.changes
            shown = page or PassagePage(sys.maxsize, max_results)
            self._begin((query, *variants, scope, min_relevance), shown.offset, (seen, vectors is None))
            search = Search(catalogue, self.calibration, scope)
            found = await run_sync(search.best, query, words, vectors, min_relevance, shown, abandon_on_cancel=True)
            changed = await self._changed(found.evidence, catalogue, changes)
            if not changed and (not self._shared or catalogue.changes == seen):
                return found

            def again() -> tuple[Found, int]:
                """While this process writes nothing."""
                search, changes = Search(catalogue, self.calibration, scope), catalogue.changes
                return search.best(query, catalogue.by_words(asked), vectors, min_relevance, shown), changes

            found, changes = await self._in_thread(again)
            return found.without(await self._changed(found.evidence, catalogue, changes)) if self._shared else found

    def _begin(self, asked: tuple[object, ...], offset: int, order: object) -> None:
        """Remember the order of a first page; for a later page, whether it is that order still."""
        first = self._orders.setdefault(asked, order) if offset else order
        _has_other_order.set(first != order)
        self._orders[asked] = first
        while len(self._orders) > ORDERS:
            self._orders.pop(next(iter(self._orders)))

    async def _changed(
        self, found: Iterable[Evidence | RelatedEvidence], catalogue: Catalogue, changes: int
    ) -> set[str]:
        """The ids of what was replaced, also by other processes, since `changes` were counted: what was found in its
        earlier texts may not hold for the present ones."""
        if self._shared:
            await self._in_thread(catalogue.catch_up)
        return {one.id for one in found if catalogue.changed_since(one.id, changes)}

    async def sections(self, found: Found) -> list[Evidence]:
        """The evidence of a search, passages of long texts by the sections that they belong to; see `with_sections`."""
        async with self._session() as catalogue:
            return with_sections(found.evidence, [stored_text(catalogue, item.id) for item in found.evidence])

    async def best_passages(
        self,
        id: str,
        question: str,
        page: PassagePage = FIRST_PAGE,
        wanted: Callable[[str], bool] | None = None,
    ) -> tuple[tuple[DocumentPassage, ...], int]:
        """The passages of a stored text that answer `question` best, by meaning and by words alike, best first, those
        of a part together, rows of a table with its caption and header; and the offset of the next page, -1 if there
        is none. Only those with `wanted` anchors. () for an unknown id. `id` is the text's, see `Publication.id_of`."""
        async with self._session() as catalogue:
            if (found := stored_text(catalogue, id)) is None:
                return (), -1
            publication, text = found
            vectors = await self._embedder.queries([question])
            if vectors is not None:
                await self._wait_for(publication.id, catalogue, seconds_for(TO_EMBED))
            indexed = 0 if vectors is None else catalogue[publication.id].vectors
            self._begin((id, question), page.offset, (hash(text), indexed))
            vector = None if vectors is None else vectors[0]
            search = Search(catalogue, self.calibration)
            abstract = await abstract_of(self._embedder, publication, text, by_meaning=vector is not None)
            asked = (publication.id, text, question, vector, page, wanted, abstract)
            return await run_sync(search.within, *asked, abandon_on_cancel=True)

    async def text(self, id: str) -> tuple[Publication, Text] | None:
        """The stored text with that id (see `Publication.id_of`), and the publication that it belongs to."""
        async with self._session() as catalogue:
            return stored_text(catalogue, id)

    async def passages(self, query: str, found: Found, lengths: Sequence[int]) -> tuple[Evidence, ...]:
        """The evidence of a search; abstracts and notes by the sentences that answer `query` best: about as many
        characters as `lengths` says, verbatim, with gaps marked."""
        rows = list(zip(found.evidence, found.parts, lengths, strict=True))
        briefs = await shortened(self._embedder, query, {part: most for one, part, most in rows if not one.anchor})
        return tuple(by_part(one, part if one.anchor else briefs.get(part, part)) for one, part, _ in rows)

    async def answers(
        self, question: str, places: Sequence[TextPlace], length: int
    ) -> tuple[dict[TextPlace, list[Evidence]], dict[str, set[str]]]:
        """The evidence at those places, each by the sentences that answer `question`, a text with parts by each part
        that answers; and the terms of the question that each of the publications does not contain, by id. Places that
        the session does not have are left out."""
        async with self._session() as catalogue:
            return await answers_in(self._embedder, catalogue, question, places, length)

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        """Up to `limit` items close in meaning to `query`, closest first, except `exclude` and what is nearly identical
        to those. Empty if the model is not calibrated, since there is no threshold then."""
        async with self._session() as catalogue:
            changes = catalogue.changes
            # A model that is too busy for what must be known is not asked for this.
            vectors = None if self._embedder.failure else await self._embedder.queries([query])
            search = Search(catalogue, self.calibration)
            least = self.calibration.related_from if self.calibration else math.inf
            asked = (query, vectors, set(exclude), limit, least)
            found = await run_sync(search.closest, *asked, abandon_on_cancel=True)
            changed = await self._changed(found, catalogue, changes)
            return tuple(one for one in found if one.id not in changed)

    async def relevance(self, query: str, publications: Sequence[Publication]) -> list[float]:
        """How relevant each publication is to `query`, 0..1, whether the session holds it or not: by meaning, or of all
        by the words that they share with it, if the model fails."""
        async with self._session() as catalogue:
            vectors = await self._embedder.queries([query])
            if vectors is not None:
                search = Search(catalogue, self.calibration)
                known = await run_sync(search.known_vectors, publications, abandon_on_cancel=True)
                missing = [one for one in publications if one.id not in known]
                embedded = await self._embedder.publications(missing)
                if all(map(len, embedded)):
                    others = iter(embedded)
                    own = [known[one.id] if one.id in known else next(others) for one in publications]
                    return await run_sync(relevances, vectors[0], own, abandon_on_cancel=True)
            return await run_sync(shared_words, query, publications, abandon_on_cancel=True)

    async def get(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """The session's evidence with these ids; a PMID or DOI that became known later counts as an id."""
        async with self._session() as catalogue:
            return await run_sync(shown_items, catalogue, ids, abandon_on_cancel=True)

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        """The session's publications with these ids, with all their texts, linked to nearly identical ones."""
        async with self._session() as catalogue:
            found = catalogue.find(ids)
            return {id: item.model_copy(update={"similar": catalogue.links(item.id)}) for id, item in found.items()}

    async def places(self, ids: Sequence[str], *, limit: int) -> dict[str, Point]:
        """A map of `ids`: the position of each one that has been embedded, at most `limit`, by id."""
        async with self._session() as catalogue:
            return await placed(catalogue, ids, limit)

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        """For each publication, its id in the session; "" if the session does not have it."""
        async with self._session() as catalogue:
            return await run_sync(identified, catalogue, publications, abandon_on_cancel=True)

    async def page(self, offset: int, limit: int) -> list[Evidence]:
        """At most `limit` items from `offset` on, in insertion order; of a long text its beginning."""
        async with self._session() as catalogue:
            ids = catalogue.ids()[offset : offset + limit]
            shown = await run_sync(shown_items, catalogue, ids, abandon_on_cancel=True)
            return [beginning(item) for item in shown.values()]

    async def ids(self) -> list[str]:
        """All ids in insertion order."""
        async with self._session() as catalogue:
            return catalogue.ids()

    async def count(self) -> int:
        """The number of publications in the session."""
        async with self._session() as catalogue:
            return len(catalogue)

    @property
    def calibration(self) -> Calibration | None:
        """What was measured with the embedding model."""
        return self._embedder.calibration
