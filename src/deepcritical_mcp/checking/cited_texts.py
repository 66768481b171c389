"""What a draft cites: papers, kept in its session beside the evidence, read together with it and no part of it; and
their texts, read if they are open, and laid against its quotations and claims.

One score ranks the sentences of an abstract and the passages of a full text that can settle what is claimed: nearness
in meaning, shared words, the numbers of the claim, and whether results stand there rather than aims or methods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.checking.claim_numbers import (
    WORDS,
    claimed_numbers,
    is_stated,
    numbers_elsewhere,
    numbers_missing,
)
from deepcritical_mcp.checking.draft import CitingSentence, Draft, DraftQuotation
from deepcritical_mcp.checking.quotation_check import check_quotation, own_texts
from deepcritical_mcp.deadline import (
    TO_EMBED,
    TO_KEEP_RESULTS,
    TO_READ_CITED_TEXTS,
    Progress,
    seconds_before,
    seconds_for,
)
from deepcritical_mcp.errors import AllProvidersFailedError
from deepcritical_mcp.evidence.chunking import Passage, passages, searched
from deepcritical_mcp.evidence.passage_quotes import with_neighbors
from deepcritical_mcp.evidence.session_access import PassageEmbedder
from deepcritical_mcp.evidence.storage.stored_items import CITED
from deepcritical_mcp.evidence.text_index import LexicalIndex
from deepcritical_mcp.excerpts import GAP, best_sentences, quoted
from deepcritical_mcp.excerpts import sentences as sentences_of
from deepcritical_mcp.identifiers import normalize_doi
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    LoggedSearch,
    Publication,
    ReferenceVerdict,
    Text,
    merged,
    split_text_id,
)
from deepcritical_mcp.search.documents import DocumentId
from deepcritical_mcp.search.full_texts import READ_KINDS, FullTexts
from deepcritical_mcp.search.record_finder import AT_ONCE
from deepcritical_mcp.search.search_steps import ReadingSession
from deepcritical_mcp.search.witness import status_fields
from deepcritical_mcp.text import batches, counted, words_of

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

MAX_OTHERS = 1_000
"""Publications of a session in which a quotation is looked for that does not stand where the draft says."""


class KeptPaper(NamedTuple):
    """A paper as it is kept now."""

    publication: Publication


class CitedPapers:
    """A session's evidence and the papers that its draft cites, as one store to the check: its methods are named as
    those of `EvidenceStore`. What they add is no evidence: it is kept beside the evidence when `keep` is called. Only
    statuses are written to the evidence itself."""

    def __init__(self, session: EvidenceStore, papers: Mapping[str, Publication]) -> None:
        self._session = session
        self._papers = dict(papers)
        self._kept = dict(papers)
        self.session_id = session.session_id

    @classmethod
    async def of(cls, session: EvidenceStore) -> CitedPapers:
        """A session's evidence with the cited papers that it has kept."""
        documents = await session.documents(CITED)
        read = [await run_sync(Publication.model_validate_json, one) for one in documents.values()]
        return cls(session, {one.id: one for one in read})

    async def keep(self) -> None:
        """Keep the new and changed cited papers; raises the errors of `EvidenceStore`."""
        for id, paper in self._papers.items():
            if self._kept.get(id) != paper:
                await self._session.keep_document(f"{CITED}{id}", paper.model_dump_json(exclude_defaults=True))
                self._kept[id] = paper

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        """Evidence and cited papers by id; one that is both is the evidence, with the texts that only the other has."""
        held = await self._session.publications(ids)
        found = {id: self._papers[id] for id in ids if id in self._papers} | held
        for id, one in held.items():
            if paper := self._papers.get(one.id):
                more = (text for text in paper.texts if all(text.kind != each.kind for each in one.texts))
                found[id] = one.model_copy(update={"texts": (*one.texts, *more)})
        return found

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        """For each publication, its id in the session or beside it; "" if it is in neither."""
        names = {number: one.id for one in self._papers.values() for number in _numbers(one)}
        found = zip(await self._session.known(publications), publications, strict=True)
        return [id or next((names[each] for each in _numbers(one) if each in names), "") for id, one in found]

    async def add_evidence(self, publications: Sequence[Publication]) -> tuple[KeptPaper, ...]:
        """Note these as cited, not as evidence, each merged with what is known of it, under the id that it has."""
        ids = [id or one.id for id, one in zip(await self._session.known(publications), publications, strict=True)]
        evidence, held = await self._session.publications(ids), await self.publications(ids)
        kept = [merged(held[id], one) if id in held else one for id, one in zip(ids, publications, strict=True)]
        changed = [one for one in kept if one.id in evidence and status_fields(one) != status_fields(evidence[one.id])]
        if changed:
            await self._session.set_statuses(changed)
        new = (one for one in kept if one.id not in evidence or len(one.texts) > len(evidence[one.id].texts))
        self._papers |= {one.id: without_notes(one) for one in new}
        return tuple(map(KeptPaper, kept))

    async def set_statuses(self, publications: Sequence[Publication]) -> None:
        """Write the status of publications as these have it, and nothing else."""
        await self._session.set_statuses(publications)
        for one in publications:
            if paper := self._papers.get(one.id):
                told = {"status_notices": one.status_notices}
                self._papers[one.id] = paper.with_status(one.status, one.status_checked, **told)

    async def text(self, id: str) -> tuple[Publication, Text] | None:
        """The text with that id (see `Publication.id_of`), and its publication."""
        base, _ = split_text_id(id)
        publication = (await self.publications([base])).get(base)
        text = publication and publication.text_with(id)
        return (publication, text) if publication and text else None

    async def log_search(self, search: LoggedSearch) -> None:
        """See `EvidenceStore.log_search`."""
        await self._session.log_search(search)

    async def others(self) -> list[Publication]:
        """The latest evidence of the session, without the user's notes."""
        held = await self._session.publications((await self._session.ids())[-MAX_OTHERS:])
        return [without_notes(one) for one in held.values() if not one.is_note]


