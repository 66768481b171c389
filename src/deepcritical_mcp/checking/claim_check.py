"""The passages of cited records that can settle what is claimed, and numbers that are nowhere in them.

One score ranks the sentences of an abstract and the passages of a full text: nearness in meaning, shared words, the
numbers of the claim, and whether results stand there rather than aims or methods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.checking.claim_numbers import (
    MAX_CLAIM,
    claimed_numbers,
    numbers_elsewhere,
    numbers_missing,
    stated_numbers,
)
from deepcritical_mcp.checking.draft import CitingSentence
from deepcritical_mcp.deadline import TO_EMBED, seconds_for
from deepcritical_mcp.evidence.chunking import Passage, passages, searched
from deepcritical_mcp.evidence.lexical import LexicalIndex
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.passage_quotes import with_neighbors
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.excerpts import GAP, best_sentences, quoted
from deepcritical_mcp.excerpts import sentences as sentences_of
from deepcritical_mcp.models import NO_ABSTRACT, CheckedClaim, Publication, Text

MAX_PASSAGE = 600
"""Characters of a passage that is shown: two or three sentences."""
MAX_IN_PARTS = 400
"""The same of a full text, where passages are longer than sentences."""
MAX_COMPARED = 6
"""Passages of one record that are compared with a claim by meaning: the best ones without it."""
_WORDS, _MEANING, _NUMBERS, _RESULTS = 0.5, 1.5, 1.0, 0.6
"""Weights of the parts of a passage's score, each 0..1."""

_LABEL = re.compile(r"\s*([A-Z][A-Z/&,'() -]{3,60})(?::|\s(?=[A-Z]?[a-z\d]|A\s))|\s*([A-Z][a-z]+(?: [a-z&]+){0,3}):\s")
_BEFORE = re.compile(
    r"(?i)aim|objective|purpose|background|context|introduc|rationale|hypothes|method|design|setting|measure"
    r"|patient|participant|subject|intervention|sources|material|procedure|registration|funding|import"
)
_FINDINGS = re.compile(r"(?i)result|finding|conclu|interpret|discuss|observation|implication|relevance|summary")
_DIGIT, _PAST = re.compile(r"\d"), re.compile(r"\b(?:was|were|had|did|[a-z]{3,}ed)\b")


@dataclass(frozen=True, slots=True)
class _Record:
    """What can be read of a record, in passages: of an abstract its sentences."""

    publication: Publication
    passages: Sequence[Passage]
    sections: Sequence[str]
    findings: Sequence[float]
    index: LexicalIndex


@dataclass(frozen=True, slots=True)
class _Pair:
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
    sections = _sections(found)
    findings = [_has_findings(passage, section) for passage, section in zip(found, sections, strict=True)]
    return _Record(publication, found, sections, findings, index)


def _own_texts(publication: Publication) -> list[Text]:
    return [text for text in publication.texts if text.kind != "note" and text.content != NO_ABSTRACT]


def _passages_of(publication: Publication, text: Text) -> list[Passage]:
    if text.parts:
        return [one for one in passages(publication) if one.text is text]
    return [Passage(text, "", *span) for span in sentences_of(text.content)]


def _sections(found: Sequence[Passage]) -> list[str]:
    """The section of each passage: the titles of its part, or the label of the abstract before it."""
    sections: list[str] = []
    for at, one in enumerate(found):
        label = None if one.part else _LABEL.match(one.text.content, one.start, one.end)
        last = sections[-1] if at and found[at - 1].text is one.text else ""
        sections.append(" > ".join(one.part.path) if one.part else (label[1] or label[2]).strip() if label else last)
    return sections


def _has_findings(passage: Passage, section: str) -> float:
    """How likely a passage has results, 0..1: by its section, else by its place and by numbers in the past tense."""
    before, findings = _BEFORE.search(section), _FINDINGS.search(section)
    if bool(before) != bool(findings):
        return float(bool(findings))
    place = passage.start / max(1, len(passage.text.content))
    return 0.8 * place + 0.2 * bool(_DIGIT.search(passage.quotation) and _PAST.search(passage.quotation))


def _pair(sentence: CitingSentence, reference: int, record: _Record) -> _Pair:
    found = record.index.score(sentence.claim)
    words = [found.at(str(number))[0] for number in range(len(record.passages))]
    most, numbers = max(words, default=0.0) or 1.0, claimed_numbers(sentence.claim[:MAX_CLAIM])
    scores = [_WORDS * one / most + _RESULTS * other for one, other in zip(words, record.findings, strict=True)]
    for at, passage in enumerate(record.passages if numbers else ()):
        stated = stated_numbers(passage.quotation)
        scores[at] += _NUMBERS * sum(map(stated.has, numbers)) / len(numbers)
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
    sentence, id, found = pair.sentence, pair.record.publication.id, pair.record.passages
    references = (pair.reference, *(one for one in sentence.references if one != pair.reference))
    missing = _missing(sentence, cited)
    if not pair.promising:
        return CheckedClaim(sentence=sentence.text, references=references, where=id, numbers_missing=missing)
    nearness = {at: cosines[sentence.claim, found[at].content] if cosines else pair.words[at] for at in pair.promising}
    scores = [one + _MEANING * nearness.get(at, 0.0) for at, one in enumerate(pair.scores)]
    best = max(pair.promising, key=scores.__getitem__)
    passage, anchor = _shown(found, scores, best)
    return CheckedClaim(
        sentence=sentence.text,
        references=references,
        where=f"{id} {anchor}".strip(),
        passage=passage,
        relevance=round(min(max(nearness[best], 0.0), 1.0), 3),
        numbers_missing=missing,
        numbers_elsewhere=numbers_elsewhere(sentence.claim, passage),
    )


def _missing(sentence: CitingSentence, cited: Mapping[int, Publication]) -> tuple[str, ...]:
    """() also if nothing could be read of one of the publications: there they may stand."""
    if any(at not in cited or not _own_texts(cited[at]) for at in sentence.references):
        return ()
    texts = [searched(text) for at in sentence.references for text in _own_texts(cited[at])]
    return numbers_missing(sentence.claim, [*texts, *(cited[at].title for at in sentence.references)])


def _shown(found: Sequence[Passage], scores: Sequence[float], best: int) -> tuple[str, str]:
    """A passage with its neighbors, of an abstract the best sentences, and its anchor."""
    text = found[best].text
    if found[best].part is not None:
        shown = with_neighbors(found[best], MAX_IN_PARTS)
        return shown.content, shown.anchor
    own = [score for score, one in zip(scores, found, strict=True) if one.text is text]
    chosen = best_sentences(text.content, own, MAX_PASSAGE)
    return quoted(text.content, chosen).removeprefix(GAP).removesuffix(GAP).strip(), ""
