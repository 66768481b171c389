"""Propose queries for a topic: NCBI's concepts, the session's evidence, the client's own model, filters that fit."""

from __future__ import annotations

from datetime import UTC, datetime

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import VOCABULARY, seconds_for
from deepcritical_mcp.errors import EmbeddingError, EvidenceStoreError, InvalidInputError
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.models import Expansion
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.expansion.concepts import look_up, named_concepts, to_wire
from deepcritical_mcp.search.expansion.evidence_terms import EvidenceView, SessionEvidence, read_evidence
from deepcritical_mcp.search.expansion.phrases import definitions
from deepcritical_mcp.search.expansion.proposals import choose, direct_query, proposals
from deepcritical_mcp.search.expansion.sampled_queries import UNREADABLE, read_reply, sampling_request
from deepcritical_mcp.search.expansion.topic import DESCRIPTION_LIMIT, Topic, corrected_topic, read_topic
from deepcritical_mcp.sources.base import Vocabulary
from deepcritical_mcp.text import clean_text

MAX_QUERIES = 8
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
            InvalidInputError: the topic is blank, too long or without a word to search for; the description is too
                long; `count` is not 1 to 8.
        """
        asked = read_topic(topic)
        if len(description) > DESCRIPTION_LIMIT:
            raise InvalidInputError(f"The description is longer than {DESCRIPTION_LIMIT:,} characters. Shorten it.")
        if not 1 <= count <= MAX_QUERIES:
            raise InvalidInputError(f"count is {count}; it must be 1 to {MAX_QUERIES}.")
        await progress(0.1, "reading the session's evidence")
        evidence, store_warning = await _read(asked, store)
        await progress(0.3, "asking NCBI for concepts")
        seconds = seconds_for(VOCABULARY, cap=self._settings.deadline)
        ncbi = await look_up(asked, self._mesh, seconds=seconds)
        await progress(0.9, "writing queries")
        subject = corrected_topic(asked, ncbi.corrected) if ncbi.corrected else asked
        defined = definitions([asked.text, clean_text(description)])
        concepts = named_concepts(subject, ncbi.concepts, defined=defined, seen=evidence.abbreviations)
        written = read_reply(sampled, topic=asked.text)
        proposed = [*written, *proposals(subject, concepts, evidence.terms, today=datetime.now(UTC).date())]
        queries = choose(direct_query(asked, subject), proposed, count=count)
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
            store_warning,
            ncbi.warning,
            UNREADABLE if sampled and not written else "",
        )
        return Expansion(
            session_id=store.session_id if store is not None else "",
            queries=queries,
            concepts=to_wire(concepts, evidence.terms),
            corrected_query=ncbi.corrected,
            warnings=tuple(filter(None, warnings)),
        )


async def _read(topic: Topic, store: SessionEvidence | None) -> tuple[EvidenceView, str]:
    """The view of the session's evidence, and a warning if it cannot be read."""
    if store is None:
        return EvidenceView(), ""
    try:
        return await read_evidence(topic.subject, store), "" if store.calibration else UNCALIBRATED
    except (EvidenceStoreError, EmbeddingError) as error:
        return EvidenceView(), f"The session's evidence was not used: {error.message}"
