"""Terms of the session's evidence that the topic lacks, as directions for further searches."""

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
from deepcritical_mcp.search.expansion.phrases import definitions, general_stems, natural_order, phrases, stems

# Enough to know which terms are common in a session; larger ones are sampled by evenly spaced pages.
BACKGROUND_PAGES = 5
BACKGROUND_PAGE = 100
MAX_CLOSE = 15
MIN_CLOSE = 3
# The store's relevance is for ranking; far below the best, an item is hardly on the topic.
RELEVANCE_SHARE = 0.7
MAX_TERMS = 12
# A term counts as part of a longer one that has this share of its evidence: "gradient", "aortic pressure gradient".
_WHOLE_SHARE = 0.6
_MAX_TERM_LENGTH = 60
# The start of a long text, such as a web page, shows what it is about.
_MAX_CHARS = 4_000
_MAX_WORDS = 6
_REMARK = re.compile(r"^\[[^\]]{1,60}\]")
# MeSH headings that say who was studied and how, not what the paper is about; further ones have only general words.
_CHECK_TAGS = frozenset(
    tag.strip()
    for tag in """adolescent|age distribution|age factors|age of onset|aged|aged, 80 and over|algorithms|
    amino acid sequence|animal|animals|base sequence|biological transport|cats|cattle|cell line|cell line, tumor|
    cells, cultured|child|child, preschool|china|clinical trial|clinical trials as topic|cohort studies|cohort study|
    comorbidity|cricetinae|cross-sectional studies|databases, factual|disease models, animal|dogs|
    dose-response relationship, drug|double-blind method|epidemiology|europe|evidence-based medicine|
    feasibility studies|follow-up studies|france|germany|guinea pigs|hospitalization|in vitro techniques|incidence|
    infant|infant, newborn|italy|japan|kaplan-meier estimate|kinetics|length of stay|logistic models|
    longitudinal studies|macaca mulatta|meta-analysis|meta-analysis as topic|mice|mice, inbred balb c|
    mice, inbred c57bl|mice, knockout|mice, nude|mice, transgenic|middle aged|models, biological|models, molecular|
    models, statistical|models, theoretical|molecular sequence data|mouse|multivariate analysis|odds ratio|
    pilot projects|pregnancy|prognosis|proportional hazards models|quality of life|rabbits|random allocation|
    randomized controlled trials as topic|rat|rats|rats, sprague-dawley|rats, wistar|reference values|registries|
    regression analysis|reproducibility of results|roc curve|sensitivity and specificity|
    sequence homology, amino acid|severity of illness index|sex distribution|sex factors|sheep|single-blind method|
    spain|surveys and questionnaires|systematic review|temperature|united kingdom|united states|water""".split("|")
)

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
    """A term of the session's evidence: its most common spelling, its other ones, the ids of the evidence close to the
    topic that has it, and how well it distinguishes that from the rest of the session."""

    term: str
    names: tuple[str, ...]
    evidence_ids: frozenset[str]
    score: float


@dataclass(frozen=True)
class EvidenceView:
    """What the session knows about a topic: terms, the most distinctive first; abbreviations (short form -> long form)
    as defined there; and the stems of all words used there."""

    terms: tuple[EvidenceTerm, ...] = ()
    abbreviations: Mapping[str, str] = field(default_factory=dict[str, str])
    familiar: frozenset[str] = frozenset()


