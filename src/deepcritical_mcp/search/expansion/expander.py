"""Propose wordings of a topic from rules, from NCBI's concepts and from the session's evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import Concept, Expansion
from deepcritical_mcp.search.expansion.abbreviations import definitions
from deepcritical_mcp.search.expansion.rules import direct_query, rule_queries
from deepcritical_mcp.search.expansion.selection import choose
from deepcritical_mcp.search.expansion.topic import DESCRIPTION_LIMIT, Topic, read_topic
from deepcritical_mcp.search.progress import Progress, no_progress
from deepcritical_mcp.text import clean_text

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.providers.mesh import MeshConcepts

MOST_QUERIES = 8


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
        store: EvidenceStore | None,
        progress: Progress = no_progress,
    ) -> Expansion:
        """Exactly `count` different queries, the direct one first, and the concepts found in the topic.

        Raises:
            InvalidInputError: the topic is blank, too long or only filler; the description is too long; `count` is
                not 1 to 8.
        """
        subject = read_topic(topic)
        _check(description, count)
        await progress(0.1, "reading the topic")
        abbreviations = definitions([subject.text, clean_text(description)])
        queries = choose(direct_query(subject), rule_queries(subject, abbreviations), count=count)
        await progress(1.0, "done")
        return Expansion(
            session_id=store.session_id if store is not None else "",
            queries=queries,
            concepts=tuple(Concept(term=phrase) for phrase in subject.phrases),
            warnings=_warnings(subject),
        )


def _check(description: str, count: int) -> None:
    if len(description) > DESCRIPTION_LIMIT:
        raise InvalidInputError(f"The description is longer than {DESCRIPTION_LIMIT:,} characters. Shorten it.")
    if not 1 <= count <= MOST_QUERIES:
        raise InvalidInputError(f"count is {count}; it must be 1 to {MOST_QUERIES}.")


def _warnings(topic: Topic) -> tuple[str, ...]:
    if not topic.language:
        return ()
    return (
        f"The topic seems to be in {topic.language}. PubMed is indexed in English: put the topic in English and call "
        "again.",
    )
