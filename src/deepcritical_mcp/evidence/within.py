"""Which passages of one text answer a question, by meaning and by words alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.chunking import PASSAGE_LENGTH, Passage
from deepcritical_mcp.evidence.lexical import LexicalIndex
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.passage_quotes import with_neighbors
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.excerpts import sentences
from deepcritical_mcp.models import NO_ABSTRACT, DocumentPassage, Publication, Text

ABSTRACT = "abstract"
"""The anchor of an abstract, and the kind of its text."""
CLOSE_COVERAGE = 0.5
"""Share of a question's words, weighted by their rarity, that makes evidence close to it whatever the model says."""


def best_within(
    passages: Sequence[Passage], question: str, cosines: Sequence[float], limit: int, floor: float = 0.0
) -> tuple[DocumentPassage, ...]:
    """The passages that answer best, best first; `cosines` to the question are known of the first passages. Of an
    abstract, only the best one. A passage is close to the question with a cosine from `floor` on, or most of its words.

    Within one paper, cosines lie close together, and every passage has the title's words. So both scores are stretched
    from 0 for the lowest to 1 for the highest, and summed; rarity is counted within the paper.
    """
    index = LexicalIndex(b=0.0)
    for number, passage in enumerate(passages):
        index.add(str(number), words_of(passage.content))
    scores = index.score(question)
    words = np.array([scores.at(str(number))[0] for number in range(len(passages))])
    by_words = _stretched(words)
    by_meaning = np.concatenate((_stretched(np.array(cosines)), by_words[len(cosines) :]))
    relevance = np.concatenate((np.array(cosines), words[len(cosines) :]))
    best = [*map(int, np.argsort(-(by_words + by_meaning), kind="stable"))]
    of_abstract = [at for at in best if passages[at].part is None and passages[at].text.kind == ABSTRACT]
    shown = [at for at in best if at not in of_abstract[1:]][:limit]
    close = {
        at for at in shown if (at < len(cosines) and cosines[at] >= floor) or scores.at(str(at))[1] >= CLOSE_COVERAGE
    }
    return tuple(_shown(passages[at], float(relevance[at]), at in close or not len(cosines)) for at in shown)


async def abstract_of(
    embedder: PassageEmbedder, publication: Publication, text: Text, *, by_meaning: bool
) -> list[tuple[Passage, Vector]]:
    """The abstract beside a full text, in passages as long as its, with their vectors, which are empty without
    `by_meaning`; [] for other texts, or if there is no time to embed it."""
    found = _in_abstract(publication, text)
    if not (found and by_meaning):
        return [(one, ()) for one in found]
    vectors = await embedder.beside([one.content for one in found], "The abstract was not compared with the question.")
    return [] if vectors is None else [*zip(found, vectors, strict=True)]


def _in_abstract(publication: Publication, text: Text) -> list[Passage]:
    abstracts = [one for one in publication.texts if one.kind == ABSTRACT and not one.is_users]
    if text.kind != "full_text" or not abstracts or abstracts[0].content == NO_ABSTRACT:
        return []
    found: list[Passage] = []
    for start, end in sentences(abstracts[0].content):
        if found and end - found[-1].start <= PASSAGE_LENGTH:
            found[-1] = replace(found[-1], end=end)
        else:
            found.append(Passage(abstracts[0], publication.title, start, end))
    return found


def _stretched(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return (scores - scores.min()) / max(float(np.ptp(scores)), 1e-9) if len(scores) else scores


def _shown(passage: Passage, relevance: float, is_close: bool) -> DocumentPassage:
    is_abstract = passage.part is None and passage.text.kind == ABSTRACT
    if is_abstract or passage.part is None:
        anchor, section, text = (
            (ABSTRACT, ("Abstract",), passage.quotation) if is_abstract else ("", (), passage.quotation)
        )
    else:
        shown = with_neighbors(passage, 0)
        anchor, section, text = shown.anchor, passage.part.path, shown.content
    return DocumentPassage(
        anchor=anchor,
        section=section,
        text=text,
        relevance=min(max(relevance, 0.0), 1.0),
        is_close=is_close,
    )
