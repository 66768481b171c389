"""Which passages of one text answer a question, by meaning and by words alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from deepcritical_mcp.evidence.chunking import PASSAGE_LENGTH, Passage
from deepcritical_mcp.evidence.lexical import LexicalIndex, hybrid_score
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.passage_quotes import PassagePage, by_place, page_of, together
from deepcritical_mcp.evidence.priority import priority
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.excerpts import sentences
from deepcritical_mcp.models import NO_ABSTRACT, DocumentPassage, Publication, Text

ABSTRACT = "abstract"
"""The anchor of an abstract, and the kind of its text."""
CLOSE_COVERAGE = 0.5
"""Share of a question's words, weighted by their rarity, that makes evidence close to it whatever the model says."""


def best_within(
    passages: Sequence[Passage],
    question: str,
    cosines: Sequence[float],
    page: PassagePage,
    words_weight: float,
    floor: float = 0.0,
    wanted: Callable[[str], bool] | None = None,
) -> tuple[tuple[DocumentPassage, ...], int]:
    """The page of the passages that answer best, best first, those of a part together, and the offset of the next page,
    -1 if there is none; `cosines` to the question are known of the first passages. Only passages with `wanted` anchors
    are shown. A passage is close to the question with a cosine from `floor` on, or most of its words.

    Every passage has the title's words, so rarity is counted within the paper.
    """
    index = LexicalIndex(b=0.0)
    for number, passage in enumerate(passages):
        index.add(str(number), words_of(passage.content))
    scores = index.score(question)
    words = [scores.at(str(number)) for number in range(len(passages))]
    relevance = [*cosines, *(lexical for lexical, _ in words[len(cosines) :])]
    total = [
        hybrid_score(near, *some, scores.terms, words_weight) + priority(passage, question)
        for near, some, passage in zip(relevance, words, passages, strict=True)
    ]
    best = [
        at
        for at in sorted(range(len(passages)), key=lambda at: -total[at])
        if not wanted or wanted(_anchor(passages[at]))
    ]
    shown = page_of([passages[at].end - passages[at].start for at in best], page)
    chosen = best[shown]
    groups = [[chosen[at] for at in some] for some in by_place([passages[at] for at in chosen])]
    close = {at for at in chosen if words[at][1] >= CLOSE_COVERAGE or (at < len(cosines) and cosines[at] >= floor)}
    close = close if cosines else {*chosen}
    found = (
        _shown([passages[at] for at in some], max(relevance[at] for at in some), not close.isdisjoint(some))
        for some in groups
    )
    return tuple(found), shown.stop if shown.stop < len(best) else -1


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


def _anchor(passage: Passage) -> str:
    return passage.anchor if passage.part else ABSTRACT


def _shown(passages: Sequence[Passage], relevance: float, is_close: bool) -> DocumentPassage:
    """Passages of one part, or of a text without parts."""
    part, is_abstract = passages[0].part, passages[0].text.kind == ABSTRACT
    content, anchor = together(passages)
    return DocumentPassage(
        anchor=ABSTRACT if part is None and is_abstract else anchor,
        section=part.path if part else ("Abstract",) if is_abstract else (),
        text=content,
        relevance=min(max(relevance, 0.0), 1.0),
        is_close=is_close,
    )
