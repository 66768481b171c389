"""What a session holds in memory beside the vectors in Chroma: its evidence, and what this is recognised by."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable

from deepcritical_mcp.evidence.chunking import own_title
from deepcritical_mcp.evidence.identity import Identity, IdentityIndex, Match, Similarity, identity_of
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, words_of
from deepcritical_mcp.evidence.storage.rows import KeptItem
from deepcritical_mcp.models import Evidence, Source


class Catalogue:
    """A session's evidence with its identities, words and links. Thread-safe.

    What the event loop may call waits for no lock: `list` of a dict is one step for other threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[str, KeptItem] = {}
        self._identities = IdentityIndex()
        self._words = LexicalIndex()
        self._links: dict[str, dict[str, None]] = {}
        self._waiting: dict[str, None] = {}
        self._next = 0
        self._latest = 0
        self._passages = 0

    @classmethod
    def of(cls, items: Iterable[KeptItem]) -> Catalogue:
        """The catalogue of items read back, whatever their order; of two under one id the first counts."""
        catalogue = cls()
        kept: dict[str, KeptItem] = {}
        for item in items:
            kept.setdefault(item.evidence.id, item)
        for item in sorted(kept.values(), key=lambda item: item.order):
            catalogue.put(item)
        return catalogue

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, id: str) -> bool:
        return id in self._items

    def __getitem__(self, id: str) -> KeptItem:
        return self._items[id]

    @property
    def passages(self) -> int:
        """Vectors kept in all."""
        return self._passages

    @property
    def latest(self) -> int:
        """When the last of it was written (Unix milliseconds); 0 when there is none."""
        return self._latest

    def put(self, item: KeptItem) -> None:
        """Enter evidence, or its new state under the same id."""
        evidence, id = item.evidence, item.evidence.id
        identity, words = identity_of(evidence), words_of(indexed_text(evidence))
        with self._lock:
            earlier = self._items.get(id)
            self._passages += _vectors(item) - (_vectors(earlier) if earlier else 0)
            self._items[id] = item
            if item.embedded:
                self._waiting.pop(id, None)
            else:
                self._waiting[id] = None
            self._identities.add(id, identity)
            self._words.add(id, words)
            self._next = max(self._next, item.order + 1)
            self._latest = max(self._latest, item.written)
            for other in evidence.similar:
                self._links.setdefault(id, {})[other] = None
                self._links.setdefault(other, {})[id] = None

    def update(self, items: Iterable[KeptItem]) -> list[str]:
        """Enter what another process has written meanwhile; the ids of what is new or has changed."""
        news = [
            item
            for item in items
            if item.evidence.id not in self._items or self._items[item.evidence.id].written < item.written
        ]
        for item in news:
            self.put(item)
        return [item.evidence.id for item in news]

    def evidence(self, ids: Iterable[str]) -> list[Evidence]:
        """The evidence of those ids that are kept, each naming what says nearly the same."""
        kept = [self._items[id].evidence for id in ids if id in self._items]
        return [piece.model_copy(update={"similar": self.links(piece.id)}) for piece in kept]

    def next_order(self) -> int:
        """The next free place in the order of arrival."""
        return self._next

    def ids(self) -> list[str]:
        """All ids in the order of arrival."""
        return list(self._items)

    def waiting(self) -> list[str]:
        """The ids that have no vectors yet."""
        return list(self._waiting)

    def of_source(self, source: Source) -> list[str]:
        """The ids of one source."""
        return [id for id, item in list(self._items.items()) if item.evidence.citation.source == source]

    def links(self, id: str) -> tuple[str, ...]:
        """The evidence that says nearly the same as `id`."""
        return tuple(other for other in list(self._links.get(id, ())) if other in self._items)

    def identity(self, id: str) -> Identity:
        """What `id` is recognised by."""
        return self._identities[id]

    def match(self, identity: Identity, similarity: Similarity, close: Collection[str] = ()) -> Match | None:
        """See `IdentityIndex.match`."""
        with self._lock:
            return self._identities.match(identity, similarity, close)

    def by_words(self, query: str) -> LexicalScores:
        """See `LexicalIndex.score`."""
        with self._lock:
            return self._words.score(query)


def _vectors(item: KeptItem) -> int:
    return item.parts if item.embedded else 0


def indexed_text(evidence: Evidence) -> str:
    """What of a piece of evidence is found by its words."""
    title = own_title(evidence)
    return f"{title}. {evidence.content}" if title else evidence.content
