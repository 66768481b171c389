"""The evidence of one session: added without duplicates, searched by meaning and by words."""

from __future__ import annotations

import asyncio
import math
import secrets
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import anyio
import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from deepcritical_mcp.deadline import TO_EMBED, TO_EMBED_FOR_ANSWER, seconds_for
from deepcritical_mcp.errors import SessionFullError
from deepcritical_mcp.evidence.adding import AddOutcome, Batch, Decision, NewPublication
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import EVERYTHING, Scope
from deepcritical_mcp.evidence.declarations import declared_one, taken_apart
from deepcritical_mcp.evidence.embedding.projection import Point, project
from deepcritical_mcp.evidence.paper_passages import (
    abstract_of,
    best_answers,
    by_part,
    missing_terms,
    score_sentences,
    shortened,
)
from deepcritical_mcp.evidence.passage_quotes import FIRST_PAGE, PassagePage, TextPlace, searched_at, with_sections
from deepcritical_mcp.evidence.searching import Found, Search, relevances, shared_words
from deepcritical_mcp.evidence.session_access import WRITTEN_AT_ONCE, SessionAccess, keep_removed, removed_items
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, Vector
from deepcritical_mcp.evidence.text_index import WordScores
from deepcritical_mcp.evidence.uncertain import UncertainPair, uncertain_pairs
from deepcritical_mcp.excerpts import quoted
from deepcritical_mcp.models import (
    DocumentPassage,
    Evidence,
    Publication,
    RelatedEvidence,
    ScreeningMark,
    Text,
)
from deepcritical_mcp.text import batches, cut_at_sentence

EMBEDDED_AT_ONCE = 64
"""Publications, and passages of long texts, that a call embeds before it goes on; the rest is embedded in the
background."""
MAX_BEGINNING = 8_000
"""Characters of a text in a list of the session's evidence."""

T = TypeVar("T")


def shown_items(catalogue: Catalogue, ids: Sequence[str]) -> dict[str, Evidence]:
    """The evidence with these ids, as far as there is some."""
    texts = {id: (found, found.text_with(id)) for id, found in catalogue.find(ids).items()}
    return {id: catalogue.shown(found, text) for id, (found, text) in texts.items() if text}


def stored_text(catalogue: Catalogue, id: str) -> tuple[Publication, Text] | None:
    """The text with that id (see `Publication.id_of`), and the publication that it belongs to."""
    publication = catalogue.find([id]).get(id)
    text = publication.text_with(id) if publication else None
    return (publication, text) if publication and text else None


