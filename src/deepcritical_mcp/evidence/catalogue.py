"""What a session holds in memory next to the vectors in Chroma: its publications, and what they are recognised by."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable

from deepcritical_mcp.evidence.chunking import indexed_text
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.identity import Identity, IdentityIndex, Match, Similarity, identity_of
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, words_of
from deepcritical_mcp.evidence.storage.rows import KeptItem
from deepcritical_mcp.models import Evidence, Publication, Text


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
        self._passages = 0

    @classmethod
    def of(cls, items: Iterable[KeptItem], calibration: Calibration | None) -> Catalogue:
        """The catalogue of items read back, whatever their order; of two with one id the first counts."""
        catalogue = cls(calibration)
        kept: dict[str, KeptItem] = {}
        for item in items:
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

    @property
    def passages(self) -> int:
        """How many vectors are kept."""
        return self._passages

    @property
    def latest(self) -> int:
        """When the last item was written (Unix milliseconds); 0 when there is none."""
        return self._latest

    def put(self, item: KeptItem) -> None:
        """Enter a publication, or its new state under the same id."""
        publication, id = item.publication, item.publication.id
        identity, words = identity_of(publication), words_of(indexed_text(publication))
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
            for other in item.similar:
                self._links.setdefault(id, {})[other] = None
                self._links.setdefault(other, {})[id] = None

    def update(self, items: Iterable[KeptItem]) -> list[str]:
        """Enter what another process has written meanwhile; returns the ids that are new or have changed."""
        news = [
            item
            for item in items
            if item.publication.id not in self._items or self._items[item.publication.id].written < item.written
        ]
        for item in news:
            self.put(item)
        return [item.publication.id for item in news]

    def resolve(self, id: str) -> str:
        """The id under which a publication is kept that goes by `id`, "" when there is none.

        A publication keeps the id under which it came in, so that a PMID or DOI that became known later leads there.
        """
        if id in self._items:
            return id
        kind, _, value = id.partition(":")
        with self._lock:
            return self._identities.by_number(kind, value)

    def publications(self, ids: Iterable[str]) -> list[Publication]:
        """The publications of those ids that are kept."""
        return [self._items[id].publication for id in ids if id in self._items]

    def evidence(self, ids: Iterable[str]) -> list[Evidence]:
        """The evidence of those ids that are kept, each naming what says nearly the same."""
        return [self.shown(publication) for publication in self.publications(ids)]

    def shown(self, publication: Publication, text: Text | None = None) -> Evidence:
        """A kept publication as evidence (by `text`, if given), with its links and the user's notes on it."""
        with self._lock:
            about = self._identities.notes_on(publication.id)
        notes = [text.content for note in self.publications(about) for text in note.texts]
        return Evidence.of(publication, text, similar=self.links(publication.id), notes=notes)

    def next_order(self) -> int:
        """The next free place in the order of arrival."""
        return self._next

    def ids(self) -> list[str]:
        """All ids in the order of arrival."""
        return list(self._items)

    def waiting(self) -> list[str]:
        """The ids that have no vectors yet."""
        return list(self._waiting)

    def where(self, condition: Callable[[Publication], bool]) -> list[str]:
        """The ids of the publications that fulfil `condition`."""
        return [id for id, item in list(self._items.items()) if condition(item.publication)]

    def links(self, id: str) -> tuple[str, ...]:
        """The ids of what says nearly the same as `id`."""
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
