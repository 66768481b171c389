"""Which sentences of a text answer a question: by their words, and by their meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT
from deepcritical_mcp.evidence.lexical import LexicalIndex, words_of
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.ranking import hybrid_score
from deepcritical_mcp.excerpts import Span, best_sentences, quoted, sentences
from deepcritical_mcp.models import Evidence

MOST_EMBEDDED = 300
"""Sentences of one call that are compared by meaning; of more, those with the most of the question's words."""
ENOUGH_WORDS = 0.6
"""Share of the question's words, weighted by their rarity, with which a sentence answers whatever the model says."""
SHORT_OVERRUN = 50
"""Characters by which a passage may be longer than asked for before it is worth a gap."""
NEARLY_BEST = 0.6
"""Share of the best sentence's score down to which others are quoted with it."""

_ABBREVIATION = re.compile(r"\b[A-Z][A-Z0-9]+s?\b")
_SMALL = re.compile(r"[a-z]")


@dataclass(frozen=True)
class SentenceScore:
    """How well a sentence answers.

    Attributes:
        total: for ranking; above 1 if the sentence has an abbreviation of the question.
        cosine: 0.0 if it was not compared by meaning.
        coverage: share of the question's words that it has, weighted by their rarity.
    """

    total: float
    cosine: float
    coverage: float
    has_abbreviation: bool


class SentenceRanking:
    """The sentences of several texts, ranked together; `words_weight` is the model's `Calibration.words_weight`."""

    def __init__(self, question: str, texts: Sequence[str], words_weight: float) -> None:
        spans = [sentences(text) for text in texts]
        self._sentences = [text[a:b].strip() for text, some in zip(texts, spans, strict=True) for a, b in some]
        self._sizes = [len(some) for some in spans]
        self._weight = words_weight
        self._abbreviations = abbreviations(question)
        index = LexicalIndex()
        for number, sentence in enumerate(self._sentences):
            index.add(str(number), words_of(sentence))
        self._words = index.score(question)
        sharing = dict.fromkeys(int(number) for number in self._words.top(MOST_EMBEDDED))
        self._chosen = list(sharing | dict.fromkeys(range(len(self._sentences))))[:MOST_EMBEDDED]
        self._cosines: dict[int, float] = {}

    @property
    def worth_embedding(self) -> list[str]:
        """The sentences whose cosines `measure` wants, in order."""
        return [self._sentences[number] for number in self._chosen]

    def measure(self, cosines: NDArray[np.float32]) -> None:
        """Enter how close the sentences `worth_embedding` are to the question."""
        self._cosines = {number: float(cosine) for number, cosine in zip(self._chosen, cosines, strict=True)}

    def scores(self) -> list[list[SentenceScore]]:
        """The scores of each text's sentences, in order."""
        flat = iter([self._score(number) for number in range(len(self._sentences))])
        return [[next(flat) for _ in range(size)] for size in self._sizes]

    def _score(self, number: int) -> SentenceScore:
        lexical, coverage = self._words.at(str(number))
        cosine = self._cosines.get(number, lexical)
        total = hybrid_score(cosine, lexical, coverage, self._words.terms, self._weight)
        exact = bool(self._abbreviations & abbreviations(self._sentences[number]))
        return SentenceScore(total + exact, self._cosines.get(number, 0.0), coverage, exact)


def abbreviations(text: str) -> set[str]:
    """E.g. NOAEL or IL6, without a plural s. A text that is in capitals throughout has none, unless it is one word."""
    if not _SMALL.search(text) and " " in text.strip():
        return set()
    return {found.removesuffix("s") for found in _ABBREVIATION.findall(text)}


def answering(text: str, scores: Sequence[SentenceScore], least: float, length: int) -> tuple[str, float]:
    """The sentences of `text` that answer, in order with gaps marked, about `length` characters, and the score of the
    best; "" if none answers.

    A sentence answers if it has an abbreviation of the question, enough of its words, or a cosine of at least `least`.
    """
    good = [
        (score.total, span)
        for span, score in zip(sentences(text), scores, strict=True)
        if score.has_abbreviation or score.coverage >= ENOUGH_WORDS or score.cosine >= least
    ]
    if not good:
        return "", 0.0
    good.sort(key=lambda row: -row[0])
    best, room = good[0][0], length
    chosen: set[Span] = set()
    for score, span in good:
        if not chosen or (score >= NEARLY_BEST * best and span.length <= room):
            chosen.add(span)
            room -= span.length
    return quoted(text, chosen), best


def best_answers(
    rows: Sequence[tuple[str, str]], scores: Sequence[Sequence[SentenceScore]], least: float, length: int
) -> dict[str, tuple[int, str]]:
    """For each id in `rows`, which pair ids and texts, the row that answers best and the sentences that do; see
    `answering`."""
    best: dict[str, tuple[float, int, str]] = {}
    for at, ((id, text), some) in enumerate(zip(rows, scores, strict=True)):
        brief, score = answering(text, some, least, length)
        if id not in best or score > best[id][0]:
            best[id] = score, at, brief
    return {id: (at, brief) for id, (_, at, brief) in best.items()}


def by_part(piece: Evidence, brief: str) -> Evidence:
    """`piece` by a part of its text."""
    cut = brief != piece.content
    return piece.model_copy(update={"content": brief, "content_truncated": cut}) if cut else piece


async def score_sentences(embedder: PassageEmbedder, question: str, texts: Sequence[str]) -> list[list[SentenceScore]]:
    """How well each sentence of each text answers: by words, and by meaning as far as there is a model."""
    weight = embedder.calibration.words_weight if embedder.calibration else EVEN_WORDS_WEIGHT
    ranking = await run_sync(SentenceRanking, question, texts, weight, abandon_on_cancel=True)
    vectors = await embedder.queries([question]) if ranking.worth_embedding else None
    if vectors is not None:
        embedded = await embedder.sentences(ranking.worth_embedding)
        if embedded is not None:
            ranking.measure(embedded @ vectors[0])
    return ranking.scores()


async def shortened(embedder: PassageEmbedder, question: str, texts: Sequence[str], length: int) -> list[str]:
    """Each text by the sentences that answer best, in their context: about `length` characters, with gaps marked."""
    long = list(dict.fromkeys(text for text in texts if len(text) > length + SHORT_OVERRUN))
    scores = await score_sentences(embedder, question, long)
    briefs = {
        text: quoted(text, best_sentences(text, [score.total for score in some], length))
        for text, some in zip(long, scores, strict=True)
    }
    return [briefs.get(text, text) for text in texts]