class EvidenceStore(SessionAccess):
    """One session's evidence; created by `SessionRegistry`.

    Every method opens the session if needed. It raises SessionNotFoundError if the session has been dropped, and
    EvidenceStoreError if it cannot be read or written; evidence acknowledged earlier is not lost.
    """

    def warnings(self, ids: Collection[str] | None = None) -> tuple[str, ...]:
        """Warnings to include in results from this session; of what is not indexed yet only about these publications,
        if there are `ids`."""
        damage = self._space.rows.info.damage if self._space is not None else ""
        warnings = list(filter(None, (self._backend.warning, damage, self._embedder.warning)))
        if self._catalogue is not None and not self._embedder.failure:
            warnings += self._catalogue.unfinished(ids)
        return tuple(warnings)

    async def search_similar(self, query: str, *, max_results: int = 5) -> list[Evidence]:
        """The evidence that answers `query` best, by meaning and by words, best first; see `search`."""
        return list((await self.search(query, max_results=max_results)).evidence)

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
            if self._indexing is not None:
                await asyncio.wait({self._indexing}, timeout=seconds_for(TO_EMBED_FOR_ANSWER))
            seen = catalogue.changes
            shown = page or PassagePage(sys.maxsize, max_results)
            search = Search(catalogue, self.calibration, scope)
            found = await run_sync(search.best, query, words, vectors, min_relevance, shown, abandon_on_cancel=True)
            changed = await self._changed(found.evidence, catalogue, changes)
            if not changed and (not self._backend.shared or catalogue.changes == seen):
                return found

            def again() -> tuple[Found, int]:
                """While this process writes nothing."""
                search, changes = Search(catalogue, self.calibration, scope), catalogue.changes
                return search.best(query, catalogue.by_words(asked), vectors, min_relevance, shown), changes

            found, changes = await self._in_thread(again)
            return found.without(await self._changed(found.evidence, catalogue, changes))

    async def _changed(
        self, found: Iterable[Evidence | RelatedEvidence], catalogue: Catalogue, changes: int
    ) -> set[str]:
        """The ids of results whose texts were replaced, also by other processes, after the search began with the count
        `changes`: what was found in the earlier texts may not be in the present ones."""
        if self._backend.shared:
            await self._in_thread(catalogue.catch_up)
        return {one.id for one in found if catalogue.changed_since(one.id, changes)}

    async def sections(self, found: Found) -> list[Evidence]:
        """The evidence of a search, passages of long texts by the sections that they belong to; see `with_sections`."""
        async with self._session() as catalogue:
            return with_sections(found.evidence, [stored_text(catalogue, item.id) for item in found.evidence])

    async def best_passages(
        self, id: str, question: str, page: PassagePage = FIRST_PAGE
    ) -> tuple[tuple[DocumentPassage, ...], int]:
        """The passages of a stored text that answer `question` best, by meaning and by words alike, best first, those
        of a part together, rows of a table with its caption and header; and the offset of the next page, -1 if there
        is none. () for an unknown id. `id` is the text's, see `Publication.id_of`."""
        async with self._session() as catalogue:
            if (found := stored_text(catalogue, id)) is None:
                return (), -1
            publication, text = found
            vectors = await self._embedder.queries([question])
            if vectors is not None:
                await self._wait_for(publication.id, catalogue, seconds_for(TO_EMBED))
            vector = None if vectors is None else vectors[0]
            search = Search(catalogue, self.calibration)
            abstract = await abstract_of(self._embedder, publication, text, by_meaning=vector is not None)
            asked = (publication.id, text, question, vector, page, abstract)
            return await run_sync(search.within, *asked, abandon_on_cancel=True)

    async def text(self, id: str) -> tuple[Publication, Text] | None:
        """The stored text with that id (see `Publication.id_of`), and the publication that it belongs to."""
        return await self._read(lambda catalogue: stored_text(catalogue, id))

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
            held = catalogue.find([place.id for place in places])
            rows = [
                (place, one)
                for place in places
                if (publication := held.get(place.id))
                for one in searched_at(publication, publication.text_with(place.id), place)
            ]
            contents = [(place, one.content) for place, one in rows]
            scores = await score_sentences(self._embedder, question, [content for _, content in contents])
            found: dict[TextPlace, list[Evidence]] = {place: [] for place in places if place.id in held}
            for place, (at, chosen) in best_answers(contents, scores, length).items():
                brief = quoted(contents[at][1], chosen) if chosen else ""
                one = rows[at][1]
                for content, where in one.answers(chosen, brief) if chosen else ():
                    item = by_part(catalogue.shown(held[place.id], one.text), content)
                    found[place].append(item.model_copy(update=where))
            return found, {id: missing_terms(question, one) for id, one in held.items()}

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
                search, ids = Search(catalogue, self.calibration), {one.id for one in publications}
                held = await run_sync(search.vectors, ids, abandon_on_cancel=True)
                # Those of its short texts, or of long texts where there are no others.
                known = {id: some[: catalogue.layout(id).short or None] for id, some in held.items()}
                missing = [one for one in publications if one.id not in known]
                embedded = await self._embedder.publications(missing)
                if all(map(len, embedded)):
                    others = iter(embedded)
                    own = [known[one.id] if one.id in known else next(others) for one in publications]
                    return await run_sync(relevances, vectors[0], own, abandon_on_cancel=True)
            return await run_sync(shared_words, query, publications, abandon_on_cancel=True)

    async def get(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """The session's evidence with these ids; a PMID or DOI that became known later counts as an id."""
        return await self._read(lambda catalogue: shown_items(catalogue, ids))

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        """The session's publications with these ids, with all their texts, linked to nearly identical ones."""
        async with self._session() as catalogue:
            found = catalogue.find(ids)
            return {id: item.but(similar=catalogue.links(item.id)) for id, item in found.items()}

    async def places(self, ids: Sequence[str], *, limit: int) -> dict[str, Point]:
        """A map of `ids`: the position of each one that has been embedded, at most `limit`, by id."""
        async with self._session() as catalogue:
            embedded = [id for id in dict.fromkeys(ids) if catalogue.vectors(id)][:limit]
            vectors = await run_sync(catalogue.space.vectors, dict.fromkeys(embedded, 1), abandon_on_cancel=True)
            points = await run_sync(project, [some[0].tolist() for some in vectors.values()], abandon_on_cancel=True)
            return dict(zip(vectors, points, strict=True))

    async def meanings(self) -> dict[str, NDArray[np.float32]]:
        """One vector for each publication that has been embedded, by id: the mean of those of its short texts, or of
        its long ones where there are no others."""

        async with self._session() as catalogue:
            self._start_indexing(catalogue)
            counts = {id: catalogue.layout(id).short or catalogue.vectors(id) for id in catalogue.ids()}
            found = await run_sync(catalogue.space.vectors, counts, abandon_on_cancel=True)
            return {id: some.mean(axis=0) for id, some in found.items() if len(some)}

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        """For each publication, its id in the session; "" if the session does not have it."""
        return await self._read(lambda catalogue: identified(catalogue, publications))

    async def uncertain(self, ids: Collection[str]) -> list[UncertainPair]:
        """The pairs of one of these publications and any other that may be one."""
        async with self._session() as catalogue:
            known = [own for id in ids if (own := catalogue.resolve(id))]
            return await run_sync(uncertain_pairs, catalogue, known, abandon_on_cancel=True)

    async def page(self, offset: int, limit: int) -> list[Evidence]:
        """At most `limit` items from `offset` on, in insertion order; of a long text its beginning."""
        async with self._session() as catalogue:
            ids = catalogue.ids()[offset : offset + limit]
            shown = await run_sync(shown_items, catalogue, ids, abandon_on_cancel=True)
            return [by_part(one, cut_at_sentence(one.content, MAX_BEGINNING)) for one in shown.values()]

    async def ids(self) -> list[str]:
        """All ids in insertion order."""
        return await self._read(Catalogue.ids)

    async def count(self) -> int:
        """The number of publications in the session."""
        async with self._session() as catalogue:
            return len(catalogue)

    async def add_evidence(self, publications: Sequence[Publication], *, embed: bool = True) -> tuple[AddOutcome, ...]:
        """Add new publications, and merge known ones into what is stored; one outcome each, in order. Without `embed`
        they are found by words until they have been embedded in the background.

        If cancelled, each publication is either stored completely or not at all.

        Raises:
            SessionFullError: not all fit; `details["kept"]` holds the ids of those that were added.
        """
        async with self._session() as catalogue:
            return await self._add(publications, catalogue, embed=embed)

    async def set_statuses(self, publications: Sequence[Publication]) -> None:
        """Write the status of stored publications as these have it, and nothing else."""
        async with self._session() as catalogue:

            def change(current: Publication) -> KeptItem | None:
                id = catalogue.resolve(current.id)
                return _with_status(catalogue.item(id), current) if id else None

            await self._change(publications, change, catalogue)

    async def set_claims(self, publications: Sequence[Publication]) -> None:
        """Write what stored publications claim to be as these have it, and nothing else."""
        async with self._session() as catalogue:

            def change(current: Publication) -> KeptItem | None:
                if not (id := catalogue.resolve(current.id)):
                    return None
                item, claims = catalogue.item(id), {"claims": current.claims}
                given = tuple(one.model_copy(update=claims) if one.claims else one for one in item.given)
                return replace(item, publication=item.publication.model_copy(update=claims), given=given)

            await self._change(publications, change, catalogue)

    async def decide(self, marks: Sequence[ScreeningMark]) -> list[tuple[Publication, Publication] | None]:
        """Write the user's decisions and tags, in order but all at one time; those about a note hold for the paper
        that it is about. Gives each one's publication before and after it; None if the session does not have it."""
        found: list[tuple[Publication, Publication] | None] = []
        async with self._session() as catalogue:
            now = datetime.now(UTC)

            def change(mark: ScreeningMark) -> KeptItem | None:
                """Also in all that it was merged from: these may turn out to be several publications."""
                if not (id := catalogue.subject(mark.id)):
                    found.append(None)
                    return None
                item = catalogue.item(id)
                changes = mark.changes(item.publication, now)
                publication = item.publication.model_copy(update=changes)
                found.append((item.publication, publication))
                given = tuple(one.model_copy(update=changes) for one in item.given)
                return replace(item, publication=publication, given=given) if changes else None

            await self._change(marks, change, catalogue)
        return found

    async def rejoin(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Decide anew whether stored publications are the same, two by two, since what they claim has changed."""
        async with self._session() as catalogue:

            def write(pair: tuple[str, str]) -> None:
                known = [*dict.fromkeys(catalogue.resolve(id) for id in pair)]
                if all(known) and len(known) > 1:
                    Batch(catalogue, self.calibration).regroup(known)

            for pair in pairs:
                await self._write_alone(partial(write, pair))
            self._start_indexing(catalogue)

    async def declare_same(self, ids: Sequence[str]) -> list[Publication]:
        """Make one publication of those with these ids, whatever they say: see `declared_one`. Gives what became of
        them; () if the session does not have all of them."""
        return await self._regrouped(ids, partial(declared_one, mark=secrets.token_hex(4)), least=2)

    async def take_apart(self, id: str, content: str = "") -> list[Publication]:
        """Make of a publication what it was before it was declared to be one: see `taken_apart`."""
        return await self._regrouped([id], partial(taken_apart, content=content), least=1)

    async def _regrouped(
        self, ids: Sequence[str], change: Callable[[Sequence[Publication]], Sequence[Publication]], *, least: int
    ) -> list[Publication]:
        async with self._session() as catalogue:

            def write() -> list[Publication]:
                known = list(dict.fromkeys(catalogue.resolve(id) for id in ids))
                if not all(known) or len(known) < least:
                    return []
                return Batch(catalogue, self.calibration).regroup(known, change)

            found = await self._write_alone(write)
            self._start_indexing(catalogue)
            return found

    async def remove(self, ids: Sequence[str]) -> list[Publication]:
        """Remove the publications with these ids, with all their texts, and give them; `restore` brings them back."""
        async with self._session() as catalogue:

            def write() -> list[Publication]:
                known = list(dict.fromkeys(own for id in ids if (own := catalogue.resolve(id))))
                items = [catalogue.item(id) for id in known]
                gone = [name for id in known for name in catalogue.names(id)]
                if items:
                    keep_removed(catalogue.space, items)
                for id in known:
                    catalogue.remove(id)
                changed = [*(item.place for item in items), *catalogue.unlinked(gone)]
                for item in changed:
                    catalogue.put(item)
                catalogue.space.write(changed, {})
                return [item.publication for item in items]

            return await self._write_alone(write)

    async def restore(self, ids: Collection[str] = ()) -> list[Publication]:
        """Bring back what was removed within a day under these ids; without ids, what was removed last."""
        async with self._session() as catalogue:
            chosen = await run_sync(removed_items, catalogue.space, ids, abandon_on_cancel=True)
            outcomes = await self._add([member for one in chosen.values() for member in one.members], catalogue)
            await self._write_alone(lambda: catalogue.space.keep_documents(dict.fromkeys(chosen, "")))
            return list({outcome.publication.id: outcome.publication for outcome in outcomes}.values())

    async def _add(
        self, publications: Sequence[Publication], catalogue: Catalogue, *, embed: bool = True
    ) -> tuple[AddOutcome, ...]:
        decisions: list[Decision | None] = []
        room = EMBEDDED_AT_ONCE
        for block in batches(publications, EMBEDDED_AT_ONCE):
            vectors: list[Sequence[Vector]] = [()] * len(block)
            if embed:  # what is new
                known = await run_sync(identified, catalogue, block, abandon_on_cancel=True)
                unknown = [at for at, id in enumerate(known) if not id]
                found = await self._embedder.publications([block[at] for at in unknown], room)
                room = max(0, room - sum(len(some) - 1 for some in found if some))
                for at, some in zip(unknown, found, strict=True):
                    vectors[at] = some
            new = [*zip(block, vectors, strict=True)]
            for rows in batches(new, WRITTEN_AT_ONCE):
                decisions += await self._add_batch(catalogue, rows, embed=embed)
        outcomes = await run_sync(lambda: tuple(one.outcome(catalogue) for one in decisions if one))
        ids = {outcome.publication.id for outcome in outcomes}
        lacking = [id for id in catalogue.waiting() if id in ids]
        # Few passages are embedded now, more in the background.
        count = sum(len(passages) for *_, passages in catalogue.missing(lacking, EMBEDDED_AT_ONCE + 1))
        if embed and 0 < count <= EMBEDDED_AT_ONCE and not self._embedder.failure:
            while await self._index_more(lacking, catalogue):
                pass
        if lacking:
            self._start_indexing(catalogue)
        if left_out := len(decisions) - len(outcomes):
            added = [outcome.publication.id for outcome in outcomes if outcome.status == "added"]
            raise SessionFullError(
                f"The session is full: it holds {self._settings.max_evidence:,} items. {len(added)} new items from "
                f'this call were kept, {left_out} were not. Pass session_id="new" to continue in a fresh session.',
                details={"kept": added, "left_out": left_out},
            )
        return outcomes

    async def _change(self, causes: Sequence[T], change: Callable[[T], KeptItem | None], catalogue: Catalogue) -> None:
        """Rewrite stored items, in batches: `change` gives an item as it is after each cause. Their vectors stay."""

        def write(some: Sequence[T]) -> None:
            changed: dict[str, KeptItem] = {}
            for after in map(change, some):
                if after and after != catalogue.item(after.id):
                    changed[after.id] = after
                    catalogue.put(after)
            catalogue.space.write([*changed.values()], {})

        for some in batches(causes, WRITTEN_AT_ONCE):
            await self._write_alone(partial(write, some))

    async def _add_batch(
        self, catalogue: Catalogue, new: Sequence[NewPublication], *, embed: bool
    ) -> Sequence[Decision | None]:
        batch = Batch(catalogue, self.calibration, self._settings.max_evidence, self._settings.dedup_threshold)
        async with self._writing:
            decisions = await self._write(lambda: batch.add(new))
            # What could not be embedded, e.g. because the model is busy, is not tried again while others wait for this
            # session: the background does that.
            if embed and batch.changed and not self._embedder.failure:
                changed = [catalogue.item_or_successor(id).publication for id in sorted(batch.changed)]
                vectors = await self._embedder.publications(changed)
                rows = [(one, 0, some) for one, some in zip(changed, vectors, strict=True) if some]
                for some in batches(rows, WRITTEN_AT_ONCE):
                    await self._write(partial(batch.store_vectors, some))
        return decisions


def _with_status(item: KeptItem, current: Publication) -> KeptItem:
    """The item with that status. Of the descriptions that it was merged from, only the latest is marked as checked,
    since that one describes it best."""
    status, day, notices = current.status, current.status_checked, {"status_notices": current.status_notices}
    latest = max((one.status_checked for one in item.given), default="")

    def marked(one: Publication) -> Publication:
        checked = day if one.status_checked == latest else one.status_checked
        return one if one.is_users else one.with_status(status, checked, **notices)

    given = tuple(map(marked, item.given))
    return replace(item, publication=item.publication.with_status(status, day, **notices), given=given)


def identified(catalogue: Catalogue, publications: Sequence[Publication]) -> list[str]:
    """The id that each publication has in the session; "" if it is not there."""
    return [catalogue.place(publication).id for publication in publications]
