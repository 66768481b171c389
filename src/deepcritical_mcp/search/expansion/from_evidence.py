"""What the session's evidence talks about that the topic does not: terms with which to search on."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from deepcritical_mcp.models import Evidence, ExpandedQuery
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.abbreviations import definitions
from deepcritical_mcp.search.expansion.stems import stems
from deepcritical_mcp.search.expansion.topic import Topic, fit_web, key_phrases, weight
from deepcritical_mcp.search.expansion.vocabulary import CHECK_TAGS, GENERIC_WORDS
from deepcritical_mcp.search.expansion.wording import natural_order

# Enough to know what is common in a session; of a larger one, the latest pieces stand for all.
MOST_BACKGROUND = 1_000
MOST_CLOSE = 15
FEWEST_CLOSE = 3
# The store's relevance ranks and does not judge; far below the best, a piece is hardly on the topic.
LEAST_RELEVANCE = 0.25
RELEVANCE_SHARE = 0.7
MOST_TERMS = 12
_LONGEST_TERM = 60
_MOST_WORDS = 6

_Key = frozenset[str]


class SessionEvidence(Protocol):
    """What query expansion needs of a session's store."""

    @property
    def session_id(self) -> str: ...

    async def count(self) -> int: ...

    async def page(self, offset: int, limit: int) -> list[Evidence]: ...

    async def search_similar(self, query: str, *, max_results: int = 5) -> list[Evidence]: ...


@dataclass(frozen=True)
class EvidenceTerm:
    """A term of the session's evidence.

    Attributes:
        term: its most common spelling there.
        names: its other spellings and names there.
        pieces: ids of the evidence close to the topic that has it.
        score: how much it tells those from the rest of the session.
    """

    term: str
    names: tuple[str, ...]
    pieces: frozenset[str]
    score: float


@dataclass(frozen=True)
class EvidenceView:
    """What the session knows around a topic.

    Attributes:
        terms: the most telling first.
        abbreviations: short form -> long form, as defined there.
        familiar: stems of all words used there.
    """

    terms: tuple[EvidenceTerm, ...] = ()
    abbreviations: Mapping[str, str] = field(default_factory=dict[str, str])
    familiar: frozenset[str] = frozenset()


