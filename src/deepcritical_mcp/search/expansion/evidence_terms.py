"""Terms of the session's evidence that the topic does not have: where the search could go next."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio.to_thread

from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.models import Evidence
from deepcritical_mcp.search.expansion.abbreviations import definitions
from deepcritical_mcp.search.expansion.phrases import natural_order, phrases, stems
from deepcritical_mcp.search.expansion.word_lists import CHECK_TAGS, GENERAL_WORDS

# Enough to know what is common in a session; a larger one is sampled by this many pages spread over it.
BACKGROUND_PAGES = 5
BACKGROUND_PAGE = 100
MOST_CLOSE = 15
FEWEST_CLOSE = 3
# The store's relevance is for ranking; far below the best, a piece is hardly on the topic.
RELEVANCE_SHARE = 0.7
MOST_TERMS = 12
# A term counts as part of a longer one that has this share of its evidence: "gradient", "aortic pressure gradient".
_WHOLE_SHARE = 0.6
_LONGEST_TERM = 60
# Of a long text (a web page), its beginning says what it is about.
_MOST_CHARS = 4_000
_MOST_WORDS = 6

_Key = frozenset[str]


class SessionEvidence(Protocol):
    """What query expansion needs of a session's store."""

    @property
    def session_id(self) -> str: ...

    @property
    def calibration(self) -> Calibration | None: ...

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
        score: how well it distinguishes those from the rest of the session.
    """

    term: str
    names: tuple[str, ...]
    pieces: frozenset[str]
    score: float


@dataclass(frozen=True)
class EvidenceView:
    """What the session knows about a topic.

    Attributes:
        terms: the most distinctive first.
        abbreviations: short form -> long form, as defined there.
        familiar: stems of all words used there.
    """

    terms: tuple[EvidenceTerm, ...] = ()
    abbreviations: Mapping[str, str] = field(default_factory=dict[str, str])
    familiar: frozenset[str] = frozenset()


async def read_evidence(query: str, store: SessionEvidence) -> EvidenceView:
    """The view of `store` around `query`; empty when the session holds nothing close to it, or when its embedding model
    has no calibration, so that nobody knows what is close.

    Raises:
        EvidenceStoreError: the store cannot be read.
        EmbeddingError: the model cannot be run.
    """
    held = await store.count()
    if not held or store.calibration is None:
        return EvidenceView()
    found = await store.search_similar(query, max_results=max(FEWEST_CLOSE, min(MOST_CLOSE, held // 2)))
    least = max([store.calibration.on_topic, *(RELEVANCE_SHARE * piece.relevance for piece in found)])
    close = [piece for piece in found if piece.relevance >= least]
    step = max(BACKGROUND_PAGE, held // BACKGROUND_PAGES)
    offsets = range(0, held, step)[:BACKGROUND_PAGES]
    session = [piece for offset in offsets for piece in await store.page(offset, BACKGROUND_PAGE)]
    return await anyio.to_thread.run_sync(_view, query, close, session, abandon_on_cancel=True)


def _view(query: str, close: Sequence[Evidence], session: Sequence[Evidence]) -> EvidenceView:
    abbreviations = definitions(map(_text, close))
    return EvidenceView(
        terms=distinctive_terms(query, close, session, abbreviations),
        abbreviations=abbreviations,
        familiar=frozenset(stem for piece in close for stem in _all_stems(piece)),
    )


def distinctive_terms(
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

    def keyed(terms: Iterable[str]) -> dict[_Key, tuple[str, ...]]:
        return _by_key(terms, long_forms, known)

    indexed = Counter(key for piece in rest for key in keyed(index_terms(piece)))
    terms = _rank(close, [keyed(index_terms(piece)) for piece in close], lambda key: indexed[key], rest=len(rest))
    if len(terms) < FEWEST_CLOSE:
        texts = [_all_stems(piece) for piece in rest]
        found = _repeated([keyed(text_terms(piece)) for piece in close])
        terms += _rank(close, found, lambda key: sum(key <= text for text in texts), rest=len(rest))
    return tuple(_without_parts(terms[: 4 * MOST_TERMS])[:MOST_TERMS])


def index_terms(piece: Evidence) -> Iterator[str]:
    """MeSH terms in natural order, without qualifiers and check tags, and keywords."""
    for term in piece.citation.mesh_terms:
        heading = term.split("/")[0].strip("* ")
        if heading.casefold() not in CHECK_TAGS:
            yield natural_order(heading)
    for keyword in piece.citation.keywords:
        if keyword.casefold() not in CHECK_TAGS:
            yield natural_order(keyword)


def text_terms(piece: Evidence) -> Iterator[str]:
    """Words and pairs of words of title and content."""
    for words in phrases(_text(piece)):
        for start in range(len(words)):
            yield words[start]
            yield " ".join(words[start : start + 2])


def _by_key(
    terms: Iterable[str], long_forms: Mapping[_Key, _Key], known: frozenset[str]
) -> dict[_Key, tuple[str, ...]]:
    """The spellings of each term by its stems, without terms that the query mostly has already or that say nothing."""
    found: defaultdict[_Key, tuple[str, ...]] = defaultdict(tuple)
    for term in terms:
        key = stems(term)
        for short, long in long_forms.items():
            key = (key - short) | long if short <= key else key
        is_mostly_new = len(key - known) * 2 > len(key)
        if is_mostly_new and _is_term(term):
            found[key] = (*found[key], term)
    return found


def _is_term(text: str) -> bool:
    words = text.lower().split()
    return (
        2 < len(text) <= _LONGEST_TERM
        and len(words) <= _MOST_WORDS
        and any(letter.isalpha() for letter in text)
        and not re.match(r"EC \d", text)
        and not all(word in GENERAL_WORDS or word.isdigit() for word in words)
    )


def _text(piece: Evidence) -> str:
    return f"{piece.citation.title}. {piece.content[:_MOST_CHARS]}"


def _all_stems(piece: Evidence) -> frozenset[str]:
    return stems(" ".join([_text(piece), *index_terms(piece)]))


def _repeated(found: Sequence[Mapping[_Key, tuple[str, ...]]]) -> list[dict[_Key, tuple[str, ...]]]:
    """Only the terms that more than one piece has."""
    pieces = Counter(key for terms in found for key in terms)
    return [{key: spellings for key, spellings in terms.items() if pieces[key] > 1} for terms in found]


def _rank(
    close: Sequence[Evidence],
    found: Sequence[Mapping[_Key, tuple[str, ...]]],
    elsewhere: Callable[[_Key], int],
    *,
    rest: int,
) -> list[EvidenceTerm]:
    """The terms `found` in each piece of `close`, best first.

    Args:
        elsewhere: in how many of the `rest` other pieces a term is.
    """
    best = max(piece.relevance for piece in close) or 1.0
    spellings: defaultdict[_Key, Counter[str]] = defaultdict(Counter)
    weights: defaultdict[_Key, dict[str, float]] = defaultdict(dict)
    for piece, terms in zip(close, found, strict=True):
        for key, names in terms.items():
            spellings[key].update(names)
            weights[key][piece.id] = piece.relevance / best
    ranked: list[EvidenceTerm] = []
    for key, holders in weights.items():
        term, *names = _names(spellings[key])
        score = sum(holders.values()) * (0.5 + _lift(len(holders), len(close), elsewhere(key), rest))
        ranked.append(EvidenceTerm(term, tuple(names), frozenset(holders), score))
    return sorted(ranked, key=lambda term: (-term.score, term.term.casefold()))


def _names(spellings: Counter[str]) -> list[str]:
    """Spellings that differ in more than case, the most common first, of equally common ones the shorter."""
    different: dict[str, str] = {}
    for name in sorted(spellings, key=lambda name: (-spellings[name], len(name), name)):
        different.setdefault(name.casefold(), name)
    return list(different.values())


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
    """One term for each that is part of another: the longer where it is nearly as common, else the better one."""
    kept: list[EvidenceTerm] = []
    for index, term in enumerate(terms):
        words = stems(term.term)
        if any(words <= stems(better.term) for better in kept):
            continue
        whole = (
            longer
            for longer in terms[index + 1 :]
            if words < stems(longer.term) and len(longer.pieces) >= _WHOLE_SHARE * len(term.pieces)
        )
        kept.append(next(whole, term))
    return list(dict.fromkeys(kept))
