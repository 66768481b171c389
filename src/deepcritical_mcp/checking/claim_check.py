"""The passages of cited records that are nearest to what is claimed, and numbers that are nowhere in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.checking.claim_numbers import numbers_missing
from deepcritical_mcp.checking.draft import CitingSentence
from deepcritical_mcp.deadline import TO_EMBED, seconds_for
from deepcritical_mcp.evidence.chunking import Passage, passages, searched
from deepcritical_mcp.evidence.lexical import LexicalIndex
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.passage_quotes import with_neighbors
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import sentences as sentences_of
from deepcritical_mcp.models import NO_ABSTRACT, CheckedClaim, Publication, Text

MAX_PASSAGE = 400
"""Characters of a passage that is shown."""
MAX_COMPARED = 6
"""Passages of one record that are compared with a claim by meaning: those with most of its words."""


@dataclass(frozen=True, slots=True)
class _Record:
    """What can be read of a record, in passages: of an abstract its sentences."""

    publication: Publication
    passages: Sequence[Passage]
    index: LexicalIndex


@dataclass(frozen=True, slots=True)
class _Pair:
    """A claim and a record that it cites, with its words' scores of the passages, and the most promising of these."""

    sentence: CitingSentence
    reference: int
    record: _Record
    words: Sequence[float]
    promising: Sequence[int]


async def check_claims(
    sentences: Sequence[CitingSentence], cited: Mapping[int, Publication], embedder: PassageEmbedder
) -> list[CheckedClaim]:
    """For each sentence and each record that it cites, the nearest passage; `cited` are the records by the indexes of
    their references. A sentence all of whose references are unknown is left out."""
    pairs = await run_sync(_pairs, sentences, cited, abandon_on_cancel=True)
    cosines = await _cosines(embedder, pairs)
    return await run_sync(_checked, pairs, cosines, cited, abandon_on_cancel=True)


def _pairs(sentences: Sequence[CitingSentence], cited: Mapping[int, Publication]) -> list[_Pair]:
    records: dict[str, _Record] = {}
    pairs: list[_Pair] = []
    for sentence in sentences:
        known = {cited[at].id: at for at in reversed(sentence.references) if at in cited}
        for id, reference in reversed(known.items()):
            if id not in records:
                records[id] = _record(cited[reference])
            pairs.append(_pair(sentence, reference, records[id]))
    return pairs


def _record(publication: Publication) -> _Record:
    found = [one for text in _own_texts(publication) for one in _passages_of(publication, text)]
    index = LexicalIndex(b=0.0)
    for number, passage in enumerate(found):
        index.add(str(number), words_of(passage.content))
    return _Record(publication, found, index)


def _own_texts(publication: Publication) -> list[Text]:
    return [text for text in publication.texts if text.kind != "note" and text.content != NO_ABSTRACT]


def _passages_of(publication: Publication, text: Text) -> list[Passage]:
    if text.parts:
        return [one for one in passages(publication) if one.text is text]
    return [Passage(text, "", *span) for span in sentences_of(text.content)]


def _pair(sentence: CitingSentence, reference: int, record: _Record) -> _Pair:
    scores = record.index.score(sentence.claim)
    words = [scores.at(str(number))[0] for number in range(len(record.passages))]
    promising = sorted(range(len(words)), key=lambda number: -words[number])[:MAX_COMPARED]
    return _Pair(sentence, reference, record, words, promising)


async def _cosines(embedder: PassageEmbedder, pairs: Sequence[_Pair]) -> dict[tuple[str, str], float]:
    """The cosines of claims and the contents of promising passages; {} without a model, or if there is no time."""
    texts = list(dict.fromkeys(pair.record.passages[at].content for pair in pairs for at in pair.promising))
    claims = list(dict.fromkeys(pair.sentence.claim for pair in pairs))
    if not texts:
        return {}
    with anyio.move_on_after(seconds_for(TO_EMBED)):
        queries, vectors = await embedder.queries(claims), await embedder.sentences(texts)
        if queries is not None and vectors is not None:
            row = {text: number for number, text in enumerate(texts)}
            column = {claim: number for number, claim in enumerate(claims)}
            return {
                (pair.sentence.claim, text): float(vectors[row[text]] @ queries[column[pair.sentence.claim]])
                for pair in pairs
                for at in pair.promising
                for text in (pair.record.passages[at].content,)
            }
    return {}


def _checked(
    pairs: Sequence[_Pair], cosines: Mapping[tuple[str, str], float], cited: Mapping[int, Publication]
) -> list[CheckedClaim]:
    return [_claim(pair, cosines, cited) for pair in pairs]


def _claim(pair: _Pair, cosines: Mapping[tuple[str, str], float], cited: Mapping[int, Publication]) -> CheckedClaim:
    sentence, id = pair.sentence, pair.record.publication.id
    references = (pair.reference, *(one for one in sentence.references if one != pair.reference))
    missing = _missing(sentence, cited)
    if not pair.promising:
        return CheckedClaim(sentence=sentence.text, references=references, where=id, numbers_missing=missing)
    contents = {at: pair.record.passages[at].content for at in pair.promising}
    by_meaning = {at: cosines[sentence.claim, content] for at, content in contents.items()} if cosines else {}
    by_words = {at: pair.words[at] for at in pair.promising}
    scores = _stretched(by_words)
    for at, score in _stretched(by_meaning).items():
        scores[at] += score
    best = max(pair.promising, key=lambda at: scores[at])
    relevance = (by_meaning or by_words)[best]
    passage, anchor = _shown(pair, scores, best)
    return CheckedClaim(
        sentence=sentence.text,
        references=references,
        where=f"{id} {anchor}".strip(),
        passage=passage,
        relevance=round(min(max(relevance, 0.0), 1.0), 3),
        numbers_missing=missing,
    )


def _missing(sentence: CitingSentence, cited: Mapping[int, Publication]) -> tuple[str, ...]:
    """() also if nothing could be read of one of the publications: there they may stand."""
    if any(at not in cited or not _own_texts(cited[at]) for at in sentence.references):
        return ()
    texts = [searched(text) for at in sentence.references for text in _own_texts(cited[at])]
    return numbers_missing(sentence.claim, [*texts, *(cited[at].title for at in sentence.references)])


def _stretched(scores: Mapping[int, float]) -> dict[int, float]:
    low = min(scores.values(), default=0.0)
    width = max(max(scores.values(), default=0.0) - low, 1e-9)
    return {at: (score - low) / width for at, score in scores.items()}


def _shown(pair: _Pair, scores: Mapping[int, float], best: int) -> tuple[str, str]:
    """A passage with its neighbors, of an abstract those sentences that come next in score, and its anchor."""
    found = pair.record.passages
    if found[best].part is not None:
        shown = with_neighbors(found[best], MAX_PASSAGE)
        return shown.content, shown.anchor
    first = last = best
    while True:
        near = [at for at in (first - 1, last + 1) if 0 <= at < len(found) and found[at].text is found[best].text]
        fitting = [at for at in near if _length(found, min(first, at), max(last, at)) <= MAX_PASSAGE]
        if not fitting:
            break
        chosen = max(fitting, key=lambda at: scores.get(at, 0.0))
        first, last = min(first, chosen), max(last, chosen)
    return found[best].text.content[found[first].start : found[last].end].strip(), ""


def _length(found: Sequence[Passage], first: int, last: int) -> int:
    return found[last].end - found[first].start