def _numbers(publication: Publication) -> Iterator[tuple[str, str]]:
    own = publication.own_ids._asdict() | {"doi": normalize_doi(publication.doi)}
    return (one for one in own.items() if one[1])


def without_notes(publication: Publication) -> Publication:
    """The publication without the user's notes on it."""
    texts = tuple(one for one in publication.texts if one.kind != "note")
    return publication.model_copy(update={"texts": texts})


SENTENCES_AT_ONCE = 16
"""Citing sentences whose claims are checked together, before the time is looked at."""
_WHY_UNREAD = {"not_found": "not found", "outage": "a service failed", "unchecked": "of a kind that is not looked up"}
"""Why there is no record, by the verdict of a reference; of others, no record is sure."""
CitedSources = tuple[Mapping[int, Publication], Mapping[int, ReferenceVerdict], Sequence[Publication]]
"""The records of a draft and the verdicts on its references, by the indexes of these; other papers of the session."""


def has_full_text(publication: Publication) -> bool:
    """Whether more of it can be read than an abstract."""
    return any(one.kind in READ_KINDS and one.parts for one in publication.texts)


async def read_full_texts(
    full_texts: FullTexts, records: Sequence[Publication], session: ReadingSession, progress: Progress
) -> tuple[set[str], list[str]]:
    """Read the open full texts of `records`, as far as there is time, and keep them in the session; the ids of those
    that were looked for, and what failed, in words."""
    started, failed = dict[str, bool](), list[str]()  # whether it has ended, too
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def read(record: Publication) -> None:
        async with limiter:
            started[record.id] = False
            await progress(len(started) / len(records), f"reading full texts, {len(started)} of {len(records)}")
            try:
                found = await full_texts.read(DocumentId(record.id, evidence=record.id), session, tool="")
                failed.extend(found.errors)
            except AllProvidersFailedError as error:
                failed.append(error.message)
            started[record.id] = True

    with anyio.move_on_after(seconds_for(TO_READ_CITED_TEXTS)):
        async with anyio.create_task_group() as tasks:
            for record in records:
                tasks.start_soon(read, record)
    if unread := [id for id, has_ended in started.items() if not has_ended]:
        failed.append(f"{counted(len(unread), 'full text')} could not be read in time: {', '.join(unread)}.")
    return {*started}, [*dict.fromkeys(failed)]


async def check_texts(
    texts: Draft, sources: CitedSources, embedder: PassageEmbedder, progress: Progress
) -> tuple[list[CheckedQuotation | CheckedClaim], frozenset[int]]:
    """Check the quotations of a draft, then its claims, for as long as there is time, but always some; and where the
    sentences start whose claims these are."""
    end = anyio.current_time() + seconds_before(TO_KEEP_RESULTS)
    quotations, claims, done = list[CheckedQuotation](), list[CheckedClaim](), set[int]()
    for quotation in texts.quotations:
        if quotations and anyio.current_time() > end:
            break
        await progress(0.5 * len(quotations) / len(texts.quotations), "checking quotations")
        quotations.append(await _checked_quotation(quotation, sources))
    for some in batches(texts.sentences, SENTENCES_AT_ONCE):
        if (quotations or done) and anyio.current_time() > end:
            break
        await progress(0.5 + 0.5 * len(done) / len(texts.sentences), "looking for the passages nearest to claims")
        claims += await check_claims(some, sources[0], embedder)
        done.update(one.start for one in some)
    return [*quotations, *claims], frozenset(done)


