"""Propose wordings of a topic from rules, from NCBI's concepts and from the session's evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError, EvidenceStoreError, InvalidInputError
from deepcritical_mcp.models import ExpandedQuery, Expansion
from deepcritical_mcp.net.client import seconds_left
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.expansion.abbreviations import definitions
from deepcritical_mcp.search.expansion.concepts import moved, renamed
from deepcritical_mcp.search.expansion.evidence_queries import evidence_queries
from deepcritical_mcp.search.expansion.from_evidence import EvidenceView, SessionEvidence, read_evidence
from deepcritical_mcp.search.expansion.glossary import concepts_of
from deepcritical_mcp.search.expansion.ncbi import NcbiView, look_up
from deepcritical_mcp.search.expansion.rules import described, direct_query, mechanism, other_names, rule_queries
from deepcritical_mcp.search.expansion.selection import choose
from deepcritical_mcp.search.expansion.topic import DESCRIPTION_LIMIT, Topic, read_topic
from deepcritical_mcp.text import clean_text

if TYPE_CHECKING:
    from deepcritical_mcp.sources.pubmed.mesh import MeshConcepts

MOST_QUERIES = 8
# Five small requests take some 3 seconds. Concepts are worth waiting for, but not the whole call.
NCBI_SECONDS = 10.0
NCBI_SHARE = 0.3


class QueryExpander:
    """Proposes queries for a topic. Works offline; better with NCBI, and better again as the session fills.

    Args:
        mesh: NCBI's spelling, term mapping and MeSH descriptors; None = do without.
    """

    def __init__(self, settings: Settings, mesh: MeshConcepts | None) -> None:
        self._settings = settings
        self._mesh = mesh

    async def expand(
        self,
        topic: str,
        *,
        description: str = "",
        count: int = 3,
        store: SessionEvidence | None,
        progress: Progress = no_progress,
    ) -> Expansion:
        """Exactly `count` different queries, the direct one first, and the concepts found in the topic.

        NCBI and the evidence are asked as far as they answer; what is missing is a warning.

        Raises:
            InvalidInputError: the topic is blank, too long or only filler; the description is too long; `count` is
                not 1 to 8.
        """
        asked = read_topic(topic)
        _check(description, count)
        await progress(0.1, "reading what the session knows")
        evidence, store_warning = await _read(asked, store)
        await progress(0.3, "asking NCBI for concepts")
        ncbi = await self._ask_ncbi(asked, evidence)
        await progress(0.9, "wording queries")
        subject = read_topic(ncbi.corrected) if ncbi.corrected else asked
        defined = definitions([asked.text, clean_text(description)])
        proposals = _proposals(subject, ncbi, evidence, defined=defined, description=description)
        return Expansion(
            session_id=store.session_id if store is not None else "",
            queries=choose(direct_query(asked), proposals, count=count),
            concepts=concepts_of(subject, ncbi.matches, evidence.terms, defined=defined, found=evidence.abbreviations),
            corrected_query=ncbi.corrected,
            warnings=tuple(filter(None, (_language_warning(asked), store_warning, ncbi.warning))),
        )

    async def _ask_ncbi(self, topic: Topic, evidence: EvidenceView) -> NcbiView:
        if self._mesh is None:
            return NcbiView()
        seconds = min(NCBI_SECONDS, NCBI_SHARE * min(seconds_left(), self._settings.deadline))
        return await look_up(topic, self._mesh, seconds=seconds, familiar=evidence.familiar)


async def _read(topic: Topic, store: SessionEvidence | None) -> tuple[EvidenceView, str]:
    """What the session knows, and a warning when it cannot be read."""
    if store is None:
        return EvidenceView(), ""
    try:
        return await read_evidence(topic.keywords, store), ""
    except (EvidenceStoreError, EmbeddingError) as error:
        return EvidenceView(), f"The session's evidence was not used: {error.message}"


def _proposals(
    topic: Topic, ncbi: NcbiView, evidence: EvidenceView, *, defined: Mapping[str, str], description: str
) -> list[ExpandedQuery]:
    """All proposals. Within each kind of reformulation the order tells which is worth more (bench/expansion.py)."""
    followed = evidence_queries(topic, evidence.terms)
    return [
        *renamed(topic, ncbi.matches),
        *other_names(topic, defined, "rules"),
        *other_names(topic, evidence.abbreviations, "evidence"),
        *described(topic, description),
        *followed[:1],
        *mechanism(topic),
        *moved(topic, ncbi.matches, evidence.familiar),
        *followed[1:],
        *rule_queries(topic),
    ]


def _check(description: str, count: int) -> None:
    if len(description) > DESCRIPTION_LIMIT:
        raise InvalidInputError(f"The description is longer than {DESCRIPTION_LIMIT:,} characters. Shorten it.")
    if not 1 <= count <= MOST_QUERIES:
        raise InvalidInputError(f"count is {count}; it must be 1 to {MOST_QUERIES}.")


def _language_warning(topic: Topic) -> str:
    if not topic.language:
        return ""
    return (
        f"The topic seems to be in {topic.language}. PubMed is indexed in English: put the topic in English and call "
        "again."
    )
