"""Propose queries for a topic: NCBI's concepts, the session's evidence, the client's own model, filters that fit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

import anyio

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import COUNTS, VOCABULARY, seconds_for
from deepcritical_mcp.errors import EmbeddingError, EvidenceStoreError, ProviderError, SessionBusyError
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.models import Concept, ExpandedQuery, Expansion
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.abbreviations import abbreviations_of
from deepcritical_mcp.search.expansion.blocks import TopicConcept, to_wire, written
from deepcritical_mcp.search.expansion.broader import wider
from deepcritical_mcp.search.expansion.concepts import look_up, with_definitions
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm, EvidenceView, SessionEvidence, read_evidence
from deepcritical_mcp.search.expansion.filters import fitting_filters
from deepcritical_mcp.search.expansion.negations import absent_thing, distributed
from deepcritical_mcp.search.expansion.phrases import definitions, phrases
from deepcritical_mcp.search.expansion.plan import Plan, quoted_list
from deepcritical_mcp.search.expansion.proposals import choose, direct_query, meaning_blocks, proposals
from deepcritical_mcp.search.expansion.sampled_queries import UNREADABLE, read_reply, sampling_request
from deepcritical_mcp.search.expansion.topic import Topic, corrected_topic, read_topic
from deepcritical_mcp.sources.base import Hits, Vocabulary
from deepcritical_mcp.text import PUBMED_STOP_WORDS, clean_text, counted

# PubMed requires every word, and more than these rarely occur in one record.
_MAX_ADVISED_WORDS = 15
# With fewer papers than these, what finds more is of more use than what finds less.
_FEW = 20
_MAX_WIDER = 8
# A meaning of an abbreviation with a smaller share than this of what another one finds does not fit the topic.
_RARE_MEANING = 0.2
_INVERTED = "PubMed has no phrase {phrases} in its index and searches its words, so that what you do not want is found."
_DROPPED = "PubMed has no phrase {phrases} in its index and would search its words: it is left out."
_EXCLUDED = "PubMed has no phrase {phrases} in its index: papers that mention the thing at all are left out instead."


class QueryExpander:
    """Proposes queries for a topic, out of what NCBI and the session know; without both, of its own words and filters.

    Args:
        mesh: NCBI's spelling, term mapping and MeSH descriptors; None = not used.
    """

    def __init__(self, settings: Settings, mesh: Vocabulary | None) -> None:
        self._settings = settings
        self._mesh = mesh

    # What to ask the client's model. Depends on the arguments alone, so it reads the same in every round of a call.
    sampling_request = staticmethod(sampling_request)

    async def expand(
        self,
        topic: str,
        *,
        description: str = "",
        count: int = 3,
        store: SessionEvidence | None,
        sampled: str = "",
        progress: Progress = no_progress,
    ) -> Expansion:
        """At least 1 and at most `count` different queries, the direct one first, and the concepts of the topic.

        Fewer than `count`, with a warning, where nothing more fits. A source that does not answer is a warning too.

        Args:
            sampled: the reply of the client's model to `sampling_request`; "" = it was not asked.

        Raises:
            InvalidInputError: the topic is blank, too long or without a word to search for.
        """
        asked = read_topic(topic)
        await progress(0.1, "reading the session's evidence")
        evidence, store_warning = await _read(asked, store)
        await progress(0.3, "looking up concepts")
        seconds = seconds_for(VOCABULARY, cap=self._settings.deadline)
        ncbi = await look_up(asked, self._mesh, seconds=seconds)
        await progress(0.6, "writing queries")
        subject = corrected_topic(asked, ncbi.corrected) if ncbi.corrected else asked
        if ncbi.reread:
            subject = replace(ncbi.reread, typed=subject.typed)
        defined = definitions([asked.text, clean_text(description)])
        concepts = with_definitions(subject, ncbi.concepts, defined=defined, seen=evidence.abbreviations)
        today = datetime.now(UTC).date()
        sampled_queries = read_reply(sampled, topic=asked.text)

        def proposed(plan: Plan) -> tuple[ExpandedQuery, list[ExpandedQuery]]:
            return direct_query(plan), [*sampled_queries, *proposals(plan, evidence.terms, today=today)]

        plan = Plan(asked, subject, concepts)
        direct, others = proposed(plan)
        queries, read, unindexed = choose(direct, others, count=count), Hits(count=-1), ""
        if ncbi.is_reachable:
            await progress(0.7, "counting what the queries find")
            queries, read = await self._counted(queries, others, plan)
            if unknown := _unindexed(subject, read):
                unindexed = _INVERTED.format(phrases=quoted_list(unknown))
                if (found := _without_phrases(subject, unknown)) is not subject:
                    plan = Plan(asked, found, concepts)
                    direct, others = proposed(plan)
                    queries, read = await self._counted(choose(direct, others, count=count), others, plan)
                    gone = quoted_list(one for one in unknown if one not in found.negations)
                    unindexed = (_EXCLUDED if found.excluded != subject.excluded else _DROPPED).format(phrases=gone)
        uncounted = sum(query.hits < 0 for query in queries) if ncbi.is_reachable else 0
        words = len(asked.parts) + asked.left_out
        warnings = (
            f"The topic seems to be in {asked.language}. PubMed is indexed in English: translate it and call again."
            if asked.language
            else "",
            f"The topic has {words} words. PubMed requires all of them and may find nothing. Call again with the most "
            "important ones."
            if words > _MAX_ADVISED_WORDS
            else "",
            f"Only {len(queries)} of {count} queries: nothing else fits this topic." if len(queries) < count else "",
            _several(asked.questions),
            "PubMed finds nothing by the direct query: use a broader one." if queries[0].hits == 0 else "",
            unindexed,
            *(
                f"PubMed ignores the word “{short}”: write out what it stands for."
                for short in _ignored(subject, concepts)
            ),
            store_warning,
            ncbi.warning,
            f"Not counted: {counted(uncounted, 'query', 'queries')}, since PubMed did not answer in time."
            if uncounted
            else "",
            UNREADABLE if sampled and not sampled_queries else "",
        )
        return Expansion(
            session_id=store.session_id if store is not None else "",
            queries=queries,
            concepts=(*to_wire(concepts), *map(_of_evidence, evidence.terms)),
            filters=tuple(
                one.filter
                for one in fitting_filters(subject, plan.kinds, is_clinical=plan.is_clinical, today=today)
                if one.is_published
            ),
            corrected_query=ncbi.corrected,
            translation=read.translation,
            warnings=tuple(filter(None, warnings)),
        )

    async def _counted(
        self, chosen: Sequence[ExpandedQuery], proposed: Sequence[ExpandedQuery], plan: Plan
    ) -> tuple[tuple[ExpandedQuery, ...], Hits]:
        """`chosen` with their hits as far as PubMed counts them in time, and how it reads the first. What finds
        nothing, or an abbreviation in a meaning that is rare with the topic, makes room for another of the proposals;
        if the first finds little, for what is wider."""
        hits: dict[str, Hits] = {}
        queries = tuple(chosen)
        first = queries[0].pubmed_query
        blocks = tuple(f" AND {block}" for *_, block in meaning_blocks(plan))
        meanings = [one.pubmed_query for one in proposed if one.pubmed_query.endswith(blocks)]
        with anyio.move_on_after(seconds_for(COUNTS, cap=self._settings.deadline)):
            await self._count([*queries, *(one for one in proposed if one.pubmed_query in meanings)], hits)
            options = [*proposed]
            if first in hits and hits[first].count < _FEW:
                options = [*(one for one in proposed if one.strategy == "broader"), *islice(wider(plan), _MAX_WIDER)]
                options += proposed
            if first in hits and not hits[first].count:
                hits |= {one.pubmed_query: Hits(count=0) for one in proposed if one.strategy == "specific"}
            for _ in range(4):
                rivals = [hits[one].count for one in meanings if one in hits]
                least = {one: max(rivals, default=0) * _RARE_MEANING for one in meanings}
                useful = [
                    one
                    for one in options
                    if one.pubmed_query not in hits or hits[one.pubmed_query].count > least.get(one.pubmed_query, 0)
                ]
                others = choose(queries[0], [*useful, *options], count=len(queries))
                if others == queries:
                    break
                queries = others
                await self._count(queries, hits)
        with_hits = (
            query.model_copy(update={"hits": hits[query.pubmed_query].count}) if query.pubmed_query in hits else query
            for query in queries
        )
        return tuple(with_hits), hits[first] if first in hits else Hits(count=-1)

    async def _count(self, queries: Sequence[ExpandedQuery], hits: dict[str, Hits]) -> None:
        """Add to `hits` what each query finds that is not in it yet."""
        vocabulary = self._mesh
        assert vocabulary is not None

        async def count(query: ExpandedQuery) -> None:
            with suppress(ProviderError):
                found = await vocabulary.hits(query.pubmed_query, as_read=query.strategy == "direct")
                hits[query.pubmed_query] = found

        async with anyio.create_task_group() as tasks:
            for one in queries:
                if one.pubmed_query not in hits:
                    tasks.start_soon(count, one)


def _ignored(topic: Topic, concepts: Sequence[TopicConcept]) -> list[str]:
    known = {one.text for one in concepts if one.forms}
    return [short for short in abbreviations_of(topic) if short.lower() in PUBMED_STOP_WORDS and short not in known]


def _unindexed(topic: Topic, read: Hits) -> list[str]:
    """The negations that PubMed does not know as phrases, so that it would search for their words."""
    unknown = {text.casefold() for text in read.unknown_phrases}
    return [one for one in topic.negations if one.casefold() in unknown]


def _without_phrases(topic: Topic, negations: Sequence[str]) -> Topic:
    """The topic with what these negations name excluded, or without them if they name nothing; the same topic if it has
    nothing else."""
    text = distributed(topic.text)
    for one in negations:
        absent = absent_thing(one)
        is_state = one.split()[0].lower() in ("cannot", "never", "no", "not", "unable")
        text = text.replace(one, f"excluding {absent}" if absent else "," if is_state else one)
    if text == distributed(topic.text) or not any(phrases(text)):
        return topic
    return replace(read_topic(text), typed=topic.typed)


def _several(questions: Sequence[str]) -> str:
    listed = ", ".join(f"“{question}”" for question in questions)
    return f"These are {len(questions)} questions: {listed}. Call once for each." if questions else ""


def _of_evidence(term: EvidenceTerm) -> Concept:
    return Concept(
        term=term.term,
        kind="evidence",
        entry_terms=term.names,
        pubmed_block=pubmed_syntax.any_of(one for name in (term.term, *term.names) for one in written(name)),
    )


async def _read(topic: Topic, store: SessionEvidence | None) -> tuple[EvidenceView, str]:
    """The view of the session's evidence, and a warning if it cannot be read."""
    if store is None:
        return EvidenceView(), ""
    try:
        return await read_evidence(topic.subject, store), "" if store.calibration else UNCALIBRATED
    except (EvidenceStoreError, SessionBusyError, EmbeddingError) as error:
        return EvidenceView(), f"The session's evidence was not used: {error.message}"