async def read_evidence(query: str, store: SessionEvidence) -> EvidenceView:
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
    step = max(BACKGROUND_PAGE, held // BACKGROUND_PAGES)
    offsets = range(0, held, step)[:BACKGROUND_PAGES]
    session = [item for offset in offsets for item in await store.page(offset, BACKGROUND_PAGE)]
    return await anyio.to_thread.run_sync(_view, query, close, session, abandon_on_cancel=True)


def _view(query: str, close: Sequence[Evidence], session: Sequence[Evidence]) -> EvidenceView:
    abbreviations = definitions(map(_text, close))
    return EvidenceView(
        terms=distinctive_terms(query, close, session, abbreviations),
        abbreviations=abbreviations,
        familiar=frozenset(stem for item in close for stem in _all_stems(item)),
    )


def distinctive_terms(
    query: str, close: Sequence[Evidence], session: Sequence[Evidence], abbreviations: Mapping[str, str]
) -> tuple[EvidenceTerm, ...]:
    """Terms more frequent in `close` than in the rest of `session` and not in `query`, best first.

    Uses MeSH terms and keywords; if there are hardly any (web pages), phrases of the texts that occur twice.
    """
    if not close:
        return ()
    long_forms = {stems(short): stems(long) for short, long in abbreviations.items()}
    known = asked = stems(query)
    for short, long in long_forms.items():
        known |= short | long if short <= asked or long <= asked else frozenset()
    rest = [item for item in session if item.id not in {one.id for one in close}]

    def keyed(terms: Iterable[str]) -> dict[_Key, list[str]]:
        return _by_key(terms, long_forms, known)

    indexed = Counter(key for item in rest for key in keyed(_index_terms(item)))
    terms = _rank(close, [keyed(_index_terms(item)) for item in close], lambda key: indexed[key], len(rest))
    if len(terms) < MIN_CLOSE:
        texts = [_all_stems(item) for item in rest]
        found = [keyed(_text_terms(item)) for item in close]
        counts = Counter(key for keys in found for key in keys)
        repeated = [{key: names for key, names in keys.items() if counts[key] > 1} for keys in found]
        terms += _rank(close, repeated, lambda key: sum(key <= text for text in texts), len(rest))
    return tuple(_without_parts(terms[: 4 * MAX_TERMS])[:MAX_TERMS])


def _index_terms(item: Evidence) -> Iterator[str]:
    """MeSH terms in natural order, without qualifiers and check tags, and keywords."""
    headings = [term.split("/")[0].strip("* ") for term in item.citation.mesh_terms]
    for term in (*headings, *item.citation.keywords):
        if term.casefold() not in _CHECK_TAGS:
            yield natural_order(term)


def _text_terms(item: Evidence) -> Iterator[str]:
    """Words and pairs of words of title and content."""
    for words in phrases(_text(item)):
        for start in range(len(words)):
            yield words[start]
            yield " ".join(words[start : start + 2])


def _by_key(terms: Iterable[str], long_forms: Mapping[_Key, _Key], known: frozenset[str]) -> dict[_Key, list[str]]:
    """The spellings of each term by its stems, without terms that are mostly in the query or too general."""
    found: defaultdict[_Key, list[str]] = defaultdict(list)
    for term in terms:
        key = stems(term)
        for short, long in long_forms.items():
            key = (key - short) | long if short <= key else key
        is_mostly_new = len(key - known) * 2 > len(key)
        if is_mostly_new and _is_term(term):
            found[key].append(term)
    return found


def _is_term(text: str) -> bool:
    return (
        2 < len(text) <= _MAX_TERM_LENGTH
        and len(text.split()) <= _MAX_WORDS
        and any(letter.isalpha() for letter in text)
        and not re.match(r"EC \d", text)
        and not all(stem.isdigit() or stem in general_stems() for stem in stems(text))
    )


def _text(item: Evidence) -> str:
    """Without our own remark in brackets, such as "[No abstract]"."""
    return f"{item.citation.title}. {_REMARK.sub('', item.content[:_MAX_CHARS])}"


def _all_stems(item: Evidence) -> frozenset[str]:
    return stems(" ".join([_text(item), *_index_terms(item)]))


def _rank(
    close: Sequence[Evidence],
    found: Sequence[Mapping[_Key, Sequence[str]]],
    elsewhere: Callable[[_Key], int],
    rest: int,
) -> list[EvidenceTerm]:
    """The terms `found` in each item of `close`, best first; `elsewhere` counts the `rest` other items with a term."""
    best = max(item.relevance for item in close) or 1.0
    spellings: defaultdict[_Key, Counter[str]] = defaultdict(Counter)
    weights: defaultdict[_Key, dict[str, float]] = defaultdict(dict)
    for item, terms in zip(close, found, strict=True):
        for key, names in terms.items():
            spellings[key].update(names)
            weights[key][item.id] = item.relevance / best
    ranked: list[EvidenceTerm] = []
    for key, holders in weights.items():
        term, *names = _names(spellings[key])
        # The log ratio of the smoothed rates inside and outside, at least 0.
        rates = ((len(holders) + 0.5) / (len(close) + 1)) / ((elsewhere(key) + 0.5) / (rest + 1))
        score = sum(holders.values()) * (0.5 + max(0.0, math.log(rates)))
        ranked.append(EvidenceTerm(term, tuple(names), frozenset(holders), score))
    return sorted(ranked, key=lambda term: (-term.score, term.term.casefold()))


def _names(spellings: Counter[str]) -> list[str]:
    """Spellings that differ in more than case, most common first, then shortest first."""
    ordered = sorted(spellings, key=lambda name: (-spellings[name], len(name), name))
    return list({name.casefold(): name for name in reversed(ordered)}.values())[::-1]


def _without_parts(terms: Sequence[EvidenceTerm]) -> list[EvidenceTerm]:
    """`terms` without those that are part of another: the longer one stays if nearly as common, else the better one."""
    kept: list[EvidenceTerm] = []
    for index, term in enumerate(terms):
        words = stems(term.term)
        if any(words <= stems(better.term) for better in kept):
            continue
        whole = (
            longer
            for longer in terms[index + 1 :]
            if words < stems(longer.term) and len(longer.evidence_ids) >= _WHOLE_SHARE * len(term.evidence_ids)
        )
        kept.append(next(whole, term))
    return list(dict.fromkeys(kept))
