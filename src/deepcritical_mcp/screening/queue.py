"""The screening queue of a session: its undecided records in the best order, and how far screening has come."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import CRITERIA_TAG, NO_ABSTRACT, RELEVANT, Publication, ScreeningState, StopEstimate
from deepcritical_mcp.screening.learner import Terms
from deepcritical_mcp.screening.ranking import Ranking, Records, learn
from deepcritical_mcp.screening.stopping import StopRule, stop_estimate
from deepcritical_mcp.text import counted

Vectors = Mapping[str, NDArray[np.float32]]

MAX_LEARNED = 8_000
"""Characters of a record's text that are learned from."""
UNCERTAIN, BETWEEN = "uncertain: words and meaning disagree", "uncertain: its words speak for both"


@dataclass(frozen=True)
class ScreeningQueue:
    """The undecided records of a session.

    Attributes:
        ids: of all of them, best first; none is left out.
        state: how far screening has come.
        warnings: what the order does without.
    """

    ids: Sequence[str]
    state: ScreeningState
    warnings: Sequence[str] = ()
    _ranking: Ranking | None = None

    def words(self, id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words that speak for a record and against it, the strongest first; none before anything is learned."""
        row = self._ranking.records.rows.get(id) if self._ranking else None
        return self._ranking.words_for(row) if self._ranking and row is not None else ((), ())

    def why(self, id: str) -> str:
        """Those in a line: "for: adhd, children; against: rats", or that it is there because it is uncertain."""
        chosen, rejected = self.words(id)
        known = self._ranking
        is_uncertain = known and known.records.rows.get(id) in known.uncertain
        uncertain = UNCERTAIN if known and known.records.meanings else BETWEEN
        parts = (f"for: {', '.join(chosen)}" if chosen else "", f"against: {', '.join(rejected)}" if rejected else "")
        return "; ".join(filter(None, (uncertain if is_uncertain else "", *parts)))


class _Learned:
    """What was last learned of a session, until its records or decisions change. Vectors that are ready later count
    from then on, so that the pages of one order fit together."""

    def __init__(self) -> None:
        self._lock, self._terms = threading.Lock(), Terms()
        self._texts: Mapping[str, str] = {}
        self._records: Records | None = None
        self._rule: StopRule | None = None
        self._decided: Mapping[str, bool] = {}
        self._found: tuple[Ranking, StopEstimate] | None = None
        self.before: tuple[object, Sequence[str]] = None, ()

    def learn(
        self, texts: Mapping[str, str], vectors: Vectors, decided: Mapping[str, bool]
    ) -> tuple[Ranking, StopEstimate]:
        with self._lock:
            if self._found and texts == self._texts and list(decided.items()) == list(self._decided.items()):
                return self._found
            if self._records is None or self._rule is None or (texts, vectors.keys()) != (self._texts, self._vectors):
                self._records = Records(texts, vectors, self._terms)
                self._texts, self._vectors, self._rule = texts, vectors.keys(), StopRule(self._records)
            rows = {self._records.rows[id]: included for id, included in decided.items()}
            ranking = learn(self._records, rows)
            self._found, self._decided = (ranking, stop_estimate(self._rule, ranking, rows)), decided
            return self._found


class ScreeningQueues:
    """The queues of sessions. What was learned of a session is kept until a record or a decision changes."""

    def __init__(self) -> None:
        self._learned: WeakKeyDictionary[EvidenceStore, _Learned] = WeakKeyDictionary()

    async def of(self, store: EvidenceStore) -> ScreeningQueue:
        """The queue of a session as it is now.

        Its question is the session's title; its criteria are the user's notes with the tag "criteria". Notes are not
        screened.
        """
        everything = [*(await store.publications(await store.ids())).values()]
        records = {one.id: one for one in everything if not one.is_note}
        order = sorted((one for one in records.values() if one.screening), key=_moment)
        decided = {one.id: one.screening in RELEVANT for one in order}
        undecided = [id for id in records if id not in decided]
        tagged = (one for one in everything if one.is_note and CRITERIA_TAG in map(str.casefold, one.tags))
        found_at = tuple(at for at, is_relevant in enumerate(decided.values(), 1) if is_relevant)
        state = ScreeningState(
            question=store.title,
            criteria=tuple(one.text.content for one in tagged),
            basis="arrival",
            decided=len(decided),
            relevant=len(found_at),
            undecided=len(undecided),
            since_relevant=len(decided) - max(found_at, default=0),
            found_at=found_at,
        )
        if not found_at or not undecided:
            return await self._before_learning(store, records, undecided, state)
        vectors = await store.meanings()
        vectors = {id: vectors[id] for id in records if id in vectors}
        texts = {id: learned_text(one) for id, one in records.items()}
        learned = self._learned.setdefault(store, _Learned())
        ranking, stop = await run_sync(learned.learn, texts, vectors, decided, abandon_on_cancel=True)
        lacking = ranking.records.lacking
        late = [
            f"{counted(lacking, 'record was', 'records were')} ranked by words only, not being embedded yet: the next "
            "decision ranks all anew."
        ]
        return ScreeningQueue(ranking.ids, state.but(basis="decisions", stop=stop), late if lacking else [], ranking)

    async def _before_learning(
        self, store: EvidenceStore, records: Mapping[str, Publication], undecided: Sequence[str], state: ScreeningState
    ) -> ScreeningQueue:
        """The queue while nothing is included: as alike to question and criteria as a record is, else as they
        arrived."""
        asked = "\n".join(filter(None, (state.question, *state.criteria)))
        if not asked or not undecided:
            return ScreeningQueue(undecided, state)
        learned = self._learned.setdefault(store, _Learned())
        if learned.before[0] != (asked, undecided):
            scores = await store.relevance(asked, [records[id] for id in undecided])
            ranked = sorted(zip(undecided, scores, strict=True), key=lambda one: -one[1])
            learned.before = (asked, undecided), [id for id, _ in ranked]
        return ScreeningQueue(learned.before[1], state.but(basis="criteria"))


def _moment(publication: Publication) -> tuple[str, bool]:
    """When it was decided. Of what was decided at one time, in one call or file, nobody knows the order: the relevant
    ones are taken to be the last, so that the stop rule does not hold too early."""
    return publication.decided or publication.screened, publication.screening in RELEVANT


def learned_text(publication: Publication) -> str:
    """Title and abstract, or what else there is to read in place of one."""
    own = next((one.content for one in publication.texts if one.content != NO_ABSTRACT), "")
    return f"{publication.title}\n{own[:MAX_LEARNED]}"
