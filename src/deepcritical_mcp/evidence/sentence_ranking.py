"""Which sentences of a text answer a question: by their words, and by their meaning."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from anyio.to_thread import run_sync

from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, hybrid_score
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import Span, best_sentences, quoted, sentences
from deepcritical_mcp.models import Evidence
from deepcritical_mcp.text import CONJUNCTIONS, NEGATIONS, QUESTION_WORDS, cut_at_sentence

MAX_EMBEDDED = 300
"""Sentences of one call that are compared by meaning; of more, those with the most of the question's words."""
ENOUGH_WORDS = 0.6
"""Share of the question's words, weighted by their rarity, with which a sentence answers whatever the model says."""
ENOUGH_ALONE = 0.3
"""The same where the model says nothing, because it is busy or missing."""
SHORT_OVERRUN = 50
"""Characters by which a passage may be longer than asked for before it is worth a gap."""
MAX_BEGINNING = 8_000
"""Characters of a text in a list of the session's evidence."""
NEARLY_BEST = 0.6
"""Share of the best sentence's score down to which others are quoted with it."""
CHOSEN_BY_WORDS = "The sentences that are quoted were chosen by words only."

KeyT = TypeVar("KeyT", bound=Hashable)

_NO_SUBJECT = NEGATIONS | QUESTION_WORDS | CONJUNCTIONS
_ABBREVIATION = re.compile(r"\b[A-Z][A-Z0-9]+s?\b")
_SMALL = re.compile(r"[a-z]")
# Terms that are written out as often as not, and in several ways.
_WRITTEN_OUT = {
    short: re.compile(rf"\b(?:{form}|{word}[\s-]+(?:observed[\s-]+)?(?:adverse[\s-]+)?effects?[\s-]+level)s?\b", re.I)
    for short, form, word in (("NOAEL", "NOA?EL", "no"), ("LOAEL", "LOA?EL", "lowest"))
}


class SentenceScore(NamedTuple):
    """How well a sentence answers.

    Attributes:
        total: for ranking; above 1 if the sentence has an abbreviation of the question.
        answers: whether it has one, or enough of the question's words, or a meaning close enough.
    """

    total: float
    answers: bool


async def score_sentences(embedder: PassageEmbedder, question: str, texts: Sequence[str]) -> list[list[SentenceScore]]:
    """How well each sentence of each text answers: by words, and by meaning as far as there is a model."""
    calibration = embedder.calibration
    weight = calibration.words_weight if calibration else EVEN_WORDS_WEIGHT
    close = calibration.answers_from if calibration else math.inf
    found, words = await run_sync(_indexed, question, texts, abandon_on_cancel=True)
    flat = [sentence for some in found for sentence in some]
    cosines = await _cosines(embedder, question, flat, words)
    short = _abbreviations(question)
    enough = ENOUGH_WORDS if cosines else ENOUGH_ALONE

    def score(number: int, by_meaning: bool) -> SentenceScore:
        lexical, coverage = words.at(str(number))
        cosine = cosines.get(number)
        total = hybrid_score(lexical if cosine is None else cosine, lexical, coverage, words.terms, weight)
        is_exact = bool(short & _abbreviations(flat[number]))
        answers = is_exact or coverage >= enough or (by_meaning and (cosine or 0.0) >= close)
        return SentenceScore(total + is_exact, answers)

    numbers = iter(range(len(flat)))
    # What a text does not say in any of the known ways is not said by a sentence with a similar meaning either.
    lacking = [missing_terms(question, text) & _WRITTEN_OUT.keys() for text in texts]
    return [[score(next(numbers), not terms) for _ in some] for some, terms in zip(found, lacking, strict=True)]


def missing_terms(question: str, text: str) -> set[str]:
    """The abbreviations of the question that do not occur in `text`, also not written out as far as that is known."""
    return {term for term in _abbreviations(question) - _abbreviations(text) if term not in text}


def _indexed(question: str, texts: Sequence[str]) -> tuple[list[list[str]], LexicalScores]:
    found = [[text[a:b].strip() for a, b in sentences(text)] for text in texts]
    index = LexicalIndex()
    for number, sentence in enumerate(sentence for some in found for sentence in some):
        index.add(str(number), words_of(sentence))
    told = [word for word in question.split() if word.lower().strip("?,.") not in _NO_SUBJECT]
    return found, index.score(" ".join(told) or question)


async def _cosines(
    embedder: PassageEmbedder, question: str, found: Sequence[str], words: LexicalScores
) -> dict[int, float]:
    """The cosines of the most promising sentences to the question, by number."""
    sharing = dict.fromkeys(map(int, words.top(MAX_EMBEDDED)))
    chosen = list(sharing | dict.fromkeys(range(len(found))))[:MAX_EMBEDDED]
    texts = [found[number] for number in chosen]
    cosines = await embedder.cosines(question, texts, CHOSEN_BY_WORDS) if texts else []
    return dict(zip(chosen, cosines, strict=False))


def _abbreviations(text: str) -> set[str]:
    """E.g. NOAEL or IL6, without a plural s. A text that is in capitals throughout has none, unless it is one word."""
    known = {short for short, pattern in _WRITTEN_OUT.items() if pattern.search(text)}
    if not _SMALL.search(text) and " " in text.strip():
        return known
    return known | {found.removesuffix("s") for found in _ABBREVIATION.findall(text)}


def _answering(text: str, scores: Sequence[SentenceScore], length: int) -> tuple[list[Span], float]:
    """The sentences of `text` that answer, best first, about `length` characters, and the score of the best."""
    good = [(score.total, span) for span, score in zip(sentences(text), scores, strict=True) if score.answers]
    if not good:
        return [], 0.0
    good.sort(key=lambda row: -row[0])
    best, room = good[0][0], length
    chosen: list[Span] = []
    for score, span in good:
        if not chosen or (score >= NEARLY_BEST * best and span.length <= room):
            chosen.append(span)
            room -= span.length
    return chosen, best


def best_answers(
    rows: Sequence[tuple[KeyT, str]], scores: Sequence[Sequence[SentenceScore]], length: int
) -> dict[KeyT, tuple[int, list[Span]]]:
    """For each key in `rows`, which pair keys and texts, the row that answers best and the sentences that do, best
    first, about `length` characters; [] if none does."""
    best: dict[KeyT, tuple[float, int, list[Span]]] = {}
    for at, ((key, text), some) in enumerate(zip(rows, scores, strict=True)):
        chosen, score = _answering(text, some, length)
        if key not in best or score > best[key][0]:
            best[key] = score, at, chosen
    return {key: (at, chosen) for key, (_, at, chosen) in best.items()}


def by_part(item: Evidence, brief: str) -> Evidence:
    """`item` by a part of its text."""
    cut = brief != item.content
    return item.model_copy(update={"content": brief, "content_truncated": cut}) if cut else item


def beginning(item: Evidence) -> Evidence:
    """`item`; a long text by its beginning."""
    return by_part(item, cut_at_sentence(item.content, MAX_BEGINNING))


async def shortened(embedder: PassageEmbedder, question: str, texts: Mapping[str, int]) -> dict[str, str]:
    """The texts that are longer than the number of characters to which they are mapped, each by about so many: by the
    sentences that answer best, in their context, with gaps marked."""
    long = [text for text, length in texts.items() if len(text) > length + SHORT_OVERRUN]
    scores = await score_sentences(embedder, question, long)
    return {
        text: quoted(text, best_sentences(text, [score.total for score in some], texts[text]))
        for text, some in zip(long, scores, strict=True)
    }
