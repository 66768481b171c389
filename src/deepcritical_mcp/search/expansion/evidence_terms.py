"""Terms of the session's evidence that the topic lacks, as directions for further searches."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import anyio.to_thread

from deepcritical_mcp.models import Evidence
from deepcritical_mcp.search.expansion.phrases import definitions, general_stems, natural_order, phrases, stems
from deepcritical_mcp.search.expansion.word_lists import word_list

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

# Enough to know which terms are common in a session.
BACKGROUND = 500
MAX_CLOSE = 15
MIN_CLOSE = 3
# The store's relevance is for ranking; far below the best, an item is hardly on the topic.
RELEVANCE_SHARE = 0.7
MAX_TERMS = 8
_MAX_TERM_LENGTH = 60
# The start of a long text, such as a web page, shows what it is about.
_MAX_CHARS = 4_000
_REMARK = re.compile(r"^\[[^\]]{1,60}\]")


@dataclass(frozen=True)
class EvidenceTerm:
    """A term of the session's evidence in its most common spelling, its other spellings, and the ids of the evidence
    close to the topic that has it."""

    term: str
    names: tuple[str, ...]
    evidence_ids: frozenset[str]


@dataclass(frozen=True)
class EvidenceView:
    """What the session knows about a topic: terms, the most distinctive first, and abbreviations (short form -> long
    form) as defined there."""

    terms: tuple[EvidenceTerm, ...] = ()
    abbreviations: Mapping[str, str] = field(default_factory=dict[str, str])


async def read_evidence(query: str, store: EvidenceStore) -> EvidenceView:
    """The view of `store` around `query`; empty when the session holds nothing close to it, or when its embedding model
    has no calibration, so that no threshold exists.

    Raises:
        EvidenceStoreError: the store cannot be read.
        EmbeddingError: the model cannot be run.
    """
    held = await store.count()
    if not held or store.calibration is None:
        return EvidenceView()
    found = await store.search_similar(query, max_results=max(MIN_CLOSE, min(MAX_CLOSE, held // 2)))
    least = max([store.calibration.on_topic, *(RELEVANCE_SHARE * item.relevance for item in found)])
    close = [item for item in found if item.relevance >= least]
    session = await store.page(0, BACKGROUND) if close else []
    return await anyio.to_thread.run_sync(_view, query, close, session, abandon_on_cancel=True)


def _view(query: str, close: Sequence[Evidence], session: Sequence[Evidence]) -> EvidenceView:
    abbreviations = definitions(map(_text, close))
    return EvidenceView(distinctive_terms(query, close, session, abbreviations), abbreviations)


def distinctive_terms(
    query: str, close: Sequence[Evidence], session: Sequence[Evidence], abbreviations: Mapping[str, str]
) -> tuple[EvidenceTerm, ...]:
    """Terms more frequent in `close` than in the rest of `session` and not in `query`, best first.

    If `close` has several items, at least two of them have the term.
    """
    long_forms = {stems(short): stems(long) for short, long in abbreviations.items()}
    known = asked = stems(query)
    for short, long in long_forms.items():
        known |= short | long if short <= asked or long <= asked else frozenset()
    spellings: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
    holders: defaultdict[frozenset[str], set[str]] = defaultdict(set)
    for item in close:
        for term in _terms(item, with_text=len(close) > 1):
            key = stems(term)
            for short, long in long_forms.items():
                key = (key - short) | long if short <= key else key
            if len(key - known) * 2 > len(key) and not _is_general(term):
                spellings[key][term] += 1
                holders[key].add(item.id)
    ids = {item.id for item in close}
    rest = [stems(" ".join(_index_terms(item)) or _text(item)) for item in session if item.id not in ids]
    scores: dict[frozenset[str], float] = {}
    for key, having in holders.items():
        if len(having) >= min(2, len(close)):
            # The log ratio of the smoothed rates in `close` and in the rest.
            elsewhere = (sum(key <= words for words in rest) + 0.5) / (len(rest) + 1)
            scores[key] = len(having) * math.log((len(having) + 0.5) / (len(close) + 1) / elsewhere)
    chosen: dict[frozenset[str], EvidenceTerm] = {}
    for key in sorted(scores, key=lambda key: (-scores[key], *sorted(key))):
        term, *names = {name.casefold(): name for name, _ in reversed(spellings[key].most_common())}.values()
        if scores[key] > 0 and len(chosen) < MAX_TERMS and not any(key <= other or other <= key for other in chosen):
            chosen[key] = EvidenceTerm(term, tuple(names), frozenset(holders[key]))
    return tuple(chosen.values())


def _terms(item: Evidence, *, with_text: bool) -> Iterator[str]:
    """Index terms; of a text with hardly any (a web page), words and pairs of words too."""
    index_terms = list(_index_terms(item))
    yield from index_terms
    for words in phrases(_text(item)) if with_text and len(index_terms) < MIN_CLOSE else ():
        yield from {*words, *map(" ".join, pairwise(words))}


def _index_terms(item: Evidence) -> Iterator[str]:
    """MeSH terms in natural order, without qualifiers and check tags, and keywords."""
    headings = [term.split("/")[0].strip("* ") for term in item.citation.mesh_terms]
    terms = (*headings, *item.citation.keywords)
    return (natural_order(term) for term in terms if term.casefold() not in word_list("check tags"))


def _is_general(text: str) -> bool:
    is_name = 2 < len(text) <= _MAX_TERM_LENGTH and any(map(str.isalpha, text)) and not text.startswith("EC ")
    return not is_name or all(stem.isdigit() or stem in general_stems() for stem in stems(text))


def _text(item: Evidence) -> str:
    """Without our own remark in brackets, such as "[No abstract]"."""
    return f"{item.citation.title}. {_REMARK.sub('', item.content[:_MAX_CHARS])}"
