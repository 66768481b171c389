"""Propose queries for a topic: NCBI's concepts, the session's evidence, the client's own model, filters that fit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import anyio

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import COUNTS, VOCABULARY, seconds_for
from deepcritical_mcp.errors import EmbeddingError, EvidenceStoreError, ProviderError
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.models import Concept, ExpandedQuery, Expansion
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.abbreviations import abbreviations_of
from deepcritical_mcp.search.expansion.blocks import TopicConcept, to_wire, written
from deepcritical_mcp.search.expansion.concepts import look_up, with_definitions
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceTerm, EvidenceView, SessionEvidence, read_evidence
from deepcritical_mcp.search.expansion.filters import fitting_filters
from deepcritical_mcp.search.expansion.phrases import definitions
from deepcritical_mcp.search.expansion.proposals import Plan, choose, direct_query, proposals, shorter
from deepcritical_mcp.search.expansion.sampled_queries import UNREADABLE, read_reply, sampling_request
from deepcritical_mcp.search.expansion.topic import Topic, corrected_topic, read_topic
from deepcritical_mcp.sources.base import Hits, Vocabulary
from deepcritical_mcp.text import PUBMED_STOP_WORDS, clean_text, counted

# PubMed requires every word, and more than these rarely occur in one record.
_MAX_ADVISED_WORDS = 15


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
        defined = definitions([asked.text, clean_text(description)])
        concepts = with_definitions(subject, ncbi.concepts, defined=defined, seen=evidence.abbreviations)
        plan, today = Plan(asked, subject, concepts), datetime.now(UTC).date()
        sampled_queries = read_reply(sampled, topic=asked.text)
        proposed = [*sampled_queries, *proposals(plan, evidence.terms, today=today)]
        direct = direct_query(plan)
        queries, translation = choose(direct, proposed, count=count), ""
        if ncbi.is_reachable:
            await progress(0.7, "counting what the queries find")
            queries, translation = await self._counted(queries, proposed, [*shorter(plan)])
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
            filters=tuple(one.filter for one in fitting_filters(subject, plan.kinds, today=today) if one.is_published),
            corrected_query=ncbi.corrected,
            translation=translation,
            warnings=tuple(filter(None, warnings)),
        )

    async def _counted(
        self, chosen: Sequence[ExpandedQuery], proposed: Sequence[ExpandedQuery], wider: Sequence[ExpandedQuery]
    ) -> tuple[tuple[ExpandedQuery, ...], str]:
        """`chosen` with their hits as far as PubMed counts them in time, and how it reads the first. What finds nothing
        makes room for another of the proposals; if the first finds nothing, for what is `wider`."""
        hits: dict[str, Hits] = {}
        queries = tuple(chosen)
        with anyio.move_on_after(seconds_for(COUNTS, cap=self._settings.deadline)):
            await self._count(queries, hits)
            direct = hits.get(queries[0].pubmed_query)
            finds_nothing = direct is not None and direct.count == 0
            options = [*(one for one in proposed if one.strategy == "broader"), *wider] if finds_nothing else proposed
            fill_up = proposed if finds_nothing else ()
            for _ in range(3):
                useful = [one for one in options if one.pubmed_query not in hits or hits[one.pubmed_query].count]
                other = choose(queries[0], [*useful, *fill_up], count=len(queries))
                if len(other) < len(queries) or other == queries:
                    break
                queries = other
                await self._count(queries, hits)
        with_hits = (
            query.model_copy(update={"hits": hits[query.pubmed_query].count}) if query.pubmed_query in hits else query
            for query in queries
        )
        return tuple(with_hits), hits[queries[0].pubmed_query].translation if queries[0].pubmed_query in hits else ""

    async def _count(self, queries: Sequence[ExpandedQuery], hits: dict[str, Hits]) -> None:
        """Add to `hits` what each query finds that is not in it yet."""
        vocabulary = self._mesh
        assert vocabulary is not None

        async def count(query: str) -> None:
            with suppress(ProviderError):
                hits[query] = await vocabulary.hits(query)

        async with anyio.create_task_group() as tasks:
            for one in queries:
                if one.pubmed_query not in hits:
                    tasks.start_soon(count, one.pubmed_query)


def _ignored(topic: Topic, concepts: Sequence[TopicConcept]) -> list[str]:
    known = {one.text for one in concepts if one.forms}
    return [short for short in abbreviations_of(topic) if short.lower() in PUBMED_STOP_WORDS and short not in known]


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
    except (EvidenceStoreError, EmbeddingError) as error:
        return EvidenceView(), f"The session's evidence was not used: {error.message}"
