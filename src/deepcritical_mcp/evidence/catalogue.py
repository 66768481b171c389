"""What a session keeps in memory: its publications, and the indexes that identify and find them."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError
from deepcritical_mcp.evidence.chunking import Passage
from deepcritical_mcp.evidence.clustering import (
    Cluster,
    LookupKey,
    Member,
    Placement,
    ReverseIndex,
    best_match,
    clusters_of,
    member_of,
)
from deepcritical_mcp.evidence.identity import (
    CLAIMED,
    SAME_DOCUMENT,
    Identity,
    base_id,
    conflict,
    identity_numbers,
    title_similarity,
)
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import GONE, KeptItem
from deepcritical_mcp.evidence.text_index import (
    IndexedTexts,
    Layout,
    TextIndex,
    WordScores,
    has_other_texts,
    is_passage,
    packed_texts,
    split_unit,
    unpacked_texts,
)
from deepcritical_mcp.identifiers import named_preprints, normalize_doi, record_ids
from deepcritical_mcp.models import Evidence, Publication, Text, merged, split_text_id
from deepcritical_mcp.text import counted

KEPT_FROM = 500
"""Number of publications or vectors from which reading what was derived is faster than deriving it again."""
MAX_NAMED = 3
"""Papers named in warnings."""
MAX_MEMBERS = 24
"""Descriptions that are compared with each other; the time grows with the cube of their number (24: 0.03 s)."""
STATUS_FIELDS = ("status", "status_notices", "status_checked")


def _version_numbers(publication: Publication) -> tuple[list[LookupKey], list[LookupKey]]:
    """The numbers of a publication, and those of the article that a preprint became, or of the preprints of an article;
    none of a note, which has the numbers of what it is about."""
    if publication.source == "user":
        return [], []
    own = ("pmid", publication.pmid), ("doi", normalize_doi(publication.doi)), ("ppr", publication.preprint_number)
    named: list[LookupKey] = []
    for notice in publication.status_notices:
        if notice.kind in ("published", "preprint"):
            named += ("pmid", notice.pmid), ("doi", normalize_doi(notice.doi))
            named += (("ppr", number) for number in named_preprints(notice.reference))
    return [number for number in own if number[1]], [number for number in named if number[1]]


class Catalogue:
    """A session's publications with their identities, words and links. Thread-safe.

    Methods that the event loop calls take no lock: copying a dict to a list is atomic for other threads.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._lock = threading.Lock()
        self._items: dict[str, KeptItem] = {}
        self._members: dict[str, Cluster] = {}
        self._keys = ReverseIndex[LookupKey]()
        """What each member can be looked up by: its numbers, its id, and the ends of its title."""
        self._texts = TextIndex()
        self._gone: dict[str, KeptItem] = {}
        self._links = ReverseIndex[str]()
        self._numbers, self._named = ReverseIndex[LookupKey](), ReverseIndex[LookupKey]()
        self._waiting: dict[str, None] = {}
        self.next_order = 0  # the next free position in insertion order
        self._changes: dict[str, int] = {}
        self.changes = 0
        """Counts up whenever the texts of a publication change, or its first vector arrives."""

        self.passages = 0
        """The number of stored vectors."""

        self._underived = set[str]()
        """The ids of which the space does not have what is derived from them."""

    @classmethod
    def of(cls, space: Space) -> Catalogue:
        """The catalogue of everything that `space` holds; of two items with the same id, the first wins."""
        catalogue, derived = cls(space), {row.key: row.value for row in space.rows.changed("derived")}
        kept: dict[str, KeptItem] = {}
        for item in space.read():
            kept.setdefault(item.id, item)
        # An item under an earlier id may have outlived its renaming: the later one takes its place.
        for item in sorted(kept.values(), key=lambda item: (bool(item.given), item.order)):
            known = unpacked_texts(item.publication, derived[item.id]) if item.id in derived else None
            catalogue.put(item, known)
            if known:
                catalogue._underived.discard(item.id)
        with contextlib.suppress(EvidenceStoreError, SessionBusyError):
            if stale := [id for id, item in kept.items() if id not in catalogue and item.order != GONE]:
                space.remove(stale)
        return catalogue

    def keep_derived(self) -> None:
        """Store what takes longest to derive from a large session next to it. It is a cache, and may be lost."""
        if self._underived and max(len(self), self.passages) >= KEPT_FROM:
            with self._lock:
                ids = [id for id in self._items if id in self._underived]
                found = {id: packed_texts(self._texts.texts(id), self._keys.keys(id)) for id in ids}
                self._underived.clear()
            self.space.keep_derived(found)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, id: str) -> bool:
        return id in self._items

    def item(self, id: str) -> KeptItem:
        """What is stored under exactly this id; KeyError if the id is not `in` the catalogue."""
        return self._items[id]

    def item_or_successor(self, id: str) -> KeptItem:
        """What is stored under an id that somebody found earlier, or what it was merged into since; if it was removed,
        what it was, until `forget_gone`."""
        return self._items.get(id) or self._items.get(self._owner(id)) or self._held(id)

    def _held(self, id: str) -> KeptItem:
        """What is stored under exactly this id, or was until it was removed."""
        return self._items.get(id) or self._gone[id]

    def vectors(self, id: str) -> int:
        """How many vectors the publication with that id has; 0 if there is none."""
        return item.vectors if (item := self._items.get(id)) else 0

    def put(self, item: KeptItem, texts: IndexedTexts | None = None) -> None:
        """Add a publication, or replace its earlier state under the same id, and under others if its members had
        them. `texts` are what is derived from it, if that is known."""
        publication, id = item.publication, item.id
        if item.order == GONE:
            self.remove(id)
            return
        known, keys = self._items.get(id), texts.keys if texts else None
        # With their keys known, what identifies them may never be needed.
        members = tuple(map(member_of if keys is None else Member, item.members))
        is_other = known is None or has_other_texts(known.publication, publication)
        if is_other and texts is None:
            texts = IndexedTexts.of(publication)
        with self._lock:
            earlier = self._items.get(id)
            self.passages += item.vectors - (earlier.vectors if earlier else 0)
            self._items[id] = item
            self._underived.add(id)
            if is_other or not (earlier and earlier.vectors):
                self.changes = self._changes[id] = self.changes + 1
            self._gone.pop(id, None)
            self._members[id] = members
            self._keys.put(id, {key for one in members for key in one.identity.keys} if keys is None else keys)
            for index, numbers in zip((self._numbers, self._named), _version_numbers(publication), strict=True):
                index.put(id, numbers)
            if texts is not None:
                self._texts.put(id, texts)
            if item.vectors >= self._texts.layouts[id].total:
                self._waiting.pop(id, None)
            else:
                self._waiting[id] = None
            if item.given:
                # Others that consist of the same members, before more joined them.
                others = {*self._keys.having(*(("id", member.identity.id) for member in members))} - {id}
                facts = [member.facts for member in members]
                for other in others:
                    if all(member.facts in facts for member in self._members[other]):
                        self._drop(other)
            self.next_order = max(self.next_order, item.order + 1)
            self._links.put(id, item.similar)

    def remove(self, id: str) -> None:
        """Forget what was stored under `id`, which was removed or has another id now. Calls that have already found it
        can still read it until `forget_gone`."""
        with self._lock:
            self._drop(id)

    def unlinked(self, ids: Collection[str]) -> list[KeptItem]:
        """The publications that name some of these ids as nearly identical, without that."""
        naming = [self._items[id] for id in self._links.having(*ids) if id in self._items]
        return [replace(item, similar=tuple(one for one in item.similar if one not in ids)) for item in naming]

    def forget_gone(self) -> None:
        """Free the memory of what was removed; only while no call is using the session."""
        self._gone.clear()
        self._changes.clear()

    def changed_since(self, id: str, changes: int) -> bool:
        """Whether the texts of a publication changed, its first vector arrived, or it was removed, since `changes` was
        that many; known until `forget_gone`."""
        own = self.resolve(id)
        return not own or self._changes.get(own, 0) > changes

    def _drop(self, id: str) -> None:
        self.changes = self._changes[id] = self.changes + 1
        if known := self._items.pop(id, None):
            self._gone[id] = known
            self.passages -= known.vectors
        self._underived.discard(id)
        self._waiting.pop(id, None)
        self._members.pop(id, None)
        for links in (self._keys, self._links, self._numbers, self._named):
            links.put(id, ())
        self._texts.remove(id)

    def layout(self, id: str) -> Layout:
        """The passages of a stored publication."""
        return self._texts.layouts.get(id) or Layout.of(self._held(id).publication)

    @property
    def has_long_texts(self) -> bool:
        """Whether any text has parts."""
        return len(self._texts.passages) > 0

    def catch_up(self) -> None:
        """Load what other processes have written since the last call."""
        for item in self.space.news():
            self.put(item)

    def resolve(self, id: str) -> str:
        """The id under which the publication `id` is stored; "" if there is none.

        Every id that it had, and every PMID or DOI that became known later, resolves to it.
        """
        if id in self._items:
            return id
        with self._lock:
            return self._owner(id) or self._owner(split_text_id(id)[0])

    def _owner(self, id: str) -> str:
        base = base_id(id)
        if id == base:
            owners = self.having(base)
        else:
            owners = self._keys.having(("id", base))
            owners = [one for one in owners if any(id.endswith(member.digest) for member in self.members(one))]
        if owners:
            return min(owners, key=lambda one: (one != base, self._held(one).order))
        kind, _, value = id.partition(":")
        kind = {"pubmed": "pmid", "pmc": "pmcid"}.get(kind, kind)
        value = normalize_doi(value) if kind == "doi" else value.upper().removeprefix("PMC")
        owners = [one for one in self._keys.having((kind, value)) if base_id(one) != id and not self._is_note(one)]
        owners = owners or [one for one in self._keys.having((f"{CLAIMED}{kind}", value)) if self._is_at(one, value)]
        # Publications with this number take precedence over one for which a more reliable source gives another.
        owners.sort(key=lambda one: not getattr(self._held(one).publication, kind, ""))
        return next(iter(owners), "")

    def _is_at(self, id: str, number: str) -> bool:
        """Whether the address of publication `id` contains this number, since it is found by its address, too."""
        publication = self._held(id).publication
        return not publication.is_users and number in identity_numbers(record_ids(publication.url)).values()

    def _is_note(self, id: str) -> bool:
        return all(member.publication.is_own_note for member in self.members(id))

    def find(self, ids: Iterable[str]) -> dict[str, Publication]:
        """The publications with these ids, by id; unknown ids are skipped. See `resolve`."""
        kept = {id: self.resolve(id) for id in dict.fromkeys(ids)}
        return {id: self.with_subject_status(self._held(kept[id]).publication) for id in kept if kept[id]}

    def with_titles_like(self, id: str) -> list[str]:
        """The ids of other publications whose titles begin or end as that of `id` does."""
        with self._lock:
            titled = [key for key in self._keys.keys(id) if key[0] in ("begin", "end")]
            return [one for one in self._keys.having(*titled) if one != id]

    def with_subject_status(self, publication: Publication) -> Publication:
        """`publication`; if it is a note, with the status of the paper that it is about."""
        with self._lock:
            subjects = self._subjects(publication.id)
        if not subjects:
            return publication
        about = self._held(subjects[0]).publication
        return publication.model_copy(update={name: getattr(about, name) for name in STATUS_FIELDS})

    def _subjects(self, id: str) -> list[str]:
        """The ids of the publications that the user's note `id` is about: those with the first of its numbers that any
        has; none for other evidence."""
        if not self._is_note(id):
            return []
        numbers = (number for member in self.members(id) for number in member.identity.numbers.items())
        found = ([one for one in self._keys.having(number) if not self._is_note(one)] for number in numbers)
        return next((some for some in found if some), list[str]())

    def subject(self, id: str) -> str:
        """What a decision about `id` applies to: the publication that has this id, or that the note with it is about;
        "" if there is none."""
        own = self.resolve(id)
        with self._lock:
            return next(iter(self._subjects(own)), own)

    def shown(self, publication: Publication, text: Text | None = None) -> Evidence:
        """A stored publication as evidence (showing `text`, if given), with its links and the user's notes."""
        id = publication.id
        with self._lock:
            numbers = (number for member in self.members(id) for number in member.identity.numbers.items())
            others = dict.fromkeys(other for number in numbers for other in self._keys.having(number))
            about = [self._items[one] for one in others if id in self._subjects(one)]
        about.sort(key=lambda note: note.order)
        notes = [text.content for note in about for text in note.publication.texts]
        return Evidence.of(self.with_subject_status(publication), text, similar=self.links(id), notes=notes)

    def ids(self) -> list[str]:
        """All ids in insertion order."""
        return [item.id for item in sorted(self._items.values(), key=lambda item: item.order)]

    def waiting(self) -> list[str]:
        """The ids of which some passages have no vectors yet."""
        return list(self._waiting)

    def missing(self, ids: Iterable[str], limit: int = sys.maxsize) -> list[tuple[Publication, int, Sequence[Passage]]]:
        """The next passages of these publications that have no vectors yet, about `limit` in all, and the number of the
        first one of each."""
        found: list[tuple[Publication, int, Sequence[Passage]]] = []
        for item in filter(None, map(self._items.get, ids)):
            if limit > 0 and (some := self.layout(item.id).passages[item.vectors :][:limit]):
                found.append((item.publication, item.vectors, some))
                limit -= len(some)
        return found

    def unfinished(self, ids: Collection[str] | None = None) -> list[str]:
        """Warnings about what is not indexed yet: "pubmed:1: 40 of 96 passages are still being indexed…"; if there are
        `ids`, only about these publications."""
        rows = self.missing([id for id in self.waiting() if ids is None or id in ids])
        long = [
            f"{one.id}: {len(left)} of {start + len(left)} passages are still being indexed: their order may change."
            for one, start, left in rows
            if self.layout(one.id).total > self.layout(one.id).short
        ]
        more = counted(len(long) - MAX_NAMED, "more paper is", "more papers are")
        short = counted(len(rows) - len(long), "item is", "items are")
        return [
            *long[:MAX_NAMED],
            *([f"{more} still being indexed."] if len(long) > MAX_NAMED else []),
            *([f"{short} found by words only until embedded again."] if len(long) < len(rows) else []),
        ]

    def where(self, condition: Callable[[Publication], bool]) -> list[str]:
        """The ids of the publications that satisfy `condition`."""
        return [id for id, item in list(self._items.items()) if condition(self.with_subject_status(item.publication))]

    def links(self, id: str) -> tuple[str, ...]:
        """The ids of its article or preprint, and of publications nearly identical to `id`, under any id that either of
        them had."""
        names = self.names(id)
        linked = [*(other for name in names for other in self._links.keys(name)), *self._links.having(*names)]
        owners = (other if other in self._items else self._owner(other) for other in linked)
        return tuple(dict.fromkeys((*self._versions(id), *(other for other in owners if other not in ("", id)))))

    def _versions(self, id: str) -> list[str]:
        """The ids of the articles of preprint `id`, or of the preprints of an article."""
        with self._lock:
            found = self._numbers.having(*self._named.keys(id)) + self._named.having(*self._numbers.keys(id))
        return [one for one in dict.fromkeys(found) if one != id]

    def is_folded(self, unit: str, shown: Container[str], ranked: Container[str]) -> bool:
        """Whether a unit is omitted: because something nearly identical is already `shown`, or, for a preprint, because
        its article is among those `ranked`. The full text of a preprint stays if its article has none."""
        id = split_unit(unit)[0]
        versions = self._versions(id)
        if any(other in shown for other in self.links(id) if other not in versions):
            return True
        if self._held(id).publication.form != "preprint":
            return False
        articles = [one for one in versions if one in ranked and self._held(one).publication.form != "preprint"]
        return any(not is_passage(unit) or one.total > one.short for one in map(self.layout, articles))

    def names(self, id: str) -> list[str]:
        """The ids that refer to publication `id`: its own, and those of its members that do not belong to another one
        now."""
        item = self._items.get(id)
        members = [one.id for one in item.members if one.id not in self._items] if item else []
        return list(dict.fromkeys((id, *(one for one in members if self._owner(one) == id))))

    def members(self, id: str) -> Cluster:
        """The members of publication `id`."""
        return self._members.get(id, ())

    def having(self, id: str) -> list[str]:
        """The ids of publications with a member that has exactly this id, except those whose own id is this one and a
        digest, which was added because this one was taken."""
        return [
            one
            for one in self._keys.having(("id", id))
            if one == id or (base_id(one) != id and any(member.publication.id == id for member in self.members(one)))
        ]

    def place(self, publication: Publication) -> Placement:
        """Where a new publication belongs."""
        new = member_of(publication)
        # The publications that it could belong to, and those that their members could belong to.
        linked: dict[str, Cluster] = {}
        waiting = [new.identity]
        with self._lock:
            while waiting:
                one = waiting.pop()
                for id in [id for id in self._keys.having(*one.keys) if id not in linked]:
                    if best_match(one, self._members[id]):
                        linked[id] = self._members[id]
                        waiting += (member.identity for member in linked[id])
            members = {id: linked[id] for id in sorted(linked, key=lambda id: self._items[id].order)}
        for id, some in members.items():
            # The same record found again is merged into the earlier one.
            if same := next((one for one in some if one.facts == new.facts), None):
                again = Member(merged(same.publication, publication))
                cluster = sorted((again if one is same else one for one in some), key=lambda member: member.rank)
                found = _match(new.identity, some, members)
                return found._replace(affected=(id,), clusters=(tuple(cluster),))
        if sum(map(len, members.values())) >= MAX_MEMBERS:
            fitting = [
                some for some in members.values() if not any(conflict(new.identity, one.identity) for one in some)
            ]
            found = _match(new.identity, [one for some in fitting for one in some], members)
            return found._replace(affected=(found.id,)) if found.id else Placement(clusters=((new,),))
        clusters = clusters_of([new, *(member for some in members.values() for member in some)])
        others = next([one for one in some if one is not new] for some in clusters if new in some)
        found = _match(new.identity, others, members)
        return found._replace(affected=tuple(members), clusters=tuple(clusters))

    def by_words(self, queries: Sequence[str]) -> list[WordScores]:
        """How well everything matches each query by words, see `LexicalIndex.score`."""
        with self._lock:
            return [WordScores(self._texts.wholes.score(one), self._texts.passages.score(one)) for one in queries]


def _match(new: Identity, others: Sequence[Member], members: Mapping[str, Cluster]) -> Placement:
    """The publication to which the one of `others` that is the same belongs."""
    if (found := best_match(new, others)) is None:
        return Placement()
    other, reason = found
    id = next(id for id, some in members.items() if other in some)
    return Placement(id, title_similarity(new, other.identity) if reason == SAME_DOCUMENT else 1.0, reason)
