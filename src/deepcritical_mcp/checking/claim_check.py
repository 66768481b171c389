"""The passages of cited records that can settle what is claimed, and numbers that are nowhere in them.

One score ranks the sentences of an abstract and the passages of a full text: nearness in meaning, shared words, the
numbers of the claim, and whether results stand there rather than aims or methods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.checking.claim_numbers import (
    WORDS,
    claimed_numbers,
    is_stated,
    numbers_elsewhere,
    numbers_missing,
)
from deepcritical_mcp.checking.compared_text import own_texts
from deepcritical_mcp.checking.draft import CitingSentence
from deepcritical_mcp.deadline import TO_EMBED, seconds_for
from deepcritical_mcp.evidence.chunking import Passage, passages, searched
from deepcritical_mcp.evidence.lexical import LexicalIndex
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.passage_quotes import with_neighbors
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import GAP, best_sentences, quoted
from deepcritical_mcp.excerpts import sentences as sentences_of
from deepcritical_mcp.models import CheckedClaim, Publication

MAX_PASSAGE, MAX_IN_PARTS = 600, 400
"""Characters of a passage that is shown: two or three sentences; of one of a full text, where they are longer."""
MAX_COMPARED = 6
"""Passages of one record that are compared with a claim by meaning: the best ones without it."""
_WORDS, _MEANING, _NUMBERS, _RESULTS = 0.5, 1.5, 1.0, 0.6
"""Weights of the parts of a passage's score, each 0..1."""

_LABEL = re.compile(r"\s*([A-Z][A-Z/&,'() -]{3,60})(?::|\s(?=[A-Z]?[a-z\d]|A\s))|\s*([A-Z][a-z]+(?: [a-z&]+){0,3}):\s")
_BEFORE, _FINDINGS, _PAST = (WORDS[name].split() for name in ("sections before", "sections with findings", "past"))


class _Record(NamedTuple):
    """What can be read of a record, in passages (of an abstract its sentences), and how likely each has results."""

    publication: Publication
    passages: Sequence[Passage]
    findings: Sequence[float]
    lexical: LexicalIndex


class _Pair(NamedTuple):
    """A claim and a record that it cites, with the scores of the passages, and the most promising of these."""

    sentence: CitingSentence
    reference: int
    record: _Record
    words: Sequence[float]
    scores: Sequence[float]
    promising: Sequence[int]


async def check_claims(
    sentences: Sequence[CitingSentence], cited: Mapping[int, Publication], embedder: PassageEmbedder
) -> list[CheckedClaim]:
    """For each sentence and each record that it cites, the passage that can settle it; `cited` are the records by the
    indexes of their references. A sentence all of whose references are unknown is left out."""
    pairs = await run_sync(_pairs, sentences, cited, abandon_on_cancel=True)
    cosines = await _cosines(embedder, pairs)
    return await run_sync(lambda: [_claim(one, cosines, cited) for one in pairs], abandon_on_cancel=True)


def _pairs(sentences: Sequence[CitingSentence], cited: Mapping[int, Publication]) -> list[_Pair]:
    records: dict[str, _Record] = {}
    pairs: list[_Pair] = []
    for sentence in sentences:
        first = {cited[at].id: at for at in reversed(sentence.references) if at in cited}
        for id, reference in reversed(first.items()):
            records[id] = records.get(id) or _record(cited[reference])
            pairs.append(_pair(sentence, reference, records[id]))
    return pairs


def _record(publication: Publication) -> _Record:
    found = [one for one in passages(publication) if one.part and one.text.kind != "note"]
    for text in own_texts(publication):
        found += () if text.parts else (Passage(text, "", *span) for span in sentences_of(text.content))
    index, findings, section, last = LexicalIndex(b=0.0), list[float](), "", None
    for at, one in enumerate(found):
        index.add(str(at), words_of(one.content))
        label = None if one.part else _LABEL.match(one.text.content, one.start, one.end)
        section = (label[1] or label[2]) if label else section if one.text is last else ""
        section, last = " > ".join(one.part.path) if one.part else section, one.text
        findings.append(_has_findings(one, section))
    return _Record(publication, found, findings, index)