async def _checked_quotation(quotation: DraftQuotation, sources: CitedSources) -> CheckedQuotation:
    references, (cited, verdicts, more) = quotation.references, sources
    named = {cited[one].id: cited[one] for one in references if one in cited}
    others = {one.id: one for one in (*cited.values(), *more) if one.id not in named}
    asked, rest = (named, others) if references else (others, {})
    found = await run_sync(check_quotation, quotation.text, [*asked.values()], [*rest.values()], abandon_on_cancel=True)
    verdict, remark = found.verdict, "" if references else "the draft names no source for it"
    unread = [(one, verdicts.get(one, "")) for one in references if one not in cited]
    if unread and verdict in ("misattributed", "not_found"):
        reasons = (f"reference {index} ({_WHY_UNREAD.get(why, 'no record is sure')})" for index, why in unread)
        remark = f"nothing could be read of {', '.join(reasons)}"
        if any(why in ("outage", "unchecked") for _, why in unread):  # it may stand there, too
            verdict = "unchecked"
    told = {"index": quotation.number, "quote": quotation.text, "references": references, "verdict": verdict}
    return found.model_copy(update=told | {"difference": "; ".join(filter(None, (found.difference, remark)))})


MAX_PASSAGE, MAX_IN_PARTS = 600, 400
"""Characters of a passage that is shown: two or three sentences; of one of a full text, where they are longer."""
MAX_COMPARED = 6
"""Passages of one record that are compared with a claim by meaning: the best ones without it."""
_WORDS, _MEANING, _NUMBERS, _RESULTS = 0.5, 1.5, 1.0, 0.6
"""Weights of the parts of a passage's score, each 0..1."""

_LABEL = re.compile(r"\s*([A-Z][A-Z/&,'() -]{3,60})(?::|\s(?=[A-Z]?[a-z\d]|A\s))|\s*([A-Z][a-z]+(?: [a-z&]+){0,3}):\s")
_BEFORE, _FINDINGS, _PAST = (WORDS[name].split() for name in ("sections before", "sections with findings", "past"))


class _Record:
    """What can be read of a record, in passages (of an abstract its sentences), and how likely each has results."""

    def __init__(self, publication: Publication) -> None:
        self.publication, self.lexical, self.findings = publication, LexicalIndex(b=0.0), list[float]()
        self.passages = [one for one in passages(publication) if one.part and one.text.kind != "note"]
        for text in own_texts(publication):
            self.passages += () if text.parts else (Passage(text, "", *span) for span in sentences_of(text.content))
        section, last = "", None
        for at, one in enumerate(self.passages):
            self.lexical.add(str(at), words_of(one.content))
            label = None if one.part else _LABEL.match(one.text.content, one.start, one.end)
            section = (label[1] or label[2]) if label else section if one.text is last else ""
            section, last = " > ".join(one.part.path) if one.part else section, one.text
            self.findings.append(_has_findings(one, section))


class _Pair:
    """A claim and a record that it cites, with the scores of the passages, and the most promising of these."""

    def __init__(self, sentence: CitingSentence, reference: int, record: _Record) -> None:
        self.sentence, self.reference, self.record = sentence, reference, record
        found, numbers = record.lexical.score(sentence.claim), claimed_numbers(sentence.claim)
        self.words: list[float] = found.at(map(str, range(len(record.passages))))[0].tolist()
        most, pairs = max(self.words, default=0.0) or 1.0, zip(self.words, record.findings, strict=True)
        self.scores = [_WORDS * one / most + _RESULTS * other for one, other in pairs]
        for at, passage in enumerate(record.passages if numbers else ()):
            self.scores[at] += _NUMBERS * sum(is_stated(one, passage.quotation) for one in numbers) / len(numbers)
        self.promising = sorted(range(len(self.scores)), key=lambda number: -self.scores[number])[:MAX_COMPARED]


async def check_claims(
    sentences: Sequence[CitingSentence], cited: Mapping[int, Publication], embedder: PassageEmbedder
) -> list[CheckedClaim]:
    """For each sentence and each record that it cites, the passage that can settle it; `cited` are the records by the
    indexes of their references. A sentence all of whose references are unknown is left out."""
    pairs = await run_sync(lambda: [*_pairs(sentences, cited)], abandon_on_cancel=True)
    cosines = await _cosines(embedder, pairs)
    return await run_sync(lambda: [_claim(one, cosines, cited) for one in pairs], abandon_on_cancel=True)


def _pairs(sentences: Sequence[CitingSentence], cited: Mapping[int, Publication]) -> Iterator[_Pair]:
    records: dict[str, _Record] = {}
    for sentence in sentences:
        first = {cited[at].id: at for at in reversed(sentence.references) if at in cited}
        for id, reference in reversed(first.items()):
            records[id] = records.get(id) or _Record(cited[reference])
            yield _Pair(sentence, reference, records[id])


def _has_findings(passage: Passage, section: str) -> float:
    """How likely a passage has results, 0..1: by its section, the titles of its part or the label before it in an
    abstract, else by its place and by numbers in the past tense."""
    before, findings = (any(one in section.lower() for one in known) for known in (_BEFORE, _FINDINGS))
    if before != findings:
        return float(findings)
    said, place = passage.quotation, passage.start / max(1, len(passage.text.content))
    is_past = any(word in _PAST or word.rstrip(".,;:)").endswith("ed") for word in said.split())
    return 0.8 * place + 0.2 * (is_past and any(map(str.isdigit, said)))


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
