"""What a session keeps in memory: its publications, and the indexes that identify and find them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from deepcritical_mcp.evidence.chunking import indexed_text
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import Identity, IdentityIndex, Match, Similarity, identity_of
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, words_of
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.rows import KeptItem, Vector, now
from deepcritical_mcp.models import Evidence, Publication, Text

QUIET = 10_000
CLOCKS_DIFFER = 2_000
"""Milliseconds."""


class Catalogue:
    """A session's publications with their identities, words and links. Thread-safe.

    Methods that the event loop calls take no lock: copying a dict to a list is atomic for other threads.
    """

    def __init__(self, calibration: Calibration | None = None) -> None:
        self._lock = threading.Lock()
        self._items: dict[str, KeptItem] = {}
        self._identities = IdentityIndex(calibration)
        self._words = LexicalIndex()
        self._links: dict[str, dict[str, None]] = {}
        self._waiting: dict[str, None] = {}
        self._next = 0
        self._latest = 0
        self.passages = 0
        """The number of stored vectors."""

    @classmethod
    def of(cls, space: Space, calibration: Calibration | None) -> Catalogue:
        """The catalogue of everything that `space` holds; of two items with the same id, the first wins."""
        catalogue = cls(calibration)
        kept: dict[str, KeptItem] = {}
        for item in (item for page in space.read() for item in page):
            kept.setdefault(item.publication.id, item)
        for item in sorted(kept.values(), key=lambda item: item.order):
            catalogue.put(item)
        return catalogue

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, id: str) -> bool:
        return id in self._items

    def __getitem__(self, id: str) -> KeptItem:
        return self._items[id]

    def put(self, item: KeptItem) -> None:
        """Add a publication, or replace its earlier state under the same id."""
        publication, id = item.publication, item.publication.id
        identity, words = identity_of(publication), words_of(indexed_text(publication))
        with self._lock:
            earlier = self._items.get(id)
            self.passages += _vectors(item) - _vectors(earlier)
            self._items[id] = item
            if item.embedded:
                self._waiting.pop(id, None)
            else:
                self._waiting[id] = None
            self._identities.add(id, identity)
            self._words.add(id, words)
            self._next = max(self._next, item.order + 1)
            self._latest = max(self._latest, item.written)
            for other in item.similar:
                self._links.setdefault(id, {})[other] = None
                self._links.setdefault(other, {})[id] = None

    def catch_up(self, space: Space) -> None:
        """Enter what other processes have written since the last look."""
        # Their clocks may be a little behind, as long as anybody is writing.
        since = self._latest + 1 if now() - self._latest > QUIET else self._latest - CLOCKS_DIFFER
        for items in space.read(since=max(since, 1)):
            news = [item for item in items if item.written > _written(self._items.get(item.publication.id))]
            for item in news:
                self.put(item)
            space.forget_vectors([item.publication.id for item in news])

    def embed_again(self, space: Space, rows: Sequence[tuple[Publication, Sequence[Vector]]]) -> None:
        """Write stored publications again, with these vectors for their present texts."""
        earlier = [self._items[publication.id] for publication, _ in rows]
        written = now()
        items = [
            replace(entry, publication=publication, parts=len(vectors), embedded=True, written=written)
            for (publication, vectors), entry in zip(rows, earlier, strict=True)
        ]
        space.write([(item, vectors) for item, (_, vectors) in zip(items, rows, strict=True)])
        for entry, item in zip(earlier, items, strict=True):
            if entry.embedded and entry.parts > item.parts:
                space.remove_parts(item.publication.id, range(item.parts, entry.parts))
            self.put(item)

    def resolve(self, id: str) -> str:
        """The id under which the publication `id` is stored; "" if there is none.

        A publication keeps its first id, and a PMID or DOI that became known later resolves to it.
        """
        if id in self._items:
            return id
        kind, _, value = id.partition(":")
        with self._lock:
            return self._identities.by_number(kind, value)

    def find(self, ids: Iterable[str]) -> dict[str, Publication]:
        """The publications with these ids, by id; unknown ids are skipped. See `resolve`."""
        kept = {id: self.resolve(id) for id in dict.fromkeys(ids)}
        return {id: self._items[kept[id]].publication for id in kept if kept[id]}

    def shown(self, publication: Publication, text: Text | None = None) -> Evidence:
        """A stored publication as evidence (showing `text`, if given), with its links and the user's notes."""
        with self._lock:
            about = self._identities.notes_on(publication.id)
        notes = [text.content for note in about for text in self._items[note].publication.texts]
        return Evidence.of(publication, text, similar=self.links(publication.id), notes=notes)

    def next_order(self) -> int:
        """The next free position in insertion order."""
        return self._next

    def ids(self) -> list[str]:
        """All ids in insertion order."""
        return list(self._items)

    def waiting(self) -> list[str]:
        """The ids without vectors yet."""
        return list(self._waiting)

    def where(self, condition: Callable[[Publication], bool]) -> list[str]:
        """The ids of the publications that fulfil `condition`."""
        return [id for id, item in list(self._items.items()) if condition(item.publication)]

    def links(self, id: str) -> tuple[str, ...]:
        """The ids of publications nearly identical to `id`."""
        return tuple(other for other in list(self._links.get(id, ())) if other in self._items)

    def identity(self, id: str) -> Identity:
        """The identity of `id`."""
        return self._identities[id]

    def match(self, identity: Identity, similarity: Similarity, close: Sequence[str] = ()) -> Match | None:
        """See `IdentityIndex.match`."""
        with self._lock:
            return self._identities.match(identity, similarity, close)

    def rivals(
        self, identity: Identity, similarity: Similarity, close: Sequence[str] = ()
    ) -> Mapping[str, list[Publication]]:
        """By id, what was merged into a stored publication by title and content although it could as well be this
        one, which is another."""
        with self._lock:
            return {
                id: free
                for id in self._identities.with_title(identity, close)
                if (given := self._items[id].given)
                and (free := [one for one in given if self._is_same_document(identity, one, similarity(id))])
                and len(free) < len(given)
            }

    def _is_same_document(self, identity: Identity, publication: Publication, cosine: float) -> bool:
        return self._identities.is_same_document(identity, identity_of(publication), cosine)

    def by_words(self, query: str) -> LexicalScores:
        """See `LexicalIndex.score`."""
        with self._lock:
            return self._words.score(query)


def _written(item: KeptItem | None) -> int:
    return item.written if item else -1


def _vectors(item: KeptItem | None) -> int:
    return item.parts if item and item.embedded else 0