def _has_findings(passage: Passage, section: str) -> float:
    """How likely a passage has results, 0..1: by its section, the titles of its part or the label before it in an
    abstract, else by its place and by numbers in the past tense."""
    before, findings = (any(one in section.lower() for one in known) for known in (_BEFORE, _FINDINGS))
    if before != findings:
        return float(findings)
    said, place = passage.quotation, passage.start / max(1, len(passage.text.content))
    is_past = any(word in _PAST or word.rstrip(".,;:)").endswith("ed") for word in said.split())
    return 0.8 * place + 0.2 * (is_past and any(map(str.isdigit, said)))


def _pair(sentence: CitingSentence, reference: int, record: _Record) -> _Pair:
    found = record.lexical.score(sentence.claim)
    words = found.at(map(str, range(len(record.passages))))[0].tolist()
    most, numbers = max(words, default=0.0) or 1.0, claimed_numbers(sentence.claim)
    scores = [_WORDS * one / most + _RESULTS * other for one, other in zip(words, record.findings, strict=True)]
    for at, passage in enumerate(record.passages if numbers else ()):
        scores[at] += _NUMBERS * sum(is_stated(one, passage.quotation) for one in numbers) / len(numbers)
    promising = sorted(range(len(scores)), key=lambda number: -scores[number])[:MAX_COMPARED]
    return _Pair(sentence, reference, record, words, scores, promising)


async def _cosines(embedder: PassageEmbedder, pairs: Sequence[_Pair]) -> dict[tuple[str, str], float]:
    """The cosines of claims and the contents of promising passages; {} without a model, or if there is no time."""
    texts = list(dict.fromkeys(pair.record.passages[at].content for pair in pairs for at in pair.promising))
    claims = list(dict.fromkeys(pair.sentence.claim for pair in pairs))
    if not texts:
        return {}
    with anyio.move_on_after(seconds_for(TO_EMBED)):
        queries, vectors = await embedder.queries(claims), await embedder.sentences(texts)
        if queries is not None and vectors is not None:
            return dict(zip(product(claims, texts), map(float, (queries @ vectors.T).flat), strict=True))
    return {}


def _claim(pair: _Pair, cosines: Mapping[tuple[str, str], float], cited: Mapping[int, Publication]) -> CheckedClaim:
    sentence, id, found = pair.sentence, pair.record.publication.id, pair.record.passages
    references = (pair.reference, *(one for one in sentence.references if one != pair.reference))
    missing: tuple[str, ...] = ()
    if all(at in cited and own_texts(cited[at]) for at in sentence.references):  # else they may stand there
        texts = [searched(text) for at in sentence.references for text in own_texts(cited[at])]
        missing = numbers_missing(sentence.claim, [*texts, *(cited[at].title for at in sentence.references)])
    claim = CheckedClaim(sentence=sentence.text, references=references, where=id, numbers_missing=missing)
    if not pair.promising:
        return claim
    nearness = {at: cosines[sentence.claim, found[at].content] if cosines else pair.words[at] for at in pair.promising}
    scores = [one + _MEANING * nearness.get(at, 0.0) for at, one in enumerate(pair.scores)]
    best = max(pair.promising, key=scores.__getitem__)
    passage, anchor = _shown(found, scores, best)
    told = {"where": f"{id} {anchor}".strip(), "passage": passage}
    relevance = round(min(max(nearness[best], 0.0), 1.0), 3)
    elsewhere = numbers_elsewhere(sentence.claim, passage)
    return claim.model_copy(update={**told, "relevance": relevance, "numbers_elsewhere": elsewhere})


def _shown(found: Sequence[Passage], scores: Sequence[float], best: int) -> tuple[str, str]:
    """A passage with its neighbors, of an abstract the best sentences, and its anchor."""
    text = found[best].text
    if found[best].part is not None:
        shown = with_neighbors(found[best], MAX_IN_PARTS)
        return shown.content, shown.anchor
    own = [score for score, one in zip(scores, found, strict=True) if one.text is text]
    chosen = best_sentences(text.content, own, MAX_PASSAGE)
    return quoted(text.content, chosen).removeprefix(GAP).removesuffix(GAP).strip(), ""
