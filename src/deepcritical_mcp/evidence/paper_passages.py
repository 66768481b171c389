"""Which passages, and which sentences, of one text answer a question, by meaning and by words alike."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from anyio.to_thread import run_sync

from deepcritical_mcp.evidence.chunking import (
    Passage,
    by_place,
    is_table,
    joined,
)
from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT
from deepcritical_mcp.evidence.passage_quotes import PassagePage, page_of, together
from deepcritical_mcp.evidence.session_access import PassageEmbedder
from deepcritical_mcp.evidence.storage.stored_items import Vector
from deepcritical_mcp.evidence.text_index import (
    ABOUT_PREPARING,
    LexicalScores,
    hybrid_scores,
    priority,
    scores_among,
    section_standing,
    standings,
)
from deepcritical_mcp.excerpts import Span, best_sentences, quoted, section_labels, sentences
from deepcritical_mcp.models import NO_ABSTRACT, DocumentPassage, Evidence, Publication, Text
from deepcritical_mcp.text import CONJUNCTIONS, NEGATIONS, QUESTION_WORDS

MAX_EMBEDDED = 300
"""Sentences of one call that are compared by meaning; of more, those with the most of the question's words."""
ENOUGH_WORDS = 0.6
"""Share of the question's words, weighted by their rarity, with which a sentence answers whatever the model says."""
ENOUGH_ALONE = 0.3
"""The same where the model says nothing, because it is busy or missing."""
SHORT_OVERRUN = 50
"""Characters by which a passage may be longer than asked for before it is worth a gap."""
NEARLY_BEST = 0.6
"""Share of the best sentence's score down to which others are quoted with it."""
CHOSEN_BY_WORDS = "The sentences that are quoted were chosen by words only."

Embedded: TypeAlias = "tuple[Passage, Vector]"
KeyT = TypeVar("KeyT", bound=Hashable)

_NO_SUBJECT = NEGATIONS | QUESTION_WORDS | CONJUNCTIONS
_ABBREVIATION = re.compile(r"\b[A-Z][A-Z0-9]+s?\b")
_SMALL = re.compile(r"[a-z]")


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
    sharing = dict.fromkeys(map(int, words.top(MAX_EMBEDDED)))
    chosen = list(sharing | dict.fromkeys(range(len(flat))))[:MAX_EMBEDDED]  # the most promising first
    known = await embedder.cosines(question, [flat[number] for number in chosen], CHOSEN_BY_WORDS) if chosen else []
    cosines = dict(zip(chosen, known, strict=False))
    short = _abbreviations(question)
    enough = ENOUGH_WORDS if cosines else ENOUGH_ALONE

    lexical, coverages = words.at(map(str, range(len(flat))))
    near = [cosines.get(number, own) for number, own in enumerate(lexical.tolist())]
    totals = hybrid_scores(near, lexical, coverages, words.terms, weight).tolist()

    def score(number: int) -> SentenceScore:
        if not flat[number]:
            return SentenceScore(0.0, answers=False)
        is_exact = bool(short & _abbreviations(flat[number]))
        answers = is_exact or bool(coverages[number] >= enough) or cosines.get(number, 0.0) >= close
        return SentenceScore(totals[number] + is_exact, answers)

    numbers = iter(range(len(flat)))
    return [[score(next(numbers)) for _ in some] for some in found]


def missing_terms(question: str, publication: Publication) -> set[str]:
    """The abbreviations of the question that occur neither in the title nor in the texts of a publication."""
    text = "\n".join((publication.title, *(text.content for text in publication.texts)))
    return {term for term in _abbreviations(question) - _abbreviations(text) if term not in text}


def _indexed(question: str, texts: Sequence[str]) -> tuple[list[list[str]], LexicalScores]:
    found = [_told(text) for text in texts]
    told = [word for word in question.split() if word.lower().strip("?,.") not in _NO_SUBJECT]
    return found, scores_among((one for some in found for one in some), " ".join(told) or question)


def _told(text: str) -> list[str]:
    """The sentences of a text; a row of a table below its header, which answers nothing alone: "" for that."""
    found = [text[a:b].strip() for a, b in sentences(text)]
    header = ""
    for number, one in enumerate(found):
        if is_table("\n".join((one, *found[number + 1 : number + 3]))):
            header, found[number], found[number + 1] = one, "", ""
        elif header and one:
            header = header if one.startswith("|") else ""
            found[number] = f"{header}\n{one}".strip()
    return found


def _abbreviations(text: str) -> set[str]:
    """E.g. NOAEL or IL6, without a plural s. A text that is in capitals throughout has none, unless it is one word."""
    is_in_capitals = not _SMALL.search(text) and " " in text.strip()
    return set() if is_in_capitals else {found.removesuffix("s") for found in _ABBREVIATION.findall(text)}