async def read_evidence(query: str, store: SessionEvidence) -> EvidenceView:
    """The view of `store` around `query`; empty when the session holds nothing close to it.

    Raises:
        EvidenceStoreError: the store cannot be read.
        EmbeddingError: the model cannot be run.
    """
    held = await store.count()
    if not held:
        return EvidenceView()
    found = await store.search_similar(query, max_results=max(FEWEST_CLOSE, min(MOST_CLOSE, held // 2)))
    least = max([LEAST_RELEVANCE, *(RELEVANCE_SHARE * piece.relevance for piece in found)])
    close = [piece for piece in found if piece.relevance >= least]
    session = await store.page(max(0, held - MOST_BACKGROUND), MOST_BACKGROUND)
    texts = [f"{piece.citation.title}. {piece.content}" for piece in close]
    abbreviations = definitions(texts)
    return EvidenceView(
        terms=telling_terms(query, close, session, abbreviations),
        abbreviations=abbreviations,
        familiar=stems(" ".join([*texts, *(term for piece in close for term in index_terms(piece))])),
    )


def telling_terms(
    query: str, close: Sequence[Evidence], session: Sequence[Evidence], abbreviations: Mapping[str, str]
) -> tuple[EvidenceTerm, ...]:
    """The terms that `close` has more often than the rest of `session` and that `query` does not have, best first.

    MeSH terms, keywords and chemicals count; where there are hardly any (web pages), phrases of the texts stand in.
    """
    if not close:
        return ()
    long_forms = {stems(short): stems(long) for short, long in abbreviations.items()}
    known = stems(query) | {stem for key in _meanings(query, long_forms) for stem in key}
    close_ids = {piece.id for piece in close}
    rest = [piece for piece in session if piece.id not in close_ids]

    def ranked(terms_of: Callable[[Evidence], Iterable[str]]) -> list[EvidenceTerm]:
        return _rank(close, rest, lambda piece: _by_key(terms_of(piece), long_forms, known))

    terms = ranked(index_terms)
    if len(terms) < FEWEST_CLOSE:
        terms += [term for term in ranked(text_terms) if len(term.pieces) > 1]
    return tuple(_without_parts(terms)[:MOST_TERMS])


def index_terms(piece: Evidence) -> Iterator[str]:
    """MeSH terms in natural order, without qualifiers and check tags, and keywords."""
    for term in piece.citation.mesh_terms:
        heading = term.split("/")[0].strip("* ")
        if heading.casefold() not in CHECK_TAGS:
            yield natural_order(heading)
    for keyword in piece.keywords:
        if keyword.casefold() not in CHECK_TAGS:
            yield natural_order(keyword)


def text_terms(piece: Evidence) -> Iterator[str]:
    """Words and pairs of words of title and content."""
    for phrase in key_phrases(f"{piece.citation.title}. {piece.content}"):
        words = phrase.split()
        for start in range(len(words)):
            yield words[start]
            yield " ".join(words[start : start + 2])


def _by_key(terms: Iterable[str], long_forms: Mapping[_Key, _Key], known: frozenset[str]) -> dict[_Key, str]:
    """Terms by what they mean, without those that are no news or no terms."""
    found: dict[_Key, str] = {}
    for term in terms:
        own = stems(term)
        key = long_forms.get(own, own)
        is_news = len(key - known) * 2 > len(key)
        if is_news and _is_term(term):
            found.setdefault(key, term)
    return found


def _is_term(text: str) -> bool:
    words = text.lower().split()
    return (
        2 < len(text) <= _LONGEST_TERM
        and len(words) <= _MOST_WORDS
        and any(letter.isalpha() for letter in text)
        and not re.match(r"EC \d", text)
        and not all(word in GENERIC_WORDS or word.isdigit() for word in words)
    )


def _rank(
    close: Sequence[Evidence], rest: Sequence[Evidence], keyed: Callable[[Evidence], Mapping[_Key, str]]
) -> list[EvidenceTerm]:
    best = max(piece.relevance for piece in close) or 1.0
    spellings: defaultdict[_Key, Counter[str]] = defaultdict(Counter)
    holders: defaultdict[_Key, dict[str, float]] = defaultdict(dict)
    for piece in close:
        for key, term in keyed(piece).items():
            spellings[key][term] += 1
            holders[key][piece.id] = piece.relevance / best
    elsewhere = Counter(key for piece in rest for key in keyed(piece))
    terms = [
        EvidenceTerm(
            term=spellings[key].most_common(1)[0][0],
            names=tuple(name for name, _ in spellings[key].most_common()[1:]),
            pieces=frozenset(weights),
            score=sum(weights.values()) * (0.5 + _lift(len(weights), len(close), elsewhere[key], len(rest))),
        )
        for key, weights in holders.items()
    ]
    return sorted(terms, key=lambda term: (-term.score, term.term.casefold()))


def _lift(inside: int, close: int, outside: int, rest: int) -> float:
    """How much more often a term is inside than outside: the log ratio of the smoothed rates, at least 0."""
    return max(0.0, math.log(((inside + 0.5) / (close + 1)) / ((outside + 0.5) / (rest + 1))))


def _meanings(query: str, long_forms: Mapping[_Key, _Key]) -> Iterator[_Key]:
    """The other forms of what the query abbreviates or writes out."""
    asked = stems(query)
    for short, long in long_forms.items():
        if short <= asked or long <= asked:
            yield short | long


def _without_parts(terms: Sequence[EvidenceTerm]) -> list[EvidenceTerm]:
    """Without terms whose words all occur in a better one."""
    kept: list[EvidenceTerm] = []
    for term in terms:
        if not any(stems(term.term) <= stems(better.term) for better in kept):
            kept.append(term)
    return kept


def evidence_queries(topic: Topic, terms: Sequence[EvidenceTerm]) -> list[ExpandedQuery]:
    """Proposals that follow what the evidence talks about, the most useful first."""
    if not terms:
        return []
    first, *others = _companions(terms)
    pair = [first, *others[:1]]
    names = " and ".join(term.term for term in pair)
    anchors = pubmed_syntax.any_of(pubmed_syntax.words(word) for word in anchor_words(topic))
    news = [pubmed_syntax.words(term.term) for term in pair]
    beside = ExpandedQuery(
        query=fit_web(f"{fit_web(topic.keywords, room=8)} {' '.join(term.term for term in pair)}"),
        strategy="specific",
        reformulation="semantic",
        rationale=f"The evidence close to the topic talks of {names}; the topic does not.",
        pubmed_query=pubmed_syntax.all_of([*news, anchors]),
        source="evidence",
    )
    return [beside, *_lateral(topic, [first, *others[:2]], anchors)]


def _lateral(topic: Topic, terms: Sequence[EvidenceTerm], anchors: str) -> Iterator[ExpandedQuery]:
    """What the evidence talks about, without the topic's own words."""
    if len(terms) > 1:
        yield ExpandedQuery(
            query=fit_web(" ".join(term.term for term in terms)),
            strategy="broader",
            reformulation="semantic",
            rationale="What the evidence talks about, in its own words: finds what never uses those of the topic.",
            pubmed_query=pubmed_syntax.all_of([pubmed_syntax.words(term.term) for term in terms[:2]]),
            source="evidence",
        )


def anchor_words(topic: Topic) -> list[str]:
    """The words that say most about the topic, at most four."""
    most = max(weight(word) for word in topic.words)
    return [word for word in topic.words if weight(word) == most][:4]


def _companions(terms: Sequence[EvidenceTerm]) -> list[EvidenceTerm]:
    """The best term, then those that occur together with it, then the others, each best first."""
    first = terms[0]
    return sorted(terms, key=lambda term: (term is not first, not term.pieces & first.pieces, -term.score))