def best_answers(
    rows: Sequence[tuple[KeyT, str]], scores: Sequence[Sequence[SentenceScore]], length: int
) -> dict[KeyT, tuple[int, list[Span]]]:
    """For each key in `rows`, which pair keys and texts, the row that answers best and the sentences that do, best
    first, about `length` characters; [] if none does."""
    best: dict[KeyT, tuple[float, int, list[Span]]] = {}
    for at, ((key, text), some) in enumerate(zip(rows, scores, strict=True)):
        good = [(score.total, span) for span, score in zip(sentences(text), some, strict=True) if score.answers]
        highest, room, chosen = max([score for score, _ in good], default=0.0), length, list[Span]()
        for score, span in sorted(good, key=lambda row: -row[0]):
            if not chosen or (score >= NEARLY_BEST * highest and span.length <= room):
                chosen.append(span)
                room -= span.length
        if key not in best or highest > best[key][0]:
            best[key] = highest, at, chosen
    return {key: (at, chosen) for key, (_, at, chosen) in best.items()}


def by_part(item: Evidence, brief: str) -> Evidence:
    """`item` by a part of its text."""
    cut = brief != item.content
    return item.but(content=brief, content_truncated=cut) if cut else item


async def shortened(embedder: PassageEmbedder, question: str, texts: Mapping[str, int]) -> dict[str, str]:
    """The texts that are longer than the number of characters to which they are mapped, each by about so many: by the
    sentences that answer best, in their context, with gaps marked; what is labeled results before methods."""
    long = [text for text, length in texts.items() if len(text) > length + SHORT_OVERRUN]
    scores = await score_sentences(embedder, question, long)
    is_of_place = not ABOUT_PREPARING.search(question)

    def chosen(text: str, some: Sequence[SentenceScore]) -> list[Span]:
        places = [section_standing((label,), "") if is_of_place else 0.0 for label in section_labels(text)]
        totals = [score.total + place for score, place in zip(some, places, strict=True)]
        return best_sentences(text, totals, texts[text])

    return {text: quoted(text, chosen(text, some)) for text, some in zip(long, scores, strict=True)}


ABSTRACT = "abstract"
"""The anchor of an abstract, and the kind of its text."""
CLOSE_COVERAGE = 0.5
"""Share of a question's words, weighted by their rarity, that makes evidence close to it whatever the model says."""


def best_within(
    passages: Sequence[Passage], question: str, cosines: Sequence[float], page: PassagePage, weight: float, floor: float
) -> tuple[tuple[DocumentPassage, ...], int]:
    """The page of the passages that answer best, best first, those of a part together, and the offset of the next page,
    -1 if there is none; `cosines` to the question are known of the first passages, and words have that `weight`. A
    passage is close to the question with a cosine from `floor` on, or most of its words.

    Every passage has the title's words, so rarity is counted within the paper.
    """
    scores = scores_among((passage.content for passage in passages), question, b=0.0)
    lexical, coverage = scores.at(map(str, range(len(passages))))
    relevance = [*cosines, *lexical[len(cosines) :].tolist()]
    found = hybrid_scores(relevance, lexical, coverage, scores.terms, weight).tolist()
    ranked = zip(found, passages, standings(passages), strict=True)
    total = [score + priority(one, question, known) for score, one, known in ranked]
    best = [
        at
        for at in sorted(range(len(passages)), key=lambda at: -total[at])
        if not page.wanted or page.wanted(passages[at].anchor or ABSTRACT)
    ]
    close = {at for at in best if coverage[at] >= CLOSE_COVERAGE or (at < len(cosines) and cosines[at] >= floor)}
    close = close if cosines else {*best}

    def shown(some: slice) -> tuple[DocumentPassage, ...]:
        chosen = best[some]
        groups = [[chosen[at] for at in numbers] for numbers in by_place([passages[at] for at in chosen])]
        return tuple(_shown(passages, group, relevance, is_close=not close.isdisjoint(group)) for group in groups)

    place = page_of(len(best), page, lambda some: page.length(shown(some)))
    return shown(place), place.stop if place.stop < len(best) else -1


async def abstract_of(
    embedder: PassageEmbedder, publication: Publication, text: Text, *, by_meaning: bool
) -> list[Embedded]:
    """The abstract beside a full text, in passages as long as its, with their vectors, which are empty without
    `by_meaning`; [] for other texts, or if there is no time to embed it."""
    abstracts = [one for one in publication.texts if one.kind == ABSTRACT and not one.is_users]
    if text.kind != "full_text" or not abstracts or abstracts[0].content == NO_ABSTRACT:
        return []
    spans = joined(sentences(abstracts[0].content))
    found = [Passage(abstracts[0], publication.title, *span) for span in spans]
    if not by_meaning:
        return [(one, ()) for one in found]
    loss = "The abstract was not compared with the question."
    vectors = await embedder.beside([one.content for one in found], loss) if found else None
    return [] if vectors is None else [*zip(found, vectors, strict=True)]


def _shown(
    passages: Sequence[Passage], group: Sequence[int], relevance: Sequence[float], *, is_close: bool
) -> DocumentPassage:
    """What is quoted of one part, or of a text without parts, beginning with the passage that answers best."""
    quotation, first = together([passages[at] for at in group]), passages[group[0]]
    part, is_abstract = first.part, first.text.kind == ABSTRACT
    return DocumentPassage(
        anchor=ABSTRACT if part is None and is_abstract else quotation.anchor,
        section=part.path if part else ("Abstract",) if is_abstract else (),
        text=quotation.content,
        relevance=min(max(0.0, *(relevance[at] for at in group)), 1.0),
        is_close=is_close,
    )
